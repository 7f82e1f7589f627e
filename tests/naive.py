"""The model written as plainly as possible: the reference that every fast path is compared with.

Dense NumPy, explicit inverses, explicit Kronecker products, loops over documents and words; for
small problems only. "eq." and "Table" are numbers of the paper, "maths" those of the maths notes.

Documents are rows: X (D, V) counts, lam, nu2, F (D, K), beta (K, V), mu (K,), Sigma, B (K, K),
Kxx (D, D). vec F is `F.ravel()`, document by document, so its prior covariance is
`np.kron(Kxx, B)`, and `np.kron(I, Sigma)` is the noise of lam around mu + F.
"""

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.linalg import inv, slogdet
from scipy.linalg import eigh, solve_sylvester
from scipy.optimize import minimize, root
from scipy.special import softmax, xlogy

LOG_2PI = np.log(2 * np.pi)


# Small tools


def logdet(A):
    """log |A| of a positive definite matrix."""
    sign, value = slogdet(A)
    assert sign > 0, "matrix is not positive definite"
    return value


def log_normal(x, cov):
    """log N(x; 0, cov) of a vector, all constants included."""
    return -0.5 * (len(x) * LOG_2PI + logdet(cov) + x @ inv(cov) @ x)


def tree_sum(parts, add, fan):
    """The sum of `fan` neighbours, then of `fan` such sums, and so on."""
    while len(parts) > 1:
        parts = [reduce(add, parts[i : i + fan]) for i in range(0, len(parts), fan)]
    return parts[0]


def document_blocks(cov, D, K):
    """(D, K, K) covariance of each row of F, the diagonal blocks of the covariance of vec F."""
    return np.array([cov[d * K : (d + 1) * K, d * K : (d + 1) * K] for d in range(D)])


def marginal_covariance(Sigma, B, Kxx):
    """Covariance Kxx (x) B + I (x) Sigma of vec(eta - mu), with F integrated out (maths 5)."""
    return np.kron(Kxx, B) + np.kron(np.eye(len(Kxx)), Sigma)


def symmetric_sqrt(A):
    """The symmetric square root of a positive semi-definite matrix."""
    values, vectors = eigh((A + A.T) / 2)
    return vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T


# One document


def phi(lam_d, beta):
    """Optimal topic probabilities (V, K) of each word type, eq. 9.

    A word that no topic can produce has no optimum; it gets 1/K.
    """
    K, V = beta.shape
    result = np.empty((V, K))
    for w in range(V):
        weight = np.exp(lam_d - lam_d.max()) * beta[:, w]
        result[w] = weight / weight.sum() if weight.sum() > 0 else 1 / K
    return result


def zeta(lam_d, nu2_d):
    """Optimal zeta, eq. 10."""
    return np.sum(np.exp(lam_d + nu2_d / 2))


def table1_document(x_d, beta, lam_d, nu2_d, phi, zeta, m_d, Sigma):
    """All rows of Table 1 but log p(F | K) for one document, with any phi (V, K) and any zeta."""
    K = len(lam_d)
    P = inv(Sigma)
    r = lam_d - m_d
    p_eta = -0.5 * (logdet(Sigma) + K * LOG_2PI + np.trace(np.diag(nu2_d) @ P) + r @ P @ r)
    p_z = p_w = 0.0
    entropy = np.sum(0.5 * (np.log(nu2_d) + LOG_2PI + 1))
    for w in np.flatnonzero(x_d):
        expected_exp = np.sum(np.exp(lam_d + nu2_d / 2))
        p_z += x_d[w] * (lam_d @ phi[w] - expected_exp / zeta + 1 - np.log(zeta))
        p_w += x_d[w] * np.sum(xlogy(phi[w], beta[:, w]))
        entropy -= x_d[w] * np.sum(xlogy(phi[w], phi[w]))
    return p_eta + p_z + p_w + entropy


