"""scikit-learn's contract, its composition tools, and the metadata that must not get lost in them."""

from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import kernels as gp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from gptm import CTM, GPTM, Corpus
from gptm import kernels as k

N_DOCUMENTS = 36
TEXTS = [
    "green tea and black tea with milk",
    "black coffee and roasted coffee beans",
    "tea leaves, green leaves, hot water",
    "espresso beans ground for coffee",
    "milk in tea, never water",
    "roasted beans and ground coffee",
] * 4


def drifting_corpus(n=N_DOCUMENTS, V=12, seed=0):
    """Counts whose first half of the words fades with the year; column 0 carries the document's number."""
    rng = np.random.default_rng(seed)
    year = rng.permutation(np.linspace(1990.0, 2020.0, n))
    early = 1 / (1 + np.exp((year - 2005.0) / 3.0))
    half = V // 2
    beta = np.zeros((2, V))
    beta[0, :half], beta[1, half:] = 1 / half, 1 / half
    X = np.array([rng.multinomial(30, p * beta[0] + (1 - p) * beta[1]) for p in early])
    X = np.column_stack([np.arange(n) + 1, X])
    metadata = pd.DataFrame({"number": np.arange(n) + 1, "year": year})
    return X, metadata


def quick_model(**changes):
    parameters = {
        "n_components": 2,
        "kernel": k.RBF("year", length_scale=5.0),
        "max_iter": 5,
        "tol": 1.0,
        "random_state": 0,
    }
    return GPTM(**parameters | changes)


def fitted_bits(model):
    names = ["components_", "doc_topics_", "bound_", "topic_covariance_", "mean_"]
    return [getattr(model, name) for name in names]


def assert_same_bits(first, second):
    for a, b in zip(first, second, strict=True):
        assert_array_equal(a, b)


def first_column(X):
    counts = X.counts if isinstance(X, Corpus) else X
    return np.asarray(csr_matrix(counts)[:, 0].todense()).ravel().tolist()


RECORD = []


class Recording(GPTM):
    """A GPTM that notes which documents and which metadata each public method received."""

    def _note(self, method, X, metadata):
        if metadata is None and isinstance(X, Corpus):
            metadata = X.metadata
        numbers = None if metadata is None else metadata["number"].tolist()
        RECORD.append((method, first_column(X), numbers))

    def fit(self, X, y=None, *, metadata=None):
        self._note("fit", X, metadata)
        return super().fit(X, y, metadata=metadata)

    def fit_transform(self, X, y=None, *, metadata=None):
        self._note("fit_transform", X, metadata)
        before = len(RECORD)
        theta = super().fit_transform(X, y, metadata=metadata)
        del RECORD[before:]  # whether it calls transform is its own business
        return theta

    def transform(self, X, *, metadata=None):
        self._note("transform", X, metadata)
        return super().transform(X, metadata=metadata)

    def score(self, X, y=None, *, metadata=None):
        self._note("score", X, metadata)
        return super().score(X, y, metadata=metadata)


@pytest.fixture
def record():
    RECORD.clear()
    yield RECORD
    RECORD.clear()


def recording_model(**changes):
    return Recording(**quick_model(**changes).get_params(deep=False))


# The contract


@parametrize_with_checks([GPTM(), CTM(), GPTM(kernel=k.Identity(), inference="map")])
def test_estimator_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [GPTM(), CTM()], ids=["GPTM", "CTM"])
@pytest.mark.parametrize("method", ["transform", "score", "perplexity"])
def test_unfitted_model_says_so(model, method):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(model, method)(np.ones((2, 3)))


@pytest.mark.parametrize("method", ["topics", "save", "sample"])
def test_unfitted_model_says_so_without_documents(method):
    arguments = {"topics": (), "save": ("model.gptm",), "sample": (3,)}[method]
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(GPTM(), method)(*arguments)


def test_constructor_takes_only_the_number_of_topics_by_position():
    assert GPTM(7).n_components == CTM(7).n_components == 7
    with pytest.raises(TypeError):
        GPTM(7, None)
    with pytest.raises(TypeError):
        CTM(7, "full")


# Pipelines and output containers


@pytest.mark.parametrize("model_class", [GPTM, CTM])
def test_pipeline_from_texts_equals_its_steps(model_class):
    model = model_class(n_components=2, random_state=0)
    pipeline = Pipeline([("counts", CountVectorizer()), ("topics", model)])
    theta = pipeline.fit_transform(TEXTS)
    counts = CountVectorizer().fit_transform(TEXTS)
    by_hand = clone(model).fit(counts)
    assert_array_equal(theta, by_hand.transform(counts))
    assert_array_equal(pipeline.transform(TEXTS[:3]), by_hand.transform(counts[:3]))
    prefix = model_class.__name__.lower()
    assert pipeline.get_feature_names_out().tolist() == [f"{prefix}0", f"{prefix}1"]
    assert pipeline.score(TEXTS) == by_hand.score(counts)


