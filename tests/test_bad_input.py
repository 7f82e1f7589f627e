"""Bad input is refused with words that help; odd but legitimate input works, and nothing is dropped."""

import warnings
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_matrix, csr_array, csr_matrix, issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

import naive
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.corpus.metadata import as_frame
from gptm.kernels.network import NetworkBound
from gptm.starts import lda
from gptm.starts.lda import LdaRun

MODELS = {
    "CTM": CTM(2),
    "CTM, variational": CTM(2, inference="variational"),
    "sampling": GPTM(2, kernel=k.RBF("t", length_scale=2.0)),
    "variational": GPTM(2, kernel=k.RBF("t", length_scale=2.0), inference="variational"),
    "map": GPTM(2, kernel=k.RBF("t", length_scale=2.0), inference="map"),
}


@pytest.fixture(autouse=True)
def short_starts(monkeypatch):
    """Starts of few sweeps: where they lead is told elsewhere."""
    sweep_to = LdaRun.sweep_to

    def a_few(self, n, *others):
        return sweep_to(self, min(n, self.sweeps + 5), *others)

    monkeypatch.setattr(LdaRun, "sweep_to", a_few)


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def model(request):
    """A fresh, quick model of each kind."""
    fresh = type(request.param)(**request.param.get_params(deep=False))
    return fresh.set_params(random_state=0, max_iter=30)


def counts(D=8, V=6, seed=0):
    return np.random.default_rng(seed).poisson(2.0, (D, V)) + 1


FRACTIONS = "counts of words must be whole numbers; some are fractions"


def times(D):
    return pd.DataFrame({"t": np.linspace(0.0, 10.0, D)})


def fit_strictly(model, X, metadata=None):
    """Fit; any warning is an error but that of slow convergence, and that of fractions where there are some."""
    n = X.shape[0]
    cells = X.counts if isinstance(X, Corpus) else X
    fractions = np.any((cells.data if issparse(cells) else np.asarray(cells)) % 1 != 0)
    of_fractions = pytest.warns(UserWarning, match=FRACTIONS) if fractions else nullcontext()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        with of_fractions:
            return model.fit(X, metadata=times(n) if metadata is None else metadata)


def refused(call, *words):
    """The message of the ValueError that `call` raises, which must hold all the words."""
    with pytest.raises(ValueError, match=r"\w") as error:
        call()
    message = str(error.value)
    for word in words:
        assert word.lower() in message.lower(), f"{word!r} is not in: {message}"
    return message


# Counts that cannot be counts


CONTAINERS = {
    "dense": np.asarray,
    "csr": csr_matrix,
    "csr_array": csr_array,
    "coo": coo_matrix,
    "frame": lambda X: pd.DataFrame(X, columns=[f"w{i}" for i in range(X.shape[1])]),
    "corpus": Corpus,
}


@pytest.fixture(params=CONTAINERS.values(), ids=CONTAINERS)
def container(request):
    return request.param


def spoilt(value):
    X = counts().astype(float)
    X[3, 2] = value
    return X


def test_negative_counts_are_refused(model, container):
    X = container(spoilt(-1.0))
    refused(
        lambda: model.fit(X, metadata=times(8)), "negative", "expected counts", "pass raw counts"
    )