def words_and_normaliser(x_d, beta, lam_d, nu2_d):
    """The two terms of the bound of one document that see its words, maths 2."""
    top = lam_d.max()  # taken out of every exponential, so that none overflows
    words = 0.0
    for w in np.flatnonzero(x_d):
        words += x_d[w] * (top + np.log(np.exp(lam_d - top) @ beta[:, w]))
    return words - x_d.sum() * (top + np.log(np.sum(np.exp(lam_d - top + nu2_d / 2))))


def document_bound(x_d, beta, lam_d, nu2_d, m_d, Sigma):
    """Bound l_d of one document, with the optimal phi and zeta of eqs 9-10 put in (maths 2)."""
    K = len(lam_d)
    P = inv(Sigma)
    r = lam_d - m_d
    prior = -0.5 * r @ P @ r - 0.5 * np.sum(np.diag(P) * nu2_d)
    constants = 0.5 * np.sum(np.log(nu2_d)) + K / 2 - 0.5 * logdet(Sigma)
    return words_and_normaliser(x_d, beta, lam_d, nu2_d) + prior + constants


def gradient_lam(x_d, lam_d, nu2_d, phi, zeta, m_d, Sigma):
    """Gradient of Table 1 in lam for one document, g_lambda below eq. 10."""
    return -inv(Sigma) @ (lam_d - m_d) + x_d @ phi - x_d.sum() / zeta * np.exp(lam_d + nu2_d / 2)


def gradient_nu2(x_d, lam_d, nu2_d, zeta, Sigma):
    """Gradient of Table 1 in nu2 for one document, g_nu2 below eq. 10."""
    t = x_d.sum() / zeta * np.exp(lam_d + nu2_d / 2)
    return -np.diag(inv(Sigma)) / 2 - t / 2 + 1 / (2 * nu2_d)


def optimise_document(x_d, beta, m_d, Sigma, lam0=None, nu20=None):
    """(lam, nu2) of one document at a maximum of its bound (maths 2), by generic optimisers.

    BFGS over (lam, log nu2), then a root of the gradient. The bound is not concave in lam, so the
    start can decide which maximum is found. Fails when the gradient does not vanish.
    """
    K = len(m_d)
    lam0 = m_d if lam0 is None else lam0
    nu20 = 1 / np.diag(inv(Sigma)) if nu20 is None else nu20

    def negative(y):
        return -document_bound(x_d, beta, y[:K], np.exp(y[K:]), m_d, Sigma)

    def negative_gradient(y):
        lam_d, nu2_d = y[:K], np.exp(y[K:])
        z = zeta(lam_d, nu2_d)
        in_lam = gradient_lam(x_d, lam_d, nu2_d, phi(lam_d, beta), z, m_d, Sigma)
        in_log_nu2 = gradient_nu2(x_d, lam_d, nu2_d, z, Sigma) * nu2_d
        return -np.concatenate([in_lam, in_log_nu2])

    start = np.concatenate([lam0, np.log(nu20)])
    near = minimize(negative, start, jac=negative_gradient, method="BFGS", options={"gtol": 1e-7})
    y = root(negative_gradient, near.x, tol=1e-14).x
    assert np.abs(negative_gradient(y)).max() < 1e-8 * (1 + x_d.sum()), "no maximum found"
    assert negative(y) <= negative(near.x) + 1e-9 * (1 + x_d.sum()), "left the maximum"
    return y[:K], np.exp(y[K:])


