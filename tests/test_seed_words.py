"""Words that users give topics: they steer, each topic has its place, and mistakes are told."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.inference.em.lower_bound import log_prior_of_topics
from gptm.inference.em.parameter_steps import update_beta
from gptm.plots.canvas import topic_labels
from gptm.starts.lda import LdaRun
from gptm.starts.seed_words import first_topics, grow, plant, read_seeds

D, V, K = 200, 60, 5
RNG = np.random.default_rng(3)
BETA = RNG.dirichlet(np.full(V, 0.1), K)
THETA = RNG.dirichlet(np.full(K, 0.3), D)
X = np.array([RNG.multinomial(40, p) for p in THETA @ BETA])
WORDS = [f"word{w:02}" for w in range(V)]
CORPUS = Corpus(X, WORDS, metadata={"t": THETA[:, 0]})
TOTALS = X.sum(axis=0)
# Words that belong to one true topic: the third to fifth of these.
OWN = [
    [int(w) for w in np.argsort(-BETA[i] * (BETA[i] > 0.8 * BETA.sum(axis=0)))[2:5]]
    for i in range(K)
]


def words_of(columns):
    return [WORDS[w] for w in columns]


def fitted(model, X=CORPUS, **data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).set_params(random_state=0, max_iter=25).fit(X, **data)


def overlap(one, other):
    """Shared probability of two topics: one where they are the same."""
    return np.minimum(one, other).sum()


MODELS = {
    "CTM": CTM(K),
    "GPTM": GPTM(K, kernel=k.RBF("t")),
    "variational": GPTM(K, kernel=k.RBF("t"), inference="variational"),
    "map": GPTM(K, kernel=k.RBF("t"), inference="map"),
}


# Steering


@pytest.mark.parametrize("init", ["gibbs", "random", "spectral"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_seeded_topic_is_the_one_its_words_are_from(model, init):
    """Whatever the start, the topic of the seeds is where the user wants it."""
    for place, true in ((3, 0), (1, 4)):
        seeds = {place: words_of(OWN[true])}
        found = fitted(clone(model).set_params(init=init, seed_words=seeds)).components_
        overlaps = [overlap(found[place], beta) for beta in BETA]
        assert np.argmax(overlaps) == true
        assert overlaps[true] > 0.7


@pytest.mark.parametrize("inference", ["sampling", "variational"])
def test_every_topic_can_have_its_place(inference):
    order = [2, 4, 0, 1, 3]
    seeds = {place: words_of(OWN[true]) for place, true in enumerate(order)}
    found = fitted(CTM(K, inference=inference, seed_words=seeds)).components_
    assert all(overlap(found[place], BETA[true]) > 0.8 for place, true in enumerate(order))


def test_seed_words_are_on_top_and_the_others_hardly_change():
    plain = fitted(CTM(K)).components_
    seeds = {2: words_of(OWN[0])}
    found = fitted(CTM(K, seed_words=seeds)).components_
    assert all((found[2] > found[2, w]).sum() < 8 for w in OWN[0])
    for topic in (0, 1, 3, 4):
        assert max(overlap(found[topic], other) for other in plain) > 0.9


def test_more_weight_makes_seeds_more_probable():
    """A word of topic 0 is asked into the topic of others: the more, the more of it is there."""
    stranger, friends = OWN[0][0], OWN[1]
    probability = [
        fitted(
            CTM(K, seed_words={0: [*words_of(friends), WORDS[stranger]]}, seed_weight=weight)
        ).components_[0, stranger]
        for weight in (2.0, 5.0, 20.0)  # with less, topic 0 need not be that of the friends
    ]
    assert probability[0] < probability[1] < probability[2]


def test_the_documents_have_the_last_word():
    """Seeds from two topics do not make one topic of them."""
    seeds = {0: words_of([*OWN[0], OWN[1][0]])}
    found = fitted(CTM(K, seed_words=seeds, seed_weight=0.3)).components_
    assert overlap(found[0], BETA[0]) > 0.7
    assert max(overlap(topic, BETA[1]) for topic in found[1:]) > 0.7


def test_without_seeds_or_weight_nothing_changes():
    plain = fitted(CTM(K))
    for model in (CTM(K, seed_words={}), CTM(K, seed_words={0: WORDS[:3]}, seed_weight=0.0)):
        assert_array_equal(fitted(model).components_, plain.components_)


@pytest.mark.parametrize("name", ["variational", "map"])
def test_the_bound_never_falls(name):
    model = MODELS[name]
    for weight in (0.1, 2.0, 50.0):
        seeds = {0: words_of(OWN[1]), 4: words_of(OWN[2])}
        bound = fitted(
            clone(model).set_params(init="gibbs", seed_words=seeds, seed_weight=weight)
        ).bound_
        assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all()


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads():
    one, two = (fitted(CTM(K, seed_words={1: OWN[0]}, n_jobs=n)) for n in (1, 2))
    assert_array_equal(one.components_, two.components_)
    assert_array_equal(one.doc_logits_, two.doc_logits_)


def test_given_topics_keep_their_order():
    found = fitted(CTM(K, init=BETA + 1e-4, seed_words={0: words_of(OWN[3])}, seed_weight=0.1))
    assert overlap(found.components_[3], BETA[3]) > 0.8


@pytest.mark.parametrize("inference", ["sampling", "variational"])
def test_a_warm_start_goes_on_with_the_seeds(inference):
    seeds = {2: words_of(OWN[4])}
    model = fitted(CTM(K, inference=inference, seed_words=seeds, warm_start=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        again = clone(model).set_params(max_iter=3).fit(CORPUS)
        again.fit(CORPUS)
    assert np.argmax([overlap(again.components_[2], beta) for beta in BETA]) == 4
    assert inference == "sampling" or again.bound_[-1] >= again.bound_[0]


# The prior


def test_pseudo_counts_are_multiples_of_the_words_occurrences():
    seed_words = {1: words_of([3, 7]), "news": words_of([7, 9, 9])}
    counts, names = read_seeds(seed_words, 0.5, K, csr_matrix(X), np.array(WORDS, dtype=object))
    expected = np.zeros((V, K))
    for word, topic in ((3, 1), (7, 1), (7, 0), (9, 0)):
        expected[word, topic] = 0.5 * min(max(TOTALS[word], 1), 0.02 * X.sum() / K)
    assert len(set(expected[expected > 0])) > 1  # some at that limit, some below
    assert_allclose(counts, expected)
    assert names == ["news", None, None, None, None]


def test_a_seed_that_never_occurs_counts_once():
    model = CTM(2, seed_words={0: [1]}, seed_weight=3.0)
    counts, _ = read_seeds({0: [1]}, 3.0, 2, csr_matrix(np.array([[2, 0], [1, 0]])), None)
    assert_allclose(counts, [[0, 0], [3, 0]])
    found = fitted(model, np.array([[2, 0], [1, 0]]))
    assert np.isfinite(found.components_).all()


def test_topics_take_pseudo_counts_word_by_word():
    expected, prior = RNG.random((6, 3)), RNG.random((6, 3))
    found = update_beta(expected, prior)
    for i in range(3):
        total = sum(expected[w, i] + prior[w, i] for w in range(6))
        for w in range(6):
            assert found[w, i] == pytest.approx((expected[w, i] + prior[w, i]) / total)
    by_hand = sum(prior[w, i] * np.log(found[w, i]) for w in range(6) for i in range(3))
    assert log_prior_of_topics(found, prior) == pytest.approx(by_hand)
    assert_array_equal(update_beta(expected, 0.3), update_beta(expected, np.full((6, 3), 0.3)))


def test_topics_are_the_maximum_of_their_part_of_the_bound():
    expected, prior = RNG.random((6, 3)), RNG.random((6, 3))

    def value(beta_T):
        return (expected * np.log(beta_T)).sum() + log_prior_of_topics(beta_T, prior)

    best = update_beta(expected, prior)
    for _ in range(20):
        moved = best * np.exp(0.01 * RNG.normal(size=best.shape))
        assert value(moved / moved.sum(axis=0)) < value(best)


# The start


def seeds_of(pairs):
    result = np.zeros((V, K))
    for word, topic in pairs:
        result[word, topic] = 5.0
    return result


def test_planting_puts_topics_where_their_words_are():
    order = RNG.permutation(K)
    seeds = seeds_of([(w, place) for place in (0, 3) for w in OWN[order[place]]])
    planted = plant(BETA.T, seeds, n_tokens=1000.0)
    planted = planted / planted.sum(axis=0)
    for place in (0, 3):
        assert np.argmax([overlap(planted[:, place], beta) for beta in BETA]) == order[place]
    others = [i for i in range(K) if i not in (order[0], order[3])]
    assert_allclose(planted[:, [1, 2, 4]].T, BETA[others])
    assert_array_equal(plant(BETA.T, None, 1000.0), BETA.T)


def test_topics_grow_from_the_documents_around_their_words():
    seeds = seeds_of([(w, 2) for w in OWN[3]])
    start = RNG.random((V, K))
    grown = grow(start, seeds, csr_matrix(X))
    documents = X[(X[:, OWN[3]] > 0).any(axis=1)]
    assert_allclose(grown[:, 2], documents.sum(axis=0) + seeds[:, 2])
    assert_array_equal(np.delete(grown, 2, axis=1), np.delete(start, 2, axis=1))
    assert_array_equal(grow(start, seeds, csr_matrix(X.shape)), start)  # no document has them
    assert_array_equal(grow(start, None, csr_matrix(X)), start)


def test_documents_with_seeds_start_in_their_topics():
    seeds = seeds_of([(4, 2), (5, 0), (6, 0), (6, 1)])
    docs = np.repeat(np.arange(4), 50).astype(np.int32)
    words = np.full(200, 20)
    words[[0, 10]] = [4, 5]  # of document 0
    words[60] = 6  # of document 1
    words[150] = 4  # of document 3; document 2 has none
    topics = first_topics(docs, words, seeds, np.random.RandomState(0)).reshape(4, 50)
    assert [set(row.tolist()) for row in topics] == [{0, 2}, {0, 1}, {3, 4}, {2}]
    every = first_topics(docs, words, np.ones((V, K)), np.random.RandomState(0))
    assert set(every.tolist()) == set(range(K))


def test_a_gibbs_run_returns_counts_without_pseudo_counts():
    seeds = seeds_of([(w, 3) for w in OWN[0]])
    chain = LdaRun(csr_matrix(X), K, np.random.RandomState(0), seeds)
    complete, found = chain.sweep_to(50), chain.start()
    assert complete
    assert_array_equal(found.word_topic.sum(axis=1), TOTALS)
    assert (found.word_topic[OWN[0]].argmax(axis=1) == 3).all()


# Names


def test_named_topics_take_free_places_and_are_shown():
    seeds = {"north": words_of(OWN[0]), 0: words_of(OWN[1]), "south": words_of(OWN[2])}
    model = fitted(CTM(K, seed_words=seeds))
    assert model.topic_names_ == [None, "north", "south", None, None]
    assert overlap(model.components_[1], BETA[0]) > 0.7
    assert overlap(model.components_[2], BETA[2]) > 0.7
    table = model.topics()
    assert table.columns[0] == "name"
    assert table["name"].tolist() == ["", "north", "south", "", ""]
    labels = topic_labels(model.fitted_)
    assert labels[1:3] == ["north", "south"]
    assert labels[0] == ", ".join(model.topic_words(3)[0])


def test_names_go_with_the_seeds():
    model = fitted(CTM(K, seed_words={"north": words_of(OWN[0])}))
    model.set_params(seed_words={2: words_of(OWN[0])})
    assert model.topics()["name"][0] == "north"  # parameters wait for the next fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(CORPUS)
    assert model.topic_names_ is None
    assert "name" not in model.topics()


# The contract of estimators, and files


def test_names_are_good_wherever_a_topic_is_named():
    from matplotlib.text import Text

    from gptm import plots
    from gptm.report import report_data

    seeds = {2: words_of(OWN[2]), "war": words_of(OWN[0]), "2": words_of(OWN[1])}
    model = fitted(clone(MODELS["GPTM"]).set_params(seed_words=seeds), CORPUS)
    assert model.topic_names_ == ["war", "2", None, None, None]
    assert_frame_equal(model.effects("t", "war", at=[0.5]), model.effects("t", 0, at=[0.5]))
    both = model.effects("t", topic=["2", 2], at=[0.5])
    assert both["topic"].tolist() == [1, 2]
    assert_frame_equal(model.representative_documents("war"), model.representative_documents(0))
    for draw in (plots.plot_effects, plots.plot_topics_over_time):
        ax = draw(model, "t", topics="war")
        assert [text.get_text() for text in ax.texts] == ["war"]
    labels = plots.plot_variance_explained(model, ["war", 3]).get_yticklabels()
    assert "war" in [label.get_text() for label in labels]
    assert "war" in str(
        [t.get_text() for t in plots.plot_documents(model, "war").figure.findobj(Text)]
    )
    assert [one["label"] for one in report_data(model)["topics"]][:2] == ["war", "2"]
    for wrong in ("peace", 5, ["war", "peace"]):
        with pytest.raises(ValueError, match="from 0 to 4, or called 'war', '2'; got"):
            model.effects("t", wrong)
    with pytest.raises(ValueError, match="called 'war', '2'"):
        model.representative_documents("peace")


@pytest.mark.parametrize("kind", [CTM, GPTM])
def test_parameters_are_kept_untouched_and_cloned(kind):
    seeds = {0: ["a"], "b": ("c", "d")}
    model = kind(3, seed_words=seeds, seed_weight=0.5)
    assert model.get_params()["seed_words"] is seeds
    copy = clone(model)
    assert copy.get_params()["seed_words"] == seeds
    assert copy.seed_weight == 0.5
    assert kind().seed_words is None
    fitted(kind(K, seed_words=(seeds := {0: WORDS[:3]})), CORPUS)
    assert seeds == {0: WORDS[:3]}


def test_weights_can_be_searched():
    search = GridSearchCV(CTM(2, seed_words={0: [1, 2]}, max_iter=3), {"seed_weight": [0, 1]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X)
    assert search.best_params_["seed_weight"] in (0, 1)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_files_keep_the_seeds(model, tmp_path):
    seeds = {
        "north": set(words_of(OWN[0])),
        np.int64(3): np.array(words_of(OWN[1])),
        2: pd.Series(words_of(OWN[2])),
        4: (5, np.int64(6)),
        0: "word07",
    }
    model = fitted(clone(model).set_params(init="gibbs", seed_words=seeds, seed_weight=0.7))
    model.save(tmp_path / "model.gptm")
    loaded = gptm.load(tmp_path / "model.gptm")
    assert loaded.seed_weight == 0.7
    assert list(loaded.seed_words) == ["north", 3, 2, 4, 0]
    assert set(loaded.seed_words["north"]) == seeds["north"]
    assert loaded.seed_words[3] == words_of(OWN[1])
    assert loaded.seed_words[2] == words_of(OWN[2])
    assert loaded.seed_words[4] == [5, 6]
    assert loaded.seed_words[0] == ["word07"]
    assert loaded.topic_names_ == model.topic_names_ == [None, "north", None, None, None]
    assert_array_equal(loaded.transform(CORPUS), model.transform(CORPUS))
    assert_array_equal(fitted(loaded).components_, model.components_)


def test_models_without_seeds_are_saved_as_before(tmp_path):
    fitted(CTM(2)).save(tmp_path / "model.gptm")
    loaded = gptm.load(tmp_path / "model.gptm")
    assert loaded.seed_words is None
    assert loaded.topic_names_ is None


# Words by name and by number, and mistakes


def test_columns_can_be_named_by_number():
    by_number = fitted(CTM(K, seed_words={1: OWN[0]}), X)
    by_name = fitted(CTM(K, seed_words={1: words_of(OWN[0])}), pd.DataFrame(X, columns=WORDS))
    assert_array_equal(by_number.components_, by_name.components_)


def test_unknown_words_are_left_out_and_told():
    with pytest.warns(
        UserWarning, match=r"not in the vocabulary and are ignored: 'Tax', 'army'\. Spell"
    ):
        model = fitted(CTM(K, seed_words={0: ["Tax", *words_of(OWN[0])], 1: ["army", "word01"]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        same = CTM(K, seed_words={0: words_of(OWN[0]), 1: "word01"}, random_state=0, max_iter=25)
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert_array_equal(same.fit(CORPUS).components_, model.components_)


def test_many_unknown_words_are_not_all_listed():
    words = ["word01", *(f"no{i}" for i in range(14))]
    with pytest.warns(UserWarning, match=r"'no9' and 4 more\."):
        fitted(CTM(2, seed_words={0: words}))


MISTAKES = {
    "list": ([["word01"]], r"seed_words must be a dict of topics and their words.*got \[\["),
    "text": ("word01", "seed_words must be a dict"),
    "number": ({K: ["word01"]}, "a number from 0 to 4, or a name; got 5"),
    "negative": ({-1: ["word01"]}, "a number from 0 to 4, or a name; got -1"),
    "half": ({0.5: ["word01"]}, r"a number from 0 to 4, or a name; got 0\.5"),
    "truth": ({True: ["word01"]}, "a number from 0 to 4, or a name; got True"),
    "many": ({name: ["word01"] for name in "abcdef"}, "has 6 topics, but n_components is 5. Raise"),
    "none": ({0: []}, r"of topic 0 must be a list of words; got \[\]"),
    "no list": ({"a": 7}, "of topic 'a' must be a list of words; got 7"),
    "no word": ({0: [None]}, "numbers of columns from 0 to 59; got None"),
    "column": ({0: [0, V]}, "numbers of columns from 0 to 59; got 60"),
    "all unknown": ({0: ["tax", "vat"]}, r"of topic 0 must .* none of 'tax', 'vat'\. "),
}


@pytest.mark.parametrize(("seeds", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told(seeds, message):
    with pytest.raises(ValueError, match=message):
        CTM(K, seed_words=seeds).fit(CORPUS)


def test_words_need_names_of_columns():
    with pytest.raises(
        ValueError, match=r"such as 'tax', but the columns of X have no names.*Corpus"
    ):
        CTM(K, seed_words={0: ["tax"]}).fit(X)


@pytest.mark.parametrize("weight", [-1.0, np.nan, "much", None, True])
def test_a_weight_is_a_number(weight):
    with pytest.raises(ValueError, match=r"seed_weight must be a number of at least 0\.0"):
        CTM(K, seed_weight=weight).fit(CORPUS)


def test_a_failed_fit_leaves_the_model_alone():
    model = fitted(CTM(K, seed_words={"north": words_of(OWN[0])}))
    before = model.components_
    with pytest.raises(ValueError, match="must have a word of the vocabulary"):
        model.set_params(seed_words={0: ["tax"]}).fit(CORPUS)
    assert model.components_ is before
    assert model.topic_names_[0] == "north"
