"""Nearest neighbours against all pairs measured one by one, on every path through the search."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csc_array, csr_array, csr_matrix

from gptm import _hot
from gptm.kernels import neighbor_search
from gptm.kernels.neighbor_search import nearest

some = settings(max_examples=80, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)
METRICS = ("cosine", "euclidean")


# All pairs


def all_distances(training, queries, metric="cosine"):
    """(n, D) distances; infinite where a row has none."""
    if metric == "euclidean":
        distances = np.sqrt(((queries[:, None] - training) ** 2).sum(axis=2))
    else:
        with np.errstate(invalid="ignore"):
            a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (queries, training))
        distances = np.round(1 - a @ b.T, 10) + 0.0
    return np.where(np.isnan(distances), np.inf, distances)


def first(distances, k, exclude_self=False):
    """The k least distances of each row and where they are, ties by position."""
    distances = distances.copy()
    if exclude_self:
        np.fill_diagonal(distances, np.inf)
    positions = np.argsort(distances, axis=1, kind="stable")[:, :k]
    values = np.take_along_axis(distances, positions, axis=1)
    positions[np.isinf(values)] = -1
    missing = ((0, 0), (0, max(0, k - distances.shape[1])))
    return (
        np.pad(positions, missing, constant_values=-1),
        np.pad(values, missing, constant_values=np.inf),
    )


def check_same(found, expected):
    assert_allclose(found.distances, expected[1], rtol=1e-9, atol=1e-9)
    assert np.array_equal(found.positions, expected[0])


def check_identical(a, b):
    assert np.array_equal(a.positions, b.positions)
    assert np.array_equal(a.distances, b.distances)


def found_by(function, n, k, *inputs):
    """What a compiled loop fills in."""
    distances, positions = np.full((n, k), np.inf), np.full((n, k), -1)
    function(*inputs, distances, positions)
    return positions, distances


# Inputs


def small_counts(seed, n, V, density=0.3):
    """Counts with empty rows, equal rows and proportional rows: many ties."""
    rng = np.random.default_rng(seed)
    return (rng.poisson(1.5, (n, V)) * (rng.uniform(size=(n, V)) < density)).astype(float)


def small_points(seed, n, p, missing=0.1):
    """Points of a lattice, some at the origin, some with a missing coordinate."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, (n, p)).astype(float)
    points[rng.uniform(size=n) < missing, rng.integers(p)] = np.nan
    return points


def clustered(seed, n, p=20, n_clusters=10, spread=3.0):
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((n_clusters, p))
    return centres[rng.integers(n_clusters, size=n)] + rng.standard_normal((n, p))


sizes = st.integers(1, 12)


# Words


@some
@given(seed=seeds, D=sizes, n=sizes, V=st.integers(1, 8), k=st.integers(1, 15))
def test_words(seed, D, n, V, k):
    training, queries = small_counts(seed, D, V), small_counts(seed + 1, n, V)
    distances = all_distances(training, queries)
    distances[distances >= 1] = np.inf
    found = nearest(csr_matrix(training), csr_matrix(queries), k)
    check_same(found, first(distances, k))


@some
@given(seed=seeds, D=sizes, k=st.integers(1, 15))
def test_words_without_oneself(seed, D, k):
    training = small_counts(seed, D, 5)
    distances = all_distances(training, training)
    distances[distances >= 1] = np.inf
    found = nearest(csr_matrix(training), csr_matrix(training), k, exclude_self=True)
    check_same(found, first(distances, k, exclude_self=True))
    assert not (found.positions == np.arange(D)[:, None]).any()


@some
@given(seed=seeds, D=sizes, k=st.integers(1, 6))
def test_words_with_negative_weights(seed, D, k):
    """Weights that cancel leave a score of zero behind, which must not be found twice."""
    rng = np.random.default_rng(seed)
    training, queries = rng.integers(-1, 2, (2, D, 4)).astype(float)
    distances = all_distances(training, queries)
    distances[distances >= 1] = np.inf
    check_same(nearest(csr_matrix(training), csr_matrix(queries), k), first(distances, k))


