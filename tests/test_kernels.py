"""One contract for every kernel; then what each says of documents, dates, and what is missing."""

import datetime
import itertools
import os
import re
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import cosine_distances

import gptm
from gptm import GPTM, load
from gptm import kernels as k
from gptm.corpus.metadata import as_frame, numbers
from gptm.effects.effect_tables import term_labels
from gptm.kernels import Documents
from gptm.kernels.catalogue import kernel_classes
from gptm.operators import Additive, Diagonal
from graphs import neighbor_weights, prior_variance, smooth, standardised, undirected

D = 10
T = np.array([0.0, 1.0, 2.5, 2.5, 4.0, 7.0, 7.0, 7.5, 9.0, 12.0])  # documents share values
S = np.array([3.0, -1.0, 0.0, 0.0, 2.0, 5.0, 5.0, 1.0, 1.0, -2.0])
ROWS = np.array([3, 1, 4, 0, 5, 9, 2, 6, 8, 7])
WHO = np.array(list("abcaabbacd"), dtype=object)
LINKS = {"d3": ["d1", "d4"], "d1": ["d3"], "d0": ["d0", "d5"], "d9": "d2, d6", "d8": ["d9"]}
VECTORS = np.column_stack([T, S, np.cos(T)])
FRAME = pd.DataFrame({"t": T, "s": S, "row": ROWS, "label": [f"d{r}" for r in ROWS], "who": WHO})
FRAME["links"] = [LINKS.get(name) for name in FRAME["label"]]
FRAME["vector"] = list(VECTORS)
TAGS = [
    ["x", "y"],
    ["y"],
    ["z", "x"],
    ["x", "z"],
    ["z"],
    list("xyz"),
    ["w"],
    ["w", "y"],
    ["y"],
    ["x"],
]
FRAME["tags"] = TAGS
FRAME["tags_text"] = [" | ".join(tags) for tags in TAGS]
SHARED = np.array([[len({*a} & {*b}) / (len(a) * len(b)) for b in TAGS] for a in TAGS])
SIMILARITY = 0.5 * np.exp(-np.abs(np.subtract.outer(np.arange(12), np.arange(12))) / 3.0)
LABELLED = pd.DataFrame(
    SIMILARITY, index=[f"d{i}" for i in range(12)], columns=[f"d{i}" for i in range(12)]
)


def rbf(x, length_scale):
    return np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / length_scale**2)


def matern32(x, length_scale):
    r = np.sqrt(3) * np.abs(np.subtract.outer(x, x)) / length_scale
    return (1 + r) * np.exp(-r)


HALF_SPREAD = 0.5 * T.std()
TS = np.column_stack([T, S])
EYE = np.eye(D)

LINKED = np.zeros((D, D))
for one, other in ((0, 1), (0, 2), (3, 4), (5, 6), (5, 7), (8, 5)):  # by their places in FRAME
    LINKED[one, other] = LINKED[other, one] = 1.0
ADJACENCY = np.where(SIMILARITY > 0.2, SIMILARITY, 0.0)
ADJACENCY[2, 9] = 2.0  # in one direction
JOINED = undirected(ADJACENCY)[np.ix_(ROWS, ROWS)]
FRAME["cites"] = [np.flatnonzero(row).tolist() for row in np.triu(LINKED)]
NEAR = neighbor_weights(T[:, None], 5, 0.5)
NEAR_BOTH = neighbor_weights(TS, 3, 0.5)
UNIT = VECTORS - VECTORS.mean(axis=0)
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)


def products(*columns):
    Z = standardised(np.column_stack(columns), np.column_stack(columns))
    return Z @ Z.T / len(columns)


# name: (kernel, its matrix over FRAME, the part of it that only a document has with itself, or None where training
# documents that come again are not known as such)
CONTRACT = {
    "identity": (k.Identity(), EYE, EYE),
    "rbf": (k.RBF("t", length_scale=2.0), rbf(T, 2.0), 0),
    "rbf, open": (k.RBF("t"), rbf(T, HALF_SPREAD), 0),
    "rbf, two columns": (k.RBF("t", "s", length_scale=2.0), rbf(T, 2.0) * rbf(S, 2.0), 0),
    "rbf, two scales": (
        k.RBF("t", "s", length_scale=[2.0, 3.0], name="where"),
        rbf(T, 2.0) * rbf(S, 3.0),
        0,
    ),
    "matern": (k.Matern("t", length_scale=2.0), matern32(T, 2.0), 0),
    "matern, rough": (
        k.Matern("t", nu=0.5, length_scale=2.0, name="when"),
        np.exp(-np.abs(np.subtract.outer(T, T)) / 2.0),
        0,
    ),
    "matern, open": (k.Matern("t"), matern32(T, HALF_SPREAD), 0),
    "on columns": (
        k.OnColumns(gp.RationalQuadratic(length_scale=2.0, alpha=0.5), "t"),
        gp.RationalQuadratic(length_scale=2.0, alpha=0.5)(T[:, None]),
        0,
    ),
    "on columns, not stationary": (
        k.OnColumns(gp.DotProduct(sigma_0=1.5), "t", "s"),
        TS @ TS.T + 1.5**2,
        0,
    ),
    "on columns, with noise": (
        k.OnColumns(gp.RBF(2.0) + gp.WhiteKernel(0.5), "t"),
        rbf(T, 2.0) + 0.5 * EYE,
        0.5 * EYE,
    ),
    "on columns, with noise that grows": (
        k.OnColumns((gp.DotProduct(sigma_0=1.5) + gp.WhiteKernel(0.5)) ** 2, "t", "s"),
        (TS @ TS.T + 1.5**2 + 0.5 * EYE) ** 2,
        np.diag((np.diagonal(TS @ TS.T) + 2.75) ** 2 - (np.diagonal(TS @ TS.T) + 2.25) ** 2),
    ),
    "periodic": (
        k.Periodic("t", period=3.0, length_scale=0.7),
        np.exp(-2 * (np.sin(np.pi * np.subtract.outer(T, T) / 3.0) / 0.7) ** 2),
        0,
    ),
    "categorical": (k.Categorical("who"), np.equal.outer(WHO, WHO).astype(float), 0),
    "categorical within time": (
        k.Categorical("who") * k.RBF("t", length_scale=2.0),
        np.equal.outer(WHO, WHO) * rbf(T, 2.0),
        0,
    ),
    "categorical, multiple": (k.Categorical("tags", multiple=True), SHARED, 0),
    "categorical, multiple, in text": (
        k.Categorical("tags_text", multiple=True, name="tags"),
        SHARED,
        0,
    ),
    "categorical, multiple, within time": (
        k.Categorical("tags", multiple=True) * k.RBF("t", length_scale=2.0),
        SHARED * rbf(T, 2.0),
        0,
    ),
    "categorical, multiple, and time": (
        k.Categorical("tags", multiple=True) + k.RBF("t", length_scale=2.0),
        SHARED + rbf(T, 2.0),
        0,
    ),
    "must-link": (
        k.MustLink("who", gamma=0.5, diagonal=0.75),
        0.5 * np.equal.outer(WHO, WHO) + 0.25 * EYE,
        0.25 * EYE,
    ),
    "must-link and time": (
        k.MustLink("who") + k.RBF("t", length_scale=2.0),
        np.equal.outer(WHO, WHO) + EYE + rbf(T, 2.0),
        EYE,
    ),
    "must-link within time": (
        k.MustLink("who") * k.RBF("t", length_scale=2.0),
        (np.equal.outer(WHO, WHO) + EYE) * rbf(T, 2.0),
        EYE,
    ),
    "linear": (k.Linear("t"), products(T), 0),
    "linear, two columns": (k.Linear("t", "s", name="trend"), products(T, S), 0),
    "embedding": (k.Embedding("vector", center=True), UNIT @ UNIT.T, 0),
    "embedding, two directions": (
        k.Embedding("vector", n_directions=2),
        1 - cosine_distances(PCA(2).fit_transform(VECTORS)),
        0,
    ),
    "embedding, not centred": (
        k.Embedding("vector", center=False),
        1 - cosine_distances(VECTORS),
        0,
    ),
    "graph": (k.Graph("links", id="label"), smooth(LINKED), 0),
    "graph, other constants": (
        k.Graph("links", id="label", kappa=0.6, nu=1, name="cited"),
        smooth(LINKED, 0.6, 1),
        0,
    ),
    "graph, direct": (
        k.Graph("links", id="label", form="direct", gamma=0.5, diagonal=3.0),
        0.5 * LINKED + 3.0 * EYE,
        0,
    ),
    "graph, adjacency": (k.Graph(adjacency=csr_matrix(ADJACENCY), id="row"), smooth(JOINED), 0),
    "graph, direct adjacency": (
        k.Graph(adjacency=ADJACENCY, id="row", form="direct", diagonal=9.0),
        JOINED + 9.0 * EYE,
        0,
    ),
    "graph, adjacency in order": (k.Graph(adjacency=JOINED), smooth(JOINED), None),
    "graph and time": (
        k.Graph("links", id="label") + k.RBF("t", length_scale=2.0),
        smooth(LINKED) + rbf(T, 2.0),
        0,
    ),
    "graph within groups": (
        k.Graph("links", id="label", form="direct", diagonal=3.0) * k.Categorical("who"),
        (LINKED + 3.0 * EYE) * np.equal.outer(WHO, WHO),
        0,
    ),
    "graph by place within time": (
        k.Graph("cites") * k.RBF("t", length_scale=2.0),
        smooth(LINKED) * rbf(T, 2.0),
        None,
    ),
    "neighbours": (k.NearestNeighbors(5, on="t", bandwidth=0.5), smooth(NEAR), None),
    "neighbours within groups": (
        k.NearestNeighbors(5, on="t", bandwidth=0.5) * k.Categorical("who"),
        smooth(NEAR) * np.equal.outer(WHO, WHO),
        None,
    ),
    "neighbours, two columns": (
        k.NearestNeighbors(3, on=["t", "s"], bandwidth=0.5, form="direct", diagonal=9.0),
        NEAR_BOTH + 9.0 * EYE,
        None,
    ),
    "precomputed": (k.Precomputed(SIMILARITY[:D, :D]), SIMILARITY[:D, :D], None),
    "precomputed, positions": (
        k.Precomputed(SIMILARITY, id="row"),
        SIMILARITY[np.ix_(ROWS, ROWS)],
        0,
    ),
    "precomputed, labels": (
        k.Precomputed(LABELLED, id="label"),
        SIMILARITY[np.ix_(ROWS, ROWS)],
        0,
    ),
    "sum": (
        k.RBF("t", length_scale=2.0) + k.Matern("s", length_scale=1.0),
        rbf(T, 2.0) + matern32(S, 1.0),
        0,
    ),
    "sum with identity": (
        k.RBF("t", length_scale=2.0) + 0.5 * k.Identity(),
        rbf(T, 2.0) + 0.5 * EYE,
        0.5 * EYE,
    ),
    "product": (
        k.RBF("t", length_scale=2.0) * k.Matern("s", length_scale=1.0),
        rbf(T, 2.0) * matern32(S, 1.0),
        0,
    ),
    "product with identity": (k.RBF("t") * k.Identity(), EYE, EYE),
    "scaled": (2.5 * k.RBF("t", length_scale=2.0), 2.5 * rbf(T, 2.0), 0),
    "nested": (
        0.5 * (k.RBF("t", length_scale=2.0) + 3.25 * k.Identity())
        + k.Matern("s", length_scale=1.0),
        0.5 * rbf(T, 2.0) + 1.625 * EYE + matern32(S, 1.0),
        1.625 * EYE,
    ),
}


