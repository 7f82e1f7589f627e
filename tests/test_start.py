"""Where chains and EM start: Gibbs, anchor words, random handfuls, given topics; and the threads beneath."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_info, threadpool_limits

from checks import iterate
from gptm._basics import parallel
from gptm._basics.parallel import (
    blocks,
    inner_product,
    n_threads,
    ordered_map,
    row_product,
    shards,
    single_threaded_blas,
    thin_product,
)
from gptm.inference.problem import FitProblem
from gptm.operators import Diagonal
from gptm.starts import lda as gibbs
from gptm.starts import start
from gptm.starts.anchor_words import spectral_topics
from gptm.starts.lda import LdaRun
from gptm.starts.start import make_start

INITS = ("gibbs", "spectral", "random", "array")


def anchored_corpus(seed, D=300, V=30, K=3, length=60):
    """Counts and topics (K, V); each topic's first word occurs in no other topic."""
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(V - K, 0.3), K) * 0.8
    beta = np.hstack([0.2 * np.eye(K), beta])
    theta = rng.dirichlet(np.full(K, 0.2), D)
    X = np.array([rng.multinomial(length, row) for row in theta @ beta])
    return csr_matrix(X.astype(float)), beta


def matched(found, true):
    """Rows of `found` in the order that fits the rows of `true` best."""
    distance = np.abs(found[None, :, :] - true[:, None, :]).sum(axis=2)
    return found[linear_sum_assignment(distance)[1]]


def make_problem(counts, n_jobs=1, smoothing=0.01):
    return FitProblem(
        counts,
        Diagonal(np.full(counts.shape[0], 0.0, dtype=float)),
        inference="variational",
        coregionalization="none",
        learn_covariance=True,
        learn_strength=False,
        fit_mean=True,
        smoothing=smoothing,
        n_jobs=n_jobs,
    )


def start_from(init, counts, K=3, seed=0, **choices):
    problem = make_problem(counts, **choices)
    if init == "array":
        rng = np.random.default_rng(seed)
        init = rng.dirichlet(np.ones(counts.shape[1]), K)
        init[0, 0] = 0.0 if counts.shape[1] > 1 else 1.0
    return make_start(init, problem, K, np.random.RandomState(seed)).state


def tokens_of(counts):
    return np.asarray(counts.sum(axis=0)).ravel()


# Gibbs


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(gibbs, "MIN_SHARD", 300)


def gibbs_run(counts, K=3, seed=0, n_sweeps=50, n_jobs=None):
    chain = LdaRun(counts, K, np.random.RandomState(seed))
    assert chain.sweep_to(n_sweeps, n_jobs)
    return chain.start()


@pytest.mark.usefixtures("small_shards")
def test_gibbs_depends_on_the_seed_and_not_on_threads():
    counts, _ = anchored_corpus(0, D=80)
    one = gibbs_run(counts, n_sweeps=10)
    for n_jobs in (1, 2, 3):
        same = gibbs_run(counts, n_sweeps=10, n_jobs=n_jobs)
        assert np.array_equal(same.word_topic, one.word_topic)
        assert np.array_equal(same.posterior.lam, one.posterior.lam)
    other = gibbs_run(counts, n_sweeps=10, seed=1)
    assert not np.array_equal(other.word_topic, one.word_topic)


@pytest.mark.parametrize("min_shard", [100, 10**9])
def test_gibbs_conserves_tokens(monkeypatch, min_shard):
    """Over any number of shards: each word and each document keeps its tokens."""
    monkeypatch.setattr(gibbs, "MIN_SHARD", min_shard)
    counts, _ = anchored_corpus(7, D=40)
    found = gibbs_run(counts, n_sweeps=7)
    assert np.array_equal(found.word_topic.sum(axis=1), tokens_of(counts))
    assert found.word_topic.min() >= 0
    in_document = 1 / found.posterior.nu2 - 1
    assert_allclose(in_document.sum(axis=1), np.asarray(counts.sum(axis=1)).ravel(), rtol=1e-6)
    assert_allclose(in_document.sum(axis=0), found.word_topic.sum(axis=0), rtol=1e-6)


