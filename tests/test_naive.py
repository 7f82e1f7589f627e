"""The reference checked against itself: two ways to each number, finite differences, limits.

Here too "eq." and "Table" are numbers of the paper, "maths" those of the maths notes.
"""

import numpy as np
import pytest
from numpy.linalg import inv
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.special import expit, logsumexp, roots_hermitenorm, softmax
from scipy.stats import multivariate_normal

import naive
from checks import check_gradient, check_maximum, check_stationary

SEEDS = range(5)
KINDS = ("identity", "shared", "free")


def not_lower(after, before):
    """True when `after` is at least `before`, up to rounding."""
    return after >= before - 1e-10 * (1 + abs(before))


def symmetric(function):
    """`function` of the symmetric part of a matrix, so that directions stay symmetric."""
    return lambda A: function((A + A.T) / 2)


def kinds_of(p, b=0.7):
    """(kind, B) for the three choices of maths 5."""
    return [(kind, naive.coregionalisation(kind, p.Sigma, b, p.B)) for kind in KINDS]


def eigenbasis(p, B):
    """b, T with T' Sigma T = I and T' B T = diag(b), and W_i = (b_i Kxx + I)^-1, maths 5."""
    b, T = eigh(B, p.Sigma)
    W = [inv(b_i * p.Kxx + np.eye(len(p.Kxx))) for b_i in b]
    return b, T, W


def solve_in_eigenbasis(p, B):
    """lam_hat, a, F_hat, each (D, K), and the K matrices C_i of maths 5."""
    b, T, W = eigenbasis(p, B)
    lam_hat = (p.lam - p.mu) @ T
    a = np.column_stack([W[i] @ lam_hat[:, i] for i in range(len(b))])
    F_hat = p.Kxx @ a * b
    C = [b[i] * p.Kxx @ W[i] for i in range(len(b))]
    return lam_hat, a, F_hat, C


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed{seed}")
def p(request):
    return naive.random_problem(request.param)


@pytest.fixture(
    params=[(seed, singular) for seed in SEEDS for singular in (False, True)],
    ids=lambda v: f"seed{v[0]}" + ("-singular" if v[1] else ""),
)
def any_p(request):
    seed, singular = request.param
    return naive.random_problem(seed, singular=singular)


# The random problems


def test_random_problem():
    p = naive.random_problem(0)
    assert p.X.shape == (7, 9)
    assert p.beta.shape == (3, 9)
    assert p.lam.shape == p.nu2.shape == (7, 3)
    assert p.mu.shape == (3,)
    assert p.X[-1].sum() == 0
    assert p.X[:, -1].sum() == 0
    assert p.X[:-1].sum(axis=1).min() > 0
    assert_allclose(p.beta.sum(axis=1), 1)
    for A in (p.Sigma, p.B, p.Kxx):
        assert np.linalg.cond(A) < 1e3
    assert np.linalg.matrix_rank(naive.random_problem(0, singular=True).Kxx) == 4
    assert_allclose(naive.random_problem(0).lam, p.lam)


def test_small_tools_agree_with_scipy():
    p = naive.random_problem(0)
    root = naive.symmetric_sqrt(p.B)
    assert_allclose(root @ root, p.B, atol=1e-12)
    expected = multivariate_normal(np.zeros(3), p.Sigma).logpdf(p.mu)
    assert_allclose(naive.log_normal(p.mu, p.Sigma), expected)


# One document


def test_collapsed_document_bound_is_table_1_at_the_optimal_phi_and_zeta(p):
    m = p.mu + 0.3
    for x, lam, nu2 in zip(p.X, p.lam, p.nu2, strict=True):
        phi, zeta = naive.phi(lam, p.beta), naive.zeta(lam, nu2)
        table = naive.table1_document(x, p.beta, lam, nu2, phi, zeta, m, p.Sigma)
        assert_allclose(naive.document_bound(x, p.beta, lam, nu2, m, p.Sigma), table, rtol=1e-12)


def test_phi_of_eq_9_maximises_table_1(p):
    x, lam, nu2 = p.X[0], p.lam[0], p.nu2[0]
    logits = np.log(naive.phi(lam, p.beta))

    def table(logits):
        phi = softmax(logits, axis=1)
        return naive.table1_document(x, p.beta, lam, nu2, phi, 2.0, p.mu, p.Sigma)

    check_stationary(table, logits)
    check_maximum(table, logits)


def test_zeta_of_eq_10_maximises_table_1(p):
    x, lam, nu2 = p.X[0], p.lam[0], p.nu2[0]
    phi = np.full((p.X.shape[1], 3), 1 / 3)

    def table(log_zeta):
        zeta = np.exp(log_zeta)
        return naive.table1_document(x, p.beta, lam, nu2, phi, zeta, p.mu, p.Sigma)

    log_zeta = np.log(naive.zeta(lam, nu2))
    check_stationary(table, log_zeta)
    check_maximum(table, log_zeta)


def test_a_word_that_no_topic_produces_does_no_harm_where_it_does_not_occur():
    p = naive.random_problem(0)
    beta = naive.update_beta(p.X, p.beta, p.lam, 0.0)
    assert np.all(beta[:, -1] == 0)
    assert_allclose(naive.phi(p.lam[0], beta).sum(axis=1), 1)
    assert np.isfinite(naive.document_bound(p.X[0], beta, p.lam[0], p.nu2[0], p.mu, p.Sigma))


