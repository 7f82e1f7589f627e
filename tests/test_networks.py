"""Graphs between documents and their nearest neighbours, against the formulas written out densely."""

import json
import re
import tracemalloc
import warnings
from collections import deque

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix, diags, eye_array
from scipy.sparse.linalg import ArpackNoConvergence, cg, eigsh
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from threadpoolctl import threadpool_limits

import gptm
from gptm import GPTM, metrics
from gptm import kernels as k
from gptm.kernels import Documents
from gptm.operators import MatrixFree, Sparse, Spectral
from graphs import (
    KAPPA,
    NU,
    euclidean_distances,
    neighbor_edges,
    neighbor_weights,
    prior_variance,
    smooth,
    smooth_leaves,
    standardised,
    undirected,
    unscaled,
)

some = settings(max_examples=60, deadline=None, derandomize=True)
few = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)
STRENGTHS = np.logspace(-3, 6, 10)
FORMS = ["smooth", "direct"]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Large decompositions crawl where other processes want the cores too."""
    with threadpool_limits(1):
        yield


def random_weights(seed, n, density=0.4, spread=0.5):
    """(n, n) weights in both directions over orders of magnitude, with loops and at least one link."""
    rng = np.random.default_rng(seed)
    A = 10.0 ** rng.uniform(-spread, spread, (n, n)) * (rng.random((n, n)) < density)
    A[0, n - 1] = 1.0
    return A


def bind(kernel, frame, counts=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kernel.bind(Documents(len(frame), frame, counts))


def read(bound, frame, counts=None):
    return bound.read(Documents(len(frame), frame, counts))


# Columns of links


IDS = list("abcdef")
NAMED = [["b", "c"], ["a"], ["c"], [], ["d", "f"], ["a"]]
WEIGHTS = np.zeros((6, 6))
for one, other in ("ab", "ac", "ed", "ef", "fa"):
    WEIGHTS[IDS.index(one), IDS.index(other)] = 1.0
WEIGHTS = undirected(WEIGHTS)
FRAME = pd.DataFrame({"links": NAMED, "id": IDS})


def text(separator):
    return [separator.join(names) for names in NAMED]


CELLS = {
    "lists": NAMED,
    "tuples": [tuple(names) for names in NAMED],
    "sets": [set(names) for names in NAMED],
    "frozen sets": [frozenset(names) for names in NAMED],
    "arrays": [np.array(names, dtype=object) for names in NAMED],
    "arrays of text": [np.array(names, dtype=str) for names in NAMED],
    "commas": text(","),
    "commas and spaces": text(", "),
    "semicolons": text(";"),
    "bars": text("|"),
    "spaces": text(" "),
    "space around": [f" {names} ; " for names in text(" ;  ")],
    "repeated": [names * 2 for names in NAMED],
    "none for no links": [names or None for names in NAMED],
    "nan for no links": [names or np.nan for names in NAMED],
    "na for no links": [names or pd.NA for names in NAMED],
    "none in lists": [[None, *names, np.nan] for names in NAMED],
    "lists from a file": [str(names) for names in NAMED],
    "tuples from a file": [str(tuple(names)) for names in NAMED],
    "JSON from a file": [f" {json.dumps(names)} " for names in NAMED],
    "arrays from a file": [str(np.array(names, dtype=object)) for names in NAMED],
    "lists without quotation marks": [f"[{names}]" for names in text(", ")],
    "queues": [deque(names) for names in NAMED],
    "keys": [dict.fromkeys(names).keys() for names in NAMED],
    "indices": [pd.Index(names) for names in NAMED],
    "series": [pd.Series(names, dtype=object) for names in NAMED],
    "mixed": [("b", "c"), "a", {"c"}, None, np.array(["d", "f"]), ["a"]],
}


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
def test_links_in_any_form(cells):
    bound = bind(k.Graph("links", id="id"), pd.DataFrame({"links": cells, "id": IDS}))
    assert_allclose(bound.gram(), smooth(WEIGHTS), rtol=1e-9)
    new = read(bound, pd.DataFrame({"links": cells, "id": [f"new {name}" for name in IDS]}))
    edges = np.array([[float(name in names) for name in IDS] for names in NAMED])
    assert_allclose(bound.cross_gram(new), smooth_leaves(WEIGHTS, edges)[0], rtol=1e-9)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, "", [], ()], ids=repr)
def test_one_id_per_document(missing):
    frame = pd.DataFrame({"links": ["b", "c", missing], "id": list("abc")})
    chain = undirected(np.diag([1.0, 1.0], 1))
    assert_allclose(bind(k.Graph("links", id="id"), frame).gram(), smooth(chain), rtol=1e-9)


@pytest.mark.parametrize("name", ["post {}", "Doe, J. ({})", "a;{}", "1, {}; x|y"])
@pytest.mark.parametrize("mark", ["; ", "|", " ", None])
def test_ids_that_hold_spaces_and_commas(name, mark):
    """Are found as a whole, and between marks that they do not hold."""
    names = [name.format(number) for number in range(4)]
    links = [names[1], f" {names[2]} ", names[3], name.format(99)]
    edges = np.diag([1.0, 1.0, 1.0], 1)
    if mark is not None and mark.strip() not in name and (mark.strip() or " " not in name):
        links[0] = mark.join([names[1], names[3]])
        edges[0, 3] = 1.0
    frame = pd.DataFrame({"links": links, "id": names})
    with pytest.warns(UserWarning, match="1 of"):
        bound = k.Graph("links", id="id").bind(Documents(4, frame))
    assert_allclose(bound.gram(), smooth(undirected(edges)), rtol=1e-9)
    new = read(bound, pd.DataFrame({"links": [names[2], None], "id": ["x", name.format(99)]}))
    assert_array_equal(new.edges.toarray(), np.eye(4)[[2, 3]])


def test_lists_from_a_file_of_ids_with_marks():
    names = ["post 1", "Doe, J.", "O'Neill"]
    cells = [str([names[1], names[2]]), str([names[0]]), "[]"]
    frame = pd.DataFrame({"links": cells, "id": names})
    bound = bind(k.Graph("links", id="id"), frame)
    assert bound.links.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
    assert bound.awaited == {}


def test_ids_in_brackets_keep_them():
    frame = pd.DataFrame({"links": ["[2]", "[1]", "[1],[2]"], "id": ["[1]", "[2]", "[3]"]})
    bound = bind(k.Graph("links", id="id"), frame)
    assert bound.links.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [1, 1, 0]]


def test_one_id_with_a_space_does_not_change_how_others_are_read():
    frame = pd.DataFrame({"links": ["b c", "c", "one more"], "id": ["a", "b", "c"]})
    more = pd.DataFrame({"links": [None], "id": ["one more"]})
    with pytest.warns(UserWarning, match="lead to ids"):
        bound = k.Graph("links", id="id").bind(Documents(3, frame))
    assert bound.links.toarray()[0].tolist() == [0, 1, 1]
    bound = bind(k.Graph("links", id="id"), pd.concat([frame, more], ignore_index=True))
    assert bound.links.toarray().tolist() == [[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0] * 4]


@pytest.mark.parametrize(
    ("ids", "links"),
    [
        ([7, 8, 9], [8, 9, None]),  # a column of floats, since one is missing
        ([7, 8, 9], ["8", "9", None]),
        ([7, 8, 9], [[8], [9.0], []]),
        ([7, 8, 9], ["[8]", "[9]", "[]"]),
        ([7, 8, 9], [range(8, 9), range(9, 10), range(0)]),
        ([7.0, 8.0, 9.0], [np.array([8]), np.array([9]), np.array([], dtype=int)]),
        (["7", "8", "9"], [8, 9, None]),
        (pd.array([7, 8, 9], dtype="Int64"), pd.array([8, 9, None], dtype="Int64")),
    ],
)
def test_ids_that_are_numbers(ids, links):
    chain = undirected(np.diag([1.0, 1.0], 1))
    frame = pd.DataFrame({"links": links, "id": ids})
    assert_allclose(bind(k.Graph("links", id="id"), frame).gram(), smooth(chain), rtol=1e-9)


def test_the_index_names_the_documents_by_default():
    named = FRAME.set_index("id")
    bound = bind(k.Graph("links"), named)
    assert_allclose(bound.gram(), smooth(WEIGHTS), rtol=1e-9)
    new = read(bound, pd.DataFrame({"links": [["a"], None]}, index=["x", "c"]))
    assert_allclose(bound.cross_gram(new)[1], bound.gram()[2], rtol=1e-9)
    numbered = pd.DataFrame({"links": [[1], [2], None]})
    chain = undirected(np.diag([1.0, 1.0], 1))
    assert_allclose(bind(k.Graph("links"), numbered).gram(), smooth(chain), rtol=1e-9)


def test_the_order_of_the_documents_does_not_matter():
    order = np.array([3, 1, 5, 0, 4, 2])
    bound = bind(k.Graph("links", id="id"), FRAME.iloc[order])
    assert_allclose(bound.gram(), smooth(WEIGHTS)[np.ix_(order, order)], rtol=1e-9)


def test_documents_without_an_id_can_link_but_not_be_linked_to():
    frame = pd.DataFrame({"links": [["b"], None, ["b"], None], "id": [None, "b", np.nan, None]})
    W = undirected(np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]))
    bound = bind(k.Graph("links", id="id"), frame)
    assert_allclose(bound.gram(), smooth(W), rtol=1e-9, atol=1e-15)
    new = read(bound, pd.DataFrame({"links": [None, ["None"], ["nan"]], "id": [None, np.nan, "x"]}))
    assert not bound.cross_gram(new).any()


def test_metadata_may_be_a_dict_of_lists():
    X = np.random.default_rng(0).poisson(2.0, (6, 5))
    models = [
        quietly(
            GPTM(2, kernel=k.Graph("links", id="id"), max_iter=3, random_state=0).fit, X, metadata=m
        )
        for m in (FRAME, {"links": NAMED, "id": IDS})
    ]
    assert_array_equal(models[0].doc_means_, models[1].doc_means_)


# Both forms


ADJACENCY = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "frame": pd.DataFrame,
    "csr": csr_matrix,
    "csr array": csr_array,
    "csc": csc_matrix,
    "coo array": coo_array,
}


@pytest.mark.parametrize("make", ADJACENCY.values(), ids=ADJACENCY)
def test_weights_in_any_matrix(make):
    A = random_weights(0, 7)
    bound = k.Graph(adjacency=make(A), kappa=0.5, nu=2).bind(Documents(7))
    assert_allclose(bound.gram(), smooth(undirected(A), 0.5, 2), rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
@pytest.mark.parametrize("dtype", [bool, int, np.float32])
def test_weights_of_any_type(make, dtype):
    A = (random_weights(1, 7) > 0).astype(dtype)
    bound = k.Graph(adjacency=make(A)).bind(Documents(7))
    assert_allclose(bound.gram(), smooth(undirected(A)), rtol=1e-9)


@pytest.mark.parametrize("kappa", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("nu", [1, 2, 3, 4])
def test_the_smooth_form_is_a_power_of_a_sparse_precision(kappa, nu):
    A = random_weights(2, 9)
    bound = k.Graph(adjacency=A, kappa=kappa, nu=nu).bind(Documents(9))
    assert_allclose(bound.gram(), smooth(undirected(A), kappa, nu), rtol=1e-7, atol=1e-9)
    assert bound.mean_diagonal() == pytest.approx(1.0, rel=1e-10)
    assert_allclose(bound.operator.to_dense(), bound.gram(), atol=1e-9)


@pytest.mark.parametrize("gamma", [0.2, 3.0])
def test_the_direct_form_is_equation_21(gamma):
    A = random_weights(3, 9)
    W = undirected(A)
    diagonal = 1.1 * gamma * W.sum(1).max()
    bound = k.Graph(adjacency=A, form="direct", gamma=gamma, diagonal=diagonal).bind(Documents(9))
    assert_allclose(bound.gram(), gamma * W + diagonal * np.eye(9), rtol=1e-9, atol=1e-12)
    assert_allclose(bound.operator.to_dense(), bound.gram(), atol=1e-9)
    chosen = k.Graph(adjacency=A, form="direct", gamma=gamma).bind(Documents(9)).gram()
    assert np.ptp(np.diagonal(chosen)) < 1e-9 * chosen.max()
    assert_allclose(chosen - np.diag(np.diagonal(chosen)), gamma * W, rtol=1e-9, atol=1e-12)


def test_links_count_once_however_often_and_whichever_way():
    A = np.zeros((4, 4))
    A[0, 1], A[1, 0], A[2, 1], A[3, 3] = 0.5, 2.0, 1.0, 9.0
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 2.0
    W[1, 2] = W[2, 1] = 1.0
    assert_allclose(k.Graph(adjacency=A).bind(Documents(4)).gram(), smooth(W), atol=1e-12)
    direct = k.Graph(adjacency=A, form="direct", diagonal=5.0).bind(Documents(4)).gram()
    assert_allclose(direct, W + 5.0 * np.eye(4), atol=1e-12)


def test_cycles_and_loops_are_fine():
    ring = pd.DataFrame({"links": [["b", "a"], ["c"], ["a", "c"]], "id": list("abc")})
    W = np.ones((3, 3)) - np.eye(3)
    assert_allclose(bind(k.Graph("links", id="id"), ring).gram(), smooth(W), rtol=1e-9)


@some
@given(seed=seeds, n=st.integers(2, 12), density=st.floats(0, 1), spread=st.floats(0, 7))
def test_the_smooth_form_is_positive_definite_with_mean_variance_one(seed, n, density, spread):
    G = k.Graph(adjacency=random_weights(seed, n, density, spread)).bind(Documents(n)).gram()
    assert_allclose(G, G.T, atol=1e-12)
    assert np.linalg.eigvalsh(G).min() > 0
    assert np.diagonal(G).mean() == pytest.approx(1.0)


@some
@given(
    seed=seeds,
    n=st.integers(2, 12),
    density=st.floats(0, 1),
    spread=st.floats(0, 7),
    gamma=st.floats(1e-3, 1e3),
)
def test_the_diagonal_of_the_direct_form_is_large_enough(seed, n, density, spread, gamma):
    A = random_weights(seed, n, density, spread)
    G = k.Graph(adjacency=A, form="direct", gamma=gamma).bind(Documents(n)).gram()
    assert np.linalg.eigvalsh(G).min() > 0
    np.linalg.cholesky(G)


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e6, 1e12])
def test_the_unit_of_the_weights_does_not_matter(size):
    A = random_weights(4, 8, 0.2)
    A[-1] = A[:, -1] = 0.0  # one document has no links
    G, reference = (k.Graph(adjacency=c * A).bind(Documents(8)).gram() for c in (size, 1.0))
    assert_allclose(G, reference, rtol=1e-6, atol=1e-9)
    direct = k.Graph(adjacency=size * A, form="direct").bind(Documents(8)).gram()
    assert_allclose(direct - np.diag(np.diagonal(direct)), size * undirected(A), atol=1e-9 * size)
    assert np.linalg.eigvalsh(direct).min() > 0


def test_parts_of_very_different_weights():
    A = np.zeros((5, 5))
    A[0, 1], A[2, 3] = 1e12, 1e-3
    for form in FORMS:
        G = k.Graph(adjacency=A, form=form).bind(Documents(5)).gram()
        assert np.linalg.eigvalsh(G).min() > 0


def named_diagonal(kernel, n):
    with pytest.raises(ValueError, match="diagonal=") as error:
        kernel.bind(Documents(n)).gram()
    return float(re.search(r"at least ([-+.e\d]*\d)", str(error.value))[1])


@some
@given(
    seed=seeds, n=st.integers(2, 12), density=st.floats(0, 1), gamma=st.sampled_from([0.01, 1, 300])
)
def test_a_diagonal_that_is_too_small_is_refused_with_the_smallest_one(seed, n, density, gamma):
    A = random_weights(seed, n, density)
    lowest = -gamma * np.linalg.eigvalsh(undirected(A))[0]
    kernel = k.Graph(adjacency=A, form="direct", gamma=gamma, diagonal=0.5 * lowest)
    named = named_diagonal(kernel, n)
    assert named == pytest.approx(lowest, rel=1e-4)
    enough = kernel.replace(diagonal=named).bind(Documents(n))
    assert np.linalg.eigvalsh(enough.gram()).min() > 0
    X = np.ones((n, 1))
    expected = np.linalg.solve(enough.gram() + np.eye(n), X)
    assert_allclose(enough.operator.solve(np.ones(1), X), expected, rtol=1e-7, atol=1e-9)
    assert named_diagonal(kernel.replace(diagonal=named * (1 - 1e-3)), n) == named


def test_a_diagonal_that_is_too_small_for_many_documents():
    n = 550
    A = csr_matrix(np.triu(np.random.default_rng(0).random((n, n)) < 4 / n, 1))
    lowest = -np.linalg.eigvalsh(undirected(A.toarray()))[0]
    kernel = k.Graph(adjacency=A, form="direct", diagonal=0.9 * lowest)
    named = named_diagonal(kernel, n)
    assert named == pytest.approx(lowest, rel=2e-4)
    enough = kernel.replace(diagonal=named).bind(Documents(n))
    np.linalg.cholesky(enough.gram())


def chain(n, **keywords):
    return k.Graph(adjacency=eye_array(n, k=1, format="csr"), form="direct", **keywords)


def test_the_diagonal_of_a_long_chain_is_checked_quickly(monkeypatch):
    """Its lowest eigenvalues, -2 but for a millionth, crowd together."""
    tolerances = []

    def watched(*arguments, **keywords):
        tolerances.append(keywords["tol"])
        return eigsh(*arguments, **keywords)

    monkeypatch.setattr("gptm.kernels.network.eigsh", watched)
    named = named_diagonal(chain(3000, diagonal=1.9), 3000)
    assert 2.0 - 1e-6 < named <= 2.0002
    assert tolerances == [1e-4]
    assert chain(3000, diagonal=named).bind(Documents(3000)).mean_diagonal() == named


def test_a_lowest_eigenvalue_that_is_not_found_leaves_the_safe_bound(monkeypatch):
    def hopeless(*arguments, **keywords):
        raise ArpackNoConvergence("no convergence", np.zeros(0), np.zeros((0, 0)))

    monkeypatch.setattr("gptm.kernels.network.eigsh", hopeless)
    safe = chain(600).bind(Documents(600)).mean_diagonal()
    named = named_diagonal(chain(600, diagonal=1.9), 600)
    assert named == pytest.approx(safe, rel=1e-6)
    assert chain(600, diagonal=named).bind(Documents(600)).mean_diagonal() == named


# Links to documents that are not there


def awaiting():
    return pd.DataFrame(
        {
            "links": [["b", "z"], ["z", "y", "a"], None, ["c", "y", "y"], "z a"],
            "id": list("abcde"),
        }
    )


def test_links_that_lead_nowhere_are_counted_in_one_warning():
    with pytest.warns(UserWarning, match="links") as caught:
        k.Graph("links", id="id").bind(Documents(5, awaiting()))
    assert len(caught) == 1
    message = str(caught[0].message)
    assert re.search(r"\b5 of 9 links", message)  # of each document once
    assert "'id'" in message
    assert "'z'" in message
    assert caught[0].filename == __file__


def test_a_fit_says_it_once():
    X = np.random.default_rng(0).poisson(2.0, (5, 6))
    model = GPTM(2, kernel=k.RBF("t") + k.Graph("links", id="id"), max_iter=3, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, metadata=awaiting().assign(t=np.arange(5.0)))
        model.transform(X, metadata=awaiting().assign(t=np.arange(5.0)))
    links = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    assert sum("links" in message for message in links) == 1


def quietly(method, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return method(*arguments, **keywords)


@pytest.mark.parametrize("form", FORMS)
def test_awaited_documents_join_those_that_link_to_them(form):
    kernel = k.Graph("links", id="id", form=form)
    bound = quietly(kernel.bind, Documents(5, awaiting()))
    arrived = pd.DataFrame({"links": [None, None, ["a"], "d,b"], "id": ["z", "y", "z", "y"]})
    linked = pd.DataFrame(
        {"links": [["a", "b", "e"], ["b", "d"]] * 2, "id": ["n1", "n2", "n3", "n4"]}
    )
    new, same = read(bound, arrived), read(bound, linked)
    assert_allclose(bound.cross_gram(new), bound.cross_gram(same), rtol=1e-12)
    assert_allclose(bound.own_gram(new, joint=False), bound.own_gram(same, joint=False))
    assert bound.cross_gram(new).any(axis=1).all()


def test_awaited_links_change_nothing_among_the_training_documents():
    known = awaiting()
    known["links"] = [["b"], ["a"], None, ["c"], ["a"]]
    kernel = k.Graph("links", id="id")
    awaited = quietly(kernel.bind, Documents(5, awaiting()))
    assert_array_equal(awaited.gram(), bind(kernel, known).gram())


@pytest.mark.parametrize("form", FORMS)
def test_all_links_may_lead_nowhere_yet(form):
    frame = pd.DataFrame({"links": ["z", None, "y"], "id": list("abc")})
    bound = quietly(k.Graph("links", id="id", form=form).bind, Documents(3, frame))
    G = bound.gram()
    assert_allclose(G, G[0, 0] * np.eye(3), atol=1e-12)
    assert G[0, 0] > 0
    cross = bound.cross_gram(read(bound, pd.DataFrame({"links": [None], "id": ["z"]})))
    assert cross[0, 0] > 0
    assert not cross[0, 1:].any()


# New documents


NEW = pd.DataFrame(
    {
        "links": [["a"], ["a", "b"], None, ["n1", "nobody"], ["d", "e", "f"], "c"],
        "id": ["n1", "n2", "n3", "n4", None, "n6"],
    }
)
EDGES = np.array(
    [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 1],
        [0, 0, 1, 0, 0, 0],
    ]
)


@pytest.mark.parametrize(("kappa", "nu"), [(KAPPA, NU), (0.5, 1), (1.0, 2)])
def test_new_documents_hang_on_the_graph_as_leaves(kappa, nu):
    bound = bind(k.Graph("links", id="id", kappa=kappa, nu=nu), FRAME)
    new = read(bound, NEW)
    cross, variance = smooth_leaves(WEIGHTS, EDGES, kappa, nu)
    assert_allclose(bound.cross_gram(new), cross, rtol=1e-9)
    assert_allclose(bound.own_gram(new, joint=False), variance, rtol=1e-9)
    alpha = np.random.default_rng(0).standard_normal((6, 2))
    assert_allclose(
        bound.cross(new).mean(alpha, bound.gram() @ alpha), cross @ alpha, rtol=1e-9, atol=1e-12
    )


def test_new_documents_of_the_direct_form_vary_as_all_do():
    """Covariances of about gamma with the linked ones; never more than their common variance allows."""
    bound = bind(k.Graph("links", id="id", form="direct", gamma=0.5, diagonal=20.0), FRAME)
    new = read(bound, NEW)
    assert_allclose(bound.own_gram(new, joint=False), 20.0)
    cross = bound.cross_gram(new)
    assert_allclose(cross[EDGES > 0], 0.5, rtol=0.1)
    assert np.abs(cross[EDGES == 0]).max() < 0.05


@pytest.mark.parametrize("form", FORMS)
def test_documents_of_one_batch_do_not_see_each_other(form):
    bound = bind(k.Graph("links", id="id", form=form), FRAME)
    batch = read(bound, NEW)
    alpha = np.random.default_rng(0).standard_normal((6, 2))
    together = bound.cross(batch)
    for row in range(len(NEW)):
        alone = read(bound, NEW.iloc[[row]])
        assert_array_equal(bound.cross_gram(alone)[0], bound.cross_gram(batch)[row])
        assert_allclose(
            bound.cross(alone).mean(alpha, bound.gram() @ alpha)[0],
            together.mean(alpha, bound.gram() @ alpha)[row],
            rtol=1e-12,
        )
        assert_allclose(
            bound.cross(alone).variance(STRENGTHS)[0],
            together.variance(STRENGTHS)[row],
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize("form", FORMS)
def test_documents_without_links_keep_the_prior(form):
    bound = bind(k.Graph("links", id="id", form=form), FRAME)
    expected = prior_variance(WEIGHTS) if form == "smooth" else bound.gram()[0, 0]
    alone = pd.DataFrame({"links": [None, [], "nobody", np.nan], "id": ["x", "y", None, "z"]})
    for new in (read(bound, alone), bound.read(Documents(4, None))):
        assert not bound.cross_gram(new).any()
        assert_allclose(bound.own_gram(new, joint=False), np.full(4, expected), rtol=1e-9)
        assert_allclose(bound.own_gram(new, joint=True), expected * np.eye(4), rtol=1e-9)
        alpha = np.ones((6, 2))
        assert not bound.cross(new).mean(alpha, bound.gram() @ alpha).any()
        variance = bound.cross(new).variance(STRENGTHS)
        assert_allclose(variance, np.tile(expected * STRENGTHS, (4, 1)), rtol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_a_link_tells_something(form):
    """What is known of a linked document leaves less of its own variance open than of an unlinked one."""
    bound = bind(k.Graph("links", id="id", form=form), FRAME)
    new = read(bound, NEW)
    linked = EDGES.any(axis=1)
    share = bound.cross(new).variance(np.array([0.1, 1.0, 100.0]))
    share /= bound.own_gram(new, joint=False)[:, None] * np.array([0.1, 1.0, 100.0])
    assert_allclose(share[~linked], 1.0, rtol=1e-9)
    assert (share[linked] < 1 - 1e-4).all()


@pytest.mark.parametrize("form", FORMS)
def test_a_document_with_a_known_id_is_that_document(form):
    bound = bind(k.Graph("links", id="id", form=form), FRAME)
    again = pd.DataFrame({"links": [None, ["a"], "d e f"], "id": ["e", "c", "b"]})
    new, there = read(bound, again), [4, 2, 1]
    assert_allclose(bound.cross_gram(new), bound.gram()[there], rtol=1e-9, atol=1e-15)
    among = bound.gram()[np.ix_(there, there)]
    assert_allclose(bound.own_gram(new, joint=True), among, rtol=1e-9, atol=1e-15)
    alpha = np.random.default_rng(0).standard_normal((6, 2))
    F = bound.operator.matmul(alpha)
    assert_allclose(bound.cross(new).mean(alpha, bound.gram() @ alpha), F[there], rtol=1e-9)
    b = np.array([0.5, 10.0])
    G = bound.gram()
    variances = [np.diag(s * G @ np.linalg.inv(s * G + np.eye(6))) for s in b]
    assert_allclose(bound.cross(new).variance(b), np.transpose(variances)[there], rtol=1e-7)


def test_rows_that_are_merely_numbered_anew_are_new():
    bound = bind(k.Graph("links"), pd.DataFrame({"links": [[1], [2], None]}))
    new = read(bound, pd.DataFrame({"links": [None, [0], [1, 2]]}))
    chain = undirected(np.diag([1.0, 1.0], 1))
    cross, variance = smooth_leaves(chain, np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1]]))
    assert_allclose(bound.cross_gram(new), cross, rtol=1e-9)
    assert_allclose(bound.own_gram(new, joint=False), variance, rtol=1e-9)


def test_rows_that_go_on_counting_have_the_numbers_for_ids():
    """As do the rows that cross-validation takes from one table."""
    whole = pd.DataFrame({"links": [[1, 4], [2], None, [0], [1]]})
    training, later = whole.iloc[:3], whole.iloc[3:]
    bound = quietly(k.Graph("links").bind, Documents(3, training))
    chain = undirected(np.diag([1.0, 1.0], 1))
    cross = smooth_leaves(chain, np.array([[1, 0, 0], [1, 1, 0]]))[0]  # the first awaited number 4
    assert_allclose(bound.cross_gram(read(bound, later)), cross, rtol=1e-9)


@few
@given(
    seed=seeds,
    n=st.integers(2, 10),
    density=st.floats(0, 1),
    spread=st.floats(0, 3),
    form=st.sampled_from(FORMS),
    nu=st.integers(1, 4),
)
def test_predictions_are_those_of_one_large_covariance(seed, n, density, spread, form, nu):
    """All of graph and leaves is one positive semi-definite matrix, so no variance is ever negative."""
    A = random_weights(seed, n + 4, density, spread)
    frame = pd.DataFrame({"row": np.arange(n + 4)})
    A[0, 1] = 1.0
    bound = k.Graph(adjacency=A, id="row", form=form, nu=nu).bind(Documents(n, frame[:n]))
    new = read(bound, frame[n:])
    G, C, V = bound.gram(), bound.cross_gram(new), bound.own_gram(new, joint=True)
    whole = np.block([[G, C.T], [C, V]])
    assert np.linalg.eigvalsh(whole).min() > -1e-9 * np.abs(whole).max()
    assert (bound.own_gram(new, joint=False) > 0).all()
    assert_allclose(bound.own_gram(new, joint=False), np.diagonal(V), rtol=1e-9)
    variance = bound.cross(new).variance(STRENGTHS)
    assert np.isfinite(variance).all()
    assert (variance >= 0).all()
    b = np.array([0.01, 1.0, 10.0])
    expected = [
        s * np.diagonal(V) - s**2 * np.diagonal(C @ np.linalg.solve(s * G + np.eye(n), C.T))
        for s in b
    ]
    size = np.abs(whole).max() * b
    assert_allclose(bound.cross(new).variance(b) / size, np.transpose(expected) / size, atol=1e-9)


def test_a_matrix_that_covers_documents_to_come():
    A = random_weights(5, 9)
    W, rows = undirected(A), np.array([7, 0, 3, 2, 8, 4])
    frame = pd.DataFrame({"row": rows})
    bound = bind(k.Graph(adjacency=csr_matrix(A), id="row"), frame)
    training = W[np.ix_(rows, rows)]
    assert_allclose(bound.gram(), smooth(training), rtol=1e-9)
    new = read(bound, pd.DataFrame({"row": [1, 5, 3, np.nan, 99, -1, 2.5]}))
    cross = bound.cross_gram(new)
    assert_allclose(cross[:2], smooth_leaves(training, W[[1, 5]][:, rows])[0], rtol=1e-9)
    assert_allclose(cross[2], bound.gram()[2], rtol=1e-9)
    assert not cross[3:].any()


@pytest.mark.parametrize("order", [np.arange(9), np.arange(9)[::-1]], ids=["same", "other"])
def test_a_table_of_weights_goes_by_its_labels(order):
    A = random_weights(5, 9)
    labels = np.array([f"d{row}" for row in range(9)], dtype=object)
    table = pd.DataFrame(A, index=labels, columns=labels).iloc[:, order]
    rows = np.array([7, 0, 3, 2, 8, 4])
    by_label = bind(k.Graph(adjacency=table, id="name"), pd.DataFrame({"name": labels[rows]}))
    by_place = bind(k.Graph(adjacency=A, id="row"), pd.DataFrame({"row": rows}))
    assert_array_equal(by_label.gram(), by_place.gram())
    found = read(by_label, pd.DataFrame({"name": ["d1", "d3", "d99", None]}))
    expected = read(by_place, pd.DataFrame({"row": [1, 3, 99, None]}))
    assert_array_equal(by_label.cross_gram(found), by_place.cross_gram(expected))
    in_order = k.Graph(adjacency=table).bind(Documents(9)).gram()
    assert_array_equal(in_order, k.Graph(adjacency=A).bind(Documents(9)).gram())


def test_a_graph_of_networkx_is_refused_with_the_way_to_pass_it():
    nx = pytest.importorskip("networkx")
    graph = nx.path_graph(5)
    model = GPTM(2, kernel=k.Graph(adjacency=graph))
    with pytest.raises(ValueError, match=r"adjacency.*nx\.to_scipy_sparse_array"):
        model.fit(np.eye(5, dtype=int) + 1)
    bound = k.Graph(adjacency=nx.to_scipy_sparse_array(graph, nodelist=range(5))).bind(Documents(5))
    assert bound.edges.nnz == 8


def test_a_matrix_without_ids_knows_no_new_documents():
    bound = k.Graph(adjacency=random_weights(6, 5)).bind(Documents(5))
    assert not bound.reads_metadata
    new = bound.read(Documents(3, pd.DataFrame({"row": [0, 1, 2]})))
    assert not bound.cross_gram(new).any()
    assert (bound.own_gram(new, joint=False) > 0).all()


# What is no graph


def graph(links, ids="abc", **keywords):
    frame = pd.DataFrame({"links": links, "id": list(ids)})
    return lambda: k.Graph("links", id="id", **keywords).bind(Documents(len(frame), frame))


def matrix(adjacency, n, **keywords):
    return lambda: k.Graph(adjacency=adjacency, **keywords).bind(Documents(n))


PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])
ROW = pd.DataFrame({"row": [0, 1, 1]})
REFUSED = {
    "duplicate ids": (graph(["a", "b", "c"], "aba"), ["'a'", "'id'", "Drop"]),
    "duplicate index": (
        lambda: k.Graph("links").bind(
            Documents(2, pd.DataFrame({"links": [["x"], None]}, index=["x", "x"]))
        ),
        ["'x'", "index", "Drop"],
    ),
    "no links": (graph([None, [], ""]), ["'links'", "fill the column"]),
    "an array of no axis": (graph([np.array("b"), None, None]), ["'links'", "0 axes"]),
    "an array of two axes": (graph([np.ones((2, 2)), None, None]), ["'links'", "2 axes"]),
    "no links in a matrix": (matrix(np.zeros((3, 3)), 3), ["adjacency", "link"]),
    "no links in a sparse matrix": (matrix(csr_matrix((3, 3)), 3), ["adjacency", "link"]),
    "negative weights": (matrix(-PAIR, 2), ["adjacency", "negative"]),
    "negative weights, sparse": (matrix(csr_matrix(-PAIR), 2), ["adjacency", "negative"]),
    "nan": (matrix(PAIR * np.nan, 2), ["adjacency", "finite"]),
    "infinite": (matrix(np.where(PAIR > 0, np.inf, 0), 2), ["adjacency", "finite"]),
    "not square": (matrix(np.ones((2, 3)), 2), ["adjacency", "square", "(2, 3)"]),
    "no matrix": (matrix({"a": ["b"]}, 3), ["adjacency", "dict"]),
    "words": (matrix([["a", "b"], ["b", "a"]], 2), ["adjacency", "list"]),
    "labels that repeat": (
        lambda: k.Graph(adjacency=pd.DataFrame(PAIR, index=["a", "a"]), id="row").bind(
            Documents(2, pd.DataFrame({"row": ["a", "b"]}))
        ),
        ["index", "'a' repeats", "Graph("],
    ),
    "a vector": (matrix(np.ones(3), 3), ["adjacency", "square"]),
    "wrong size": (matrix(PAIR, 3), ["adjacency", "expected 3", "got 2", "id="]),
    "rows that repeat": (
        lambda: k.Graph(adjacency=np.ones((3, 3)), id="row").bind(Documents(3, ROW)),
        ["adjacency", "'row'", "repeat"],
    ),
    "rows outside": (
        lambda: k.Graph(adjacency=np.ones((3, 3)), id="row").bind(Documents(3, ROW + 2)),
        ["adjacency", "'row'", "3 rows"],
    ),
    "unknown form": (graph(["b", "c", "a"], form="dense"), ["form", "'smooth', 'direct'"]),
    "kappa zero": (graph(["b", "c", "a"], kappa=0), ["kappa", "positive"]),
    "kappa negative": (graph(["b", "c", "a"], kappa=-0.5), ["kappa", "positive"]),
    "kappa nan": (graph(["b", "c", "a"], kappa=np.nan), ["kappa", "positive"]),
    "kappa a word": (graph(["b", "c", "a"], kappa="far"), ["kappa", "positive"]),
    "nu zero": (graph(["b", "c", "a"], nu=0), ["nu must be"]),
    "nu five": (graph(["b", "c", "a"], nu=5), ["nu must be"]),
    "nu not whole": (graph(["b", "c", "a"], nu=1.5), ["nu must be"]),
    "gamma zero": (graph(["b", "c", "a"], form="direct", gamma=0.0), ["gamma", "positive"]),
    "diagonal zero": (graph(["b", "c", "a"], form="direct", diagonal=0), ["diagonal", "positive"]),
    "no metadata": (lambda: k.Graph("links", id="id").bind(Documents(3)), ["'links'", "metadata="]),
    "no column": (
        lambda: k.Graph("cites", id="id").bind(Documents(6, FRAME)),
        ["'cites'", "'links'"],
    ),
    "no id column": (lambda: k.Graph("links", id="doi").bind(Documents(6, FRAME)), ["'doi'"]),
    "column and matrix": (lambda: k.Graph("links", adjacency=PAIR), ["column", "adjacency="]),
    "neither": (lambda: k.Graph(), ["column", "adjacency="]),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_errors_name_what_is_wrong(make, words):
    with pytest.raises(ValueError, match=r"\w") as error:
        make().gram()
    for word in words:
        assert word in str(error.value), str(error.value)


# A kernel is a description


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (k.Graph("links", id="id"), "Graph('links', id='id')"),
        (k.Graph("links", kappa=0.5, nu=1), "Graph('links', kappa=0.5, nu=1)"),
        (k.Graph(adjacency=np.eye(3), id="row"), "Graph(id='row', adjacency=<3 x 3 matrix>)"),
        (k.Graph(adjacency=csr_matrix(np.eye(4))), "Graph(adjacency=<4 x 4 matrix>)"),
        (
            k.Graph("links", form="direct", diagonal=4.0, name="cited"),
            "Graph('links', form='direct', diagonal=4.0, name='cited')",
        ),
        (k.NearestNeighbors(), "NearestNeighbors()"),
        (k.NearestNeighbors(3, on="t"), "NearestNeighbors(3, on='t')"),
        (k.NearestNeighbors(on=["t", "s"]), "NearestNeighbors(on=['t', 's'])"),
    ],
)
def test_representations(kernel, text):
    assert repr(kernel) == text


@pytest.mark.parametrize("make", [np.asarray, csr_matrix, csr_array])
def test_kernels_of_matrices_can_be_copied_and_compared(make):
    A = random_weights(7, 5)
    kernel = k.Graph(adjacency=make(A), kappa=0.4, name="cited")
    copy = clone(kernel)
    assert copy == kernel
    assert copy is not kernel
    assert repr(copy) == repr(kernel)
    assert kernel != k.Graph(adjacency=make(2 * A), kappa=0.4, name="cited")
    assert kernel != k.Graph(adjacency=make(np.eye(4)), kappa=0.4, name="cited")
    assert kernel != k.Graph("links", kappa=0.4, name="cited")
    assert kernel != copy.set_params(kappa=0.5)
    assert kernel.kappa == 0.4
    assert k.Graph.from_params(kernel.get_params()) == kernel
    total = clone(kernel + k.RBF("t"))
    assert total == kernel + k.RBF("t")
    total.set_params(k1__adjacency=make(3 * A), k1__nu=1)
    assert_allclose(
        total.terms[0].bind(Documents(5)).gram(), smooth(undirected(A), 0.4, 1), rtol=1e-9
    )
    before = make(A)
    kernel.bind(Documents(5)).gram()
    assert abs(kernel.adjacency - before).sum() == 0  # the matrix is left alone


def test_kernels_of_columns_can_be_changed_by_name():
    kernel = k.Graph("links", id="id")
    assert set(kernel.get_params()) >= {"column", "id", "adjacency", "form", "kappa", "nu", "gamma"}
    kernel.set_params(form="direct", gamma=2.0, id=None)
    assert kernel == k.Graph("links", form="direct", gamma=2.0)
    with pytest.raises(ValueError, match="'range'"):
        kernel.set_params(range=3)
    neighbours = clone(k.NearestNeighbors(5)).set_params(n_neighbors=3, on="t")
    assert neighbours == k.NearestNeighbors(3, on="t")
    assert neighbours != k.NearestNeighbors(3, on="s")


def test_kernels_say_which_columns_they_read():
    assert set(k.Graph("links", id="id").column_names()) == {"links", "id"}
    assert k.Graph("links").column_names() == ("links",)
    assert k.Graph(adjacency=PAIR).column_names() == ()
    assert k.NearestNeighbors().column_names() == ()
    assert k.NearestNeighbors(on=["t", "s"]).column_names() == ("t", "s")
    assert k.NearestNeighbors(on={"t", "s", "r"}) == k.NearestNeighbors(on=["r", "s", "t"])


# Nearest neighbours


N = 14
RNG = np.random.default_rng(0)
POINTS = pd.DataFrame(
    {
        "t": RNG.uniform(0, 9, N),
        "s": RNG.standard_normal(N),
        "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.uniform(0, 900, N), "D"),
        "v": list(RNG.standard_normal((N, 3)) + 1.0),
    }
)
COUNTS = csr_matrix(RNG.poisson(0.6, (N, 12)))
ASKED = RNG.poisson(0.6, (5, 12))
ASKED[3] = 0


def cosine_distances(A, B):
    with np.errstate(invalid="ignore"):
        A, B = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (A, B))
    return 1.0 - A @ B.T


def check_neighbours(kernel, frame, counts, distances, new_frame, new_counts, new_distances):
    """Assert that a kernel is the graph that these distances make, with a bandwidth given and without."""
    np.fill_diagonal(distances, np.inf)
    m = kernel.n_neighbors
    nearest = np.sort(np.where(np.isnan(distances), np.inf, distances), axis=1)[:, :m]
    default = np.sqrt(nearest[np.isfinite(nearest)].mean() / 8)
    for bandwidth in (None, 0.7):
        bound = kernel.replace(bandwidth=bandwidth).bind(Documents(N, frame, counts))
        sigma = default if bandwidth is None else bandwidth
        assert bound.kernel.bandwidth == pytest.approx(sigma)
        W = undirected(neighbor_edges(distances, m, sigma))
        assert_allclose(bound.gram(), smooth(W), rtol=1e-7, atol=1e-9)
        new = bound.read(Documents(5, new_frame, new_counts))
        cross, variance = smooth_leaves(W, neighbor_edges(new_distances, m, sigma))
        assert_allclose(bound.cross_gram(new), cross, rtol=1e-7, atol=1e-9)
        assert_allclose(bound.own_gram(new, joint=False), variance, rtol=1e-7)


@pytest.mark.parametrize("weighting", ["tfidf", "counts"])
def test_neighbors_by_words(weighting):
    """Against scikit-learn's sublinear tf-idf; documents without a word in common are no neighbours."""
    A, B = COUNTS.toarray().astype(float), ASKED.astype(float)
    if weighting == "tfidf":
        transformer = TfidfTransformer(sublinear_tf=True).fit(A)
        A, B = (transformer.transform(X).toarray() for X in (A, B))
    distances, asked = cosine_distances(A, A), cosine_distances(B, A)
    for matrix in (distances, asked):
        matrix[matrix > 1 - 1e-12] = np.inf
    check_neighbours(
        k.NearestNeighbors(3, weighting=weighting),
        None,
        COUNTS,
        distances,
        None,
        csr_matrix(ASKED),
        asked,
    )