# What a document has that no link leads to, where that is not the average of the others.
PRIOR = {
    "graph": prior_variance(LINKED),
    "graph, other constants": prior_variance(LINKED, 0.6, 1),
    "graph, adjacency": prior_variance(JOINED),
    "graph, adjacency in order": prior_variance(JOINED),
    "graph and time": prior_variance(LINKED) + 1.0,
    "graph by place within time": prior_variance(LINKED),
    "neighbours": prior_variance(NEAR),
    "neighbours within groups": prior_variance(NEAR),
}


@pytest.fixture(params=CONTRACT)
def name(request):
    return request.param


@pytest.fixture
def row(name):
    return CONTRACT[name]


@pytest.fixture
def bound(row):
    return row[0].bind(Documents(D, FRAME))


def read_quietly(bound, frame, n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return bound.read(Documents(n, frame))


# The contract


def test_gram_is_what_the_formula_says(row, bound):
    _, expected, _ = row
    G = bound.gram()
    assert G.shape == (D, D)
    assert_allclose(G, expected, rtol=1e-10, atol=1e-12)
    assert_array_equal(G, G.T)
    assert np.linalg.eigvalsh(G).min() > -1e-10 * np.trace(G)
    assert bound.n == D
    assert bound.mean_diagonal() == pytest.approx(np.diagonal(expected).mean(), rel=1e-12)


def test_operator_is_the_gram_matrix(row, bound):
    _, expected, _ = row
    assert_allclose(bound.operator.to_dense(), expected, rtol=1e-9, atol=1e-9)


def test_a_part_of_the_gram_matrix_can_be_had(row, bound):
    _, expected, _ = row
    some = np.array([7, 2, 5])
    shared, own = bound.between(some, some), bound.own_variances()[some]
    assert_allclose(shared + np.diag(own), expected[np.ix_(some, some)], rtol=1e-10, atol=1e-12)
    assert_allclose(bound.shared_variances()[some], np.diagonal(shared), rtol=1e-10, atol=1e-12)


def test_training_documents_seen_again_are_as_similar_as_before(row, bound):
    _, expected, private = row
    if private is None:
        pytest.skip("knows the training documents by their place only")
    new = bound.read(Documents(D, FRAME))
    cross = bound.cross_gram(new)
    if cross is None:
        cross = np.zeros((D, D))
    assert_allclose(cross, expected - private, rtol=1e-10, atol=1e-12)
    some = np.array([7, 2, 5])
    part = bound.cross_gram(new, some)
    if part is not None:
        assert_allclose(part, (expected - private)[:, some], rtol=1e-10, atol=1e-12)


def test_own_variances_are_the_diagonal(name, row, bound):
    if name.startswith(("neighbours", "graph by place")):
        pytest.skip("documents that come again hang on those that they were")
    _, expected, _ = row
    for new in (bound.training, *([bound.read(Documents(D, FRAME))] if row[2] is not None else [])):
        assert_allclose(bound.own_gram(new, joint=False), np.diagonal(expected), rtol=1e-10)
        assert_allclose(bound.own_gram(new, joint=True), expected, rtol=1e-10, atol=1e-12)


def test_documents_without_metadata_have_the_prior_variance(name, row, bound):
    _, expected, _ = row
    new = read_quietly(bound, None, 4)
    cross = bound.cross_gram(new)
    assert cross is None or (cross.shape == (4, D) and not cross.any())
    variance = PRIOR.get(name, np.diagonal(expected).mean())
    assert_allclose(bound.own_gram(new, joint=False), np.full(4, variance), rtol=1e-10)
    assert_allclose(bound.own_gram(new, joint=True), variance * np.eye(4), rtol=1e-10)


def test_what_is_saved_restores_the_kernel(row, bound):
    arrays = bound.arrays()
    assert all(isinstance(value, np.ndarray) for value in arrays.values())
    again = bound.kernel.rebind({name: value.copy() for name, value in arrays.items()})
    assert again.n == D
    assert_array_equal(again.gram(), bound.gram())
    new = read_quietly(bound, FRAME[:4], 4)
    assert_array_equal(again.own_gram(new, joint=True), bound.own_gram(new, joint=True))
    if bound.cross_gram(new) is not None:
        assert_array_equal(again.cross_gram(new), bound.cross_gram(new))


def test_documents_of_one_group_cannot_be_told_apart(bound):
    """But for what each has for itself alone."""
    labels, G = bound.labels(), bound.gram() - np.diag(bound.own_variances())
    for label in np.unique(labels):
        (members,) = np.nonzero(labels == label)
        alike = np.repeat(G[members[:1]], len(members), axis=0)
        assert_allclose(G[members], alike, rtol=1e-14, atol=1e-14)


def test_a_multiple_of_a_kernel(row):
    kernel, expected, _ = row
    doubled = (2.0 * kernel).bind(Documents(D, FRAME))
    assert_allclose(doubled.gram(), 2 * expected, rtol=1e-10, atol=1e-12)
    again = doubled.kernel.rebind(doubled.arrays())
    assert_array_equal(again.gram(), doubled.gram())


def test_a_kernel_is_told_in_words(row, bound):
    for words in (row[0].describe(), bound.kernel.describe(bound.date_columns())):
        assert re.match(r"(each|every|how|topics|documents?) ", words)
        assert "None" not in words


def test_every_kernel_has_a_row():
    def made_of(kernel):
        return {type(kernel)}.union(*(made_of(part) for part in getattr(kernel, "parts", ())))

    kinds = set().union(*(made_of(kernel) for kernel, _, _ in CONTRACT.values()))
    assert kinds | {k.Function} == set(kernel_classes().values())  # which cannot be saved


def test_binding_settles_open_parameters(row, bound):
    kernel, expected, _ = row
    settled = bound.kernel
    assert None not in [v for key, v in settled.get_params().items() if "length_scale" in key]
    assert_allclose(settled.bind(Documents(D, FRAME)).gram(), expected, rtol=1e-10, atol=1e-12)
    assert kernel == clone(kernel)  # the description itself is left alone


# A kernel is a description


NAMES = {name: getattr(k, name) for name in k.__all__} | {
    name: getattr(gp, name) for name in ("RationalQuadratic", "DotProduct", "WhiteKernel")
}


def test_representation_reads_like_the_formula(row):
    kernel, expected, _ = row
    if isinstance(kernel, k.Precomputed):
        assert repr(kernel).startswith(f"Precomputed(<{len(kernel.matrix)} x {len(kernel.matrix)} ")
        return
    if isinstance(kernel, k.Graph) and kernel.adjacency is not None:
        assert f"adjacency=<{kernel.adjacency.shape[0]} x " in repr(kernel)
        return
    if isinstance(kernel, k.OnColumns):
        assert repr(kernel).startswith("OnColumns(")
        assert "'t'" in repr(kernel)
        return
    again = eval(repr(kernel), dict(NAMES))
    assert again == kernel
    assert repr(again) == repr(kernel)
    assert_allclose(again.bind(Documents(D, FRAME)).gram(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (k.Identity(), "Identity()"),
        (k.RBF("t"), "RBF('t')"),
        (k.RBF("t", length_scale=365.0), "RBF('t', length_scale=365.0)"),
        (k.Matern("a", "b", nu=0.5, name="x"), "Matern('a', 'b', nu=0.5, name='x')"),
        (k.RBF("a") + k.RBF("b") + k.Identity(), "RBF('a') + RBF('b') + Identity()"),
        (k.RBF("a") * k.RBF("b"), "RBF('a') * RBF('b')"),
        ((k.RBF("a") + k.RBF("b")) * k.RBF("c"), "(RBF('a') + RBF('b')) * RBF('c')"),
        (0.5 * (k.RBF("a") + k.Identity()), "0.5 * (RBF('a') + Identity())"),
        (0.5 * k.RBF("a") + k.Identity() * 0.25, "0.5 * RBF('a') + 0.25 * Identity()"),
        (k.Precomputed(np.eye(3), id="row"), "Precomputed(<3 x 3 matrix>, id='row')"),
        (k.Precomputed(np.eye(30).tolist()), "Precomputed(<30 values>)"),
        (k.RBF("a", "b", length_scale=np.ones(2)), "RBF('a', 'b', length_scale=[1.0, 1.0])"),
        (k.Matern("a", nu=np.float64(0.5)), "Matern('a', nu=0.5)"),
        (k.MustLink(pairs=[(0, 1), (1, 2)]), "MustLink(pairs=[(0, 1), (1, 2)])"),
        (k.MustLink(pairs=[(0, 1)] * 99), "MustLink(pairs=<99 values>)"),
        (
            k.Graph("links", id="label", form="direct").bind(Documents(D, FRAME)).kernel,
            "Graph('links', id='label', form='direct')",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_representations(kernel, text):
    assert repr(kernel) == text


@pytest.mark.parametrize("factor", [0.1, 1 / 3, 1e-7, 1234567.0, 2.0])
def test_a_printed_factor_is_close_to_the_real_one(factor):
    again = eval(repr(factor * k.RBF("t")), dict(NAMES))
    assert again.scale == pytest.approx(factor, rel=1e-5)


def test_parameters_by_name(row):
    kernel, expected, _ = row
    params = kernel.get_params(deep=False)
    again = type(kernel).from_params(params)
    assert again == kernel
    assert again is not kernel
    deep = kernel.get_params(deep=True)
    assert params.keys() <= deep.keys()
    copy = clone(kernel).set_params(**deep)
    assert_allclose(copy.bind(Documents(D, FRAME)).gram(), expected, rtol=1e-10, atol=1e-12)


def test_clone_is_equal_and_separate(row):
    kernel, expected, _ = row
    copy = clone(kernel)
    assert type(copy) is type(kernel)
    assert copy is not kernel
    assert copy == kernel
    assert repr(copy) == repr(kernel)
    assert_allclose(copy.bind(Documents(D, FRAME)).gram(), expected, rtol=1e-10, atol=1e-12)


def test_parameters_are_set_by_name():
    kernel = k.RBF("t") + 2.0 * k.Matern("s")
    kernel.set_params(k1__length_scale=3.0, k2__scale=5.5, k2__kernel__nu=0.5)
    assert repr(kernel) == "RBF('t', length_scale=3.0) + 5.5 * Matern('s', nu=0.5)"
    kernel.set_params(k1=k.Identity())
    assert repr(kernel) == "Identity() + 5.5 * Matern('s', nu=0.5)"
    product = k.RBF("t") * k.Matern("s")
    product.set_params(k2__length_scale=1.0)
    assert repr(product) == "RBF('t') * Matern('s', length_scale=1.0)"
    columns = k.OnColumns(gp.RBF(1.0), "t").set_params(kernel__length_scale=4.0)
    assert columns.get_params()["kernel__length_scale"] == 4.0
    scaled = (2.0 * k.RBF("t")).set_params(kernel__nu=2.5, kernel=k.Matern("s"), scale=3.0)
    assert repr(scaled) == "3.0 * Matern('s', nu=2.5)"
    total = (2.0 * k.RBF("t") + k.Identity()).set_params(
        k1__kernel__nu=2.5, k1__kernel=k.Matern("s")
    )
    assert repr(total) == "2.0 * Matern('s', nu=2.5) + Identity()"
    assert k.RBF("t").set_params(columns="date") == k.RBF("date")
    assert k.RBF("t").set_params(columns=["date", "s"]) == k.RBF("date", "s")
    for wrong in ("k3", "k1__scale", "lengthscale"):
        with pytest.raises(ValueError, match=wrong.split("__")[-1]):
            kernel.set_params(**{wrong: 1.0})


def test_kernels_are_equal_by_their_parameters():
    assert k.RBF("t") == k.RBF("t")
    assert k.RBF("t") != k.RBF("s")
    assert k.RBF("t") != k.RBF("t", length_scale=1.0)
    assert k.RBF("t") != k.Matern("t")
    assert k.RBF("t") + k.Identity() == k.RBF("t") + k.Identity()
    assert k.RBF("t") + k.Identity() != k.Identity() + k.RBF("t")
    assert k.Precomputed(np.eye(3)) == k.Precomputed(np.eye(3))
    assert k.Precomputed(np.eye(3)) != k.Precomputed(2 * np.eye(3))
    tables = [pd.DataFrame(np.eye(3), list(names), list(names)) for names in ("abc", "abc", "cab")]
    assert k.Precomputed(tables[0], id="x") == k.Precomputed(tables[1], id="x")
    assert k.Precomputed(tables[0], id="x") != k.Precomputed(tables[2], id="x")
    assert 2 * k.Identity() != 3 * k.Identity()
    assert k.Identity() != "Identity()"


def test_every_kernel_takes_a_name():
    for kernel in (
        k.Identity(name="term"),
        k.RBF("t", name="term"),
        k.Matern("t", name="term"),
        k.OnColumns(gp.RBF(), "t", name="term"),
        k.Precomputed(np.eye(D), name="term"),
        k.Linear("t", name="term"),
        k.Embedding("vector", name="term"),
        k.Graph("links", id="label", name="term"),
        k.NearestNeighbors(3, on="t", name="term"),
        k.Function(lambda a, b: np.eye(len(a), len(b)), name="term"),
    ):
        assert kernel.name == "term"
        assert kernel.bind(Documents(D, FRAME)).kernel.name == "term"
        assert "name='term'" in repr(kernel)


# The algebra


def test_sums_are_flat_and_products_bind_tighter():
    a, b, c = k.RBF("t"), k.Matern("s"), k.Identity()
    assert isinstance(a + b + c, k.Sum)
    assert (a + b + c).terms == (a, b, c) == (a + (b + c)).terms
    mixed = a + b * c
    assert mixed.terms[0] == a
    assert isinstance(mixed.terms[1], k.Product)


def test_multiples_work_from_both_sides_and_with_any_number():
    kernel = k.RBF("t", length_scale=2.0)
    for scaled in (
        2 * kernel,
        kernel * 2,
        2.0 * kernel,
        np.float64(2.0) * kernel,
        kernel * np.int64(2),
    ):
        assert isinstance(scaled, k.Scaled)
        assert scaled == 2.0 * kernel
        assert_allclose(scaled.bind(Documents(D, FRAME)).gram(), 2 * rbf(T, 2.0), rtol=1e-12)
    assert_allclose(
        (3 * (2 * kernel)).bind(Documents(D, FRAME)).gram(), 6 * rbf(T, 2.0), rtol=1e-12
    )


def test_a_multiple_of_a_multiple_is_one():
    named = k.RBF("t", name="time")
    assert 3.0 * (2.0 * named) == 6.0 * named == (2.0 * named) * 3
    assert term_labels(3.0 * (2.0 * named) + k.Categorical("who")) == ["time", "who"]


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf])
def test_only_positive_multiples_are_kernels(factor):
    with pytest.raises(ValueError, match="positive"):
        factor * k.RBF("t")


@pytest.mark.parametrize("other", [1.0, "RBF", None, gp.RBF()], ids=repr)
def test_only_kernels_can_be_added(other):
    with pytest.raises(TypeError, match="kernels can be added"):
        k.RBF("t") + other


def test_a_sum_that_scikit_learn_made_is_refused():
    """The left operand decides, and scikit-learn's takes anything for a number."""
    mixed = gp.RBF() + k.RBF("t")
    with pytest.raises(ValueError, match="OnColumns"):
        k.resolve_kernel(mixed, None)
    for inside in (mixed, gp.RBF() * k.RBF("t")):
        with pytest.raises(ValueError, match="outside, as in OnColumns"):
            k.OnColumns(inside, "t")


@pytest.mark.parametrize("kernel", [SIMILARITY.tolist(), [k.RBF("t"), k.Identity()]], ids=len)
def test_a_list_is_no_kernel(kernel):
    with pytest.raises(ValueError, match=r"np.array\(rows\).*sum\(kernels\)") as caught:
        k.resolve_kernel(kernel, None)
    assert len(str(caught.value)) < 300


def test_a_kernel_of_scikit_learn_needs_its_columns():
    for operation in (k.RBF("t").__add__, k.RBF("t").__mul__):
        with pytest.raises(TypeError, match=r"OnColumns\(kernel, 'date'\)"):
            operation(gp.RBF())


def test_composition_keeps_its_parts_untouched():
    part = k.RBF("t")
    (2.0 * (part + k.Identity())).bind(Documents(D, FRAME))
    assert part == k.RBF("t")


# Categories


def test_an_unseen_level_and_a_missing_one_fall_back_to_the_prior():
    bound = k.Categorical("who").bind(Documents(D, FRAME))
    new = bound.read(Documents(4, pd.DataFrame({"who": ["b", "nobody", None, np.nan]})))
    cross = bound.cross_gram(new)
    assert_array_equal(cross[0], WHO == "b")
    assert not cross[1:].any()
    assert_array_equal(bound.own_gram(new, joint=False), np.ones(4))
    variance = bound.cross(new).variance(np.array([2.0]))[:, 0]
    assert_allclose(variance[1:], 2.0)
    assert_allclose(variance[0], 2 - 4 * 3 / (2 * 3 + 1))  # three documents of that level


@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize("dtype", [object, "str", "category"])
def test_blank_names_are_missing(blank, dtype):
    values = ["a", blank, blank, "a"]
    frame = pd.DataFrame(
        {"g": pd.Series(values, dtype=dtype), "links": [["b"], [blank], [], ["a"]]}
    )
    expected = np.eye(4)
    expected[0, 3] = expected[3, 0] = 1
    assert_array_equal(k.Categorical("g").bind(Documents(4, frame)).gram(), expected)
    for kernel in (k.MustLink("g"), k.MustLink()):
        G = kernel.bind(Documents(4, frame, y=values)).gram()
        assert_array_equal(G, expected + np.eye(4))
    ids = frame.assign(g=pd.Series(["a", blank, blank, "b"], dtype=dtype))
    assert k.Graph("links", id="g").bind(Documents(4, ids)).ids == ["a", None, None, "b"]
    assert k.Graph("links").bind(Documents(4, ids.set_index("g"))).ids == ["a", None, None, "b"]
    matrix = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"])
    for kernel in (k.Precomputed(matrix, id="g"), k.Graph(adjacency=1 - matrix, id="g")):
        assert_array_equal(kernel.bind(Documents(4, ids)).rows, [0, -1, -1, 1])


def test_unseen_documents_of_one_unseen_level_are_not_made_alike():
    bound = k.Categorical("who").bind(Documents(D, FRAME))
    new = bound.read(Documents(2, pd.DataFrame({"who": ["x", "x"]})))
    assert_array_equal(bound.own_gram(new, joint=True), np.eye(2))


def test_missing_levels_in_training_are_documents_of_their_own():
    who = WHO.copy()
    who[[1, 5]] = None
    bound = k.Categorical("who").bind(Documents(D, pd.DataFrame({"who": who})))
    G = bound.gram()
    assert_array_equal(G[1], np.eye(D)[1])
    assert_array_equal(G[5], np.eye(D)[5])
    assert_allclose(bound.operator.to_dense(), G, atol=1e-12)


def test_levels_are_the_same_whatever_type_the_column_has():
    numbers = pd.DataFrame({"who": [1, 2, 1, 3]})
    bound = k.Categorical("who").bind(Documents(4, numbers))
    for again in ([1.0, np.nan, 2.0], ["1", None, "2"], pd.array([1, None, 2], dtype="Int64")):
        new = bound.read(Documents(3, pd.DataFrame({"who": again})))
        assert_array_equal(bound.cross_gram(new), [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]])


def test_a_category_of_many_documents_is_of_low_rank():
    who = pd.DataFrame({"who": np.arange(3000) % 7})
    operator = k.Categorical("who").bind(Documents(3000, who)).operator
    assert operator.features.width == 7
    assert_allclose(operator.logdet(np.ones(1)), np.log1p(np.bincount(who["who"])).sum())


def test_categories_with_no_value_at_all_are_refused():
    with pytest.raises(ValueError, match=r"(?s)'who'.*missing"):
        k.Categorical("who").bind(Documents(2, pd.DataFrame({"who": [None, None]})))
    with pytest.raises(ValueError, match="column name"):
        k.Categorical(3)


@pytest.mark.parametrize(
    ("kernel", "values", "words"),
    [
        (k.Categorical("x"), ["a"] * 5, "same value in 'x'"),
        (k.Categorical("x"), [*"abcd", None], "no two documents have the same value in 'x'"),
        (k.MustLink("x"), ["a"] * 5, "every document has the same label in 'x'"),
        (k.MustLink("x"), [*"abcd", -1], "no two documents have the same label in 'x'"),
        (k.RBF("x"), [3.0, *[np.nan] * 4], "same value in 'x'"),
        (k.NearestNeighbors(2, on="x"), [3.0] * 5, "same value in 'x'"),
        (k.NearestNeighbors(2, on="x"), [[1.0, 2.0]] * 5, "same vector in 'x'"),
        (k.Embedding("x"), [[1.0, 2.0]] * 5, "same vector in 'x'"),
    ],
)
def test_a_column_that_says_nothing_is_warned_of(kernel, values, words):
    with pytest.warns(UserWarning, match=words):
        kernel.bind(Documents(5, pd.DataFrame({"x": values})))


def test_lists_as_levels_are_warned_of():
    frame = pd.DataFrame({"tags": [["a", "b"], ["a"], ["a", "b"], ["b"]]})
    with pytest.warns(UserWarning, match=r"takes each list .* multiple=True"):
        k.Categorical("tags").bind(k.Documents(4, frame))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        k.Categorical("tags", multiple=True).bind(k.Documents(4, frame))


def test_labels_that_say_nothing_are_warned_of():
    with pytest.warns(UserWarning, match="no two documents have the same label in y"):
        k.MustLink().bind(Documents(3, y=[0, 1, 2]))


def test_a_level_beside_missing_ones_says_something():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        k.Categorical("x").bind(Documents(4, pd.DataFrame({"x": ["a", "a", None, None]})))


@pytest.mark.parametrize("center", [False, True])
def test_vectors_without_any_direction_are_refused(center):
    rows = pd.DataFrame({"x": [[0.0, 0.0]] * 5})
    with pytest.raises(ValueError, match="every vector in 'x' is zero"):
        k.Embedding("x", center=center).bind(Documents(5, rows))


# Must-links


def test_links_are_closed_under_transitivity():
    G = (
        k.MustLink(pairs=[(0, 1), (4, 3), (1, 5)], gamma=0.5, diagonal=0.6)
        .bind(Documents(6))
        .gram()
    )
    groups = np.array([0, 0, 2, 3, 3, 0])
    assert_allclose(G, 0.5 * np.equal.outer(groups, groups) + 0.1 * np.eye(6))
    assert np.linalg.eigvalsh(G).min() > 0.099


PAIRS = {
    "list": lambda: [(0, 1), (1, 2)],
    "array": lambda: np.array([(0, 1), (1, 2)]),
    "set": lambda: {(0, 1), (1, 2)},
    "frozen set": lambda: frozenset([(0, 1), (1, 2)]),
    "zip": lambda: zip([0, 1], [1, 2], strict=True),
    "combinations": lambda: itertools.combinations([0, 1, 2], 2),
    "table": lambda: pd.DataFrame({"one": [0, 1], "other": [1, 2]}),
}


@pytest.mark.parametrize("make", PAIRS.values(), ids=PAIRS)
def test_pairs_in_any_container(make, tmp_path):
    kernel = k.MustLink(pairs=make())
    expected = k.MustLink(pairs=[(0, 1), (1, 2)]).bind(Documents(4)).gram()
    for again in (kernel, kernel, clone(kernel)):
        assert_array_equal(again.bind(Documents(4)).gram(), expected)
    model = GPTM(2, kernel=kernel, max_iter=50).fit(np.eye(4, dtype=int) + 1)
    model.save(tmp_path / "model.gptm")
    assert_array_equal(load(tmp_path / "model.gptm").kernel.bind(Documents(4)).gram(), expected)


def test_labels_come_from_y_and_minus_one_is_none():
    y = np.array([1, -1, 2, 1, -1])
    bound = k.MustLink().bind(Documents(5, None, y=y))
    G = bound.gram()
    expected = 2 * np.eye(5)
    expected[0, 3] = expected[3, 0] = 1
    assert_array_equal(G, expected)
    assert not bound.reads_metadata
    assert not bound.cross_gram(bound.read(Documents(2, None))).any()


@pytest.mark.parametrize("make", [list, tuple, pd.Series, pd.DataFrame])
def test_labels_in_y_may_be_missing_in_any_container(make):
    y = make(["a", "b", np.nan, np.nan, None, "a"])
    G = k.MustLink().bind(Documents(6, None, y=y)).gram()
    expected = 2 * np.eye(6)
    expected[0, 5] = expected[5, 0] = 1
    assert_array_equal(G, expected)


def test_labels_of_a_few_documents_in_a_column():
    frame = pd.DataFrame({"label": ["a", None, "b", "a", "-1"]})
    bound = k.MustLink("label").bind(Documents(5, frame))
    assert bound.gram()[0, 3] == 1
    assert bound.gram()[1, 4] == 0
    new = bound.read(Documents(3, pd.DataFrame({"label": ["b", None, "new"]})))
    assert_array_equal(bound.cross_gram(new), [[0, 0, 1, 0, 0], [0] * 5, [0] * 5])
    assert_array_equal(bound.own_gram(new, joint=False), [2, 2, 2])


def test_labels_reach_the_kernel_through_fit():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, -1], 10)
    X = rng.poisson(np.where((np.arange(6) < 3) == (y[:, None] == 0), 3.0, 0.5))
    by_y = GPTM(2, kernel=k.MustLink(), random_state=0).fit(X, y)
    by_column = GPTM(2, kernel=k.MustLink("label"), random_state=0).fit(X, metadata={"label": y})
    assert_array_equal(by_y.doc_means_, by_column.doc_means_)
    assert np.abs(by_y.doc_means_).max() > 0