def test_gradients_of_table_1_for_any_phi_and_zeta(p):
    rng = np.random.default_rng(1)
    x, lam, nu2, zeta = p.X[1], p.lam[1], p.nu2[1], 5.0
    phi = rng.dirichlet(np.ones(3), len(x))

    def table(lam, nu2):
        return naive.table1_document(x, p.beta, lam, nu2, phi, zeta, p.mu, p.Sigma)

    g_lam = naive.gradient_lam(x, lam, nu2, phi, zeta, p.mu, p.Sigma)
    g_nu2 = naive.gradient_nu2(x, lam, nu2, zeta, p.Sigma)
    check_gradient(lambda lam: table(lam, nu2), g_lam, lam)
    check_gradient(lambda nu2: table(lam, nu2), g_nu2, nu2)


def test_the_same_gradients_at_the_optimal_phi_and_zeta_are_those_of_the_collapsed_bound(p):
    x, lam, nu2 = p.X[1], p.lam[1], p.nu2[1]
    phi, zeta = naive.phi(lam, p.beta), naive.zeta(lam, nu2)

    def bound(lam, nu2):
        return naive.document_bound(x, p.beta, lam, nu2, p.mu, p.Sigma)

    g_lam = naive.gradient_lam(x, lam, nu2, phi, zeta, p.mu, p.Sigma)
    g_nu2 = naive.gradient_nu2(x, lam, nu2, zeta, p.Sigma)
    check_gradient(lambda lam: bound(lam, nu2), g_lam, lam)
    check_gradient(lambda nu2: bound(lam, nu2), g_nu2, nu2)


def test_hessians_in_lam(p):
    """Maths 2: with phi and zeta held, and collapsed."""
    x, lam, nu2 = p.X[0], p.lam[0], p.nu2[0]
    P, N = inv(p.Sigma), x.sum()
    phi, zeta = naive.phi(lam, p.beta), naive.zeta(lam, nu2)
    t = N / zeta * np.exp(lam + nu2 / 2)
    held = -(P + np.diag(t))
    collapsed = held + np.outer(t, t) / N
    for w in range(len(x)):
        collapsed += x[w] * (np.diag(phi[w]) - np.outer(phi[w], phi[w]))

    def g_held(lam):
        return naive.gradient_lam(x, lam, nu2, phi, zeta, p.mu, p.Sigma)

    def g_collapsed(lam):
        phi, zeta = naive.phi(lam, p.beta), naive.zeta(lam, nu2)
        return naive.gradient_lam(x, lam, nu2, phi, zeta, p.mu, p.Sigma)

    for i in range(3):
        check_gradient(lambda lam, i=i: g_held(lam)[i], held[i], lam)
        check_gradient(lambda lam, i=i: g_collapsed(lam)[i], collapsed[i], lam)


def test_newton_for_nu2_starts_right_of_the_root():
    """Maths 2: at the start the derivative in nu2 is already negative, or zero."""
    rng = np.random.default_rng(0)
    t0, P_ii = np.exp(rng.uniform(-12, 12, (2, 2000)))
    start = np.minimum(1 / P_ii, 2 * np.log1p(1 / (2 * t0)))
    assert np.all(1 / start <= (P_ii + t0 * np.exp(start / 2)) * (1 + 1e-12))


def test_optimise_document_finds_a_maximum(p):
    P_diag = np.diag(inv(p.Sigma))
    for x in p.X:
        lam, nu2 = naive.optimise_document(x, p.beta, p.mu, p.Sigma)
        phi, zeta = naive.phi(lam, p.beta), naive.zeta(lam, nu2)
        g_lam = naive.gradient_lam(x, lam, nu2, phi, zeta, p.mu, p.Sigma)
        assert_allclose(g_lam, 0, atol=1e-9)
        t = x.sum() / zeta * np.exp(lam + nu2 / 2)
        assert_allclose(1 / nu2, P_diag + t, rtol=1e-9)

        def bound(y, x=x):
            return naive.document_bound(x, p.beta, y[:3], np.exp(y[3:]), p.mu, p.Sigma)

        check_maximum(bound, np.concatenate([lam, np.log(nu2)]))


def test_optimise_document_from_another_start():
    p = naive.random_problem(0)
    args = p.X[0], p.beta, p.mu, p.Sigma
    lam, nu2 = naive.optimise_document(*args)
    again = naive.optimise_document(*args, lam0=p.lam[0], nu20=p.nu2[0])
    assert_allclose(again[0], lam, atol=1e-8)
    assert_allclose(again[1], nu2, rtol=1e-8)


def test_an_empty_document_stays_at_its_prior():
    p = naive.random_problem(0)
    lam, nu2 = naive.optimise_document(p.X[-1], p.beta, p.mu, p.Sigma, lam0=p.lam[0])
    assert_allclose(lam, p.mu, atol=1e-9)
    assert_allclose(nu2, 1 / np.diag(inv(p.Sigma)), rtol=1e-9)


def test_document_bound_is_below_the_likelihood_of_the_words(p):
    """log p(w_d) by averaging over draws of eta; the best bound is a few nats below."""
    x = p.X[0]
    eta = np.random.default_rng(0).multivariate_normal(p.mu, p.Sigma, 50_000)
    log_p = logsumexp(np.log(softmax(eta, axis=1) @ p.beta) @ x) - np.log(len(eta))
    lam, nu2 = naive.optimise_document(x, p.beta, p.mu, p.Sigma)
    bound = naive.document_bound(x, p.beta, lam, nu2, p.mu, p.Sigma)
    assert log_p - 5.0 < bound < log_p