def test_gibbs_posterior_is_centred_and_finite():
    counts, _ = anchored_corpus(1, D=20)
    lam, nu2 = gibbs_run(counts, n_sweeps=3).posterior
    assert_allclose(lam.sum(axis=1), 0, atol=1e-10)
    counted = 1 / nu2 - 1 + gibbs.SPREAD
    share = counted / counted.sum(axis=1, keepdims=True)
    assert_allclose(np.exp(lam) / np.exp(lam).sum(axis=1, keepdims=True), share, rtol=1e-9)


def test_gibbs_finds_the_topics():
    counts, beta = anchored_corpus(2)
    found = gibbs_run(counts)
    topics = (found.word_topic / found.word_topic.sum(axis=0)).T
    assert np.abs(matched(topics, beta) - beta).sum(axis=1).max() < 0.2


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((3, 4)),
        np.array([[0, 2, 0, 1]]),
        np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]),
    ],
    ids=["no words", "one document", "one token"],
)
@pytest.mark.parametrize("K", [1, 6])
def test_gibbs_of_hardly_anything(X, K):
    found = gibbs_run(csr_matrix(X.astype(float)), K)
    assert found.word_topic.shape == (4, K)
    assert np.array_equal(found.word_topic.sum(axis=1), X.sum(axis=0))
    assert np.all(np.isfinite(found.posterior.lam))
    assert np.all(found.posterior.nu2 > 0)


@pytest.mark.parametrize(
    ("count", "beside", "counted"), [(1e12, 2.0, 10_000), (5000.0, 2.0, 1000), (5000.0, 3e5, 3050)]
)
def test_gibbs_caps_huge_counts(count, beside, counted):
    """A cell counts for a hundredth of all tokens, for a thousand if it has so many, and for ten thousand at most."""
    X = np.array([[count, 3.0], [0.0, 2.0]])
    X = np.vstack([X, np.tile([0.0, beside / 500], (500, 1))]) if beside > 2 else X
    found = gibbs_run(csr_matrix(X), 2, n_sweeps=1)
    assert found.word_topic[0].sum() == counted
    assert found.word_topic[1].sum() == X[:, 1].sum()


def test_gibbs_rounds_fractions_but_keeps_every_cell():
    X = csr_matrix(np.array([[0.1, 1.4, 0.0], [2.6, 0.0, 0.49]]))
    found = gibbs_run(X, 2, n_sweeps=3)
    assert np.array_equal(found.word_topic.sum(axis=1), [1 + 3, 1, 1])


def test_gibbs_after_an_interrupt(monkeypatch):
    """Says that it was not complete, and its counts are whole all the same."""
    counts, _ = anchored_corpus(3, D=20)
    calls = []

    def interrupted(function, items, n_jobs):
        calls.append(1)
        results = ordered_map(function, items, n_jobs)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return results

    monkeypatch.setattr(gibbs, "ordered_map", interrupted)
    chain = LdaRun(counts, 3, np.random.RandomState(0))
    assert not chain.sweep_to(50)
    found = chain.start()
    assert len(calls) == 3
    assert np.array_equal(found.word_topic.sum(axis=1), tokens_of(counts))
    in_document = 1 / found.posterior.nu2 - 1
    assert_allclose(in_document.sum(axis=0), found.word_topic.sum(axis=0), rtol=1e-6)


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("seeded", [False, True])
def test_gibbs_of_many_topics(seeded, monkeypatch):
    """Draws that look at the topics of documents only: for any number of threads, with counts as drawn."""
    monkeypatch.setattr(gibbs, "MANY_TOPICS", 2)
    counts, beta = anchored_corpus(0, D=80)
    seeds = np.zeros((counts.shape[1], 3))
    seeds[0, 0] = 5.0
    found = []
    for n_jobs in (1, 2):
        run = LdaRun(counts, 3, np.random.RandomState(0), seeds if seeded else None)
        assert len(run._pieces) > 1
        run.sweep_to(17, n_jobs)
        run.sweep_to(33, n_jobs)
        found.append(run.start())
        assert_array_equal(found[-1].word_topic.sum(1), tokens_of(counts))
        assert_allclose(1 / found[-1].posterior.nu2 - 1, run._doc_topic[:, :3], rtol=1e-5)
        assert_array_equal(run._doc_topic.sum(1), np.asarray(counts.sum(1)).ravel())
    assert_array_equal(found[0].word_topic, found[1].word_topic)
    topics = found[0].word_topic / found[0].word_topic.sum(0)
    overlap = np.minimum(topics.T[:, None], np.asarray(beta)[None]).sum(-1)
    assert np.all(overlap.max(0) > 0.7)