def test_a_table_as_y_is_warned_of_unless_the_kernel_reads_it():
    X, y = np.eye(6, dtype=int) + 1, pd.DataFrame({"label": [0, 1, -1] * 2})
    for kernel in (k.MustLink(), k.Identity() + 2.0 * k.MustLink()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            GPTM(2, kernel=kernel, max_iter=2).fit(X, y)
    for kernel in (k.Identity(), k.MustLink(pairs=[(0, 1)])):
        with pytest.warns(UserWarning, match="passed as y, which is ignored"):
            GPTM(2, kernel=kernel, max_iter=2).fit(X, y)


def test_many_links_need_no_large_decomposition():
    frame = pd.DataFrame({"label": np.arange(3000) % 5})
    operator = k.MustLink("label").bind(Documents(3000, frame)).operator
    assert isinstance(operator, Additive)
    assert operator.features.width == 5
    expected = 5 * np.log(3000 / 5 + 2) + 2995 * np.log(2)
    assert_allclose(operator.logdet(np.ones(1)), expected)


def test_must_links_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"(?s)diagonal must be larger.*above 2 works"):
        k.MustLink("who", gamma=2.0, diagonal=2.0).bind(Documents(D, FRAME))
    with pytest.raises(ValueError, match="gamma must be positive"):
        k.MustLink("who", gamma=0).bind(Documents(D, FRAME))
    for wrong in ((0, 10), (-1, 0), ("d0", "d1"), (0, 1, 2), (0.5, 1), 3):
        with pytest.raises(ValueError, match=r"from 0 to 9; got .*labels"):
            k.MustLink(pairs=[(0, 1), wrong]).bind(Documents(D, FRAME))
    for nothing in ([], [(0, 0)], np.zeros((0, 2), dtype=int)):
        with pytest.raises(ValueError, match="link no two different documents"):
            k.MustLink(pairs=nothing).bind(Documents(D, FRAME))
    with pytest.raises(ValueError, match="pass y to fit"):
        k.MustLink().bind(Documents(D, FRAME))
    with pytest.raises(ValueError, match="expected 10, got 2"):
        k.MustLink().bind(Documents(D, FRAME, y=[0, 1]))
    with pytest.raises(ValueError, match="not both"):
        k.MustLink("who", pairs=[(0, 1)])