def test_expected_softmax():
    """With two topics the answer is one integral, done here by quadrature."""
    lam, nu2 = np.array([0.4, -0.9]), np.array([1.5, 0.3])
    nodes, weights = roots_hermitenorm(60)
    first = weights @ expit(lam[0] - lam[1] + np.sqrt(nu2.sum()) * nodes) / weights.sum()
    theta = naive.expected_softmax(lam, nu2)
    assert_allclose(theta, [first, 1 - first], atol=1e-3)
    assert_allclose(theta.sum(), 1)
    assert_allclose(naive.expected_softmax(lam, np.zeros(2), n=10), softmax(lam))


# F


def test_coregionalisation():
    p = naive.random_problem(0)
    assert_allclose(naive.coregionalisation("identity", p.Sigma, 2.0, p.B), 2 * np.eye(3))
    assert_allclose(naive.coregionalisation("shared", p.Sigma, 2.0, p.B), 2 * p.Sigma)
    assert_allclose(naive.coregionalisation("free", p.Sigma, 2.0, p.B), p.B)
    with pytest.raises(ValueError, match="kind must be"):
        naive.coregionalisation("none", p.Sigma, 2.0, p.B)


def test_posterior_mean_solves_the_sylvester_equation_when_B_is_I(any_p):
    p = any_p
    F, _ = naive.posterior_F(p.lam, p.mu, p.Sigma, np.eye(3), p.Kxx)
    assert_allclose(F, naive.sylvester_F(p.lam, p.mu, p.Sigma, p.Kxx), atol=1e-10)
    assert_allclose(p.Kxx @ F + F @ p.Sigma, p.Kxx @ (p.lam - p.mu), atol=1e-10)


def test_posterior_covariance_is_the_inverse_of_the_summed_precisions(p):
    for _, B in kinds_of(p):
        _, cov = naive.posterior_F(p.lam, p.mu, p.Sigma, B, p.Kxx)
        precision = inv(np.kron(p.Kxx, B)) + np.kron(np.eye(7), inv(p.Sigma))
        assert_allclose(cov, inv(precision), atol=1e-10)


def test_eq_14_is_the_stationary_point_of_eq_13(p):
    F = naive.sylvester_F(p.lam, p.mu, p.Sigma, p.Kxx)

    def objective(F):
        return naive.objective_13(F, p.lam, p.mu, p.Sigma, p.Kxx)

    check_stationary(objective, F)
    check_maximum(lambda F: -objective(F), F)


def test_posterior_mean_maximises_the_map_bound(p):
    for _, B in kinds_of(p):
        F, _ = naive.posterior_F(p.lam, p.mu, p.Sigma, B, p.Kxx)
        check_stationary(lambda F, B=B: naive.bound_map(*p[:6], B, p.Kxx, F), F)


def test_a_kernel_proportional_to_the_identity():
    """Kxx = c I: F = (lam - mu) U diag(c / (c + s)) U' with Sigma = U diag(s) U'."""
    p, c = naive.random_problem(0), 1.7
    s, U = eigh(p.Sigma)
    F = naive.sylvester_F(p.lam, p.mu, p.Sigma, c * np.eye(7))
    assert_allclose(F, (p.lam - p.mu) @ U @ np.diag(c / (c + s)) @ U.T, atol=1e-12)


def test_shifted_solves_of_maths_3(any_p):
    """F by eigenvectors of Sigma, and alpha = Kxx^-1 F without an inverse of Kxx."""
    p = any_p
    s, U = eigh(p.Sigma)
    lam_tilde = (p.lam - p.mu) @ U
    solves = [inv(p.Kxx + s[i] * np.eye(7)) @ lam_tilde[:, i] for i in range(3)]
    alpha = np.column_stack(solves) @ U.T
    F = naive.sylvester_F(p.lam, p.mu, p.Sigma, p.Kxx)
    assert_allclose(p.Kxx @ alpha, F, atol=1e-10)
    assert_allclose(alpha, (p.lam - p.mu - F) @ inv(p.Sigma), atol=1e-10)


def test_posterior_in_the_eigenbasis(any_p):
    """Maths 5: mean, alpha and covariance of q(F) through T, Kxx and even B singular."""
    p = any_p
    v = np.array([1.0, -2.0, 0.5])
    for _, B in [*kinds_of(p), ("rank one", np.outer(v, v))]:
        b, T, _ = eigenbasis(p, B)
        _, a, F_hat, C = solve_in_eigenbasis(p, B)
        T_inv = inv(T)
        F, cov = naive.posterior_F(p.lam, p.mu, p.Sigma, B, p.Kxx)
        assert_allclose(F_hat @ T_inv, F, atol=1e-10)
        alpha = a * b @ T_inv
        assert_allclose(alpha, (p.lam - p.mu - F) @ inv(p.Sigma) @ B, atol=1e-10)
        assert_allclose(p.Kxx @ alpha, F, atol=1e-10)
        dense = sum(np.kron(C[i], np.outer(T_inv[i], T_inv[i])) for i in range(3))
        assert_allclose(cov, dense, atol=1e-10)


def test_covariance_of_maths_4_when_B_is_I(any_p):
    p = any_p
    s, U = eigh(p.Sigma)
    C = [s_i * p.Kxx @ inv(p.Kxx + s_i * np.eye(7)) for s_i in s]
    dense = sum(np.kron(C[i], np.outer(U[:, i], U[:, i])) for i in range(3))
    _, cov = naive.posterior_F(p.lam, p.mu, p.Sigma, np.eye(3), p.Kxx)
    assert_allclose(cov, dense, atol=1e-10)


# The bounds


