"""Each compiled loop against plain NumPy or the naive reference, compiled and as plain Python."""

import mmap
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.linalg import inv
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.sparse import csr_matrix
from scipy.special import expit, softmax
from scipy.stats import chi2, norm

import naive
from checks import check_stationary
from gptm import _hot
from gptm._hot.exponential import exp, log
from gptm._hot.simd import (
    get,
    greatest,
    larger,
    put,
    root,
    smaller,
    spread,
    total,
    totals,
    where_above,
    whole_product,
)
from gptm.inference.contrasts import contrasts
from gptm.inference.em.document_step import (
    Posterior,
    Prior,
    Tally,
    _inverse,
    expected_theta,
    infer_documents,
    infer_theta,
)
from gptm.inference.quadrature import as_rules, gauss_hermite, trapezoid

FORMS = ("compiled", "python")
some = settings(max_examples=30, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)


def form_of(function, form):
    """The compiled function, or the Python code it was compiled from."""
    return function if form == "compiled" else function.py_func


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


def sparse_row(x_d):
    """Words and counts of one document as the compiled loops take them."""
    words = np.flatnonzero(x_d).astype(np.int32)
    return words, x_d[words].astype(float)


def random_document(seed, K=4, V=9, length=30):
    """words, counts, lam, beta_T and the dense counts x_d of one document."""
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(V, 0.5), K)
    lam = rng.standard_normal(K)
    x_d = rng.multinomial(length, softmax(lam) @ beta).astype(float)
    return *sparse_row(x_d), lam, np.ascontiguousarray(beta.T), x_d


def pad(a, rest=0.0):
    """A copy with its rows padded, as the compiled loops take them."""
    a = np.asarray(a, dtype=float)
    result = _hot.padded_zeros(*a.shape) + rest
    result[..., : a.shape[-1]] = a
    return result


def pad_square(A):
    """A symmetric matrix, padded on all sides."""
    return pad(pad(A).T).T.copy()


def pad_words(words, counts):
    """The same of a document's words: words, counts, and an array for what belongs to words."""
    length = _hot.padded(len(words))
    longer, of_words, norms = np.full(length, 99), np.full(length, np.nan), np.full(length, np.nan)
    n_words, length = _hot.take_words(words, counts, longer, of_words, norms)
    return longer[:n_words], of_words[:length], norms[:length]


# Rows that are padded


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


@pytest.mark.parametrize("K", [1, 5, 8, 20])
def test_padded_rows(K):
    rng = np.random.default_rng(0)
    room = _hot.padded_zeros(7, K)
    room[:, :K] = rng.random((7, K))
    for part in (room[:, :K], room[:, :K].T.T, room[2:5, :K]):
        assert np.shares_memory(_hot.padded_rows(part), room)
    wide = rng.random((7, _hot.padded(K) + 1))
    for matrix in (
        room[:, :K].copy(),  # K = 8 needs nothing behind its rows, but they may begin anywhere
        room[:, :K].copy(order="F"),
        room[::2, :K],
        wide[:, :K],
        wide[:, 1:][:, :K],
        np.broadcast_to(room[0, :K], (7, K)),
        room[:0, :K],
        read_only(room)[:, :K],  # for which loops would be compiled anew
    ):
        rows = _hot.padded_rows(matrix)
        assert np.array_equal(rows[:, :K], matrix)
        assert not rows[:, K:].any()
        assert rows.shape[1] % _hot.LANES == 0
        assert rows.flags.c_contiguous
        assert rows.ctypes.data % 64 == 0
        assert rows.flags.writeable


def test_padded_rows_are_not_those_of_others():
    """Rows of the right length may have something else behind them, or end with their memory, or be no doubles."""
    room = _hot.padded_zeros(4, 5)
    room[2, 6] = 1.0
    for matrix in (room[:, :5], room.astype(np.float32), room.view(np.int64)[:, :5]):
        copy = _hot.padded_rows(matrix)
        assert not np.shares_memory(copy, room)
        assert copy.dtype == np.float64
        assert not copy[:, matrix.shape[1] :].any()


def test_padded_rows_do_not_reach_beyond_their_memory():
    for length, shared in ((16, True), (15, False)):
        memory = np.frombuffer(mmap.mmap(-1, 4096), count=length)  # begins where rows may begin
        rows = np.ndarray((2, 5), buffer=memory, strides=(64, 8))
        assert np.shares_memory(_hot.padded_rows(rows), memory) == shared


# Eight numbers at a time


@njit(fastmath={"reassoc", "contract", "nsz"})
def all_of_vectors(x, y, out):
    """Everything that vectors do, of eight numbers each."""
    a, b = get(x, 0), get(y, 0)
    put(out[0], 0, exp(a))
    put(out[1], 0, log(b))
    put(out[2], 0, larger(a, b))
    put(out[3], 0, smaller(a, b))
    put(out[4], 0, where_above(a, b, spread(1.0), spread(2.0)))
    put(out[5], 0, (2.0 * a + b) / b - a * 3)
    a += 1.0
    a *= b
    a -= b
    put(out[6], 0, a)
    put(out[7], 0, root(b))
    return total(b), greatest(b), whole_product(b)


def test_vectors(form):
    rng = np.random.default_rng(0)
    for spread_of_x in (1e-9, 1.0, 30.0, 300.0):
        x, y = spread_of_x * rng.standard_normal(8), np.exp(2.0 * rng.standard_normal(8))
        out = np.full((8, 8), np.nan)
        folded = form_of(all_of_vectors, form)(x, y, out)
        assert_allclose(out[0], np.exp(np.clip(x, -700, 700)), rtol=2e-14)
        assert_allclose(out[1], np.log(y), rtol=1e-14, atol=2e-16)
        assert np.array_equal(out[2], np.maximum(x, y))
        assert np.array_equal(out[3], np.minimum(x, y))
        assert np.array_equal(out[4], np.where(x > y, 1.0, 2.0))
        assert_allclose(out[5], (2 * x + y) / y - 3 * x, rtol=1e-10)
        assert_allclose(out[6], (x + 1) * y - y, rtol=1e-10, atol=1e-12)
        assert_allclose(out[7], np.sqrt(y), rtol=1e-15)
        assert_allclose(folded, (y.sum(), y.max(), y.prod()), rtol=1e-13)


def test_vectors_at_their_limits(form):
    x = np.array([-1e9, -700.0, 0.0, 700.0, 1e9, np.nan, np.inf, -np.inf])
    y = np.array([1e-300, 1e300, 1.0, 2.0**0.5, 0.7, 4.0, 1.0 + 1e-15, 5e-100])
    out = np.empty((8, 8))
    with np.errstate(invalid="ignore", over="ignore"):
        form_of(all_of_vectors, form)(x, y, out)
    assert_allclose(out[0], np.exp(np.clip(x, -700, 700)), rtol=1e-13)
    assert_allclose(out[1], np.log(y), rtol=1e-13, atol=2e-16)
    assert np.isnan(out[2, 5])  # what is no number stays
    assert np.isnan(out[3, 5])


@njit(fastmath={"reassoc", "contract", "nsz"})
def vectors_beside_numbers(x, rows, out):
    """What vectors do with single numbers, and the sums of eight of them; of either precision."""
    a = get(x, 0)
    put(out[0], 0, exp(a))
    put(out[1], 0, larger(a, 0.5))
    put(out[2], 0, smaller(a, 0.5))
    put(out[3], 0, where_above(a, 0.25, a + 1.0, 2.0))
    put(out[4], 0, 1.0 - a * 2.0)
    put(
        out[5],
        0,
        totals(
            get(rows[0], 0),
            get(rows[1], 0),
            get(rows[2], 0),
            get(rows[3], 0),
            get(rows[4], 0),
            get(rows[5], 0),
            get(rows[6], 0),
            get(rows[7], 0),
        ),
    )