# Periods


def test_a_year_apart_is_no_distance():
    dates = pd.to_datetime(["2020-03-01", "2021-03-01", "2020-09-01"])
    G = k.Periodic("d", period="1y").bind(Documents(3, pd.DataFrame({"d": dates}))).gram()
    assert G[0, 1] > 0.999
    assert_allclose(G[0, 2], np.exp(-2), atol=0.01)


@pytest.mark.parametrize(
    ("period", "days"), [("1y", 365.2425), ("2w", 14), ("12h", 0.5), ("1.5d", 1.5), (7, 7)]
)
def test_periods_are_lengths_of_time(period, days):
    assert_allclose(k.Periodic("t", period=period).covariance().period, days)


@pytest.mark.parametrize("period", ["soon", 0, -1, "0d", None, np.inf])
def test_a_period_that_is_none_is_refused(period):
    with pytest.raises(ValueError, match="period must be"):
        k.Periodic("t", period=period).bind(Documents(D, FRAME))


# Against scikit-learn


@pytest.mark.parametrize("length_scale", [0.5, 3.0, [1.0, 4.0]])
def test_rbf_and_matern_are_those_of_scikit_learn(length_scale):
    new = pd.DataFrame({"t": [0.3, 5.0], "s": [1.0, -1.0]})
    points = new.to_numpy()
    for mine, theirs in [
        (k.RBF("t", "s", length_scale=length_scale), gp.RBF(length_scale)),
        (k.Matern("t", "s", length_scale=length_scale), gp.Matern(length_scale, nu=1.5)),
        (k.Matern("t", "s", nu=2.5, length_scale=length_scale), gp.Matern(length_scale, nu=2.5)),
        (k.Matern("t", "s", nu=0.7, length_scale=length_scale), gp.Matern(length_scale, nu=0.7)),
        (k.OnColumns(gp.RBF(length_scale), "t", "s"), gp.RBF(length_scale)),
    ]:
        bound = mine.bind(Documents(D, FRAME))
        assert_array_equal(bound.gram(), theirs(TS))
        assert_array_equal(bound.cross_gram(bound.read(Documents(2, new))), theirs(points, TS))


