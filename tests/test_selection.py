"""Cross-validation, comparison and the search for the number of topics, against loops by hand."""

import os
import signal
import warnings
from textwrap import wrap

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from scipy.sparse import coo_matrix, csr_array, csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.corpus.kinds import kinds_of
from gptm.metrics import mean_log_likelihood, split_tokens
from gptm.selection import Comparison, ComponentSearch
from gptm.selection.data import read_data
from gptm.selection.fold_fits import make_tasks
from gptm.selection.folds import make_folds

N = 36
SCORES = ["perplexity_50", "perplexity_20", "perplexity_5"]
CHANGES = [f"change_{share}{end}" for share in (50, 20, 5) for end in ("", "_error")]
OTHERS = ["bound", "coherence", "exclusivity", "seconds", "iterations", "converged"]
COLUMNS = [*SCORES, *OTHERS]


def drifting_documents(n=N, V=12, seed=0):
    """Counts whose first half of the words fades with t, and metadata that know it."""
    rng = np.random.default_rng(seed)
    t = rng.permutation(np.linspace(0.0, 30.0, n))
    early = 1 / (1 + np.exp((t - 15.0) / 2.0))
    half = V // 2
    beta = np.zeros((2, V))
    beta[0, :half], beta[1, half:] = 1 / half, 1 / half
    X = np.array([rng.multinomial(20, p * beta[0] + (1 - p) * beta[1]) for p in early])
    label = np.where(early > 0.5, "early", "late")
    links = [[int(j) for j in np.argsort(np.abs(t - t[i]))[1:3]] for i in range(n)]
    frame = pd.DataFrame({"t": t, "label": label, "row": np.arange(n), "links": links})
    return X, frame


def quick(kernel="none", **changes):
    defaults = {"n_components": 2, "init": "random", "max_iter": 8, "tol": 1e-2, "random_state": 0}
    settings = defaults | changes
    if isinstance(kernel, str) and kernel == "none":
        return CTM(**settings)
    return GPTM(kernel=kernel, **settings)


def timed():
    return quick(k.RBF("t", length_scale=5.0))


def without_time(table):
    return table.drop(columns="seconds")


# One fold, recomputed


def npmi_by_hand(beta, X, n_words=10):
    here = X > 0
    values = []
    for topic in beta:
        top = np.argsort(-topic, kind="stable")[:n_words]
        for a, v in enumerate(top):
            for w in top[:a]:
                p, p_v, p_w = (here[:, v] & here[:, w]).mean(), here[:, v].mean(), here[:, w].mean()
                value = -1.0 if p == 0 else 0.0 if p == 1 else np.log(p / (p_v * p_w)) / -np.log(p)
                values.append(value)
    return np.mean(values)  # as many pairs in each topic


@pytest.mark.parametrize("model", [quick(), timed()], ids=["CTM", "GPTM"])
def test_a_fold_is_what_a_loop_by_hand_gives(model):
    X, frame = drifting_documents()
    found = gptm.cross_validate(model, X, metadata=frame, cv=3, random_state=7)
    assert list(found.table.columns) == COLUMNS
    assert found.table.index.tolist() == [0, 1, 2]
    folds = list(KFold(3, shuffle=True, random_state=7).split(X))
    for number, (train, test) in enumerate(folds):
        by_hand = sklearn.clone(model).fit(X[train], metadata=frame.iloc[train])
        row = found.table.loc[number]
        for name, share in zip(SCORES, (0.5, 0.2, 0.05), strict=True):
            seen, rest = split_tokens(X[test], share)
            theta = by_hand.transform(seen, metadata=frame.iloc[test])
            score = mean_log_likelihood(theta, by_hand.components_, rest)
            assert_allclose(row[name], np.exp(-score), rtol=1e-12)
        assert row["bound"] == by_hand.bound_[-1] / X[train].sum()
        assert_allclose(row["coherence"], npmi_by_hand(by_hand.components_, X[train]), rtol=1e-12)
        parts = by_hand.components_ / by_hand.components_.sum(0)
        top = np.argsort(-by_hand.components_, kind="stable")[:, :10]
        assert_allclose(row["exclusivity"], np.take_along_axis(parts, top, 1).mean(), rtol=1e-12)
        assert row["iterations"] == by_hand.n_iter_
        assert row["converged"] == by_hand.converged_
        assert row["seconds"] > 0
    assert not hasattr(model, "components_")


def test_the_summary_is_mean_and_deviation_over_the_folds():
    X, _ = drifting_documents()
    found = gptm.cross_validate(quick(), X, cv=4)
    assert found.summary.index.tolist() == ["mean", "std"]
    values = found.table["perplexity_20"].to_numpy()
    assert_allclose(found.summary.loc["mean", "perplexity_20"], values.sum() / 4)
    deviation = np.sqrt(((values - values.mean()) ** 2).sum() / 3)
    assert_allclose(found.summary.loc["std", "perplexity_20"], deviation)
    assert found.complete


# What goes in


@pytest.fixture(scope="module")
def reference():
    X, frame = drifting_documents()
    return without_time(gptm.cross_validate(timed(), X, metadata=frame, cv=3).table)