# Anchor words


@pytest.mark.parametrize("seed", range(3))
def test_spectral_finds_the_topics_of_a_separable_corpus(seed):
    counts, beta = anchored_corpus(seed, D=2000)
    topics = spectral_topics(counts, 3).T
    assert np.abs(matched(topics, beta) - beta).sum(axis=1).max() < 0.2


def test_spectral_of_very_short_documents():
    """A token is no pair with itself; of three tokens in a document that is a third of all pairs."""
    counts, beta = anchored_corpus(0, D=20_000, length=3)
    topics = spectral_topics(counts, 3).T
    assert np.abs(matched(topics, beta) - beta).sum(axis=1).max() < 0.2


def test_spectral_leaves_nothing_to_chance():
    counts, _ = anchored_corpus(0)
    one = spectral_topics(counts, 3)
    assert np.array_equal(spectral_topics(counts, 3), one)
    order = np.random.default_rng(0).permutation(counts.shape[0])
    assert_allclose(spectral_topics(counts[order], 3), one, rtol=1e-6, atol=1e-12)
    assert np.array_equal(
        start_from("spectral", counts, seed=1).beta_T, start_from("spectral", counts).beta_T
    )


def test_spectral_of_words_that_never_occur():
    counts, _ = anchored_corpus(0)
    wider = csr_matrix(np.hstack([counts.toarray(), np.zeros((counts.shape[0], 4))]))
    topics = spectral_topics(wider, 3)
    assert_allclose(topics.sum(axis=0), 1, rtol=1e-12)
    assert topics[-4:].max() < 1e-3


# Every start


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize(
    ("name", "D", "V", "K"),
    [
        ("ordinary", 30, 12, 3),
        ("one topic", 30, 12, 1),
        ("more topics than words", 30, 4, 7),
        ("more topics than documents", 3, 12, 7),
        ("one document", 1, 12, 3),
        ("one word", 10, 1, 3),
    ],
)
def test_every_start_is_positive_and_sums_to_one(init, name, D, V, K):
    rng = np.random.default_rng(0)
    counts = csr_matrix(rng.poisson(1.0, (D, V)).astype(float))
    state = start_from(init, counts, K)
    assert state.beta_T.shape == (V, K)
    assert state.beta_T.flags.c_contiguous
    assert state.beta_T.min() > 0
    assert_allclose(state.beta_T.sum(axis=0), 1, rtol=1e-12)
    assert state.posterior.lam.shape == state.posterior.nu2.shape == (D, K)
    state = next(iterate(make_problem(counts), state))
    assert np.isfinite(state.bound)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("smoothing", [0.0, 0.01])
def test_every_start_of_an_empty_corpus(init, smoothing):
    state = start_from(init, csr_matrix((3, 4)), smoothing=smoothing)
    assert state.beta_T.min() > 0
    assert_allclose(state.beta_T.sum(axis=0), 1, rtol=1e-12)


@pytest.mark.parametrize("init", ["gibbs", "random"])
def test_start_depends_on_the_seed(init):
    counts, _ = anchored_corpus(0, D=30)
    one = start_from(init, counts).beta_T
    assert np.array_equal(start_from(init, counts).beta_T, one)
    assert np.abs(start_from(init, counts, seed=1).beta_T - one).max() > 1e-3


