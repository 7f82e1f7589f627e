"""Every operator against dense algebra. A new operator is a new row in `OPERATORS`."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import naive
from contracts import check_cross, check_operator
from gptm.operators import LowRank, Spectral, SpectralCross


def random_gram(seed, D, rank):
    """A Gram matrix (D, D) of the given rank, eigenvalues of order D."""
    A = np.random.default_rng(seed).standard_normal((D, rank))
    return A @ A.T


def from_dense(dense):
    return Spectral.from_dense(dense), dense


def from_groups(Kuu, groups, floor=0.0):
    """The kernel of documents each like all others of its group, but for `floor` of its own."""
    groups = np.array(groups)
    dense = Kuu[np.ix_(groups, groups)] + floor * np.eye(len(groups))
    return LowRank.from_groups(Kuu, groups, floor), dense


def scaled(factor, op_and_dense):
    op, dense = op_and_dense
    return op.scaled(factor), factor * dense


GROUPS = [2, 0, 1, 0, 3, 2, 2, 0, 3]
DIAGONAL = np.array([0.0, 0.3, 2.0, 0.0, 5.0])
OPERATORS = {
    "squared exponential": from_dense(naive.random_kernel(np.random.default_rng(0), 8)),
    "repeated points": from_dense(naive.random_kernel(np.random.default_rng(1), 8, singular=True)),
    "full rank": from_dense(random_gram(2, 6, 6) + 0.1 * np.eye(6)),
    "low rank": from_dense(random_gram(3, 9, 2)),
    "rank one": from_dense(np.ones((5, 5))),
    "large": from_dense(1e4 * random_gram(4, 6, 3)),
    "small": from_dense(1e-4 * random_gram(5, 6, 3)),
    "one document": from_dense(np.array([[2.5]])),
    "zero": from_dense(np.zeros((4, 4))),
    "diagonal": (Spectral(DIAGONAL), np.diag(DIAGONAL)),
    "constant": (Spectral.constant_diagonal(6, 0.7), 0.7 * np.eye(6)),
    "constant zero": (Spectral.constant_diagonal(6, 0), np.zeros((6, 6))),
    "groups": from_groups(naive.random_kernel(np.random.default_rng(8), 4), GROUPS),
    "groups of one": from_groups(random_gram(9, 5, 5), [3, 1, 4, 0, 2]),
    "groups, low rank": from_groups(random_gram(10, 4, 2), GROUPS),
    "groups, large": from_groups(1e4 * random_gram(11, 4, 4), GROUPS),
    "one group": from_groups(np.array([[2.5]]), [0, 0, 0]),
    "groups, zero": from_groups(np.zeros((4, 4)), GROUPS),
    "groups above a floor": from_groups(random_gram(12, 4, 4), GROUPS, floor=0.7),
    "groups, low rank, above a floor": from_groups(random_gram(13, 4, 2), GROUPS, floor=1e-3),
    "only a floor": from_groups(np.zeros((1, 1)), [0, 0, 0], floor=2.0),
    "scaled": scaled(2.5, from_dense(random_gram(14, 6, 3))),
    "scaled groups": scaled(0.1, from_groups(random_gram(15, 4, 2), GROUPS, floor=0.7)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name):
    op, dense = OPERATORS[name]
    check_operator(op, dense)


def test_zero_and_negative_rounding_become_exactly_zero():
    op = Spectral.from_dense(random_gram(6, 12, 3))
    assert np.count_nonzero(op.values) == 3
    assert op.values.min() == 0


def test_scale_of_a_difference_decides_what_is_rounding():
    rounding = 1e-14 * random_gram(7, 4, 4)
    assert Spectral.from_dense(rounding).log_pseudo_determinant()[1] == 4
    assert Spectral.from_dense(rounding, scale=1e3).log_pseudo_determinant() == (0.0, 0)


def test_no_documents():
    op = Spectral.from_dense(np.zeros((0, 0)))
    assert op.n == 0
    assert op.log_pseudo_determinant() == (0.0, 0)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), D=st.integers(2, 8), log_size=st.floats(-6, 6))
def test_indefinite_matrix_is_refused_with_the_remedy(seed, D, log_size):
    """The message names the smallest eigenvalue, and the amount it asks to add is enough."""
    A = np.random.default_rng(seed).standard_normal((D, D))
    A = 10**log_size * (A + A.T)
    smallest = np.linalg.eigvalsh(A)[0]
    if smallest >= -1e-3 * 10**log_size:
        return
    with pytest.raises(ValueError, match="positive semi-definite") as caught:
        Spectral.from_dense(A)
    message = str(caught.value)
    named = float(re.search(r"smallest eigenvalue is (\S+),", message).group(1))
    assert named == pytest.approx(smallest, rel=0.01)
    amount = float(re.search(r"Add (\S+) or more", message).group(1))
    assert amount < 2 * abs(smallest)
    mended = A + amount * np.eye(D)
    assert_allclose(Spectral.from_dense(mended).to_dense(), mended, atol=1e-12 * np.abs(A).max())


# New documents


def joint_kernel(seed, D, n, jitter):
    """Kxx, Ktx, Ktt of one squared-exponential kernel over D + n points."""
    points = np.random.default_rng(seed).uniform(0, 3, D + n)
    K = np.exp(-0.5 * (points[:, None] - points) ** 2)
    K += jitter * np.eye(D + n)
    return K[:D, :D], K[D:, :D], K[D:, D:]


def repeated(seed, D, n):
    """Training documents twice each, then n new ones that repeat some of them: all is known."""
    once, _, _ = joint_kernel(seed, D, 0, 0.1)
    rows = np.arange(2 * D) % D
    new = np.arange(n) % D
    return once[np.ix_(rows, rows)], once[np.ix_(new, rows)], once[np.ix_(new, new)]


def singular_training(seed, D, n):
    """Training documents twice each, new ones that are none of them."""
    Kxx, Ktx, Ktt = joint_kernel(seed, D, n, 0.1)
    rows = np.arange(2 * D) % D
    return Kxx[np.ix_(rows, rows)], Ktx[:, rows], Ktt


CROSSES = {
    "regular": joint_kernel(0, 7, 4, 0.1),
    "one new": joint_kernel(1, 7, 1, 0.1),
    "more new than old": joint_kernel(2, 3, 8, 0.1),
    "singular": singular_training(3, 5, 4),
    "repeats of old ones": repeated(4, 5, 4),
    "ill-conditioned repeats": [random_gram(5, 5, 5)[:n, :m] for n, m in [(5, 5), (3, 5), (3, 3)]],
}


@pytest.mark.parametrize("name", CROSSES)
def test_cross(name):
    Kxx, Ktx, Ktt = CROSSES[name]
    check_cross(SpectralCross(Spectral.from_dense(Kxx), Ktx, Ktt), Kxx, Ktx, Ktt)


def test_cross_of_documents_that_are_independent_given_the_old_ones():
    Kxx, Ktx, Ktt = CROSSES["regular"]
    own = np.diag(Ktx @ np.linalg.inv(Kxx) @ Ktx.T) + 0.5
    cross = SpectralCross(Spectral.from_dense(Kxx), Ktx[:1], own[:1])
    check_cross(cross, Kxx, Ktx[:1], np.diag(own[:1]))
    variance = SpectralCross(Spectral.from_dense(Kxx), Ktx, np.diag(Ktt)).variance
    b = np.array([0.2, 3.0])
    assert_allclose(variance(b), SpectralCross(Spectral.from_dense(Kxx), Ktx, Ktt).variance(b))


@pytest.mark.parametrize("name", CROSSES)
def test_cross_of_groups(name):
    """Covariances with one document of each group say all."""
    Kuu, Ktu, Ktt = CROSSES[name]
    groups = np.concatenate([np.arange(len(Kuu))[::-1], np.arange(len(Kuu)) // 2])
    Kxx, Ktx = Kuu[np.ix_(groups, groups)], Ktu[:, groups]
    check_cross(SpectralCross(LowRank.from_groups(Kuu, groups), Ktu, Ktt), Kxx, Ktx, Ktt)
    above = LowRank.from_groups(Kuu, groups, floor=0.5)
    own = Ktt + 0.5 * np.eye(len(Ktt))
    check_cross(SpectralCross(above, Ktu, own), Kxx + 0.5 * np.eye(len(Kxx)), Ktx, own)


def test_indefinite_groups_are_refused():
    with pytest.raises(ValueError, match="smallest eigenvalue is"):
        LowRank.from_groups(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([0, 1, 1]))


@pytest.mark.parametrize("n", [1, 4])
def test_cross_without_relation(n):
    """New documents that share nothing with the old ones keep the prior, b k(x, x)."""
    Kxx = CROSSES["regular"][0]
    own = np.linspace(0.5, 2, n)
    check_cross(SpectralCross(Spectral.from_dense(Kxx), None, own), Kxx, None, np.diag(own))
    check_cross(SpectralCross(Spectral.constant_diagonal(7, 1), None, own), Kxx, None, np.diag(own))


def test_conditional_of_known_documents_is_exactly_zero():
    """Rounding of a difference of equal matrices must not count as a kernel of its own."""
    Kxx, Ktx, Ktt = CROSSES["repeats of old ones"]
    op = SpectralCross(Spectral.from_dense(Kxx), Ktx, Ktt).conditional()
    assert op.log_pseudo_determinant() == (0.0, 0)
    assert_allclose(op.to_dense(), 0, atol=1e-12)