@pytest.mark.parametrize(("value", "arrived"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_counts_that_are_not_finite_are_refused(model, container, value, arrived):
    X = container(spoilt(value))
    message = refused(lambda: model.fit(X, metadata=times(8)), arrived, "finite", "put 0")
    assert "X" in message


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_new_documents_are_checked_too(model, value):
    fit_strictly(model, counts())
    for method in (model.transform, model.score, model.perplexity):
        refused(lambda method=method: method(spoilt(value), metadata=times(8)), "expected")


@pytest.mark.parametrize("make", [np.asarray, csr_matrix, Corpus])
def test_a_matrix_without_columns_is_refused(model, make):
    X = make(np.zeros((5, 0)))
    message = refused(
        lambda: model.fit(X, metadata=times(5)), "0 feature", "minimum of 1", "expected"
    )
    assert "training counts" not in message  # there are none yet to agree with


@pytest.mark.parametrize("make", [np.asarray, csr_matrix, Corpus])
def test_no_documents_are_refused(model, make):
    X = make(np.zeros((0, 5)))
    refused(lambda: model.fit(X, metadata=times(0)), "0 sample", "minimum of 1", "expected")


def test_one_row_of_counts_is_not_a_matrix(model):
    refused(lambda: model.fit(np.array([1, 2, 3])), "2D", "1D", "documents x words")


def test_tables_of_texts_are_not_counts(model):
    texts = ["green tea", "black coffee"]
    refused(lambda: model.fit(np.array([texts]), metadata=times(1)), "counts", "Corpus")
    refused(lambda: model.fit([texts], metadata=times(1)), "counts", "Corpus")
    refused(lambda: model.fit(["green tea", None], metadata=times(2)), "strings", "position 1")


def test_another_vocabulary_is_refused(model):
    X = counts()
    fit_strictly(model, X)
    for method in (model.transform, model.score, model.perplexity):
        for wrong in (X[:, :-1], csr_matrix(X[:, :-1]), Corpus(X[:, :-1])):
            refused(
                lambda method=method, wrong=wrong: method(wrong, metadata=times(8)),
                "5 features",
                "6 features",
                "vocabulary",
            )


def test_other_words_of_the_same_number_are_refused(model):
    X, words = counts(), list("abcdef")
    fit_strictly(model, Corpus(X, words))
    other = Corpus(X, [*"abcde", "z"])
    refused(lambda: model.transform(other, metadata=times(8)), "'z'", "'f'", "vocabulary")
    frame = pd.DataFrame(X, columns=[*"abcde", "z"])
    refused(lambda: model.transform(frame, metadata=times(8)), "z", "f")
    same = model.transform(Corpus(X, words), metadata=times(8))
    assert_array_equal(model.transform(pd.DataFrame(X, columns=words), metadata=times(8)), same)
    assert_array_equal(
        model.transform(Corpus(X), metadata=times(8)), same
    )  # no names, no objection


# Parameters


@pytest.mark.parametrize("value", [0, -1, 1.5, "3", None, True, np.nan])
def test_number_of_topics_is_checked(model, value):
    model.set_params(n_components=value)
    refused(
        lambda: model.fit(counts(), metadata=times(8)), "n_components", "at least 1", repr(value)
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("max_iter", 0, ["at least 1"]),
        ("max_iter", 2.5, ["integer"]),
        ("tol", -1e-3, ["at least 0"]),
        ("tol", np.nan, ["number"]),
        ("doc_tol", -1.0, ["at least 0"]),
        ("smoothing", -0.1, ["at least 0"]),
        ("smoothing", 1e155, ["at most 1e+12"]),
        ("smoothing", "some", ["number"]),
        ("topic_covariance", "diagonal", ["'full'", "'identity'"]),
        ("init", "lda", ["'gibbs'", "'spectral'", "'random'"]),
        ("init", np.ones((2, 5)), ["(2, 6)", "(2, 5)"]),
        ("init", -np.ones((2, 6)), ["non-negative"]),
        ("init", np.full((2, 6), np.nan), ["finite"]),
        ("init", np.eye(2, 6) * [[1], [0]], ["positive"]),
        ("callback", "stop", ["function"]),
        ("random_state", "seed", ["seed"]),
        ("n_jobs", 0, ["threads"]),
        ("n_jobs", 1.5, ["threads", "1.5"]),
        ("n_jobs", True, ["threads"]),
        ("verbose", "yes", ["integer", "'yes'"]),
        ("fit_mean", "no", ["True or False", "'no'"]),
        ("warm_start", 1, ["True or False"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parameters_are_checked(model, name, value, words):
    model.set_params(**{name: value})
    named = [] if name == "random_state" else [name]  # scikit-learn's own words there
    refused(lambda: model.fit(counts(), metadata=times(8)), *named, *words)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("inference", ["'sampling'", "'variational'", "'map'"]),
        ("coregionalization", ["'free'", "'shared'", "'identity'"]),
    ],
)
def test_choices_are_listed(name, choices):
    refused(lambda: GPTM(2, **{name: "other"}).fit(counts()), name, "'other'", *choices)


def test_whether_to_learn_the_kernel_is_true_or_false():
    refused(lambda: GPTM(2, learn_kernel="no").fit(counts()), "learn_kernel", "True or False")


def test_counts_of_the_caller_are_left_alone(model):
    """Also where they are not in order: several entries for one cell, zeros written out."""
    X = coo_matrix(([1.0, 2.0, 0.0, 3.0], ([0, 0, 1, 1], [2, 2, 0, 1])), shape=(2, 6)).tocsr()
    messy = csr_matrix(
        (np.array([1.0, 2.0, 0.0, 3.0]), np.array([2, 2, 0, 1]), np.array([0, 2, 4])), shape=(2, 6)
    )
    fit_strictly(model, counts())
    theta = model.transform(messy, metadata=times(2))
    assert messy.nnz == 4
    assert_allclose(theta, model.transform(X.toarray(), metadata=times(2)), rtol=1e-10)


@pytest.mark.parametrize("observed", [0.0, 1.0, -0.5, 2.0, np.nan])
def test_share_of_observed_words_is_checked(model, observed):
    fit_strictly(model, counts())
    refused(lambda: model.perplexity(counts(), metadata=times(8), observed=observed), "observed")


# Metadata


@pytest.mark.parametrize("wrong", [7, 9])
def test_metadata_of_another_length_is_refused(model, wrong):
    words = ["metadata", "expected 8", f"got {wrong}", "same rows"]
    refused(lambda: model.fit(counts(), metadata=times(wrong)), *words)
    refused(lambda: model.fit(counts(), metadata={"t": np.arange(wrong)}), *words)
    fit_strictly(model, counts())
    for method in (model.transform, model.score, model.perplexity):
        refused(lambda method=method: method(counts(), metadata=times(wrong)), *words)
    refused(lambda: Corpus(counts(), metadata=times(wrong)), *words)


def test_columns_of_different_lengths_are_refused(model):
    columns = {"t": np.arange(8.0), "s": np.arange(7.0)}
    refused(lambda: model.fit(counts(), metadata=columns), "metadata", "8", "7")


@pytest.mark.parametrize("wrong", [np.arange(8.0), [1.0] * 8, "t", 3])
def test_metadata_without_columns_is_refused(model, wrong):
    refused(lambda: model.fit(counts(), metadata=wrong), "metadata", "DataFrame", "dict")


NO_COLUMNS = {
    "number": 3.0,
    "text": "t",
    "array of no axis": np.array(3.0),
    "sparse matrix": csr_matrix(np.eye(8)),
    "sparse array": csr_array(np.eye(8)),
    "set": set(range(8)),
    "dict": dict.fromkeys(range(8), 1.0),
    "table": times(8),
}


@pytest.mark.parametrize("wrong", NO_COLUMNS.values(), ids=NO_COLUMNS)
def test_what_is_no_column_is_named(model, wrong):
    columns = {"s": np.arange(8.0), "t": wrong}
    refused(lambda: model.fit(counts(), metadata=columns), "metadata column 't'", "list", "got")


def test_metadata_may_have_no_columns():
    assert as_frame({}, 8).shape == (8, 0)
    fit_strictly(GPTM(2, kernel=k.Identity(), max_iter=30), counts(), {})
    refused(lambda: GPTM(2, kernel=k.RBF("t")).fit(counts(), metadata={}), "'t'", "none")


def test_names_of_columns_become_text():
    frame = pd.DataFrame({"who": list("aabb"), "t": np.arange(4.0), 3: np.arange(4.0)})
    found = as_frame(frame.groupby("who").agg({"t": ["mean", "max"], 3: ["sum"]}).reset_index(), 2)
    assert list(found.columns) == ["who", "t_mean", "t_max", "3_sum"]
    assert list(as_frame(frame, 4).columns) == ["who", "t", "3"]
    assert_array_equal(
        k.RBF("t_mean", "3_sum").bind(k.Documents(2, found)).points, [[0.5, 1], [2.5, 5]]
    )


KERNELS = ["sampling", "variational", "map"]


@pytest.mark.parametrize("name", KERNELS)
def test_an_unknown_column_is_named_with_the_known_ones(name):
    model = MODELS[name]
    metadata = pd.DataFrame({"time": np.arange(8.0), "place": np.arange(8.0)})
    words = ["'t'", "'time'", "'place'", "rename"]
    refused(lambda: model.fit(counts(), metadata=metadata), *words)
    fit_strictly(model, counts())
    refused(lambda: model.transform(counts(), metadata=metadata), *words)


@pytest.mark.parametrize("name", KERNELS)
def test_missing_metadata_is_an_error_in_fit(name):
    refused(lambda: MODELS[name].fit(counts()), "RBF('t'", "no metadata arrived", "metadata=")


def test_a_column_of_words_is_no_column_of_numbers():
    metadata = {"t": ["ann", "bob"] * 4}
    model = GPTM(2, kernel=k.RBF("t"))
    refused(lambda: model.fit(counts(), metadata=metadata), "'t'", "numbers or dates", "'ann'")


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_columns_of_extreme_scale_are_named(scale):
    frame = pd.DataFrame({"t": scale * np.arange(8.0), "v": list(scale * (counts() + 0.0))})
    for kernel in (
        k.RBF("t"),
        k.Matern("t", length_scale=1.0),
        k.Linear("t"),
        k.NearestNeighbors(2, on="t"),
    ):
        refused(
            lambda kernel=kernel: GPTM(2, kernel=kernel).fit(counts(), metadata=frame),
            "'t'",
            "power of ten",
        )
    refused(
        lambda: GPTM(2, kernel=k.Embedding("v")).fit(counts(), metadata=frame),
        "'v'",
        "power of ten",
    )


def test_new_documents_may_be_close_to_each_other():
    model = fit_strictly(GPTM(2, kernel=k.RBF("t", length_scale=2.0), max_iter=30), counts())
    close = {"t": np.array([0.0, 1e-200])}
    assert_array_equal(*model.transform(np.zeros((2, 6)), metadata=close))
    far = {"t": np.array([0.0, 1e200])}
    refused(lambda: model.transform(np.zeros((2, 6)), metadata=far), "'t'", "power of ten")


def test_infinite_metadata_is_refused():
    metadata = {"t": [0.0, np.inf] * 4}
    model = GPTM(2, kernel=k.RBF("t"))
    refused(lambda: model.fit(counts(), metadata=metadata), "'t'", "infinite", "NaN")


def test_a_column_with_nothing_in_it_is_refused():
    model = GPTM(2, kernel=k.RBF("t"))
    refused(lambda: model.fit(counts(), metadata={"t": [None] * 8}), "'t'", "RBF", "every row")


def test_two_columns_of_one_name_are_refused():
    metadata = pd.DataFrame(np.arange(16.0).reshape(8, 2), columns=["t", "t"])
    refused(lambda: GPTM(2, kernel=k.RBF("t")).fit(counts(), metadata=metadata), "'t'")


# Kernels


def test_a_kernel_that_is_not_symmetric_is_refused():
    matrix = np.eye(8)
    matrix[0, 1] = 0.5
    for kernel in (matrix, k.Precomputed(matrix), pd.DataFrame(matrix)):
        refused(
            lambda kernel=kernel: GPTM(2, kernel=kernel).fit(counts()), "symmetric", "0.5", "pass"
        )


@pytest.mark.parametrize("inference", KERNELS)
def test_a_kernel_that_is_not_positive_semi_definite_is_refused(inference):
    matrix = np.ones((8, 8)) - 0.5 * np.eye(8)  # smallest eigenvalue -0.5
    model = GPTM(2, kernel=matrix, inference=inference, learn_kernel=False)
    refused(lambda: model.fit(counts()), "positive semi-definite", "-0.5", "diagonal")


@pytest.mark.parametrize("inference", KERNELS)
def test_a_matrix_that_is_definite_for_the_training_documents_only_is_refused(inference):
    matrix = np.eye(9)
    matrix[8, 0] = matrix[0, 8] = 2.0  # document 8 comes later
    kernel = k.Precomputed(matrix, id="row")
    model = GPTM(2, kernel=kernel, inference=inference, random_state=0)

    def fit_and_transform():
        model.fit(counts(), metadata={"row": np.arange(8)})
        model.transform(counts(1), metadata={"row": [8]})

    refused(fit_and_transform, "positive semi-definite", "diagonal")


def test_the_remedy_for_an_indefinite_kernel_works():
    matrix = np.ones((8, 8)) - 0.5 * np.eye(8)
    message = refused(lambda: GPTM(2, kernel=matrix, learn_kernel=False).fit(counts()), "Add ")
    amount = float(message.split("Add ")[1].split()[0])
    fit_strictly(GPTM(2, kernel=matrix + amount * np.eye(8), random_state=0), counts())


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.eye(7), ["expected 8 x 8", "got 7 x 7", "id="]),
        (np.ones((8, 7)), ["square", "(8, 7)"]),
        (np.ones(8), ["square", "(8,)"]),
        (np.full((8, 8), np.nan), ["finite", "NaN"]),
    ],
)
def test_a_matrix_of_the_wrong_shape_is_refused(matrix, words):
    refused(lambda: GPTM(2, kernel=matrix).fit(counts()), *words)


