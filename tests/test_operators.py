"""Every operator against dense algebra. A new operator is a new row in `OPERATORS`."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

import naive
from contracts import check_cross, check_operator
from gptm import kernels as k
from gptm._basics.eigenvectors import steady_signs, symmetric_root
from gptm.kernels import Documents
from gptm.operators import (
    Additive,
    Block,
    Diagonal,
    Features,
    Network,
    Placement,
    Sparse,
    Spectral,
    SpectralCross,
    Structure,
    build_operator,
    covariance_of_new,
    covariance_with_training,
    growth,
    pointing,
    sum_structures,
    sum_tangents,
    weight_space,
)
from gptm.operators.arrow import ArrowInner
from gptm.operators.factor import TOL, decompose, incomplete


def random_gram(seed, D, rank):
    """A Gram matrix (D, D) of the given rank, eigenvalues of order D."""
    A = np.random.default_rng(seed).standard_normal((D, rank))
    return A @ A.T


def from_dense(dense):
    return Spectral.from_dense(dense), dense


def features_of(Kuu, groups):
    table = decompose(lambda rows, others: Kuu[np.ix_(rows, others)], len(Kuu)).table
    return Features([Block(pointing(np.asarray(groups), len(Kuu)), table)])


def from_groups(Kuu, groups, floor=0.0):
    """The kernel of documents each like all others of its group, but for `floor` of its own."""
    groups = np.array(groups)
    dense = Kuu[np.ix_(groups, groups)] + floor * np.eye(len(groups))
    return Additive(Diagonal(np.full(len(groups), floor)), features_of(Kuu, groups)), dense


def built(structure, exact=0, apart=10**9):
    operator = build_operator(structure, exact=exact, several=exact, apart=apart)
    return operator, structure.to_dense()


def rows_of(seed, n, width):
    return np.random.default_rng(seed).standard_normal((n, width))


def random_edges(seed, n):
    """A symmetric 0/1 matrix with some rows empty."""
    edges = (np.random.default_rng(seed).random((n, n)) < 1.5 / n) * 1.0
    edges = np.triu(edges, 1)
    return csr_matrix(edges + edges.T)


def graph_structure(n, nu=2, kappa=0.4, floor=0.0, features=False, seed=0):
    """The kernel ((1 + kappa^2) I - S)^-nu of a random graph, or for nu = 0 its edges above a diagonal."""
    edges = random_edges(seed, n)
    degrees = np.asarray(edges.sum(1)).ravel()
    if nu == 0:
        largest = float(degrees.max())
        graph = Sparse(Network(edges, -largest, largest, exact=0), lambda x: 1 + 0.99 * x / largest)
    else:
        root = np.where(degrees > 0, 1 / np.sqrt(np.maximum(degrees, 1)), 0)
        S = csr_matrix(edges.multiply(np.outer(root, root)))
        graph = Sparse(Network(S, -1, 1, exact=0), lambda x: (1 + kappa**2 - x) ** -float(nu))
    rng = np.random.default_rng(seed)
    blocks = [Block(pointing(rng.integers(-1, 5, n), 5), None), Block(None, rows_of(seed, n, 2))]
    return Structure(n, Features(blocks) if features else None, np.full(n, floor), (graph,))


GROUPS = [2, 0, 1, 0, 3, 2, 2, 0, 3]
DIAGONAL = np.array([0.0, 0.3, 2.0, 0.0, 5.0])
UNKNOWN = np.array([0, 1, 0, 0, 1, 0, 0, 0, 1], dtype=bool)
CODES = np.array(GROUPS)
CATEGORIES = Features([Block(pointing(CODES, 4), None)])
SOME_UNKNOWN = Features([Block(pointing(np.where(UNKNOWN, -1, CODES), 4), None)])
TIME = features_of(naive.random_kernel(np.random.default_rng(8), 4), GROUPS)
TIME_UNKNOWN = Features([Block(pointing(np.where(UNKNOWN, -1, CODES), 4), TIME.blocks[0].table)])
WHO = pointing(np.array([0, 0, 1, 1, 2, 2, 0, 1, 2]), 3)
BOTH = Features([*TIME.blocks, Block(WHO, None)])
COLLINEAR = Features([Block(WHO, None), Block(WHO, None), Block(None, np.ones((9, 1)))])

SOURCES = Block(pointing(np.arange(60) // 2, 30), None, 0.8)
AUTHORS = Block(pointing(np.arange(60) * 7 % 45 - 1, 44), None)
AUTHORS_AND_SOURCES = Features([SOURCES, AUTHORS])

SOME_MISSING = graph_structure(300, features=True)._replace(
    own=np.where(np.arange(300) % 30 == 0, 1.2, 0.2)
)
TWO_GRAPHS = sum_structures([graph_structure(300, floor=0.1), graph_structure(300, nu=1, seed=1)])
TWO_GRAPHS_AND_MORE = sum_structures(
    [graph_structure(300, features=True), graph_structure(300, seed=1)]
)
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
    "diagonal, as a base": (Diagonal(DIAGONAL), np.diag(DIAGONAL)),
    "constant": (Diagonal(np.full(6, 0.7)), 0.7 * np.eye(6)),
    "constant zero": (Diagonal(np.zeros(6)), np.zeros((6, 6))),
    "groups": from_groups(naive.random_kernel(np.random.default_rng(8), 4), GROUPS),
    "groups of one": from_groups(random_gram(9, 5, 5), [3, 1, 4, 0, 2]),
    "groups, low rank": from_groups(random_gram(10, 4, 2), GROUPS),
    "groups, large": from_groups(1e4 * random_gram(11, 4, 4), GROUPS),
    "one group": from_groups(np.array([[2.5]]), [0, 0, 0]),
    "groups, zero": from_groups(np.zeros((4, 4)), GROUPS),
    "groups above a floor": from_groups(random_gram(12, 4, 4), GROUPS, floor=0.7),
    "groups, low rank, above a floor": from_groups(random_gram(13, 4, 2), GROUPS, floor=1e-3),
    "only a floor": from_groups(np.zeros((1, 1)), [0, 0, 0], floor=2.0),
    "categories": built(Structure(9, CATEGORIES, np.zeros(9))),
    "categories above a floor": built(Structure(9, CATEGORIES, np.full(9, 0.7))),
    "categories, some unknown": built(Structure(9, SOME_UNKNOWN, np.where(UNKNOWN, 1.7, 0.7))),
    "time, some unknown": built(Structure(9, TIME_UNKNOWN, np.where(UNKNOWN, 1.0, 0.0))),
    "time and categories": built(Structure(9, BOTH, np.full(9, 0.3))),
    "collinear features": built(Structure(9, COLLINEAR, np.full(9, 0.3))),
    "time and categories, three variances": built(
        Structure(9, BOTH, np.array([0.1, 0.1, 2, 2, 2, 0.7, 0.7, 0.1, 2]))
    ),
    "categories apart": built(Structure(9, BOTH, np.full(9, 0.3)), apart=3),
    "categories apart, no floor": built(Structure(9, BOTH, np.zeros(9)), apart=3),
    "categories apart, in front": built(
        Structure(9, Features([Block(WHO, None, 1.7), *TIME.blocks]), np.full(9, 0.3)), apart=3
    ),
    "categories apart, three variances": built(
        Structure(9, BOTH, np.array([0.1, 0.1, 2, 2, 2, 0.7, 0.7, 0.1, 2])), apart=3
    ),
    "categories apart, some unknown": built(
        Structure(9, Features([*SOME_UNKNOWN.blocks, *TIME.blocks]), np.where(UNKNOWN, 1.7, 0.7)),
        apart=3,
    ),
    "two categories, one apart": built(
        Structure(9, Features([Block(WHO, None), *CATEGORIES.blocks]), np.full(9, 0.3)), apart=4
    ),
    "two wide categories, one apart": built(
        Structure(60, AUTHORS_AND_SOURCES, np.full(60, 0.3)), apart=40
    ),
    "two wide categories, one apart, three variances": built(
        Structure(60, AUTHORS_AND_SOURCES, np.arange(60) % 3 + 0.1), apart=40
    ),
    "collinear features, some apart": built(Structure(9, COLLINEAR, np.full(9, 0.3)), apart=3),
    "more features than documents": built(
        Structure(4, Features([Block(None, rows_of(16, 4, 7))]), np.full(4, 0.5))
    ),
    "as many features as documents": built(
        Structure(5, Features([Block(None, rows_of(17, 5, 5))]), np.zeros(5))
    ),
    "a scaled sum": built(
        sum_structures([Structure(9, BOTH, np.zeros(9)), Structure(9, None, np.ones(9))]).scaled(
            2.5
        )
    ),
    "a small graph, decomposed": built(graph_structure(30, features=True), exact=100),
    "two small graphs, decomposed": built(
        sum_structures([graph_structure(30), graph_structure(30, seed=1)]), exact=100
    ),
}
# name: operator, matrix, tolerance of solves, tolerance of what is estimated
APPROXIMATE = {
    "a graph": (*built(graph_structure(300)), 1e-3, 0.03),
    "a graph, one step": (*built(graph_structure(300, nu=1, kappa=0.5)), 1e-3, 0.03),
    "a graph above a floor": (*built(graph_structure(300, floor=0.4)), 1e-3, 0.03),
    "edges themselves": (*built(graph_structure(300, nu=0)), 1e-3, 0.03),
    "a graph and features": (*built(graph_structure(300, features=True)), 1e-3, 0.03),
    "a graph and features, some missing": (*built(SOME_MISSING), 1e-3, 0.03),
    "two graphs": (*built(TWO_GRAPHS), 1e-3, 0.03),
    "two graphs and features": (*built(TWO_GRAPHS_AND_MORE), 1e-3, 0.03),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name):
    op, dense = OPERATORS[name]
    # Where variances differ, or features are solved apart, the limit of a huge strength is a system of condition 1e14.
    limit = 0.1 if "apart" in name else 1e-2 if "unknown" in name else 1e-6
    check_operator(op, dense, limit=limit)


@pytest.mark.parametrize("name", APPROXIMATE)
def test_large_operator(name):
    op, dense, rtol, estimated = APPROXIMATE[name]
    check_operator(op, dense, rtol, estimated)


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


@pytest.mark.parametrize("features", [None, Features([Block(None, rows_of(4, 70, 3))])])
def test_many_variances_of_few_documents_are_exact(features):
    own = np.linspace(-2, 2, 70) ** 2
    structure = Structure(70, features, own)
    op, dense = built(structure, exact=70)
    check_operator(op, dense)


def test_what_all_documents_have_for_themselves_alone_is_exact():
    own = np.linspace(-2, 2, 4000) ** 2
    op, _ = built(Structure(4000, None, own))
    assert_array_equal(op.matmul(np.ones((4000, 1)))[:, 0], own)
    Y = rows_of(5, 4000, 3)
    W = 1.0 / (own * 0.7 + 1.0)
    assert_allclose(op.view(Y).against(0, np.array([0.7])), [(Y[:, 0] * W) @ Y], rtol=1e-10)


def test_variances_that_differ_widely_become_few():
    """As of a product with a straight line: each is off by some ten per cent but for the tiniest."""
    own = np.linspace(-2, 2, 3000) ** 2
    op, _ = built(Structure(3000, Features([Block(None, rows_of(4, 3000, 3))]), own))
    found = op.base.values
    assert len(np.unique(found)) <= 32
    large = own > 0.01 * np.median(own)
    assert_allclose(found[large], own[large], rtol=0.13)
    assert found[~large].max() < 0.01 * np.median(own)
    assert_allclose(found.sum(), own.sum(), rtol=1e-12)


@pytest.mark.parametrize("outlier", [1.0, 1e4])
def test_very_many_variances_of_documents_become_few(outlier):
    """Each is off by a small share of itself; most have the least, which stays."""
    own = np.where(np.arange(400) < 200, 0.2, 0.2 + rows_of(3, 400, 1)[:, 0] ** 2)
    own[-1] *= outlier
    structure = Structure(400, Features([Block(None, rows_of(4, 400, 3))]), own)
    op, dense = built(structure)
    found = op.base.values
    assert len(np.unique(found)) <= 32
    assert_array_equal(found[:200], 0.2)
    assert_allclose(found, own, rtol=0.25)
    assert_allclose(found.sum(), own.sum(), rtol=1e-12)
    b = np.array([0.1, 1.0, 10.0])
    expected = [np.linalg.slogdet(one * dense + np.eye(400))[1] for one in b]
    assert_allclose(op.logdet(b), expected, rtol=0.02)


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


@pytest.mark.parametrize("floor", [0.0, 0.5])
@pytest.mark.parametrize("name", CROSSES)
def test_cross_of_groups(name, floor):
    """Features of a new document are its covariances with the groups, whitened; the rest is its own."""
    Kuu, Ktu, Ktt = CROSSES[name]
    groups = np.concatenate([np.arange(len(Kuu))[::-1], np.arange(len(Kuu)) // 2])
    found = decompose(lambda rows, others: Kuu[np.ix_(rows, others)], len(Kuu))
    features = Features([Block(pointing(groups, len(Kuu)), found.table)])
    operator = Additive(Diagonal(np.full(len(groups), floor)), features)
    Phi = Ktu @ found.whiten
    own = Ktt - Phi @ Phi.T + floor * np.eye(len(Ktt))
    new = Placement(len(Ktt), Features([Block(None, Phi)]), own)
    Kxx = Kuu[np.ix_(groups, groups)] + floor * np.eye(len(groups))
    check_cross(operator.cross(new), Kxx, Ktu[:, groups], Ktt + floor * np.eye(len(Ktt)))


@pytest.mark.parametrize("own", [0.0, 0.3, [0.1, 0.1, 2, 2, 2, 0.7, 0.7, 0.1, 2]])
@pytest.mark.parametrize("one_block", [False, True])
def test_cross_of_categories_apart(own, one_block):
    """New documents of known groups, one of none."""
    structure = Structure(9, BOTH, np.broadcast_to(own, 9).astype(float))
    who = pointing(np.array([0, 2, -1, 1]), 3)
    features = Features([Block(None, rows_of(3, 4, TIME.width)), Block(who, None)])
    if one_block:
        features = Features([Block(None, features.to_dense())])
    new = Placement(4, features, np.linspace(0.5, 1, 4))
    Ktx, Ktt = covariance_with_training(structure, new), covariance_of_new(structure, new)
    check_cross(built(structure, apart=3)[0].cross(new), structure.to_dense(), Ktx, Ktt)


def test_what_two_wide_categories_have_in_common_stays_sparse():
    op, _ = OPERATORS["two wide categories, one apart"]
    (E,) = op._Z.E
    assert E.shape == (44, 30)
    assert E.nnz <= 60
    assert_allclose(E.toarray(), AUTHORS.columns(0, 44).T @ SOURCES.columns(0, 30))


def test_a_wide_category_beside_features_that_fill_the_memory_is_refused(monkeypatch):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2}
    monkeypatch.setattr("gptm._basics.memory.os.sysconf", lambda name: sizes[name])
    rest = Block(None, rows_of(0, 60, 10))
    structure = Structure(60, Features([AUTHORS, rest]), np.zeros(60))
    with pytest.raises(ValueError, match="44 levels beside 10 other features and would need"):
        build_operator(structure, apart=40)
    assert build_operator(structure._replace(features=Features([AUTHORS])), apart=40).n == 60


@pytest.mark.parametrize("rest", [SOURCES, Block(None, rows_of(0, 60, 18))], ids=["sparse", "full"])
def test_variances_beside_a_wide_category_are_found_for_some_documents_at_a_time(rest, monkeypatch):
    structure = Structure(60, Features([rest, AUTHORS]), np.full(60, 0.3))
    op, _ = built(structure, apart=40)
    sizes = []

    def quadratic_of(self, hot, rest):
        sizes.append(rest.size)
        return whole(self, hot, rest)

    whole = ArrowInner.quadratic_of
    monkeypatch.setattr(ArrowInner, "quadratic_of", quadratic_of)
    monkeypatch.setattr(weight_space, "_ENTRIES", 200)
    variances = op.quadratic(op.features, np.array([0.7]))[:, 0]
    Phi = op.features.to_dense()
    N = np.eye(Phi.shape[1]) + 0.7 / (0.7 * 0.3 + 1.0) * Phi.T @ Phi
    assert_allclose(variances, np.diag(Phi @ np.linalg.inv(N) @ Phi.T), rtol=1e-9)
    assert max(sizes) <= 200


def test_slopes_beside_a_wide_category_share_their_work(monkeypatch):
    parts = [
        Structure(60, Features([SOURCES]), np.zeros(60)),
        Structure(60, Features([AUTHORS]), np.arange(60) % 3 + 0.1),
        Structure(60, Features([Block(None, rows_of(1, 60, 4))]), np.full(60, 0.2)),
    ]
    op, dense = built(sum_structures(parts), apart=40)
    tangents = sum_tangents(parts, [[growth(part)] for part in parts])
    asked = []
    for name in ("diagonals", "quadratic_of"):
        found = getattr(ArrowInner, name)
        monkeypatch.setattr(
            ArrowInner, name, lambda *a, name=name, found=found: asked.append(name) or found(*a)
        )
    b = np.array([0.3, 2.0])
    expected = [
        [np.trace(np.linalg.inv(one * dense + np.eye(60)) @ part.to_dense()) for one in b]
        for part in parts
    ]
    assert_allclose(op.slopes(tangents, b), expected, rtol=1e-9)
    assert asked.count("diagonals") == asked.count("quadratic_of") == 1


LEAVES = csr_matrix(np.where(np.random.default_rng(5).random((6, 30)) < 0.1, 0.3, 0.0))


@pytest.mark.parametrize("features", [False, True])
def test_cross_of_leaves_on_a_small_graph(features):
    structure = graph_structure(30, floor=0.2, features=features)
    Phi = Features([Block(None, rows_of(9, 6, 7))]) if features else None
    new = Placement(6, Phi, np.linspace(0.5, 1, 6), (LEAVES,))
    Kxx = structure.to_dense()
    Ktx, Ktt = covariance_with_training(structure, new), covariance_of_new(structure, new)
    check_cross(build_operator(structure, exact=100).cross(new), Kxx, Ktx, Ktt)


def leaves(n, features=None):
    """Forty documents that hang on a graph of n."""
    weights = csr_matrix(np.where(np.random.default_rng(6).random((40, n)) < 0.02, 0.5, 0.0))
    return Placement(40, features, np.full(40, 0.5), (weights,))


@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_cross_of_leaves_on_a_large_graph(floor):
    """The mean is exact; the variance a seeded estimate that is never negative."""
    structure, new = graph_structure(300, floor=floor), leaves(300)
    cross = build_operator(structure, exact=0).cross(new)
    exact = build_operator(structure, exact=1000).cross(new)
    alpha = rows_of(7, 300, 3)
    F = structure.to_dense() @ alpha
    assert_allclose(cross.mean(alpha, F), exact.mean(alpha, F), rtol=1e-9, atol=1e-9)
    b = np.array([0.0, 0.3, 1.0, 20.0])
    estimate, truth = cross.variance(b), exact.variance(b)
    assert_allclose(estimate[:, 0], 0)
    ratio = estimate[:, 1:] / truth[:, 1:] - 1
    assert np.abs(ratio).mean() < 0.06
    assert np.abs(ratio).max() < 0.3
    assert_allclose(cross.conditional().to_dense(), exact.conditional().to_dense(), atol=1e-4)


def test_documents_without_a_link_keep_the_prior():
    alone = Placement(5, None, np.full(5, 0.5), (csr_matrix((5, 300)),))
    b = np.array([0.0, 0.3, 20.0])
    variance = build_operator(graph_structure(300), exact=0).cross(alone).variance(b)
    assert_allclose(variance, 0.5 * np.tile(b, (5, 1)))


def test_many_missing_values_beside_a_graph_are_left_to_the_covariance_of_topics():
    uneven = graph_structure(2500, features=True)._replace(own=np.arange(2500) % 2 * 0.5)
    with pytest.warns(UserWarning, match="1,250 of 2,500 documents lack values"):
        operator = build_operator(uneven)
    even = build_operator(uneven._replace(own=np.zeros(2500)))
    X = rows_of(0, 2500, 2)
    assert_array_equal(operator.solve(np.ones(2), X), even.solve(np.ones(2), X))


@pytest.mark.parametrize("missing", [False, True])
def test_cross_over_a_graph_and_features(missing):
    """The mean and the limit of known F are exact, the variance close."""
    structure = SOME_MISSING if missing else graph_structure(300, features=True)
    new = leaves(300, structure.features.take(np.arange(40)))
    cross = build_operator(structure, exact=0).cross(new)
    exact = build_operator(structure, exact=1000).cross(new)
    alpha = rows_of(7, 300, 3)
    F = structure.to_dense() @ alpha
    assert_allclose(cross.mean(alpha, F), exact.mean(alpha, F), rtol=1e-9, atol=1e-9)
    b = np.array([0.3, 1.0, 20.0])
    ratio = np.abs(cross.variance(b) / exact.variance(b) - 1).mean(axis=0)
    assert ratio[:2].max() < 0.1
    # The parts are added as if independent, which shows where little else is left.
    assert ratio[2] < 0.3
    assert_allclose(cross.conditional().to_dense(), exact.conditional().to_dense(), atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_estimates_of_traces_are_close_and_repeatable(seed):
    """The relative error of traces and log-determinants of a thousand documents is about one per cent."""
    structure = graph_structure(1500, seed=seed)
    estimate, again = (build_operator(structure, exact=0) for _ in range(2))
    exact = build_operator(structure, exact=5000)
    b = np.logspace(-2, 2, 9)
    assert_allclose(estimate.logdet(b), exact.logdet(b), rtol=0.015)
    assert_allclose(estimate.trace(b), exact.trace(b), rtol=0.015)
    assert_array_equal(estimate.trace(b), again.trace(b))


@pytest.mark.parametrize("points", [1200, 5000])
def test_an_incomplete_factor_keeps_its_promise(points):
    """Smooth kernels over time have few features; what is left out anywhere is below the tolerance."""
    times = np.sort(np.random.default_rng(0).uniform(0, 7, points))

    def covariance(rows, others):
        return np.exp(-0.5 * np.subtract.outer(times[rows], times[others]) ** 2)

    found, left = incomplete(covariance, np.ones(points), 200)
    assert left <= TOL
    assert found.table.shape[1] < 40
    some = np.arange(0, points, 7)
    assert_allclose(found.table[some] @ found.table[some].T, covariance(some, some), atol=2 * TOL)
    assert_allclose(covariance(some, found.anchors) @ found.whiten, found.table[some], atol=1e-4)


def test_indefinite_groups_are_refused():
    with pytest.raises(ValueError, match="smallest eigenvalue is"):
        features_of(np.array([[1.0, 2.0], [2.0, 1.0]]), [0, 1, 1])


@pytest.mark.parametrize("n", [1, 4])
def test_cross_without_relation(n):
    """New documents that share nothing with the old ones keep the prior, b k(x, x)."""
    own = np.linspace(0.5, 2, n)
    check_cross(Diagonal(np.ones(7)).cross(Placement(n, None, own)), np.eye(7), None, np.diag(own))
    nothing = Features([Block(csr_matrix((n, 4)), TIME.blocks[0].table)])
    operator, dense = OPERATORS["groups"]
    check_cross(operator.cross(Placement(n, nothing, own)), dense, None, np.diag(own))


def test_conditional_of_known_documents_is_exactly_zero():
    """Rounding of a difference of equal matrices must not count as a kernel of its own."""
    Kxx, Ktx, Ktt = CROSSES["repeats of old ones"]
    op = SpectralCross(Spectral.from_dense(Kxx), Ktx, Ktt).conditional()
    assert op.log_pseudo_determinant() == (0.0, 0)
    assert_allclose(op.to_dense(), 0, atol=1e-12)


@pytest.mark.parametrize("base", ["diagonal", "graph"])
def test_predictions_of_one_document_after_another_multiply_training_documents_once(
    base, monkeypatch
):
    """And other coefficients are not mistaken for the last ones."""
    rng = np.random.default_rng(0)
    kernel = k.Linear("t") if base == "diagonal" else k.Linear("t") + k.NearestNeighbors(2, on="t")
    metadata = pd.DataFrame({"t": rng.normal(size=9)})
    bound = kernel.bind(Documents(9, metadata, csr_matrix(np.ones((9, 3))), None, None))
    new = Documents(1, metadata[:1], csr_matrix(np.ones((1, 3))), None, None)
    alpha = rng.normal(size=(9, 2))
    operator = build_operator(bound.structure, exact=0)  # as for many documents
    F = operator.matmul(alpha)

    def mean(alpha, F):
        return operator.cross(bound.place(bound.read(new))).mean(alpha, F)

    fresh = mean(alpha, F)
    calls = []
    t_dot = Features.t_dot
    monkeypatch.setattr(Features, "t_dot", lambda self, X: calls.append(1) or t_dot(self, X))
    assert_allclose(mean(alpha, F), fresh, rtol=0, atol=0)
    assert not calls
    assert_allclose(mean(2.0 * alpha, 2.0 * F), 2.0 * fresh)
    assert calls


# Roots and signs


@pytest.mark.parametrize("rank", [0, 2, 5])
def test_symmetric_roots_of_many_matrices(rank):
    factors = np.random.default_rng(0).standard_normal((3, 5, rank))
    matrices = factors @ factors.swapaxes(1, 2)
    roots = symmetric_root(matrices)
    assert_allclose(roots @ roots, matrices, atol=1e-12)
    assert_allclose(roots, roots.swapaxes(1, 2), atol=1e-12)
    assert_allclose(symmetric_root(matrices[1]), roots[1], atol=1e-12)


def test_features_of_a_covariance_do_not_jump_where_it_changes_a_little():
    """Over a regular grid, where eigenvectors are symmetric or antisymmetric."""
    distance = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    rng = np.random.default_rng(0)
    plain = decompose(lambda i, j: np.exp(-distance[np.ix_(i, j)] / 5.0), 12)
    for _ in range(20):
        noise = 1e-12 * rng.standard_normal((12, 12))
        near = np.exp(-distance / 5.0) + noise + noise.T
        factor = decompose(lambda i, j, near=near: near[np.ix_(i, j)], 12)
        assert_allclose(factor.table, plain.table, atol=1e-8)


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_signs_of_eigenvectors_are_steady(seed):
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    turned = vectors * rng.choice([-1.0, 1.0], 6)
    assert_array_equal(turned * steady_signs(turned), vectors * steady_signs(vectors))
