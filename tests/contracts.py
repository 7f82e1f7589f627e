"""What every operator and every cross must do, whatever it is made of: one function per contract."""

import numpy as np
from numpy.linalg import inv, slogdet
from numpy.testing import assert_allclose
from scipy.linalg import null_space

STRENGTHS = np.array([0.0, 1e-3, 0.5, 1.0, 7.0, 1e3])
HUGE = 1e14  # times any eigenvalue that is not zero, this leaves nothing of the identity beside it


def check_operator(op, dense, rtol=1e-9, estimated=None, limit=1e-6):
    """Assert that `op` is the symmetric positive semi-definite matrix `dense` in every method.

    `estimated` is the relative tolerance of traces and log-determinants that are estimates.
    """
    D = len(dense)
    size = max(1.0, np.abs(dense).max(initial=0.0))
    assert op.n == D
    assert_allclose(op.to_dense(), dense, rtol=rtol, atol=rtol * size)
    X = np.random.default_rng(0).standard_normal((D, 4))
    assert_allclose(op.matmul(X), dense @ X, rtol=rtol, atol=rtol * size)

    check_strengths(op, dense, rtol, estimated)
    check_view(op, dense, rtol)
    if estimated is None:
        check_limit(op, dense, rtol, limit)


def check_strengths(op, dense, rtol, estimated):
    """Assert solve, logdet and trace for strengths from none to strong."""
    D, m = len(dense), len(STRENGTHS)
    X = np.random.default_rng(2).standard_normal((D, m))
    solution = op.solve(STRENGTHS, X)
    logdets, traces = op.logdet(STRENGTHS), op.trace(STRENGTHS)
    assert solution.shape == (D, m)
    assert logdets.shape == traces.shape == (m,)
    loose = rtol if estimated is None else estimated
    for i, b in enumerate(STRENGTHS):
        W = inv(b * dense + np.eye(D))
        atol = rtol * max(1.0, np.abs(dense).max(initial=0.0))
        assert_allclose(solution[:, i], W @ X[:, i], rtol=rtol, atol=atol)
        assert_allclose(logdets[i], slogdet(b * dense + np.eye(D))[1], rtol=loose, atol=atol)
        assert_allclose(traces[i], np.trace(dense @ W), rtol=loose, atol=atol)
    assert_allclose(solution[:, 0], X[:, 0], rtol=rtol)
    assert_allclose(logdets[0], 0, atol=1e-12 * D)
    # The trace is the derivative of the log-determinant, also where both are estimates.
    step = 1e-4
    slope = (op.logdet(STRENGTHS[2:5] + step) - op.logdet(STRENGTHS[2:5] - step)) / (2 * step)
    assert_allclose(slope, traces[2:5], rtol=1e-5, atol=1e-8)


def check_view(op, dense, rtol):
    """Assert the quadratic forms of data, in directions of their own for each strength."""
    D, m = len(dense), len(STRENGTHS)
    rng = np.random.default_rng(5)
    Y, U = rng.standard_normal((D, 3)), rng.standard_normal((3, m))
    inverses = [inv(b * dense + np.eye(D)) for b in STRENGTHS]
    a = np.column_stack([W @ Y @ U[:, i] for i, W in enumerate(inverses)])
    view = op.view(Y)
    size = np.abs(Y.T @ Y).max() * 10
    assert_allclose(view.residuals(STRENGTHS, U), a, atol=rtol * size)
    Q, R = view.forms(STRENGTHS, U)
    assert_allclose(Q, (Y @ U).T @ a, atol=rtol * size)
    assert_allclose(R, a.T @ a, atol=rtol * size)
    assert np.linalg.eigvalsh(0.5 * (R + R.T)).min() > -rtol * size
    for column in (0, -1):
        expected = [Y[:, column] @ W @ Y for W in inverses]
        assert_allclose(view.against(column, STRENGTHS), expected, atol=rtol * size)


def check_limit(op, dense, rtol, limit):
    """Assert the limit of a very large strength, where only directions without kernel are left.

    An eigenvalue that is zero but for rounding would show here, since the strength multiplies it.
    """
    D = len(dense)
    null = null_space(dense, rcond=1e-10) if dense.any() else np.eye(D)
    rank = D - null.shape[1]
    b = np.array([HUGE])
    X = np.random.default_rng(3).standard_normal((D, 1))
    rest = op.solve(b, X)
    assert_allclose(rest, null @ (null.T @ X), atol=limit)
    assert_allclose(op.trace(b) * HUGE, rank, atol=limit)

    values = np.linalg.eigvalsh(dense)[D - rank :]
    log_det, found = op.log_pseudo_determinant()
    assert found == rank
    assert_allclose(log_det, np.log(values).sum(), rtol=rtol, atol=limit)
    assert_allclose(op.logdet(b), rank * np.log(HUGE) + log_det, rtol=limit)


def check_cross(cross, Kxx, Ktx, Ktt, rtol=1e-9):
    """Assert that `cross` predicts n new documents as the dense matrices do.

    `Ktx` is None where the new documents have nothing to do with the training documents.
    """
    n, D = len(Ktt), len(Kxx)
    Ktx = np.zeros((n, D)) if Ktx is None else Ktx
    size = max(1.0, np.abs(Ktt).max())

    alpha = np.random.default_rng(4).standard_normal((D, 3))
    assert_allclose(cross.mean(alpha, Kxx @ alpha), Ktx @ alpha, rtol=rtol, atol=rtol)

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