@pytest.mark.parametrize("on", ["t", ["t"], ("t", "s"), "date", ["date", "s"]], ids=str)
def test_neighbors_by_columns(on):
    names = [on] if isinstance(on, str) else list(on)
    asked = POINTS.iloc[:5].assign(
        t=[0.5, np.nan, 4.1, 20.0, 3.0],
        s=[0.1, 0.2, 0.3, 0.4, 0.5],
        date=pd.to_datetime(["2020-02-02", None, "2021-01-01", "2030-01-01", "2020-07-07"]),
    )
    days = [
        frame.assign(date=(frame["date"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1))[
            names
        ].to_numpy(dtype=float)
        for frame in (POINTS, asked)
    ]
    Z, Y = (standardised(values, days[0]) for values in days)
    check_neighbours(
        k.NearestNeighbors(3, on=on),
        POINTS,
        None,
        euclidean_distances(Z, Z),
        asked,
        None,
        euclidean_distances(Y, Z),
    )


@pytest.mark.parametrize("make", [list, tuple, np.asarray])
def test_neighbors_by_vectors(make):
    V = np.stack(POINTS["v"])
    asked = np.random.default_rng(1).standard_normal((5, 3))
    cells = [make(row) for row in asked]
    cells[1] = None
    distances = cosine_distances(asked, V)
    distances[1] = np.nan
    check_neighbours(
        k.NearestNeighbors(4, on="v"),
        POINTS.assign(v=[make(row) for row in V]),
        None,
        cosine_distances(V, V),
        pd.DataFrame({"v": cells}),
        None,
        distances,
    )


def test_neighbors_may_be_a_direct_graph():
    kernel = k.NearestNeighbors(2, on="t", bandwidth=0.5, form="direct", gamma=0.3, diagonal=9.0)
    W = neighbor_weights(POINTS[["t"]].to_numpy(), 2, 0.5)
    assert_allclose(bind(kernel, POINTS).gram(), 0.3 * W + 9.0 * np.eye(N), atol=1e-10)


def assert_prior(bound, new, rows):
    """Some of the new documents are related to no training document."""
    cross = bound.cross_gram(new)
    assert not cross[rows].any()
    others = np.setdiff1d(np.arange(len(cross)), rows)
    assert cross[others].any(axis=1).all()
    own = bound.own_gram(new, joint=False)
    assert (own > 0).all()
    assert_allclose(bound.cross(new).variance(STRENGTHS)[rows], own[rows, None] * STRENGTHS)
    assert np.ptp(own[rows]) == 0
    assert (own[others] > own[rows[0]]).all()


def test_documents_without_words_have_no_neighbours():
    X = COUNTS.toarray()
    X[[2, 7]] = 0
    bound = k.NearestNeighbors(3).bind(Documents(N, None, csr_matrix(X)))
    G = bound.gram()
    for row in (2, 7):
        assert_allclose(np.delete(G[row], row), 0.0, atol=1e-14)
        assert G[row, row] > 0
    assert_prior(bound, bound.read(Documents(5, None, csr_matrix(ASKED))), np.array([3]))
    assert not bound.cross_gram(bound.read(Documents(2, None))).any()  # as when sampling


@pytest.mark.parametrize("on", ["t", ["t", "s"], "date", "v"], ids=str)
def test_documents_with_missing_values_have_no_neighbours(on):
    frame = POINTS.copy()
    for name in ([on] if isinstance(on, str) else on)[:1]:
        frame[name] = [None if row in (2, 7) else value for row, value in enumerate(frame[name])]
    bound = k.NearestNeighbors(3, on=on).bind(Documents(N, frame))
    G = bound.gram()
    for row in (2, 7):
        assert_allclose(np.delete(G[row], row), 0.0, atol=1e-14)
    assert_prior(bound, read(bound, frame), np.array([2, 7]))
    assert not bound.cross_gram(read(bound, frame.iloc[[2, 7]])).any()  # nobody has a value
    assert not bound.cross_gram(read(bound, frame.iloc[[7]])).any()


def test_a_document_far_from_all_others_has_the_prior():
    """The weights of its edges are zero in floating point."""
    bound = bind(k.NearestNeighbors(3, on="t", bandwidth=0.3), POINTS)
    far = read(bound, pd.DataFrame({"t": [1e9, 4.0]}))
    assert_prior(bound, far, np.array([0]))
    with_outlier = POINTS.assign(t=[1e9, *POINTS["t"][1:]])
    G = bind(k.NearestNeighbors(3, on="t", bandwidth=0.01), with_outlier).gram()
    assert np.isfinite(G).all()
    assert np.linalg.eigvalsh(G).min() > 0


def test_new_documents_are_no_neighbours_of_each_other():
    bound = bind(k.NearestNeighbors(3, on=["t", "s"]), POINTS)
    asked = pd.DataFrame({"t": [4.0, 4.0, 4.01, 100.0], "s": [0.0, 0.0, 0.0, 0.0]})
    batch = bound.cross_gram(read(bound, asked))
    for row in range(4):
        assert_array_equal(bound.cross_gram(read(bound, asked.iloc[[row]]))[0], batch[row])
    words = k.NearestNeighbors(3).bind(Documents(N, None, COUNTS))
    batch = words.cross_gram(words.read(Documents(5, None, csr_matrix(ASKED))))
    for row in range(5):
        alone = words.read(Documents(1, None, csr_matrix(ASKED[[row]])))
        assert_array_equal(words.cross_gram(alone)[0], batch[row])


@pytest.mark.filterwarnings("ignore:.*same value in 't'")
@few
@given(seed=seeds, n=st.integers(2, 12), m=st.integers(1, 15), form=st.sampled_from(FORMS))
def test_neighbors_make_a_kernel_whatever_the_points(seed, n, m, form):
    rng = np.random.default_rng(seed)
    t = rng.choice([0.0, 1.0, 1.0, 2.0, 1e6, np.nan], n)
    t[:2] = 0.0
    bound = k.NearestNeighbors(m, on="t", form=form).bind(Documents(n, pd.DataFrame({"t": t})))
    assert np.linalg.eigvalsh(bound.gram()).min() > 0
    new = read(bound, pd.DataFrame({"t": [0.0, np.nan, -1e9, 1.5]}))
    assert (bound.cross(new).variance(STRENGTHS) >= 0).all()


def test_identical_documents_are_neighbours():
    X = csr_matrix(np.tile([[1, 2, 0, 3]], (6, 1)))
    G = k.NearestNeighbors(2).bind(Documents(6, None, X)).gram()
    assert np.linalg.eigvalsh(G).min() > 0
    assert G[0, 1] > 0


NEIGHBOURS_REFUSED = {
    "no words": (lambda: k.NearestNeighbors(3).bind(Documents(N, POINTS)), ["counts", "on="]),
    "no metadata": (lambda: k.NearestNeighbors(3, on="t").bind(Documents(N)), ["'t'", "metadata="]),
    "no column": (lambda: bind(k.NearestNeighbors(on="x"), POINTS), ["'x'", "'date'"]),
    "all missing": (
        lambda: bind(k.NearestNeighbors(on="x"), POINTS.assign(x=np.nan)),
        ["'x'", "fill"],
    ),
    "names": (lambda: bind(k.NearestNeighbors(on="x"), POINTS.assign(x="tea")), ["'x'", "tea"]),
    "no neighbours": (lambda: bind(k.NearestNeighbors(0, on="t"), POINTS), ["n_neighbors"]),
    "half a neighbour": (lambda: bind(k.NearestNeighbors(2.5, on="t"), POINTS), ["n_neighbors"]),
    "weighting": (
        lambda: k.NearestNeighbors(weighting="bm25").bind(Documents(N, None, COUNTS)),
        ["weighting", "'tfidf', 'counts'"],
    ),
    "form": (lambda: bind(k.NearestNeighbors(on="t", form="dense"), POINTS), ["form"]),
    "kappa": (lambda: bind(k.NearestNeighbors(on="t", kappa=0.0), POINTS), ["kappa"]),
    "bandwidth zero": (lambda: bind(k.NearestNeighbors(on="t", bandwidth=0.0), POINTS), ["bandwi"]),
    "bandwidth": (lambda: bind(k.NearestNeighbors(on="t", bandwidth=-1.0), POINTS), ["bandwidth"]),
    "other vectors": (
        lambda: read(bind(k.NearestNeighbors(on="v"), POINTS), pd.DataFrame({"v": [[1.0, 2.0]]})),
        ["'v'", "3", "2"],
    ),
}


@pytest.mark.parametrize(("make", "words"), NEIGHBOURS_REFUSED.values(), ids=NEIGHBOURS_REFUSED)
def test_neighbors_name_what_is_wrong(make, words):
    with pytest.raises(ValueError, match=r"\w") as error:
        make().gram()
    for word in words:
        assert word in str(error.value), str(error.value)


# Whole models


D, V = 40, 9
KIND = np.arange(D) % 2
TOPICS = np.array([[0.2] * 4 + [0.04] * 5, [0.04] * 5 + [0.2] * 4])
X = np.random.default_rng(1).poisson(25 * TOPICS[KIND])
METADATA = pd.DataFrame(
    {
        "t": np.linspace(0, 10, D),
        "who": [f"w{row % 5}" for row in range(D)],
        "id": [f"d{row}" for row in range(D)],
        "links": [[f"d{(row + 2) % D}", f"d{(row + 6) % D}"] for row in range(D)],  # of one kind
        "also": [[f"d{(row + 8) % D}"] for row in range(D)],
        "near": [[row - 2, row - 4] if row >= 4 else None for row in range(D)],
        "v": list(np.random.default_rng(2).standard_normal((D, 3))),
    }
)
for position, name in enumerate(["t", "who", "id", "links"]):  # missing in two documents each
    METADATA[name] = METADATA[name].astype(object)
    METADATA.loc[[11 + position, 21 + position], name] = None
METADATA["t"] = METADATA["t"].astype(float)
LATER = pd.DataFrame(
    {
        "t": [1.0, np.nan, 2.0, 3.0, 20.0],
        "who": ["w1", "w2", None, "nobody", "w0"],
        "id": ["n1", "n2", "n3", None, "d4"],
        "links": [["d0", "d2", "d4"], ["d1", "d3"], None, ["d1", "n1"], None],
        "also": [["d0"], None, ["d3"], None, None],
        "near": [[0, 2], None, [3], [1], None],
        "v": [[1.0, 0.0, 0.0], None, [0.0, 2.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, -1.0]],
    }
)
NOTHING = np.zeros((5, V))
WORDS = np.random.default_rng(3).poisson(2.0, (5, V))
MIXED = k.RBF("t") + k.Categorical("who") + k.Graph("links", id="id")


def fit(kernel, metadata=METADATA, **keywords):
    settings = {"max_iter": 8, "random_state": 0} | keywords
    return quietly(GPTM(2, kernel=kernel, **settings).fit, X, metadata=metadata)


@pytest.fixture(scope="module")
def mixed():
    return fit(MIXED)


def test_links_time_and_groups_with_values_missing_in_each(mixed):
    theta = mixed.transform(WORDS, metadata=LATER)
    assert_allclose(theta.sum(axis=1), 1.0)
    assert (theta > 0).all()
    assert np.isfinite(mixed.bound_).all()
    by_em = fit(MIXED, inference="variational").bound_
    assert (np.diff(by_em) > -1e-7 * np.abs(by_em[:-1])).all()


def test_links_predict_documents_without_a_word():
    model = fit(k.Graph("links", id="id"))
    theta = model.transform(NOTHING, metadata=LATER)
    first, second = model.doc_topics_[0].argmax(), model.doc_topics_[1].argmax()
    assert first != second
    assert theta[:2].argmax(axis=1).tolist() == [first, second]
    alone = model.transform(NOTHING[:1], metadata=LATER[2:3])
    assert_allclose(theta[2], alone[0], rtol=1e-9)
    prior = quietly(model.transform, NOTHING)
    assert_allclose(theta[2], prior[2], rtol=1e-9)


@pytest.mark.parametrize("inference", ["variational", "map"])
def test_the_model_stays_as_it_is(inference):
    model = fit(MIXED, inference=inference, max_iter=4)

    def everything():
        arrays = {
            name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)
        }
        return {
            name: value.copy() for name, value in (arrays | model.fitted_.bound.arrays()).items()
        }

    before = everything()
    first = model.transform(WORDS, metadata=LATER)
    again = model.transform(WORDS, metadata=LATER)
    assert_array_equal(first, again)
    after = everything()
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert_array_equal(after[name], value, err_msg=name)