@pytest.mark.parametrize(("dtype", "near"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_vectors_beside_numbers(form, dtype, near):
    rng = np.random.default_rng(0)
    x, rows = rng.standard_normal(8).astype(dtype), rng.standard_normal((8, 8)).astype(dtype)
    out = np.full((6, 8), np.nan, dtype=dtype)
    form_of(vectors_beside_numbers, form)(x, rows, out)
    expected = [
        np.exp(x),
        np.maximum(x, 0.5),
        np.minimum(x, 0.5),
        np.where(x > 0.25, x + 1, 2),
        1 - 2 * x,
        rows.sum(axis=1),
    ]
    assert_allclose(out, np.array(expected), rtol=near, atol=10 * near)


def test_exp_in_single_precision():
    @njit(fastmath={"reassoc", "contract", "nsz"})
    def of_all(x, out):
        for i in range(0, x.shape[0], 8):
            put(out, i, exp(get(x, i)))

    x = np.linspace(-87, 87, 80_000, dtype=np.float32)
    out = np.empty_like(x)
    of_all(x, out)
    assert_allclose(out, np.exp(x.astype(np.float64)), rtol=3e-7)
    beyond = np.array([-1e9, -88, 88, 1e9, np.inf, -np.inf, 0, 1], dtype=np.float32)
    of_all(beyond, out[:8])
    assert_allclose(out[:8], np.exp(np.clip(beyond.astype(np.float64), -87, 87)), rtol=3e-7)


def test_exp_and_log_of_many_numbers():
    @njit(fastmath={"reassoc", "contract", "nsz"})
    def of_all(x, y, out):
        for i in range(0, x.shape[0], 8):
            put(out[0], i, exp(get(x, i)))
            put(out[1], i, log(get(y, i)))

    x = np.linspace(-700, 700, 80_000)
    powers = 2.0 ** np.arange(-996, 1000)
    beside = np.nextafter(powers, 0), powers, 2**0.5 * powers, np.nextafter(2**0.5 * powers, 0)
    y = np.concatenate([np.exp(x[: 80_000 - 4 * len(powers)] * 0.98), *beside])
    out = np.empty((2, 80_000))
    of_all(x, y, out)
    assert_allclose(out[0], np.exp(x), rtol=1e-14)
    assert_allclose(out[1], np.log(y), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("shape", [(0, 3), (5, 8), (2, 3, 9)])
def test_padded_zeros(shape):
    array = _hot.padded_zeros(*shape)
    assert array.shape == (*shape[:-1], _hot.padded(shape[-1]))
    assert array.flags.c_contiguous
    assert not array.any()
    assert array.size == 0 or array.ctypes.data % 64 == 0


# Words


@pytest.mark.parametrize("n_words", [0, 1, 2, 3, 4, 7, 9])
def test_words_of_a_document(form, n_words):
    """Likelihood and expected topics, for all that is left over when four words are taken at once."""
    rng = np.random.default_rng(n_words)
    beta_T, lam = rng.dirichlet(np.full(9, 0.5), 4).T, rng.standard_normal(4)
    words = rng.permutation(9)[:n_words].astype(np.int32)
    counts = rng.integers(1, 4, n_words).astype(float)
    phi = naive.phi(lam, beta_T.T)
    exp_lam = np.exp(lam - lam.max())
    padded_words, padded_counts, norms = pad_words(words, counts)
    again = norms.copy()
    form_of(_hot.word_norms, form)(padded_words, pad(exp_lam), pad(beta_T), norms)
    assert_allclose(norms[:n_words], (beta_T @ exp_lam)[words], rtol=1e-12)
    value = form_of(_hot.log_likelihood, form)(padded_counts, norms)
    assert_allclose(value, counts @ np.log(norms[:n_words]), rtol=1e-12)
    expected = np.full(8, np.nan)
    form_of(_hot.expected_topics, form)(
        padded_words, padded_counts, pad(exp_lam), pad(beta_T), again, expected
    )
    assert np.array_equal(again, norms)
    assert_allclose(expected, pad(counts @ phi[words]), rtol=1e-12)
    assert_allclose(expected.sum(), counts.sum(), rtol=1e-12)


def test_a_word_that_no_topic_has(form):
    words, _, norms = pad_words(np.array([1], dtype=np.int32), np.ones(1))
    form_of(_hot.word_norms, form)(words, pad(np.ones(3)), pad(np.zeros((2, 3))), norms)
    assert norms[0] > 0


def test_log_likelihood_of_many_words(form):
    """Some unlikely beyond measure, some counted twice or not at all."""
    rng = np.random.default_rng(0)
    norms = 10.0 ** rng.uniform(-250, 0, 400)
    counts = rng.choice([0.0, 0.5, 1.0, 2.0], 400, p=[0.1, 0.1, 0.7, 0.1])
    value = form_of(_hot.log_likelihood, form)(counts, norms)
    assert_allclose(value, counts @ np.log(norms), rtol=1e-12)


def test_add_expected_counts(form):
    words, counts, lam, beta_T, x_d = random_document(1)
    out = pad(np.random.default_rng(0).uniform(size=beta_T.shape))
    before = out.copy()
    words, counts, norms = pad_words(words, counts)
    norms[: len(words)] = (beta_T @ np.exp(lam))[words]
    form_of(_hot.add_expected_counts, form)(words, counts / norms, pad(np.exp(lam)), out)
    added = (out - before)[:, : len(lam)] * beta_T
    assert_allclose(added, x_d[:, None] * naive.phi(lam, beta_T.T), rtol=1e-10, atol=1e-12)


def test_shifted_exp(form):
    lam = np.array([-3.0, 709.0, 2.0, 708.0, 20.0, 1.0, 1.0, 5.0, 710.0])
    out = np.empty(16)
    shift, whole = form_of(_hot.shifted_exp, form)(pad(lam, _hot.NOWHERE), out)
    assert shift == 710.0
    assert_allclose(out[:9], np.exp(np.maximum(lam - 710.0, -700.0)), rtol=1e-13)
    assert_allclose(out[9:], 0.0, atol=1e-300)
    assert_allclose(whole, out.sum(), rtol=1e-14)


# Linear algebra of one document


@pytest.mark.parametrize("K", [1, 2, 7])
def test_cholesky(form, K):
    A = naive.random_covariance(np.random.default_rng(K), K)
    only_lower = np.tril(A) + np.triu(np.full((K, K), np.nan), 1)
    L = np.zeros((K, K))
    form_of(_hot.cholesky, form)(only_lower, L)
    assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-12)


@pytest.mark.parametrize("K", [1, 2, 8, 9, 20, 33])
def test_product(form, K):
    rng = np.random.default_rng(K)
    A, x, out = naive.random_covariance(rng, K), rng.standard_normal(K), pad(np.full(K, np.nan))
    padded = pad_square(A)
    for i in range(8, len(padded), 8):
        padded[i:, :i] = np.nan  # what is on the left is not read
    form_of(_hot.product, form)(padded, pad(x), out)
    assert_allclose(out, pad(A @ x), rtol=1e-10, atol=1e-12)


def test_dot(form):
    a, b = np.random.default_rng(0).standard_normal((2, 16))
    assert_allclose(form_of(_hot.dot, form)(a, b), a @ b, rtol=1e-12)


def test_summed(form):
    a = np.random.default_rng(0).standard_normal(7)
    assert_allclose(form_of(_hot.summed, form)(a), a.sum(), rtol=1e-12)


@pytest.mark.parametrize("n", range(6))
def test_add_rows(form, n):
    rng = np.random.default_rng(n)
    A, rows, weights = rng.standard_normal((7, 3)), rng.integers(0, 7, n), rng.standard_normal(n)
    out = np.ones(8)
    form_of(_hot.add_rows, form)(pad(A), rows, weights, out)
    assert_allclose(out, 1 + pad(weights @ A[rows]), rtol=1e-12)


def test_weighted_precision(form):
    rng = np.random.default_rng(0)
    T, weight, P = rng.standard_normal((4, 4)), rng.uniform(size=4), np.empty((4, 4))
    form_of(_hot.weighted_precision, form)(T, weight, P)
    assert_allclose(P, T @ np.diag(weight) @ T.T, rtol=1e-12)
    assert np.array_equal(P, P.T)


@pytest.mark.parametrize("K", [1, 2, 7])
def test_inverse(form, K):
    A = naive.random_covariance(np.random.default_rng(K), K)
    out = np.full((K, K), np.nan)
    form_of(_hot.inverse, form)(A, np.empty((K, K)), out)
    assert_allclose(out, inv(A), rtol=1e-9)
    assert np.array_equal(out, out.T)


def resolvent(P, level):
    """(P + level I)^-1 with its row sums and diagonal below, as the compiled loops take it."""
    R = inv(P + level * np.eye(len(P)))
    return np.vstack([pad_square(R), pad(np.stack([R.sum(axis=0), np.diag(R)]))])


def direction(form, P, level, t, share, N, g):
    """x, P x and which topics count on their own."""
    K = len(g)
    nan = np.full(_hot.padded(K), np.nan)
    x, Px, chosen = nan.copy(), nan.copy(), np.empty(K, dtype=np.int64)
    n = form_of(_hot.newton_direction, form)(
        resolvent(P, level),
        level,
        pad(t, 1e-304),
        share,
        N,
        pad(g, 7.0),  # what pads it does not count
        x,
        Px,
        chosen,
        np.stack([nan] * 4),
        np.empty((K, K)),
    )
    assert not x[K:].any()  # what pads the rows stays where it is
    return x[:K], Px[:K], chosen[:n]


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("level", [0.0, 0.1, 3.0])
@pytest.mark.parametrize("K", [1, 2, 6, 15])
def test_newton_direction(form, K, level, share):
    """It solves with the curvature in which the topics that are not chosen count as stated."""
    rng = np.random.default_rng(K)
    P = inv(naive.random_covariance(rng, K))
    g, N = rng.standard_normal(K), 40.0
    t = N * rng.dirichlet(np.full(K, 0.3))
    x, Px, chosen = direction(form, P, level, t, share, N, g)
    others = np.setdiff1d(np.arange(K), chosen)
    diagonal, u = np.full(K, level), np.zeros(K)
    diagonal[chosen], u[chosen] = share * t[chosen], t[chosen]
    if len(others):
        u[others] = min(t[others].mean(), level / share)
    H = P + np.diag(diagonal) - share * np.outer(u, u) / N
    assert np.linalg.eigvalsh(H)[0] > 0
    assert_allclose(x, np.linalg.solve(H, g), rtol=1e-8, atol=1e-10)
    assert_allclose(Px, P @ x, rtol=1e-8, atol=1e-10)
    R = inv(P + level * np.eye(K))
    assert set(chosen) == set(np.flatnonzero((share * t - level) * np.diag(R) > 1.0))


def test_newton_direction_is_newtons_where_all_topics_occur(form):
    rng = np.random.default_rng(3)
    P, g, N = inv(naive.random_covariance(rng, 4)), rng.standard_normal(4), 4000.0
    t = N * rng.dirichlet(np.full(4, 50.0))
    x, _, chosen = direction(form, P, 0.0, t, 0.6, N, g)
    assert len(chosen) == 4
    H = P + 0.6 * (np.diag(t) - np.outer(t, t) / N)
    assert_allclose(x, np.linalg.solve(H, g), rtol=1e-9)


def test_newton_direction_without_words(form):
    rng = np.random.default_rng(0)
    P, g = inv(naive.random_covariance(rng, 3)), rng.standard_normal(3)
    x, Px, chosen = direction(form, P, 0.0, np.zeros(3), 1.0, 0.0, g)
    assert_allclose(x, np.linalg.solve(P, g), rtol=1e-10)
    assert_allclose(Px, g, rtol=1e-10)
    assert len(chosen) == 0


def test_level_of_a_document(form):
    """Half of the mean of N theta over the topics that occur less than average, rounded down."""
    level_of = form_of(_hot.level_of, form)
    e = np.array([1.0, 0.01, 0.03, 0.02])  # the rare ones have 0.02 / 1.06 on average
    for N in (0.0, 3.0, 30.0, 1e4):
        below = np.flatnonzero(_hot.LEVELS <= 0.5 * N * 0.02 / 1.06)
        assert level_of(pad(e, 1e-304), e.sum(), 4, N, _hot.LEVELS) == below[-1]
    assert level_of(pad(np.ones(3)), 3.0, 3, 30.0, _hot.LEVELS) == 0
    of_many = np.repeat(e, 5)  # more than one vector of them
    below = np.flatnonzero(_hot.LEVELS <= 0.5 * 90.0 * 0.02 / 5.3)
    assert level_of(pad(of_many, 1e-304), 5.3, 20, 90.0, _hot.LEVELS) == below[-1]


# nu2


def root_of_nu2(p, t0):
    """The root of nu2 (p + t0 exp(nu2 / 2)) = 1 by bisection of its logarithm in log nu2."""

    def log_left_side(y):
        return y + np.logaddexp(np.log(p), np.log(t0) + np.exp(y) / 2)

    high = -np.log(p)
    return np.exp(brentq(log_left_side, high - 800, high, xtol=1e-14, rtol=1e-14, maxiter=500))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(log_p=st.floats(-7, 9), log_t0=st.floats(-20, 14), log_start=st.floats(-16, 9))
def test_solve_nu2_from_any_start(log_p, log_t0, log_start):
    p, t0, start = np.exp([log_p, log_t0, log_start])
    for function in (_hot.solve_nu2, _hot.solve_nu2.py_func):
        assert_allclose(function(p, t0, start), root_of_nu2(p, t0), rtol=1e-10)


@pytest.mark.parametrize("start", [1e-12, 0.3, 1e9])
def test_solve_nu2_without_words(form, start):
    assert_allclose(form_of(_hot.solve_nu2, form)(0.4, 0.0, start), 2.5, rtol=1e-12)


def test_solve_nu2_of_a_very_wide_prior(form):
    """exp(nu2 / 2) overflows at 1/p: the other upper bound of the root has to save it."""
    assert_allclose(
        form_of(_hot.solve_nu2, form)(1e-4, 1.0, 1e4), root_of_nu2(1e-4, 1.0), rtol=1e-10
    )


@pytest.mark.parametrize("t0", [1e-299, 1e-305, 5e-324])
@pytest.mark.parametrize("p", [1e-3, 1e-5])
def test_solve_nu2_of_words_that_hardly_count(form, p, t0):
    """Neither t0, next to nothing, nor exp(nu2 / 2), which overflows, may be looked at alone."""
    nu2 = form_of(_hot.solve_nu2, form)(p, t0, 1 / p)
    assert_allclose(np.log(nu2) + np.logaddexp(np.log(p), np.log(t0) + nu2 / 2), 0, atol=1e-10)


def test_inverse_of_what_rounding_has_left():
    """Positive definite or, by a rounding error, not quite."""
    A = naive.random_covariance(np.random.default_rng(0), 5)
    values, vectors = np.linalg.eigh(A)
    values[0] = -1e-12
    for matrix in (A, (vectors * values) @ vectors.T):
        assert_allclose(_inverse(matrix), inv(matrix), rtol=1e-6)


@pytest.mark.parametrize("sd", [5.0, 40.0, 100.0, 300.0])
def test_documents_with_very_wide_priors_end_somewhere(sd):
    rng = np.random.default_rng(0)
    beta_T = rng.dirichlet(np.full(20, 0.1), 8).T
    prior = Prior(np.zeros((1, 8)), np.eye(8) / sd, np.ones(8))
    X = csr_matrix(np.eye(1, 20))
    (lam, nu2), _ = infer_documents(X, prior, beta_T, None, max_inner=500, tol=1e-7, n_jobs=1)
    assert np.isfinite(lam).all()
    assert (nu2 > 0).all()
    assert nu2.max() <= sd**2
    assert lam[0].argmax() == beta_T[0].argmax()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    seed=seeds,
    spread=st.sampled_from([0.1, 3.0]),  # of the logarithms
    far=st.sampled_from([0.0, 1e-3, 1.0, 8.0]),
)
def test_settle_nu2_finds_all_roots(seed, spread, far):
    K = 7 + 10 * (seed % 2)
    rng = np.random.default_rng(seed)
    p, t0 = np.exp(spread * rng.standard_normal((2, K)))
    roots = np.array([root_of_nu2(*one) for one in zip(p, t0, strict=True)])
    start = roots * np.exp(far * rng.standard_normal(K))
    for function in (_hot.settle_nu2, _hot.settle_nu2.py_func):
        rows = pad(p, _hot.ANYTHING), pad(t0, 1e-304)
        padded_nu2 = pad(start, _hot.ANYTHING)
        nu2, half = padded_nu2[:K], np.exp(np.minimum(padded_nu2 / 2, 700))
        old = np.empty(len(half))
        moved = function(*rows, padded_nu2, half, old)
        assert_allclose(nu2, roots, rtol=1e-2)  # and the next call goes on from there
        assert np.all(nu2 >= roots * (1 - 1e-12))  # so that the bound has not fallen
        assert_allclose(half, np.exp(padded_nu2 / 2), rtol=1e-13)
        assert_allclose(moved, ((1 - start / nu2) ** 2).sum(), rtol=1e-10)
        function(*rows, padded_nu2, half, old)
        assert_allclose(nu2, roots, rtol=1e-4)
        assert np.all(padded_nu2[K:] == _hot.ANYTHING)


def test_settle_nu2_from_far_away(form):
    """Where steps for all at once do not arrive, each topic is solved with care."""
    p, t0 = np.array([1e-4, 1e-4, 2.0]), np.array([1.0, 1e-30, 5.0])
    nu2 = pad([1e-6, 1e4, 3.0], _hot.ANYTHING)
    half = np.exp(np.minimum(nu2 / 2, 700))
    rows = pad(p, _hot.ANYTHING), pad(t0), nu2, half, np.empty(8)
    form_of(_hot.settle_nu2, form)(*rows)
    assert_allclose(nu2[:3], [root_of_nu2(*one) for one in zip(p, t0, strict=True)], rtol=1e-6)


# One document


class Document:
    """A document with its prior and a start, and the two ways to optimise it."""

    def __init__(self, seed, K=3, V=9, length=25, spread=1.0, far=1.0):
        rng = np.random.default_rng(seed)
        self.K = K
        self.Sigma = spread * naive.random_covariance(rng, K)
        self.m = rng.standard_normal(K)
        self.beta = rng.dirichlet(np.full(V, 0.5), K)
        self.x_d = rng.multinomial(length, softmax(self.m) @ self.beta).astype(float)
        self.lam0 = self.m + far * rng.standard_normal(K)
        self.nu20 = rng.uniform(0.05, 2, K)

    def optimise(self, form="compiled", lam=None, nu2=None, max_inner=500, tol=1e-13):
        """lam, nu2, the words and normaliser terms, and the number of inner iterations."""
        lam = pad(self.lam0 if lam is None else lam, _hot.NOWHERE)
        nu2 = pad(self.nu20 if nu2 is None else nu2, _hot.ANYTHING)
        P, levels = inv(self.Sigma), 0.1 * _hot.LEVELS
        words, counts, norms = pad_words(*sparse_row(self.x_d))
        scratch = _hot.Scratch.of(self.K, len(self.x_d), shared=False)
        scratch.words[0, : len(norms)] = norms
        terms, inner = form_of(_hot.optimise_document, form)(
            words,
            counts,
            self.x_d.sum(),
            pad(self.m, _hot.NOWHERE),
            pad_square(P),
            pad(np.diag(P), _hot.ANYTHING),
            np.stack([resolvent(P, level) for level in levels]),
            levels,
            pad(self.beta.T),
            lam,
            nu2,
            max_inner,
            tol,
            True,
            np.empty((0, len(lam))),
            scratch,
        )
        assert np.all(lam[self.K :] == _hot.NOWHERE)
        assert np.all(nu2[self.K :] == _hot.ANYTHING)
        return lam[: self.K], nu2[: self.K], terms, inner

    def bound(self, lam, nu2):
        return naive.document_bound(self.x_d, self.beta, lam, nu2, self.m, self.Sigma)

    def bound_in_logs(self, y):
        """The bound as a function of (lam, log nu2)."""
        return self.bound(y[: self.K], np.exp(y[self.K :]))

    def terms(self, lam, nu2):
        return naive.words_and_normaliser(self.x_d, self.beta, lam, nu2)


documents = st.builds(
    Document,
    seed=seeds,
    K=st.sampled_from([2, 3, 5, 8, 9, 17]),
    V=st.sampled_from([4, 12]),
    length=st.sampled_from([0, 1, 3, 30, 400, 20000]),
    spread=st.sampled_from([1e-2, 1.0, 30.0]),
    far=st.sampled_from([1.0, 5.0, 20.0]),  # from far away a full Newton step goes too far
)
# Without directions in which the bound is nearly flat: few words for the topics, a wide prior.
ordinary_documents = st.builds(
    Document,
    seed=seeds,
    K=st.integers(2, 4),
    V=st.just(15),
    length=st.sampled_from([0, 1, 30, 400]),
)


@some
@given(document=documents)
def test_no_inner_iteration_lowers_the_bound(document):
    lam, nu2 = document.lam0, document.nu20
    before = document.bound(lam, nu2)
    for _ in range(10):
        lam, nu2, terms, _ = document.optimise(lam=lam, nu2=nu2, max_inner=1)
        after = document.bound(lam, nu2)
        assert after >= before - 1e-11 * (1 + abs(before))
        assert_allclose(terms, document.terms(lam, nu2), rtol=1e-11, atol=1e-9)
        before = after


@some
@given(document=documents)
def test_document_ends_at_a_maximum(document):
    tol = 1e-13
    lam, nu2, terms, inner = document.optimise(max_inner=50_000, tol=tol)
    assert inner < 50_000
    assert_allclose(terms, document.terms(lam, nu2), rtol=1e-11, atol=1e-9)
    N = document.x_d.sum()
    # It stops at g' H^-1 g <= tol N, and H is at most P + diag t with t at most N.
    curvature = np.linalg.eigvalsh(inv(document.Sigma))[-1] + N
    allowed = np.sqrt(tol * max(N, 1) * curvature) + 1e-12 * (1 + N)
    y = np.concatenate([lam, np.log(nu2)])
    check_stationary(document.bound_in_logs, y, scale=1e-5, tol=2 * allowed + 1e-5)
    z = naive.zeta(lam, nu2)
    phi = naive.phi(lam, document.beta)
    in_lam = naive.gradient_lam(document.x_d, lam, nu2, phi, z, document.m, document.Sigma)
    in_nu2 = naive.gradient_nu2(document.x_d, lam, nu2, z, document.Sigma) * nu2
    assert_allclose(in_lam, 0, atol=2 * allowed)
    assert_allclose(in_nu2, 0, atol=allowed + 1e-5)  # the last step moves zeta, and so their roots


@settings(max_examples=15, deadline=None, derandomize=True)
@given(document=ordinary_documents)
def test_document_agrees_with_a_generic_optimiser(document):
    lam, nu2, _, inner = document.optimise(tol=1e-15)
    assert inner < 500
    best_lam, best_nu2 = naive.optimise_document(
        document.x_d, document.beta, document.m, document.Sigma, lam, nu2
    )
    assert_allclose(lam, best_lam, atol=1e-5)
    assert_allclose(nu2, best_nu2, rtol=1e-5)
    assert document.bound(lam, nu2) >= document.bound(best_lam, best_nu2) - 1e-9


@pytest.mark.parametrize("K", [3, 9])
def test_optimise_document_as_plain_python(K):
    document = Document(3, K=K)
    compiled, python = document.optimise(max_inner=6), document.optimise("python", max_inner=6)
    for a, b in zip(compiled, python, strict=True):
        assert_allclose(a, b, rtol=1e-10)


def test_document_without_words_takes_the_prior(form):
    document = Document(0, length=0)
    lam, nu2, terms, _ = document.optimise(form)
    assert_allclose(lam, document.m, rtol=1e-10)
    assert_allclose(nu2, 1 / np.diag(inv(document.Sigma)), rtol=1e-12)
    assert terms == 0


def test_one_topic_document_ends_at_a_maximum():
    """With one topic the words say nothing of lam, but nu2 has an optimum all the same."""
    document = Document(0, K=1)
    lam, nu2, _, _ = document.optimise()
    best_lam, best_nu2 = naive.optimise_document(
        document.x_d, document.beta, document.m, document.Sigma
    )
    assert_allclose(lam, best_lam, atol=1e-6)
    assert_allclose(nu2, best_nu2, rtol=1e-6)


def test_document_that_starts_with_no_gradient_in_lam():
    """Equal topics and an exchangeable prior: lam is right from the start, nu2 is not."""
    document = Document(0, K=3)
    document.Sigma, document.m = 2 * np.eye(3), np.zeros(3)
    document.beta = np.repeat(document.beta[:1], 3, axis=0)
    lam, nu2, _, _ = document.optimise(lam=np.zeros(3), nu2=np.full(3, 2.0))
    best_lam, best_nu2 = naive.optimise_document(
        document.x_d, document.beta, document.m, document.Sigma, lam, nu2
    )
    assert_allclose(lam, best_lam, atol=1e-6)
    assert_allclose(nu2, best_nu2, rtol=1e-6)


def test_document_that_starts_far_away():
    document = Document(1, length=500)
    near = document.optimise()
    far = document.optimise(lam=np.array([400.0, -300.0, 0.0]), nu2=np.array([50.0, 1e-9, 3.0]))
    assert document.bound(*far[:2]) >= document.bound(*near[:2]) - 1e-6


# A block of documents


CACHED = """
import hashlib, numpy as np
from gptm import CTM
rng = np.random.default_rng(0)
theta, beta = rng.dirichlet(np.full(20, 0.2), 300), rng.dirichlet(np.full(400, 0.1), 20)
X = np.array([rng.multinomial(40, p) for p in theta @ beta])
for inference, doc_points in (("sampling", 64), ("variational", 0)):
    model = CTM(20, inference=inference, doc_points=doc_points, max_iter=3, random_state=0).fit(X)
    theta = model.transform(X[:50])
    print(hashlib.md5(model.doc_logits_.tobytes() + theta.tobytes()).hexdigest())
"""


def test_results_are_the_same_when_compiled_and_when_cached(tmp_path):
    """To the last bit: the first process compiles all loops, the second one finds them."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", CACHED]
    compiled, cached = (
        subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert compiled == cached


@pytest.mark.parametrize("K", [3, 8, 9])
@pytest.mark.parametrize("own_weights", [False, True])
def test_document_block(form, own_weights, K):
    """Rows of a CSR matrix, each with its own precision T diag(weight) T', or one for all."""
    p = naive.random_problem(0, K=K)
    D, K = p.lam.shape
    rng = np.random.default_rng(0)
    T = np.linalg.cholesky(naive.random_covariance(rng, K))  # no directions that are nearly flat
    weight = rng.uniform(0.2, 1.0, (D if own_weights else 1, K))
    means = rng.standard_normal((D, K))
    rows = [sparse_row(x_d) for x_d in p.X]
    indptr = np.cumsum([0, *(len(words) for words, _ in rows)]).astype(np.int32)
    indices = np.concatenate([words for words, _ in rows])
    data = np.concatenate([counts for _, counts in rows])
    beta_T = p.beta.T
    lam, nu2 = p.lam.copy(), p.nu2.copy()
    terms, counts = np.empty(D), pad(np.zeros(beta_T.shape))
    P, shared = _hot.padded_zeros(0, K), _hot.padded_zeros(0, K + 2, K)
    if not own_weights:
        P = T @ np.diag(weight[0]) @ T.T
        levels = _hot.LEVELS * np.trace(P) / K
        P, shared = pad_square(P), np.stack([resolvent(P, level) for level in levels])
    inner = form_of(_hot.document_block, form)(
        indptr,
        indices,
        data,
        means,
        T,
        weight,
        P,
        shared,
        pad(beta_T),
        lam,
        nu2,
        False,
        400,
        1e-14,
        terms,
        counts,
        _hot.Scratch.of(K, len(beta_T), shared=False),
    )
    assert inner >= D
    assert_allclose(counts[:, K:], 0.0, atol=1e-290)
    allocated = np.zeros(p.beta.shape)
    for d in range(D):
        Sigma = inv(T @ np.diag(weight[d % len(weight)]) @ T.T)
        best_lam, best_nu2 = naive.optimise_document(
            p.X[d], p.beta, means[d], Sigma, lam[d], nu2[d]
        )
        assert_allclose(lam[d], best_lam, atol=1e-5)
        assert_allclose(nu2[d], best_nu2, rtol=1e-5)
        assert_allclose(terms[d], naive.words_and_normaliser(p.X[d], p.beta, lam[d], nu2[d]))
        allocated += naive.phi(lam[d], p.beta).T * p.X[d]
    assert_allclose(counts[:, :K] * beta_T, allocated.T, rtol=1e-10)


# A first guess


def guess(form, x_d, beta_T, lam, nu2):
    """lam and nu2 after one look at the words."""
    K = len(lam)
    words, counts, norms = pad_words(*sparse_row(x_d))
    lam, nu2 = pad(lam, _hot.NOWHERE), pad(nu2, _hot.ANYTHING)
    e, n = np.full((2, len(lam)), np.nan)
    form_of(_hot.guess_document, form)(words, counts, x_d.sum(), pad(beta_T), lam, nu2, e, n, norms)
    assert np.all(lam[K:] == _hot.NOWHERE)
    assert np.all(nu2[K:] == _hot.ANYTHING)
    return lam[:K], nu2[:K]


@pytest.mark.parametrize("K", [3, 9])
def test_guess_document(form, K):
    """Against the formula, with a document that has no words among the others."""
    p = naive.random_problem(1, K=K)
    X = p.X.copy()
    X[1] = 0.0
    for x_d, old_lam, old_nu2 in zip(X, p.lam, p.nu2, strict=True):
        lam, nu2 = guess(form, x_d, p.beta.T, old_lam, old_nu2)
        n = x_d @ naive.phi(old_lam, p.beta)
        g = n - x_d.sum() * softmax(old_lam)
        leap = np.sign(g) * np.log1p(old_nu2 * np.abs(g))
        assert_allclose(lam, old_lam + leap, rtol=1e-12, atol=1e-13)
        assert_allclose(1 / nu2, 1 / old_nu2 + n, rtol=1e-12)


def test_a_guess_is_a_small_step_where_words_say_little(form):
    """With a narrow prior it is the gradient of the words, times the variance."""
    _, _, lam, beta_T, x_d = random_document(2)
    moved, _ = guess(form, x_d, beta_T, lam, np.full(len(lam), 1e-9))
    gradient = x_d @ naive.phi(lam, beta_T.T) - x_d.sum() * softmax(lam)
    assert_allclose((moved - lam) / 1e-9, gradient, rtol=1e-5, atol=1e-5)


def test_documents_without_a_start_begin_with_a_guess():
    p = naive.random_problem(1)
    prior = Prior(p.lam, np.eye(p.lam.shape[1]), np.full(p.lam.shape[1], 0.5))
    posterior, _ = infer_documents(
        csr_matrix(p.X), prior, p.beta.T.copy(), None, max_inner=0, tol=1.0, n_jobs=1
    )
    for d, x_d in enumerate(p.X):
        lam, nu2 = guess("compiled", x_d, p.beta.T, p.lam[d], np.full(p.lam.shape[1], 2.0))
        assert_allclose(posterior.lam[d], lam, rtol=1e-12)
        assert_allclose(posterior.nu2[d], nu2, rtol=1e-12)


@pytest.mark.parametrize("own_weights", [False, True])
def test_documents_do_not_know_of_each_other(own_weights):
    """To the last bit, whichever come before, and whether their words are few or many of all."""
    rng = np.random.default_rng(0)
    X = csr_matrix(rng.poisson(0.3, (40, 60)) * (rng.random((40, 1)) < 0.9))
    T, beta_T = rng.standard_normal((9, 9)), np.ascontiguousarray(rng.dirichlet(np.ones(60), 9).T)
    weight = rng.uniform(0.2, 1.0, (40, 9))

    def inferred(rows):
        prior = Prior(np.ones((len(rows), 9)), T, weight[rows] if own_weights else weight[0])
        posterior, _ = infer_documents(
            X[rows].astype(float), prior, beta_T, None, max_inner=30, tol=1e-9, n_jobs=2
        )
        return np.stack(posterior)

    every = inferred(np.arange(40))
    for some_of_them in ([3], [7, 2], [39, 0, 5]):
        assert np.array_equal(inferred(np.array(some_of_them)), every[:, some_of_them])


def test_a_tally_serves_other_numbers_of_topics():
    """What pads its arrays is nothing, also where there were more topics before."""
    tally = Tally()
    for array in tally.arrays(2, 4, 5):
        array[:] = 1.0
    assert not tally.arrays(3, 4, 3)[0].any()


def test_expected_counts_of_few_words_among_many():
    """Each stays with its word, also where documents have fewer words in all than there are."""
    p = naive.random_problem(1)
    K, V = p.beta.shape
    beta = np.hstack([np.full((K, 50), 1e-3), p.beta])
    X = np.hstack([np.zeros((2, 50)), p.X[:2]])
    assert (X > 0).sum() < V + 50
    prior = Prior(p.lam[:2], np.eye(K), np.ones(K))
    posterior, statistics = infer_documents(
        csr_matrix(X), prior, beta.T, None, max_inner=5, tol=1e-9, n_jobs=1, tally=Tally()
    )
    allocated = sum(naive.phi(lam, beta).T * x_d for lam, x_d in zip(posterior.lam, X, strict=True))
    assert_allclose(statistics.expected, allocated.T, rtol=1e-10)


def test_no_documents_have_no_expected_counts():
    prior = Prior(np.zeros((0, 3)), np.eye(3), np.ones(3))
    _, statistics = infer_documents(
        csr_matrix((0, 5)),
        prior,
        np.full((5, 3), 0.2),
        None,
        max_inner=2,
        tol=1.0,
        n_jobs=1,
        tally=Tally(),
    )
    assert np.array_equal(statistics.expected, np.zeros((5, 3)))


@pytest.mark.parametrize("own_weights", [False, True])
@pytest.mark.parametrize("n", [0, 1, 700])
def test_theta_without_its_posterior(own_weights, n):
    """To the last bit what it is with it, for any number of threads."""
    rng = np.random.default_rng(0)
    X = csr_matrix(rng.poisson(0.3, (n, 60)) * (rng.random((n, 1)) < 0.9)).astype(float)
    T, beta_T = rng.standard_normal((9, 9)), rng.dirichlet(np.ones(60), 9).T
    weight = rng.uniform(0.2, 1.0, (n, 9)) if own_weights else np.ones(9)
    prior = Prior(np.broadcast_to(rng.standard_normal(9), (n, 9)), T, weight)
    posterior, _ = infer_documents(X, prior, beta_T, None, max_inner=30, tol=1e-4, n_jobs=1)
    expected = expected_theta(posterior, n_jobs=1)
    for n_jobs in (1, 2, 3):
        theta = infer_theta(X, prior, beta_T, max_inner=30, tol=1e-4, n_jobs=n_jobs)
        assert np.array_equal(theta, expected)


# E[softmax]


def one_rule(n, first=1e-3):
    """Gauss-Hermite nodes for documents of any width."""
    return as_rules([(np.inf, first, gauss_hermite(n))])


NINE_NODES = one_rule(9)


def expected_softmax(lam, nu2, rules=NINE_NODES, form="compiled"):
    lam, nu2 = np.atleast_2d(lam).astype(float), np.atleast_2d(nu2).astype(float)
    out = np.full(lam.shape, np.nan)
    scratch = _hot.SoftmaxScratch.of(lam.shape[1], rules)
    for work in scratch:
        work[:] = np.nan
    with np.errstate(over="ignore", under="ignore"):
        form_of(_hot.expected_softmax, form)(lam, nu2, rules, out, scratch)
    return out


def two_topics(lam, nu2):
    """E[theta_0] of two topics: a logistic function of one normal variable, by quadrature."""
    mean, sd = lam[0] - lam[1], np.sqrt(nu2.sum())
    value, _ = quad(lambda z: expit(mean + sd * z) * norm.pdf(z), -12, 12, epsabs=1e-13, limit=200)
    return value


@some
@given(gap=st.floats(-8, 8), sd=st.tuples(st.floats(0.01, 4), st.floats(0.01, 4)))
def test_expected_theta_of_two_topics(gap, sd):
    """Better than the 3e-4 that the nodes in use promise for standard deviations up to four."""
    lam, nu2 = np.array([gap, 0.0]), np.square(sd)
    theta = expected_theta(Posterior(lam[None], nu2[None]), n_jobs=1)[0]
    assert_allclose(theta[0], two_topics(lam, nu2), atol=2e-4)


@some
@given(gap=st.floats(-8, 8), sd=st.tuples(st.floats(0.01, 0.8), st.floats(0.01, 0.8)))
def test_expected_softmax_with_more_nodes(gap, sd):
    """What is left of the error is that of the trapezoid rule."""
    lam, nu2 = np.array([gap, 0.0]), np.square(sd)
    theta = expected_softmax(lam, nu2, one_rule(40))[0]
    assert_allclose(theta[0], two_topics(lam, nu2), rtol=2e-6)


@some
@given(
    seed=st.integers(0, 2**32 - 1),
    K=st.integers(2, 60),
    sd=st.floats(0.05, 4.2),
    heavy=st.floats(0, 0.5),
)
def test_expected_theta_of_many_topics(seed, K, sd, heavy):
    """Each document has the rule that it needs: few narrow topics among many wide ones, or all alike."""
    rng = np.random.default_rng(seed)
    lam = rng.standard_normal((8, K)) * rng.uniform(0, 4, (8, 1))
    nu2 = np.full((8, K), sd**2)
    occurs = rng.random((8, K)) < heavy
    lam[occurs] += rng.uniform(0, 8, occurs.sum())
    nu2[occurs] *= rng.uniform(0.01, 1, occurs.sum())
    finest = as_rules([(np.inf, 1e-4, trapezoid(401, 8.0))])
    theta = expected_theta(Posterior(lam, nu2), n_jobs=1)
    assert_allclose(theta, expected_softmax(lam, nu2, finest), atol=3e-4)


@pytest.mark.parametrize(
    ("lam", "sd"),
    [((0, -50), (100, 20)), ((0, -40), (50, 20)), ((0, 30), (6, 40)), ((0, -3), (5, 0.1))],
)
def test_expected_theta_of_two_wide_topics_apart(lam, sd):
    lam, nu2 = np.array(lam, dtype=float), np.square(np.array(sd, dtype=float))
    theta = expected_theta(Posterior(lam[None], nu2[None]), n_jobs=1)[0]
    assert_allclose(theta[0], two_topics(lam, nu2), atol=2e-3)


@pytest.mark.parametrize("K", [5, 8, 20])
@pytest.mark.parametrize("widest", [10, 40, 100])
def test_expected_theta_of_wide_topics_apart(K, widest):
    """What pads the rows does not count, however small all the real ones may be."""
    rng = np.random.default_rng(K)
    lam, nu2 = widest * rng.standard_normal((3, K)), (widest * rng.uniform(0.05, 1, (3, K))) ** 2
    theta = expected_theta(Posterior(lam, nu2), n_jobs=1)
    for d in range(3):
        assert_allclose(theta[d], naive.expected_softmax(lam[d], nu2[d], n=40_000), atol=0.02)


def test_expected_theta_where_small_numbers_vanish():
    """Of the first point on the left next to nothing is left: it must not stay like that."""
    lam = np.array([[0.0] + [-200.0] * 7])
    theta = expected_theta(Posterior(lam, np.full((1, 8), 1e4)), n_jobs=1)[0]
    assert_allclose(theta, naive.expected_softmax(lam[0], np.full(8, 1e4)), atol=0.01)


@pytest.mark.parametrize("K", [2, 20, 100])
@pytest.mark.parametrize(
    ("widest", "first", "n"), [(1.05, 0.04, 5), (2.1, 0.005, 13), (4.2, 0.002, 35)]
)
def test_single_precision_is_enough(K, widest, first, n):
    """It errs by a thousandth of what the rules themselves do, and keeps the digits of small shares."""
    rng = np.random.default_rng(0)
    lam = rng.standard_normal((200, K)) * rng.uniform(0, 6, (200, 1))
    lam[:, :2] += rng.uniform(0, 10, (200, 2))
    nu2 = (widest * rng.uniform(0.01, 1, (200, K))) ** 2
    rule = first, gauss_hermite(n, least=1e-5)
    single = expected_softmax(lam, nu2, as_rules([(1e9, *rule), (np.inf, *rule)]))
    double = expected_softmax(lam, nu2, as_rules([(np.inf, *rule)]))
    assert_allclose(single, double, atol=5e-7)
    assert_allclose(single, double, rtol=1e-5)
    assert_allclose(single.sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("first", [1e-3, 5e-3, 0.02, 0.04])
def test_expected_softmax_may_begin_further_right(first):
    """The first three points stand for all that is left of them."""
    rng = np.random.default_rng(0)
    lam, nu2 = rng.normal(0, 2, (5, 6)), rng.uniform(0, 1, (5, 6))
    whole = expected_softmax(lam, nu2, one_rule(30, first=1e-6))
    assert_allclose(expected_softmax(lam, nu2, one_rule(30, first)), whole, atol=2e-5)


@pytest.mark.parametrize("K", [3, 10])
@pytest.mark.parametrize("size", [0.3, 1.5])
def test_expected_softmax_against_sampling(K, size):
    rng = np.random.default_rng(K)
    lam, nu2 = size * rng.standard_normal(K), size**2 * rng.uniform(0.1, 2, K)
    theta = expected_softmax(lam, nu2)[0]
    assert_allclose(theta, naive.expected_softmax(lam, nu2, n=100_000), atol=2.5e-3)
    assert np.abs(theta - softmax(lam)).max() > (1e-2 if size > 1 else 1e-3)


def test_expected_softmax_without_variance(form):
    lam = np.array([[0.5, -1.0, 2.0], [300.0, 299.0, -5.0]])
    theta = expected_softmax(lam, np.zeros((2, 3)), form=form)
    assert_allclose(theta, softmax(lam, axis=1), rtol=2e-6, atol=1e-12)


@pytest.mark.parametrize("nu2", [1e-3, 1.0, 1e4])
def test_expected_softmax_closed_cases(nu2):
    assert_allclose(expected_softmax([-3.0], [nu2]), [[1.0]])
    for K in (2, 5, 50):
        assert_allclose(expected_softmax(np.full(K, 7.0), np.full(K, nu2)), 1 / K, rtol=1e-12)


def test_expected_softmax_does_not_know_the_order_of_topics():
    rng = np.random.default_rng(0)
    lam, nu2, order = rng.standard_normal((5, 6)), rng.uniform(0.1, 4, (5, 6)), rng.permutation(6)
    permuted = expected_softmax(lam[:, order], nu2[:, order])
    assert_allclose(permuted, expected_softmax(lam, nu2)[:, order], rtol=1e-12)


def test_expected_softmax_rows_are_independent(form):
    rng = np.random.default_rng(0)
    lam, nu2 = rng.standard_normal((3, 4)), rng.uniform(0.1, 4, (3, 4))
    together = expected_softmax(lam, nu2, form=form)
    alone = [expected_softmax(lam[d], nu2[d], form=form)[0] for d in range(3)]
    assert np.array_equal(together, alone)


@some
@given(
    lam=st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4),
    nu2=st.lists(st.floats(0, 1e12), min_size=4, max_size=4),
)
def test_expected_softmax_of_huge_numbers(lam, nu2):
    theta = expected_softmax(lam, nu2)
    assert np.all((theta >= 0) & (theta <= 1))
    assert_allclose(theta.sum(), 1, rtol=1e-12)


def test_expected_softmax_ignores_a_common_shift():
    rng = np.random.default_rng(0)
    lam, nu2 = rng.standard_normal((2, 4)), rng.uniform(0.1, 4, (2, 4))
    assert_allclose(expected_softmax(lam + 1000, nu2), expected_softmax(lam, nu2), rtol=1e-9)


# Random numbers and Gibbs sampling


def splitmix64(seed, n):
    """The published generator in Python integers, its top 53 bits as fractions."""
    mask, values = 2**64 - 1, []
    for _ in range(n):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        values.append(((z ^ (z >> 31)) >> 11) / 2**53)
    return np.array(values)


def uniforms(next_uniform, seed, n):
    state, values = np.uint64(seed), []
    for _ in range(n):
        state, value = next_uniform(np.uint64(state))
        values.append(value)
    return np.array(values)


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 12345, 2**64 - 1])
def test_next_uniform(form, seed):
    with np.errstate(over="ignore"):
        values = uniforms(form_of(_hot.next_uniform, form), seed, 20)
    assert np.array_equal(values, splitmix64(seed, 20))