def test_the_order_of_columns_is_the_kernels_own():
    swapped = FRAME[["s", "t"]]
    kernel = k.RBF("t", "s", length_scale=[2.0, 3.0])
    assert_array_equal(
        kernel.bind(Documents(D, swapped)).gram(), kernel.bind(Documents(D, FRAME)).gram()
    )


# Dates


DATES = ["2020-01-31", "2020-02-29", "2020-03-01", "2021-01-31", "1999-12-31"]
DAYS = np.array([0.0, 29.0, 30.0, 366.0, -7336.0])  # since the first of them

DATE_FORMS = {
    "nanoseconds": pd.Series(DATES).astype("datetime64[ns]"),
    "seconds": pd.Series(DATES).astype("datetime64[s]"),
    "array": np.array(DATES, dtype="datetime64[D]"),
    "strings": DATES,
    "eight digits": [date.replace("-", "") for date in DATES],
    "strings with time": [f"{date}T00:00:00" for date in DATES],
    "strings in UTC": [f"{date}T00:00:00Z" for date in DATES],
    "strings with offsets": ["2020-01-31T02:00+02:00", *(f"{date}T00:00Z" for date in DATES[1:])],
    "categories": pd.Categorical(DATES),
    "periods": pd.Series(pd.PeriodIndex(DATES, freq="D")),
    "UTC": pd.Series(DATES).astype("datetime64[ns]").dt.tz_localize("UTC"),
    "another zone": (
        pd.Series(DATES).astype("datetime64[ns]").dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    ),
    "date objects": [datetime.date.fromisoformat(date) for date in DATES],
    "datetime objects": [datetime.datetime.fromisoformat(date) for date in DATES],
    "timestamps": pd.Series([pd.Timestamp(date) for date in DATES], dtype=object),
    "period objects": pd.Series([pd.Period(date, freq="D") for date in DATES], dtype=object),
}


@pytest.mark.parametrize("form", DATE_FORMS.values(), ids=DATE_FORMS)
def test_dates_count_in_days_whatever_their_form(form):
    frame = pd.DataFrame({"date": form})
    bound = k.RBF("date", length_scale=100.0).bind(Documents(5, frame))
    assert_allclose(bound.gram(), rbf(DAYS, 100.0), rtol=1e-10, atol=1e-300)
    in_days = k.RBF("date").bind(Documents(5, frame)).kernel.length_scale
    assert in_days == pytest.approx(0.5 * DAYS.std())
    other = k.RBF("date", length_scale=100.0).bind(Documents(5, pd.DataFrame({"date": DATES})))
    assert_array_equal(
        other.cross_gram(other.read(Documents(5, frame))), other.gram()
    )  # forms may be mixed


def test_half_a_day_counts():
    frame = pd.DataFrame({"date": ["2020-01-01T00:00", "2020-01-01T12:00"]})
    gram = k.RBF("date", length_scale=1.0).bind(Documents(2, frame)).gram()
    assert_allclose(gram[0, 1], np.exp(-0.5 * 0.5**2), rtol=1e-12)


def test_periods_begin_at_their_start():
    months = pd.DataFrame({"date": pd.PeriodIndex(["2020-01", "2020-03"], freq="M")})
    gram = k.RBF("date", length_scale=60.0).bind(Documents(2, months)).gram()
    assert_allclose(gram[0, 1], np.exp(-0.5), rtol=1e-12)  # 31 + 29 days


@pytest.mark.parametrize("form", [str, datetime.date.fromisoformat, np.datetime64])
def test_dates_of_other_centuries(form):
    frame = pd.DataFrame({"date": [form("1492-10-12"), form("1492-10-22")]})
    gram = k.RBF("date", length_scale=10.0).bind(Documents(2, frame)).gram()
    assert_allclose(gram[0, 1], np.exp(-0.5), rtol=1e-12)


@pytest.mark.parametrize("values", [["1", "20.5", "3e2"], ["1990", "2005", "2020"]])
def test_numbers_written_as_strings_are_numbers(values):
    as_numbers = pd.DataFrame({"x": [float(value) for value in values]})
    kernel = k.RBF("x", length_scale=5.0)
    gram = kernel.bind(Documents(3, pd.DataFrame({"x": values}))).gram()
    assert_allclose(gram, kernel.bind(Documents(3, as_numbers)).gram(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [complex, object])
def test_numbers_without_an_order_are_none(dtype):
    frame = pd.DataFrame({"x": pd.Series([1.0, 2.0j, 3.0], dtype=dtype)})
    assert k.resolve_kernel("auto", frame) is None
    with pytest.raises(ValueError, match="must hold numbers or dates"):
        k.RBF("x").bind(Documents(3, frame))


@pytest.mark.parametrize("values", [["20150101", "20151301"], [20150101, 20160101]])
def test_eight_digits_that_are_no_dates_are_numbers(values):
    found = numbers(pd.Series(values), "x")
    assert_array_equal(found, [float(value) for value in values])


@pytest.mark.parametrize(
    "make",
    [
        lambda column: k.RBF(column, length_scale=100.0),
        k.Linear,
        lambda column: k.NearestNeighbors(2, on=column),
    ],
)
def test_text_that_may_be_numbers_or_dates_is_what_it_was_in_training(make):
    dated = pd.DataFrame({"x": ["2015", "2016-02-01", "2016-03-01", "20170101", "2018"]})
    bound = make("x").bind(Documents(5, dated))
    together = bound.cross_gram(bound.read(Documents(5, dated)))
    for row in range(5):
        alone = bound.read(Documents(1, dated[row : row + 1]))
        assert_array_equal(bound.cross_gram(alone)[0], together[row])
    numbered = pd.DataFrame({"x": ["2015", "2016", "20150101", "4.5", "7"]})
    bound = make("x").bind(Documents(5, numbered))
    together = bound.cross_gram(bound.read(Documents(5, numbered)))
    alone = bound.read(Documents(1, numbered[2:3]))
    assert_array_equal(bound.cross_gram(alone)[0], together[2])
    with pytest.raises(ValueError, match="held numbers when the model was fitted, and holds dates"):
        bound.read(Documents(1, dated[1:2]))


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", "boolean", "bool", "object"])
def test_numbers_of_any_type(dtype):
    values = pd.Series([0, 1, 1, 0]).astype(dtype)
    gram = k.RBF("x", length_scale=1.0).bind(Documents(4, pd.DataFrame({"x": values}))).gram()
    assert_allclose(gram, rbf(np.array([0.0, 1.0, 1.0, 0.0]), 1.0), rtol=1e-12)


@pytest.mark.parametrize("values", [[1990, 2005, 2020], [1990.0, 2005.0, None]])
def test_years_are_numbers_whatever_the_column_calls_itself(values):
    kernel = k.RBF("x", length_scale=5.0)
    objects = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gram = kernel.bind(Documents(3, objects)).gram()
    assert_allclose(gram[0, 1], np.exp(-0.5 * 9.0), rtol=1e-12)


# What is missing


MISSING = {
    "nan": pd.Series([0.0, np.nan, 2.0, 3.0]),
    "none": pd.Series([0.0, None, 2.0, 3.0], dtype=object),
    "na": pd.Series([0, pd.NA, 2, 3], dtype="Int64"),
    "nat among objects": pd.Series([0.0, pd.NaT, 2.0, 3.0], dtype=object),
    "nat": pd.Series(pd.to_datetime(["1970-01-01", None, "1970-01-03", "1970-01-04"])),
    "string dates": pd.Series(["1970-01-01", None, "1970-01-03", "1970-01-04"]),
    "blank text among dates": pd.Series(["1970-01-01", "", "1970-01-03", "1970-01-04"]),
    "blank text among compact dates": pd.Series(["19700101", " ", "19700103", "19700104"]),
    "blank text among numbers": pd.Series(["0", "\t", "2", "3"], dtype=object),
    "blank text of a category": pd.Series(["0", "", "2", "3"], dtype="category"),
    "date objects": pd.Series([datetime.date(1970, 1, d) if d != 2 else None for d in range(1, 5)]),
    "nat periods": pd.Series(
        pd.PeriodIndex(["1970-01-01", None, "1970-01-03", "1970-01-04"], freq="D")
    ),
}


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING)
def test_a_training_document_without_a_value_is_independent(values):
    bound = k.RBF("x", length_scale=1.5).bind(Documents(4, pd.DataFrame({"x": values})))
    expected = rbf(np.array([0.0, 1e9, 2.0, 3.0]), 1.5)  # far from everything
    assert_allclose(bound.gram(), expected, rtol=1e-12, atol=1e-300)
    assert_allclose(bound.operator.to_dense(), expected, atol=1e-12)


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING)
def test_a_new_document_without_a_value_is_independent(values):
    frame = pd.DataFrame({"x": values})
    bound = k.RBF("x", length_scale=1.5).bind(Documents(3, frame.iloc[[0, 2, 3]]))
    new = bound.read(Documents(4, frame))
    cross = bound.cross_gram(new)
    assert not cross[1].any()
    assert_allclose(cross[[0, 2, 3]], bound.gram(), rtol=1e-12)
    assert_allclose(bound.own_gram(new, joint=False), np.ones(4))
    assert_allclose(
        bound.own_gram(new, joint=True), rbf(np.array([0.0, 1e9, 2.0, 3.0]), 1.5), atol=1e-300
    )


