"""Models that go on learning: `partial_fit`, and the parts behind it."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.inference.blocks.block_documents import BlockDocuments, Values
from gptm.inference.contrasts import contrasts
from gptm.streaming import going_on
from gptm.streaming.batch_order import batch_order
from gptm.streaming.born_topics import unexplained_words
from gptm.streaming.fold_in import folded_in
from gptm.streaming.mean_topics import FADING, MeanTopics, with_draws
from gptm.streaming.one_update import run_update
from gptm.streaming.passing_documents import PassingDocuments, PastSums
from gptm.streaming.past_documents import of_documents, together, weakened, with_topics, with_words
from gptm.streaming.read_batch import columns_of_words
from gptm.streaming.staying_documents import staying

TEA, COFFEE, COCOA = (
    ["tea", "green", "cup", "leaf", "black"],
    ["coffee", "bean", "roast", "espresso", "mug"],
    ["cocoa", "chocolate", "milk", "sugar", "powder"],
)


@pytest.fixture
def little_room(monkeypatch):
    """Room for few documents, so that small corpora have a past; short chains."""
    monkeypatch.setattr(going_on, "ROOMS", (40, 40))
    monkeypatch.setattr(going_on, "WHOLE", 16)
    monkeypatch.setattr(going_on, "KERNEL_SWEEPS", 16)


def texts(n, groups, rng):
    return [" ".join(rng.choice(groups[rng.integers(len(groups))], 12)) for _ in range(n)]


def table(n, levels, rng, first=1990.0):
    return pd.DataFrame(
        {"who": rng.choice(levels, n), "year": first + rng.integers(0, 10, n).astype(float)}
    )


def streamed(model, n_batches, rng, size=20, **options):
    """A model after some batches of two kinds of documents."""
    vocabulary = TEA + COFFEE
    for number in range(n_batches):
        corpus = Corpus.from_texts(texts(size, [TEA, COFFEE], rng), vocabulary=vocabulary)
        frame = table(size, ["a", "b"], rng, 1990.0 + 3 * number)
        corpus = Corpus(corpus.counts, corpus.vocabulary, metadata=frame)
        model.partial_fit(corpus, **(options if number else {}))
    return model


def logits(n, K, rng):
    eta = rng.normal(size=(n, K))
    return eta - eta.mean(1, keepdims=True)


# Sums of the past


def test_sums_of_two_parts_are_those_of_all_documents():
    rng = np.random.default_rng(0)
    eta, spread, tally = logits(9, 3, rng), rng.random((9, 3)), rng.random((2, 5, 3))
    frame = pd.DataFrame({"who": list("abcabcabc")})

    def part(rows, number):
        X = eta[rows]
        return of_documents(tally[number], X, spread[rows], X.T @ X, frame.iloc[rows])

    both = together(part(np.arange(4), 0), part(np.arange(4, 9), 1))
    assert both.cells["who"].tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(both.weights, [3, 3, 3])
    for cell in range(3):
        np.testing.assert_allclose(both.logits[cell], eta[cell::3].sum(0))
        np.testing.assert_allclose(both.spread[cell], spread[cell::3].sum(0))
    np.testing.assert_allclose(both.squares, eta.T @ eta)
    np.testing.assert_allclose(both.tally, tally.sum(0))
    np.testing.assert_allclose(weakened(both, 0.25).n, 9 / 4)


def test_more_words_and_topics_change_nothing_that_is_known():
    rng = np.random.default_rng(1)
    eta = logits(50, 3, rng)
    past = of_documents(rng.random((4, 3)), eta, np.zeros((50, 3)), eta.T @ eta, None)
    wide = with_words(past, 6)
    np.testing.assert_array_equal(wide.tally[:4], past.tally)
    assert not wide.tally[4:].any()
    born = with_topics(past, 2, 3.0, 0.5)
    # By hand: the new logits are 3 below the mean of the old ones, and then all are centred.
    by_hand = np.hstack([eta, np.full((50, 2), -3.0)])
    by_hand -= by_hand.mean(1, keepdims=True)
    np.testing.assert_allclose(born.logits[0], by_hand.sum(0))
    centre = np.eye(5) - 0.2
    own = centre @ np.diag([0, 0, 0, 0.5, 0.5]) @ centre
    np.testing.assert_allclose(born.squares, by_hand.T @ by_hand + 50 * own)


def test_draws_of_the_past_have_its_sums_on_average():
    rng = np.random.default_rng(2)
    n, K = 40, 3
    eta, spread = logits(n, K, rng), 0.3 * rng.random((n, K))
    frame = pd.DataFrame({"cell": np.arange(n) % 8})
    squares = eta.T @ eta + np.diag(spread.sum(0))
    sums = PastSums(of_documents(np.ones((4, K)), eta, spread, squares, frame), None, 12.0)
    draws = [sums.draw(key) for key in range(4000)]
    H = contrasts(K)
    np.testing.assert_allclose(np.mean([d.Y for d in draws], 0), eta.sum(0) @ H, atol=0.15)
    np.testing.assert_allclose(np.mean([d.YY for d in draws], 0), H.T @ squares @ H, atol=0.15)
    spread_of_Y = np.cov(np.array([d.Y for d in draws]).T)
    np.testing.assert_allclose(spread_of_Y, H.T @ np.diag(spread.sum(0)) @ H, atol=0.3)
    assert all(np.linalg.eigvalsh(d.YY).min() > 0 for d in draws)


def test_what_is_remembered_of_passing_documents_are_their_means():
    rng = np.random.default_rng(3)
    counts = csr_matrix(rng.poisson(1.0, (6, 5)).astype(float))
    passing = PassingDocuments(BlockDocuments(0, counts, None, None), logits(6, 3, rng), None, 3, 1)
    beta_T = np.zeros((5, 8), dtype=np.float32)
    beta_T[:, :3] = rng.dirichlet(np.ones(5), 3).T
    values = Values(beta_T, np.zeros(2), np.zeros((0, 2)), np.eye(2), None, 0)
    passing.begin(values, 0, 0)
    seen = []
    for key in range(6):
        sums = passing.sweep(values._replace(key=key), key)()
        seen.append((sums.tally[:, :3], passing._state.eta.astype(float)))
    left = passing.leaving()
    np.testing.assert_allclose(left.tally, np.mean([t for t, _ in seen[2:]], 0))
    np.testing.assert_allclose(left.means, np.mean([e for _, e in seen[2:]], 0), atol=1e-6)
    second = np.mean([e.T @ e for _, e in seen[2:]], 0)
    np.testing.assert_allclose(left.squares, second, atol=1e-5)
    np.testing.assert_allclose(left.tally.sum(), counts.sum())


# Which documents stay, and in which order


def test_each_document_is_as_likely_to_stay():
    rng = np.random.default_rng(0)
    draws = [staying(30, 20, 50.0, 40, None, {}, rng) for _ in range(2000)]
    share = np.mean(draws, 0)
    assert all(d.sum() == 38 for d in draws)  # 8 of 20 new ones, all 30 old ones
    np.testing.assert_allclose(share[30:], 0.4, atol=0.05)
    assert staying(3, 4, 0.0, 40, None, {}, rng).all()


def test_one_document_of_each_level_stays():
    frame = pd.DataFrame({"who": ["rare"] + ["often"] * 99, "year": np.arange(100.0)})
    kinds = {"who": "category", "year": "number"}
    for seed in range(20):
        stays = staying(60, 40, 0.0, 10, frame, kinds, np.random.default_rng(seed))
        assert stays[0]
        assert stays.sum() in (10, 11)


def test_the_order_of_a_batch_is_its_own():
    rng = np.random.default_rng(0)
    X = csr_matrix(rng.poisson(0.5, (30, 6)))
    frame = pd.DataFrame({"tags": [["x"], ["x", "y"], None] * 10, "n": rng.normal(size=30)})
    order = batch_order(X, frame)
    turned = rng.permutation(30)
    again = turned[batch_order(X[turned], frame.iloc[turned])]
    np.testing.assert_array_equal(order, again)


# Words and topics


def test_words_of_a_corpus_find_their_columns():
    corpus = Corpus([[1, 2], [0, 3]], ["cup", "bean"])
    counts = columns_of_words(corpus, np.array(["tea", "bean", "cup"], dtype=object))
    assert counts.toarray().tolist() == [[0, 2, 1], [0, 3, 0]]


def test_folding_in_finds_the_topics_of_clear_documents():
    beta_T = np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]) + 1e-6
    found = folded_in(csr_matrix([[3.0, 1.0, 0.0], [0.0, 0.0, 5.0], [2.0, 0.0, 2.0]]), beta_T)
    np.testing.assert_allclose(found, [[4, 0], [0, 5], [2, 2]], atol=1e-4)


def test_unexplained_words_are_those_that_old_topics_do_not_expect():
    rng = np.random.default_rng(0)
    beta_T = np.zeros((6, 1)) + 1e-4
    beta_T[:3] = 1 / 3
    X = csr_matrix(np.hstack([rng.poisson(3.0, (40, 3)), rng.poisson(3.0, (40, 3))]).astype(float))
    found = unexplained_words(X, beta_T / beta_T.sum(0), 1, rng)[:, 0]
    assert found[3:].sum() > 10 * found[:3].sum()


# Topics as means over draws


def test_topics_are_means_over_draws_that_fade_with_the_documents_that_came_since():
    rng = np.random.default_rng(0)
    parts = [MeanTopics(rng.dirichlet(np.ones(5), 3).T, draws) for draws in (40.0, 8.0, 20.0)]
    seen = np.array([60.0, 80.0, 100.0])  # documents
    mean = parts[0]
    for i in (1, 2):
        mean = with_draws(mean, seen[i - 1] / seen[i], parts[i])
    weights = np.array([part.draws for part in parts]) * (seen / 100.0) ** FADING
    by_hand = sum(w * part.beta_T for w, part in zip(weights, parts, strict=True)) / weights.sum()
    np.testing.assert_allclose(mean.beta_T, by_hand)
    assert mean.draws == pytest.approx(weights.sum())


def test_words_and_topics_that_join_have_what_their_own_draws_say():
    rng = np.random.default_rng(1)
    before = MeanTopics(rng.dirichlet(np.ones(4), 2).T, 30.0)
    own = MeanTopics(rng.dirichlet(np.ones(6), 2).T, 10.0)
    mean = with_draws(before, 0.9, own)
    np.testing.assert_allclose(mean.beta_T[4:], own.beta_T[4:])
    np.testing.assert_allclose(mean.beta_T.sum(0), 1.0)
    between = np.sort([before.beta_T * own.beta_T[:4].sum(0), own.beta_T[:4]], axis=0)
    assert (between[0] <= mean.beta_T[:4]).all()
    assert (mean.beta_T[:4] <= between[1]).all()
    born = MeanTopics(rng.dirichlet(np.ones(6), 3).T, 10.0)
    assert with_draws(before, 0.9, born) is born
    assert with_draws(before, 0.0, own) is own


def test_an_update_keeps_draws_of_topics_from_the_updates_before(little_room, monkeypatch):
    rng = np.random.default_rng(2)
    model = streamed(CTM(2, random_state=0), 4, rng)
    before, share, chains = model.fitted_, 80 / 100, []

    def watched(*arguments):
        chains.append(run_update(*arguments))
        return chains[-1]

    monkeypatch.setattr(going_on, "run_update", watched)
    vocabulary = before.vocabulary
    corpus = Corpus.from_texts(texts(20, [TEA, COFFEE], rng), vocabulary=vocabulary)
    model.partial_fit(Corpus(corpus.counts, vocabulary, metadata=table(20, ["a"], rng)))
    own, weight = chains[0].fitted, before.stream.draws * share**FADING
    n = own.draws.n
    assert n == 8
    by_hand = (weight * before.components + n * own.components) / (weight + n)
    np.testing.assert_allclose(model.components_, by_hand)
    assert model.fitted_.stream.draws == pytest.approx(weight + n)


@pytest.mark.parametrize(("n_new", "expected"), [(3, 16), (15, 40)])
def test_an_update_is_longer_the_more_documents_are_new(n_new, expected):
    X, sweeps = np.random.default_rng(0).poisson(1.0, (80, 8)), []
    model = CTM(2, random_state=0, callback=lambda number, state: sweeps.append(number))
    model.partial_fit(X[:40]).partial_fit(X[40:60])
    del sweeps[:]
    model.partial_fit(X[60 : 60 + n_new])
    assert sweeps == list(range(1, expected + 1))


def test_a_stream_that_forgets_finds_its_topics_again_when_half_of_it_is_new():
    X = np.random.default_rng(0).poisson(1.0, (200, 8))
    model, found = CTM(2, random_state=0, max_iter=16), []
    for number, rows in enumerate(np.split(np.arange(200), 20)):
        model.partial_fit(X[rows], decay=0.8 if number else 1.0)
        started = model.fitted_.stream.started
        if started == len(model.fitted_.lam):
            found.append(number)
    # There are about 50 documents in memory at the end, too few to double.
    assert len(model.fitted_.lam) < 80
    assert max(np.diff(found)) <= 4
    assert found[-1] >= 16


# The model


def test_the_first_batch_is_a_fit():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (20, 8))
    first = CTM(2, random_state=0, max_iter=30).partial_fit(X)
    np.testing.assert_array_equal(
        first.components_, CTM(2, random_state=0, max_iter=30).fit(X).components_
    )


def test_topics_are_learnt_from_batches_that_no_memory_holds(little_room):
    rng = np.random.default_rng(0)
    model = streamed(CTM(2, random_state=0), 6, rng)
    fitted = model.fitted_
    assert (fitted.n_documents, len(fitted.lam), fitted.stream.past.n) == (120, 40, 80.0)
    assert fitted.n_tokens == 120 * 12
    assert {frozenset(words) for words in model.topic_words(5)} == {
        frozenset(TEA),
        frozenset(COFFEE),
    }
    assert model.sample_.shape == (40, 10)
    assert model.doc_topics_.shape == (40, 2)


def test_order_inside_of_a_batch_does_not_matter_and_seeds_and_threads_give_the_same_bits(
    little_room,
):
    rng = np.random.default_rng(0)
    X, frame = rng.poisson(1.0, (90, 12)), table(90, ["a", "b", "c"], rng)

    def learnt(turn, n_jobs):
        model = GPTM(2, kernel=k.Categorical("who"), random_state=3, n_jobs=n_jobs)
        model.partial_fit(X[:30], metadata=frame[:30])
        for rows in (np.arange(30, 60), np.arange(60, 90)):
            rows = rows[turn] if turn is not None else rows
            model.partial_fit(X[rows], metadata=frame.iloc[rows])
        return model

    plain, turned = learnt(None, 1), learnt(np.random.default_rng(1).permutation(30), 2)
    np.testing.assert_array_equal(plain.components_, turned.components_)
    np.testing.assert_array_equal(plain.fitted_.draws.mu, turned.fitted_.draws.mu)


def test_new_words_levels_and_dates_join(little_room):
    rng = np.random.default_rng(1)
    kernel = k.Categorical("who") + k.Matern("year", length_scale=5.0)
    model = streamed(GPTM(2, kernel=kernel, random_state=0), 4, rng)
    vocabulary = model.feature_names_in_.tolist()
    words, frame = texts(20, [TEA, ["kettle", *COFFEE]], rng), table(20, ["c", "d"], rng, 2010.0)
    model.partial_fit(Corpus.from_texts(words, metadata=frame))
    assert model.feature_names_in_.tolist()[:10] == vocabulary
    assert "kettle" in model.feature_names_in_
    levels = model.effects("who")["who"]
    assert set(levels) == {"a", "b", "c", "d"}
    np.testing.assert_allclose(model.components_.sum(1), 1.0)
    shares = model.transform(words, metadata=frame)
    np.testing.assert_allclose(shares.sum(1), 1.0)


def test_texts_are_counted_by_the_rules_of_the_model(little_room):
    rng = np.random.default_rng(2)
    first = Corpus.from_texts(texts(30, [TEA, COFFEE], rng), min_df=1, stop_words=["mug"])
    model = CTM(2, random_state=0, max_iter=30).partial_fit(first)
    model.partial_fit(["kettle mug tea"] * 5)
    assert "kettle" in model.feature_names_in_
    assert "mug" not in model.feature_names_in_


def test_links_join_a_graph_and_all_documents_stay(little_room):
    rng = np.random.default_rng(3)
    model = GPTM(2, kernel=k.Graph("links", id="id"), random_state=0, max_iter=10)
    X = rng.poisson(1.0, (60, 8))
    frame = pd.DataFrame(
        {"id": [f"d{i}" for i in range(60)], "links": [[f"d{i // 2}"] for i in range(60)]}
    )
    for rows in np.array_split(np.arange(60), 3):
        model.partial_fit(X[rows], metadata=frame.iloc[rows])
    assert len(model.fitted_.lam) == 60
    edges = model.fitted_.bound.structure.graphs
    assert edges
    assert model.fitted_.bound.n == 60


def test_decay_forgets(little_room):
    rng = np.random.default_rng(4)
    model = streamed(CTM(2, random_state=0), 5, rng, decay=0.5)
    past = model.fitted_.stream.past
    assert len(model.fitted_.lam) + (0.0 if past is None else past.n) < 60
    assert model.fitted_.stream.documents == 100
    gone = streamed(CTM(2, random_state=0), 2, rng)
    only = csr_matrix(np.eye(10)[[0, 1, 2]].repeat(20, 0))
    gone.partial_fit(Corpus(only, TEA + COFFEE), decay=0.0)
    assert gone.components_[:, 5:].sum() < 0.5  # nothing of coffee is left


def test_topics_are_born_and_old_ones_keep_their_numbers_and_names(little_room):
    rng = np.random.default_rng(5)
    model = streamed(CTM(2, random_state=0), 4, rng).name_topics({0: "first", 1: "second"})
    before = [set(words) for words in model.topic_words(5)]
    corpus = Corpus.from_texts(texts(40, [TEA, COFFEE, COCOA], rng), stop_words=None)
    model.partial_fit(corpus, n_new_components=1)
    words = [set(words) for words in model.topic_words(5)]
    assert words[:2] == before
    assert words[2] == set(COCOA)
    assert model.topic_names_ == ["first", "second", None]
    assert model.history_[-1] == "Added topic 2 in an update."
    assert model.n_components == 3


def test_a_stream_is_saved_and_goes_on_with_the_same_bits(little_room, tmp_path):
    rng = np.random.default_rng(6)
    model = streamed(GPTM(2, kernel=k.Categorical("who"), random_state=0), 4, rng)
    model.save(tmp_path / "model.gptm")
    loaded = gptm.load(tmp_path / "model.gptm")
    X, frame = rng.poisson(1.0, (10, 10)), table(10, ["a", "z"], rng)
    more = Corpus(X, TEA + COFFEE, metadata=frame)
    model.partial_fit(more)
    loaded.partial_fit(more)
    np.testing.assert_array_equal(model.components_, loaded.components_)
    np.testing.assert_array_equal(model.doc_topics_, loaded.doc_topics_)
    np.testing.assert_array_equal(model.transform(more), loaded.transform(more))


def test_a_loaded_fit_goes_on(tmp_path):
    rng = np.random.default_rng(7)
    X, frame = rng.poisson(1.0, (30, 8)), table(30, ["a", "b"], rng)
    corpus = Corpus(X, metadata=frame)
    CTM(2, random_state=0, max_iter=20).fit(X).save(tmp_path / "plain.gptm")
    plain = gptm.load(tmp_path / "plain.gptm").partial_fit(X[:10])
    assert plain.fitted_.n_documents == 40
    assert plain.fitted_.stream.past.n == 30.0
    fitted = GPTM(2, kernel=k.Categorical("who"), random_state=0, max_iter=20).fit(corpus)
    fitted.save(tmp_path / "kernel.gptm")
    loaded = gptm.load(tmp_path / "kernel.gptm")
    with pytest.raises(ValueError, match="training=, the training corpus"):
        loaded.partial_fit(X, metadata=frame)
    loaded.partial_fit(X, metadata=frame, training=corpus)
    assert loaded.fitted_.n_documents == 60


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, X: m.partial_fit(X, decay=1.5), "decay must be"),
        (lambda m, X: m.partial_fit(X, n_new_components=-1), "n_new_components must be"),
        (lambda m, X: m.merge_topics([0, 1]).partial_fit(X), "restore_topics"),
        (lambda m, X: m.partial_fit(X[:, :3]), "features"),
    ],
)
def test_what_cannot_be_updated_is_refused(change, message):
    X = np.random.default_rng(0).poisson(1.0, (20, 8))
    model = CTM(3, random_state=0, max_iter=20).fit(X)
    before = model.components_
    with pytest.raises(ValueError, match=message):
        change(model, X)
    np.testing.assert_array_equal(model.components_, before)


def test_models_of_em_and_documents_without_metadata_are_refused():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (20, 8))
    em = CTM(2, inference="variational", random_state=0).fit(X)
    with pytest.raises(AttributeError) as caught:
        em.partial_fit(X)
    assert "inference='sampling'" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match="inference='sampling'"):
        going_on.check_goes_on(em.fitted_)
    model = GPTM(2, kernel=k.Categorical("who"), random_state=0, max_iter=20)
    model.fit(X, metadata=table(20, ["a", "b"], rng))
    with pytest.raises(ValueError, match="came without any"):
        model.partial_fit(X)
