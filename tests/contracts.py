"""What every operator and every cross must do, whatever it is made of: one function per contract."""

import numpy as np
from numpy.linalg import inv, slogdet
from numpy.testing import assert_allclose
from scipy.linalg import null_space

STRENGTHS = np.array([0.0, 1e-3, 0.5, 1.0, 7.0, 1e3])
HUGE = 1e14  # times any eigenvalue that is not zero, this leaves nothing of the identity beside it


def check_operator(op, dense, rtol=1e-9):
    """Assert that `op` is the symmetric positive semi-definite matrix `dense` in every method."""
    D = len(dense)
    size = max(1.0, np.abs(dense).max(initial=0.0))
    assert op.n == D
    check_rotation(op, rtol)
    assert_allclose(op.to_dense(), dense, rtol=rtol, atol=rtol * size)

    X = np.random.default_rng(0).standard_normal((D, 4))
    product = op.unrotate(op.matmul(op.rotate(X)))
    assert_allclose(product, dense @ X, rtol=rtol, atol=rtol * size)

    check_strengths(op, dense, rtol)
    check_limit(op, dense, rtol)


def check_rotation(op, rtol):
    """Assert that rotate and unrotate are orthonormal and undo each other."""
    eye = np.eye(op.n)
    Q = op.unrotate(eye)
    assert_allclose(Q.T @ Q, eye, atol=rtol)
    assert_allclose(op.rotate(eye), Q.T, atol=rtol)
    X = np.random.default_rng(1).standard_normal((op.n, 3))
    assert_allclose(op.unrotate(op.rotate(X)), X, atol=rtol)
    assert_allclose(op.rotate(op.unrotate(X)), X, atol=rtol)


def check_strengths(op, dense, rtol):
    """Assert solve, logdet, trace and diagonal for strengths from none to strong."""
    D, m = len(dense), len(STRENGTHS)
    X = np.random.default_rng(2).standard_normal((D, m))
    solution = op.unrotate(op.solve(STRENGTHS, op.rotate(X)))
    logdets, traces = op.logdet(STRENGTHS), op.trace(STRENGTHS)
    diagonals = op.diagonal(STRENGTHS)
    assert solution.shape == diagonals.shape == (D, m)
    assert logdets.shape == traces.shape == (m,)
    for i, b in enumerate(STRENGTHS):
        W = inv(b * dense + np.eye(D))
        atol = rtol * max(1.0, np.abs(dense).max(initial=0.0))
        assert_allclose(solution[:, i], W @ X[:, i], rtol=rtol, atol=atol)
        assert_allclose(logdets[i], slogdet(b * dense + np.eye(D))[1], rtol=rtol, atol=atol)
        assert_allclose(traces[i], np.trace(dense @ W), rtol=rtol, atol=atol)
        assert_allclose(diagonals[:, i], np.diag(dense @ W), rtol=rtol, atol=atol)
    assert_allclose(solution[:, 0], X[:, 0], rtol=rtol)
    assert logdets[0] == 0


def check_limit(op, dense, rtol):
    """Assert the limit of a very large strength, where only directions without kernel are left.

    An eigenvalue that is zero but for rounding would show here, since the strength multiplies it.
    """
    D = len(dense)
    null = null_space(dense, rcond=1e-10) if dense.any() else np.eye(D)
    rank = D - null.shape[1]
    b = np.array([HUGE])
    X = np.random.default_rng(3).standard_normal((D, 1))
    rest = op.unrotate(op.solve(b, op.rotate(X)))
    assert_allclose(rest, null @ (null.T @ X), atol=1e-6)
    assert_allclose(op.trace(b) * HUGE, rank, atol=1e-6)
    assert_allclose(op.diagonal(b)[:, 0] * HUGE, 1 - (null**2).sum(axis=1), atol=1e-6)

    values = np.linalg.eigvalsh(dense)[D - rank :]
    log_det, found = op.log_pseudo_determinant()
    assert found == rank
    assert_allclose(log_det, np.log(values).sum(), rtol=rtol, atol=1e-6)
    assert_allclose(op.logdet(b), rank * np.log(HUGE) + log_det, rtol=1e-6)


def check_cross(cross, Kxx, Ktx, Ktt, rtol=1e-9):
    """Assert that `cross` predicts n new documents as the dense matrices do.

    `Ktx` is None where the new documents have nothing to do with the training documents.
    """
    n, D = len(Ktt), len(Kxx)
    Ktx = np.zeros((n, D)) if Ktx is None else Ktx
    size = max(1.0, np.abs(Ktt).max())

    alpha = np.random.default_rng(4).standard_normal((D, 3))
    assert_allclose(cross.mean(alpha), Ktx @ alpha, rtol=rtol, atol=rtol)

    variance = cross.variance(STRENGTHS)
    assert variance.shape == (n, len(STRENGTHS))
    for i, b in enumerate(STRENGTHS):
        W = inv(b * Kxx + np.eye(D))
        dense = b * np.diag(Ktt) - b**2 * np.diag(Ktx @ W @ Ktx.T)
        assert_allclose(variance[:, i], dense, rtol=rtol, atol=rtol * size * max(1.0, b))
    assert np.all(variance[:, 0] == 0)
    assert np.all(cross.variance(np.logspace(-3, 14, 69)) >= 0)

    Kbar = Ktt - Ktx @ np.linalg.pinv(Kxx, rcond=1e-10, hermitian=True) @ Ktx.T
    found = cross.conditional().to_dense()
    assert_allclose(found, Kbar, atol=1e-8 * size)
    assert np.linalg.eigvalsh(found).min() >= -1e-12 * size