@pytest.mark.parametrize(
    "form",
    [
        lambda X, frame: (csr_matrix(X), frame),
        lambda X, frame: (coo_matrix(X), frame),
        lambda X, frame: (csr_array(X), frame),
        lambda X, frame: (X.tolist(), frame),
        lambda X, frame: (pd.DataFrame(X).rename(columns=str), frame),
        lambda X, frame: (X, {"t": frame["t"].tolist()}),
        lambda X, frame: (X, {"t": frame["t"].to_numpy()}),
        lambda X, frame: (X, frame.set_index(np.arange(len(X))[::-1])),
        lambda X, frame: (Corpus(X, metadata=frame), None),
        lambda X, frame: (Corpus(X, metadata={"t": frame["t"]}, ids=frame["row"]), None),
        lambda X, frame: (Corpus(X), frame),
    ],
)
def test_counts_and_metadata_in_every_form(form, reference):
    X, metadata = form(*drifting_documents())
    found = gptm.cross_validate(timed(), X, metadata=metadata, cv=3)
    assert_frame_equal(without_time(found.table), reference)


def test_folds_come_from_any_splitter(reference):
    X, frame = drifting_documents()
    splitter = KFold(3, shuffle=True, random_state=0)
    for cv in (splitter, list(splitter.split(X)), splitter.split(X)):
        found = gptm.cross_validate(timed(), X, metadata=frame, cv=cv)
        assert_frame_equal(without_time(found.table), reference)


def test_splitters_see_labels_and_groups():
    X, frame = drifting_documents()
    y = frame["label"]
    model = quick(k.MustLink())
    for labels in (y, y.to_numpy(), y.tolist()):
        found = gptm.cross_validate(model, X, y=labels, cv=StratifiedKFold(2))
        for number, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
            by_hand = sklearn.clone(model).fit(X[train], y.iloc[train])
            assert found.table.loc[number, "perplexity_20"] == by_hand.perplexity(
                X[test], observed=0.2
            )
    groups = np.arange(N) % 4
    found = gptm.cross_validate(quick(), X, cv=GroupKFold(4).split(X, groups=groups))
    assert len(found.table) == 4
    with pytest.raises(ValueError, match=r"Name their column, as in groups='author'"):
        gptm.cross_validate(quick(), X, cv=GroupKFold(4))


def test_one_share_is_enough():
    X, _ = drifting_documents()
    found = gptm.cross_validate(quick(), X, cv=2, observed=0.125)
    assert list(found.table.columns[:2]) == ["perplexity_12.5", "bound"]


def test_the_automatic_kernel_is_announced_once_and_is_the_same_in_all_folds(caplog):
    X, frame = drifting_documents()
    frame = frame[["t"]]
    found = gptm.cross_validate(quick("auto"), X, metadata=frame, cv=3)
    assert [record.message for record in caplog.records] == ["kernel='auto' means Matern('t')"]
    named = gptm.cross_validate(quick(k.Matern("t")), X, metadata=frame, cv=3)
    assert_frame_equal(without_time(found.table), without_time(named.table))


