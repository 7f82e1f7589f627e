"""Each step of EM against the naive reference, in every mode; then whole iterations."""

from itertools import islice, pairwise, product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.linalg import eigvalsh, inv
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix

import naive
from checks import check_maximum, check_stationary, iterate
from gptm._hot import padded_rows
from gptm.inference.em import document_step as estep
from gptm.inference.em import loop as em
from gptm.inference.em.document_step import Posterior, Prior, Tally, infer_documents
from gptm.inference.em.parameter_steps import update_beta
from gptm.inference.mean_solve import (
    diagonalise,
    document_means,
    dual_coefficients,
    residuals,
    solve_means,
    view_logits,
)
from gptm.inference.problem import FitProblem
from gptm.operators import Additive, Block, Diagonal, Features, Operator, Spectral, pointing
from gptm.operators.factor import decompose

few = settings(max_examples=4, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)


class Mode(NamedTuple):
    """The choices of `FitProblem`. Nothing of the kernel is learnt where F is a point (maths 4)."""

    inference: str
    coregionalization: str
    fit_mean: bool
    learn_covariance: bool
    learn_strength: bool

    def __str__(self):
        on = [name for name in self._fields[2:] if getattr(self, name)]
        return "-".join([self.inference, self.coregionalization, *on])


MODES = [
    Mode(*choices)
    for choices in product(
        ("variational", "map"), ("identity", "shared", "free"), *[(False, True)] * 3
    )
    if not (choices[0] == "map" and choices[-1])
]
VARIATIONAL = [mode for mode in MODES if mode.inference == "variational"]
every_mode = pytest.mark.parametrize("mode", MODES, ids=str)
every_variational_mode = pytest.mark.parametrize("mode", VARIATIONAL, ids=str)


class Case:
    """A small problem in one mode, for the package and for the reference."""

    def __init__(self, mode, seed=0, smoothing=0.02, singular=False, **size):
        p = naive.random_problem(seed, singular=singular, **size)
        K = p.lam.shape[1]
        if not mode.learn_covariance:
            p = p._replace(Sigma=np.eye(K))
        if not mode.fit_mean:
            p = p._replace(mu=np.zeros(K))
        self.p, self.mode, self.smoothing = p, mode, smoothing
        self.b = 0.7
        self.B = naive.coregionalisation(mode.coregionalization, p.Sigma, self.b, p.B)
        self.problem = make_problem(mode, p.X, p.Kxx, smoothing)

    def start(self):
        p = self.p
        return em.initial_state(
            self.problem,
            np.ascontiguousarray(p.beta.T),
            Posterior(p.lam.copy(), p.nu2.copy()),
            Sigma=p.Sigma,
            B=self.B,
            strength=self.b,
        )

    def after_documents(self):
        """The state after a first document step, and the one after the means that follow it."""
        state = em.update_documents(self.problem, self.start())
        return state, em.update_means(self.problem, state)

    def F(self, state):
        return document_means(state.view, state.means)

    def q_F(self, state):
        """Mean and covariance of the optimal q(F), by the reference."""
        return naive.posterior_F(
            state.posterior.lam, state.means.mu, state.Sigma, state.B, self.p.Kxx
        )

    def arguments(self, state):
        """Of the reference's bounds."""
        lam, nu2 = state.posterior
        beta, mu = state.beta_T.T, state.means.mu
        return self.p.X, beta, lam, nu2, mu, state.Sigma, state.B, self.p.Kxx

    def held_bound(self, state, q_F):
        """The reference's bound of this inference with q(F), or F, as given."""
        if self.mode.inference == "map":
            return naive.bound_map(*self.arguments(state), q_F[0], self.smoothing)
        return naive.bound_variational(*self.arguments(state), *q_F, self.smoothing)

    def bound(self, state):
        """The reference's bound of this inference with q(F), or F, at its optimum."""
        if self.mode.inference == "map":
            return naive.bound_map(*self.arguments(state), self.q_F(state)[0], self.smoothing)
        return naive.bound_collapsed(*self.arguments(state), self.smoothing)


def make_problem(mode, X, Kxx, smoothing=0.02, n_jobs=1):
    operator = Kxx if isinstance(Kxx, Operator) else Spectral.from_dense(Kxx)
    counts = X if isinstance(X, csr_matrix) else csr_matrix(X)
    return FitProblem(counts, operator, smoothing=smoothing, n_jobs=n_jobs, **mode._asdict())


def not_lower(after, before):
    return after >= before - 1e-10 * (1 + abs(before))


def assert_covariance(A):
    assert np.array_equal(A, A.T)
    assert eigvalsh(A).min() > 0