def test_words_agree_with_numbers():
    rng = np.random.default_rng(0)
    training, queries = (small_counts(i, 300, 40, 0.1) * rng.uniform(size=40) for i in range(2))
    by_words = nearest(csr_matrix(training), csr_matrix(queries), 7)
    by_numbers = nearest(training, queries, 7)
    near = by_numbers.distances < 1
    assert near.mean() > 0.9
    assert np.array_equal(np.isfinite(by_words.distances), near)
    assert np.array_equal(by_words.positions[near], by_numbers.positions[near])
    assert_allclose(by_words.distances[near], by_numbers.distances[near], atol=1e-10)


def test_equal_and_proportional_documents_tie():
    words = csr_matrix([[3.0, 3, 0], [1, 1, 0], [1, 0, 1], [7, 7, 0], [0, 0, 1], [0, 0, 0]])
    found = nearest(words, words, 3, exclude_self=True)
    assert found.positions.tolist() == [
        [1, 3, 2],
        [0, 3, 2],
        [4, 0, 1],
        [0, 1, 2],
        [2, -1, -1],
        [-1, -1, -1],
    ]
    assert (found.distances[:2, :2] == 0).all()


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_scale_of_weights_does_not_matter(scale):
    counts = small_counts(0, 30, 8)
    for form in (csr_matrix, np.array):
        check_identical(
            nearest(form(counts), form(counts), 5), nearest(form(scale * counts), form(counts), 5)
        )


@pytest.mark.parametrize("form", [csr_array, csc_array, csr_matrix])
def test_any_sparse_form(form):
    counts = small_counts(0, 20, 6)
    expected = nearest(csr_matrix(counts), csr_matrix(counts), 4)
    check_identical(nearest(form(counts), form(counts), 4), expected)


def test_repeated_and_unsorted_entries_are_summed_and_input_is_kept():
    split = csr_matrix((np.array([1.0, 2, 1, 0]), np.array([1, 0, 1, 2]), np.array([0, 4])))
    before = split.copy()
    found = nearest(split, csr_matrix([[1.0, 1, 0]]), 1)
    assert found.distances == 0
    assert np.array_equal(split.indices, before.indices)
    assert np.array_equal(split.data, before.data)


# Numbers


@some
@given(
    seed=seeds,
    D=sizes,
    n=sizes,
    p=st.integers(1, 4),
    k=st.integers(1, 15),
    metric=st.sampled_from(METRICS),
)
def test_numbers(seed, D, n, p, k, metric):
    training, queries = small_points(seed, D, p), small_points(seed + 1, n, p)
    check_same(
        nearest(training, queries, k, metric=metric),
        first(all_distances(training, queries, metric), k),
    )


@some
@given(seed=seeds, D=sizes, k=st.integers(1, 15), metric=st.sampled_from(METRICS))
def test_numbers_without_oneself(seed, D, k, metric):
    training = small_points(seed, D, 2)
    found = nearest(training, training, k, metric=metric, exclude_self=True)
    check_same(found, first(all_distances(training, training, metric), k, exclude_self=True))
    assert not (found.positions == np.arange(D)[:, None]).any()


def test_distances_survive_a_large_offset():
    """The products of such numbers know nothing of their differences."""
    offsets = np.random.default_rng(0).permutation(200).astype(float)[:, None]
    found = nearest(1e9 + offsets, 1e9 + offsets[:50], 6, metric="euclidean")
    check_same(found, first(np.abs(offsets[:50] - offsets.T), 6))


@some
@given(seed=seeds, k=st.integers(1, 8), grid=st.sampled_from([0.0, 1.0, 2.0]))
def test_errors_of_the_products_do_not_matter(seed, k, grid):
    """However the products err within the slack, the measured distances decide."""
    rng = np.random.default_rng(seed)
    rows, points = small_points(seed, 4, 3, 0), small_points(seed + 1, 15, 3, 0)
    square, slack = (points**2).sum(axis=1), 0.1
    allowed = 0.5 * slack * ((rows**2).sum(axis=1)[:, None] + square)
    products = rows @ points.T + allowed * rng.choice([-0.99, 0.99], allowed.shape)
    distances = all_distances(points, rows, "euclidean")
    if grid > 0:
        distances = grid * np.floor(np.round(0.5 * distances**2, 6) / grid + 0.5)
    found = found_by(
        _hot.nearest_rows, 4, k, rows, points, products, square, slack, np.full(4, -1), grid
    )
    check_same(neighbor_search.Neighbors(*found), first(distances, k))


def test_near_neighbours_beside_a_far_point():
    points = clustered(0, 100, 3)
    points[17] = 1e9
    check_same(
        nearest(points, points, 5, metric="euclidean"),
        first(all_distances(points, points, "euclidean"), 5),
    )