def chi_square_fits(observed, probability, p_value=1e-4):
    """True when counts agree with probabilities, by Pearson's statistic."""
    expected = observed.sum() * probability
    statistic = np.sum((observed - expected) ** 2 / expected)
    return statistic < chi2.isf(p_value, len(probability) - 1)


def test_next_uniform_is_uniform():
    values = uniforms(_hot.next_uniform, 7, 20_000)
    assert chi_square_fits(np.histogram(values, bins=20, range=(0, 1))[0], np.full(20, 1 / 20))
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 4 / np.sqrt(len(values))


def test_weigh(form):
    """Nothing but the eight weights is written."""
    rng = np.random.default_rng(0)
    doc, word, inverse = rng.random((3, 24), dtype=np.float32)
    alpha, eta = np.float32(0.1), np.float32(0.2)

    for first in (0, 8, 16):
        weights, wanted = np.zeros(24, dtype=np.float32), np.zeros(24)
        eight = slice(first, first + 8)
        wanted[eight] = (doc[eight] + 0.1) * (word[eight] + 0.2) * inverse[eight]
        whole = form_of(_hot.weigh, form)(doc, word, inverse, alpha, eta, first, weights)
        assert_allclose(weights, wanted, rtol=1e-6)
        assert_allclose(whole, wanted.sum(), rtol=1e-6)