def test_smoothing_adds_the_sum_of_log_beta_to_every_bound():
    p = naive.random_problem(0)
    added = 0.3 * np.sum(np.log(p.beta))
    q = naive.posterior_F(p.lam, p.mu, p.Sigma, p.B, p.Kxx)
    for bound, F in [
        (naive.bound_variational, q),
        (naive.bound_collapsed, ()),
        (naive.bound_map, q[:1]),
    ]:
        assert_allclose(bound(*p, *F, smoothing=0.3) - bound(*p, *F), added, rtol=1e-10)


def test_bounds_agree_when_q_F_is_optimal(p):
    for _, B in kinds_of(p):
        args = *p[:6], B, p.Kxx
        q = naive.posterior_F(p.lam, p.mu, p.Sigma, B, p.Kxx)
        for smoothing in (0.0, 0.3):
            best = naive.bound_variational(*args, *q, smoothing)
            assert_allclose(naive.bound_collapsed(*args, smoothing), best, rtol=1e-11)


def test_any_other_q_F_gives_a_lower_bound(p):
    rng = np.random.default_rng(0)
    mean, cov = naive.posterior_F(p.lam, p.mu, p.Sigma, p.B, p.Kxx)
    best = naive.bound_collapsed(*p)
    A = np.eye(21) + 0.1 * rng.standard_normal((21, 21))
    worse = naive.bound_variational(*p, mean + 0.1 * rng.standard_normal(mean.shape), cov)
    assert worse < best
    assert naive.bound_variational(*p, mean, A @ cov @ A.T) < best


def test_q_F_is_stationary_for_the_variational_bound(p):
    mean, cov = naive.posterior_F(p.lam, p.mu, p.Sigma, p.B, p.Kxx)
    check_stationary(lambda m: naive.bound_variational(*p, m, cov), mean)
    check_stationary(
        symmetric(lambda C: naive.bound_variational(*p, mean, C)), cov, scale=1e-5, tol=1e-4
    )


def test_variational_bound_is_the_mean_of_the_map_bound_plus_the_entropy_of_q_F(p):
    """bound_map is quadratic in F, so 2n points with the moments of q(F) give its mean exactly."""
    rng = np.random.default_rng(0)
    mean, A = rng.standard_normal((7, 3)), 0.3 * rng.standard_normal((21, 21))
    cov = A @ A.T + 0.1 * np.eye(21)
    offsets = np.sqrt(21) * np.linalg.cholesky(cov).T.reshape(21, 7, 3)
    points = np.concatenate([mean + offsets, mean - offsets])
    average = np.mean([naive.bound_map(*p, F) for F in points])
    entropy = 0.5 * naive.logdet(2 * np.pi * np.e * cov)
    assert_allclose(naive.bound_variational(*p, mean, cov), average + entropy, rtol=1e-11)


def test_collapsed_bound_in_the_eigenbasis(any_p):
    """L* of maths 5."""
    p = any_p
    for _, B in kinds_of(p):
        _, _, W = eigenbasis(p, B)
        lam_hat, a, _, _ = solve_in_eigenbasis(p, B)
        total = -0.5 * np.sum(lam_hat * a) + 0.5 * sum(naive.logdet(W_i) for W_i in W)
        assert_allclose(naive.bound_collapsed(*p[:6], B, p.Kxx), total + rest(p), rtol=1e-11)


def test_collapsed_bound_of_maths_4(any_p):
    """L* with B = I, by eigenvectors of Sigma."""
    p = any_p
    s, U = eigh(p.Sigma)
    lam_tilde = (p.lam - p.mu) @ U
    total = rest(p) + 7 / 2 * naive.logdet(p.Sigma)
    for i in range(3):
        A = p.Kxx + s[i] * np.eye(7)
        total -= 0.5 * (naive.logdet(A) + lam_tilde[:, i] @ inv(A) @ lam_tilde[:, i])
    assert_allclose(naive.bound_collapsed(*p[:6], np.eye(3), p.Kxx), total, rtol=1e-11)


def rest(p):
    """The terms of L* in maths 5 that do not involve Kxx."""
    D, K = p.lam.shape
    rows = zip(p.X, p.lam, p.nu2, strict=True)
    seen = sum(naive.words_and_normaliser(x, p.beta, lam, nu2) for x, lam, nu2 in rows)
    nu2_terms = 0.5 * np.sum(np.log(p.nu2)) - 0.5 * np.sum(np.diag(inv(p.Sigma)) * p.nu2)
    return seen + nu2_terms + D * K / 2 - D / 2 * naive.logdet(p.Sigma)


def test_map_bound_of_maths_4(p):
    F = naive.sylvester_F(p.lam, p.mu, p.Sigma, p.Kxx)
    alpha = (p.lam - p.mu - F) @ inv(p.Sigma)
    total = naive.sum_of_document_bounds(*p[:4], p.mu + F, p.Sigma)
    total -= 3 / 2 * naive.logdet(p.Kxx) + 21 / 2 * np.log(2 * np.pi)
    total -= 0.5 * np.trace(alpha.T @ p.Kxx @ alpha)
    assert_allclose(naive.bound_map(*p[:6], np.eye(3), p.Kxx, F), total, rtol=1e-11)