def test_pipeline_gives_pandas_when_asked():
    pipeline = Pipeline(
        [
            ("counts", CountVectorizer()),
            ("topics", GPTM(n_components=3, random_state=0).set_output(transform="pandas")),
        ]
    )
    table = pipeline.fit_transform(TEXTS)
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == ["gptm0", "gptm1", "gptm2"]
    np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)
    assert isinstance(pipeline.transform(TEXTS[:2]), pd.DataFrame)


def test_pandas_output_keeps_the_index_of_the_counts():
    X, metadata = drifting_corpus()
    names = [f"document{d}" for d in range(len(X))]
    frame = pd.DataFrame(X, index=names, columns=[f"word{w}" for w in range(X.shape[1])])
    model = quick_model().set_output(transform="pandas")
    fitted = model.fit_transform(frame, metadata=metadata)
    again = model.transform(frame.iloc[3:5], metadata=metadata.iloc[3:5])
    assert list(fitted.index) == names
    assert list(again.index) == names[3:5]
    assert model.feature_names_in_.tolist() == list(frame.columns)
    plain = quick_model().fit(X, metadata=metadata).transform(X, metadata=metadata)
    assert_array_equal(fitted.to_numpy(), plain)


def test_names_of_outputs_count_the_topics():
    X, metadata = drifting_corpus()
    model = quick_model(n_components=4).fit(X, metadata=metadata)
    assert model.get_feature_names_out().tolist() == ["gptm0", "gptm1", "gptm2", "gptm3"]
    with pytest.raises(NotFittedError):
        GPTM().get_feature_names_out()


def test_fit_transform_is_fit_and_then_transform():
    X, metadata = drifting_corpus()
    together = quick_model().fit_transform(X, metadata=metadata)
    apart = quick_model().fit(X, metadata=metadata)
    assert_array_equal(together, apart.transform(X, metadata=metadata))
    with pytest.warns(UserWarning, match="metadata"):
        without = apart.transform(X)
    assert np.abs(together - without).max() > 1e-6


# Cloning and nested parameters