@pytest.mark.parametrize("kernel", ["rbf", 3, [[1.0]], {"t": 1}])
def test_what_is_no_kernel_is_refused(kernel):
    refused(lambda: GPTM(2, kernel=kernel).fit(counts()), "kernel", "gptm.kernels", "'auto'")


def test_a_class_of_kernels_is_no_kernel_yet():
    refused(lambda: GPTM(2, kernel=k.RBF).fit(counts()), "class RBF", "gptm.kernels", "RBF(...)")


def test_a_kernel_of_scikit_learn_needs_columns():
    from sklearn.gaussian_process.kernels import RBF

    refused(lambda: GPTM(2, kernel=RBF()).fit(counts()), "scikit-learn", "columns", "OnColumns(")


def test_a_failed_fit_leaves_the_model_unfitted(model):
    with pytest.raises(ValueError, match="metadata"):
        model.fit(counts(), metadata=times(3))
    assert not hasattr(model, "components_")


# Odd, but it works


def emptied(X, rows):
    X = X.copy()
    X[rows] = 0
    return X


ODD = {
    "some empty documents": emptied(counts(), [0, 3, 7]),
    "all documents but one empty": emptied(counts(), slice(1, None)),
    "all documents empty": np.zeros((8, 6), dtype=int),
    "one-word documents": np.eye(6, dtype=int)[[0, 1, 2, 3, 4, 5, 0, 1]],
    "words that never occur": np.column_stack([counts(), np.zeros((8, 3), dtype=int)]),
    "one word alone": np.column_stack([counts()[:, :1], np.zeros((8, 2), dtype=int)]),
    "duplicate documents": np.tile(counts(1), (8, 1)),
    "a count of a million": counts() + 999_999 * np.eye(8, 6, dtype=int),
    "everything a million": 1_000_000 * counts(),
    "few documents": counts(2),
    "one document": counts(1),
    "one empty document": np.zeros((1, 6), dtype=int),
    "one word in the vocabulary": counts(8, 1),
    "one document of one word": np.ones((1, 1), dtype=int),
    "fractional counts": counts() * 0.37,
    "tiny counts": counts() * 1e-9,
}