@pytest.mark.usefixtures("small_shards")
def test_gibbs_start_does_not_depend_on_threads():
    counts, _ = anchored_corpus(0, D=60)
    one, two = (start_from("gibbs", counts, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.beta_T, two.beta_T)
    assert np.array_equal(one.posterior.lam, two.posterior.lam)
    assert one.bound == two.bound


def test_sweeps_of_a_chain_add_up():
    counts, _ = anchored_corpus(7, D=40)
    chain = LdaRun(counts, 3, np.random.RandomState(0))
    chain.sweep_to(4)
    chain.sweep_to(7)
    assert np.array_equal(chain.start().word_topic, gibbs_run(counts, n_sweeps=7).word_topic)


@pytest.mark.parametrize("at_once", [2, 1000])
@pytest.mark.parametrize("seeded", [False, True])
def test_how_well_a_run_fits_the_words(seeded, at_once, monkeypatch):
    """Token by token: over all topics, from shares of the document and of the words."""
    monkeypatch.setattr(gibbs, "_TOKENS", at_once)
    counts, _ = anchored_corpus(3, D=6, V=7)
    seeds = np.zeros((7, 3))
    seeds[2, 1] = 4.0
    run = LdaRun(counts, 3, np.random.RandomState(3), seeds if seeded else None)
    run.sweep_to(6)
    total = 0.0
    for d, w in zip(run._docs, run._words, strict=True):
        p = 0.0
        for topic in range(3):
            here, of_topic = run._docs == d, run._topics == topic
            theta = (np.sum(here & of_topic) + run._alpha) / (here.sum() + 3 * run._alpha)
            prior = run.urn.pseudo_counts + (seeds[:, topic] if seeded else 0.0)
            beta = np.sum((run._words == w) & of_topic) + prior[w]
            p += theta * beta / (of_topic.sum() + prior.sum())
        total += np.log(p)
    assert_allclose(run.fit(), total, rtol=1e-5)


def learnt(theta, beta, seed=0):
    """Chains of documents with known shares of topics, after they have learnt their priors."""
    rng = np.random.default_rng(seed)
    counts = csr_matrix([rng.multinomial(80, row) for row in theta @ beta], dtype=float)
    chain = LdaRun(counts, len(beta), np.random.RandomState(seed))
    chain.sweep_to(60)
    return chain


def test_gibbs_learns_how_mixed_documents_are():
    rng = np.random.default_rng(1)
    beta = rng.dirichlet(np.full(40, 0.1), 3)
    few, many = (learnt(rng.dirichlet(np.full(3, a), 200), beta)._alpha for a in (0.05, 1.5))
    assert few < 0.15
    assert 0.8 < many < 3.0


def test_gibbs_learns_how_alike_topics_are():
    rng = np.random.default_rng(1)
    theta, base = rng.dirichlet(np.full(6, 0.2), 200), rng.dirichlet(np.full(40, 0.5))
    apart, alike = (learnt(theta, rng.dirichlet(tau * base, 6)).urn for tau in (4.0, 60.0))
    assert apart.tau < 7.0 < 10.0 < alike.tau
    assert np.corrcoef(alike.base, base)[0, 1] > 0.6
    for urn in (apart, alike):
        assert urn.base.min() > 0
        assert_allclose(urn.base.sum(), 1.0)


@pytest.mark.parametrize("init", INITS)
def test_every_start_knows_the_tokens_of_its_topics(init):
    """Counted, or where only topics are known, as many in each."""
    counts, _ = anchored_corpus(7, D=40)
    given = np.random.default_rng(0).dirichlet(np.ones(30), 3) if init == "array" else init
    found = make_start(given, make_problem(counts), 3, np.random.RandomState(0))
    assert found.complete
    assert_allclose(found.word_topic.sum(), counts.sum())
    if init == "gibbs":
        assert np.array_equal(found.word_topic.sum(1), tokens_of(counts))
    else:
        assert_allclose(found.word_topic, counts.sum() / 3 * found.state.beta_T)
    assert_allclose(found.urn.base.sum(), 1.0)


@pytest.fixture
def runs(monkeypatch):
    """The Gibbs runs of a start, each of which notes its sweeps and how well it fits whenever somebody asks."""
    found = []

    class Noted(LdaRun):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.fits = []
            found.append(self)

        def fit(self, n_jobs=None):
            self.fits.append(super().fit(n_jobs))
            return self.fits[-1]

    monkeypatch.setattr(start, "LdaRun", Noted)
    return found


def test_gibbs_start_is_the_best_of_its_runs(runs):
    counts, _ = anchored_corpus(7, D=40)
    found = start_from("gibbs", counts)
    assert len(runs) == start.RUNS
    asked = [len(run.fits) for run in runs]
    assert sorted(asked) == [1] * (start.RUNS // 2) + [2] * (start.RUNS // 2)
    out, on = ([run.fits[0] for run in runs if len(run.fits) == n] for n in (1, 2))
    assert max(out) <= min(on)  # the better half goes on
    best = max((run for run in runs if len(run.fits) == 2), key=lambda run: run.fits[1])
    assert best.sweeps == max(run.sweeps for run in runs)
    assert best is not runs[0]  # with this corpus; else the first run would do as well
    assert np.array_equal(found.posterior.lam, best.start().posterior.lam)


def test_gibbs_start_of_many_tokens_is_a_single_run(runs, monkeypatch):
    monkeypatch.setattr(start, "MANY_TOKENS", 10)
    counts, _ = anchored_corpus(7, D=40)
    found = start_from("gibbs", counts)
    assert len(runs) == 1
    assert runs[0].sweeps == max(start.SWEEPS)  # few tokens have many sweeps
    assert np.array_equal(found.posterior.lam, runs[0].start().posterior.lam)


def test_gibbs_start_after_an_interrupt(monkeypatch):
    """The best of the runs, as far as they have come."""
    counts, _ = anchored_corpus(7, D=40)
    whole = LdaRun.sweep_to
    for n_before in (0, 2):
        calls = []

        def interrupted(chain, *arguments, calls=calls, n_before=n_before):
            calls.append(chain)
            return whole(chain, *arguments) and len(calls) <= n_before

        monkeypatch.setattr(LdaRun, "sweep_to", interrupted)
        found = make_start("gibbs", make_problem(counts), 3, np.random.RandomState(0))
        assert not found.complete
        assert len(calls) == n_before + 1
        best = max(calls, key=LdaRun.fit)
        assert np.array_equal(found.state.posterior.lam, best.start().posterior.lam)


def test_random_topics_differ():
    """Also where all documents are alike."""
    counts = csr_matrix(np.ones((5, 6)))
    beta_T = start_from("random", counts).beta_T
    assert np.abs(beta_T[:, 0] - beta_T[:, 1]).max() > 1e-3


def test_given_topics_are_kept():
    given_topics = np.random.default_rng(0).dirichlet(np.ones(6), 3)
    counts = csr_matrix(np.ones((5, 6)))
    state = make_start(given_topics, make_problem(counts), 3, np.random.RandomState(0)).state
    assert_allclose(state.beta_T.T, given_topics, atol=1e-10)
    unscaled = make_start(7 * given_topics, make_problem(counts), 3, np.random.RandomState(0)).state
    assert_allclose(unscaled.beta_T, state.beta_T, rtol=1e-12)


# Threads


@settings(deadline=None, derandomize=True)
@given(start=st.integers(0, 50), length=st.integers(0, 60), size=st.integers(1, 20))
def test_blocks_cover_everything_once(start, length, size):
    pieces = blocks(start, start + length, size)
    covered = [i for piece in pieces for i in range(piece.start, piece.stop)]
    assert covered == list(range(start, start + length))
    assert all(1 <= piece.stop - piece.start <= size for piece in pieces)


@settings(deadline=None, derandomize=True)
@given(weights=st.lists(st.integers(0, 100), min_size=1, max_size=60), n_shards=st.integers(1, 10))
def test_shards_cover_everything_once(weights, n_shards):
    pieces = shards(np.array(weights), n_shards)
    covered = [i for piece in pieces for i in range(piece.start, piece.stop)]
    assert covered == list(range(len(weights)))
    assert 1 <= len(pieces) <= n_shards
    assert all(piece.stop > piece.start for piece in pieces)


def test_shards_are_about_equal():
    weights = np.random.default_rng(0).integers(1, 20, 1000)
    pieces = shards(weights, 8)
    assert len(pieces) == 8
    for piece in pieces:
        assert abs(weights[piece].sum() - weights.sum() / 8) <= 20


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5])
def test_ordered_map_keeps_the_order(n_jobs):
    """The first item is the last one to finish where there are threads to overtake it."""
    rest_done = threading.Event()
    several = n_threads(n_jobs) > 1

    def square(item, checkpoint):
        checkpoint()
        if item == 0 and several:
            assert rest_done.wait(10)
        if item == 19:
            rest_done.set()
        return item**2

    assert ordered_map(square, list(range(20)), n_jobs) == [item**2 for item in range(20)]
    assert ordered_map(square, [], n_jobs) == []