@pytest.mark.parametrize("K", [1, 7, 8, 9, 20, 300, 531])
def test_find_topic(form, K):
    """Every topic is found as often as it weighs; lanes come first, then the groups in a lane."""
    rng = np.random.default_rng(K)
    weights = np.zeros(_hot.padded(K), dtype=np.float32)
    weights[:K] = rng.integers(0, 4, K)
    weights[K - 1] += 1
    running = np.cumsum(weights.reshape(-1, _hot.LANES), axis=0).ravel()
    room = np.zeros(8, dtype=np.float32)
    found = [
        form_of(_hot.find_topic, form)(running, np.float32(left), room)
        for left in range(int(weights.sum()))
    ]
    assert_array_equal(np.bincount(found, minlength=len(weights)), weights)
    order = np.arange(len(weights)).reshape(-1, _hot.LANES).T.ravel()
    assert np.all(np.diff(np.argsort(order)[found]) >= 0)


def test_count_pairs(form):
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(5, size=99).astype(np.int32), rng.integers(3, size=99)
    counted = np.zeros((5, 3), dtype=np.float32)
    form_of(_hot.count_pairs, form)(rows, columns.astype(np.int32), counted)
    wanted = np.zeros((5, 3))
    np.add.at(wanted, (rows, columns), 1)
    assert_array_equal(counted, wanted)