def check_fitted(model, X):
    D, V, K = *X.shape, model.n_components
    assert model.components_.shape == (K, V)
    assert model.doc_topics_.shape == (D, K)  # no silent drop
    for name in ("components_", "topic_covariance_", "mean_", "doc_topics_", "doc_logits_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert np.isfinite(model.doc_variance_).all()
    assert (model.doc_variance_ > 0).all()
    assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-10)
    assert_allclose(model.doc_topics_.sum(axis=1), 1.0, rtol=1e-10)
    assert np.isfinite(model.bound_).all()
    if model.inference != "sampling":
        fall = np.diff(model.bound_)
        assert (fall >= -1e-8 * (1 + np.abs(model.bound_[1:]))).all(), fall.min()
    if isinstance(model, GPTM):
        for name in ("doc_means_", "dual_coef_", "coregionalization_"):
            assert np.isfinite(getattr(model, name)).all(), name


def check_predictions(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = model.transform(X, metadata=times(len(X)))
        assert theta.shape == (len(X), model.n_components)
        assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-10)
        assert len(model.topics()) == model.n_components
        if (np.floor(X).sum(axis=1) >= 2).any():
            assert np.isfinite(model.score(X, metadata=times(len(X))))
            assert model.perplexity(X, metadata=times(len(X))) >= 1.0 - 1e-12