def test_ordered_map_runs_at_once():
    barrier = threading.Barrier(2, timeout=10)
    assert ordered_map(lambda item, _: barrier.wait() >= 0, [0, 1], 2) == [True, True]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_exception_reaches_the_caller(n_jobs, error):
    def fail(item, checkpoint):
        if item == 3:
            raise error("item three")
        return item

    with pytest.raises(error, match="item three"):
        ordered_map(fail, list(range(6)), n_jobs)


def test_exception_cancels_the_rest():
    """What waits is not started, what runs ends at its next checkpoint, no thread is left."""
    started, ended = [], []
    second_runs = threading.Event()
    before = threading.active_count()

    def work(item, checkpoint):
        started.append(item)
        if item == 0:
            assert second_runs.wait(10)
            raise ValueError("first")
        second_runs.set()
        try:
            for _ in range(2000):
                checkpoint()
                threading.Event().wait(0.005)
        except parallel.Cancelled:
            ended.append(item)
            raise

    with pytest.raises(ValueError, match="first"):
        ordered_map(work, list(range(100)), 2)
    assert ended
    assert len(started) <= 4
    assert threading.active_count() <= before


def test_exception_without_threads_leaves_the_rest_alone():
    started = []

    def work(item, checkpoint):
        started.append(item)
        if item == 2:
            raise ValueError("third")

    with pytest.raises(ValueError, match="third"):
        ordered_map(work, list(range(100)), 1)
    assert started == [0, 1, 2]