def test_a_batch_is_as_good_as_one_by_one(mixed):
    together = mixed.transform(WORDS, metadata=LATER)
    for row in range(5):
        alone = mixed.transform(WORDS[[row]], metadata=LATER.iloc[[row]])
        assert_allclose(alone[0], together[row], rtol=1e-8)


def test_training_documents_sent_again_have_their_own_means():
    model = fit(k.Graph("links", id="id"))
    there = [0, 7, 30]
    new = model.fitted_.bound.read(Documents(3, METADATA.iloc[there]))
    mean = model.fitted_.bound.cross(new).mean(model.dual_coef_, model.doc_means_)
    assert_allclose(mean, model.doc_means_[there], rtol=1e-6, atol=1e-9)


CONSISTENT = {
    "links": k.Graph("links", id="id"),
    "links by number": k.Graph("near"),
    "neighbours by words": k.NearestNeighbors(4),
    "neighbours by column": k.NearestNeighbors(4, on="t"),
    "matrix": k.Graph(adjacency=np.eye(D, k=2), id="row"),
    "labels": k.MustLink(),
    "pairs and time": k.MustLink(pairs=[(row, row + 2) for row in range(0, D - 2, 3)]) * k.RBF("t"),
    "mixed": MIXED + k.MustLink(),
}