@pytest.mark.parametrize("K", [1, 2, 3, 20])
def test_rows_of_contrasts(form, K):
    """The same as products with the matrix of contrasts, there and back."""
    rng = np.random.default_rng(K)
    eta, shift = rng.standard_normal((7, K)), rng.standard_normal(K - 1)
    H, j = contrasts(K), np.arange(1.0, K)
    lengths, U, back = 1 / np.sqrt(j * (j + 1)), np.empty((7, K - 1)), np.empty((7, K))
    form_of(_hot.to_contrast_rows, form)(eta, lengths, U)
    assert_allclose(U, eta @ H, atol=1e-13)
    form_of(_hot.to_topic_rows, form)(U, shift, lengths, back)
    assert_allclose(back, (U + shift) @ H.T, atol=1e-13)


@pytest.mark.parametrize("K", [1, 7, 8, 9, 20])
def test_choose_finds_every_topic(form, K):
    """Against a search in the running sums; a number that rounds to one gets the last topic or a column beyond."""
    rng = np.random.default_rng(K)
    weights = np.zeros(_hot.padded(K), dtype=np.float32)
    weights[:K] = rng.integers(1, 9, K)  # sums are exact
    borders = np.cumsum(weights[:K]) / weights.sum()
    for uniform in [0.0, *(borders[:-1] - 1e-6), *(borders[:-1] + 1e-6), 1 - 1e-6]:
        sums = weights.reshape(-1, _hot.LANES).sum(axis=1)
        topic = form_of(_hot.choose, form)(weights, sums, uniform)
        assert topic == np.searchsorted(borders, uniform, side="right")
        assert_allclose(sums, np.add.accumulate(weights.reshape(-1, _hot.LANES).sum(axis=1)))
    assert form_of(_hot.choose, form)(weights, sums, 1.0) >= K - 1