KERNELS = {
    "rbf": k.RBF("year", length_scale=5.0),
    "matern": k.Matern("year", "number", nu=2.5, name="when"),
    "identity": k.Identity(name="own"),
    "sum": k.RBF("year", length_scale=5.0) + k.Identity(),
    "scaled": 2.5 * k.RBF("year"),
    "product": k.RBF("year") * k.Matern("number"),
    "nested": 0.5 * (k.RBF("year") + 3.0 * k.Identity()) + k.Matern("number"),
    "columns": k.OnColumns(gp.RationalQuadratic(3.0) + gp.WhiteKernel(0.1), "year"),
    "precomputed": k.Precomputed(np.eye(N_DOCUMENTS), id="number"),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_clone_copies_the_kernel(kernel):
    model = GPTM(n_components=3, kernel=kernel)
    copy = clone(model)
    assert copy.kernel is not model.kernel
    assert copy.kernel == model.kernel
    assert repr(copy.kernel) == repr(kernel)
    assert copy.get_params(deep=True).keys() == model.get_params(deep=True).keys()


def test_clone_is_independent_of_its_original():
    model = GPTM(kernel=2.5 * k.RBF("year", length_scale=5.0) + k.Identity())
    copy = clone(model)
    copy.set_params(kernel__k1__kernel__length_scale=1.0, kernel__k1__scale=7.5)
    assert repr(model.kernel) == "2.5 * RBF('year', length_scale=5.0) + Identity()"
    assert repr(copy.kernel) == "7.5 * RBF('year', length_scale=1.0) + Identity()"


@pytest.mark.parametrize("name", ["sum", "scaled", "nested", "columns"])
def test_clone_fits_to_the_same_bits(name):
    X, metadata = drifting_corpus()
    model = quick_model(kernel=KERNELS[name])
    first = clone(model).fit(X, metadata=metadata)
    second = clone(first).fit(X, metadata=metadata)  # a clone of a fitted model is unfitted
    assert_same_bits(fitted_bits(first), fitted_bits(second))
    assert not hasattr(clone(first), "components_")


def test_fit_leaves_the_given_kernel_alone():
    X, metadata = drifting_corpus()
    kernel = 2.5 * k.RBF("year")
    model = quick_model(kernel=kernel).fit(X, metadata=metadata)
    assert model.kernel is kernel
    assert repr(kernel) == "2.5 * RBF('year')"
    assert "length_scale" in repr(model.kernel_)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_parameters_can_be_set_to_what_they_are(kernel):
    model = GPTM(kernel=clone(kernel))
    model.set_params(**model.get_params(deep=True))
    assert model.kernel == kernel


def test_unknown_nested_parameter_is_named():
    with pytest.raises(ValueError, match="lengthscale"):
        GPTM(kernel=k.RBF("year")).set_params(kernel__lengthscale=3.0)


# Searching


def search(estimator, grid, backend=None, **options):
    X, metadata = drifting_corpus()
    corpus = Corpus(X, metadata=metadata)
    found = GridSearchCV(estimator, grid, cv=KFold(3), error_score="raise", **options)
    if backend is None:
        return found.fit(corpus)
    with joblib.parallel_backend(backend):
        return found.fit(corpus)


@pytest.mark.full_chains  # other processes have the usual length
@pytest.mark.parametrize(
    "grid",
    [{"n_components": [1, 2, 3]}, {"kernel__length_scale": [0.1, 5.0, 50.0]}],
    ids=["n_components", "kernel__length_scale"],
)
def test_grid_search_is_the_same_in_processes_and_in_threads(grid):
    alone = search(quick_model(), grid, n_jobs=1)
    scores = [alone.cv_results_[f"split{i}_test_score"] for i in range(3)]
    assert np.isfinite(scores).all()
    assert len(np.unique(np.array(scores)[0])) == 3  # the parameter changes the score
    for backend in ("loky", "threading"):
        other = search(quick_model(), grid, backend, n_jobs=2)
        for i in range(3):
            assert_array_equal(other.cv_results_[f"split{i}_test_score"], scores[i])
        assert other.best_params_ == alone.best_params_
        assert_same_bits(fitted_bits(other.best_estimator_), fitted_bits(alone.best_estimator_))


def test_grid_search_over_whole_kernels():
    found = search(quick_model(), {"kernel": [None, k.RBF("year", length_scale=5.0), k.Identity()]})
    scores = found.cv_results_["mean_test_score"]
    assert found.best_params_["kernel"] == k.RBF("year", length_scale=5.0)  # the years do matter
    assert scores[1] > scores[0]


def test_grid_search_slices_a_corpus_with_its_metadata(record):
    search(recording_model(), {"n_components": [2]}, refit=False)
    folds = list(KFold(3).split(np.arange(N_DOCUMENTS)))
    expected = []
    for train, test in folds:
        expected += [("fit", train), ("score", test)]
    assert [method for method, _, _ in record] == [method for method, _ in expected]
    for (_, documents, numbers), (_, rows) in zip(record, expected, strict=True):
        assert documents == numbers == (rows + 1).tolist()


def test_train_test_split_takes_a_corpus():
    X, metadata = drifting_corpus()
    train, test = train_test_split(Corpus(X, metadata=metadata), test_size=10, random_state=0)
    assert (len(train), len(test)) == (N_DOCUMENTS - 10, 10)
    assert first_column(test) == test.metadata["number"].tolist()
    assert sorted(first_column(train) + first_column(test)) == list(range(1, N_DOCUMENTS + 1))


# Metadata in cross-validation


def check_folds(record, methods, folds):
    """Each fold calls `methods` in order; (name, which) with which part of the fold it must see."""
    expected = [
        (name, (train if which == "train" else test) + 1)
        for train, test in folds
        for name, which in methods
    ]
    assert [call[0] for call in record] == [name for name, _ in expected]
    for (_, documents, numbers), (_, rows) in zip(record, expected, strict=True):
        assert documents == rows.tolist()
        assert numbers == rows.tolist()


def test_routing_slices_metadata_for_fit_and_score(record):
    X, metadata = drifting_corpus()
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    with sklearn.config_context(enable_metadata_routing=True):
        cross_validate(
            recording_model(), X, cv=folds, error_score="raise", params={"metadata": metadata}
        )
    check_folds(record, [("fit", "train"), ("score", "test")], folds)


def test_routing_gives_the_scores_of_a_loop_by_hand():
    X, metadata = drifting_corpus()
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    with sklearn.config_context(enable_metadata_routing=True):
        found = GridSearchCV(
            quick_model(), {"kernel__length_scale": [5.0]}, cv=folds, error_score="raise"
        ).fit(X, metadata=metadata)
    for i, (train, test) in enumerate(folds):
        model = quick_model().fit(X[train], metadata=metadata.iloc[train])
        by_hand = model.score(X[test], metadata=metadata.iloc[test])
        assert found.cv_results_[f"split{i}_test_score"][0] == by_hand
        with pytest.warns(UserWarning, match="metadata"):
            assert model.score(X[test]) != by_hand
    refitted = quick_model().fit(X, metadata=metadata)
    assert_same_bits(fitted_bits(found.best_estimator_), fitted_bits(refitted))


def test_routing_reaches_transforms_inside_a_pipeline(record):
    X, metadata = drifting_corpus()
    y = metadata["year"].to_numpy() > 2005
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    pipeline = Pipeline([("topics", recording_model()), ("label", LogisticRegression())])
    with sklearn.config_context(enable_metadata_routing=True):
        cross_validate(pipeline, X, y, cv=folds, error_score="raise", params={"metadata": metadata})
    check_folds(record, [("fit_transform", "train"), ("transform", "test")], folds)


def test_routing_reaches_a_search_over_a_pipeline_of_texts():
    numbers = np.arange(len(TEXTS)) + 1
    texts = [f"{text} {'number ' * n}" for n, text in zip(numbers, TEXTS, strict=True)]
    metadata = pd.DataFrame({"number": numbers, "year": np.tile([1990.0, 2010.0], 12)})
    folds = list(KFold(2).split(texts))
    vectorizer = CountVectorizer()
    pipeline = Pipeline([("counts", vectorizer), ("topics", quick_model())])
    with sklearn.config_context(enable_metadata_routing=True):
        found = GridSearchCV(
            pipeline, {"topics__n_components": [2]}, cv=folds, refit=False, error_score="raise"
        ).fit(texts, metadata=metadata)
    for i, (train, test) in enumerate(folds):
        counts = CountVectorizer().fit([texts[d] for d in train])
        model = quick_model().fit(
            counts.transform([texts[d] for d in train]), metadata=metadata.iloc[train]
        )
        score = model.score(
            counts.transform([texts[d] for d in test]), metadata=metadata.iloc[test]
        )
        assert found.cv_results_[f"split{i}_test_score"][0] == score


def test_metadata_that_was_lost_is_noticed(record):
    X, metadata = drifting_corpus()
    search = GridSearchCV(recording_model(), {"n_components": [2]}, cv=KFold(2), refit=False)
    with pytest.warns(UserWarning, match="enable_metadata_routing"):
        search.fit(X, metadata=metadata)
    assert [numbers is None for _, _, numbers in record] == [False, True, False, True]


def test_score_and_transform_without_metadata_warn_once_each():
    X, metadata = drifting_corpus()
    model = quick_model().fit(X, metadata=metadata)
    for method in (model.score, model.transform, model.perplexity):
        with pytest.warns(
            UserWarning, match="reads metadata, but these .* documents came without any"
        ) as caught:
            method(X)
        assert len(caught) == 1


def test_the_warning_points_at_the_line_that_forgot_the_metadata():
    X, metadata = drifting_corpus()
    model = quick_model().fit(X, metadata=metadata)
    with pytest.warns(UserWarning, match="came without any") as caught:
        model.score(X)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("model", [GPTM(2, kernel=k.Identity()), GPTM(2, kernel=None), CTM(2)])
def test_models_that_read_no_metadata_do_not_ask_for_it(model, recwarn):
    X, metadata = drifting_corpus()
    model.set_params(random_state=0).fit(X)
    theta = model.transform(X)
    assert_array_equal(model.transform(X, metadata=metadata), theta)  # accepted and ignored
    assert model.score(X, metadata=metadata) == model.score(X)
    assert not [w for w in recwarn if "metadata" in str(w.message)]


# Several models at once


def test_models_fitted_at_once_in_threads_equal_models_fitted_alone():
    X, metadata = drifting_corpus(n=120, V=40)

    def fit(task):
        seed, inference, n_jobs = task
        model = quick_model(random_state=seed, inference=inference, n_jobs=n_jobs)
        model.fit(X, metadata=metadata)
        return [*fitted_bits(model), model.transform(X, metadata=metadata)]

    tasks = [(s, i, n) for s in (0, 1) for i in ("variational", "map") for n in (1, 2)]
    alone = [fit(task) for task in tasks]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(fit, tasks))
    for first, second in zip(alone, at_once, strict=True):
        assert_same_bits(first, second)
