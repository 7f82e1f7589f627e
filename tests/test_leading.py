"""Topics that groups of documents lead: groups by vectors and by labels, and what they do to starts and priors."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans

from gptm import GPTM, metrics
from gptm import kernels as k
from gptm.kernels import Documents
from gptm.kernels.bound import Groups
from gptm.kernels.vector_groups import NEIGHBOURS, SAMPLE, _with_neighbours, vector_groups
from gptm.starts.leading import SHARE, WEIGHT, lead_of, words_gain
from test_checkpoint import Crash, crash_at, same

pytestmark = pytest.mark.filterwarnings("ignore:the chain is short", "ignore:fit did not converge")
K, D, V = 4, 240, 60
RNG = np.random.default_rng(5)
TRUE = np.arange(D) % K


def corpus(rng=RNG, common=0.6):
    """Documents of four subjects; most of their words are common to all of these."""
    own = np.eye(K).repeat(V // K // 2, 1)
    shared = rng.dirichlet(np.ones(V - own.shape[1]))
    topics = np.hstack(
        [(1 - common) * own / own.sum(1, keepdims=True), np.tile(common * shared, (K, 1))]
    )
    return csr_matrix([rng.multinomial(20, topics[kind]) for kind in TRUE]).astype(float)


def vectors(rng=RNG, noise=0.4, width=12):
    centres = rng.standard_normal((K, width))
    return centres[TRUE] + noise * rng.standard_normal((D, width))


X, VECTORS = corpus(), vectors()


def fit(kernel, metadata, n_components=K, **settings):
    settings = {"random_state": 0, "n_jobs": 1, "max_iter": 60} | settings
    return GPTM(n_components, kernel=kernel, **settings).fit(X, metadata=metadata)


def agreement(codes):
    return metrics.nmi(codes, TRUE)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_groups_of_vectors_are_those_of_scikit_learn_where_these_are_clear():
    rows = unit(VECTORS - VECTORS.mean(0))
    codes = vector_groups(rows, K, np.random.RandomState(0))
    assert metrics.nmi(codes, KMeans(K, n_init=10, random_state=0).fit(rows).labels_) == 1.0
    assert agreement(codes) == 1.0


def test_rows_become_the_means_of_their_nearest_rows():
    rows = unit(VECTORS)
    expected = []
    for row in rows:
        nearest = np.argsort(((rows - row) ** 2).sum(1), kind="stable")[:NEIGHBOURS]
        expected.append(rows[nearest].mean(0))
    assert_allclose(_with_neighbours(rows, rows), unit(np.array(expected)), rtol=1e-12)


def test_groups_of_many_vectors_come_from_a_sample():
    rng = np.random.default_rng(2)
    kinds = rng.integers(K, size=SAMPLE + 700)
    rows = unit(rng.standard_normal((K, 6))[kinds] + 0.1 * rng.standard_normal((len(kinds), 6)))
    assert metrics.nmi(vector_groups(rows, K, np.random.RandomState(0)), kinds) == 1.0


@pytest.mark.parametrize("n", [1, 7])
def test_few_documents_make_no_groups(n):
    assert vector_groups(np.ones((n, 2)), K, np.random.RandomState(0)) is None
    assert vector_groups(np.ones((50, 2)), 1, np.random.RandomState(0)) is None


def test_equal_vectors_lead_nowhere():
    codes = vector_groups(np.tile([1.0, 0.0], (D, 1)), K, np.random.RandomState(0))
    assert lead_of(X, Groups(codes, given=False), K) is None


def test_gain_of_words_is_that_of_a_loop():
    codes = TRUE.copy()
    codes[::7] = -1
    members = csr_matrix(np.eye(K)[TRUE] * (codes >= 0)[:, None])
    counts, inside = X.toarray(), codes >= 0
    overall = counts[inside].sum(0)
    prior = 0.3 * V * (overall + 0.5) / (overall + 0.5).sum()
    total = 0.0
    for d in np.flatnonzero(inside):
        others = inside & (np.arange(D) != d)
        group = counts[others & (codes == codes[d])].sum(0) + prior
        everyone = counts[others].sum(0) + prior
        total += counts[d] @ (np.log(group / group.sum()) - np.log(everyone / everyone.sum()))
    assert_allclose(words_gain(X, codes, members), total, rtol=1e-10)
    assert total > 0


def test_groups_that_say_nothing_of_the_words_lead_nowhere():
    shuffled = np.random.default_rng(0).permutation(TRUE)
    assert lead_of(X, Groups(shuffled, given=False), K) is None
    assert lead_of(X, Groups(shuffled, given=True), K) is None
    assert lead_of(X, Groups(TRUE, given=False), K) is not None


def test_groups_lead_only_if_there_is_one_for_each_topic():
    assert lead_of(X, Groups(TRUE, given=True), K + 1) is None
    assert lead_of(X, Groups(TRUE, given=True), K - 1) is None
    assert lead_of(X, None, K) is None


def test_pseudo_counts_of_guessed_and_given_groups():
    guessed = lead_of(X, Groups(TRUE, given=False), K)
    rows = X.toarray()
    expected = [
        (WEIGHT * rows / np.sqrt(rows.sum(1, keepdims=True)))[j == TRUE].sum(0) for j in range(K)
    ]
    assert_allclose(guessed.pseudo_counts.T, expected)
    few = np.where(np.arange(D) < 12, TRUE, -1)
    assert_allclose(lead_of(X, Groups(few, given=True), K).pseudo_counts.sum(), rows[:12].sum())
    everyone = lead_of(X, Groups(TRUE, given=True), K)
    assert_allclose(everyone.pseudo_counts.sum(), SHARE * rows.sum())
    assert everyone.start
    assert not lead_of(X, Groups(few, given=True), K).start


def test_vectors_lead_the_topics():
    counts = corpus(np.random.default_rng(3), common=0.9)
    settings = {"random_state": 0, "n_jobs": 1, "max_iter": 60}
    led = GPTM(K, kernel=k.Embedding("v"), **settings).fit(counts, metadata={"v": list(VECTORS)})
    alone = GPTM(K, kernel=None, **settings).fit(counts)
    assert agreement(alone.doc_topics_.argmax(1)) < 0.8
    assert agreement(led.doc_topics_.argmax(1)) > 0.95


def test_same_bits_for_any_number_of_threads():
    one, two = (fit(k.Embedding("v"), {"v": list(VECTORS)}, n_jobs=n) for n in (1, 2))
    assert_array_equal(one.components_, two.components_)
    assert_array_equal(one.doc_topics_, two.doc_topics_)


def test_a_few_labels_lead_the_topics():
    labels = np.where(np.arange(D) < 3 * K, TRUE, -1)
    model = fit(k.MustLink("label"), {"label": labels})
    for kind in range(K):  # topics are in the order of the labels
        own = slice(kind * (V // K // 2), (kind + 1) * (V // K // 2))
        assert model.components_[:, own].sum(1).argmax() == kind


@pytest.mark.parametrize(
    "settings",
    [
        {"init": "random"},
        {"inference": "variational"},
        {"inference": "map"},
        {"learn_kernel": False},
        {"seed_words": {0: [0]}},
    ],
    ids=repr,
)
def test_what_the_user_says_goes_before_groups(settings, monkeypatch):
    def fail(*arguments):
        raise AssertionError("groups were asked for")

    monkeypatch.setattr("gptm.model.starting.lead_of", fail)
    fit(k.Embedding("v"), {"v": list(VECTORS)}, **{"max_iter": 3} | settings)
    with pytest.raises(AssertionError, match="groups were asked for"):
        fit(k.Embedding("v"), {"v": list(VECTORS)}, max_iter=3)


def test_documents_without_a_vector_are_in_no_group():
    rows = [None if d % 10 == 0 else VECTORS[d] for d in range(D)]
    kernel = k.Embedding("v") + k.Identity()
    bound = kernel.bind(Documents(D, pd.DataFrame({"v": pd.Series(rows, dtype=object)})))
    groups = bound.groups(K, np.random.RandomState(0))
    assert_array_equal(groups.codes < 0, np.arange(D) % 10 == 0)
    model = fit(kernel, pd.DataFrame({"v": pd.Series(rows, dtype=object)}))
    assert agreement(model.doc_topics_.argmax(1)) > 0.9


def test_labels_go_before_vectors_in_a_sum():
    frame = pd.DataFrame({"v": list(VECTORS), "label": np.where(TRUE < 2, TRUE, -1)})
    bound = (k.Embedding("v") + 2.0 * k.MustLink("label")).bind(Documents(D, frame))
    assert bound.groups(K, np.random.RandomState(0)).given
    assert (k.Linear("label")).bind(Documents(D, frame)).groups(K, np.random.RandomState(0)) is None


def test_a_led_fit_goes_on_after_a_crash(tmp_path, monkeypatch):
    def run(path=None):
        model = GPTM(K, kernel=k.Embedding("v"), random_state=0, max_iter=20, n_jobs=1)
        return model.fit(X, metadata={"v": list(VECTORS)}, checkpoint=path, every=0)

    path, expected = tmp_path / "work", run()
    with monkeypatch.context() as patch:
        crash_at(patch, 9)
        with pytest.raises(Crash):
            run(path)
    same(run(path), expected)


def test_several_chains_start_at_the_groups():
    model = fit(k.Embedding("v"), {"v": list(VECTORS)}, n_chains=2, max_iter=40)
    assert agreement(model.doc_topics_.argmax(1)) > 0.95