def test_kl_of_maths_4(p):
    """KL of the optimal q(F) with B = I, without an inverse of Kxx."""
    s, _ = eigh(p.Sigma)
    q = naive.posterior_F(p.lam, p.mu, p.Sigma, np.eye(3), p.Kxx)
    alpha = (p.lam - p.mu - q[0]) @ inv(p.Sigma)
    kl = 0.5 * np.trace(alpha.T @ p.Kxx @ alpha)
    for s_i in s:
        kl -= 0.5 * np.trace(p.Kxx @ inv(p.Kxx + s_i * np.eye(7)))
        kl += 0.5 * naive.logdet(np.eye(7) + p.Kxx / s_i)
    assert_allclose(naive.kl_F(*q, p.Kxx, np.eye(3)), kl, rtol=1e-9)


def test_kl_is_zero_only_at_the_prior(p):
    prior = np.kron(p.Kxx, p.B)
    assert_allclose(naive.kl_F(np.zeros((7, 3)), prior, p.Kxx, p.B), 0, atol=1e-9)
    assert naive.kl_F(np.ones((7, 3)), prior, p.Kxx, p.B) > 0
    assert naive.kl_F(np.zeros((7, 3)), 1.1 * prior, p.Kxx, p.B) > 0


def test_gradient_of_the_collapsed_bound_in_the_kernel(any_p):
    """Maths 5: 1/2 sum_i b_i [a_i' dK a_i - tr((b_i K + I)^-1 dK)]; maths 4: the same for B = I."""
    p = any_p
    for _, B in kinds_of(p):
        b, _, W = eigenbasis(p, B)
        _, a, _, _ = solve_in_eigenbasis(p, B)
        gradient = 0.5 * sum(b[i] * (np.outer(a[:, i], a[:, i]) - W[i]) for i in range(3))
        check_gradient(
            symmetric(lambda Kxx, B=B: naive.bound_collapsed(*p[:6], B, Kxx)), gradient, p.Kxx
        )
    s, U = eigh(p.Sigma)
    A_inv = [inv(p.Kxx + s_i * np.eye(7)) for s_i in s]
    alpha = [A_inv[i] @ (p.lam - p.mu) @ U[:, i] for i in range(3)]
    gradient = 0.5 * sum(np.outer(alpha[i], alpha[i]) - A_inv[i] for i in range(3))
    check_gradient(
        symmetric(lambda Kxx: naive.bound_collapsed(*p[:6], np.eye(3), Kxx)), gradient, p.Kxx
    )


def test_tighter_bound_of_maths_4(any_p):
    """With q(eta) p(F | eta), nu2_di is weighted by p_di = sum_j T_ij^2 (1 - C_j[d, d]) <= P_ii."""
    p = any_p
    for _, B in kinds_of(p):
        _, T, _ = eigenbasis(p, B)
        _, _, _, C = solve_in_eigenbasis(p, B)
        diagonal = 1 - np.column_stack([np.diag(C_j) for C_j in C])
        weight = diagonal @ (T**2).T
        dense = np.diag(inv(naive.marginal_covariance(p.Sigma, B, p.Kxx))).reshape(7, 3)
        assert_allclose(weight, dense, atol=1e-10)
        assert np.all(weight <= np.diag(inv(p.Sigma)) + 1e-12)


# The updates: none lowers its bound, and exact maximisers are flat


@pytest.mark.parametrize("smoothing", [0.0, 0.05])
def test_update_beta(any_p, smoothing):
    p = any_p
    beta = naive.update_beta(p.X, p.beta, p.lam, smoothing)
    assert_allclose(beta.sum(axis=1), 1)
    before = naive.bound_collapsed(*p, smoothing)
    assert not_lower(naive.bound_collapsed(*p._replace(beta=beta), smoothing), before)


def test_update_beta_maximises_table_1_with_phi_held(p):
    smoothing = 0.05
    phis = [naive.phi(lam, p.beta) for lam in p.lam]

    def bound(logits):
        beta = softmax(logits, axis=1)
        total = smoothing * np.sum(np.log(beta))
        for x, lam, nu2, phi in zip(p.X, p.lam, p.nu2, phis, strict=True):
            total += naive.table1_document(x, beta, lam, nu2, phi, 4.0, p.mu, p.Sigma)
        return total

    logits = np.log(naive.update_beta(p.X, p.beta, p.lam, smoothing))
    check_stationary(bound, logits)
    check_maximum(bound, logits)


def test_update_Sigma_held_maximises_the_variational_bound(p):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((21, 21))
    arbitrary = rng.standard_normal((7, 3)), 0.2 * np.eye(21) + 0.02 * A @ A.T
    optimal = naive.posterior_F(p.lam, p.mu, p.Sigma, p.B, p.Kxx)
    for q in (arbitrary, optimal):

        def bound(Sigma, q=q):
            return naive.bound_variational(*p._replace(Sigma=Sigma), *q)

        Sigma = naive.update_Sigma_held(p.lam, p.nu2, p.mu, *q)
        assert not_lower(bound(Sigma), bound(p.Sigma))
        check_stationary(symmetric(bound), Sigma, scale=1e-5)
        check_maximum(symmetric(bound), Sigma, steps=(1e-3, 1e-2))


def test_update_Sigma_held_then_q_F_does_not_lower_the_collapsed_bound(any_p):
    p = any_p
    for kind, B in kinds_of(p):
        if kind == "shared":
            continue
        q = naive.posterior_F(p.lam, p.mu, p.Sigma, B, p.Kxx)
        moved = p._replace(B=B, Sigma=naive.update_Sigma_held(p.lam, p.nu2, p.mu, *q))
        assert not_lower(naive.bound_collapsed(*moved), naive.bound_collapsed(*p._replace(B=B)))