# No step lowers the bound


@every_mode
@few
@given(seed=seeds, smoothing=st.sampled_from([0.0, 0.02, 1.0]))
def test_no_step_lowers_the_bound(mode, seed, smoothing):
    """Step by step through two iterations; q(F) moves only where the step says that it does."""
    case = Case(mode, seed, smoothing)
    if smoothing == 0:
        case.p.X[0, -1] = 1  # each word occurs, else its probability becomes zero
        case.problem.counts = csr_matrix(case.p.X)
    state = case.start()
    q_F = case.q_F(state)
    before = case.held_bound(state, q_F)
    for step in 2 * em.STEPS:
        state = step(case.problem, state)
        if step not in (em.update_topics, em.update_documents):
            q_F = case.q_F(state)
        after = case.held_bound(state, q_F)
        assert not_lower(after, before), step.__name__
        before = after


@every_mode
def test_steps_do_move_the_bound(mode):
    """Each step that learns something raises the bound from an arbitrary point."""
    case = Case(mode)
    state = next(iterate(case.problem, case.start()))
    q_F, risen = case.q_F(state), set()
    before = case.held_bound(state, q_F)
    for step in em.STEPS:
        state = step(case.problem, state)
        if step not in (em.update_topics, em.update_documents):
            q_F = case.q_F(state)
        after = case.held_bound(state, q_F)
        if after > before + 1e-6:
            risen.add(step.__name__)
        before = after
    expected = {"update_topics", "update_documents", "update_means"}
    expected |= {"update_covariance"} if mode.learn_covariance else set()
    expected |= {"update_strength"} if mode.learn_strength else set()
    assert risen == expected


@every_mode
@pytest.mark.parametrize("singular", [False, True], ids=["regular", "singular"])
def test_bound_never_falls_over_iterations(mode, singular):
    case = Case(mode, seed=5, singular=singular, D=12, V=15)
    bounds = [state.bound for state in islice(iterate(case.problem, case.start()), 15)]
    assert all(not_lower(b, a) for a, b in pairwise(bounds))
    assert bounds[-1] > bounds[0] + 0.1


# The bound itself


@every_mode
@few
@given(seed=seeds, smoothing=st.sampled_from([0.02, 1.0]))
def test_bound_is_that_of_the_parameters_in_the_state(mode, seed, smoothing):
    case = Case(mode, seed, smoothing)
    for state in islice(iterate(case.problem, case.start()), 3):
        assert_allclose(state.bound, case.bound(state), rtol=1e-8)
        assert_allclose(state.F, case.q_F(state)[0], rtol=1e-6, atol=1e-8)


@every_variational_mode
def test_bound_of_a_singular_kernel(mode):
    case = Case(mode, seed=1, singular=True)
    for state in islice(iterate(case.problem, case.start()), 3):
        assert_allclose(state.bound, case.bound(state), rtol=1e-8)


@pytest.mark.parametrize("kind", ["identity", "shared", "free"])
def test_map_bound_of_a_singular_kernel(kind):
    """F has its density on the range of the kernel: F = Q G with G ~ N(0, values (x) B)."""
    case = Case(Mode("map", kind, True, True, False), seed=1, singular=True)
    values, vectors = np.linalg.eigh(case.p.Kxx)
    values, Q = values[3:], vectors[:, 3:]
    assert values[0] > 1e-6
    for state in islice(iterate(case.problem, case.start()), 3):
        X, beta, lam, nu2, mu, Sigma, B, Kxx = case.arguments(state)
        F = naive.posterior_F(lam, mu, Sigma, B, Kxx)[0]
        expected = naive.sum_of_document_bounds(X, beta, lam, nu2, mu + F, Sigma)
        expected += naive.log_normal((Q.T @ F).ravel(), np.kron(np.diag(values), B))
        expected += case.smoothing * np.log(beta).sum()
        assert_allclose(state.bound, expected, rtol=1e-8)


# Topics


@every_mode
@few
@given(seed=seeds, smoothing=st.sampled_from([0.0, 0.02, 1.0]))
def test_update_topics(mode, seed, smoothing):
    case = Case(mode, seed, smoothing)
    state, _ = case.after_documents()
    after = em.update_topics(case.problem, state)
    assert_allclose(after.beta_T.sum(axis=0), 1, rtol=1e-12)
    expected = naive.update_beta(case.p.X, state.beta_T.T, state.posterior.lam, smoothing)
    assert_allclose(after.beta_T.T, expected, rtol=1e-10, atol=1e-14)
    ready = padded_rows(after.components.T)
    assert np.shares_memory(ready, after.beta_T)  # nothing to copy before documents are inferred
    assert np.array_equal(after.components, after.beta_T.T)