class Tokens:
    """A corpus of tokens with topics and the counts that belong to them."""

    def __init__(self, seed, n=200, D=6, V=8, K=3):
        rng = np.random.default_rng(seed)
        self.docs = np.sort(rng.integers(D, size=n)).astype(np.int32)
        self.words = rng.integers(V, size=n).astype(np.int32)
        self.topics = rng.integers(K, size=n).astype(np.int32)
        self.shape = (D, V, K)
        self.doc_topic, self.word_topic, self.topic_total = self.count()
        self.state = np.array([seed], dtype=np.uint64)

    def count(self):
        D, V, K = self.shape
        columns = _hot.padded(K)
        doc_topic = np.zeros((D, columns), dtype=np.float32)
        word_topic = np.zeros((V, columns), dtype=np.float32)
        counted = self.topics >= 0
        np.add.at(doc_topic, (self.docs[counted], self.topics[counted]), 1)
        np.add.at(word_topic, (self.words[counted], self.topics[counted]), 1)
        return doc_topic, word_topic, word_topic[:, :K].sum(axis=0, dtype=float)

    def sweep(self, form="compiled", tokens=slice(None), alpha=0.1, eta=0.2):
        _, V, K = self.shape
        columns = _hot.padded(K)
        sizes = self.topic_total + V * eta
        with np.errstate(over="ignore"):
            form_of(_hot.gibbs_sweep, form)(
                self.docs[tokens],
                self.words[tokens],
                self.topics[tokens],
                self.doc_topic,
                self.word_topic,
                sizes,
                np.zeros(columns, dtype=np.float32),
                alpha,
                np.full(V, eta, dtype=np.float32),
                self.state,
                np.full((2, 2, columns), np.nan, dtype=np.float32),
            )
        self.topic_total = np.rint(sizes - V * eta)


