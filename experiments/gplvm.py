"""The Gaussian process latent variable model (Lawrence, 2005), with which the paper compares embeddings.

Each of p centred columns of Y (D, p) is a Gaussian process over latent places X (D, q), a priori standard normal:

    log p(Y, X) = -p/2 log|C| - 1/2 tr(C^-1 Y Y') - 1/2 |X|^2 - (D p + D q)/2 log 2 pi
    C = variance exp(-|x_i - x_j|^2 / (2 length_scale^2)) + noise I

Only Y Y' (D, D) enters, so that the size of the vocabulary costs nothing. Y is tf-idf: documents of unit length, words
centred.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, eigh, lapack
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.feature_extraction.text import TfidfTransformer

from gptm._basics.parallel import single_threaded_blas
from gptm._basics.types import Array

MAX_ITER = 200
TOLERANCE = 1e-6  # relative, of an iteration
BOUNDS = (np.log(1e-4), np.log(1e4))  # of variance, length-scale and noise


class Latent(NamedTuple):
    """Places of documents, and the kernel in which they are the most probable."""

    X: Array  # (D, q)
    variance: float
    length_scale: float
    noise: float
    objective: float  # log p(Y, X)
    n_iter: int


def embed(counts: csr_matrix, n_components: int = 2) -> Latent:
    """The documents' places in the latent space, from their words alone.

    Parameters
    ----------
    counts : sparse array of shape (n_documents, n_words)
    n_components : int, default=2

    Returns
    -------
    Latent

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from experiments.gplvm import embed
    >>> counts = csr_matrix(np.repeat([[3, 2, 0, 0], [0, 0, 2, 3]], 5, axis=0))
    >>> X = embed(counts, 1).X
    >>> X.shape, bool((X[:5].min() > X[5:].max()) or (X[:5].max() < X[5:].min()))
    ((10, 1), True)
    """
    return fit_gram(*gram_of(counts), n_components)


def gram_of(counts: csr_matrix) -> tuple[Array, int]:
    """Y Y' of tf-idf, words centred, at a mean square of one over documents and words; and the number of words."""
    Y = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    S = (Y @ Y.T).toarray()
    means = S.mean(0)
    S = S - means - means[:, None] + means.mean()  # (Y - 1 m')(Y - 1 m')'
    p = counts.shape[1]
    return S * (len(S) * p / np.trace(S)), p


def fit_gram(S: Array, p: int, n_components: int) -> Latent:
    """The maximum of log p(Y, X) near the principal components, given S = Y Y' and the number p of columns."""
    D = len(S)
    with single_threaded_blas():
        start = principal_start(S, p, n_components)

        def loss(parameters: Array) -> tuple[float, Array]:
            value, slope = log_joint(parameters, S, p)
            return -value / (D * p), -slope / (D * p)

        bounds = [BOUNDS] * 3 + [(None, None)] * (D * n_components)
        optimum = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": MAX_ITER, "ftol": TOLERANCE, "gtol": 0.0, "maxcor": 20},
        )
    variance, length_scale, noise = np.exp(optimum.x[:3])
    return Latent(
        optimum.x[3:].reshape(D, n_components),
        float(variance),
        float(length_scale),
        float(noise),
        float(-optimum.fun * D * p),
        int(optimum.nit),
    )


def log_joint(parameters: Array, S: Array, p: int) -> tuple[float, Array]:
    """log p(Y, X) and its gradient in log variance, log length-scale, log noise and X, all in one vector."""
    D = len(S)
    variance, length_scale, noise = np.exp(parameters[:3])
    X = parameters[3:].reshape(D, -1)
    squares = cdist(X, X, "sqeuclidean") / length_scale**2
    R = variance * np.exp(-0.5 * squares)
    factor = cholesky(R + noise * np.eye(D))
    C_inv = _inverse(factor)
    explained = C_inv @ S
    log_determinant = 2.0 * np.log(np.diagonal(factor)).sum()
    value = -0.5 * (
        p * log_determinant
        + np.trace(explained)
        + (X**2).sum()
        + (D * p + X.size) * np.log(2 * np.pi)
    )
    slope_C = 0.5 * (explained @ C_inv - p * C_inv)
    W = slope_C * R
    slope_X = -2.0 / length_scale**2 * (W.sum(1)[:, None] * X - W @ X) - X
    slope_log = [W.sum(), (W * squares).sum(), noise * np.trace(slope_C)]
    return float(value), np.concatenate([slope_log, slope_X.ravel()])


def _inverse(factor: Array) -> Array:
    """(U' U)^-1; a third of the work of solving for the identity."""
    upper = np.triu(lapack.dpotri(factor, lower=0)[0])
    return upper + np.triu(upper, 1).T


def principal_start(S: Array, p: int, n_components: int) -> Array:
    """Principal components at unit variance, and a kernel that gives them their share of the variance of Y."""
    D = len(S)
    values, vectors = eigh(S, subset_by_index=(D - n_components, D - 1))
    places = vectors[:, ::-1] * np.sqrt(D)
    largest = np.abs(places).argmax(0)  # positive, as either sign is right
    places = places * np.sign(places[largest, range(n_components)])
    total = float(np.trace(S))
    share = float(np.clip(values.sum() / total, 0.01, 0.99))
    kernel = np.array([share * total / (D * p), 1.0, (1.0 - share) * total / (D * p)])
    return np.concatenate([np.log(kernel), places.ravel()])