def test_update_topics_waits_for_the_first_document_step():
    case = Case(MODES[0])
    start = case.start()
    assert em.update_topics(case.problem, start) is start


def test_topic_without_counts_becomes_uniform():
    expected = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 0.0]])
    assert_allclose(update_beta(expected, 0.0), [[0.25, 1 / 3], [0.75, 1 / 3], [0, 1 / 3]])
    assert_allclose(update_beta(expected, 1.0)[:, 0], np.array([2, 4, 1]) / 7)


# Documents


@every_mode
def test_update_documents(mode):
    """Each document's own bound rises; the words' statistics are those of its result."""
    case = Case(mode, seed=2)
    p, state = case.p, case.start()
    after = em.update_documents(case.problem, state)
    for d, x_d in enumerate(p.X):
        prior = state.means.mu + state.F[d], state.Sigma
        old = naive.document_bound(x_d, p.beta, p.lam[d], p.nu2[d], *prior)
        new = [values[d] for values in after.posterior]
        assert naive.document_bound(x_d, p.beta, *new, *prior) > old
        terms = naive.words_and_normaliser(x_d, p.beta, *new)
        assert_allclose(after.statistics.terms[d], terms, rtol=1e-10, atol=1e-12)
    b = np.array([0.0, 2.0])
    seen = view_logits(case.problem.operator, after.posterior.lam).against(0, b)
    assert_allclose(after.view.against(0, b), seen, rtol=1e-12)
    assert np.array_equal(state.posterior.lam, p.lam)  # a step changes nothing in place


def infer(X, p, start=None, n_jobs=1, tol=1e-13, with_expected=True, tally=None):
    T = diagonalise(p.Sigma, p.B).T
    prior = Prior(p.mu + np.zeros_like(p.lam), T, np.ones(T.shape[0]))
    beta_T = np.ascontiguousarray(p.beta.T)
    start = start or Posterior(p.lam, p.nu2)
    return infer_documents(
        X,
        prior,
        beta_T,
        start,
        max_inner=300,
        tol=tol,
        n_jobs=n_jobs,
        tally=tally or Tally() if with_expected else None,
    )


def test_documents_do_not_depend_on_threads_or_pieces(monkeypatch):
    p = naive.random_problem(0, D=23, V=12)
    X = csr_matrix(p.X)
    posterior, statistics = infer(X, p)
    monkeypatch.setattr(estep, "MIN_SHARD", 20)
    monkeypatch.setattr(estep, "BLOCK", 3)
    results = [infer(X, p, n_jobs=n_jobs) for n_jobs in (1, 2, 3)]
    for other, other_statistics in results:
        assert np.array_equal(other.lam, posterior.lam)
        assert np.array_equal(other.nu2, posterior.nu2)
        assert np.array_equal(other_statistics.terms, statistics.terms)
        assert np.array_equal(other_statistics.expected, results[0][1].expected)
        assert_allclose(other_statistics.expected, statistics.expected, rtol=1e-12)
    assert infer(X, p, with_expected=False)[1].expected.size == 0


def test_a_tally_serves_many_document_steps(monkeypatch):
    """Its arrays are used again, whatever they hold; what was returned before stays as it was."""
    monkeypatch.setattr(estep, "MIN_SHARD", 20)
    tally = Tally()
    problems = [naive.random_problem(seed, D=23, V=12) for seed in range(2)]
    kept = [infer(csr_matrix(p.X), p, tally=tally, n_jobs=2)[1].expected for p in problems]
    for p, expected in zip(problems, kept, strict=True):
        assert np.array_equal(expected, infer(csr_matrix(p.X), p)[1].expected)
    larger = naive.random_problem(2, D=23, V=15)
    assert infer(csr_matrix(larger.X), larger, tally=tally)[1].expected.shape == (15, 3)


def test_shards_take_no_more_memory_than_the_posterior():
    """But for a few of them, which threads need."""
    for D, V, wanted in ((100_000, 1000, 32), (25_000, 5000, 10), (3000, 50_000, 8)):
        counts = csr_matrix(
            (np.ones(10**6), np.arange(10**6) % V, np.r_[0, np.full(D, 10**6)]), (D, V)
        )
        assert estep._n_shards(counts) == wanted
    assert estep._n_shards(csr_matrix((0, 5))) == 1