@pytest.mark.parametrize("metric", METRICS)
def test_a_row_alone_has_the_same_neighbours(metric):
    training, queries = clustered(0, 300), clustered(1, 90)
    together = nearest(training, queries, 5, metric=metric)
    alone = nearest(training, queries[71:72], 5, metric=metric)
    assert np.array_equal(alone.positions[0], together.positions[71])
    assert np.array_equal(alone.distances[0], together.distances[71])


# Threads


@pytest.mark.parametrize("exclude_self", [False, True])
@pytest.mark.parametrize("kind", ["words", "cosine", "euclidean", "groups"])
def test_threads_change_nothing(kind, exclude_self, monkeypatch):
    training = np.round(clustered(0, 700, 5), 1)
    metric = kind if kind in METRICS else "cosine"
    if kind == "words":
        training = csr_matrix(small_counts(0, 3000, 60, 0.1))
    if kind == "groups":
        training = np.repeat(training[:100], 7, axis=0)
        monkeypatch.setattr(neighbor_search, "EXACT", 150)
    one, two, three = (
        nearest(training, training, 6, metric=metric, n_jobs=n_jobs, exclude_self=exclude_self)
        for n_jobs in (1, 2, 3)
    )
    check_identical(one, two)
    check_identical(one, three)


# Many points


@some
@given(seed=seeds, D=st.integers(13, 40), k=st.integers(1, 45), metric=st.sampled_from(METRICS))
def test_many_points_of_which_few_are_distinct(seed, D, k, metric):
    training, queries = small_points(seed, D, 1), small_points(seed + 1, 30, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbor_search, "EXACT", 12)
        found = nearest(training, queries, k, metric=metric)
        without = nearest(training, training, k, metric=metric, exclude_self=True)
    check_same(found, first(all_distances(training, queries, metric), k))
    check_same(without, first(all_distances(training, training, metric), k, exclude_self=True))


def test_equal_rows_are_numbered_by_appearance():
    points = np.array([[2.0, 0], [1, 1], [2, -0.0], [0, 2], [1, 1]])
    assert neighbor_search._equal_rows(points).tolist() == [0, 1, 0, 2, 1]


def test_few_queries_are_answered_exactly(monkeypatch):
    training = clustered(0, 600)
    monkeypatch.setattr(neighbor_search, "EXACT", 100)
    monkeypatch.setattr(neighbor_search, "_search_graph", None)
    found = nearest(training, training[:16], 5, metric="euclidean")
    check_same(found, first(all_distances(training, training[:16], "euclidean"), 5))


@pytest.fixture(scope="module")
def many():
    """3,000 distinct points, some of them twice, some without distances."""
    points = clustered(0, 3000)
    points[::50] = points[1::50]
    points[7, 3] = np.nan
    return points


@pytest.mark.parametrize("metric", METRICS)
def test_approximate_search_finds_nearly_all(many, metric, monkeypatch):
    exact = nearest(many, many, 10, metric=metric, exclude_self=True)
    monkeypatch.setattr(neighbor_search, "EXACT", 1000)
    found, again = (
        nearest(many, many, 10, metric=metric, exclude_self=True, n_jobs=n_jobs)
        for n_jobs in (1, 3)
    )
    check_identical(found, again)
    hits = (found.positions[:, :, None] == exact.positions[:, None]).any(axis=2)
    assert hits.mean() >= 0.95
    assert (found.positions[7] == -1).all()
    assert not np.isin(7, found.positions)
    assert not (found.positions == np.arange(len(many))[:, None]).any()
    distances = all_distances(many[found.positions[0]], many[:1], metric)[0]
    assert_allclose(found.distances[0], distances, rtol=1e-9, atol=1e-9)
    assert (np.diff(np.delete(found.distances, 7, axis=0), axis=1) >= 0).all()


def test_approximate_search_without_the_library(many, monkeypatch):
    monkeypatch.setattr(neighbor_search, "EXACT", 1000)
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match="pip install pynndescent"):
        nearest(many, many, 3)


def test_the_library_is_not_imported_before_it_is_needed():
    code = "import sys, gptm.kernels.neighbor_search; sys.exit('pynndescent' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Bad input