def test_two_documents_without_a_value_are_not_alike():
    frame = pd.DataFrame({"x": [np.nan, np.nan, 1.0, 2.0]})
    bound = k.RBF("x", length_scale=1.0).bind(Documents(4, frame))
    assert bound.gram()[0, 1] == 0.0
    assert_allclose(bound.operator.to_dense(), bound.gram(), atol=1e-12)


def test_one_missing_column_of_two_is_enough():
    frame = pd.DataFrame({"x": [0.0, 0.0, 1.0], "y": [np.nan, 0.0, 1.0]})
    gram = k.RBF("x", "y", length_scale=1.0).bind(Documents(3, frame)).gram()
    assert_array_equal(gram[0], [1.0, 0.0, 0.0])


def test_the_prior_variance_is_the_average_of_the_others():
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan, 3.0]})
    bound = k.OnColumns(gp.DotProduct(sigma_0=0.0), "x").bind(Documents(4, frame))
    assert bound.gram()[2, 2] == pytest.approx((1 + 4 + 9) / 3)
    new = bound.read(Documents(2, pd.DataFrame({"x": [np.nan, 5.0]})))
    assert_allclose(bound.own_gram(new, joint=False), [(1 + 4 + 9) / 3, 25.0])


def test_in_a_sum_only_the_term_with_the_missing_value_falls_back():
    kernel = k.RBF("t", length_scale=2.0) + k.RBF("s", length_scale=1.0)
    bound = kernel.bind(Documents(D, FRAME))
    new = bound.read(Documents(1, pd.DataFrame({"t": [T[4]], "s": [np.nan]})))
    assert_allclose(bound.cross_gram(new)[0], rbf(T, 2.0)[4], rtol=1e-12)
    assert_allclose(bound.own_gram(new, joint=False), [2.0])


def test_missing_values_leave_the_model_well():
    rng = np.random.default_rng(0)
    X, t = rng.poisson(2.0, (30, 8)), np.arange(30.0)
    t[[3, 8]] = np.nan
    model = GPTM(2, kernel=k.RBF("t", length_scale=5.0), learn_kernel=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, metadata={"t": t})
        nothing = np.zeros((2, 8))
        theta = model.transform(nothing, metadata={"t": [np.nan, 10.0]})
    with pytest.warns(UserWarning, match="metadata"):
        prior = model.transform(nothing)
    assert_allclose(theta[0], prior[0], rtol=1e-12)
    assert np.abs(theta[1] - prior[1]).max() > 1e-9


# Precomputed


def two_groups():
    """Counts of two kinds of documents, and a similarity that also covers four documents to come."""
    rng = np.random.default_rng(0)
    kind = np.tile([0, 1], 12)
    beta = np.array([[0.3, 0.3, 0.3, 0.03, 0.04, 0.03], [0.03, 0.04, 0.03, 0.3, 0.3, 0.3]])
    X = np.array([rng.multinomial(30, beta[i]) for i in kind[:20]])
    similarity = 0.9 * np.equal.outer(kind, kind) + 0.1 * np.eye(24)
    return X, similarity


def fit_quietly(model, X, **data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **data)


def test_an_array_is_a_precomputed_kernel():
    X, similarity = two_groups()
    training = similarity[:20, :20]
    reference = fit_quietly(GPTM(2, kernel=k.Precomputed(training), random_state=0), X)
    for same in (training, pd.DataFrame(training)):
        model = fit_quietly(GPTM(2, kernel=same, random_state=0), X)
        assert_array_equal(model.components_, reference.components_)
        assert_array_equal(model.doc_means_, reference.doc_means_)


@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_a_precomputed_kernel_takes_any_dense_matrix(make):
    bound = k.Precomputed(make(SIMILARITY[:D, :D])).bind(Documents(D))
    assert_array_equal(bound.gram(), SIMILARITY[:D, :D])


def test_a_sparse_matrix_is_refused_with_a_reason():
    X, similarity = two_groups()
    sparse = csr_matrix(similarity[:20, :20])
    for kernel in (sparse, k.Precomputed(sparse)):
        with pytest.raises(ValueError, match=r"kernel must be .*(array|matrix)"):
            GPTM(2, kernel=kernel, random_state=0).fit(X)