@pytest.mark.parametrize("kernel", CONSISTENT.values(), ids=CONSISTENT)
@pytest.mark.parametrize("named", [True, False])
def test_fit_transform_is_fit_then_transform(kernel, named):
    names = pd.DataFrame({"id": [f"d{row}" for row in range(D)], "row": np.arange(D)}, dtype=object)
    if not named:
        names.iloc[[4, 13]] = None
    table = METADATA.assign(id=names["id"], row=names["row"])
    model = GPTM(2, kernel=kernel, max_iter=4, random_state=0)
    both = quietly(model.fit_transform, X, KIND, metadata=table)
    assert_allclose(both, model.transform(X, metadata=table), rtol=1e-8)


@pytest.mark.parametrize("name", ["t", "who", "links", "id"])
def test_a_column_may_be_lacking_if_one_says_so(name, mixed):
    without = LATER.drop(columns=name)
    with pytest.raises(ValueError, match=f"column '{name}'.*missing_columns='prior'"):
        mixed.transform(WORDS, metadata=without)
    with pytest.raises(ValueError, match=f"column '{name}'.*missing_columns='prior'"):
        mixed.transform(gptm.Corpus(WORDS, metadata=without))
    theta = mixed.transform(WORDS, metadata=without, missing_columns="prior")
    empty = LATER.assign(**{name: None})
    assert_array_equal(theta, mixed.transform(WORDS, metadata=empty))
    assert np.abs(theta - mixed.transform(WORDS, metadata=LATER)).max() > 1e-6