def test_update_Sigma_held_in_the_eigenbasis(any_p):
    """Maths 5, identity and free; maths 4 is the same with B = I."""
    p = any_p
    for _, B in kinds_of(p):
        _, T, _ = eigenbasis(p, B)
        lam_hat, _, F_hat, C = solve_in_eigenbasis(p, B)
        r = lam_hat - F_hat
        inner = r.T @ r + np.diag([np.trace(C_i) for C_i in C])
        inner += T.T @ np.diag(p.nu2.sum(axis=0)) @ T
        Sigma = inv(T).T @ inner @ inv(T) / 7
        q = naive.posterior_F(p.lam, p.mu, p.Sigma, B, p.Kxx)
        assert_allclose(naive.update_Sigma_held(p.lam, p.nu2, p.mu, *q), Sigma, atol=1e-10)


def test_update_Sigma_of_maths_4(any_p):
    p = any_p
    s, U = eigh(p.Sigma)
    F, cov = naive.posterior_F(p.lam, p.mu, p.Sigma, np.eye(3), p.Kxx)
    traces = [np.trace(s_i * p.Kxx @ inv(p.Kxx + s_i * np.eye(7))) for s_i in s]
    r = p.lam - p.mu - F
    Sigma = (np.diag(p.nu2.sum(axis=0)) + r.T @ r + U @ np.diag(traces) @ U.T) / 7
    assert_allclose(naive.update_Sigma_held(p.lam, p.nu2, p.mu, F, cov), Sigma, atol=1e-10)


def test_held_bound_of_maths_4_at_another_Sigma(p):
    """q(F) from one Sigma, the bound at a new one, without an inverse of Kxx."""
    s, U = eigh(p.Sigma)
    q = naive.posterior_F(p.lam, p.mu, p.Sigma, np.eye(3), p.Kxx)
    traces = [np.trace(s_i * p.Kxx @ inv(p.Kxx + s_i * np.eye(7))) for s_i in s]
    new = naive.update_Sigma_held(p.lam, p.nu2, p.mu, *q)
    total = naive.sum_of_document_bounds(*p[:4], p.mu + q[0], new)
    total -= 0.5 * np.trace(inv(new) @ U @ np.diag(traces) @ U.T)
    total -= naive.kl_F(*q, p.Kxx, np.eye(3))
    held = p._replace(Sigma=new, B=np.eye(3))
    assert_allclose(naive.bound_variational(*held, *q), total, rtol=1e-11)


def test_update_Sigma_map_maximises_the_map_bound(p):
    F = 0.8 * naive.posterior_F(p.lam, p.mu, p.Sigma, p.B, p.Kxx)[0]

    def bound(Sigma):
        return naive.bound_map(*p._replace(Sigma=Sigma), F)

    Sigma = naive.update_Sigma_map(p.lam, p.nu2, p.mu, F)
    assert not_lower(bound(Sigma), bound(p.Sigma))
    check_stationary(symmetric(bound), Sigma, scale=1e-5)
    check_maximum(symmetric(bound), Sigma, steps=(1e-3, 1e-2))


@pytest.mark.parametrize("b", [0.3, 2.0])
def test_update_Sigma_shared_maximises_the_collapsed_bound(any_p, b):
    p = any_p

    def bound(Sigma):
        return naive.bound_collapsed(*p._replace(Sigma=Sigma, B=b * Sigma))

    Sigma = naive.update_Sigma_shared(p.lam, p.nu2, p.mu, b, p.Kxx)
    assert not_lower(bound(Sigma), bound(p.Sigma))
    check_stationary(symmetric(bound), Sigma, scale=1e-5)
    check_maximum(symmetric(bound), Sigma, steps=(1e-3, 1e-2))


def test_the_held_Sigma_step_has_another_fixed_point_when_B_is_shared(p):
    """Maths 5: the step for identity and free is wrong when B = b Sigma moves with Sigma."""
    b = 0.7
    Sigma = naive.update_Sigma_shared(p.lam, p.nu2, p.mu, b, p.Kxx)
    q = naive.posterior_F(p.lam, p.mu, Sigma, b * Sigma, p.Kxx)
    held = naive.update_Sigma_held(p.lam, p.nu2, p.mu, *q)
    assert np.abs(held - Sigma).max() > 1e-2


def test_update_mu_maximises_the_collapsed_bound(any_p):
    p = any_p
    for _, B in kinds_of(p):

        def bound(mu, B=B):
            return naive.bound_collapsed(*p[:4], mu, p.Sigma, B, p.Kxx)

        mu = naive.update_mu(p.lam, p.Sigma, B, p.Kxx)
        assert not_lower(bound(mu), bound(p.mu))
        check_stationary(bound, mu)
        check_maximum(bound, mu)


def test_update_mu_in_the_eigenbasis(any_p):
    """Maths 5: one weighted mean for each column of lam T."""
    p = any_p
    for _, B in kinds_of(p):
        _, T, W = eigenbasis(p, B)
        lam_T = p.lam @ T
        one = np.ones(7)
        mu_hat = np.array([one @ W[i] @ lam_T[:, i] / (one @ W[i] @ one) for i in range(3)])
        assert_allclose(naive.update_mu(p.lam, p.Sigma, B, p.Kxx), mu_hat @ inv(T), atol=1e-10)


def test_update_B_free_does_not_lower_the_collapsed_bound(any_p):
    p = any_p
    for _, B in kinds_of(p):
        for _ in range(10):
            new = naive.update_B_free(p.lam, p.mu, p.Sigma, B, p.Kxx)
            assert_allclose(new, new.T, atol=1e-10)
            after = naive.bound_collapsed(*p[:6], new, p.Kxx)
            assert not_lower(after, naive.bound_collapsed(*p[:6], B, p.Kxx))
            B = new