def test_documents_to_come_are_looked_up_by_position():
    X, similarity = two_groups()
    model = GPTM(2, kernel=k.Precomputed(similarity, id="row"), random_state=0)
    fit_quietly(model, X, metadata={"row": np.arange(20)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = model.transform(np.zeros((4, 6)), metadata={"row": [20, 21, 22, 23]})
    first, second = model.doc_topics_[0].argmax(), model.doc_topics_[1].argmax()
    assert first != second
    assert theta.argmax(axis=1).tolist() == [first, second, first, second]
    assert_allclose(theta[0], theta[2], rtol=1e-9)


def test_labels_place_documents_whatever_their_order():
    X, similarity = two_groups()
    names = [f"doc{i}" for i in range(24)]
    shuffle = np.random.default_rng(1).permutation(24)
    frame = pd.DataFrame(similarity, index=names, columns=names).iloc[shuffle, shuffle]
    by_label = GPTM(2, kernel=k.Precomputed(frame, id="who"), random_state=0)
    fit_quietly(by_label, X, metadata={"who": names[:20]})
    by_position = GPTM(2, kernel=k.Precomputed(similarity, id="row"), random_state=0)
    fit_quietly(by_position, X, metadata={"row": np.arange(20)})
    assert_allclose(by_label.components_, by_position.components_, rtol=1e-9)
    new = np.zeros((4, 6))
    assert_allclose(
        by_label.transform(new, metadata={"who": names[20:]}),
        by_position.transform(new, metadata={"row": np.arange(20, 24)}),
        rtol=1e-9,
    )


def test_unknown_documents_fall_back_to_the_prior_with_one_warning():
    X, similarity = two_groups()
    model = GPTM(2, kernel=k.Precomputed(similarity, id="row"), random_state=0)
    fit_quietly(model, X, metadata={"row": np.arange(20)})
    nothing = np.zeros((4, 6))
    with pytest.warns(UserWarning, match=r"2 of 4 documents.*prior.*'row'") as caught:
        theta = model.transform(nothing, metadata={"row": [99, -1, 20, np.nan]})
    assert len(caught) == 1
    assert_allclose(theta[[1, 3]], theta[[0, 0]], rtol=1e-12)
    assert np.abs(theta[2] - theta[0]).max() > 0.05
    with pytest.warns(UserWarning, match="prior") as caught:
        without = model.transform(nothing)
    assert len(caught) == 1
    assert_allclose(without, theta[[0, 0, 0, 0]], rtol=1e-12)


def test_without_ids_every_new_document_is_unknown():
    X, similarity = two_groups()
    model = fit_quietly(GPTM(2, kernel=similarity[:20, :20], random_state=0), X)
    with pytest.warns(UserWarning, match=r"20 of 20 documents.*id=") as caught:
        theta = model.transform(X)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match=r"id="):
        assert_array_equal(model.transform(X, metadata={"row": np.arange(20)}), theta)
    with pytest.warns(UserWarning, match="id=") as caught:
        model.score(X)
    assert len(caught) == 1


def test_fit_transform_knows_the_training_documents_by_their_place():
    X, similarity = two_groups()
    model = GPTM(2, kernel=similarity[:20, :20], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        theta = model.fit_transform(X)
    assert theta.shape == (20, 2)


def test_ids_may_come_as_floats_and_repeat():
    _, similarity = two_groups()
    kernel = k.Precomputed(similarity, id="row")
    whole = kernel.bind(Documents(20, pd.DataFrame({"row": np.arange(20)})))
    floats = kernel.bind(Documents(20, pd.DataFrame({"row": np.arange(20.0)})))
    assert_array_equal(floats.gram(), whole.gram())
    twice = kernel.bind(Documents(3, pd.DataFrame({"row": [0, 1, 0]})))
    assert_array_equal(twice.gram(), similarity[np.ix_([0, 1, 0], [0, 1, 0])])
    assert_allclose(twice.operator.to_dense(), twice.gram(), atol=1e-12)


@pytest.mark.parametrize("labels", [None, range(24), pd.date_range("2020", periods=24)])
def test_ids_are_matched_by_their_names(labels):
    _, similarity = two_groups()
    matrix = similarity if labels is None else pd.DataFrame(similarity, labels, labels)
    ids = np.arange(24) if labels is None else pd.Index(labels)
    for column in (ids, ids.astype(str), pd.Series(ids).astype(object)):
        frame = pd.DataFrame({"row": column})[::-2]
        if isinstance(labels, pd.DatetimeIndex) and column is not ids:
            frame["row"] = [str(pd.Timestamp(one)) for one in frame["row"]]
        bound = k.Precomputed(matrix, id="row").bind(Documents(12, frame))
        assert_array_equal(bound.gram(), similarity[::-2, ::-2])


@pytest.mark.parametrize("as_text", [False, True])
def test_a_table_may_have_its_columns_in_another_order(as_text):
    rows, columns = np.arange(12), np.random.default_rng(0).permutation(12)
    matrix = pd.DataFrame(SIMILARITY, rows, rows)[columns]
    matrix = matrix.rename(columns=str) if as_text else matrix  # as from a file
    bound = k.Precomputed(matrix, id="row").bind(Documents(D, FRAME))
    assert_array_equal(bound.gram(), SIMILARITY[np.ix_(ROWS, ROWS)])


@pytest.mark.parametrize(
    "make", [k.Precomputed, lambda matrix: k.Graph(adjacency=matrix)], ids=["similarity", "links"]
)
def test_labels_in_another_order_are_refused_where_rows_go_by_their_order(make):
    names = list("abc")
    matrix = pd.DataFrame(np.eye(3) + 1.0, names, names)
    make(matrix).bind(Documents(3, pd.DataFrame({"x": 0}, index=names)))
    make(matrix).bind(Documents(3, pd.DataFrame({"x": 0}, index=list("xyz"))))
    other = Documents(3, pd.DataFrame({"x": 0}, index=list("cab")))
    with pytest.raises(ValueError, match=r"same labels in another order.*id="):
        make(matrix).bind(other)
    make(matrix.to_numpy()).bind(other)
    counted = Documents(3, pd.DataFrame({"x": 0}, index=[2, 0, 1]))
    for numbers_of_rows in (None, [0, 1, 2]):  # the latter is what a file makes of the former
        make(pd.DataFrame(matrix.to_numpy(), numbers_of_rows)).bind(counted)


def test_only_ids_that_are_given_are_missed():
    bound = k.Precomputed(SIMILARITY, id="row").bind(Documents(D, FRAME))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = bound.read(Documents(3, pd.DataFrame({"row": [None, 2, None]})))
    assert rows.tolist() == [-1, 2, -1]


def test_a_training_document_outside_the_matrix_is_refused():
    kernel = k.Precomputed(np.eye(5), id="row")
    with pytest.raises(ValueError, match=r"2 values of column 'row'.*5 rows"):
        kernel.bind(Documents(4, pd.DataFrame({"row": [0, 1, 5, 99]})))
    with pytest.raises(ValueError, match=r"'row'.*no metadata arrived"):
        kernel.bind(Documents(4))
    with pytest.raises(ValueError, match=r"'row'.*'id'"):
        kernel.bind(Documents(2, pd.DataFrame({"id": [0, 1]})))


def test_labels_that_repeat_are_refused():
    frame = pd.DataFrame(np.eye(3), index=list("aab"), columns=list("aab"))
    with pytest.raises(ValueError, match="a"):
        k.Precomputed(frame, id="who").bind(Documents(2, pd.DataFrame({"who": list("ab")})))


# Errors


@pytest.mark.parametrize("kind", [k.RBF, k.Matern])
@pytest.mark.parametrize("columns", [(), (3.5,), ("a", None), (["a", "b"],)])
def test_columns_must_be_named(kind, columns):
    with pytest.raises(ValueError, match=f"{kind.__name__} expects one or more column names"):
        kind(*columns)


def test_on_columns_wants_the_kernel_first():
    with pytest.raises(ValueError, match="OnColumns expects a kernel of sklearn"):
        k.OnColumns("t", gp.RBF())
    with pytest.raises(ValueError, match="OnColumns expects one or more column names"):
        k.OnColumns(gp.RBF())
    with pytest.raises(ValueError, match="sklearn"):
        k.OnColumns(k.RBF("t"), "t")
    with pytest.raises(ValueError, match="CompoundKernel is several"):
        k.OnColumns(gp.CompoundKernel([gp.RBF(), gp.RBF()]), "t")


def test_a_kernel_that_is_no_covariance_is_named():
    frame = pd.DataFrame(np.random.default_rng(0).random((60, 2)) * 3, columns=["a", "b"])
    periodic = gp.ExpSineSquared(length_scale=0.7)
    with pytest.raises(ValueError, match=r"^OnColumns\(.*'a', 'b'\): .*semi-definite.*product"):
        _ = k.OnColumns(periodic, "a", "b").bind(Documents(60, frame)).operator
    both = k.OnColumns(periodic, "a") * k.OnColumns(periodic, "b")
    expected = periodic(frame[["a"]].to_numpy()) * periodic(frame[["b"]].to_numpy())
    assert_allclose(both.bind(Documents(60, frame)).operator.to_dense(), expected, atol=1e-9)
    for n in (2, 3):  # looked at by its operator, or as a whole
        kernel = k.Precomputed(np.ones((3, 3)) - 2.0 * np.eye(3), id="row")
        with pytest.raises(
            ValueError, match=r"^Precomputed\(<3 x 3 matrix>, id='row'\): .*semi-def"
        ):
            _ = kernel.bind(Documents(n, pd.DataFrame({"row": range(n)}))).operator


@pytest.mark.parametrize("kind", [k.RBF, k.Matern])
@pytest.mark.parametrize(
    "value", [0.0, -1.0, np.nan, np.inf, [1.0, 2.0], [[1.0]], [-1.0], "long", True, [True], pd.NaT]
)
def test_length_scale_is_checked(kind, value):
    with pytest.raises(ValueError, match=r"length_scale must be .*'t'"):
        kind("t", length_scale=value).bind(Documents(D, FRAME)).gram()


TWO_DAYS = [np.timedelta64(48, "h"), pd.Timedelta(days=2), datetime.timedelta(days=2), "2d", "48h"]


@pytest.mark.parametrize("duration", TWO_DAYS, ids=repr)
def test_lengths_of_time_count_in_days(duration, tmp_path):
    frame = pd.DataFrame({"when": pd.date_range("2020", periods=D), "t": T})
    frame["age"] = frame["when"] - frame["when"].min()
    for make in (
        lambda days: k.RBF("when", length_scale=days),
        lambda days: k.RBF("age", length_scale=days),
        lambda days: k.Periodic("age", period=days, length_scale=1.0),
        lambda days: k.Matern("when", "t", length_scale=[days, 3.0]),
        lambda days: k.Periodic("when", period=days, length_scale=1.0),
    ):
        expected = make(2.0).bind(Documents(D, frame)).gram()
        assert_array_equal(make(duration).bind(Documents(D, frame)).gram(), expected)
    model = GPTM(2, kernel=k.RBF("when", length_scale=duration), max_iter=50)
    model.fit(np.eye(D, dtype=int) + 1, metadata=frame).save(tmp_path / "model.gptm")
    assert model.kernel_ == k.RBF("when", length_scale=2.0)
    again = load(tmp_path / "model.gptm").kernel.bind(Documents(D, frame))
    assert again.kernel == model.kernel_
    for kernel in (k.RBF("t", length_scale=duration), k.Matern("when", "t", length_scale=duration)):
        with pytest.raises(ValueError, match=r"is a length of time.*reads numbers"):
            kernel.bind(Documents(D, frame))


def test_a_year_of_numpy_has_no_length():
    frame = pd.DataFrame({"when": pd.date_range("2020", periods=D)})
    with pytest.raises(ValueError, match=r"length_scale must be .*'1y'"):
        k.RBF("when", length_scale=np.timedelta64(1, "Y")).bind(Documents(D, frame))


@pytest.mark.parametrize("nu", [0.0, -1.0, np.nan, "smooth"])
def test_nu_is_checked(nu):
    with pytest.raises(ValueError, match="nu must be"):
        k.Matern("t", nu=nu, length_scale=1.0).bind(Documents(D, FRAME)).gram()


def test_a_very_smooth_matern_is_refused_for_rbf():
    bound = k.Matern("t", nu=19, length_scale=2.0).bind(Documents(D, FRAME))
    assert_allclose(bound.operator.to_dense(), bound.gram(), atol=1e-9)
    with pytest.raises(ValueError, match=r"at most 19.*RBF") as error:
        k.Matern("t", nu=20).bind(Documents(D, FRAME))
    assert "White noise" not in str(error.value)


def test_white_noise_is_only_spoken_of_where_there_is_no_covariance():
    class Broken(gp.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return np.full((len(X), len(X if Y is None else Y)), np.nan)

    with pytest.raises(ValueError, match=r"^OnColumns\(") as error:
        _ = k.OnColumns(Broken(), "t").bind(Documents(D, FRAME)).operator
    assert "White noise" not in str(error.value)


def test_an_endlessly_smooth_matern_is_rbf():
    smooth = k.Matern("t", nu=np.inf, length_scale=2.0).bind(Documents(D, FRAME))
    assert_allclose(smooth.gram(), rbf(T, 2.0), rtol=1e-12)


def test_a_kernel_of_scikit_learn_for_another_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="dimension"):
        k.OnColumns(gp.RBF([1.0, 2.0]), "t").bind(Documents(D, FRAME)).gram()


def test_sum_of_a_list_of_kernels():
    assert sum([k.RBF("t"), k.Identity()]) == k.RBF("t") + k.Identity()


def test_a_multiple_needs_no_decomposition_of_its_own():
    bound = (2.0 * k.Identity()).bind(Documents(D, FRAME))
    assert isinstance(bound.operator, Diagonal)
    assert_allclose(bound.operator.to_dense(), 2 * np.eye(D))


def test_what_documents_have_for_themselves_needs_no_large_decomposition():
    """Time and noise over many documents: as many eigenvalues as days."""
    frame = pd.DataFrame({"t": np.arange(2000) % 20})
    for kernel in (
        k.RBF("t", length_scale=3.0) + 0.5 * k.Identity(),
        k.OnColumns(gp.RBF(3.0) + gp.WhiteKernel(0.5), "t"),
    ):
        operator = kernel.bind(Documents(2000, frame)).operator
        assert isinstance(operator, Additive)
        assert operator.features.width <= 20
        assert_allclose(operator.base.nodes, 0.5)
        assert_allclose(operator.trace(np.zeros(1)), 2000 * 1.5)


def test_noise_alone_needs_no_features():
    x = np.linspace(1.0, 2.0, 1200)
    kernel = k.OnColumns(gp.DotProduct() * gp.WhiteKernel(0.5), "x")
    bound = kernel.bind(Documents(1200, pd.DataFrame({"x": x})))
    assert isinstance(bound.operator, Diagonal)
    assert_allclose(bound.structure.own, 0.5 * (x**2 + 1.0))
    new = bound.read(Documents(1, pd.DataFrame({"x": [3.0]})))
    assert_allclose(bound.cross(new).variance(np.ones(1)), [[5.0]])


def test_auto_names_the_columns_that_it_cannot_use(caplog):
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=["a", "a", "b"])
    frame["c"] = [1.0, 2.0, np.inf, 3.0]
    assert k.auto_kernel(frame) == k.Matern("b")
    assert "'a' (another column has its name)" in caplog.text
    assert "'c' (infinite values)" in caplog.text


# Corners


def test_periods_of_several_columns_multiply():
    """A function of their distance would be no kernel."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((200, 2)) * 3, columns=["a", "b"])
    documents = Documents(200, frame)
    both = k.Periodic("a", "b", period=1.0, length_scale=0.7).bind(documents)
    parts = [
        gp.ExpSineSquared(length_scale=0.7, periodicity=1.0)(frame[[name]].to_numpy())
        for name in ("a", "b")
    ]
    assert_allclose(both.gram(), parts[0] * parts[1], atol=1e-12)
    assert_allclose(both.structure.to_dense(), parts[0] * parts[1], atol=1e-10)


@pytest.mark.parametrize("missing", [False, True])
def test_categories_of_many_levels_stay_closed_form(missing):
    """However many there are: no feature is ever written out, for training or new documents."""
    D = 3000
    frame = pd.DataFrame({"a": [None if missing and i == 0 else str(i % 2000) for i in range(D)]})
    bound = k.Categorical("a").bind(Documents(D, frame))
    assert isinstance(bound.operator, Additive)
    b = np.array([0.5, 2.0])
    tracemalloc.start()
    variance = bound.cross(bound.read(Documents(D, frame))).variance(b)
    assert tracemalloc.get_traced_memory()[1] < 8 * D * 200
    tracemalloc.stop()
    levels = frame["a"].dropna()
    of_a_level = levels.map(levels.value_counts()).to_numpy()
    expected = b / (1.0 + b * of_a_level[:, None])
    assert_allclose(variance[frame["a"].notna()], expected, rtol=1e-6)


def test_new_documents_take_memory_in_proportion():
    """A dense kernel over few training documents, and many new ones."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"t": rng.random(100), "u": rng.random(100)})
    bound = k.Matern("t", "u", nu=0.5, length_scale=0.5).bind(Documents(100, frame))
    n = 4000
    new = bound.read(Documents(n, pd.DataFrame({"t": rng.random(n), "u": rng.random(n)})))
    tracemalloc.start()
    cross = bound.cross(new)
    mean, variance = cross.mean(np.ones((100, 2)), np.ones((100, 2))), cross.variance(np.ones(2))
    assert tracemalloc.get_traced_memory()[1] < 0.3 * 8 * n**2
    tracemalloc.stop()
    some = bound.cross(new[:7])
    assert_allclose(mean[:7], some.mean(np.ones((100, 2)), np.ones((100, 2))))
    assert_allclose(variance[:7], some.variance(np.ones(2)))


# Numbers, sums and missing values inside of products


def test_a_number_in_front_of_a_factor_is_one_in_front_of_the_product():
    product = 2.0 * k.RBF("t") * (3.0 * k.Categorical("g"))
    assert product == 6.0 * (k.RBF("t") * k.Categorical("g"))
    assert repr(product) == "6.0 * RBF('t') * Categorical('g')"


def test_a_sum_inside_of_a_product_keeps_the_variance_of_what_it_misses():
    frame = pd.DataFrame(
        {"t": [1.0, np.nan, 3.0, np.nan], "g": ["a", "a", "b", None], "x": [1.0, 2.0, 4.0, 3.0]}
    )
    kernel = (k.RBF("t", length_scale=1.0) + k.Categorical("g")) * k.RBF("x", length_scale=100.0)
    bound = kernel.bind(Documents(4, frame))
    assert_allclose(bound.structure.to_dense(), bound.gram(), atol=1e-9)
    assert_allclose(np.diagonal(bound.gram()), 2.0)


@pytest.mark.parametrize("factor", [k.Identity(), k.MustLink("g")], ids=repr)
def test_a_product_leaves_each_document_its_own_variance(factor):
    frame = pd.DataFrame({"x": np.linspace(-2, 2, 70), "g": [None, "a", "b", "b", "a"] * 14})
    bound = (factor * k.Linear("x")).bind(Documents(70, frame))
    assert_allclose(bound.operator.to_dense(), bound.gram(), atol=1e-12)


def test_what_a_linear_term_misses_counts_once_inside_of_a_product():
    frame = pd.DataFrame({"z": [np.nan, np.nan, 1.0, 2.0, 4.0], "g": list("aabba"), "x": range(5)})
    kernel = (k.Linear("z") + k.Categorical("g")) * k.RBF("x", length_scale=2.0)
    Z = standardised(frame["z"], frame["z"]).fillna(0.0)
    groups = np.equal.outer(frame["g"].to_numpy(), frame["g"].to_numpy())
    terms = np.outer(Z, Z) + np.diag([1.0, 1.0, 0.0, 0.0, 0.0]) + groups
    bound = kernel.bind(Documents(5, frame))
    assert_allclose(bound.structure.to_dense(), terms * rbf(np.arange(5.0), 2.0), atol=1e-12)


def test_a_product_with_a_graph_of_many_documents_is_the_product():
    """Also where a graph's documents are known by their place only."""
    n, rng = 1100, np.random.default_rng(0)
    A = np.zeros((n, n))
    A[np.arange(n)[:, None], rng.integers(0, n, (n, 2))] = 1.0
    frame = pd.DataFrame({"t": rng.random(n), "links": [np.flatnonzero(row) for row in A]})
    kernel = k.Graph("links") * k.RBF("t", length_scale=3.0)
    expected = smooth(undirected(A)) * rbf(frame["t"].to_numpy(), 3.0)
    found = kernel.bind(Documents(n, frame)).structure.to_dense()
    assert np.abs(found - expected).max() < 2e-3 * expected.max()


def test_a_product_with_a_graph_is_refused_before_it_is_written_out(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 1024)  # a megabyte
    n = 2500
    frame = pd.DataFrame({"id": np.arange(n), "links": np.arange(n) - 1, "g": np.arange(n) % 3})
    with pytest.warns(UserWarning, match="1 of"):
        bound = (k.Graph("links", id="id") * k.Categorical("g")).bind(Documents(n, frame))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"Graph\('links'.*2,500 .*product.*rather") as refusal:
        _ = bound.operator
    assert tracemalloc.get_traced_memory()[1] < 8 * n**2
    tracemalloc.stop()
    assert "Merge rare levels" not in str(refusal.value)  # one remedy is enough


