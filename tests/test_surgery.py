"""Topics named, merged, dropped, reordered and split: every answer of the new model agrees with the old one's."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.inference.contrasts import contrasts
from gptm.metrics import npmi_coherence
from gptm.surgery.hierarchy import word_distances

K, D, V = 5, 60, 24
RNG = np.random.default_rng(0)
YEARS = {"year": np.linspace(0.0, 10.0, D)}
AT = [1.0, 5.0, 9.0]


def make_counts():
    beta = RNG.dirichlet(np.full(V, 0.15), K)
    eta = RNG.normal(size=(D, K))
    eta[:, 0] += 2.0 * np.sin(YEARS["year"])
    return RNG.poisson(40.0 * softmax(eta, axis=1) @ beta)


X = make_counts()
CORPUS = Corpus(X, [f"w{i}" for i in range(V)], metadata=YEARS)


@pytest.fixture(scope="module")
def model():
    return GPTM(K, kernel=k.RBF("year"), random_state=0, max_iter=60).fit(CORPUS)


@pytest.fixture(scope="module")
def plain():
    return CTM(K, random_state=0, max_iter=40).fit(CORPUS)


@pytest.fixture(scope="module")
def quick():
    """By EM, which has no draws of its own."""
    return GPTM(K, kernel=k.RBF("year"), inference="variational", max_iter=20).fit(CORPUS)


def shares(model, value="share"):
    table = model.effects("year", at=AT)
    return table.pivot(index="year", columns="topic", values=value).to_numpy()


def summed(theta, groups):
    return np.stack([theta[..., list(group)].sum(-1) for group in groups], -1)


def apply_groups(model, groups):
    """By merges and one reordering, as a user would do it."""
    numbers = {number: [number] for number in range(K)}
    order = list(range(K))
    for group in groups:
        if len(group) > 1:
            places = [order.index(number) for number in group]
            model = model.merge_topics(places)
            order = [number for number in order if number not in sorted(group, key=order.index)[1:]]
            numbers[min(group, key=lambda n: order.index(n) if n in order else K)] = group
    first = [next(number for number in group if number in order) for group in groups]
    return model.reorder_topics([order.index(number) for number in first])


partitions = st.permutations(range(K)).flatmap(
    lambda order: st.lists(st.integers(1, K - 1), max_size=3, unique=True).map(
        lambda cuts: [list(part) for part in np.split(np.array(order), sorted(cuts))]
    )
)


# Names


def test_names_are_shown_everywhere(model, tmp_path):
    named = model.name_topics({3: "oil", 0: "  the   war "})
    assert named.topic_names_ == ["the war", None, None, "oil", None]
    assert named.topics()["name"].tolist() == ["the war", "", "", "oil", ""]
    assert named.representative_documents("oil", 2)["topic_name"].tolist() == ["oil", "oil"]
    table = named.effects("year", "oil", at=AT)
    assert (table["topic"] == 3).all()
    assert (table["topic_name"] == "oil").all()
    explained = named.variance_explained()
    assert set(explained.loc[explained["topic"] == 3, "topic_name"]) == {"oil"}
    assert set(named.to_frame()["topic_name"]) == {"the war", "", "oil"}
    assert named.topic_graph().nodes[3]["label"] == "oil"
    data = gptm.report.report_data(named, corpus=CORPUS)
    assert data["topics"][3]["label"] == "oil"
    assert [term["columns"] for term in data["effects"]["terms"]] == [["year"]]
    assert model.topic_names_ is None
    named.save(tmp_path / "m.gptm")
    assert gptm.load(tmp_path / "m.gptm").topic_names_ == named.topic_names_


def test_a_name_can_be_changed_and_taken_away(plain):
    named = plain.name_topics({3: "oil"}).name_topics({"oil": "fuel", 1: "gas"})
    assert named.topic_names_ == [None, "gas", None, "fuel", None]
    assert named.name_topics({"fuel": None, 1: ""}).topic_names_ is None
    assert named.history_ == [
        "Named topic 3 'oil'.",
        "Named topic 3 'fuel' and topic 1 'gas'.",
    ]
    changed = named.name_topics({"fuel": None, 0: "tea", "gas": None})
    assert changed.history_[-1] == "Named topic 0 'tea'. Removed the names of topics 3 and 1."
    assert named.name_topics({1: None}).history_[-1] == "Removed the name of topic 1."


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({}, "must be a dict from topics to their names"),
        ([1], "must be a dict from topics to their names"),
        ({9: "oil"}, "must be a number from 0 to 4"),
        ({1: 2}, "must be a text"),
        ({1: "oil", 2: "oil"}, "'oil' twice"),
        ({0: "1"}, r"must not be numbers of topics; got '1'\. Write a word beside it"),
    ],
)
def test_bad_names(plain, names, said):
    with pytest.raises(ValueError, match=said):
        plain.name_topics(names)


def test_names_travel(plain):
    named = plain.name_topics({k: f"topic {chr(97 + k)}" for k in range(K)})
    assert named.reorder_topics([4, 0, 3, 1, 2]).topic_names_ == [f"topic {c}" for c in "eadbc"]
    assert named.drop_topics("topic b").topic_names_ == [f"topic {c}" for c in "acde"]
    assert named.merge_topics([4, 1]).topic_names_[1] == "topic b + topic e"
    assert named.merge_topics([4, 1], "new").topic_names_ == [
        "topic a",
        "new",
        "topic c",
        "topic d",
    ]


# Merging


def test_merged_shares_are_sums_draw_by_draw(model):
    merged = model.merge_topics([1, 3])
    groups = [[0], [1, 3], [2], [4]]
    assert_allclose(shares(merged), summed(shares(model), groups), rtol=1e-12)
    from gptm.effects.effect_tables import _ask, _explanation

    parts = []
    for one in (model, merged):
        explanation = _explanation(one.fitted_)
        places = _ask(explanation.bounds[0], "year", AT, None, 3).places
        there = explanation._at(0, places)
        parts.append(explanation._shares(0, places, there))
    assert_allclose(parts[1], summed(parts[0], groups), rtol=1e-12)


def test_merged_proportions_are_sums(model, tmp_path):
    merged = model.merge_topics([1, 3])
    groups = [[0], [1, 3], [2], [4]]
    theta = model.transform(CORPUS)
    assert_allclose(merged.transform(CORPUS), summed(theta, groups), rtol=1e-13)
    assert_allclose(merged.doc_topics_, summed(model.doc_topics_, groups), rtol=1e-13)
    assert_allclose(merged.topics()["share"], summed(model.topics()["share"].to_numpy(), groups))
    assert merged.n_components == merged._n_features_out == 4


def test_error_bars_of_merged_proportions(model):
    """Against the points themselves, which a merge of nothing but one topic has too."""
    merged = model.merge_topics([1, 3])
    theta, std, quantiles = merged.transform(CORPUS, return_std=True, quantiles=(0.05, 0.95))
    assert_allclose(theta, merged.transform(CORPUS), rtol=1e-13)
    _, old_std, old_quantiles = model.transform(CORPUS, return_std=True, quantiles=(0.05, 0.95))
    assert_allclose(std[:, [0, 2, 3]], old_std[:, [0, 2, 4]], rtol=1e-9)
    assert_allclose(quantiles[..., [0, 2, 3]], old_quantiles[..., [0, 2, 4]], rtol=1e-9)
    assert (std[:, 1] <= old_std[:, 1] + old_std[:, 3] + 1e-12).all()
    assert (quantiles[0] <= theta).all()
    everything = model.reduce_to(1).transform(CORPUS, return_std=True)
    assert_allclose(everything[0], 1.0)
    assert_allclose(everything[1], 0.0, atol=1e-7)


def test_words_are_means_weighted_by_share(plain):
    merged = plain.merge_topics([0, 2])
    share = plain.doc_topics_.mean(0)[[0, 2]]
    expected = share @ plain.components_[[0, 2]] / share.sum()
    assert_allclose(merged.components_[0], expected, rtol=1e-12)
    assert_allclose(merged.components_.sum(1), 1.0)
    assert_allclose(merged.fitted_.coherence, npmi_coherence(merged.components_, X))


def test_logits_of_every_draw_are_log_sums(model):
    merged = model.merge_topics([1, 3])
    draws, new = model.fitted_.draws, merged.fitted_.draws
    eta = draws.logits.astype(float) @ contrasts(K).T
    exact = np.stack([eta[..., 0], logsumexp(eta[..., [1, 3]], -1), eta[..., 2], eta[..., 4]], -1)
    assert_allclose(new.logits, exact @ contrasts(4), atol=4e-3)
    assert (np.linalg.eigvalsh(new.S) > 0).all()


def test_parameters_have_the_moments_of_merged_logits(model):
    """Against a simulation of its own."""
    fitted, merged = model.fitted_, model.merge_topics([1, 3]).fitted_
    rng = np.random.default_rng(5)
    rows = rng.integers(D, size=200_000)
    noise = rng.multivariate_normal(np.zeros(K), fitted.Sigma, size=len(rows))
    eta = fitted.mu + fitted.F[rows] + noise
    new = np.stack([eta[:, 0], logsumexp(eta[:, [1, 3]], 1), eta[:, 2], eta[:, 4]], 1)
    rest = new - merged.F[rows]
    assert_allclose(rest.mean(0), merged.mu, atol=0.03)
    scale = np.abs(fitted.Sigma).max()
    # What is left of F beyond first order is part of the spread there, and not in the parameters.
    assert_allclose(np.cov((rest - rest.mean(0)).T), merged.Sigma, atol=0.15 * scale)
    assert_allclose(merged.Sigma[0, [0, 2, 3]], fitted.Sigma[0, [0, 2, 4]], rtol=1e-6)
    assert_allclose(merged.F, fitted.bound.operator.to_dense() @ merged.alpha, atol=1e-6)


def test_the_smaller_model_by_itself_is_close(model):
    """What `sample` and a warm start go by."""
    merged = model.merge_topics([1, 3])
    alone = merged.name_topics({0: "x"})
    alone.fitted_ = replace(merged.fitted_, origin=None)
    assert np.abs(alone.transform(CORPUS) - merged.transform(CORPUS)).mean() < 0.05
    assert merged.sample(3, metadata={"year": [1.0, 2.0, 3.0]}, random_state=0).shape == (3, V)


@settings(max_examples=15, deadline=None)
@given(groups=partitions)
def test_any_grouping(groups):
    """Rows sum to one, and everything is a sum, however one comes there."""
    model = any_grouping_model()
    grouped = apply_groups(model, groups)
    assert_allclose(grouped.doc_topics_, summed(model.doc_topics_, groups), rtol=1e-12)
    assert_allclose(grouped.doc_topics_.sum(1), 1.0)
    assert_allclose(grouped.components_.sum(1), 1.0)
    assert (np.linalg.eigvalsh(grouped.topic_covariance_) > 0).all()
    assert_allclose(grouped.transform(X[:3]), summed(model.transform(X[:3]), groups), rtol=1e-12)
    share = grouped.fitted_.watched["share"]
    assert_allclose(share, summed(model.fitted_.watched["share"], groups), rtol=1e-9)
    assert_allclose(grouped.topic_correlations().to_numpy().diagonal(), 1.0)


CACHE = {}


def any_grouping_model():
    if not CACHE:
        CACHE["model"] = CTM(K, random_state=0, max_iter=40).fit(X)
    return CACHE["model"]


# Dropping


def test_dropping_scales_the_others_up(model):
    dropped = model.drop_topics([0, 2])
    rest = model.transform(CORPUS)[:, [1, 3, 4]]
    assert_allclose(dropped.transform(CORPUS), rest / rest.sum(1, keepdims=True), rtol=1e-13)
    rest = model.doc_topics_[:, [1, 3, 4]]
    assert_allclose(dropped.doc_topics_, rest / rest.sum(1, keepdims=True), rtol=1e-13)
    assert_array_equal(dropped.components_, model.components_[[1, 3, 4]])
    for name in ("doc_logits_", "doc_variance_", "doc_means_", "dual_coef_"):
        assert_array_equal(getattr(dropped, name), getattr(model, name)[:, [1, 3, 4]])
    assert_array_equal(
        dropped.topic_covariance_, model.topic_covariance_[np.ix_([1, 3, 4], [1, 3, 4])]
    )
    assert_allclose(shares(dropped).sum(1), 1.0)
    theta, std = dropped.transform(CORPUS, return_std=True)
    assert (std < 0.6).all()
    assert_allclose(theta.sum(1), 1.0)


def test_effects_after_a_drop_are_those_of_the_remaining_logits(model):
    """The same as if there had never been another topic: proportions of each draw, scaled up."""
    dropped = model.drop_topics([0, 2])
    H, new = contrasts(K), dropped.fitted_.draws
    eta = (model.fitted_.draws.logits.astype(float) @ H.T)[..., [1, 3, 4]]
    assert_allclose(
        softmax(new.logits.astype(float) @ contrasts(3).T, -1), softmax(eta, -1), atol=2e-3
    )
    alone = dropped.name_topics({0: "x"})
    alone.fitted_ = replace(dropped.fitted_, origin=None)
    assert_allclose(shares(dropped), shares(alone), atol=1e-6)
    assert_allclose(shares(dropped, "contrast"), shares(alone, "contrast"), atol=1e-6)


def test_all_topics_cannot_be_dropped(plain):
    with pytest.raises(ValueError, match="must leave one of the 5 topics"):
        plain.drop_topics(range(K))
    assert plain.drop_topics([0, 1, 2, 3]).transform(X[:2]).tolist() == [[1.0], [1.0]]


# Reordering


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(K)))
def test_reordering_is_exact(order):
    model = any_grouping_model()
    moved = model.reorder_topics(order)
    assert_array_equal(moved.transform(X[:4]), model.transform(X[:4])[:, order])
    assert_array_equal(moved.doc_topics_, model.doc_topics_[:, order])
    assert_array_equal(moved.components_, model.components_[order])
    assert_array_equal(moved.mean_, model.mean_[order])
    back = moved.reorder_topics(np.argsort(order).tolist())
    for name in ("components", "mu", "Sigma", "lam", "nu2", "doc_topics", "coherence"):
        assert_array_equal(getattr(back.fitted_, name), getattr(model.fitted_, name))
    assert_array_equal(back.fitted_.draws.logits, model.fitted_.draws.logits)
    assert back.fitted_.origin is None


def test_effects_are_reordered(model):
    moved = model.reorder_topics([3, 1, 4, 0, 2])
    for value in ("share", "share_low", "share_high", "contrast", "contrast_low"):
        assert_allclose(shares(moved, value), shares(model, value)[:, [3, 1, 4, 0, 2]], rtol=1e-9)
    by_share = model.reorder_topics(by="share").topics()["share"]
    assert by_share.is_monotonic_decreasing


def test_bad_orders(plain):
    for order, by, said in (
        ([0, 1], None, "must list each of the 5 topics once"),
        (None, None, "must be given, and not both; got neither"),
        ([0, 1, 2, 3, 4], "share", "got both"),
        (None, "size", "by must be 'share'"),
    ):
        with pytest.raises(ValueError, match=said):
            plain.reorder_topics(order, by=by)


# Together with files, EM and warm starts


def test_files_have_the_same_bits(model, tmp_path):
    changed = model.merge_topics([1, 3], "both").drop_topics(0).reorder_topics(by="share")
    changed.save(tmp_path / "m.gptm")
    loaded = gptm.load(tmp_path / "m.gptm")
    assert loaded.history_ == changed.history_
    assert len(loaded.history_) == 3
    assert loaded.topic_names_ == changed.topic_names_
    assert_array_equal(loaded.transform(CORPUS), changed.transform(CORPUS))
    assert_array_equal(loaded.topic_covariance_, changed.topic_covariance_)
    assert_array_equal(loaded.doc_topics_, changed.doc_topics_)
    assert loaded.topics().equals(changed.topics())
    assert loaded.effects("year", at=AT).equals(changed.effects("year", at=AT))
    again = loaded.drop_topics("both")
    assert_allclose(again.doc_topics_, changed.drop_topics("both").doc_topics_)
    assert not np.isnan(again.fitted_.coherence).any()


def test_a_broken_file_is_an_error(plain, tmp_path):
    from gptm.surgery.regroup import regroup

    for members in ((), ((0, 0),), ((5,),), ((0,), ()), ((0,), (0,))):
        with pytest.raises(ValueError, match="are not groups of 5 topics"):
            regroup(plain.doc_topics_ is not None and plain.fitted_, members)


def test_a_fit_without_draws_gets_them(quick):
    merged = quick.merge_topics([1, 3])
    groups = [[0], [1, 3], [2], [4]]
    assert_allclose(shares(merged), summed(shares(quick), groups), rtol=1e-9)
    assert_allclose(merged.transform(CORPUS), summed(quick.transform(CORPUS), groups), rtol=1e-12)


def test_a_warm_start_goes_on_from_a_smaller_model(plain):
    merged = plain.merge_topics([0, 1]).set_params(warm_start=True, max_iter=10)
    assert merged.fit(CORPUS).components_.shape == (4, V)


def test_settings_for_the_old_topics_are_left_out():
    model = CTM(3, init=np.ones((3, V)) / V, max_iter=5, random_state=0).fit(X)
    assert model.merge_topics([0, 1]).get_params()["init"] == "gibbs"
    model = CTM(3, seed_words={2: [1]}, max_iter=5, random_state=0).fit(X)
    assert model.reorder_topics([2, 1, 0]).seed_words is None
    assert model.name_topics({2: "x"}).seed_words == {2: [1]}
    model.reorder_topics([2, 1, 0]).fit(X)


def test_topics_can_be_restored(model, tmp_path):
    named = model.name_topics({0: "first", 1: "second"})
    changed = named.merge_topics([1, 3]).drop_topics(2).reorder_topics(by="share")
    changed.save(tmp_path / "m.gptm")
    for one in (changed, gptm.load(tmp_path / "m.gptm")):
        back = one.restore_topics()
        assert back.topic_names_ == ["first", None, None, None, None]
        assert back.n_components == K
        assert_array_equal(back.transform(CORPUS), model.transform(CORPUS))
        assert back.history_[-1] == "Restored the topics of the fit."
    assert model.restore_topics().history_ == []


# Splitting


def test_a_split_finds_what_was_thrown_together(plain):
    split = plain.merge_topics([1, 3], "pair").split_topic("pair")
    assert split.topic_names_ == [None, "pair 1", "pair 2", None, None]
    assert split.history_[-1] == "Split topic 1 (pair) into topics 1 and 2, and fitted again."
    assert split.n_components == K
    assert_allclose(split.transform(CORPUS).sum(1), 1.0)
    pairs = gptm.align(plain, split, threshold=0.0).pairs
    assert {pairs[1], pairs[3]} == {1, 2}


def test_the_start_of_a_split_keeps_all_proportions(plain):
    from gptm.surgery.split import divide

    plain.doc_topics_  # noqa: B018, worked out when asked for
    start = divide(plain.fitted_, 2, 3, np.random.RandomState(0)).start
    theta = softmax(plain.fitted_.lam, axis=1)
    divided = softmax(start.lam, axis=1)
    assert_allclose(divided[:, :4], theta[:, [0, 1, 3, 4]], rtol=1e-9)
    assert_allclose(divided[:, 4:].sum(1), theta[:, 2], rtol=1e-9)


def test_dropped_topics_stay_dropped_in_a_split(model):
    split = model.drop_topics(4).split_topic(0, 2)
    assert split.fitted_.origin.fitted.K == K + 1
    assert split.components_.shape == (K, V)
    assert_allclose(shares(split).sum(1), 1.0)


def test_a_split_needs_the_documents(model, tmp_path):
    model.save(tmp_path / "m.gptm")
    loaded = gptm.load(tmp_path / "m.gptm")
    with pytest.raises(ValueError, match="Pass the corpus"):
        loaded.split_topic(0)
    with pytest.raises(ValueError, match="must be the 60 training documents"):
        loaded.split_topic(0, corpus=CORPUS[:10])
    assert loaded.split_topic(0, 2, corpus=CORPUS).n_components == K + 1
    assert np.isnan(loaded.merge_topics([0, 1]).fitted_.coherence[0])
    assert not np.isnan(loaded.merge_topics([0, 1], corpus=CORPUS).fitted_.coherence).any()
    with pytest.raises(ValueError, match="n must be"):
        loaded.split_topic(0, 1, corpus=CORPUS)


# The tree


def test_distances():
    a, b = RNG.dirichlet(np.ones(6), 2)
    expected = np.sqrt(0.5 * ((np.sqrt(a) - np.sqrt(b)) ** 2).sum())
    assert_allclose(word_distances(np.stack([a, b]))[0, 1], expected)


def test_the_table_and_the_reduction_are_one_tree(plain):
    tree = plain.topic_hierarchy()
    assert tree.index.tolist() == [4, 3, 2, 1]
    assert tree["distance"].is_monotonic_increasing
    assert_allclose(tree["share"].iloc[-1], 1.0)
    first = tree.iloc[0]
    merged = plain.merge_topics(first["left"] + first["right"])
    assert_allclose(plain.reduce_to(4).doc_topics_, merged.doc_topics_)
    assert plain.reduce_to(K).history_ == []
    for n in range(1, K):
        reduced = plain.reduce_to(n)
        assert reduced.components_.shape == (n, V)
        assert reduced.history_[0].startswith(f"Reduced to {n} topics: merged ")
    with pytest.raises(ValueError, match="must be at most 5"):
        plain.reduce_to(6)


def test_the_table_of_the_tree_has_names(plain):
    assert "left_name" not in plain.topic_hierarchy()
    tree = plain.name_topics({0: "first", 3: "fourth"}).topic_hierarchy()
    for side in ("left", "right"):
        for topics, name in zip(tree[side], tree[f"{side}_name"], strict=True):
            parts = [{0: "first", 3: "fourth"}.get(topic, str(topic)) for topic in topics]
            assert name == (" + ".join(parts) if {0, 3} & set(topics) else "")
    assert max(map(len, str(tree).splitlines())) <= 100


def test_the_dendrogram_has_names(plain):
    pytest.importorskip("matplotlib").use("agg")
    ax = gptm.plots.plot_hierarchy(plain.name_topics({0: "first"}))
    assert "first" in [label.get_text() for label in ax.get_yticklabels()]
    with pytest.raises(ValueError, match="two topics or more"):
        gptm.plots.plot_hierarchy(plain.reduce_to(1))


# Labels


TEXTS = ["income tax and taxes, income tax", "war and peace, war, army", "tax, army"] * 10


def test_labels_from_a_function():
    corpus = Corpus.from_texts(TEXTS)
    model = CTM(2, random_state=0, max_iter=20).fit(corpus)
    seen = []

    def name(words, texts):
        seen.append((words, texts))
        return "same"

    named = model.label_topics(name, corpus=corpus, n_words=3, n_documents=2)
    assert named.topic_names_ == ["same", "same 2"]
    assert all(len(words) == 3 and len(texts) == 2 and texts[0] in TEXTS for words, texts in seen)
    assert model.label_topics(lambda words, texts: None).topic_names_ is None
    without_texts = model.label_topics(lambda words, texts: f"{len(texts)} texts")
    assert without_texts.topic_names_ == ["0 texts", "0 texts 2"]
    with pytest.raises(ValueError, match="must be a function"):
        model.label_topics("gpt")


def test_own_labels_share_no_word():
    beta = np.full((2, 6), 0.01)
    words = ["tax", "income tax", "taxes", "people", "war", "army"]
    beta[0, [0, 1, 2, 3]] = [0.3, 0.25, 0.2, 0.21]
    beta[1, [3, 4, 5]] = [0.4, 0.35, 0.2]
    X = RNG.poisson(300 * softmax(RNG.normal(size=(40, 2)), axis=1) @ beta)
    init = beta / beta.sum(1, keepdims=True)
    model = CTM(2, init=init, random_state=0, max_iter=20).fit(Corpus(X, words))
    names = model.label_topics().topic_names_
    assert "income tax" in names[0]
    assert "taxes" not in names[0]
    assert not set(names[0].split(", ")) & set(names[1].split(", "))
    assert names[1].split(", ")[0] == "war"


def test_own_labels_have_phrases_of_the_texts():
    pair = [
        "Health care and tax: is health care a care of all? Tax for health care",
        "war army navy",
    ]
    settings = {"stop_words": "english", "max_df": 1.0}
    corpus = Corpus.from_texts(pair * 12, **settings)
    model = CTM(2, seed_words={0: ["care"]}, random_state=0, max_iter=20).fit(corpus)
    assert "health care" not in model.label_topics().topic_names_[0]
    assert "health care" in model.label_topics(corpus=corpus).topic_names_[0].split(", ")
    for other in ({"phrases": True}, {"segmenter": str.split}):  # nothing to look for
        corpus = Corpus.from_texts(pair * 12, **settings, **other)
        model = CTM(2, random_state=0, max_iter=5).fit(corpus)
        names = model.label_topics(corpus=corpus).topic_names_
        assert names == model.label_topics().topic_names_


def test_a_corpus_on_disk_gives_names_without_texts(tmp_path):
    Corpus.from_texts(TEXTS).to_blocks(tmp_path / "blocks")
    corpus = gptm.open_corpus(tmp_path / "blocks")
    model = CTM(2, random_state=0, max_iter=5).fit(corpus)
    assert model.label_topics(corpus=corpus).topic_names_ == model.label_topics().topic_names_
    named = model.label_topics(lambda words, texts: f"{len(texts)} texts", corpus=corpus)
    assert named.topic_names_ == ["0 texts", "0 texts 2"]


# Alignment


def test_a_fit_is_aligned_with_itself(plain):
    found = gptm.align(plain, plain.reorder_topics([2, 0, 1, 4, 3]))
    assert found.pairs == {2: 0, 0: 1, 1: 2, 4: 3, 3: 4}
    assert_allclose(found.table["overlap"], 1.0)
    assert (found.lost, found.new) == ([], [])
    assert str(found).startswith("5 topics in both, mean overlap 1.00; 0 only in a, 0 only in b")


def test_what_is_lost_and_new(plain):
    found = gptm.align(plain, plain.drop_topics([1, 2]))
    assert (found.lost, found.new) == ([1, 2], [])
    other = gptm.align(plain.drop_topics([1, 2]), plain)
    assert (other.lost, other.new) == ([], [1, 2])
    assert_allclose(other.overlap, found.overlap.T)
    assert "only b" in other._repr_html_()
    assert gptm.align(plain, plain.drop_topics([1]), threshold=1.0).n_common_words == V


def test_alignment_prints_within_100_columns(plain):
    named = plain.name_topics({0: "a long name of a topic, " * 6, 1: "another long name, " * 6})
    text = str(gptm.align(named, named.drop_topics([2])))
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("a long name of") == 2


def test_vocabularies_that_have_little_in_common_are_said():
    names = np.array([f"w{i}" for i in range(V)])
    a = CTM(2, random_state=0, max_iter=5).fit(Corpus(X, names))
    other = np.array([f"v{i}" for i in range(V)])
    rare = np.argsort(np.asarray(X.sum(0)).ravel())[:3]
    other[rare] = names[rare]
    with pytest.warns(UserWarning, match=r"the 3 words that both models have are 0\.\d % of"):
        gptm.align(a, CTM(2, random_state=0, max_iter=5).fit(Corpus(X, other)))


def test_vocabularies_may_differ():
    names = np.array([f"w{i}" for i in range(V)])
    a = CTM(2, random_state=0, max_iter=10).fit(Corpus(X, names))
    columns = np.r_[V - 1 : 3 : -1]
    b = CTM(2, random_state=0, max_iter=10).fit(Corpus(X[:, columns], names[columns]))
    found = gptm.align(a, b, threshold=0.0)
    assert found.n_common_words == V - 4
    expected = np.minimum(
        a.components_[0, 4:] / a.components_[0, 4:].sum(), b.components_[1][::-1]
    ).sum()
    assert_allclose(found.overlap.to_numpy()[0, 1], expected)
    bare = CTM(2, random_state=0, max_iter=5).fit(X)
    with pytest.raises(ValueError, match="have no names"):
        gptm.align(a, bare)
    with pytest.raises(ValueError, match="are 24 and 20"):
        gptm.align(bare, CTM(2, random_state=0, max_iter=5).fit(X[:, :20]))
    c = CTM(2, random_state=0, max_iter=5).fit(Corpus(X, [f"v{i}" for i in range(V)]))
    with pytest.raises(ValueError, match="no word in common"):
        gptm.align(a, c)
    with pytest.raises(ValueError, match="between 0 and 1"):
        gptm.align(a, a, threshold=2)
