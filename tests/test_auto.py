"""kernel="auto", and how documents get their names."""

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gptm import GPTM, Corpus
from gptm import kernels as k

N = 12
RNG = np.random.default_rng(0)
NAMES = [f"d{i}" for i in range(N)]
CHAIN = [[NAMES[i - 1]] if i else [] for i in range(N)]
X = RNG.poisson(2.0, (N, 6))


def frame(**columns):
    return pd.DataFrame(columns)


COLUMNS = {
    "dates": (frame(when=pd.date_range("2020", periods=N)), k.Matern("when")),
    "ISO dates": (frame(when=[f"20{10 + i}-01-01" for i in range(N)]), k.Matern("when")),
    "numbers": (frame(x=np.arange(N) * 1.5), k.Matern("x")),
    "compact dates, one blank": (
        frame(when=["", *(f"20{10 + i}0101" for i in range(1, N))]),
        k.Matern("when"),
    ),
    "categories": (frame(who=list("aabbccaabbcc")), k.Categorical("who")),
    "true or false": (frame(open=[True, False] * 6), k.Categorical("open")),
    "true or false, one missing": (
        frame(open=[None, False, *[True, False] * 5]),
        k.Categorical("open"),
    ),
    "vectors of zeros and ones": (frame(v=np.eye(3)[[0, 1, 2] * 4].tolist()), k.Embedding("v")),
    "vectors": (frame(v=list(RNG.standard_normal((N, 3)))), k.Embedding("v")),
    "vectors, some missing": (
        frame(v=[None, *RNG.standard_normal((N - 1, 3)).tolist()]),
        k.Embedding("v"),
    ),
    "ids in a column": (frame(id=NAMES, links=CHAIN), k.Graph("links", id="id")),
    "numbers as ids": (
        frame(number=np.arange(N) + 7, links=[[8 + i % 11] for i in range(N)]),
        k.Graph("links", id="number"),
    ),
    "ids in the index": (frame(links=CHAIN).set_axis(NAMES), k.Graph("links")),
    "numbers of rows": (frame(links=[[(i + 1) % N] for i in range(N)]), k.Graph("links")),
    "most ids known": (
        frame(id=NAMES, links=[[*names, f"x{i}"] for i, names in enumerate(CHAIN[:6])] + CHAIN[6:]),
        k.Graph("links", id="id"),
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_auto_finds_the_kernel_for_a_column(name, caplog):
    table, expected = COLUMNS[name]
    with caplog.at_level(logging.WARNING, "gptm"):
        assert k.auto_kernel(table) == expected
    assert len(caplog.records) == 1
    assert repr(expected) in caplog.text


UNUSABLE = {
    "constant": ([1.0] * N, "constant"),
    "all missing": ([None] * N, "all values missing"),
    "all blank": (["", " "] * 6, "all values missing"),
    "names of documents": (NAMES, "hardly repeat"),
    "lists of unknown ids": (
        [["u", "v"], ["w"]] + [[]] * (N - 2),
        "neither ids of documents nor vectors",
    ),
    "empty lists": ([[]] * N, "lists are empty"),
    "infinite": ([np.inf, *range(N - 1)], "infinite"),
    "huge": (np.arange(N) * 1e200, "too large"),
    "tiny": (np.arange(N) * 1e-200, "too close"),
    "vectors with holes": ([[np.nan, 1.5 + i] for i in range(N)], "each of its vectors misses"),
    "whole vectors with holes": (
        [[np.nan, 1e6 + i] for i in range(N)],
        "each of its vectors misses",
    ),
    "huge vectors": (list(1e200 * RNG.standard_normal((N, 3))), "their numbers are too large"),
    "arrays of two axes": ([np.ones((2, 2)) * i for i in range(N)], "neither lists of ids nor vec"),
    "arrays of no axis": (
        [np.array(1.5 * i) for i in range(N)],
        "neither lists of ids nor vectors",
    ),
    "lists of arrays": ([[np.ones(2), np.ones(2)]] * N, "neither lists of ids nor vectors"),
    "dictionaries": ([{"a": i} for i in range(N)], "neither numbers, dates nor names"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_auto_names_what_it_leaves_out_and_why(name, caplog):
    values, reason = UNUSABLE[name]
    with caplog.at_level(logging.WARNING, "gptm"):
        assert k.auto_kernel(frame(column=values)) is None
    assert f"'column' ({reason}" in caplog.text or reason in caplog.text


@pytest.mark.parametrize("name", UNUSABLE)
def test_auto_fits_beside_what_it_leaves_out(name):
    table = frame(column=UNUSABLE[name][0], x=np.arange(N) * 1.5)
    model = GPTM(2, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    assert model.kernel_.columns == ("x",)


def test_auto_leaves_out_dictionaries_of_arrow(caplog):
    pa = pytest.importorskip("pyarrow")
    struct = pd.ArrowDtype(pa.struct([("a", pa.int64())]))
    table = frame(
        column=pd.Series([{"a": i} for i in range(N)], dtype=struct), x=np.arange(N) * 1.5
    )
    model = GPTM(2, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    assert model.kernel_.columns == ("x",)
    assert "'column' (neither numbers, dates nor names)" in caplog.text


def test_auto_takes_columns_of_several_levels():
    table = frame(who=np.repeat(np.arange(N), 2), x=np.arange(2.0 * N)).groupby("who")
    model = GPTM(2, random_state=0, max_iter=3, tol=0.5)
    model.fit(X, metadata=table.agg({"x": ["mean", "count"]}))
    assert model.kernel_.columns == ("x_mean",)


@pytest.mark.parametrize("ids", [NAMES, [f"{i}" for i in range(100, 100 + N)]])
def test_auto_says_what_it_takes_for_ids(ids, caplog):
    table = frame(id=ids, links=[[ids[i - 1]] for i in range(N)])
    assert k.auto_kernel(table) == k.Graph("links", id="id")
    assert "'id' (but for the ids that 'links' links to)" in caplog.text
    assert "hardly repeat" not in caplog.text


def test_auto_fits_all_of_them_together(caplog):
    table = frame(
        id=NAMES,
        links=CHAIN,
        v=list(RNG.standard_normal((N, 3))),
        x=np.arange(N) * 1.5,
        who=list("aabbccaabbcc"),
    )
    model = GPTM(2, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    assert len(model.kernel_.terms) == 4
    theta = model.transform(np.zeros((2, 6)), metadata=table[:2])
    assert_allclose(theta.sum(1), 1)


def test_ids_of_a_corpus_are_the_ids_of_its_documents():
    """Graph("links") without a column of ids takes them, at fit and at transform."""
    table = frame(links=CHAIN)
    corpus = Corpus(X, metadata=table, ids=NAMES)
    kernel = k.Graph("links")
    model = GPTM(2, kernel=kernel, random_state=0, max_iter=3, tol=0.5).fit(corpus)
    other = GPTM(2, kernel=k.Graph("links", id="id"), random_state=0, max_iter=3, tol=0.5)
    other.fit(X, metadata=table.assign(id=NAMES))
    assert_array_equal(model.doc_means_, other.doc_means_)
    new = Corpus(X[:2], metadata=frame(links=[["d3"], []]), ids=["new", "newer"])
    expected = other.transform(X[:2], metadata=frame(links=[["d3"], []], id=["new", "newer"]))
    assert_array_equal(model.transform(new), expected)


@pytest.mark.parametrize("form", ["smooth", "direct"])
def test_a_fitted_model_with_links_can_be_pickled(form):
    table = frame(id=NAMES, links=CHAIN)
    kernel = k.Graph("links", id="id", form=form) + k.NearestNeighbors(2)
    model = GPTM(2, kernel=kernel, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X, metadata=table), model.transform(X, metadata=table))


@pytest.mark.parametrize(
    "kernel",
    [
        k.Periodic("x", period=np.float32(3), length_scale=np.int64(1)),
        k.Matern("x", nu=np.float32(1.5), length_scale=np.int64(2)),
        k.MustLink("who", gamma=np.int64(1)),
        k.NearestNeighbors(np.int64(2), on="x", bandwidth=np.float32(1)),
        k.Graph("links", kappa=np.float32(0.2), nu=np.int64(2)),
    ],
    ids=repr,
)
def test_numbers_of_numpy_are_numbers(kernel):
    """As they come out of np.arange in a grid of parameters."""
    table = frame(
        x=np.arange(N) * 1.5, who=list("aabbccaabbcc"), links=[[(i + 1) % N] for i in range(N)]
    )
    assert np.isfinite(kernel.bind(k.Documents(N, table)).gram()).all()


def test_a_period_in_words_is_for_dates():
    with pytest.raises(ValueError, match="reads numbers"):
        k.Periodic("x", period="10y").bind(k.Documents(N, frame(x=np.arange(N) * 1.0)))


def test_the_value_that_is_no_date_is_named():
    when = ["2001-02-01", "2001-03-01", "soon", *["2001-04-01"] * (N - 3)]
    with pytest.raises(ValueError, match="'soon'"):
        k.RBF("when").bind(k.Documents(N, frame(when=when)))


@pytest.mark.parametrize("make", [k.Sum, lambda: k.Sum(1), lambda: k.Product("a", "b")])
def test_sums_and_products_are_of_kernels(make):
    with pytest.raises(ValueError, match="expects one or more kernels"):
        make()


def test_scores_may_do_without_a_column_too():
    table = frame(x=np.arange(N) * 1.5, who=list("aabbccaabbcc"))
    kernel = k.RBF("x") + k.Categorical("who")
    model = GPTM(2, kernel=kernel, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    without = table[["x"]]
    with pytest.raises(ValueError, match="'who'"):
        model.perplexity(X, metadata=without)
    unknown = model.perplexity(X, metadata=table.assign(who=None))
    assert model.perplexity(X, metadata=without, missing_columns="prior") == unknown


def test_categories_stay_categories_whatever_their_names():
    frame = pd.DataFrame({"year": pd.Categorical(["1990", "1991"] * 10)})
    assert k.auto_kernel(frame) == k.Categorical("year")


def test_links_to_ids_that_repeat_are_left_out_with_the_reason(caplog):
    table = pd.DataFrame({"post": ["a", "b", "c", "c"], "cites": [["b"], ["a"], ["a"], ["b"]]})
    assert k.auto_kernel(table) is None
    assert "'cites' (the ids that it links to, in column 'post', repeat; make them" in caplog.text