def test_all_columns_may_be_lacking():
    kernel = MIXED + k.Linear("t") + k.NearestNeighbors(3, on="v") + k.NearestNeighbors(3, on="t")
    model = fit(kernel, max_iter=3)
    nothing = pd.DataFrame(index=range(5))
    with pytest.raises(ValueError, match="'t'"):
        model.transform(WORDS, metadata=nothing)
    theta = model.transform(WORDS, metadata=nothing, missing_columns="prior")
    with pytest.warns(UserWarning, match="prior"):
        assert_allclose(theta, model.transform(WORDS), rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who asks for it need not be told
        assert_allclose(theta, model.transform(WORDS, missing_columns="prior"), rtol=1e-9)
    with pytest.raises(ValueError, match="missing_columns"):
        model.transform(WORDS, metadata=nothing, missing_columns="ignore")


def test_documents_can_be_drawn_from_links(mixed):
    corpus = mixed.sample(5, metadata=LATER, n_words=20, random_state=0)
    assert corpus.counts.sum() == 100
    again = mixed.sample(5, metadata=LATER, n_words=20, random_state=0)
    assert_array_equal(corpus.counts.toarray(), again.counts.toarray())


def test_sums_of_graphs():
    one, other = k.Graph("links", id="id"), k.Graph("also", id="id", form="direct")
    bound = quietly((one + other).bind, Documents(D, METADATA))
    parts = [quietly(part.bind, Documents(D, METADATA)) for part in (one, other)]
    assert_allclose(bound.gram(), parts[0].gram() + parts[1].gram(), rtol=1e-12)
    new = read(bound, LATER)
    cross = sum(part.cross_gram(read(part, LATER)) for part in parts)
    assert_allclose(bound.cross_gram(new), cross, rtol=1e-12)
    assert_allclose(bound.operator.to_dense(), bound.gram(), atol=1e-9)
    assert (bound.cross(new).variance(STRENGTHS) >= 0).all()
    theta = fit(one + other, max_iter=4).transform(WORDS, metadata=LATER)
    assert_allclose(theta.sum(axis=1), 1.0)


@pytest.mark.parametrize("form", FORMS)
def test_products_with_a_graph(form):
    """Alike if linked and of about the same time."""
    graph, time = k.Graph("links", id="id", form=form), k.RBF("t", length_scale=3.0)
    bound = quietly((graph * time).bind, Documents(D, METADATA))
    parts = [quietly(part.bind, Documents(D, METADATA)) for part in (graph, time)]
    assert_allclose(bound.gram(), parts[0].gram() * parts[1].gram(), rtol=1e-9, atol=1e-12)
    assert_allclose(bound.operator.to_dense(), bound.gram(), atol=1e-8)
    new = read(bound, LATER)
    G, C = bound.gram(), bound.cross_gram(new)
    expected = [part.cross_gram(read(part, LATER)) for part in parts]
    assert_allclose(C, expected[0] * expected[1], rtol=1e-9, atol=1e-12)
    own = bound.own_gram(new, joint=False)
    b = np.array([0.1, 1.0, 10.0])
    variance = bound.cross(new).variance(b)
    for i, s in enumerate(b):
        known = np.diagonal(C @ np.linalg.solve(s * G + np.eye(D), C.T))
        assert_allclose(variance[:, i], s * own - s**2 * known, rtol=1e-6, atol=1e-9)
    assert (bound.cross(new).variance(STRENGTHS) >= 0).all()
    theta = fit(graph * time, max_iter=4).transform(WORDS, metadata=LATER)
    assert_allclose(theta.sum(axis=1), 1.0)


def test_completion_sees_the_observed_words_only():
    """A document's neighbours are found by the words that may be seen, not by those to be predicted."""
    model = fit(k.NearestNeighbors(4) + k.RBF("t"))
    documents = np.random.default_rng(5).poisson(25 * TOPICS[[0, 1, 0, 1, 1]])
    for observed in (0.3, 0.5):
        seen, rest = metrics.split_tokens(documents, observed, 0)
        theta = model.transform(seen, metadata=LATER)
        expected = metrics.perplexity(theta, model.components_, rest)
        found = model.perplexity(documents, metadata=LATER, observed=observed)
        assert found == pytest.approx(expected, rel=1e-12)
    assert model.score(documents, metadata=LATER) == pytest.approx(-np.log(expected), rel=1e-12)
    cheat = model.fitted_.bound.read(Documents(5, LATER, csr_matrix(documents)))
    honest = model.fitted_.bound.read(Documents(5, LATER, seen))
    apart = model.fitted_.bound.cross_gram(cheat) - model.fitted_.bound.cross_gram(honest)
    assert np.abs(apart).max() > 1e-3  # it would have made a difference


def test_stored_zeros_are_no_words():
    counts = csr_matrix(X.astype(float))
    with_zeros = counts.copy()
    with_zeros.data[::7] = 0.0
    kernel = k.NearestNeighbors(3)
    models = [
        quietly(GPTM(2, kernel=kernel, max_iter=2, random_state=0).fit, csr_matrix(matrix))
        for matrix in (with_zeros, with_zeros.toarray())
    ]
    assert_array_equal(models[0].doc_means_, models[1].doc_means_)


SAVED = {
    "links": k.Graph("links", id="id"),
    "links, direct": k.Graph("links", id="id", form="direct", gamma=0.5),
    "links by number": k.Graph("near"),
    "sparse adjacency": k.Graph(adjacency=csr_matrix(random_weights(8, D + 5, 0.1)), id="row"),
    "adjacency": k.Graph(adjacency=random_weights(9, D, 0.1), form="direct"),
    "neighbours by words": k.NearestNeighbors(3),
    "neighbours by counts": k.NearestNeighbors(3, weighting="counts", form="direct"),
    "neighbours by columns": k.NearestNeighbors(3, on=["t", "row"]),
    "neighbours by vectors": k.NearestNeighbors(3, on="v"),
    "mixed": MIXED + 0.5 * k.NearestNeighbors(3),
    "product": k.Graph("links", id="id") * k.RBF("t"),
}


@pytest.mark.parametrize("kernel", SAVED.values(), ids=SAVED)
def test_a_loaded_model_is_the_same(kernel, tmp_path):
    """Also for documents that training documents were waiting for."""
    metadata = METADATA.assign(row=np.arange(D))
    later = LATER.assign(row=np.arange(D, D + 5))
    metadata.at[0, "links"] = ["d2", "n3"]
    metadata.at[5, "links"] = ["n3", "n9"]
    model = fit(kernel, metadata, max_iter=2)
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    assert again.kernel_ == model.kernel_
    for documents in (WORDS, NOTHING):
        expected = quietly(model.transform, documents, metadata=later)
        assert_array_equal(quietly(again.transform, documents, metadata=later), expected)
    if kernel is SAVED["links"]:
        not_awaited = later.assign(id=["n1", "n2", "n0", None, "d4"])
        other = again.transform(NOTHING, metadata=not_awaited)
        assert np.abs(other - again.transform(NOTHING, metadata=later))[2].max() > 1e-6


def test_a_model_of_links_to_come_alone_is_the_same(tmp_path):
    """No edge at all is saved then."""
    metadata = pd.DataFrame({"links": [["n1"], *[None] * (D - 1)], "id": np.arange(D)})
    model = fit(k.Graph("links", id="id"), metadata, max_iter=2)
    model.save(tmp_path / "model.gptm")
    expected = model.transform(NOTHING, metadata=LATER)
    assert_array_equal(
        gptm.load(tmp_path / "model.gptm").transform(NOTHING, metadata=LATER), expected
    )
    assert np.abs(expected[0] - expected[2]).max() > 1e-9


@pytest.mark.parametrize(
    "kernel", [MIXED, k.NearestNeighbors(4), k.Graph("links", id="id") + k.Graph("also", id="id")]
)
def test_threads_change_nothing(kernel):
    one, two = (fit(kernel, max_iter=4, n_jobs=n_jobs) for n_jobs in (1, 2))
    for name in ("components_", "topic_covariance_", "doc_means_", "dual_coef_", "bound_"):
        assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert_array_equal(one.transform(WORDS, metadata=LATER), two.transform(WORDS, metadata=LATER))


# Many documents


LARGE = 2100


def sparse_graph(seed, n=LARGE):
    """About three links per document, some without any."""
    rows, columns = np.random.default_rng(seed).integers(0, n - 50, (2, 3 * n // 2))
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n)).astype(bool)


ONE = sparse_graph(0)
GROUPS = pd.DataFrame({"who": np.arange(LARGE) % 7, "row": np.arange(LARGE)})
GRAPH = k.Graph(adjacency=ONE, id="row")


@pytest.fixture(scope="module")
def dense():
    """The formula of GRAPH before it is scaled."""
    return unscaled(undirected(ONE.toarray()), KAPPA, NU)


def scale_of(bound, kernel):
    """What the smooth form is multiplied by, from the variance of a document without links."""
    alone = bound.cross(bound.read(Documents(1, None))).variance(np.ones(1))[0, 0]
    return alone * (1 + (kernel.kappa or KAPPA) ** 2) ** kernel.nu


def without_square_arrays(call, n=LARGE):
    """The result of a call that never holds an n x n array."""
    tracemalloc.start()
    try:
        result = call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * n**2 * 0.75
    return result


def check_large(kernel, dense, rtol=1e-3):
    """Assert solutions and predictions to be those of the dense matrix, and to need none."""
    b = np.array([0.1, 10.0]) / np.diagonal(dense).mean()
    Y = np.random.default_rng(5).standard_normal((LARGE, 2))
    new = pd.DataFrame({"row": [3, LARGE + 5, 40], "who": [3, None, 5]})

    def solved():
        bound = kernel.bind(Documents(LARGE, GROUPS))
        cross = bound.cross(bound.read(Documents(3, new)))
        return bound, bound.operator.solve(b, Y), cross.mean(Y, dense @ Y), cross.variance(b)

    bound, solution, mean, variance = without_square_arrays(solved)
    assert not isinstance(bound.operator, Spectral)
    for i in range(2):
        expected, failed = cg(b[i] * dense + np.eye(LARGE), Y[:, i], rtol=1e-9)
        assert not failed
        error = np.linalg.norm(solution[:, i] - expected) / np.linalg.norm(expected)
        assert error < rtol
    F = dense @ Y
    assert_allclose(mean[[0, 2]], F[[3, 40]], atol=rtol * np.abs(F).max())
    assert (variance >= 0).all()
    return bound


def test_a_large_graph_is_the_dense_formula_but_for_its_scale(dense):
    """Which is an estimate for many documents."""
    expected = scale_of(GRAPH.bind(Documents(LARGE, GROUPS)), GRAPH) * dense
    assert np.diagonal(expected).mean() == pytest.approx(1.0, abs=0.02)
    bound = check_large(GRAPH, expected)
    b = np.array([0.1, 1.0, 10.0])
    without_square_arrays(lambda: (bound.operator.logdet(b), bound.operator.trace(b)))


def test_a_large_graph_and_groups(dense):
    who = GROUPS["who"].to_numpy()
    scaled = scale_of(GRAPH.bind(Documents(LARGE, GROUPS)), GRAPH) * dense
    check_large(GRAPH + k.Categorical("who"), scaled + np.equal.outer(who, who))


def test_two_large_graphs():
    """Too many for a dense formula: the solution is put into the equation, with each precision solved apart."""
    n = 5100
    rows = pd.DataFrame({"row": np.arange(n)})
    graphs = [
        k.Graph(adjacency=sparse_graph(seed, n), id="row", kappa=kappa, nu=1)
        for seed, kappa in enumerate((1.0, 0.7))
    ]
    Y, b = np.random.default_rng(5).standard_normal((n, 1)), np.array([2.0])

    def solved():
        operator = (graphs[0] + graphs[1]).bind(Documents(n, rows)).operator
        assert isinstance(operator, MatrixFree)
        return operator.solve(b, Y)[:, 0]

    x = without_square_arrays(solved, n)
    image = x.copy()
    for graph in graphs:
        W = csr_matrix(graph.adjacency.maximum(graph.adjacency.T), dtype=float)
        W.setdiag(0.0)
        W.eliminate_zeros()
        degrees = np.asarray(W.sum(1)).ravel()
        root = diags(1 / np.sqrt(degrees + 0.1 * W.data.mean()))
        A = (1 + (graph.kappa or KAPPA) ** 2) * diags(np.ones(n)) - root @ W @ root
        image += b[0] * scale_of(graph.bind(Documents(n, rows)), graph) * cg(A, x, rtol=1e-10)[0]
    assert np.linalg.norm(image - Y[:, 0]) < 1e-3 * np.linalg.norm(Y)


def test_a_large_direct_graph():
    kernel = k.Graph(adjacency=ONE, id="row", form="direct", gamma=0.3)
    diagonal = kernel.bind(Documents(LARGE, GROUPS)).mean_diagonal()
    total = 0.3 * undirected(ONE.toarray()) + diagonal * np.eye(LARGE)
    assert eigsh(csr_matrix(total), k=1, which="SA", return_eigenvectors=False)[0] > 0
    check_large(kernel, total)


def test_a_large_direct_graph_with_a_small_diagonal():
    """Of groups of ten the lowest eigenvalue is -1, the largest 9: a diagonal between the two is fine."""
    W = np.kron(np.eye(LARGE // 10), np.ones((10, 10)))
    np.fill_diagonal(W, 0.0)
    kernel = k.Graph(adjacency=csr_matrix(W), id="row", form="direct", diagonal=1.5)
    check_large(kernel, W + 1.5 * np.eye(LARGE))


def test_large_neighbours_are_never_written_out():
    n = 2 * LARGE  # beside which what the first compilation takes does not show
    t = np.random.default_rng(6).uniform(0, 1000, n)
    bound = without_square_arrays(lambda: operator_bound(pd.DataFrame({"t": t})), n)
    assert not isinstance(bound.operator, Spectral)


def operator_bound(frame):
    bound = k.NearestNeighbors(5, on="t").bind(Documents(len(frame), frame))
    bound.operator.solve(np.ones(2), np.ones((len(frame), 2)))
    return bound


def test_threads_change_nothing_for_many_documents():
    counts = csr_matrix(np.random.default_rng(4).poisson(0.5, (LARGE, 8)))
    kernel = GRAPH + k.Categorical("who")
    models = []
    for n_jobs in (1, 2):
        model = GPTM(2, kernel=kernel, init="random", max_iter=2, random_state=0, n_jobs=n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            models.append(model.fit(counts, metadata=GROUPS))
    for name in ("components_", "doc_means_", "bound_"):
        assert_array_equal(getattr(models[0], name), getattr(models[1], name), err_msg=name)


@pytest.mark.parametrize(("kappa", "nu"), [(0.17, 3), (0.05, 3), (0.03, 4)])
def test_predictions_over_a_large_graph_are_those_of_F(kappa, nu):
    """However wide the spectrum of the kernel: a training document sent again has its own F."""
    n = 2100
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": [f"d{i}" for i in range(n)]})
    table["links"] = [[f"d{j}" for j in rng.integers(0, max(i, 1), 2)] for i in range(n)]
    counts = rng.poisson(0.5, (n, 6))
    kernel = k.Graph("links", id="id", kappa=kappa, nu=nu)
    model = quietly(GPTM(2, kernel=kernel, random_state=0, max_iter=2).fit, counts, metadata=table)
    assert isinstance(model.fitted_.bound.operator, Sparse)
    new = model.fitted_.bound.read(Documents(20, table[:20]))
    mean = model.fitted_.bound.cross(new).mean(model.dual_coef_, model.doc_means_)
    assert_allclose(mean, model.doc_means_[:20], rtol=1e-12)


def test_a_slice_of_a_numbered_table_says_the_same():
    """Rows that count like training rows are not those documents, wherever the slice begins."""
    counts = np.random.default_rng(0).poisson(2.0, (8, 5))
    training = pd.DataFrame({"links": [[(i + 1) % 8] for i in range(8)]})
    model = quietly(GPTM(2, kernel=k.Graph("links"), random_state=0).fit, counts, metadata=training)
    new = pd.DataFrame({"links": [[3], [], [1, 2], [7]]})
    whole = model.transform(counts[:4], metadata=new)
    alone = [model.transform(counts[i : i + 1], metadata=new.iloc[i : i + 1]) for i in range(4)]
    assert_allclose(np.vstack(alone), whole, rtol=1e-9)


def test_a_document_without_a_row_in_the_matrix_keeps_the_prior():
    edges = np.diag(np.ones(4), 1)
    rows = pd.DataFrame({"row": [0, 1, np.nan, 3]})
    G = k.Graph(adjacency=edges, id="row").bind(Documents(4, rows)).gram()
    assert_allclose(G[2, [0, 1, 3]], 0)
    assert G[0, 1] > 0
    assert G[2, 2] > 0


# Names that are none


def test_an_empty_name_links_to_nobody():
    frame = pd.DataFrame({"links": [["1"], ["0"], [""], [""]]})
    bound = k.Graph("links").bind(Documents(4, frame))
    new = bound.read(Documents(2, pd.DataFrame({"links": [[], [""]]})))
    assert new.edges.nnz == 0
    assert bound.awaited == {}