# New documents that only seem to have names


def test_a_new_table_that_merely_counts_names_no_training_document():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"links": [rng.integers(0, 60, 2).tolist() for _ in range(60)]})
    some = rng.permutation(60)[:40]
    with pytest.warns(UserWarning, match="lead to ids that are not in the table's index"):
        bound = k.Graph("links", kappa=0.5).bind(Documents(40, frame.iloc[some]))
    new = pd.DataFrame({"links": [[int(some[0]), int(some[1])]] * 3})
    found = bound.read(Documents(3, new))
    assert found.same.tolist() == [-1, -1, -1]
    assert (found.edges.sum(1) == 2).all()
    again = bound.read(Documents(2, frame.iloc[some[:2]]))
    assert again.same.tolist() == [0, 1]


class PolarsTable:
    """As much of polars as is used of it."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self._values = columns

    def to_dict(self, *, as_series):
        assert not as_series
        return self._values


def test_links_by_number_in_a_table_without_index_are_warned_of():
    table = PolarsTable(links=[[1], [2], [0]], id=[0, 1, 2])
    frame = as_frame(table, 3)
    with pytest.warns(UserWarning, match=r"polars table has no index.*id="):
        k.Graph("links").bind(Documents(3, frame))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        k.Graph("links", id="id").bind(Documents(3, frame))
        k.Graph("links").bind(Documents(3, as_frame(table.to_dict(as_series=False), 3)))


# Columns as pyarrow has them, and dates beyond nanoseconds


@pytest.mark.parametrize("kind", ["date32[day]", "date64[ms]", "duration[s]"])
def test_times_of_pyarrow(kind):
    pytest.importorskip("pyarrow")
    days = pd.Series(pd.date_range("2001-01-01", periods=6, freq="W"))
    plain = days - days[0] if kind.startswith("duration") else days
    arrow = pd.Series([None, *plain[1:]]).astype(f"{kind}[pyarrow]")
    frame = as_frame({"d": arrow}, 6)
    found = numbers(frame["d"], "d")
    assert np.isnan(found[0])
    assert_allclose(np.diff(found[1:]), 7.0)


def test_settings_of_dates_long_ago():
    dates = np.array(["0900-01-01", "1600-05-05", "2900-12-31"], dtype="datetime64[s]")
    bound = k.Matern("d").bind(Documents(3, pd.DataFrame({"d": dates})))
    assert bound.settings(2)["d"].to_numpy().astype("datetime64[s]").tolist() == [
        dates[0].item(),
        dates[2].item(),
    ]


# A kernel in a file of its own

NEW_KERNEL = '''
"""A kernel that nobody has heard of."""

from gptm.kernels.categorical import Categorical


class FirstLetter(Categorical):
    """Documents whose values begin with the same letter are alike."""

    def read(self, frame):
        return super().read(frame.assign(**{self.column: frame[self.column].str[0]}))

    def describe(self, dates=()):
        return f"documents with the same first letter of {self.column} are alike"
'''

USE_OF_IT = """
import gptm
from gptm.kernels import FirstLetter
from gptm.kernels.formula import parse_kernel
from gptm.cli.options import complete_kernel, show_kernels
from gptm.report.kernel_words import kernel_sentences

kernel = parse_kernel("first_letter(who)")
assert isinstance(kernel, FirstLetter) and "FirstLetter" in gptm.kernels.__all__
assert list(complete_kernel("fir")) == ["first_letter("]
model = gptm.GPTM(2, kernel=kernel, inference="map", max_iter=1, random_state=0)
model.fit([[3, 2, 0], [0, 1, 4]] * 3, metadata={"who": ["ann", "bob"] * 3})
model.save("model.gptm")
again = gptm.load("model.gptm")
assert again.kernel_ == kernel
print(*kernel_sentences(again))
try:
    show_kernels("list")
except BaseException as end:
    assert type(end).__name__ == "Exit"
"""


def test_a_new_kernel_is_one_new_file(tmp_path):
    package, kernels = Path(gptm.__file__).parent, tmp_path / "gptm" / "kernels"
    kernels.mkdir(parents=True)
    for path in [*package.iterdir(), *(package / "kernels").iterdir()]:
        if path.name not in ("kernels", "__pycache__"):
            (tmp_path / path.relative_to(package.parent)).symlink_to(path)
    (kernels / "first_letter.py").write_text(NEW_KERNEL)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", USE_OF_IT],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Documents with the same first letter of who are alike." in done.stdout
    assert "first_letter(column, multiple=False)\n    Documents whose values begin" in done.stdout