def test_repeated_cells_and_stored_zeros_are_the_same_counts():
    """A word counted three times is three tokens, in one cell or in several."""
    p = naive.random_problem(0)
    rows, words = np.nonzero(p.X)
    tokens = np.repeat(np.arange(len(rows)), p.X[rows, words].astype(int))
    indptr = np.searchsorted(rows[tokens], np.arange(len(p.X) + 1)).astype(np.int32)
    one_by_one = csr_matrix(
        (np.ones(len(tokens)), words[tokens].astype(np.int32), indptr), p.X.shape
    )
    assert one_by_one.nnz == p.X.sum()
    indptr = np.arange(0, p.X.size + 1, p.X.shape[1], dtype=np.int32)
    columns = np.tile(np.arange(p.X.shape[1], dtype=np.int32), len(p.X))
    with_zeros = csr_matrix((p.X.ravel(), columns, indptr), p.X.shape)
    assert with_zeros.nnz == p.X.size
    posterior, statistics = infer(csr_matrix(p.X), p)
    for X in (one_by_one, with_zeros):
        other, other_statistics = infer(X, p)
        assert_allclose(other.lam, posterior.lam, rtol=1e-8, atol=1e-10)
        assert_allclose(other.nu2, posterior.nu2, rtol=1e-8)
        assert_allclose(other_statistics.terms, statistics.terms, rtol=1e-10)
        assert_allclose(other_statistics.expected, statistics.expected, rtol=1e-8, atol=1e-12)


def test_repeated_cells_give_the_same_fit():
    case = Case(VARIATIONAL[-1])
    X = case.p.X
    halves = csr_matrix(X)
    data, indices, indptr = halves.data, halves.indices, halves.indptr
    twice = csr_matrix(
        (
            np.concatenate([np.tile(data[a:b], 2) / 2 for a, b in pairwise(indptr)]),
            np.concatenate([np.tile(indices[a:b], 2) for a, b in pairwise(indptr)]),
            2 * indptr,
        ),
        X.shape,
    )
    assert not twice.has_canonical_format
    (once,) = islice(iterate(case.problem, case.start()), 4, 5)
    case.problem.counts = twice
    (again,) = islice(iterate(case.problem, case.start()), 4, 5)
    assert_allclose(again.bound, once.bound, rtol=1e-10)
    assert_allclose(again.beta_T, once.beta_T, rtol=1e-7)


@every_mode
def test_empty_documents_and_empty_corpus(mode):
    """An empty document takes its prior; a corpus without words leaves uniform topics."""
    case = Case(mode)
    state = next(iterate(case.problem, case.start()))
    state = em.update_documents(case.problem, state)
    assert_allclose(state.posterior.lam[-1], state.means.mu + state.F[-1], rtol=1e-6)
    assert_allclose(state.posterior.nu2[-1], 1 / np.diag(inv(state.Sigma)), rtol=1e-9)
    assert state.statistics.terms[-1] == 0

    case.problem.counts = csr_matrix(case.p.X.shape)
    for state in islice(iterate(case.problem, case.start()), 4):
        assert np.isfinite(state.bound)
    assert_allclose(state.beta_T, 1 / case.p.X.shape[1])


# Means