def test_gibbs_sweep_keeps_the_counts(form):
    tokens = Tokens(0)
    start = tokens.topics.copy()
    per_document, per_word = tokens.doc_topic.sum(axis=1), tokens.word_topic.sum(axis=1)
    for _ in range(5):
        tokens.sweep(form)
        for kept, counted in zip(
            (tokens.doc_topic, tokens.word_topic, tokens.topic_total), tokens.count(), strict=True
        ):
            assert np.array_equal(kept, counted)
    assert np.array_equal(tokens.doc_topic.sum(axis=1), per_document)
    assert np.array_equal(tokens.word_topic.sum(axis=1), per_word)
    assert 20 < np.count_nonzero(tokens.topics != start) < 200


@pytest.mark.parametrize("K", [3, 11])
def test_gibbs_sweep_is_the_same_in_plain_python(K):
    compiled, python = Tokens(1, K=K), Tokens(1, K=K)
    compiled.sweep("compiled")
    python.sweep("python")
    assert np.array_equal(compiled.topics, python.topics)


def test_gibbs_sweep_draws_from_the_conditional_distribution():
    """One token drawn again and again, all others held: its topic has a known distribution."""
    alpha, eta, n, j = 0.1, 0.2, 20_000, 17
    tokens = Tokens(3)
    V = tokens.shape[1]
    d, w, i = tokens.docs[j], tokens.words[j], tokens.topics[j]
    others = [
        a.astype(float)
        for a in (tokens.doc_topic[d, :3], tokens.word_topic[w, :3], tokens.topic_total)
    ]
    for a in others:
        a[i] -= 1
    probability = (others[0] + alpha) * (others[1] + eta) / (others[2] + V * eta)
    probability /= probability.sum()
    drawn = np.empty(n, dtype=int)
    for step in range(n):
        tokens.sweep(tokens=slice(j, j + 1), alpha=alpha, eta=eta)
        drawn[step] = tokens.topics[j]
    assert chi_square_fits(np.bincount(drawn, minlength=len(probability)), probability)