@pytest.mark.parametrize("init", ["gibbs", "spectral", "random"])
@pytest.mark.parametrize("X", ODD.values(), ids=ODD)
def test_odd_counts_work(model, X, init):
    fit_strictly(model.set_params(init=init), X)
    check_fitted(model, X)
    check_predictions(model, X)


@pytest.mark.parametrize("n_components", [1, 3, 20])
@pytest.mark.parametrize("init", ["gibbs", "spectral", "random"])
@pytest.mark.parametrize("name", ["few documents", "all documents empty", "duplicate documents"])
def test_any_number_of_topics_works(model, n_components, init, name):
    """Also more topics than documents, or than words."""
    X = ODD[name]
    fit_strictly(model.set_params(n_components=n_components, init=init), X)
    check_fitted(model, X)
    check_predictions(model, X)
    if n_components == 1:
        assert_allclose(model.doc_topics_, 1.0, rtol=1e-12)


@pytest.mark.parametrize("name", ODD)
def test_odd_counts_work_without_smoothing(model, name):
    X = ODD[name]
    fit_strictly(model.set_params(smoothing=0.0), X)
    check_fitted(model, X)
    check_predictions(model, X)


@pytest.mark.parametrize("inference", ["variational", "map"])
def test_pseudo_counts_that_round_to_zero_leave_the_bound_finite(inference):
    settings = {"inference": inference, "smoothing": 5e-324, "random_state": 0}
    model = GPTM(2, kernel=k.Identity(), **settings)
    fit_strictly(model, ODD["words that never occur"])
    assert np.isfinite(model.bound_).all()


@pytest.mark.parametrize("coregionalization", ["free", "shared", "identity"])
@pytest.mark.parametrize("inference", KERNELS)
@pytest.mark.parametrize(
    "kernel", [k.Identity(), k.RBF("t"), k.Matern("t") + k.Identity()], ids=repr
)
@pytest.mark.parametrize("name", ["all documents empty", "one document", "a count of a million"])
def test_odd_counts_work_with_every_prior(coregionalization, inference, kernel, name):
    X = ODD[name]
    model = GPTM(
        3,
        kernel=kernel,
        inference=inference,
        coregionalization=coregionalization,
        random_state=0,
        max_iter=30,
    )
    fit_strictly(model, X)
    check_fitted(model, X)
    check_predictions(model, X)


def test_new_documents_may_be_odd(model):
    X = counts(30)
    fit_strictly(model, X)
    for new in ODD.values():
        if new.shape[1] == X.shape[1]:
            check_predictions(model, new)


def test_words_unseen_in_training_do_not_break_new_documents(model):
    X = np.column_stack([counts(30), np.zeros((30, 2), dtype=int)])
    fit_strictly(model.set_params(smoothing=0.0), X)
    unseen = np.zeros((2, 8), dtype=int)
    unseen[:, -1] = 5
    check_predictions(model, unseen)


def test_empty_documents_share_the_prior_and_keep_their_place(model):
    X = emptied(counts(30), [4, 9])
    same_time = pd.DataFrame({"t": np.where(np.isin(np.arange(30), [4, 9]), 5.0, np.arange(30.0))})
    fit_strictly(model, X, same_time)
    assert_allclose(model.doc_topics_[4], model.doc_topics_[9], rtol=1e-6)
    assert np.abs(model.doc_topics_[4] - model.doc_topics_[5]).max() > 1e-6


def test_words_that_never_occur_get_next_to_nothing(model):
    X = ODD["words that never occur"]
    fit_strictly(model, X)
    seen, never = model.components_[:, :-3], model.components_[:, -3:]
    assert (never.max(axis=1) < seen.min(axis=1)).all()
    # A small topic has more smoothing, and a chain learns how much of it there is.
    limit = 0.01 if model.inference == "sampling" else 0.001
    assert (model.doc_topics_.mean(axis=0) @ never < limit).all()
    assert (model.components_ > 0).all()
    if model.inference != "sampling":  # which learns how much it smooths
        fit_strictly(model.set_params(smoothing=0.0), X)
        assert_allclose(model.components_[:, -3:], 0.0, atol=1e-9)


def test_duplicates_in_a_sparse_matrix_are_added(model):
    X = counts()
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    split = csr_matrix(
        (
            np.concatenate([values - 1, np.ones_like(values)]).astype(float),
            (np.concatenate([rows, rows]), np.concatenate([columns, columns])),
        ),
        shape=X.shape,
    )
    raw = coo_matrix(split)
    reference = fit_strictly(model, X).components_.copy()
    assert_array_equal(fit_strictly(model, raw).components_, reference)
    explicit_zeros = csr_matrix(X.astype(float))
    explicit_zeros.data[0] = 0.0
    without = X.copy()
    without[0, 0] = 0
    reference = fit_strictly(model, without).components_.copy()
    assert_array_equal(fit_strictly(model, explicit_zeros).components_, reference)