@pytest.mark.parametrize(
    "kernel",
    [
        k.MustLink("label"),
        k.Graph("links"),
        k.Graph("links", id="row"),
        k.Precomputed(np.eye(N) + 1.0, id="row"),
        k.Graph(adjacency=np.eye(N, k=1), id="row"),
        k.NearestNeighbors(3),
        k.RBF("t") + k.Categorical("label"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:.*lead to ids")
def test_kernels_that_name_documents_can_be_cross_validated(kernel):
    X, frame = drifting_documents()
    found = gptm.cross_validate(quick(kernel), X, metadata=frame, cv=2, observed=0.5)
    assert np.isfinite(found.table["perplexity_50"]).all()


def test_every_fold_reads_columns_as_all_documents_do():
    """One cell settles that the day comes first; a fold without it would take 3 April for 4 March."""
    X, frame = drifting_documents()
    written = [f"{1 + row % 12:02d}/{1 + row // 12:02d}/2001" for row in range(N - 1)]
    frame["when"] = [*written, "31/12/2001"]
    data = read_data(X, frame, None)
    folds = make_folds(3, data, 0)
    model = quick(k.RBF("when", length_scale=50.0))
    tasks = list(make_tasks({"model": model}, data, folds, (0.5,)))
    kinds = {kinds_of(part.metadata)["when"] for task in tasks for part in (task.train, task.test)}
    assert kinds == {"date:%d/%m/%Y"}


# The same numbers again


def test_the_same_seed_gives_the_same_table_for_any_number_of_jobs():
    X, frame = drifting_documents()
    model = timed().set_params(random_state=None)
    first, again, in_processes = (
        gptm.cross_validate(model, X, metadata=frame, cv=3, random_state=1, n_jobs=n_jobs)
        for n_jobs in (None, 1, 2)
    )
    for other in (again, in_processes):
        assert_frame_equal(without_time(first.table), without_time(other.table))
    changed = gptm.cross_validate(model, X, metadata=frame, cv=3, random_state=2)
    assert (changed.table["perplexity_50"] != first.table["perplexity_50"]).any()


def test_random_states_of_every_kind():
    X, _ = drifting_documents()
    tables = [
        gptm.cross_validate(CTM(2), X, cv=2, random_state=np.random.RandomState(3)).table
        for _ in range(2)
    ]
    assert_frame_equal(*map(without_time, tables))
    assert len(gptm.cross_validate(CTM(2), X, cv=2, random_state=None).table) == 2


def test_a_seed_of_the_model_is_its_own():
    X, _ = drifting_documents()
    found = gptm.cross_validate(quick(random_state=5), X, cv=2, random_state=1)
    train, test = next(KFold(2, shuffle=True, random_state=1).split(X))
    by_hand = quick(random_state=5).fit(X[train])
    assert found.table.loc[0, "perplexity_50"] == by_hand.perplexity(X[test])


# Comparing


def test_comparison_on_one_split():
    X, frame = drifting_documents(120)
    models = {"words": quick(), "time": timed(), "seed": quick(random_state=9)}
    found = gptm.compare(models, X, metadata=frame, random_state=4)
    assert found.table.index.tolist() == ["words", "time", "seed"]
    assert list(found.table.columns) == [*SCORES, *CHANGES, *OTHERS]
    train, test = next(ShuffleSplit(1, test_size=0.2, random_state=4).split(X))
    assert len(test) == 24
    for name, model in models.items():
        by_hand = sklearn.clone(model).fit(X[train], metadata=frame.iloc[train])
        for column, share in zip(SCORES, (0.5, 0.2, 0.05), strict=True):
            score = by_hand.perplexity(X[test], metadata=frame.iloc[test], observed=share)
            assert found.table.loc[name, column] == score
        assert found.table.loc[name, "bound"] == by_hand.bound_[-1] / X[train].sum()
    assert found.table.loc["time", "perplexity_5"] < found.table.loc["words", "perplexity_5"]
    assert found.best == found.table["perplexity_50"].idxmin()
    assert found.table["converged"].dtype == bool
    assert found.std.isna().all(axis=None)
    assert repr(found).startswith("3 models on 24 held-out documents\n")


def test_comparison_by_cross_validation_is_cross_validation_of_each():
    X, frame = drifting_documents()
    models = {"words": quick(), "time": timed()}
    found = gptm.compare(models, X, metadata=frame, cv=3)
    for name, model in models.items():
        alone = gptm.cross_validate(model, X, metadata=frame, cv=3)
        assert_frame_equal(without_time(found.folds.loc[name]), without_time(alone.table))
        for column in without_time(alone.table):
            assert_allclose(found.table.loc[name, column], alone.summary.loc["mean", column])
            assert_allclose(found.std.loc[name, column], alone.summary.loc["std", column])
    assert found.table["folds"].tolist() == [3, 3]


def test_differences_are_paired_within_folds_with_a_standard_error():
    X, frame = drifting_documents()
    models = {"time": timed(), "words": quick(), "more": quick(n_components=3)}
    found = gptm.compare(models, X, metadata=frame, cv=3, observed=[0.5, 0.125])
    assert found.reference == "words"  # the first without a kernel
    assert found.differences.index.tolist() == [
        (name, share) for name in ("time", "more") for share in (0.5, 0.125)
    ]
    ratios = [
        np.log(found.folds.loc[("time", fold), "perplexity_12.5"])
        - np.log(found.folds.loc[("words", fold), "perplexity_12.5"])
        for fold in range(3)
    ]
    mean = sum(ratios) / 3
    deviation = np.sqrt(sum((one - mean) ** 2 for one in ratios) / 2)
    error = deviation / np.sqrt(3)
    row = found.differences.loc[("time", 0.125)]
    assert_allclose(row["log_ratio"], mean)
    assert_allclose(row["standard_error"], error)
    assert_allclose(row["change"], np.exp(mean) - 1)
    assert_allclose(row["change_error"], np.exp(mean) * error)
    assert row["folds"] == 3
    assert found.table.loc["time", "change_12.5"] == row["change"]
    assert found.table.loc["time", "change_12.5_error"] == row["change_error"]
    assert np.isnan(found.table.loc["words", "change_12.5"])
    printed = repr(found)
    assert f"{100 * row['change']:+.1f} % ± {100 * row['change_error']:.1f}" in printed
    assert "changes are relative to words, ± one standard error" in printed
    assert "_error" not in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_results_of_selection_print_within_100_columns():
    X, frame = drifting_documents()
    model = timed().set_params(max_iter=2, inference="sampling", coregionalization="shared")
    one = gptm.cross_validate(model, X, metadata=frame, cv=2)
    assert len(one.title) > 100
    search = gptm.search_components(model, X, [2, 3], metadata=frame, cv=2)
    for result in (one, search):
        assert max(map(len, repr(result).splitlines())) <= 100
        assert " ".join(result.title.split()) in " ".join(repr(result).split())


def test_pairing_takes_out_what_folds_have_in_common():
    rng = np.random.default_rng(0)
    hard = rng.normal(size=5)
    folds = pd.DataFrame(
        {"perplexity_50": np.exp(np.r_[6 + hard, 6 + hard - 0.05])},
        index=pd.MultiIndex.from_product([["a", "b"], range(5)], names=["model", "fold"]),
    )
    found = Comparison(folds, "", "", "a").differences.loc[("b", 0.5)]
    assert_allclose(found["log_ratio"], -0.05)
    assert found["standard_error"] < 1e-12


def test_one_split_has_changes_without_errors_and_a_single_model_none():
    X, frame = drifting_documents()
    found = gptm.compare([timed(), quick()], X, metadata=frame)
    assert found.differences["standard_error"].isna().all()
    ratio = found.table["perplexity_5"].iloc[0] / found.table["perplexity_5"].iloc[1]
    assert_allclose(found.table["change_5"].iloc[0], ratio - 1)
    assert "±" not in repr(found)
    alone = gptm.compare({"one": quick()}, X, cv=2)
    assert list(alone.table.columns) == [*COLUMNS, "folds"]
    assert len(alone.differences) == 0
    assert "changes" not in repr(alone)


def test_the_reference_can_be_chosen():
    X, frame = drifting_documents()
    models = {"a": timed(), "b": quick(), "c": quick(kernel=None)}
    found = gptm.compare(models, X, metadata=frame, cv=2, reference="a", observed=0.5)
    assert found.differences.index.get_level_values("model").tolist() == ["b", "c"]
    assert gptm.compare({"x": timed()}, X, metadata=frame, observed=0.5).reference == "x"
    assert gptm.compare({k: models[k] for k in "ac"}, X, metadata=frame).reference == "c"
    with pytest.raises(ValueError, match="one of 'a', 'b', 'c'; got 'CTM'"):
        gptm.compare(models, X, metadata=frame, reference="CTM")


def test_cross_validations_are_compared_on_the_same_folds():
    X, frame = drifting_documents()
    time, words = (gptm.cross_validate(m, X, metadata=frame, cv=3) for m in (timed(), quick()))
    both = gptm.compare({"time": timed(), "words": quick()}, X, metadata=frame, cv=3)
    assert_frame_equal(time.against(words), both.differences.loc["time"])
    other = gptm.cross_validate(quick(), X, cv=3, random_state=1)
    for reference in (other, gptm.cross_validate(quick(), X, cv=2)):
        with pytest.raises(ValueError, match=r"need the same folds.*gptm\.compare"):
            time.against(reference)


def test_comparison_on_given_documents():
    X, frame = drifting_documents(48)
    train, test = np.arange(36), np.arange(36, 48)
    fitted = timed().fit(X[train], metadata=frame.iloc[train])
    bits = fitted.components_.copy()
    models = {"fitted": fitted, "fresh": timed(), "row by row": quick(np.eye(36))}
    with pytest.warns(UserWarning, match="have no row in the precomputed kernel"):
        found = gptm.compare(
            models,
            X[train],
            metadata=frame.iloc[train],
            test=X[test],
            test_metadata=frame.iloc[test],
        )
    scores = found.table[SCORES]
    assert_array_equal(scores.loc["fitted"], scores.loc["fresh"])
    assert np.isnan(found.table.loc["fitted", "seconds"])
    assert found.table.loc["fresh", "seconds"] > 0
    assert_array_equal(fitted.components_, bits)
    assert not hasattr(models["fresh"], "components_")
    corpus = Corpus(X, metadata=frame)
    again = gptm.compare({"fresh": timed()}, corpus[train], test=corpus[test])
    assert_array_equal(again.table.loc["fresh", SCORES], scores.loc["fresh"])


def test_fitted_models_are_fitted_anew_where_documents_are_split():
    X, frame = drifting_documents()
    fitted = timed().fit(X, metadata=frame)
    found = gptm.compare({"fitted": fitted, "fresh": timed()}, X, metadata=frame, test=8)
    assert_array_equal(found.table.loc["fitted", SCORES], found.table.loc["fresh", SCORES])
    assert repr(found).startswith("2 models on 8 held-out documents")
    assert len(fitted.doc_topics_) == N


def test_models_without_names_go_by_what_they_print():
    X, _ = drifting_documents()
    found = gptm.compare([CTM(2), CTM(3, max_iter=100), CTM(2)], X, observed=0.5)
    assert found.table.index.tolist() == [
        "CTM(n_components=2)",
        "CTM(max_iter=100, n_components=3)",
        "CTM(n_components=2) (2)",
    ]
    found = gptm.compare({2: CTM(2), ("three", "topics"): CTM(3)}, X, observed=0.5)
    assert found.table.index.tolist() == [2, "('three', 'topics')"]


# The number of topics


def test_search_scores_every_number_on_the_same_folds():
    X, frame = drifting_documents()
    found = gptm.search_components(timed(), X, (3, 1, 2, 2), metadata=frame, cv=3, observed=0.2)
    assert found.table.index.tolist() == [1, 2, 3]
    for size in (1, 2, 3):
        model = timed().set_params(n_components=size)
        alone = gptm.cross_validate(model, X, metadata=frame, cv=3, observed=0.2).table
        scores = found.folds.loc[size, "perplexity"]
        assert_array_equal(scores, alone["perplexity_20"])
        row = found.table.loc[size]
        assert_allclose(row["perplexity"], scores.mean())
        assert_allclose(row["std"], scores.std())
        assert_allclose(row["exclusivity"], alone["exclusivity"].mean())
        assert_allclose(row["coherence"], alone["coherence"].mean())
    logs = np.log(found.folds["perplexity"].unstack("fold"))
    assert found.lowest == logs.mean(axis=1).idxmin()
    assert found.table["lowest"].tolist() == [size == found.lowest for size in (1, 2, 3)]
    for size in {1, 2, 3} - {found.lowest}:
        ratios = (logs.loc[size] - logs.loc[found.lowest]).to_numpy()
        change = np.exp(ratios.mean())
        assert_allclose(found.table.loc[size, "change"], change - 1)
        error = change * ratios.std(ddof=1) / np.sqrt(3)
        assert_allclose(found.table.loc[size, "change_error"], error)
    assert np.isnan(found.table.loc[found.lowest, "change"])


def search_result(logs, spread, n_folds=4, common=0.3):
    """A search whose log-perplexities have the given means, paired differences that vary, and hard and easy folds."""
    steps = np.linspace(-1.0, 1.0, n_folds)
    steps = steps / steps.std(ddof=1) if n_folds > 1 else steps * 0.0
    hard = common * np.cos(3.0 * np.arange(n_folds))
    lowest = min(logs, key=logs.get)
    rows = {
        (size, fold): {
            "perplexity": np.exp(mean + hard[fold] + (size != lowest) * spread * step),
            "coherence": 0.1 * size,
            "exclusivity": 1.0 / size,
            "seconds": 1.0,
            "converged": True,
        }
        for fold, step in enumerate(steps)
        for size, mean in logs.items()
    }
    index = pd.MultiIndex.from_tuples(rows, names=["n_components", "fold"])
    return ComponentSearch(pd.DataFrame(list(rows.values()), index=index), "", "a search", 0.5)


LOGS = {5: 5.05, 10: 5.01, 20: 5.0, 40: 5.03}


@pytest.mark.parametrize(
    ("spread", "best"),
    [(0.0, 20), (0.019, 20), (0.021, 10), (0.099, 10), (0.101, 5), (1.0, 5)],
)
@pytest.mark.parametrize("common", [0.0, 0.3, 3.0])
def test_one_standard_error_of_the_paired_difference(spread, best, common):
    found = search_result(LOGS, spread, common=common)  # half of the spread is the error
    assert (found.best, found.lowest) == (best, 20)
    assert found.table.index[found.table["best"]].tolist() == [best]
    assert f"lowest perplexity: 20 topics; best: {best} topics" in repr(found)


def test_search_with_a_single_split_takes_the_lowest():
    found = search_result({5: 5.05, 10: 5.01, 20: 5.0}, 0.0, n_folds=1)
    assert found.best == found.lowest == 20
    assert "largest number tried" in repr(found)
    assert "largest" not in repr(search_result({5: 5.0, 10: 5.1}, 0.0))
    alone = search_result({5: 5.0}, 0.0)
    assert (alone.best, alone.lowest) == (5, 5)
    assert "5 topics" in repr(alone)


def test_search_finds_how_many_topics_there_are():
    rng = np.random.default_rng(0)
    beta = np.kron(np.eye(3), np.full((1, 8), 1 / 8))
    X = np.array([rng.multinomial(30, rng.dirichlet(np.full(3, 0.2)) @ beta) for _ in range(150)])
    found = gptm.search_components(CTM(random_state=0), X, (1, 2, 3, 6), cv=3)
    assert found.best == 3


def test_the_plot_shows_what_the_table_says():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = search_result(LOGS, 0.04)
    figure, given = plt.subplots()
    assert found.plot(given) is given
    assert figure.axes == [given]
    ax = found.plot()
    assert ax is not given
    assert not ax.spines["top"].get_visible()  # as light as all other plots
    with pytest.raises(ValueError, match="ax must be a matplotlib Axes; got str"):
        found.plot("here")
    line = ax.containers[0].lines[0]
    assert_array_equal(line.get_xdata(), [5, 10, 20, 40])
    assert_array_equal(line.get_ydata(), found.table["change"].fillna(0.0))
    (bars,) = ax.containers[0].lines[2]
    bottom, top = bars.get_segments()[0][:, 1]
    assert_allclose(top - bottom, 2 * found.table.loc[5, "change_error"])
    assert "50 % of the words seen" in ax.get_ylabel()
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "4 folds" in legend[0]
    assert legend[1].startswith("lowest: 20 topics, perplexity ")
    assert legend[2] == "best: 10 topics"
    for panel, name in zip(ax.figure.axes[1:], ("coherence", "exclusivity"), strict=True):
        assert panel.get_ylabel() == name
        assert_array_equal(panel.lines[0].get_ydata(), found.table[name])
    bottom = ax.figure.axes[-1]
    assert [label.get_text() for label in bottom.get_xticklabels()] == ["5", "10", "20", "40"]
    assert bottom.get_xlabel() == given.get_xlabel() == "number of topics"
    search_result({2: 3.0, 3: 2.0}, 0.0, n_folds=1).plot(given)
    plt.close(figure)
    plt.close(ax.figure)


# Ctrl-C


class Interrupting:
    """A callback that presses Ctrl-C in a given fit, or ends the fit as a callback may."""

    fits = 0

    def __init__(self, at, how):
        self.at, self.how = at, how
        Interrupting.fits = 0

    def __deepcopy__(self, memo):
        return self

    def __call__(self, iteration, state):
        Interrupting.fits += iteration == 1
        if Interrupting.fits != self.at or iteration < 2:
            return False
        if self.how == "signal":
            os.kill(os.getpid(), signal.SIGINT)
        elif self.how == "raise":
            raise KeyboardInterrupt
        return self.how == "end"


def interrupted(at, how="raise", **changes):
    return quick(callback=Interrupting(at, how), tol=0.0, **changes)


@pytest.mark.parametrize("how", ["raise", "signal"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interrupt_keeps_the_folds_that_are_done(how):
    X, _ = drifting_documents()
    with pytest.warns(
        UserWarning, match="interrupted: 2 of 4 fits are done; their scores are kept"
    ) as caught:
        found = gptm.cross_validate(interrupted(3, how), X, cv=4)
    assert not [w for w in caught if "fit was interrupted" in str(w.message)]
    whole = gptm.cross_validate(quick(tol=0.0), X, cv=4)
    assert_frame_equal(without_time(found.table), without_time(whole.table.iloc[:2]))
    assert Interrupting.fits == 3  # and no other fold was begun
    assert not found.complete
    assert "2 of 4 fits" in repr(found)
    assert "interrupted" not in repr(whole)


def test_an_interrupt_before_anything_is_done_is_an_interrupt():
    X, _ = drifting_documents()
    with pytest.raises(KeyboardInterrupt):
        gptm.cross_validate(interrupted(1), X, cv=4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interrupt_while_scoring_keeps_what_is_done(monkeypatch):
    X, _ = drifting_documents()
    whole = CTM.perplexity
    calls = []

    def perplexity(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return whole(self, *arguments, **options)

    monkeypatch.setattr(CTM, "perplexity", perplexity)
    with pytest.warns(UserWarning, match="interrupted: 1 of 3 fits"):
        found = gptm.cross_validate(quick(), X, cv=3)
    assert len(found.table) == 1


@pytest.mark.parametrize("inference", ["sampling", "variational"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_callback_that_ends_the_fits_is_no_interrupt(inference, recwarn):
    X, _ = drifting_documents()
    model = interrupted(2, "end", inference=inference)
    found = gptm.cross_validate(model, X, cv=3, observed=0.5)
    assert found.complete
    assert found.table["iterations"].tolist() == [8, 2, 8]
    assert not found.table["converged"].any()
    messages = [str(w.message) for w in recwarn]
    if inference == "sampling":
        assert messages == []  # short chains predict well
    else:
        assert len(messages) == 1
        assert "2 of 3 fits did not converge" in messages[0]  # the other one was told to stop


@pytest.mark.filterwarnings("ignore:.*interrupted", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_means_after_an_interrupt_are_over_the_folds_that_all_have():
    X, _ = drifting_documents()
    models = {"a": quick(tol=0.0), "b": interrupted(3), "c": quick(n_components=3, tol=0.0)}
    found = gptm.compare(models, X, cv=4)
    assert found.folds.index.tolist() == [(name, fold) for fold in range(2) for name in "abc"] + [
        ("a", 2)
    ]
    assert found.table["folds"].tolist() == [2, 2, 2]
    used = found.folds.loc["a", "perplexity_50"].iloc[:2]
    assert_allclose(found.table.loc["a", "perplexity_50"], used.mean())
    assert found.differences["folds"].tolist() == [2] * 6
    found = gptm.compare(models | {"b": interrupted(1)}, X, cv=4)
    assert found.table.index.tolist() == ["a"]
    assert len(found.differences) == 0
    search = gptm.search_components(interrupted(6), X, (1, 2), cv=4)
    assert search.table["folds"].tolist() == [2, 2]
    assert not search.complete
    assert "5 of 8 fits" in repr(search)


# What it says


def test_progress_is_told_where_asked_for(capsys):
    X, _ = drifting_documents()
    gptm.cross_validate(quick(), X, cv=2)
    assert capsys.readouterr().out == ""
    gptm.cross_validate(quick(), X, cv=2, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("[gptm] 1 of 2  CTM, fold 0: perplexity ")
    gptm.search_components(quick(), X, [2, 3], cv=2, verbose=1)
    assert "4 of 4  3 topics, fold 1" in capsys.readouterr().out.splitlines()[-1]
    gptm.compare({"one": quick()}, X, verbose=1)
    assert "1 of 1  one, fold 0" in capsys.readouterr().out


def test_results_print_as_tables():
    X, frame = drifting_documents()
    found = gptm.cross_validate(timed(), X, metadata=frame, cv=2)
    title = wrap(found.title, 100)
    assert title[0].startswith("2-fold cross-validation of GPTM(")
    assert "kernel=RBF('t', length_scale=5.0)" in found.title
    assert repr(found).splitlines()[: len(title)] == title
    table = repr(found).splitlines()[len(title) :]
    assert table[0].split() == [name for name in COLUMNS if name != "bound"]
    assert [line.split()[0] for line in table[2:]] == ["0", "1", "mean", "std"]
    assert max(map(len, [*title, *table])) <= 100
    found = gptm.compare({"a<b": quick(), "c": timed()}, X, metadata=frame, cv=2)
    assert repr(found).splitlines()[-1].startswith("lowest perplexity_50: ")
    named = gptm.compare(
        {"a long name of a model": quick(), "another one": timed()}, X, metadata=frame
    )
    assert max(map(len, repr(named).splitlines())) <= 100
    html = found._repr_html_()
    assert "<table" in html
    assert "a<b" not in html
    assert "a&lt;b" in html


def test_fits_that_did_not_converge_are_counted_once():
    X, _ = drifting_documents()
    with pytest.warns(ConvergenceWarning, match="3 of 3 fits did not converge") as caught:
        gptm.cross_validate(quick(inference="variational", max_iter=2, tol=0.0), X, cv=3)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (np.eye(N), r"Precomputed\(<36 x 36 matrix>\) identifies documents by position"),
        (k.Precomputed(np.eye(N)), r"id='row'"),
        (k.RBF("t") + 2.0 * k.Precomputed(np.eye(N)), r"Precomputed\(matrix, id='row'\)"),
        (k.RBF("t") * k.Graph(adjacency=np.eye(N, k=1)), r"Graph\(adjacency=matrix, id='row'\)"),
        (k.MustLink(pairs=[(0, 1)]) + k.RBF("t"), r"MustLink\('label'\)"),
    ],
    ids=["array", "precomputed", "sum", "graph", "pairs"],
)
@pytest.mark.parametrize("function", ["cross_validate", "compare", "search_components"])
def test_kernels_by_position_are_refused(kernel, message, function):
    X, frame = drifting_documents()
    model = quick(kernel)
    subject = {"the model": model} if function == "compare" else model
    with pytest.raises(
        ValueError, match="position, which changes when documents are held out"
    ) as caught:
        getattr(gptm, function)(subject, X, metadata=frame)
    assert caught.match(message)


def test_what_is_wrong_is_said_before_any_fit(monkeypatch):
    X, frame = drifting_documents()

    def fit(*arguments, **options):
        raise AssertionError("nothing should be fitted")

    monkeypatch.setattr(CTM, "fit", fit)
    model = quick()
    cases = [
        (
            gptm.cross_validate,
            (make_pipeline(model), X),
            {},
            "expected a GPTM or CTM; got Pipeline",
        ),
        (gptm.cross_validate, (CTM, X), {}, r"expected a GPTM or CTM; got the class CTM.*CTM\(\)"),
        (gptm.cross_validate, (model, ["a text", "another"]), {}, r"Corpus.from_texts\(texts\)"),
        (gptm.cross_validate, (model, X), {"metadata": frame[:5]}, "one row per document"),
        (gptm.cross_validate, (model, X), {"y": [0, 1]}, "one label per document: expected 36"),
        (gptm.cross_validate, (model, X), {"cv": 1}, "cv must be an integer of at least 2"),
        (gptm.cross_validate, (model, X), {"cv": True}, "cv must be an integer of at least 2"),
        (
            gptm.cross_validate,
            (model, X),
            {"cv": 50},
            "at most the number of documents, 36; got 50",
        ),
        (
            gptm.cross_validate,
            (model, X),
            {"cv": "five"},
            "cv must be a number of folds, a splitter.*got .five.",
        ),
        (gptm.cross_validate, (model, X), {"cv": [([0], [])]}, "at least one fold"),
        (gptm.cross_validate, (model, X), {"observed": 0.0}, "between 0 and 1.*got 0.0"),
        (gptm.cross_validate, (model, X), {"observed": ()}, "between 0 and 1"),
        (gptm.cross_validate, (model, X), {"observed": "half"}, "between 0 and 1.*'half'"),
        (gptm.compare, (model, X), {}, "a dict or a list of models"),
        (gptm.compare, ([], X), {}, "a dict or a list of models"),
        (gptm.compare, ({"a": 3}, X), {}, "expected a GPTM or CTM; got 3"),
        (gptm.compare, ([model], X), {"cv": 3, "test": 0.2}, "not both"),
        (gptm.compare, ([model], X), {"test_metadata": frame}, "there are none"),
        (gptm.search_components, (model, X, 5), {}, "numbers of topics to try; got 5"),
        (gptm.search_components, (model, X, ()), {}, "numbers of topics to try"),
        (gptm.search_components, (model, X, (0, 2)), {}, "n_components must be an integer"),
        (gptm.search_components, (model, X), {"observed": (0.5, 0.2)}, "one share"),
    ]
    for function, arguments, options, message in cases:
        with pytest.raises(ValueError, match=message):
            function(*arguments, **options)


def test_an_error_says_in_which_fold():
    X, frame = drifting_documents()
    with pytest.raises(ValueError, match="'nowhere'") as caught:
        gptm.cross_validate(quick(k.RBF("nowhere")), X, metadata=frame, cv=3)
    assert "fold 0" in caught.value.__notes__[0]
    assert "RBF('nowhere')" in caught.value.__notes__[0]


# Tuning kernels with scikit-learn, as the paper does

GRIDS = {
    "length_scale": (k.RBF("t"), {"kernel__length_scale": [0.01, 5.0, 500.0]}),
    "gamma": (k.MustLink("label"), {"kernel__gamma": [0.01, 1.0, 5.0]}),
    "both": (
        k.RBF("t") + k.MustLink("label"),
        {"kernel__k1__length_scale": [0.01, 5.0], "kernel__k2__gamma": [0.1, 1.0]},
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_grid_search_tunes_kernels_with_routed_metadata_and_with_a_corpus(name):
    kernel, grid = GRIDS[name]
    X, frame = drifting_documents()
    model = quick(kernel, inference="map", coregionalization="identity", fit_mean=False)
    search = GridSearchCV(model, grid, cv=KFold(3), error_score="raise")
    with sklearn.config_context(enable_metadata_routing=True):
        routed = sklearn.clone(search).fit(X, metadata=frame)
    corpus = sklearn.clone(search).fit(Corpus(X, metadata=frame))
    scores = np.array([routed.cv_results_[f"split{i}_test_score"] for i in range(3)])
    for i in range(3):
        assert_array_equal(corpus.cv_results_[f"split{i}_test_score"], scores[i])
    assert len(np.unique(scores[0])) == scores.shape[1]  # every value matters
    assert corpus.best_params_ == routed.best_params_
    for candidate, params in enumerate(routed.cv_results_["params"]):
        found = gptm.cross_validate(
            sklearn.clone(model).set_params(**params),
            X,
            metadata=frame,
            cv=KFold(3),
            observed=0.5,
        )
        assert_allclose(-np.log(found.table["perplexity_50"]), scores[:, candidate], rtol=1e-12)


def test_grid_search_finds_the_length_scale_that_predicts():
    X, frame = drifting_documents(80)
    search = GridSearchCV(
        timed().set_params(max_iter=40),
        {"kernel__length_scale": [0.001, 5.0]},
        cv=KFold(3),
        error_score="raise",
    )
    with sklearn.config_context(enable_metadata_routing=True):
        found = search.fit(X, metadata=frame)
    assert found.best_params_ == {"kernel__length_scale": 5.0}


# Scores that are kept


def test_a_search_goes_on_where_it_was(tmp_path, monkeypatch):
    """Fits that are done are not done again, and the scores are those of an undisturbed search."""
    path = tmp_path / "scores"
    X = np.random.default_rng(0).poisson(1.0, (40, 12))
    model = CTM(inference="variational", max_iter=3, random_state=0)

    def search(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return gptm.search_components(model, X, [2, 3], cv=3, random_state=0, **options)

    expected, fits, fit = search(), [], CTM.fit

    def counted(self, *args, **keywords):
        fits.append(self.n_components)
        if len(fits) == 4:
            raise RuntimeError("power cut")
        return fit(self, *args, **keywords)

    monkeypatch.setattr(CTM, "fit", counted)
    with pytest.raises(RuntimeError, match="power cut"):
        search(checkpoint=path)
    assert path.exists()
    table = search(checkpoint=path).folds.drop(columns="seconds")
    assert len(fits) == 4 + 3  # three were done, one broke off
    pd.testing.assert_frame_equal(table, expected.folds.drop(columns="seconds"))
    assert not path.exists()


def test_scores_of_other_work_are_not_taken(tmp_path):
    from gptm.selection.data import read_data
    from gptm.selection.score_store import key_of

    X = np.random.default_rng(0).poisson(1.0, (40, 12))
    data, other = read_data(X, None, None), read_data(X[::-1], None, None)
    dated = read_data(X, {"t": range(40)}, None)
    keys = {
        key_of(CTM(2), data, data, (0.5,)),
        key_of(CTM(3), data, data, (0.5,)),
        key_of(CTM(2, init=X[:2] + 1.0), data, data, (0.5,)),
        key_of(CTM(2), other, data, (0.5,)),
        key_of(CTM(2), data, other, (0.5,)),
        key_of(CTM(2), dated, data, (0.5,)),
        key_of(CTM(2), data, data, (0.2,)),
    }
    assert len(keys) == 7
    assert key_of(CTM(2, n_jobs=2), data, data, (0.5,)) in keys
    (tmp_path / "scores").write_text("my diary")
    with pytest.raises(ValueError, match="does not hold scores"):
        gptm.cross_validate(CTM(2), X, cv=2, checkpoint=tmp_path / "scores")