def test_gibbs_sweep_agrees_with_the_joint_distribution():
    """Two tokens of one document: the pair's own distribution, by enumeration."""
    alpha, eta, K, V = 0.5, 0.3, 2, 3
    tokens = Tokens(0, n=2, D=1, V=V, K=K)
    tokens.words[:] = [0, 1]
    tokens.doc_topic, tokens.word_topic, tokens.topic_total = tokens.count()
    # Equal topics: (alpha + 1) / (1 + V eta); different ones: alpha / (V eta), same other factors.
    same, different = (alpha + 1) / (1 + V * eta), alpha / (V * eta)
    probability = np.array([same, different]) / (same + different)
    n, equal = 20_000, 0
    for _ in range(n):
        for _ in range(3):  # so that the draws counted are nearly independent
            tokens.sweep(alpha=alpha, eta=eta)
        equal += tokens.topics[0] == tokens.topics[1]
    assert chi_square_fits(np.array([equal, n - equal]), probability)


class WordTokens(Tokens):
    """The same for sweeps word by word."""

    def __init__(self, *arguments, **choices):
        super().__init__(*arguments, **choices)
        order = np.argsort(self.words, kind="stable")
        self.docs, self.words, self.topics = (
            x[order].copy() for x in (self.docs, self.words, self.topics)
        )
        self.list()

    def list(self, form="compiled"):
        D, n = self.shape[0], len(self.docs)
        self.starts = np.cumsum(np.bincount(self.docs, minlength=D) + 1)
        self.starts = np.concatenate([[0], self.starts[:-1]])
        self.sizes = np.zeros(D, dtype=np.int64)
        self.listed, self.held = np.zeros(n + D, np.int32), np.zeros(n + D, np.float32)
        self.lists = (self.starts, self.sizes, self.listed, self.held)
        form_of(_hot.list_topics, form)(self.docs, self.topics, *self.lists)

    def sweep(self, form="compiled", tokens=slice(None), alpha=0.1, eta=0.2):
        _, V, K = self.shape
        sizes, inverse = self.topic_total + V * eta, np.zeros(_hot.padded(K), dtype=np.float32)
        inverse[:K] = 1 / sizes
        with np.errstate(over="ignore"):
            form_of(_hot.word_sweep, form)(
                self.docs[tokens],
                self.words[tokens],
                self.topics[tokens],
                *self.lists,
                self.word_topic,
                sizes,
                inverse,
                alpha,
                np.full(V, eta, dtype=np.float32),
                self.state,
                np.full((3, _hot.padded(K)), np.nan, dtype=np.float32),
            )
        assert_allclose(inverse[:K], 1 / sizes, rtol=1e-6)
        self.topic_total = np.rint(sizes - V * eta)

    def in_documents(self):
        """(D, K padded) counts as the lists have them."""
        counts = np.zeros((self.shape[0], _hot.padded(self.shape[2])))
        for d, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            counts[d, self.listed[start : start + size]] = self.held[start : start + size]
            assert size == np.count_nonzero(counts[d])
        return counts


@pytest.mark.parametrize("K", [3, 11, 90])
def test_word_sweep_keeps_the_counts(form, K):
    tokens = WordTokens(0, K=K)
    start = tokens.topics.copy()
    for _ in range(4):
        tokens.sweep(form)
        doc_topic, word_topic, total = tokens.count()
        assert_array_equal(tokens.in_documents(), doc_topic)
        assert_array_equal(tokens.word_topic, word_topic)
        assert_array_equal(tokens.topic_total, total)
    assert np.count_nonzero(tokens.topics != start) > 20


def test_word_sweep_is_the_same_in_plain_python():
    compiled, python = WordTokens(1, K=11), WordTokens(1, K=11)
    compiled.sweep("compiled")
    python.sweep("python")
    assert np.array_equal(compiled.topics, python.topics)


@pytest.mark.parametrize("alpha", [0.02, 1.0])
def test_word_sweep_draws_from_the_conditional_distribution(alpha):
    """One token drawn again and again, all others held; nearly all proposals are accepted, some draws apart."""
    eta, n, j = 0.2, 8000, 17
    tokens = WordTokens(3)
    V = tokens.shape[1]
    d, w, i = tokens.docs[j], tokens.words[j], tokens.topics[j]
    doc_topic = tokens.in_documents()
    others = [
        a.astype(float) for a in (doc_topic[d, :3], tokens.word_topic[w, :3], tokens.topic_total)
    ]
    for a in others:
        a[i] -= 1
    probability = (others[0] + alpha) * (others[1] + eta) / (others[2] + V * eta)
    probability /= probability.sum()
    drawn = np.empty(n, dtype=int)
    for step in range(n):
        for _ in range(4):
            tokens.sweep(tokens=slice(j, j + 1), alpha=alpha, eta=eta)
        drawn[step] = tokens.topics[j]
    assert chi_square_fits(np.bincount(drawn, minlength=len(probability)), probability)


def test_word_sweep_agrees_with_the_joint_distribution():
    """Two tokens of one document and two of one word, by enumeration of which are equal."""
    alpha, eta, K, V, n = 0.5, 0.3, 2, 3, 12_000
    tokens = WordTokens(0, n=2, D=1, V=V, K=K)
    tokens.words[:] = [0, 1]
    tokens.doc_topic, tokens.word_topic, tokens.topic_total = tokens.count()
    same, different = (alpha + 1) / (1 + V * eta), alpha / (V * eta)
    probability = np.array([same, different]) / (same + different)
    equal = 0
    for _ in range(n):
        for _ in range(4):
            tokens.sweep(alpha=alpha, eta=eta)
        equal += tokens.topics[0] == tokens.topics[1]
    assert chi_square_fits(np.array([equal, n - equal]), probability)


@pytest.mark.parametrize("sd", [4.5, 10.0, 40.0, 100.0])
def test_expected_theta_of_very_wide_posteriors(sd):
    """Within the 1e-2 promised beyond standard deviations of four."""
    rng = np.random.default_rng(0)
    lam, nu2 = rng.standard_normal((3, 3)), (sd * rng.uniform(0.6, 1.0, (3, 3))) ** 2
    theta = expected_theta(Posterior(lam, nu2), n_jobs=1)
    for d in range(3):
        assert_allclose(theta[d], naive.expected_softmax(lam[d], nu2[d]), atol=1e-2)


def test_expected_theta_is_finite_however_wide():
    theta = expected_theta(Posterior(np.zeros((2, 3)), np.full((2, 3), 1e12)), n_jobs=1)
    assert_allclose(theta, 1 / 3, rtol=1e-6)


# Binomial numbers


def binomials(n, p, size, key=1):
    state, drawn = np.uint64(key), np.empty(size)
    for i in range(size):
        state, drawn[i] = _hot.binomial(np.uint64(state), n, p)
    return drawn


@pytest.mark.parametrize("p", [1e-4, 0.03, 0.5, 0.7, 0.999])
@pytest.mark.parametrize("n", [1.0, 5.0, 40.0, 1001.0, 20_000.0])
def test_binomial_numbers_have_their_distribution(n, p):
    drawn = binomials(n, p, 20_000)
    assert ((drawn >= 0) & (drawn <= n) & (drawn == np.floor(drawn))).all()
    cuts = np.unique(stats.binom.ppf(np.linspace(0.02, 0.98, 25), n, p))
    below = stats.binom.cdf(cuts, n, p)
    seen = (drawn[:, None] <= cuts).mean(0)
    assert (np.abs(seen - below) < 4.5 * np.sqrt(below * (1 - below) / len(drawn)) + 1e-9).all()


@pytest.mark.parametrize("p", [1e-9, 0.2, 1 - 1e-6])
@pytest.mark.parametrize("n", [1e8, 1e12, 2.0**53])
def test_binomial_numbers_of_many_trials(n, p):
    drawn = binomials(n, p, 4000)
    assert ((drawn >= 0) & (drawn <= n)).all()
    z = (drawn - n * p) / np.sqrt(n * p * (1 - p))
    assert abs(z.mean()) < 5 / np.sqrt(4000)
    assert abs(z.var() - 1) < 0.15


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_binomial_numbers_without_chance(p):
    assert (binomials(1e10, p, 5) == p * 1e10).all()