def test_update_B_free_stops_where_the_gradient_in_B_vanishes(any_p):
    """The gradient is (B^-1 N B^-1 - M) / 2, and the step solves B M B = N at the old N and M."""
    p = any_p
    b, T, W = eigenbasis(p, p.B)
    _, a, _, _ = solve_in_eigenbasis(p, p.B)
    alpha = a * b @ inv(T)
    N = alpha.T @ p.Kxx @ alpha
    M = T @ np.diag([np.trace(p.Kxx @ W_i) for W_i in W]) @ T.T
    gradient = 0.5 * (inv(p.B) @ N @ inv(p.B) - M)
    check_gradient(symmetric(lambda B: naive.bound_collapsed(*p[:6], B, p.Kxx)), gradient, p.B)
    new = naive.update_B_free(p.lam, p.mu, p.Sigma, p.B, p.Kxx)
    assert_allclose(new @ M @ new, N, atol=1e-9)


def test_update_b_does_not_lower_the_collapsed_bound(any_p):
    p = any_p
    for kind, update in [
        ("identity", naive.update_b_identity),
        ("shared", naive.update_b_shared),
    ]:

        def bound(b, kind=kind):
            B = naive.coregionalisation(kind, p.Sigma, b, None)
            return naive.bound_collapsed(*p[:6], B, p.Kxx)

        for b in (0.01, 0.5, 20.0):
            for _ in range(10):
                new = update(p.lam, p.mu, p.Sigma, b, p.Kxx)
                assert not_lower(bound(new), bound(b))
                b = new


def test_strength_steps_converge_to_stationary_points():
    p = naive.random_problem(5, D=25, K=2)
    for kind, update in [
        ("identity", naive.update_b_identity),
        ("shared", naive.update_b_shared),
    ]:
        b = 1.0
        for _ in range(60):
            b = update(p.lam, p.mu, p.Sigma, b, p.Kxx)

        def bound(log_b, kind=kind):
            B = naive.coregionalisation(kind, p.Sigma, np.exp(log_b), None)
            return naive.bound_collapsed(*p[:6], B, p.Kxx)

        assert b > 0.05
        check_stationary(bound, np.log(b))
    B = p.B
    for _ in range(200):
        B = naive.update_B_free(p.lam, p.mu, p.Sigma, B, p.Kxx)
    assert np.linalg.eigvalsh(B)[0] > 0.05
    check_stationary(symmetric(lambda B: naive.bound_collapsed(*p[:6], B, p.Kxx)), B)


# New documents