def test_interruptible_returns_and_raises():
    assert parallel.interruptible(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        parallel.interruptible(lambda: 1 // 0)


def test_interruptible_keeps_the_context():
    with parallel.helpers(3):
        assert parallel.interruptible(parallel._helpers.get) == 3


WAITING = """
import sys, time
from gptm._basics.parallel import interruptible
print("ready", flush=True)
interruptible(lambda: time.sleep(60))
"""


@pytest.mark.skipif(os.name == "nt", reason="no such signal there")
def test_ctrl_c_ends_the_program_and_not_only_the_wait():
    with subprocess.Popen(
        [sys.executable, "-c", WAITING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)  # the call has begun
        process.send_signal(signal.SIGINT)
        try:
            errors = process.communicate(timeout=20)[1]
        finally:
            process.kill()
    assert "KeyboardInterrupt" in errors


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def blas():
    """The numbers of BLAS threads before the test, which are put back after it."""
    forget_the_thread_in_control()
    before = blas_threads()
    yield before
    for thread in threading.enumerate():
        if isinstance(thread, BlasUser):
            thread.leave()
    forget_the_thread_in_control()
    threadpool_limits(limits=max(before), user_api="blas")
    forget_the_thread_in_control()


def forget_the_thread_in_control():
    """Newer threadpoolctl lets one thread alone set OpenBLAS's limit, until it lets go of it."""
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


class BlasUser(threading.Thread):
    """A thread that is inside `single_threaded_blas` from `enter()` to `leave()`."""

    def __init__(self):
        super().__init__()
        self.inside, self.may_leave = threading.Event(), threading.Event()

    def run(self):
        with single_threaded_blas():
            self.seen = blas_threads()
            self.inside.set()
            self.may_leave.wait(10)

    def enter(self):
        self.start()
        assert self.inside.wait(10)

    def leave(self):
        self.may_leave.set()
        self.join()


def test_single_threaded_blas_is_nested_and_restored(blas):
    assert blas
    with single_threaded_blas():
        assert set(blas_threads()) == {1}
        with single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == blas
    with pytest.raises(ValueError, match="inside"), single_threaded_blas():
        raise ValueError("inside")
    assert blas_threads() == blas


def test_computing_takes_threads_from_blas_alone(blas):
    with parallel.computing(3):
        assert set(blas_threads()) == {1}
        assert parallel._helpers.get() == 3
    assert blas_threads() == blas
    assert parallel._helpers.get() is None


@pytest.mark.parametrize("direct", [1, 100, 10**6])
@pytest.mark.parametrize("n", [0, 1, 7, 40])
def test_products_in_pieces(n, direct, monkeypatch):
    """To the last bit the same for any number of threads, and what one product gives."""
    monkeypatch.setattr(parallel, "DIRECT", direct)
    monkeypatch.setattr(parallel, "FEW_ROWS", 5)
    rng = np.random.default_rng(0)
    A, X, Z = (rng.standard_normal(shape) for shape in ((n, 6), (n, 4), (6, 4)))
    expected = A @ Z, A @ Z, A.T @ X
    found = []
    for n_jobs in (1, 3):
        with parallel.helpers(n_jobs):
            products = row_product(A, Z), thin_product(A, Z), inner_product(A, X)
        for product, known in zip(products, expected, strict=True):
            assert_allclose(product, known, atol=1e-12)
        found.append([product.tobytes() for product in products])
    assert found[0] == found[1]


def test_single_threaded_blas_is_lifted_by_the_last_user(blas):
    """The limit holds until the last of several threads has left, whoever came first."""
    other = BlasUser()
    with single_threaded_blas():
        other.enter()
    assert set(blas_threads()) == {1}
    other.leave()
    assert blas_threads() == blas


def test_single_threaded_blas_of_one_thread_after_another(blas):
    """A thread that had the limit once does not keep others from it later."""
    with single_threaded_blas():
        pass
    first, second = BlasUser(), BlasUser()
    first.enter()
    assert set(first.seen) == {1}
    second.enter()
    first.leave()
    assert set(blas_threads()) == {1}
    with single_threaded_blas():
        second.leave()
        assert set(blas_threads()) == {1}
    assert blas_threads() == blas


def test_runs_share_their_tokens():
    """A run changes none of them, and draws what it would with tokens of its own."""
    counts = csr_matrix(np.random.default_rng(0).poisson(0.8, (40, 30)).astype(float))
    tokens = gibbs.tokens_of(counts)
    before = [values.copy() for values in tokens]
    shared = [LdaRun(counts, 3, np.random.RandomState(s), tokens=tokens) for s in (0, 1)]
    for seed, run in enumerate(shared):
        alone = LdaRun(counts, 3, np.random.RandomState(seed))
        assert run.sweep_to(5)
        assert alone.sweep_to(5)
        assert np.array_equal(run.start().word_topic, alone.start().word_topic)
        assert all(np.array_equal(a, b) for a, b in zip(tokens, before, strict=True))
        assert run._docs is tokens[0]
        assert run._words is tokens[1]