def test_float_counts_equal_integer_counts(model):
    X = counts()
    reference = fit_strictly(model, X).components_.copy()
    for same in (X.astype(np.float32), X.astype(float), X.astype(np.uint8), csr_matrix(X)):
        assert_array_equal(fit_strictly(model, same).components_, reference)


def test_fractions_count_for_what_they_are():
    X = counts(20) * 0.37
    model = fit_strictly(CTM(2, inference="variational", random_state=0, max_iter=10), X)
    nothing = np.zeros((2, 2)), np.zeros((20, 20))
    names = ("components_", "doc_logits_", "doc_variance_", "mean_", "topic_covariance_")
    fitted = [getattr(model, name) for name in names]
    expected = naive.bound_collapsed(X, *fitted, *nothing, smoothing=model.smoothing)
    assert_allclose(model.bound_[-1], expected, rtol=1e-10)


@pytest.mark.parametrize(
    "weights",
    [
        lambda X: TfidfTransformer().fit_transform(X),
        lambda X: TfidfTransformer(norm=None).fit_transform(X),
        lambda X: X / X.sum(axis=1, keepdims=True),
        lambda X: Corpus(X * 0.5, vocabulary=list("abcdef")),
    ],
    ids=["tf-idf", "tf-idf, not normalised", "rows of one", "a corpus"],
)
def test_weights_in_the_place_of_counts_get_one_warning(weights):
    X = weights(np.random.default_rng(0).poisson(1.0, (20, 6)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CTM(2, random_state=0, max_iter=3).fit(X)
        model.transform(X)
    (said,) = [str(warning.message) for warning in caught]
    assert said.startswith(FRACTIONS)
    assert "as CountVectorizer makes them, or the texts themselves" in said
    with pytest.warns(UserWarning, match=FRACTIONS):
        model.partial_fit(X)


def test_sums_that_are_whole_but_for_rounding_are_counts():
    X = np.repeat(0.1, 30).reshape(10, 3).cumsum(axis=0)[[9]] * np.arange(1, 9)[:, None]
    assert (X % 1 != 0).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CTM(2, random_state=0, max_iter=3).fit(X)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ("green tea", ["got one text", "Pass [text]"]),
        (
            pd.DataFrame({"year": [1, 2], "by": ["a", "b"], "body": ["green tea", "black tea"]}),
            ["text in 'by', 'body'", "df['body']", "metadata=df"],
        ),
        ([["green", "tea"], [], ["tea"]], ["lists of words", "Corpus.from_tokens(X)"]),
        (pd.Series([["green", "tea"], ["tea"]]), ["lists of words", "Corpus.from_tokens(X)"]),
        ([[(0, 1), (3, 2)], [(1, 1)]], ["(word, count) pairs", "corpus2csc"]),
        (None, ["got None", "Pass a list"]),
        ({"green tea", "black tea"}, ["got a set", "Pass a list"]),
    ],
    ids=["a text", "a table", "tokens", "a column of tokens", "bags of words", "nothing", "a set"],
)
def test_documents_that_are_no_counts_are_named_for_what_they_are(X, words):
    message = refused(lambda: CTM(2).fit(X), *words)
    assert "convert" not in message  # of texts to numbers, as scikit-learn says


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("t", ["For this column", "kernels.Matern('t')", "kernels.Categorical('t')"]),
        ("~ party + s(day)", ["formula of R", "kernels.Categorical('party') + kernels.Matern"]),
        ("matern(t)", ["parse_kernel('matern(t)')"]),
    ],
)
def test_a_text_as_kernel_gets_the_kernel_to_pass(kernel, words):
    refused(lambda: GPTM(2, kernel=kernel).fit(counts(), metadata=times(8)), *words)


def test_questions_about_what_the_model_does_not_have_say_what_it_has():
    kernel = k.RBF("t", length_scale=2.0)
    model = GPTM(2, kernel=kernel, random_state=0, max_iter=10).fit(counts(), metadata=times(8))
    refused(lambda: model.effects("party"), "one of ['t']", "estimate_effects('~ party', metadata)")
    refused(lambda: model.effects("t", at={"year": [1]}), f"that {kernel!r} reads: 't'", "'year'")
    refused(lambda: model.effects("t", topic="tax"), "from 0 to 1", "name_topics")
    named = model.name_topics({0: "tea"})
    message = refused(lambda: named.effects("t", topic="tax"), "'tea'")
    assert "name_topics" not in message


def test_vectors_as_y_are_not_ignored_in_silence():
    vectors = np.random.default_rng(0).normal(size=(8, 3))
    with pytest.warns(UserWarning, match=r"passed as y, which is ignored.*Embedding\('vector'\)"):
        CTM(2, random_state=0, max_iter=3).fit_transform(counts(), vectors)


def test_forty_features_are_not_no_features():
    model = CTM(2, random_state=0, max_iter=3).fit(counts(V=40))
    refused(lambda: model.transform(counts()), "40 features", "vocabulary of the training counts")


def test_metadata_may_be_missing_in_places(model):
    X, metadata = counts(30), times(30)
    metadata.loc[[3, 7], "t"] = np.nan
    fit_strictly(model, X, metadata)
    check_fitted(model, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = model.transform(X, metadata=metadata)
    assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)