@pytest.mark.parametrize(
    ("training", "queries", "options", "message"),
    [
        (np.eye(3), np.eye(2), {}, "expected 3, got 2"),
        (np.eye(3), np.ones((2, 3)), {"exclude_self": True}, "expected 3 rows, got 2"),
        (np.eye(3), csr_matrix(np.eye(3)), {}, "both sparse or both dense"),
        (csr_matrix(np.eye(3)), csr_matrix(np.eye(3)), {"metric": "euclidean"}, "Pass arrays"),
        (np.eye(3), np.eye(3), {"metric": "manhattan"}, "metric must be one of"),
        (np.eye(3), np.eye(3), {"k": 0}, "k must be an integer of at least 1"),
        (np.eye(3), np.eye(3) * 1e200, {"metric": "euclidean"}, "Rescale the columns"),
        (np.eye(3), np.full((3, 3), np.inf), {}, "infinity"),
        (csr_matrix([[np.nan]]), csr_matrix([[1.0]]), {}, "NaN"),
    ],
)
def test_bad_input(training, queries, options, message):
    with pytest.raises(ValueError, match=message):
        nearest(training, queries, **{"k": 1, **options})


@pytest.mark.parametrize("form", [np.array, csr_matrix])
@pytest.mark.parametrize(("D", "n"), [(0, 3), (3, 0), (0, 0)])
def test_no_rows(form, D, n):
    found = nearest(form(np.ones((D, 2))), form(np.ones((n, 2))), 2)
    expected = first(np.zeros((n, D)), 2)
    assert np.array_equal(found.positions, expected[0])
    assert np.array_equal(found.distances, expected[1])


# Compiled loops as plain Python


def check_forms_agree(function, n, k, *inputs):
    compiled, python = (found_by(f, n, k, *inputs) for f in (function, function.py_func))
    for a, b in zip(compiled, python, strict=True):
        assert np.array_equal(a, b)
    assert (compiled[0] >= 0).any()


@pytest.mark.parametrize("own", [np.full(9, -1), np.arange(9)])
def test_nearest_by_words_as_plain_python(own):
    rows = neighbor_search._unit_words(csr_matrix(small_counts(1, 9, 6)))
    columns = neighbor_search._unit_words(csr_matrix(small_counts(2, 20, 6))).tocsc()
    scores = np.zeros(20)
    check_forms_agree(
        _hot.nearest_by_words,
        9,
        4,
        *(rows.indptr, rows.indices, rows.data),
        *(columns.indptr, columns.indices, columns.data),
        own,
        2.0**-36,
        scores,
    )
    assert not scores.any()


@pytest.mark.parametrize("grid", [0.0, 2.0**-36])
@pytest.mark.parametrize("own", [np.full(9, -1), np.arange(9)])
def test_nearest_rows_as_plain_python(own, grid):
    rows, points = small_points(0, 9, 3, 0), small_points(1, 30, 3, 0)
    square = (points**2).sum(axis=1)
    inputs = (rows, points, rows @ points.T, square, 1e-14, own, grid)
    check_forms_agree(_hot.nearest_rows, 9, 4, *inputs)


@pytest.mark.parametrize("own", [np.full(9, -1), np.arange(9)])
def test_nearest_members_as_plain_python(own):
    rows, distinct = small_points(0, 9, 3, 0), small_points(1, 5, 3, 0)
    start, members = np.array([0, 3, 4, 8, 9, 12]), np.random.default_rng(0).permutation(12)
    for a, b in pairwise(start):
        members[a:b].sort()
    candidates = np.array([[0, 2, 4], [1, -1, 3], [4, 3, 0]] * 3)
    check_forms_agree(
        _hot.nearest_members, 9, 6, rows, distinct, candidates, start, members, own, 0.0
    )


@some
@given(seed=seeds, n=st.integers(0, 30), k=st.integers(1, 10))
def test_keep_nearest_in_any_order(seed, n, k):
    rng = np.random.default_rng(seed)
    values, order = rng.integers(5, size=n).astype(float), rng.permutation(n)
    for function in (_hot.keep_nearest, _hot.keep_nearest.py_func):
        distances, positions = np.full(k, np.inf), np.full(k, -1)
        for j in order:
            kept = function(values[j], j, distances, positions)
            assert kept == (j in positions)
        expected = first(values[None], k)
        assert np.array_equal(positions, expected[0][0])
        assert np.array_equal(distances, expected[1][0])