def expected_softmax(lam_d, nu2_d, n=200000, seed=0):
    """E[softmax(eta)], (K,), over eta ~ N(lam, diag nu2) (maths 2): Monte Carlo, n draws in pairs.

    Each normal draw is used with both signs, so that odd moments cancel.
    """
    z = np.random.default_rng(seed).standard_normal((n // 2, len(lam_d)))
    z = np.concatenate([z, -z])
    return softmax(lam_d + np.sqrt(nu2_d) * z, axis=1).mean(axis=0)


# F


def coregionalisation(kind, Sigma, b, B):
    """The K x K matrix B of the prior vec F ~ N(0, Kxx (x) B), maths 5."""
    if kind == "identity":
        return b * np.eye(len(Sigma))
    if kind == "shared":
        return b * Sigma
    if kind == "free":
        return B
    raise ValueError(f"kind must be 'identity', 'shared' or 'free', not {kind!r}")


def posterior_F(lam, mu, Sigma, B, Kxx):
    """Mean (D, K) and covariance (D*K, D*K) of the optimal q(F), maths 4 and 5.

    The posterior of vec F ~ N(0, Kxx (x) B) when lam_d - mu ~ N(F_d, Sigma) is observed, in a form
    that needs no inverse of Kxx or B.
    """
    P0 = np.kron(Kxx, B)
    gain = P0 @ inv(marginal_covariance(Sigma, B, Kxx))
    mean = gain @ (lam - mu).ravel()
    return mean.reshape(lam.shape), P0 - gain @ P0


def objective_13(F, lam, mu, Sigma, Kxx):
    """What F minimises when B = I, eq. 13."""
    r = lam - mu - F
    return np.trace(r @ inv(Sigma) @ r.T) + np.trace(F.T @ inv(Kxx) @ F)


def sylvester_F(lam, mu, Sigma, Kxx):
    """F from the Sylvester equation Kxx F + F Sigma = Kxx (lam - mu), eq. 14 (B = I)."""
    return solve_sylvester(Kxx, Sigma, Kxx @ (lam - mu))


def kl_F(mean, cov, Kxx, B):
    """KL(q(F) || N(0, Kxx (x) B)) for q(F) = N(mean, cov), maths 4; Kxx and B invertible."""
    P0 = np.kron(Kxx, B)
    m = mean.ravel()
    return 0.5 * (np.trace(inv(P0) @ cov) + m @ inv(P0) @ m - len(m) + logdet(P0) - logdet(cov))


# The bounds


def sum_of_document_bounds(X, beta, lam, nu2, means, Sigma):
    """sum_d l_d with prior mean `means[d]`, maths 2."""
    return sum(document_bound(X[d], beta, lam[d], nu2[d], means[d], Sigma) for d in range(len(X)))


def bound_variational(X, beta, lam, nu2, mu, Sigma, B, Kxx, F_mean, F_cov, smoothing=0.0):
    """The bound with any q(F) = N(F_mean, F_cov), eq. 7 with F averaged (maths 4)."""
    D, K = lam.shape
    total = sum_of_document_bounds(X, beta, lam, nu2, mu + F_mean, Sigma)
    for cov_d in document_blocks(F_cov, D, K):
        total -= 0.5 * np.trace(inv(Sigma) @ cov_d)
    return total - kl_F(F_mean, F_cov, Kxx, B) + np.sum(xlogy(smoothing, beta))


def bound_collapsed(X, beta, lam, nu2, mu, Sigma, B, Kxx, smoothing=0.0):
    """The bound L* with q(F) at its optimum, maths 5."""
    D = len(lam)
    S = marginal_covariance(Sigma, B, Kxx)
    total = log_normal((lam - mu).ravel(), S)
    for d in range(D):
        total += words_and_normaliser(X[d], beta, lam[d], nu2[d])
        total -= 0.5 * np.trace(inv(Sigma) @ np.diag(nu2[d]))
        total += 0.5 * np.sum(np.log(nu2[d]) + LOG_2PI + 1)
    return total + np.sum(xlogy(smoothing, beta))


def bound_map(X, beta, lam, nu2, mu, Sigma, B, Kxx, F, smoothing=0.0):
    """The bound L_map with F a point, eq. 7 (maths 4), for vec F ~ N(0, Kxx (x) B)."""
    total = sum_of_document_bounds(X, beta, lam, nu2, mu + F, Sigma)
    total += log_normal(F.ravel(), np.kron(Kxx, B))
    return total + np.sum(xlogy(smoothing, beta))


# The updates


def update_beta(X, beta, lam, smoothing):
    """beta from expected counts plus `smoothing`, eq. 8, with phi of eq. 9 at the old beta."""
    counts = np.full(beta.shape, float(smoothing))
    for d in range(len(X)):
        phi_d = phi(lam[d], beta)
        for w in np.flatnonzero(X[d]):
            counts[:, w] += X[d, w] * phi_d[w]
    return counts / counts.sum(axis=1, keepdims=True)


def update_Sigma_held(lam, nu2, mu, F_mean, F_cov):
    """Sigma that maximises the bound while q(F) = N(F_mean, F_cov) is held, maths 4."""
    D, K = lam.shape
    r = lam - mu - F_mean
    return (np.diag(nu2.sum(axis=0)) + r.T @ r + document_blocks(F_cov, D, K).sum(axis=0)) / D


def update_Sigma_map(lam, nu2, mu, F):
    """Sigma that maximises the bound with F a point, eq. 12."""
    D = len(lam)
    total = 0.0
    for d in range(D):
        r = lam[d] - mu - F[d]
        total = total + np.diag(nu2[d]) + np.outer(r, r)
    return total / D


def update_Sigma_shared(lam, nu2, mu, b, Kxx):
    """Sigma that maximises L* when B = b Sigma moves along with it, maths 5."""
    D = len(lam)
    W = inv(b * Kxx + np.eye(D))
    return (np.diag(nu2.sum(axis=0)) + (lam - mu).T @ W @ (lam - mu)) / D


def update_mu(lam, Sigma, B, Kxx):
    """mu that maximises L*, by generalised least squares with vec lam = H mu + noise, maths 5."""
    D, K = lam.shape
    H = np.kron(np.ones((D, 1)), np.eye(K))
    S_inv = inv(marginal_covariance(Sigma, B, Kxx))
    return inv(H.T @ S_inv @ H) @ H.T @ S_inv @ lam.ravel()


def update_B_free(lam, mu, Sigma, B, Kxx):
    """The next B when it is free, the strength step of maths 5."""
    D, K = lam.shape
    b, T = eigh(B, Sigma)
    lam_hat = (lam - mu) @ T
    ab = np.empty((D, K))
    traces = np.empty(K)
    for i in range(K):
        W = inv(b[i] * Kxx + np.eye(D))
        ab[:, i] = b[i] * W @ lam_hat[:, i]
        traces[i] = np.trace(Kxx @ W)
    alpha = ab @ inv(T)
    N = alpha.T @ Kxx @ alpha
    M = T @ np.diag(traces) @ T.T
    root_M = symmetric_sqrt(M)
    return inv(root_M) @ symmetric_sqrt(root_M @ N @ root_M) @ inv(root_M)


def update_b_identity(lam, mu, Sigma, b, Kxx):
    """The next b when B = b I, the strength step of maths 5."""
    D, K = lam.shape
    s, U = eigh(Sigma)
    lam_tilde = (lam - mu) @ U
    above = below = 0.0
    for i in range(K):
        A_inv = inv(b * Kxx + s[i] * np.eye(D))
        g = A_inv @ lam_tilde[:, i]
        above += g @ Kxx @ g
        below += np.trace(Kxx @ A_inv)
    return b * np.sqrt(above / below)


def update_b_shared(lam, mu, Sigma, b, Kxx):
    """The next b when B = b Sigma, the strength step of maths 5."""
    D, K = lam.shape
    W = inv(b * Kxx + np.eye(D))
    r = lam - mu
    above = np.trace(inv(Sigma) @ r.T @ W @ Kxx @ W @ r)
    return b * np.sqrt(above / (K * np.trace(W @ Kxx)))


# New documents


def predict_eta(lam, mu, Sigma, B, Kxx, Ktx, Ktt_diag):
    """Mean (M, K) and covariance (M, K, K) of eta for each new document alone, maths 6.

    Conditions the joint Gaussian of vec(lam - mu) and eta_* - mu on its first part.
    """
    K = lam.shape[1]
    S_inv = inv(marginal_covariance(Sigma, B, Kxx))
    means, covs = [], []
    for k_row, k_self in zip(Ktx, Ktt_diag, strict=True):
        cross = np.kron(k_row.reshape(1, -1), B)
        means.append(mu + cross @ S_inv @ (lam - mu).ravel())
        covs.append(k_self * B + Sigma - cross @ S_inv @ cross.T)
    return np.array(means).reshape(-1, K), np.array(covs).reshape(-1, K, K)


def conditional_kernel(Kxx, Ktx, Ktt):
    """Covariance (M, M) of new documents' values of F given the old ones, eq. 16."""
    return Ktt - Ktx @ inv(Kxx) @ Ktx.T


def conditional_mean(F, Kxx, Ktx):
    """F_bar (M, K), the mean of new documents' rows of F given the old ones, eq. 17."""
    return Ktx @ inv(Kxx) @ F


def objective_19(F_new, lam_new, F_bar, Sigma, Kbar):
    """What the new documents' F minimises, eq. 19 (lam_new with mu taken off)."""
    r = lam_new - F_new
    f = F_new - F_bar
    return 0.5 * np.trace(r @ inv(Sigma) @ r.T) + 0.5 * np.trace(f.T @ inv(Kbar) @ f)


def map_new_documents_F(lam_new, F_bar, Sigma, Kbar):
    """F of new documents jointly, eq. 20 with its right-hand side corrected (maths 6).

    Kbar F + F Sigma = Kbar lam + F_bar Sigma, with mu taken off lam_new.
    """
    return solve_sylvester(Kbar, Sigma, Kbar @ lam_new + F_bar @ Sigma)


# Problems to try it on


class Problem(NamedTuple):
    """A corpus, the variational parameters and the model parameters."""

    X: np.ndarray
    beta: np.ndarray
    lam: np.ndarray
    nu2: np.ndarray
    mu: np.ndarray
    Sigma: np.ndarray
    B: np.ndarray
    Kxx: np.ndarray


def random_covariance(rng, K):
    """A well conditioned K x K covariance matrix that is not diagonal."""
    A = rng.standard_normal((K, K))
    return 0.3 * np.eye(K) + 0.5 * A @ A.T / K


def random_kernel(rng, D, singular=False):
    """Squared-exponential Gram matrix of D points; `singular` repeats the first half of them."""
    points = rng.uniform(0, 3, D)
    if singular:
        half = (D + 1) // 2
        points[half:] = points[: D - half]
    Kxx = np.exp(-0.5 * (points[:, None] - points[None, :]) ** 2)
    return Kxx if singular else Kxx + 0.1 * np.eye(D)


def random_problem(seed, D=7, V=9, K=3, singular=False):
    """A small random `Problem`, drawn from the model of maths 1 and 5.

    The last document is empty and the last word never occurs. lam is a draw of eta, nu2 is
    arbitrary: neither is at its optimum.
    """
    rng = np.random.default_rng(seed)
    Sigma, B = random_covariance(rng, K), random_covariance(rng, K)
    Kxx = random_kernel(rng, D, singular)
    beta = rng.dirichlet(np.ones(V), K)
    mu = rng.standard_normal(K)
    noise = rng.multivariate_normal(np.zeros(D * K), marginal_covariance(Sigma, B, Kxx))
    lam = mu + noise.reshape(D, K)
    nu2 = rng.uniform(0.1, 1.0, (D, K))
    X = np.array([rng.multinomial(rng.integers(5, 30), row) for row in softmax(lam, axis=1) @ beta])
    X[-1, :] = 0
    X[:, -1] = 0
    return Problem(X.astype(float), beta, lam, nu2, mu, Sigma, B, Kxx)