def test_a_constant_column_works(model):
    if isinstance(model, CTM):
        pytest.skip("CTM has no kernel")
    X = counts(10)
    with pytest.warns(UserWarning, match="same value in 't'"):
        model.fit(X, metadata=pd.DataFrame({"t": np.full(10, 2000.0)}))
    check_fitted(model, X)


def test_a_kernel_that_is_zero_throughout_is_no_kernel(model):
    if isinstance(model, CTM):
        pytest.skip("CTM has no kernel")
    X = counts(10)
    fit_strictly(model.set_params(kernel=np.zeros((10, 10))), X)
    inference = "sampling" if model.inference == "sampling" else "variational"
    ctm = fit_strictly(CTM(2, inference=inference, random_state=0, max_iter=30), X)
    assert_array_equal(model.components_, ctm.components_)


# Memory


@pytest.fixture
def little_memory(monkeypatch):
    """A machine of one page of 4 KB."""
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1}
    monkeypatch.setattr("gptm._basics.memory.os.sysconf", lambda name: sizes[name])


def test_a_model_without_a_kernel_needs_no_matrix_between_documents(little_memory):
    X = counts(30)
    plain = CTM(2, random_state=0).fit(X)
    assert np.isfinite(plain.perplexity(X, kind="conditional"))
    own = fit_strictly_or_not(GPTM(2, kernel=k.Identity(), inference="map", random_state=0), X)
    assert own.transform(X).shape == (30, 2)


def test_vectors_of_nothing_are_refused():
    with pytest.raises(ValueError, match="'v' must hold vectors"):
        GPTM(2, kernel=k.NearestNeighbors(1, on="v")).fit(np.ones((2, 3)), metadata={"v": [[], []]})


@pytest.mark.parametrize("weight", [1.0, 1e-100, 1e-200, 1e-300])
def test_neighbours_of_hardly_any_weight_are_no_reason_to_divide_by_zero(weight):
    """A lone edge has the same normalised weight, however small it is."""
    edge = csr_matrix(([weight], ([0], [0])), shape=(1, 2))
    kernel = SimpleNamespace(kappa=1.0, nu=1)
    graph = SimpleNamespace(kernel=kernel, _degrees=np.zeros(2), _spare=0.0, _scale=1.0)
    weights, _ = NetworkBound._smooth_leaves(graph, edge)
    assert_allclose(weights.toarray(), [[0.5, 0.0]])


@pytest.mark.parametrize("value", [2**70, 10**400, -(10**400), pytest.param(10**6000, id="huge")])
@pytest.mark.parametrize(
    "name",
    ["n_components", "max_iter", "n_chains", "random_state", "smoothing", "tol", "doc_points"],
)
def test_numbers_beyond_those_of_the_machine_are_refused(name, value):
    if value == 2**70 and name in ("smoothing", "tol"):
        pytest.skip("a number like others")
    with pytest.raises(ValueError, match=f"{name} must be an? (integer|number) of at least"):
        CTM(2).set_params(**{name: value}).fit(np.ones((3, 4)))


@pytest.mark.parametrize("inference", ["sampling", "variational"])
def test_more_topics_than_the_machine_can_hold_are_refused_at_once(inference):
    with pytest.raises(ValueError, match=r"1,000,000 topics .* would need .* Fit fewer topics"):
        CTM(1_000_000, inference=inference).fit(np.ones((3, 4)))


def test_too_many_features_are_refused(little_memory):
    frame = pd.DataFrame(
        {"a": [str(i % 40) for i in range(200)], "b": [str(i % 7) for i in range(200)]}
    )
    kernel = k.Categorical("a") + k.Categorical("b")
    with pytest.raises(
        ValueError, match=r"47 features that are solved together.*Merge rare levels"
    ):
        GPTM(2, kernel=kernel, random_state=0).fit(counts(200), metadata=frame)
    alone = GPTM(2, kernel=k.Categorical("a"), random_state=0)
    assert fit_strictly_or_not(alone, counts(200), frame).doc_topics_.shape == (200, 2)


def fit_strictly_or_not(model, X, metadata=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, metadata=metadata)


# Extremes


@pytest.mark.parametrize("bandwidth", [1e-162, 1e155, 0.0, np.nan])
def test_a_bandwidth_whose_square_is_no_number_is_refused(bandwidth):
    kernel = k.NearestNeighbors(2, on="t", bandwidth=bandwidth)
    model = GPTM(2, kernel=kernel)
    refused(lambda: model.fit(counts(), metadata=times(8)), "bandwidth", "1e-30", repr(bandwidth))


def test_a_length_scale_whose_square_is_no_number_is_refused():
    for kernel in (
        k.RBF("t", length_scale=1e-162),
        k.Periodic("t", period=1.0, length_scale=1e-181),
    ):
        model = GPTM(2, kernel=kernel)
        refused(lambda model=model: model.fit(counts(), metadata=times(8)), "length_scale", "1e-30")


@pytest.mark.parametrize("form", ["smooth", "direct"])
def test_links_of_extreme_weight_are_refused(form):
    kernel = k.Graph(adjacency=1e155 * (np.ones((8, 8)) - np.eye(8)), form=form)
    refused(lambda: GPTM(2, kernel=kernel).fit(counts()), "adjacency", "1e+155", "divide")