def new_documents(p, M=4, seed=0):
    """Ktx (M, D) and Ktt (M, M) so that the joint kernel with Kxx is positive semi-definite."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(-0.5, 1.0, (M, len(p.Kxx)))
    A = rng.standard_normal((M, M))
    Ktx = weights @ p.Kxx
    return Ktx, Ktx @ weights.T + 0.2 * np.eye(M) + 0.1 * A @ A.T


def test_predict_eta_in_the_eigenbasis(any_p):
    """Maths 6: mean through alpha, covariance and precision through T."""
    p = any_p
    Ktx, Ktt = new_documents(p)
    for _, B in kinds_of(p):
        b, T, W = eigenbasis(p, B)
        _, a, _, _ = solve_in_eigenbasis(p, B)
        T_inv = inv(T)
        mean, cov = naive.predict_eta(p.lam, p.mu, p.Sigma, B, p.Kxx, Ktx, np.diag(Ktt))
        assert_allclose(mean, p.mu + Ktx @ (a * b @ T_inv), atol=1e-10)
        for m in range(len(Ktx)):
            k = [b[i] * Ktt[m, m] - b[i] ** 2 * Ktx[m] @ W[i] @ Ktx[m] for i in range(3)]
            assert min(k) >= 0
            assert_allclose(cov[m], p.Sigma + T_inv.T @ np.diag(k) @ T_inv, atol=1e-10)
            assert_allclose(inv(cov[m]), T @ np.diag(1 / (1 + np.array(k))) @ T.T, atol=1e-9)


def test_predict_eta_at_a_training_document_is_q_F_plus_Sigma(any_p):
    p = any_p
    F, F_cov = naive.posterior_F(p.lam, p.mu, p.Sigma, p.B, p.Kxx)
    mean, cov = naive.predict_eta(p.lam, p.mu, p.Sigma, p.B, p.Kxx, p.Kxx, np.diag(p.Kxx))
    assert_allclose(mean, p.mu + F, atol=1e-10)
    assert_allclose(cov, p.Sigma + naive.document_blocks(F_cov, 7, 3), atol=1e-10)


def test_predict_eta_far_from_all_documents_is_the_prior():
    p = naive.random_problem(0)
    mean, cov = naive.predict_eta(*p[2:3], *p[4:], np.zeros((1, 7)), [1.3])
    assert_allclose(mean[0], p.mu)
    assert_allclose(cov[0], p.Sigma + 1.3 * p.B)


def test_conditional_kernel_and_mean_are_those_of_the_joint_gaussian(p):
    """Eqs 16-17 through blocks of the inverse of the joint kernel."""
    Ktx, Ktt = new_documents(p)
    precision = inv(np.block([[p.Kxx, Ktx.T], [Ktx, Ktt]]))
    Kbar = naive.conditional_kernel(p.Kxx, Ktx, Ktt)
    assert_allclose(Kbar, inv(precision[7:, 7:]), atol=1e-8)
    F = p.lam - p.mu
    F_bar = naive.conditional_mean(F, p.Kxx, Ktx)
    assert_allclose(F_bar, -inv(precision[7:, 7:]) @ precision[7:, :7] @ F, atol=1e-8)


def test_eq_20_corrected_is_the_stationary_point_of_eq_19_and_the_printed_one_is_not(p):
    rng = np.random.default_rng(0)
    Ktx, Ktt = new_documents(p)
    Kbar = naive.conditional_kernel(p.Kxx, Ktx, Ktt)
    F_bar = naive.conditional_mean(p.lam - p.mu, p.Kxx, Ktx)
    lam_new = rng.standard_normal(F_bar.shape)

    def objective(F_new):
        return naive.objective_19(F_new, lam_new, F_bar, p.Sigma, Kbar)

    F_new = naive.map_new_documents_F(lam_new, F_bar, p.Sigma, Kbar)
    check_stationary(objective, F_new)
    check_maximum(lambda F_new: -objective(F_new), F_new)
    assert_allclose(
        F_new, F_bar + naive.sylvester_F(lam_new - F_bar, 0.0, p.Sigma, Kbar), atol=1e-10
    )
    printed = naive.solve_sylvester(Kbar, p.Sigma, Kbar @ (lam_new + F_bar))
    with pytest.raises(AssertionError, match="should be stationary"):
        check_stationary(objective, printed, tol=1e-2)


# Additive kernels


def test_a_sum_of_kernels_splits_F(p):
    """Maths 7: F_p = K_p alpha, and the posterior covariance of two parts."""
    parts = [p.Kxx, naive.random_kernel(np.random.default_rng(9), 7)]
    whole = p._replace(Kxx=sum(parts))
    b, T, W = eigenbasis(whole, p.B)
    _, a, _, _ = solve_in_eigenbasis(whole, p.B)
    T_inv = inv(T)
    S_inv = inv(naive.marginal_covariance(p.Sigma, p.B, whole.Kxx))
    for Kp in parts:
        prior = np.kron(Kp, p.B)
        dense = prior @ S_inv @ (p.lam - p.mu).ravel()
        assert_allclose(Kp @ (a * b) @ T_inv, dense.reshape(7, 3), atol=1e-10)
        for Kq in parts:
            same = float(Kp is Kq)
            dense = same * prior - prior @ S_inv @ np.kron(Kq, p.B)
            split = 0.0
            for i in range(3):
                C = same * b[i] * Kp - b[i] ** 2 * Kp @ W[i] @ Kq
                split = split + np.kron(C, np.outer(T_inv[i], T_inv[i]))
            assert_allclose(split, dense, atol=1e-10)


# Limits


@pytest.mark.parametrize("scale", [0.0, 1e-12])
def test_without_a_kernel_the_model_is_CTM(p, scale):
    Kxx = scale * p.Kxx
    F, cov = naive.posterior_F(p.lam, p.mu, p.Sigma, p.B, Kxx)
    assert_allclose(F, 0, atol=1e-9)
    assert_allclose(cov, 0, atol=1e-9)
    ctm = naive.sum_of_document_bounds(*p[:4], np.tile(p.mu, (7, 1)), p.Sigma)
    assert_allclose(naive.bound_collapsed(*p[:7], Kxx), ctm, rtol=1e-9)
    assert_allclose(naive.update_mu(p.lam, p.Sigma, p.B, Kxx), p.lam.mean(axis=0), rtol=1e-9)
    Sigma = np.diag(p.nu2.mean(axis=0)) + (p.lam - p.mu).T @ (p.lam - p.mu) / 7
    assert_allclose(naive.update_Sigma_held(p.lam, p.nu2, p.mu, F, cov), Sigma, atol=1e-9)
    mean, cov = naive.predict_eta(
        p.lam, p.mu, p.Sigma, p.B, Kxx, scale * p.Kxx[:2], scale * np.diag(p.Kxx)[:2]
    )
    assert_allclose(mean, np.tile(p.mu, (2, 1)), atol=1e-9)
    assert_allclose(cov, np.tile(p.Sigma, (2, 1, 1)), atol=1e-9)


def test_the_map_bound_grows_without_limit_as_the_kernel_shrinks():
    """Maths 4: why nothing of the kernel is learnt with F a point."""
    p = naive.random_problem(0)
    bounds = []
    for scale in (1.0, 1e-2, 1e-4, 1e-6, 1e-8):
        F = naive.sylvester_F(p.lam, p.mu, p.Sigma, scale * p.Kxx)
        bounds.append(naive.bound_map(*p[:6], np.eye(3), scale * p.Kxx, F))
    assert np.all(np.diff(bounds)[1:] > 40)


def test_eq_12_contracts_Sigma_where_the_variational_step_does_not():
    """Maths 4: with Kxx = I, eqs 12 and 14 in turn shrink Sigma to the size of nu2."""
    p = naive.random_problem(0, D=25)
    nu2 = np.full_like(p.nu2, 1e-4)
    Sigma_map = Sigma_var = p.Sigma
    for _ in range(200):
        F = naive.sylvester_F(p.lam, p.mu, Sigma_map, np.eye(25))
        Sigma_map = naive.update_Sigma_map(p.lam, nu2, p.mu, F)
    for _ in range(20):
        q = naive.posterior_F(p.lam, p.mu, Sigma_var, 0.1 * np.eye(3), np.eye(25))
        Sigma_var = naive.update_Sigma_held(p.lam, nu2, p.mu, *q)
    assert np.trace(Sigma_map) < 1e-2 * np.trace(Sigma_var)
