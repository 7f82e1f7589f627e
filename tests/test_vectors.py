"""Kernels that are products of vectors, and kernels that are functions of the user's own."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import gptm
from gptm import GPTM
from gptm import kernels as k
from gptm.corpus.metadata import as_frame
from gptm.kernels import Documents
from gptm.operators import Spectral

some = settings(max_examples=25, deadline=None, derandomize=True)
STRENGTHS = np.logspace(-3, 6, 10)

N = 9
RNG = np.random.default_rng(0)
VECTORS = RNG.standard_normal((N, 4)) + 2.0
FRAME = pd.DataFrame(
    {
        "t": RNG.uniform(0, 10, N),
        "s": 100 + 30 * RNG.standard_normal(N),
        "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
        "who": list("abcabcabc"),
        "v": list(VECTORS),
    }
)


def bind(kernel, frame=FRAME):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kernel.bind(Documents(len(frame), frame))


def read(bound, frame):
    return bound.read(Documents(len(frame), frame))


def quietly(method, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return method(*arguments, **keywords)


def missing(values, *rows):
    return [None if row in rows else value for row, value in enumerate(values)]


def assert_prior(bound, new, variance):
    """New documents that are related to no training document, with this variance each."""
    n = len(bound.own_gram(new, joint=False))
    assert not bound.cross_gram(new).any()
    assert_allclose(bound.own_gram(new, joint=False), np.full(n, variance))
    assert_allclose(bound.own_gram(new, joint=True), variance * np.eye(n))
    alpha = np.ones((bound.n, 2))
    assert not bound.cross(new).mean(alpha, bound.gram() @ alpha).any()
    assert_allclose(bound.cross(new).variance(STRENGTHS), np.tile(variance * STRENGTHS, (n, 1)))


def refused(call, *words):
    with pytest.raises(ValueError, match=r"\w") as error:
        call()
    for word in words:
        assert word in str(error.value), str(error.value)


# Linear


def days(frame):
    return frame.assign(date=(frame["date"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1))


@pytest.mark.parametrize("columns", [("t",), ("t", "s"), ("date",), ("s", "date", "t")], ids=str)
def test_linear_is_the_product_of_standardised_columns(columns):
    numbers = days(FRAME)[list(columns)].to_numpy(dtype=float)
    scaler = StandardScaler().fit(numbers)
    Z = scaler.transform(numbers)
    bound = bind(k.Linear(*columns))
    assert_allclose(bound.gram(), Z @ Z.T / len(columns), rtol=1e-9, atol=1e-12)
    assert bound.mean_diagonal() == pytest.approx(1.0)
    later = FRAME.assign(
        t=FRAME["t"] + 5, s=FRAME["s"] * 2, date=FRAME["date"] + pd.Timedelta(days=30)
    )
    new = read(bound, later)
    Y = scaler.transform(days(later)[list(columns)].to_numpy(dtype=float))
    assert_allclose(bound.cross_gram(new), Y @ Z.T / len(columns), rtol=1e-9, atol=1e-12)
    assert_allclose(bound.own_gram(new, joint=True), Y @ Y.T / len(columns), rtol=1e-9, atol=1e-12)
    assert_allclose(bound.own_gram(new, joint=False), (Y**2).sum(1) / len(columns), rtol=1e-9)


def test_linear_predicts_like_a_ridge_regression():
    """F = Z w with w ~ N(0, b): the variance of a new row is x' (I / b + Z'Z)^-1 x."""
    bound = bind(k.Linear("t", "s"))
    Z = StandardScaler().fit_transform(FRAME[["t", "s"]]) / np.sqrt(2)
    new = read(bound, FRAME[:4])
    for b in (0.01, 1.0, 100.0):
        posterior = np.linalg.inv(np.eye(2) / b + Z.T @ Z)
        expected = np.diagonal(Z[:4] @ posterior @ Z[:4].T)
        assert_allclose(bound.cross(new).variance(np.array([b]))[:, 0], expected, rtol=1e-8)


@pytest.mark.parametrize("columns", [("t",), ("t", "s")])
def test_a_training_document_without_a_value_is_independent(columns):
    frame = FRAME.assign(t=missing(FRAME["t"], 2, 6)).astype({"t": float})
    there = np.array([row not in (2, 6) for row in range(N)])
    Z = StandardScaler().fit_transform(frame.loc[there, list(columns)]) / np.sqrt(len(columns))
    expected = np.eye(N) * (Z**2).sum(1).mean()
    expected[np.ix_(there, there)] = Z @ Z.T
    bound = bind(k.Linear(*columns), frame)
    assert_allclose(bound.gram(), expected, rtol=1e-9, atol=1e-12)
    assert_allclose(bound.operator.to_dense(), expected, atol=1e-9)
    assert_prior(bound, read(bound, frame[~there]), (Z**2).sum(1).mean())


def test_new_documents_without_a_value_or_metadata_keep_the_prior():
    bound = bind(k.Linear("t", "s"))
    assert_prior(bound, read(bound, pd.DataFrame({"t": [np.nan, 1.0], "s": [1.0, np.nan]})), 1.0)
    assert_prior(bound, bound.read(Documents(3, None)), 1.0)
    some_missing = read(bound, FRAME.assign(t=missing(FRAME["t"], 1)).astype({"t": float}))
    assert not bound.cross_gram(some_missing)[1].any()
    others = np.delete(np.arange(N), 1)
    assert_allclose(bound.cross_gram(some_missing)[others], bound.gram()[others])


@pytest.mark.parametrize("value", [3.0, 0.1, -1e9, 1e-300, 12345678.9])
def test_a_constant_column_is_named_and_says_nothing(value):
    frame = FRAME.assign(flat=value)
    with pytest.warns(UserWarning, match="'flat'") as caught:
        bound = k.Linear("t", "flat").bind(Documents(N, frame))
    assert len(caught) == 1
    assert "'t'" not in str(caught[0].message).split("value in")[1]
    Z = StandardScaler().fit_transform(FRAME[["t"]])
    assert_allclose(bound.gram(), Z @ Z.T / 2, rtol=1e-6, atol=1e-9)
    with pytest.warns(UserWarning, match="'flat'"):
        assert not k.Linear("flat").bind(Documents(N, frame)).gram().any()


def test_as_many_columns_as_documents_may_say_little():
    frame = pd.DataFrame({"t": [1.0, 3.0], "flat": [5.0, 5.0]})
    bound = quietly(k.Linear("t", "flat").bind, Documents(2, frame))
    expected = np.array([[0.5, -0.5], [-0.5, 0.5]])
    assert_allclose(bound.gram(), expected)
    assert_allclose(bound.operator.to_dense(), expected, atol=1e-12)
    found = bound.operator.solve(np.ones(1), np.eye(2)[:, :1])
    assert_allclose(found[:, 0], np.linalg.inv(expected + np.eye(2))[0])


@some
@given(seed=st.integers(0, 10**6), n=st.integers(2, 9), p=st.integers(1, 4))
def test_predictions_of_vectors_are_those_of_one_covariance(seed, n, p):
    rng = np.random.default_rng(seed)
    columns = [f"x{i}" for i in range(p)]
    points = 10.0 ** rng.uniform(-3, 3, p) * rng.standard_normal((n + 4, p))
    points[rng.random((n + 4, p)) < 0.1] = np.nan
    points[0] = 1.0
    frame = pd.DataFrame(points, columns=columns)
    frame["v"] = [row + 0.5 for row in points]
    for kernel in (k.Linear(*columns), *(k.Embedding("v", center=c) for c in (True, False))):
        bound = quietly(kernel.bind, Documents(n, frame[:n]))
        new = read(bound, frame[n:])
        G, C, V = bound.gram(), bound.cross_gram(new), bound.own_gram(new, joint=True)
        whole = np.block([[G, C.T], [C, V]])
        size = max(1.0, np.abs(whole).max())
        assert np.linalg.eigvalsh(whole).min() > -1e-9 * size
        assert_allclose(bound.operator.to_dense(), G, atol=1e-9 * size)
        variance = bound.cross(new).variance(STRENGTHS)
        assert (variance >= 0).all()
        known = C @ np.linalg.solve(G + np.eye(n), C.T)
        expected = np.diagonal(V - known)
        assert_allclose(bound.cross(new).variance(np.ones(1))[:, 0], expected, atol=1e-8 * size)


@pytest.mark.parametrize("columns", [(), (3.5,), ("a", None), (["a", "b"],)])
def test_linear_wants_names_of_columns(columns):
    with pytest.raises(ValueError, match="Linear expects one or more column names"):
        k.Linear(*columns)


def test_linear_names_what_is_wrong():
    refused(lambda: k.Linear("t").bind(Documents(N)), "'t'", "metadata=")
    refused(lambda: bind(k.Linear("x")), "'x'", "'t'")
    refused(lambda: bind(k.Linear("who")), "'who'", "numbers")
    refused(lambda: bind(k.Linear("t"), FRAME.assign(t=np.nan)), "'t'", "fill the column")
    refused(lambda: bind(k.Linear("t"), FRAME.assign(t=np.inf)), "'t'", "infinite")
    refused(lambda: read(bind(k.Linear("t")), FRAME[["s"]]), "'t'")


# Embeddings


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


CELLS = {"arrays": np.asarray, "lists": list, "tuples": tuple, "float32": np.float32}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("make", CELLS.values(), ids=CELLS)
def test_embeddings_are_alike_by_their_cosine(make, center):
    cells = [make(row) for row in VECTORS]
    V = np.array(cells, dtype=float)
    middle = V.mean(axis=0) if center else 0.0
    Z = unit(V - middle)
    bound = bind(k.Embedding("v", center=center), FRAME.assign(v=cells))
    assert_allclose(bound.gram(), Z @ Z.T, rtol=1e-6, atol=1e-9)
    assert_allclose(np.diagonal(bound.gram()), 1.0)
    later = np.random.default_rng(1).standard_normal((3, 4))
    new = read(bound, pd.DataFrame({"v": [make(row) for row in later]}))
    Y = unit(np.array([make(row) for row in later], dtype=float) - middle)
    assert_allclose(bound.cross_gram(new), Y @ Z.T, rtol=1e-6, atol=1e-9)
    assert_allclose(bound.own_gram(new, joint=True), Y @ Y.T, rtol=1e-6, atol=1e-9)
    assert_allclose(bound.own_gram(new, joint=False), 1.0)


@pytest.mark.parametrize("center", [True, False])
def test_vectors_are_compared_along_their_principal_directions(center):
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((N, 30)) * np.linspace(3.0, 0.1, 30) + 1.0
    middle = vectors.mean(axis=0) if center else 0.0
    directions = np.linalg.svd(vectors - middle, full_matrices=False)[2][:4].T
    Z = unit((vectors - middle) @ directions)
    kernel = k.Embedding("v", n_directions=4, center=center)
    bound = bind(kernel, FRAME.assign(v=list(vectors)))
    assert bound.rows.shape == (N, 4)
    assert_allclose(bound.gram(), Z @ Z.T, atol=1e-9)
    later = rng.standard_normal((3, 30))
    new = read(bound, pd.DataFrame({"v": list(later)}))
    assert_allclose(bound.cross_gram(new), unit((later - middle) @ directions) @ Z.T, atol=1e-9)


def test_a_matrix_in_a_dict_is_a_column_of_vectors():
    X = np.random.default_rng(0).poisson(2.0, (N, 6))
    kernel = k.Embedding("v")
    models = [
        quietly(GPTM(2, kernel=kernel, max_iter=3, random_state=0).fit, X, metadata=metadata)
        for metadata in (FRAME, {"v": VECTORS}, {"v": VECTORS.tolist()})
    ]
    for model in models[1:]:
        assert_array_equal(model.doc_means_, models[0].doc_means_)


def test_the_length_of_vectors_does_not_matter():
    lengths = np.random.default_rng(2).uniform(1e-3, 1e3, (N, 1))
    scaled = FRAME.assign(v=list(lengths * VECTORS))
    kernel = k.Embedding("v", center=False)
    assert_allclose(bind(kernel, scaled).gram(), bind(kernel).gram(), rtol=1e-9)


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, [1.0, np.nan, 2.0, 0.0]], ids=str)
def test_a_missing_vector_leaves_the_document_to_the_prior(hole):
    cells = list(VECTORS)
    cells[3] = cells[8] = hole
    there = np.array([row not in (3, 8) for row in range(N)])
    Z = unit(VECTORS[there] - VECTORS[there].mean(axis=0))
    expected = np.eye(N)
    expected[np.ix_(there, there)] = Z @ Z.T
    bound = bind(k.Embedding("v", center=True), FRAME.assign(v=cells))
    assert_allclose(bound.gram(), expected, rtol=1e-9, atol=1e-12)
    assert_allclose(bound.operator.to_dense(), expected, atol=1e-9)
    new = read(bound, pd.DataFrame({"v": [hole, VECTORS[0]]}))
    assert not bound.cross_gram(new)[0].any()
    assert_allclose(bound.cross_gram(new)[1], expected[0], rtol=1e-9, atol=1e-12)
    assert_allclose(bound.own_gram(new, joint=True), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("holes", [[None], [np.nan, None], [pd.NA]], ids=str)
def test_nobody_has_a_vector(holes):
    bound = bind(k.Embedding("v"))
    assert_prior(bound, read(bound, pd.DataFrame({"v": pd.Series(holes, dtype=object)})), 1.0)
    assert_prior(bound, bound.read(Documents(2, None)), 1.0)


def test_a_vector_at_the_middle_has_no_direction():
    """Nothing is known of such a document, and nothing breaks."""
    bound = bind(k.Embedding("v", center=True))
    new = read(bound, pd.DataFrame({"v": [VECTORS.mean(axis=0), VECTORS[0]]}))
    assert np.isfinite(bound.cross_gram(new)).all()
    zero = bind(k.Embedding("v", center=False), FRAME.assign(v=[np.zeros(4), *VECTORS[1:]]))
    assert not zero.gram()[0, 1:].any()
    assert np.isfinite(zero.gram()).all()


UNFIT = {
    "unequal lengths": [[1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0]],
    "words": ["a b", "c d", "e f"],
    "text of numbers": ["1 2", "3 4", "5 6"],
    "lists of words": [["a", "b"], ["c", "d"], ["e", "f"]],
    "numbers": [1.0, 2.0, 3.0],
    "a number among vectors": [[1.0, 2.0], 3.0, [1.0, 2.0]],
    "a word among vectors": [[1.0, 2.0], "ab", [1.0, 2.0]],
    "matrices": [np.eye(2), np.eye(2), np.eye(2)],
    "a matrix among vectors": [[1.0, 2.0], np.eye(2), [1.0, 2.0]],
    "infinite": [[1.0, 2.0], [1.0, np.inf], [1.0, 2.0]],
    "none at all": [None, None, None],
}


@pytest.mark.parametrize("cells", UNFIT.values(), ids=UNFIT)
def test_what_is_no_vector_is_refused_by_name(cells):
    frame = pd.DataFrame({"v": pd.Series(cells, dtype=object)})
    refused(lambda: bind(k.Embedding("v"), frame).gram(), "'v'")


@pytest.mark.parametrize("cells", [[[1.0, 2.0]], [[1.0] * 5, None], [[1.0, 2.0], [1.0] * 4]])
def test_vectors_of_another_length_are_refused_at_transform(cells):
    bound = bind(k.Embedding("v"))
    refused(lambda: read(bound, pd.DataFrame({"v": cells})), "'v'", "2" if len(cells) != 2 else "")


def test_embedding_names_what_is_wrong():
    with pytest.raises(ValueError, match="Embedding expects a column name"):
        k.Embedding(["v"])
    refused(lambda: k.Embedding("v", n_directions=0), "n_directions", "0")
    refused(lambda: k.Embedding("v").bind(Documents(N)), "'v'", "metadata=")
    refused(lambda: bind(k.Embedding("w")), "'w'", "'v'")


MATRIX = np.arange(120.0).reshape(60, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: k.Embedding(MATRIX),
        lambda: k.Embedding(MATRIX.tolist()),
        lambda: k.Embedding(pd.DataFrame(MATRIX)),
        lambda: k.Linear(MATRIX),
        lambda: k.Matern(pd.Series(MATRIX[:, 0])),
        lambda: k.Categorical(pd.Series(list("ab") * 30)),
        lambda: k.MustLink(np.repeat(1, 60)),
        lambda: k.Graph("links", id=pd.Series(list("ab") * 30)),
        lambda: k.Graph(MATRIX @ MATRIX.T),
        lambda: k.NearestNeighbors(3, on=MATRIX).column_names(),
    ],
)
def test_values_in_the_place_of_a_column_name_are_refused_in_short(make):
    """The message says what arrived by its size, and where values go."""
    with pytest.raises(ValueError, match=r"expects .* column name") as caught:
        make()
    text = str(caught.value)
    assert re.search(
        r"got <60 (x \d+ matrix|values)>\. (Put the values into the metadata|Pass )", text
    )
    assert len(text) < 250


def test_a_list_of_names_is_refused_with_the_names():
    refused(lambda: k.Matern(["date", "day"]), "Write each name by itself: 'date', 'day'")


def test_vectors_work_as_any_column_that_holds_them():
    """An array, lists and a column of a table, as they come from models of sentences."""
    expected = bind(k.Embedding("v")).gram()
    for vectors in (VECTORS, VECTORS.tolist(), VECTORS.astype("f4")):
        frame = as_frame({"v": vectors}, N)
        assert_allclose(bind(k.Embedding("v"), frame).gram(), expected, atol=1e-6)


def test_vectors_in_the_place_of_a_kernel_name_embedding():
    X = np.ones((60, 3))
    refused(lambda: GPTM(2, kernel=MATRIX).fit(X), "(60, 2)", "Embedding('vector')")
    refused(lambda: GPTM(2, kernel=k.Precomputed("x")).fit(X), "square matrix", "'x'")


def test_long_vectors_of_many_documents_stay_small():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"v": list(rng.standard_normal((3000, 20))), "t": np.arange(3000.0)})
    bound = (k.Embedding("v", center=True) + k.Linear("t")).bind(Documents(3000, frame))
    assert not isinstance(bound.operator, Spectral)
    assert bound.operator.features.width == 21
    Z = unit(np.stack(frame["v"]) - np.stack(frame["v"]).mean(axis=0))
    t = StandardScaler().fit_transform(frame[["t"]])
    Phi = np.hstack([Z, t])
    b = np.array([0.5])
    expected = np.linalg.slogdet(np.eye(21) + 0.5 * Phi.T @ Phi)[1]
    assert_allclose(bound.operator.logdet(b), expected)
    Y = rng.standard_normal((3000, 1))
    found = bound.operator.solve(b, Y)
    assert_allclose(found + 0.5 * Phi @ (Phi.T @ found), Y, atol=1e-9)


# Functions


def same_author(a, b):
    return np.equal.outer(a["who"].to_numpy(), b["who"].to_numpy())


def close_in_time(a, b):
    apart = np.subtract.outer(a["t"].to_numpy(), b["t"].to_numpy())
    return 2.0 * np.exp(-0.5 * (apart / 3.0) ** 2)


WHO = same_author(FRAME, FRAME).astype(float)
TIME = close_in_time(FRAME, FRAME)


@pytest.mark.parametrize(
    ("function", "expected"), [(same_author, WHO), (close_in_time, TIME)], ids=["groups", "time"]
)
def test_a_function_is_a_kernel(function, expected):
    bound = bind(k.Function(function))
    assert_array_equal(bound.gram(), expected)
    assert_allclose(bound.operator.to_dense(), expected, atol=1e-9)
    later = pd.DataFrame({"t": [0.5, 20.0], "who": ["b", "z"]}, index=[5, 5])
    new = read(bound, later)
    assert_array_equal(bound.cross_gram(new), function(later, FRAME))
    assert_array_equal(bound.own_gram(new, joint=True), function(later, later))
    assert_array_equal(bound.own_gram(new, joint=False), np.diagonal(function(later, later)))
    b = np.array([0.1, 1.0, 10.0])
    variance = bound.cross(new).variance(b)
    C = function(later, FRAME).astype(float)
    for i, s in enumerate(b):
        known = s**2 * np.diagonal(C @ np.linalg.solve(s * expected + np.eye(N), C.T))
        own = s * np.diagonal(function(later, later))
        assert_allclose(variance[:, i], own - known, rtol=1e-6, atol=1e-8)
    assert_prior(bound, bound.read(Documents(2, None)), np.diagonal(expected).mean())


def test_a_function_may_return_anything_like_an_array():
    for make in (np.ndarray.tolist, pd.DataFrame, np.asarray, csr_matrix, csr_array):
        bound = bind(k.Function(lambda a, b, make=make: make(close_in_time(a, b))))
        assert_array_equal(bound.gram(), TIME)


def test_a_function_may_say_that_a_value_is_missing():
    """By NaN, as numpy does by itself where a number is missing."""
    frame = FRAME.assign(t=FRAME["t"].where(np.arange(N) % 4 != 1))
    there = frame["t"].notna().to_numpy()
    expected = 2.0 * np.eye(N)
    expected[np.ix_(there, there)] = close_in_time(frame[there], frame[there])
    for kernel, factor in (
        (k.Function(close_in_time), 1.0),
        (k.Categorical("who") * close_in_time, WHO),
    ):
        bound = bind(kernel, frame)
        assert_allclose(bound.gram(), expected * factor, atol=1e-12)
        assert_allclose(bound.structure.to_dense(), expected * factor, atol=1e-9)
    bound = bind(k.Function(close_in_time), frame)
    new = read(bound, pd.DataFrame({"t": [1.0, np.nan]}))
    cross = np.zeros((2, N))
    cross[0, there] = close_in_time(pd.DataFrame({"t": [1.0]}), frame[there])
    assert_array_equal(bound.cross_gram(new), cross)
    assert_array_equal(bound.own_gram(new, joint=True), 2.0 * np.eye(2))
    assert_prior(bound, read(bound, pd.DataFrame({"t": [np.nan, np.nan]})), 2.0)


def test_a_column_that_a_function_does_not_find_is_named():
    refused(lambda: bind(k.Function(close_in_time), FRAME[["who"]]), "'t'", "'who'", "NaN")
    bound = bind(k.Function(close_in_time))
    refused(lambda: bound.cross_gram(read(bound, FRAME[["who"]])), "close_in_time", "'t'", "NaN")


def test_functions_in_the_algebra():
    time, frame = k.Matern("t", length_scale=2.0), Documents(N, FRAME)
    M = time.bind(frame).gram()
    for kernel, expected in (
        (time + same_author, M + WHO),
        (same_author + time, M + WHO),
        (k.RBF("t", length_scale=3.0) + time + close_in_time, 0.5 * TIME + M + TIME),
        (2.0 * k.Function(same_author), 2 * WHO),
        (k.Function(same_author) * 2, 2 * WHO),
        (time * same_author, M * WHO),
        (same_author * time, M * WHO),
        (k.Function(same_author) + k.Function(close_in_time), WHO + TIME),
        (sum([time, same_author]), M + WHO),
    ):
        bound = kernel.bind(frame)
        assert_allclose(bound.gram(), expected, rtol=1e-12)
        assert_allclose(bound.operator.to_dense(), expected, atol=1e-9)


def test_the_order_of_a_sum_is_kept():
    assert repr(k.Matern("t") + same_author) == "Matern('t') + Function(same_author)"
    assert repr(same_author + k.Matern("t")) == "Function(same_author) + Matern('t')"
    assert repr(2.0 * k.Function(same_author)) == "2.0 * Function(same_author)"
    assert repr(k.Function(same_author, name="who")) == "Function(same_author, name='who')"


def test_functions_can_be_copied_and_compared():
    kernel = k.Function(same_author, name="who")
    assert clone(kernel) == kernel
    assert clone(k.Matern("t") + same_author) == k.Matern("t") + same_author
    assert kernel != k.Function(same_author)
    assert k.Function(same_author) != k.Function(close_in_time)
    assert kernel.get_params() == {"function": same_author, "name": "who"}
    assert kernel.set_params(function=close_in_time, name=None) == k.Function(close_in_time)


def shaped(make):
    return lambda a, b: make(len(a), len(b))


WRONG = {
    "one number": shaped(lambda n, m: 1.0),
    "a vector": shaped(lambda n, m: np.ones(n)),
    "transposed": shaped(lambda n, m: np.ones((m + 1, n))),
    "three axes": shaped(lambda n, m: np.ones((n, m, 1))),
    "nothing": shaped(lambda n, m: None),
    "nan": shaped(lambda n, m: np.full((n, m), np.nan)),
    "one nan": lambda a, b: np.where(np.eye(len(a), len(b)) > 0, np.nan, 0.0),
    "text": shaped(lambda n, m: [["much"] * m] * n),
    "a table of text": shaped(lambda n, m: pd.DataFrame([["much"] * m] * n)),
    "rows of different lengths": shaped(lambda n, m: [[1.0] * (m + i) for i in range(n)]),
    "infinite": shaped(lambda n, m: np.full((n, m), np.inf)),
}


@pytest.mark.parametrize("function", WRONG.values(), ids=WRONG)
def test_wrong_results_of_a_function_are_refused(function):
    refused(lambda: bind(k.Function(function, name="mine")).gram(), "Function(", "shape")


def test_wrong_results_for_new_documents_are_refused():
    def square_only(a, b):
        return np.eye(len(a))

    bound = bind(k.Function(square_only))
    refused(lambda: bound.cross_gram(read(bound, FRAME[:2])), "(2, 9)", "(2, 2)")


ONE_SIDED = {
    "what came before": lambda a, b: (
        1.0 * np.less_equal.outer(a["t"].to_numpy(), b["t"].to_numpy())
    ),
    "of different size": lambda a, b: np.outer(a["t"].to_numpy() + 1.0, np.ones(len(b))),
}


@pytest.mark.parametrize("function", ONE_SIDED.values(), ids=ONE_SIDED)
def test_a_function_that_is_not_symmetric_is_refused(function):
    X = np.random.default_rng(0).poisson(2.0, (N, 5))
    for kernel in (function, k.Matern("t") * function, k.Identity() + function):
        with pytest.raises(ValueError, match=r"Function\(.*must be symmetric.*mirror"):
            GPTM(2, kernel=kernel, random_state=0).fit(X, metadata=FRAME)


def test_a_function_that_is_symmetric_among_neighbours_only_is_refused():
    frame = pd.DataFrame({"t": np.repeat([0.0, 1.0], 256)})
    function = k.Function(ONE_SIDED["of different size"])
    refused(lambda: function.bind(Documents(512, frame)).operator, "Function(", "symmetric")


INDEFINITE = {
    "distances": lambda a, b: np.abs(np.subtract.outer(a["t"].to_numpy(), b["t"].to_numpy())),
    "negative": shaped(lambda n, m: -np.eye(n, m)),
    "too much in common": shaped(lambda n, m: 2.0 - np.eye(n, m)),
}


@pytest.mark.parametrize("function", INDEFINITE.values(), ids=INDEFINITE)
def test_a_function_that_is_no_covariance_is_refused(function):
    X = np.random.default_rng(0).poisson(2.0, (N, 5))
    refused(lambda: bind(k.Function(function)).operator.to_dense(), "positive semi-definite")
    for kernel in (function, k.Function(function), k.Matern("t") * function):
        with pytest.raises(ValueError, match="positive semi-definite"):
            GPTM(2, kernel=kernel, random_state=0).fit(X, metadata=FRAME)


def test_functions_need_metadata_and_a_function():
    refused(lambda: k.Function(same_author).bind(Documents(N)), "same_author", "metadata=")
    for wrong in (None, "same_author", 3.0, np.eye(3)):
        with pytest.raises(ValueError, match="Function expects a function"):
            k.Function(wrong)


@pytest.mark.parametrize("other", [k.RBF, "RBF", 1.0, None], ids=repr)
def test_what_is_no_function_is_not_added(other):
    with pytest.raises(TypeError):
        k.Matern("t") + other


# Whole models


D, V = 30, 8
X = np.random.default_rng(4).poisson(2.0, (D, V))
METADATA = pd.DataFrame(
    {
        "t": np.linspace(0, 10, D),
        "s": np.random.default_rng(5).standard_normal(D),
        "who": np.array(list("abc"))[np.arange(D) % 3],
        "v": missing(list(np.random.default_rng(6).standard_normal((D, 5))), 4, 9),
    }
)
METADATA.loc[[2, 7], "s"] = np.nan
WORDS = np.random.default_rng(7).poisson(1.0, (4, V))
WORDS[3] = 0
LATER = pd.DataFrame(
    {
        "t": [1.0, 2.0, 3.0, 11.0],
        "s": [0.0, np.nan, 1.0, 2.0],
        "who": ["a", "b", "z", "a"],
        "v": [[1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0], None, [1.0, 1, 1, 1, 1]],
    }
)


def fit(kernel, **keywords):
    settings = {"max_iter": 5, "random_state": 0} | keywords
    return quietly(GPTM(2, kernel=kernel, **settings).fit, X, metadata=METADATA)


FITTED = {
    "linear": k.Linear("t", "s"),
    "embedding": k.Embedding("v", center=True),
    "sum": k.Linear("s") + k.Embedding("v", center=False) + k.Categorical("who"),
    "product": k.Linear("t") * k.Embedding("v"),
    "function": same_author,
    "function and column": k.Matern("t") + same_author,
    "column and function": same_author + k.Matern("t"),
    "multiple": 2.0 * k.Function(same_author),
    "function and vectors": k.Embedding("v") + close_in_time,
}


@pytest.mark.parametrize("inference", ["sampling", "variational"])
@pytest.mark.parametrize("kernel", FITTED.values(), ids=FITTED)
def test_models_fit_and_predict(kernel, inference):
    model = fit(kernel, inference=inference)
    theta = model.transform(WORDS, metadata=LATER)
    assert_allclose(theta.sum(axis=1), 1.0)
    assert np.isfinite(theta).all()
    if inference == "variational":
        assert (np.diff(model.bound_) > -1e-7 * np.abs(model.bound_[:-1])).all()
    assert np.isfinite(model.bound_).all()
    assert_array_equal(theta, model.transform(WORDS, metadata=LATER))
    for row in range(4):
        alone = model.transform(WORDS[[row]], metadata=LATER.iloc[[row]])
        assert_allclose(alone[0], theta[row], rtol=1e-8)
    again = fit(kernel, inference=inference, n_jobs=2)
    assert_array_equal(again.doc_means_, model.doc_means_)
    assert_array_equal(again.components_, model.components_)


def test_a_function_is_the_kernel_that_it_computes():
    """Whichever way the same covariances come, the model is the same."""
    as_given = {"inference": "variational", "learn_kernel": False}
    by_function = fit(same_author, **as_given)
    by_column = fit(k.Categorical("who"), **as_given)
    assert_allclose(by_function.doc_means_, by_column.doc_means_, rtol=1e-5, atol=1e-7)
    expected = by_column.transform(WORDS, metadata=LATER)
    assert_allclose(by_function.transform(WORDS, metadata=LATER), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["s", "v"])
def test_a_column_may_be_lacking_if_one_says_so(name):
    model = fit(k.Linear("s") + k.Embedding("v"))
    without = LATER.drop(columns=name)
    with pytest.raises(ValueError, match=f"'{name}'"):
        model.transform(WORDS, metadata=without)
    theta = model.transform(WORDS, metadata=without, missing_columns="prior")
    assert_allclose(theta.sum(axis=1), 1.0)
    assert np.abs(theta - model.transform(WORDS, metadata=LATER)).max() > 1e-6


SAVED = ["linear", "embedding", "sum", "product"]


@pytest.mark.parametrize("name", SAVED)
def test_a_loaded_model_is_the_same(name, tmp_path):
    model = fit(FITTED[name], max_iter=2)
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    assert again.kernel_ == model.kernel_
    expected = model.transform(WORDS, metadata=LATER)
    assert_array_equal(again.transform(WORDS, metadata=LATER), expected)


@pytest.mark.parametrize("name", [name for name in FITTED if "function" in name or "mult" in name])
def test_functions_are_not_saved(name, tmp_path):
    model = fit(FITTED[name], max_iter=2)
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save(tmp_path / "model.gptm")
    assert list(tmp_path.iterdir()) == []