def test_a_kernel_times_an_extreme_number_is_refused():
    refused(lambda: 1e155 * k.RBF("t"), "multiplied", "1e+30")


def test_one_count_of_ten_billion_works(model):
    X = counts().astype(float)
    X[0, 0] = 1e10
    check_fitted(fit_strictly(model.set_params(max_iter=5), X), X)
    assert_allclose(model.transform(X, metadata=times(8)).sum(axis=1), 1.0, rtol=1e-10)


def test_more_tokens_than_can_be_counted_are_refused(model):
    X = counts().astype(float)
    X[0, 0] = 1e18
    refused(lambda: model.fit(X, metadata=times(8)), "sum to at most", "1e+18", "divide")


def test_documents_too_long_for_em_are_refused():
    X = counts().astype(float)
    X[3, 0] = 1e13
    model = CTM(2, inference="variational")
    refused(lambda: model.fit(X), "document 3", "1e+13", "inference='sampling'")


def test_a_seed_weight_beyond_reason_is_refused(model):
    model.set_params(seed_words={0: [0]}, seed_weight=1e300)
    refused(
        lambda: model.fit(counts(), metadata=times(8)), "seed_weight", "at most 1e+06", "1e+300"
    )


BROKEN = "x\ud800"  # half of a surrogate pair


def test_broken_unicode_is_refused_where_it_comes_in():
    words = [*"abcde", BROKEN]
    said = ["Unicode", r"'x\ud800'", "surrogate"]
    refused(lambda: Corpus(counts(), words), "vocabulary", *said)
    refused(lambda: as_frame({"c": [BROKEN] * 8}, 8), "'c'", *said)
    frame = pd.DataFrame({"c": pd.Series([BROKEN, "a"] * 4, dtype=object)})
    model = GPTM(2, kernel=k.Categorical("c"))
    refused(lambda: model.fit(counts(), metadata=frame), "level of 'c'", *said)
    refused(lambda: CTM(2, seed_words={BROKEN: [0]}).fit(counts()), "name of a topic", *said)


def test_a_column_that_no_kernel_uses_may_hold_half_a_character():
    frame = pd.DataFrame({"odd": [True, BROKEN]})
    fit_strictly(GPTM(2, max_iter=3, random_state=0), counts(2), frame)


def test_a_kernel_of_nothing_has_no_effects():
    metadata = {"t": [3.0] * 8}
    with pytest.warns(UserWarning, match="same value"):
        model = GPTM(2, kernel=k.Linear("t"), max_iter=3, random_state=0).fit(
            counts(), metadata=metadata
        )
    refused(lambda: model.effects("t"), "zero for all training documents", "vary")


def test_the_start_takes_as_many_tokens_as_distinct_words_need():
    docs, _ = lda.tokens_of(csr_matrix(np.full((30, 30), 1e6)))
    assert len(docs) <= 1.01 * lda.ENOUGH
    X = csr_matrix(counts())
    assert len(lda.tokens_of(X)[0]) == X.sum()


@pytest.mark.parametrize("count", [5e-324, 1e-300])
def test_counts_next_to_nothing_are_refused(count):
    X = np.ones((3, 4))
    model = CTM(2, max_iter=3, random_state=0).fit(X)
    X[1, 2] = count
    for use in (CTM(2).fit, model.transform, model.partial_fit):
        with pytest.raises(
            ValueError, match=r"must be zero or at least 1e-100, .* the smallest is"
        ):
            use(csr_matrix(X))


def test_matrices_of_huge_numbers_are_refused():
    matrix = np.array([[1e155, 0.0], [0.0, 1.0]])
    for kernel in (k.Precomputed(matrix), k.Precomputed(matrix) * k.Precomputed(matrix), -matrix):
        with pytest.raises(
            ValueError, match=r"at most 1e\+100, .* largest is 1e\+155. Divide the matrix"
        ):
            GPTM(2, kernel=kernel, max_iter=3).fit(np.ones((2, 3)))


def test_labels_with_half_a_character_are_refused():
    labels = ["a", "\udfff", "a", -1]
    with pytest.raises(ValueError, match="a label in y must be valid Unicode"):
        GPTM(2, kernel=k.MustLink(), max_iter=3).fit(np.ones((4, 3)), y=labels)


def test_more_neighbours_than_documents_are_all_of_them():
    X, table = np.eye(5, dtype=int) + 1, {"t": [0.0, 1.0, 3.0, 7.0, 8.0]}
    expected, found = (
        GPTM(2, kernel=k.NearestNeighbors(n, on="t"), max_iter=3, random_state=0)
        .fit(X, metadata=table)
        .transform(X[:2], metadata={"t": [2.0, 4.0]})
        for n in (5, 10**15)
    )
    assert_allclose(found, expected)


def test_a_matern_kernel_that_cannot_be_computed_is_refused():
    with pytest.raises(ValueError, match=r"nu must be at least 0\.001"):
        GPTM(2, kernel=k.Matern("t", nu=5e-324)).fit(np.ones((2, 3)), metadata={"t": [0.0, 1.0]})