@every_mode
@few
@given(seed=seeds, singular=st.booleans())
def test_update_means(mode, seed, singular):
    case = Case(mode, seed, singular=singular)
    p = case.p
    _, state = case.after_documents()
    lam = state.posterior.lam
    mu = np.zeros(lam.shape[1])
    if mode.fit_mean:
        mu = naive.update_mu(lam, p.Sigma, case.B, p.Kxx)
    assert_allclose(state.means.mu, mu, rtol=1e-8, atol=1e-10)
    mean, cov = naive.posterior_F(lam, mu, p.Sigma, case.B, p.Kxx)
    F = case.F(state)
    assert_allclose(F, mean, rtol=1e-8, atol=1e-10)
    alpha = dual_coefficients(residuals(state.view, state.means), state.means)
    assert_allclose(alpha, (lam - mu - F) @ inv(p.Sigma) @ case.B, rtol=1e-7, atol=1e-9)
    assert_allclose(p.Kxx @ alpha, F, rtol=1e-7, atol=1e-9)
    T = state.means.basis.T
    blocks = naive.document_blocks(cov, *lam.shape).sum(axis=0)
    assert_allclose(
        np.diag(T.T @ blocks @ T), state.means.basis.b * state.means.trace, rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("fit_mean", [False, True])
def test_means_solve_the_sylvester_equation(fit_mean, singular):
    """With B = I they are the paper's F, eq. 14."""
    mode = Mode("map", "identity", fit_mean, True, False)
    case = Case(mode, seed=3, singular=singular)
    case.b, case.B = 1.0, np.eye(3)
    p = case.p
    _, state = case.after_documents()
    lam, mu, F = state.posterior.lam, state.means.mu, case.F(state)
    assert_allclose(F, naive.sylvester_F(lam, mu, p.Sigma, p.Kxx), rtol=1e-8, atol=1e-10)
    if not singular:
        check_stationary(lambda F: naive.objective_13(F, lam, mu, p.Sigma, p.Kxx), F, tol=1e-6)


@pytest.mark.parametrize("c", [1e-6, 0.5, 3.0, 1e6])
def test_means_of_a_kernel_without_covariances(c):
    """𝒦 = c I and B = I give F = lam U diag(c / (c + s)) U' with Sigma = U diag(s) U'."""
    p = naive.random_problem(0)
    s, U = np.linalg.eigh(p.Sigma)
    expected = p.lam @ U @ np.diag(c / (c + s)) @ U.T
    for op in (Diagonal(np.full(7, c)), Spectral.from_dense(c * np.eye(7))):
        view = view_logits(op, p.lam)
        means = solve_means(op, view, np.zeros(3), diagonalise(p.Sigma, np.eye(3)))
        F = document_means(view, means)
        assert_allclose(F, expected, rtol=1e-9, atol=1e-12)


def test_diagonalise_with_weak_and_absent_directions():
    """T' Sigma T = I and T' B T = diag(b), b never negative, also when B has no full rank."""
    p = naive.random_problem(0)
    v = np.array([1.0, 2.0, -1.0])
    for B in (p.B, np.outer(v, v), np.zeros((3, 3)), 1e-12 * p.B):
        T, T_inv, b = diagonalise(p.Sigma, B)
        assert_allclose(T.T @ p.Sigma @ T, np.eye(3), atol=1e-12)
        assert_allclose(T.T @ B @ T, np.diag(b), atol=1e-12)
        assert_allclose(T @ T_inv, np.eye(3), atol=1e-12)
        assert b.min() >= 0


@pytest.mark.parametrize("K", [2, 40])
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_diagonalise_asks_for_a_covariance(bad, K):
    A = np.eye(K)
    A[1, 1] = bad
    for B in (np.eye(K), np.zeros((K, K))):
        with pytest.raises(ValueError, match="positive definite"):
            diagonalise(A, B)
    if bad > 0 or np.isnan(bad):
        with pytest.raises(ValueError, match="positive definite"):
            diagonalise(np.eye(K), A)


@every_mode
def test_the_basis_stays_that_of_the_parameters(mode):
    """Steps that do not change Sigma and B, or change nothing but their size, do not diagonalise them again."""
    case = Case(mode, seed=3)
    *_, state = islice(iterate(case.problem, case.start()), 30)
    T, T_inv, b = state.means.basis
    assert_allclose(T.T @ state.Sigma @ T, np.eye(len(b)), atol=1e-12)
    assert_allclose(T.T @ state.B @ T, np.diag(b), atol=1e-12 * (1 + b.max()))
    assert_allclose(T @ T_inv, np.eye(len(b)), atol=1e-12)


# Covariance of topics


def parameters(case, state):
    """What the reference's updates take: lam, nu2, mu."""
    return *state.posterior, state.means.mu


@every_mode
@few
@given(seed=seeds, singular=st.booleans())
def test_update_covariance(mode, seed, singular):
    case = Case(mode, seed, singular=singular)
    _, state = case.after_documents()
    after = em.update_covariance(case.problem, state)
    if not mode.learn_covariance:
        assert after is state
        return
    assert_covariance(after.Sigma)
    shared = mode.coregionalization == "shared"
    assert_allclose(after.B, case.b * after.Sigma if shared else case.B, rtol=1e-12)
    assert after.strength == case.b
    args = parameters(case, state)
    mean, cov = case.q_F(state)
    if mode.inference == "map" and shared:
        return  # has its own test
    if mode.inference == "map":
        expected = naive.update_Sigma_map(*args, mean)
    elif shared:
        expected = naive.update_Sigma_shared(*args, case.b, case.p.Kxx)
    else:
        expected = naive.update_Sigma_held(*args, mean, cov)
    assert_allclose(after.Sigma, expected, rtol=1e-8, atol=1e-10)
    assert_allclose(case.F(after), case.q_F(after)[0], rtol=1e-7, atol=1e-9)  # solved again


@pytest.mark.parametrize("fit_mean", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_update_covariance_of_map_shared(seed, fit_mean):
    """With F a point and B = b Sigma, the new Sigma is where the bound is highest."""
    case = Case(Mode("map", "shared", fit_mean, True, False), seed)
    _, state = case.after_documents()
    X, beta, lam, nu2, mu, _, _, Kxx = case.arguments(state)
    F = case.q_F(state)[0]

    def bound(Sigma):
        Sigma = (Sigma + Sigma.T) / 2
        return naive.bound_map(X, beta, lam, nu2, mu, Sigma, case.b * Sigma, Kxx, F)

    Sigma = em.update_covariance(case.problem, state).Sigma
    assert_covariance(Sigma)
    check_stationary(bound, Sigma, scale=1e-5, tol=1e-5)
    check_maximum(bound, Sigma, steps=(1e-3, 1e-2))


# Strength of the kernel


@every_mode
@few
@given(seed=seeds, singular=st.booleans())
def test_update_strength(mode, seed, singular):
    case = Case(mode, seed, singular=singular)
    p = case.p
    _, state = case.after_documents()
    after = em.update_strength(case.problem, state)
    if not mode.learn_strength:
        assert after is state
        return
    lam, _, mu = parameters(case, state)
    if mode.coregionalization == "free":
        expected = naive.update_B_free(lam, mu, p.Sigma, case.B, p.Kxx)
        assert np.array_equal(after.B, after.B.T)
        assert_allclose(after.B, expected, rtol=1e-7, atol=1e-9)
    elif mode.coregionalization == "identity":
        b = naive.update_b_identity(lam, mu, p.Sigma, case.b, p.Kxx)
        assert_allclose(after.strength, b, rtol=1e-9)
        assert_allclose(after.B, b * np.eye(3), rtol=1e-9)
    else:
        b = naive.update_b_shared(lam, mu, p.Sigma, case.b, p.Kxx)
        assert_allclose(after.strength, b, rtol=1e-9)
        assert_allclose(after.B, b * p.Sigma, rtol=1e-9)
    assert np.array_equal(after.Sigma, state.Sigma)
    assert_allclose(case.F(after), case.q_F(after)[0], rtol=1e-7, atol=1e-9)  # solved again


@every_mode
def test_covariances_stay_covariances(mode):
    case = Case(mode, seed=4, D=12, V=15)
    for state in islice(iterate(case.problem, case.start()), 15):
        assert_covariance(state.Sigma)
        assert np.array_equal(state.B, state.B.T)
        assert eigvalsh(state.B).min() > -1e-12
        assert state.posterior.nu2.min() > 0
        assert_allclose(state.beta_T.sum(axis=0), 1, rtol=1e-12)
        if mode.coregionalization != "free":
            B = naive.coregionalisation(mode.coregionalization, state.Sigma, state.strength, None)
            assert_allclose(state.B, B, rtol=1e-10, atol=1e-14)
        if not mode.learn_covariance:
            assert np.array_equal(state.Sigma, np.eye(3))


# No kernel


@pytest.mark.parametrize("learn_covariance", [False, True])
@pytest.mark.parametrize("fit_mean", [False, True])
@few
@given(seed=seeds)
def test_correlated_topic_model(fit_mean, learn_covariance, seed):
    """Without a kernel EM is that of the correlated topic model: the reference with Kxx = 0."""
    mode = Mode("variational", "none", fit_mean, learn_covariance, False)
    p = naive.random_problem(seed)
    D, K = p.lam.shape
    zero, Sigma = np.zeros((D, D)), p.Sigma if learn_covariance else np.eye(K)
    problem = make_problem(mode, p.X, Diagonal(np.full(D, 0.0, dtype=float)))
    beta_T = np.ascontiguousarray(p.beta.T)
    state = em.initial_state(problem, beta_T, Posterior(p.lam, p.nu2), Sigma=Sigma)
    bounds = []
    for _ in range(4):
        before = state
        state = next(iterate(problem, before))
        lam, nu2 = state.posterior
        mu = lam.mean(axis=0) if fit_mean else np.zeros(K)
        assert_allclose(state.means.mu, mu, rtol=1e-10, atol=1e-12)
        assert np.array_equal(state.B, np.zeros((K, K)))
        assert_allclose(state.F, 0, atol=1e-14)
        if learn_covariance:
            Sigma = naive.update_Sigma_map(lam, nu2, mu, np.zeros((D, K)))
        assert_allclose(state.Sigma, Sigma, rtol=1e-9, atol=1e-12)
        if before.statistics is not None:
            beta = naive.update_beta(p.X, before.beta_T.T, before.posterior.lam, 0.02)
            assert_allclose(state.beta_T.T, beta, rtol=1e-9)
        args = p.X, state.beta_T.T, lam, nu2, mu, state.Sigma, np.eye(K), zero
        assert_allclose(state.bound, naive.bound_collapsed(*args, smoothing=0.02), rtol=1e-8)
        bounds.append(state.bound)
    assert all(not_lower(b, a) for a, b in pairwise(bounds))


# Symmetries


def iterate_from(mode, p, B, n_iter=4, b=0.7):
    problem = make_problem(mode, p.X, p.Kxx)
    beta_T = np.ascontiguousarray(p.beta.T)
    start = Posterior(p.lam, p.nu2)
    state = em.initial_state(problem, beta_T, start, Sigma=p.Sigma, B=B, strength=b)
    (state,) = islice(iterate(problem, state), n_iter - 1, n_iter)
    return state


@every_mode
def test_relabelling_topics(mode):
    case = Case(mode, seed=6)
    p, order = case.p, np.array([2, 0, 1])
    square = np.ix_(order, order)
    relabelled = p._replace(
        beta=p.beta[order],
        lam=p.lam[:, order],
        nu2=p.nu2[:, order],
        Sigma=p.Sigma[square],
    )
    one = iterate_from(mode, p, case.B)
    other = iterate_from(mode, relabelled, case.B[square])
    assert_allclose(other.bound, one.bound, rtol=1e-9)
    assert_allclose(other.beta_T, one.beta_T[:, order], rtol=1e-6)
    assert_allclose(other.Sigma, one.Sigma[square], rtol=1e-6, atol=1e-9)
    assert_allclose(other.B, one.B[square], rtol=1e-6, atol=1e-9)
    assert_allclose(other.F, one.F[:, order], rtol=1e-6, atol=1e-8)
    assert_allclose(other.posterior.lam, one.posterior.lam[:, order], rtol=1e-6, atol=1e-8)
    assert_allclose(other.means.mu, one.means.mu[order], rtol=1e-6, atol=1e-8)


@every_mode
def test_reordering_documents(mode):
    case = Case(mode, seed=7)
    p = case.p
    order = np.random.default_rng(0).permutation(len(p.X))
    reordered = p._replace(
        X=p.X[order], lam=p.lam[order], nu2=p.nu2[order], Kxx=p.Kxx[np.ix_(order, order)]
    )
    one, other = iterate_from(mode, p, case.B), iterate_from(mode, reordered, case.B)
    assert_allclose(other.bound, one.bound, rtol=1e-9)
    assert_allclose(other.beta_T, one.beta_T, rtol=1e-6)
    assert_allclose(other.Sigma, one.Sigma, rtol=1e-6, atol=1e-9)
    assert_allclose(other.B, one.B, rtol=1e-6, atol=1e-9)
    assert_allclose(other.F, one.F[order], rtol=1e-6, atol=1e-8)
    assert_allclose(other.posterior.nu2, one.posterior.nu2[order], rtol=1e-6)


# Another operator for the same kernel


@every_mode
def test_operator_of_groups_gives_the_same_fit(mode):
    """Documents that the kernel cannot tell apart, as a dense matrix and as groups."""
    groups = np.array([1, 0, 3, 2, 0, 1, 0])
    Kuu = naive.random_kernel(np.random.default_rng(0), 4)
    case = Case(mode, seed=8)
    p = case.p._replace(Kxx=Kuu[np.ix_(groups, groups)])
    one = iterate_from(mode, p, case.B)
    table = decompose(lambda rows, others: Kuu[np.ix_(rows, others)], 4).table
    features = Features([Block(pointing(groups, 4), table)])
    operator = Additive(Diagonal(np.zeros(7)), features)
    other = iterate_from(mode, p._replace(Kxx=operator), case.B)
    assert_allclose(other.bound, one.bound, rtol=1e-9)
    assert_allclose(other.beta_T, one.beta_T, rtol=1e-6)
    assert_allclose(other.Sigma, one.Sigma, rtol=1e-6, atol=1e-9)
    assert_allclose(other.B, one.B, rtol=1e-6, atol=1e-9)
    assert_allclose(other.F, one.F, rtol=1e-6, atol=1e-8)
    assert_allclose(other.means.mu, one.means.mu, rtol=1e-6, atol=1e-8)


# The start and the end


def test_initial_state_from_nothing():
    mode = Mode("variational", "identity", True, True, True)
    case = Case(mode)
    state = em.initial_state(case.problem, np.ascontiguousarray(case.p.beta.T))
    assert np.array_equal(state.posterior.lam, np.zeros((7, 3)))
    assert_allclose(state.Sigma, np.eye(3))
    assert_allclose(state.B, np.eye(3))
    assert_allclose(state.F, 0, atol=1e-14)
    assert state.statistics is None
    assert state.bound == -np.inf


@pytest.mark.parametrize("kind", ["identity", "shared", "free"])
@pytest.mark.parametrize("learn_strength", [False, True])
@pytest.mark.parametrize("fit_mean", [False, True])
def test_initial_state_from_a_posterior(kind, learn_strength, fit_mean, monkeypatch):
    """Sigma is the posterior's spread; a learnt kernel gets as much of it as the noise does, until it settles."""
    monkeypatch.setattr(em, "SETTLING", 0)
    case = Case(Mode("variational", kind, fit_mean, True, learn_strength))
    p = case.p
    posterior = Posterior(p.lam, p.nu2)
    state = em.initial_state(case.problem, np.ascontiguousarray(p.beta.T), posterior)
    mean = p.lam.mean(axis=0) if fit_mean else np.zeros(3)
    spread = naive.update_Sigma_map(p.lam, p.nu2, mean, np.zeros_like(p.lam))
    assert_allclose(state.Sigma, spread, rtol=1e-10)
    if kind == "shared":
        expected = spread
    elif not learn_strength:
        expected = np.eye(3)
    else:
        expected = spread if kind == "free" else np.trace(spread) / 3 * np.eye(3)
    assert_allclose(state.B, expected, rtol=1e-10)


@pytest.mark.parametrize("kind", ["identity", "shared", "free"])
def test_the_strength_of_a_kernel_settles_before_documents_move(kind, monkeypatch):
    """Where the documents of the start follow the kernel it is strong, where they do not nothing is left of it."""
    rng = np.random.default_rng(0)
    D, K = 150, 3
    times = np.sort(rng.uniform(0, 10, D))
    Kxx = np.exp(-0.5 * np.subtract.outer(times, times) ** 2)
    follows = np.linalg.cholesky(Kxx + 1e-9 * np.eye(D)) @ rng.standard_normal((D, K))
    problem = make_problem(Mode("variational", kind, True, True, True), np.ones((D, 4)), Kxx)
    beta_T, nu2 = np.full((4, K), 0.25), np.full((D, K), 0.1)

    def share(lam):
        state = em.initial_state(problem, beta_T, Posterior(lam, nu2))
        assert_covariance(state.Sigma)
        assert_allclose(
            state.F, naive.posterior_F(lam, state.means.mu, state.Sigma, state.B, Kxx)[0], atol=1e-6
        )
        return np.trace(state.B) / np.trace(state.B + state.Sigma)

    noise = 0.3 * rng.standard_normal((D, K))
    assert share(follows + noise) > 0.6
    assert share(noise + rng.standard_normal((D, K))) < 0.05


def test_run_stops_when_the_bound_stands_still():
    case = Case(VARIATIONAL[-1])
    seen = []
    result = em.run(
        case.problem,
        case.start(),
        max_iter=500,
        tol=1e-4,
        after_iteration=lambda number, state: seen.append((number, state.bound)),
    )
    assert result.reason == "converged"
    assert [number for number, _ in seen] == list(range(1, len(result.bounds) + 1))
    assert [bound for _, bound in seen] == result.bounds
    assert result.state.bound == result.bounds[-1]
    rises = np.diff(result.bounds) / np.abs(result.bounds[:-1])
    assert rises[-1] <= 1e-4
    assert np.all(rises[:-1] > 1e-4)


def test_run_stops_at_the_limit_and_when_told():
    case = Case(VARIATIONAL[-1])
    args = case.problem, case.start()
    result = em.run(*args, max_iter=3, tol=0.0, after_iteration=lambda *_: False)
    assert (result.reason, len(result.bounds)) == ("max_iter", 3)
    result = em.run(*args, max_iter=9, tol=0.0, after_iteration=lambda number, _: number == 2)
    assert (result.reason, len(result.bounds)) == ("callback", 2)


def test_run_keeps_the_last_complete_iteration_after_an_interrupt():
    case = Case(VARIATIONAL[-1])
    states = []

    def interrupted(number, state):
        states.append(state)
        if number == 3:
            raise KeyboardInterrupt
        return False

    result = em.run(case.problem, case.start(), max_iter=9, tol=0.0, after_iteration=interrupted)
    assert result.reason == "interrupt"
    assert len(result.bounds) == 3
    assert result.state is states[-1]
    empty = em.run(
        case.problem, case.start(), max_iter=0, tol=0.0, after_iteration=lambda *_: False
    )
    assert (empty.reason, empty.bounds) == ("max_iter", [])
