"""Models on disk: the same bits back, one plain file, and clear words for any other file."""

import copy
import json
import os
import pickle
import stat
import subprocess
import sys
import textwrap
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from safetensors import safe_open
from safetensors.numpy import load as load_tensors
from safetensors.numpy import load_file
from safetensors.numpy import save as to_bytes
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm._basics.atomic_files import replace_file
from gptm._hot import padded_rows
from gptm.files import write_table
from gptm.kernels.weighted_terms import terms_of
from gptm.report.page import write_data
from gptm.storage import load_attached
from gptm.storage.checksum import with_checksums
from gptm.storage.corpus_arrays import pack_column, pack_texts, unpack_column, unpack_texts

D, V = 24, 9
RNG = np.random.default_rng(0)
X = RNG.poisson(2.0, (D, V))
METADATA = pd.DataFrame(
    {
        "t": RNG.uniform(0, 10, D).round(1),
        "date": pd.date_range("2020-01-01", periods=D),
        "row": np.arange(D),
        "who": [f"d{i}" for i in range(D)],
        "links": [[f"d{i * i % 26}", f"d{(i + 3) % D}"] for i in range(D)],  # one awaits d25
        "vector": list(RNG.standard_normal((D, 3))),
    }
)
METADATA.loc[3, "t"] = np.nan
METADATA.loc[5, ["links", "vector"]] = None
NEW = RNG.poisson(1.0, (5, V))
LATER = pd.DataFrame(
    {
        "t": [0.5, np.nan, 9.0, 3.0, 3.0],
        "date": pd.to_datetime(["2020-01-03", None, "2020-06-01", "2019-01-01", "2020-01-03"]),
        "row": [24, 25, 0, 3, 27],
        "who": ["d24", "d25", "d0", "d3", "d27"],
        "links": [["d1", "d2"], None, ["d7"], None, ["d3", "nobody"]],
        "vector": [[1.0, 0.0, 0.5], None, [0.0, -1.0, 2.0], [1.0, 1.0, 1.0], [0.0, 0.0, 3.0]],
    }
)
NEW[4] = 0
SIMILARITY = np.exp(-np.abs(np.subtract.outer(np.arange(28.0), np.arange(28.0))) / 4)
LABELS = [f"d{i}" for i in range(28)]
TIME = k.RBF("t", length_scale=2.0)
ADJACENCY = np.where(RNG.random((28, 28)) < 0.15, RNG.uniform(0.1, 2.0, (28, 28)), 0.0)

MODELS = {
    "CTM": CTM(3),
    "CTM, plain": CTM(2, topic_covariance="identity", fit_mean=False, smoothing=0.0),
    "no kernel": GPTM(3, kernel=None),
    "auto": GPTM(3),
    "identity": GPTM(3, kernel=k.Identity(name="own")),
    "rbf": GPTM(3, kernel=TIME),
    "rbf, open": GPTM(3, kernel=k.RBF("date", name="when")),
    "rbf, scales": GPTM(3, kernel=k.RBF("t", "row", length_scale=[2.0, 5.0])),
    "rbf, array of scales": GPTM(3, kernel=k.RBF("t", "row", length_scale=np.array([2.0, 5.0]))),
    "matern": GPTM(3, kernel=k.Matern("date", "t", nu=2.5)),
    "periodic": GPTM(3, kernel=k.Periodic("date", period="1w", length_scale=0.5)),
    "categorical": GPTM(3, kernel=k.Categorical("who") + TIME),
    "must-link": GPTM(3, kernel=k.MustLink("who", gamma=0.5) + TIME),
    "must-link, pairs": GPTM(3, kernel=k.MustLink(pairs=[(0, 1), (5, 2)])),
    "linear": GPTM(3, kernel=k.Linear("t", "date")),
    "embedding": GPTM(3, kernel=k.Embedding("vector", name="meaning") + TIME),
    "graph": GPTM(3, kernel=k.Graph("links", id="who")),
    "graph, direct": GPTM(3, kernel=k.Graph("links", id="who", form="direct", gamma=0.5)),
    "graph, adjacency": GPTM(3, kernel=k.Graph(adjacency=ADJACENCY, id="row", kappa=0.5, nu=1)),
    "graph, sparse adjacency": GPTM(
        3, kernel=k.Graph(adjacency=csr_matrix(ADJACENCY[:D, :D]), form="direct")
    ),
    "graph and more": GPTM(3, kernel=k.Graph("links", id="who") + TIME + k.Categorical("who")),
    "graph within time": GPTM(3, kernel=k.Graph("links", id="who") * TIME),
    "neighbours": GPTM(3, kernel=k.NearestNeighbors(3)),
    "neighbours by columns": GPTM(3, kernel=k.NearestNeighbors(3, on=["t", "date"])),
    "neighbours by vectors": GPTM(3, kernel=k.NearestNeighbors(3, on="vector", form="direct")),
    "on columns": GPTM(3, kernel=k.OnColumns(gp.RationalQuadratic(2.0, alpha=0.5), "t")),
    "on columns, compound": GPTM(
        3,
        kernel=k.OnColumns(
            gp.ConstantKernel(2.0, "fixed") * gp.RBF([2.0, 3.0]) + gp.DotProduct(), "t", "row"
        ),
    ),
    "on columns, power": GPTM(3, kernel=k.OnColumns(gp.Matern(2.0) ** 2, "t")),
    "array": GPTM(3, kernel=SIMILARITY[:D, :D]),
    "precomputed": GPTM(3, kernel=k.Precomputed(SIMILARITY, id="row")),
    "precomputed, labels": GPTM(
        3, kernel=k.Precomputed(pd.DataFrame(SIMILARITY, LABELS, LABELS), id="who")
    ),
    "sum": GPTM(3, kernel=TIME + k.Matern("date") + 0.5 * k.Identity()),
    "product": GPTM(3, kernel=k.RBF("t") * k.Matern("date")),
    "nested": GPTM(3, kernel=0.7 * (2.0 * TIME + k.RBF("date") * k.Matern("row"))),
    "kernel as given": GPTM(3, kernel=2.0 * TIME, learn_kernel=False),
    "shared": GPTM(3, kernel=TIME, coregionalization="shared"),
    "identity B": GPTM(3, kernel=TIME, coregionalization="identity", topic_covariance="identity"),
    "chains": GPTM(3, kernel=TIME + k.Categorical("who"), n_chains=2),
    "variational": GPTM(3, kernel=TIME + k.Categorical("who"), inference="variational"),
    "graph, variational": GPTM(3, kernel=k.Graph("links", id="who"), inference="variational"),
    "CTM, variational": CTM(3, inference="variational"),
    "one topic": CTM(1),
    "map": GPTM(3, kernel=TIME, inference="map"),
    "paper": GPTM(
        3, kernel=TIME + k.Identity(), inference="map", coregionalization="identity", fit_mean=False
    ),
    "given topics": GPTM(2, kernel=TIME, init=np.random.default_rng(1).dirichlet(np.ones(V), 2)),
    "numpy parameters": GPTM(
        np.int64(2), kernel=TIME, smoothing=np.float64(0.02), tol=np.float32(0.5)
    ),
}


def test_labels_that_are_dates_come_back_as_their_names(tmp_path):
    dates = pd.date_range("2020-01-01", periods=28)
    kernel = k.Precomputed(pd.DataFrame(SIMILARITY, dates, dates), id="date")
    model = GPTM(2, kernel=kernel, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=METADATA)
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    later = pd.DataFrame({"date": dates[[0, 25, 27]]})
    new = NEW[:3]
    assert_array_equal(again.transform(new, metadata=later), model.transform(new, metadata=later))


def fitted(name):
    model = clone(MODELS[name]).set_params(random_state=0, max_iter=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # slow convergence, links to documents to come
        return model.fit(X, metadata=METADATA)


def quietly(method, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return method(*arguments, **keywords)


@pytest.fixture(scope="module")
def models():
    return {name: fitted(name) for name in MODELS}


@pytest.fixture
def saved(tmp_path, models):
    path = tmp_path / "model.gptm"
    models["sum"].save(path)
    return path


def public_attributes(model):
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    kept = [name for name in names if hasattr(model, name) and name != "fitted_"]
    return {name: getattr(model, name) for name in kept}


@pytest.mark.parametrize("name", ["CTM", "sum"])
def test_topics_stay_as_documents_read_them(name, tmp_path, models):
    """Copies of a model, too, need no copy of the topics for every call of `transform`."""
    model = models[name]
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    for same in (model, again, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(same.components_, model.components_)
        assert np.shares_memory(padded_rows(same.components_.T), same.components_)


def plain_parameters(model):
    params = model.get_params()
    return {name: repr(v.item() if isinstance(v, np.generic) else v) for name, v in params.items()}


# Round trip


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_same_model(name, models, tmp_path, monkeypatch):
    monkeypatch.setattr("gptm.model.answering.SHORT_CHAIN", 8)
    model = models[name]
    path = tmp_path / "model.gptm"
    assert model.save(path) is None
    again = gptm.load(path)
    assert type(again) is type(model)
    assert plain_parameters(again) == plain_parameters(model)
    mine, theirs = public_attributes(model), public_attributes(again)
    assert mine.keys() == theirs.keys()
    for key, value in mine.items():
        if isinstance(value, np.ndarray):
            assert_array_equal(theirs[key], value, err_msg=key)
            assert theirs[key].dtype == value.dtype
        elif isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(theirs[key], value, check_exact=True)
        else:
            assert theirs[key] == value, key
    assert_array_equal(again.doc_topics_, model.doc_topics_)
    for documents, metadata in ((X, METADATA), (NEW, LATER)):
        expected = quietly(model.transform, documents, metadata=metadata)
        assert_array_equal(quietly(again.transform, documents, metadata=metadata), expected)
        assert quietly(again.score, documents, metadata=metadata) == quietly(
            model.score, documents, metadata=metadata
        )
    expected = quietly(model.transform, NEW)  # without metadata
    assert_array_equal(quietly(again.transform, NEW), expected)
    draw = {"metadata": LATER, "n_words": 20, "random_state": 0}
    expected = quietly(model.sample, 5, **draw).counts.toarray()
    assert_array_equal(quietly(again.sample, 5, **draw).counts.toarray(), expected)
    pd.testing.assert_frame_equal(again.topics(), model.topics())
    if getattr(model, "kernel_", None) is not None:  # with error bars, from the same draws
        for ask in (lambda one: one.effects(0), lambda one: one.variance_explained()):
            pd.testing.assert_frame_equal(ask(again), ask(model), check_exact=True)


@pytest.mark.parametrize(
    "kernel",
    [
        k.RBF("t"),
        k.Matern("t", nu=0.5) + k.Categorical("g"),
        k.RBF("t") * k.Categorical("g"),
        k.Periodic("t", period=0.3),
    ],
    ids=repr,
)
def test_draws_mean_the_same_in_a_loaded_model(kernel, tmp_path):
    """Whatever the features of a kernel are, and whoever computes them: weights of them are no good for others."""
    n, rng = 200, np.random.default_rng(0)
    frame = pd.DataFrame({"t": rng.uniform(size=n), "g": rng.choice(list("abc"), n)})
    model = GPTM(3, kernel=kernel, max_iter=8, random_state=0, n_jobs=2)
    quietly(model.fit, rng.poisson(1.0, (n, V)), metadata=frame)
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    at = frame.head(5)
    for term in range(len(model.terms_)):
        expected, found = (
            one.effects(term, at=at[list(columns(one, term))]) for one in (model, again)
        )
        pd.testing.assert_frame_equal(found, expected, rtol=1e-5, atol=1e-6)
    pd.testing.assert_frame_equal(again.variance_explained(), model.variance_explained(), rtol=1e-5)


def columns(model, term):
    return terms_of(model.fitted_.bound)[term].kernel.column_names()


@pytest.mark.parametrize(
    ("name", "kept"),
    [("CTM", set()), ("sum", set()), ("variational", {"counts"}), ("CTM, variational", set())],
)
def test_counts_are_kept_only_where_there_are_no_draws(name, kept, tmp_path):
    """Error bars of a model without draws will need a chain, and the chain the counts."""
    fitted(name).save(tmp_path / "model.gptm")
    tensors = load_file(tmp_path / "model.gptm")
    assert {one.split(".")[0] for one in tensors if one.startswith("counts")} == kept
    drawn = any(one.startswith("draws.") for one in tensors)
    assert drawn == ("watched.share" in tensors) == ("variational" not in name)


def test_draws_that_were_made_for_a_question_are_kept(tmp_path):
    model = fitted("variational")
    expected = model.effects("t", n_points=5)
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    assert again.fitted_.draws.n == model.fitted_.draws.n
    assert not any(name.startswith("counts") for name in load_file(tmp_path / "model.gptm"))
    pd.testing.assert_frame_equal(again.effects("t", n_points=5), expected, check_exact=True)


def test_a_new_process_gives_the_same_bits(models, tmp_path):
    for number, model in enumerate(models.values()):
        model.save(tmp_path / f"{number}.gptm")
        np.save(tmp_path / f"{number}.npy", quietly(model.transform, NEW, metadata=LATER))
    np.save(tmp_path / "new.npy", NEW)
    LATER.to_json(tmp_path / "later.json", date_format="iso")
    script = """
        import sys, warnings
        from pathlib import Path
        import numpy as np, pandas as pd
        import gptm

        warnings.simplefilter("ignore")
        folder = Path(sys.argv[1])
        new = np.load(folder / "new.npy")
        later = pd.read_json(folder / "later.json", convert_dates=["date"], dtype={"who": str})
        for path in sorted(folder.glob("*.gptm")):
            theta = gptm.load(path).transform(new, metadata=later)
            same = (theta == np.load(path.with_suffix(".npy"))).all()
            print(path.stem, "same" if same else "other")
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    answers = dict(line.split() for line in done.stdout.splitlines())
    assert len(answers) == len(MODELS)
    other = [name for number, name in enumerate(MODELS) if answers[str(number)] != "same"]
    assert other == []


def test_words_survive(tmp_path):
    words = ["tea", "größe", "чай", "お茶", "a b", '"quoted"', "\\", "\n", ""]
    model = CTM(2, random_state=0).fit(Corpus(X, words))
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    assert again.feature_names_in_.tolist() == words
    pd.testing.assert_frame_equal(again.topics(), model.topics())
    with pytest.raises(ValueError, match="other words"):
        again.transform(Corpus(X, [*words[:-1], "else"]))


def test_a_model_without_words_stays_without(tmp_path, models):
    models["CTM"].save(tmp_path / "model.gptm")
    assert not hasattr(gptm.load(tmp_path / "model.gptm"), "feature_names_in_")


def test_a_loaded_model_can_be_cloned_refitted_and_go_on(saved, models):
    again = gptm.load(saved)
    copy = clone(again)
    assert not hasattr(copy, "components_")
    quietly(copy.fit, X, metadata=METADATA)
    assert_array_equal(copy.components_, models["sum"].components_)
    quietly(again.set_params(warm_start=True, max_iter=3).fit, X, metadata=METADATA)
    assert again.n_iter_ == 3
    again.set_params(warm_start=False, n_components=2)
    assert quietly(again.fit, X[:, 1:], metadata=METADATA).components_.shape == (2, V - 1)


def test_a_loaded_model_goes_on_where_it_stopped(models, tmp_path):
    models["variational"].save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    before = again.bound_[-1]
    quietly(again.set_params(warm_start=True, max_iter=3, tol=0.0).fit, X, metadata=METADATA)
    assert again.bound_[0] >= before


def test_a_loaded_model_can_be_saved_again(saved, tmp_path):
    gptm.load(saved).save(tmp_path / "second.gptm")
    assert (tmp_path / "second.gptm").read_bytes() == saved.read_bytes()


def test_saving_the_same_model_twice_gives_the_same_file(saved, tmp_path):
    fitted("sum").save(tmp_path / "second.gptm")
    assert (tmp_path / "second.gptm").read_bytes() == saved.read_bytes()


def test_an_interrupted_model_can_be_saved(tmp_path):
    def impatient(iteration, state):
        raise KeyboardInterrupt

    model = GPTM(2, kernel=TIME, callback=impatient, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, metadata=METADATA)
    model.save(tmp_path / "model.gptm")
    again = gptm.load(tmp_path / "model.gptm")
    assert again.converged_ is False
    assert again.callback is None
    expected = model.transform(NEW, metadata=LATER)
    assert_array_equal(again.transform(NEW, metadata=LATER), expected)


def test_a_random_state_object_is_left_out_with_a_warning(tmp_path):
    model = CTM(2, random_state=np.random.RandomState(0)).fit(X)
    with pytest.warns(UserWarning, match=r"random_state.*None"):
        model.save(tmp_path / "model.gptm")
    assert gptm.load(tmp_path / "model.gptm").random_state is None


def test_what_cannot_come_back_is_not_saved(tmp_path):
    path = tmp_path / "model.gptm"
    distance = k.OnColumns(gp.PairwiseKernel(metric=lambda a, b, gamma: float(a @ b)), "row")
    model = quietly(GPTM(2, kernel=distance, random_state=0).fit, X, metadata=METADATA)
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save(path)
    assert list(tmp_path.iterdir()) == []


class Local(k.RBF):
    """A kernel of the user's own."""


class LocalModel(GPTM):
    """A model of the user's own."""


@pytest.mark.parametrize(
    "make", [lambda: GPTM(2, kernel=Local("t")), lambda: LocalModel(2, kernel=TIME)]
)
def test_a_class_that_load_does_not_know_is_not_saved(make, tmp_path):
    model = quietly(make().set_params(random_state=0).fit, X, metadata=METADATA)
    with pytest.raises(ValueError, match=r"(?s)Local.*cannot be saved|cannot be saved.*Local"):
        model.save(tmp_path / "model.gptm")


# The file


def read_by_hand(path):
    """Header and data of a safetensors file, by its specification alone."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def test_the_file_is_plain_safetensors(saved):
    header, data = read_by_hand(saved)
    metadata = header.pop("__metadata__")
    spans = sorted(entry["data_offsets"] for entry in header.values())
    assert spans[0][0] == 0
    assert spans[-1][1] == len(data)  # nothing else is hidden in it
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    kinds = {entry["dtype"] for entry in header.values()}
    assert kinds <= {"F64", "F32", "F16", "I64", "I32", "BOOL"}
    assert set(metadata) == {"gptm"}


def test_the_header_tells_all_but_the_arrays(tmp_path, models):
    model = quietly(
        GPTM(2, kernel=0.5 * TIME + k.Identity(), smoothing=0.25, random_state=7).fit,
        Corpus(X, [f"word{w}" for w in range(V)], metadata=METADATA),
    )
    path = tmp_path / "model.gptm"
    model.save(path)
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["gptm"])
        names = set(file.keys())
    assert isinstance(header["schema"], int)
    assert header["model"] == "GPTM"
    assert header["vocabulary"] == [f"word{w}" for w in range(V)]
    assert header["parameters"]["n_components"] == 2
    assert header["parameters"]["smoothing"] == 0.25
    assert header["parameters"]["random_state"] == 7
    assert set(header["parameters"]) == set(model.get_params(deep=False))
    kernel = json.dumps(header["kernel"])
    for word in ("RBF", "Identity", "length_scale", '"t"', "2.0"):
        assert word in kernel
    for library in ("gptm", "numpy", "scipy", "scikit-learn", "numba", "pandas", "safetensors"):
        assert header["libraries"][library][0].isdigit()
    assert header["libraries"]["gptm"] == gptm.__version__
    assert {"components", "Sigma", "alpha", "trace"} <= names
    points = [array for name, array in load_file(path).items() if name.startswith("training.")]
    assert any(np.array_equal(array.ravel(), METADATA["t"], equal_nan=True) for array in points)


def test_loading_runs_nothing(saved, models, monkeypatch):
    def refuse(*arguments, **keywords):
        raise AssertionError("a model must not need pickle")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(np, "load", refuse)
    again = gptm.load(saved)
    assert_array_equal(again.components_, models["sum"].components_)


def test_saving_pickles_nothing(tmp_path, models, monkeypatch):
    def refuse(*arguments, **keywords):
        raise AssertionError("a model must not need pickle")

    for name in ("dump", "dumps", "Pickler"):
        monkeypatch.setattr(pickle, name, refuse)
    models["sum"].save(tmp_path / "model.gptm")


def test_texts_are_not_in_the_file(tmp_path):
    texts = ["secret tea", "hidden coffee"] * 6
    model = quietly(
        CTM(2, random_state=0).fit, Corpus.from_texts(texts, vocabulary=["tea", "coffee"])
    )
    model.save(tmp_path / "model.gptm")
    assert b"secret" not in (tmp_path / "model.gptm").read_bytes()


@pytest.mark.parametrize("make", [str, os.fspath, lambda path: path])
def test_paths_of_any_kind_and_name(make, tmp_path, models):
    path = tmp_path / "a model without ending"
    models["CTM"].save(make(path))
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]  # one file
    assert gptm.load(make(path)).n_components == 3


def test_a_path_in_the_current_folder(tmp_path, models, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models["CTM"].save("model.gptm")
    assert gptm.load("model.gptm").n_components == 3


@pytest.mark.skipif(os.name == "nt", reason="no such permissions there")
def test_the_file_may_be_read_like_any_other(saved):
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failing_write_leaves_the_old_file(broken, saved, models, monkeypatch):
    before = saved.read_bytes()

    def fail(*arguments, **keywords):
        raise OSError("disk full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="disk full"):
        models["CTM"].save(saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert [entry.name for entry in saved.parent.iterdir()] == [saved.name]  # nothing left behind


def test_an_interrupted_write_leaves_the_old_file(saved, models, monkeypatch):
    before = saved.read_bytes()

    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        models["CTM"].save(saved)
    assert saved.read_bytes() == before
    assert [entry.name for entry in saved.parent.iterdir()] == [saved.name]


def test_a_new_model_replaces_the_old_file(saved, models):
    models["CTM"].save(saved)
    assert isinstance(gptm.load(saved), CTM)


# Files of any kind


WRITERS = {
    "bytes": lambda folder, name: replace_file(folder / name, b"new"),
    "table": lambda folder, name: write_table(METADATA, folder / name, "csv"),
    "page": lambda folder, name: write_data({"topics": []}, folder / name),
}


@pytest.fixture(params=WRITERS.values(), ids=WRITERS)
def write(request):
    return request.param


def test_writing_leaves_one_complete_file(write, tmp_path):
    (tmp_path / "file").write_bytes(b"old" * 10_000)
    write(tmp_path, "file")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert not (tmp_path / "file").read_bytes().startswith(b"old")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_writing_to_a_link_keeps_it(write, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    write(tmp_path, "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").stat().st_size > 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names there")
def test_writing_to_a_pipe_keeps_it(write, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        write(tmp_path, "pipe")
        assert reader.communicate(timeout=20)[0]
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(os.name == "nt", reason="no such permissions there")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_writing_grants_what_the_umask_leaves(mask, write, tmp_path, monkeypatch):
    before = os.umask(mask)
    try:
        monkeypatch.setattr(os, "umask", None)  # it belongs to all threads, so hands off
        write(tmp_path, "file")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_writing_that_fails_leaves_what_was_there(broken, write, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"old")

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path, "file")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_writing_where_nothing_can_be_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        replace_file(tmp_path / "nowhere" / "file", b"new")
    assert error.value.filename == os.fspath(tmp_path / "nowhere" / "file")
    with pytest.raises(PermissionError if os.name == "nt" else IsADirectoryError):
        replace_file(tmp_path, b"new")


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    replace_file(tmp_path / ("x" * 250), b"new")
    assert (tmp_path / ("x" * 250)).read_bytes() == b"new"


# Files that are no models


def refused(path, *words):
    with pytest.raises(ValueError, match=r"\w") as error:
        gptm.load(path)
    message = str(error.value)
    assert path.name in message
    for word in words:
        assert word in message, message


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.gptm"):
        gptm.load(tmp_path / "nowhere.gptm")


@pytest.mark.parametrize("share", [0.0, 1e-4, 0.01, 0.3, 0.9, 0.999])
def test_a_truncated_file(share, saved):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    refused(saved, "cut short")


def test_a_file_with_something_behind_it(saved):
    saved.write_bytes(saved.read_bytes() + b"more")
    refused(saved, "not a gptm model")


@pytest.mark.parametrize(
    "content",
    [
        np.random.default_rng(0).bytes(5000),
        b"\0" * 5000,
        b"year,text\n1999,tea\n" * 100,
        pickle.dumps({"components_": [1, 2, 3]}),
        b"PK\x03\x04" + b"\0" * 100,
    ],
    ids=["random", "zeros", "csv", "pickle", "zip"],
)
def test_a_foreign_file(content, tmp_path):
    path = tmp_path / "model.gptm"
    path.write_bytes(content)
    refused(path, "not a gptm model")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_a_foreign_safetensors_file(metadata, tmp_path):
    path = tmp_path / "model.gptm"
    path.write_bytes(to_bytes({"weight": np.ones(3)}, metadata))
    refused(path, "safetensors", "not a gptm model")


def rewrite(path, change_header=None, change_tensors=None):
    """The same file with its header or its arrays changed."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["gptm"])
    tensors = load_file(path)
    if change_header is not None:
        header = change_header(header) or header
    if change_tensors is not None:
        change_tensors(tensors)
    path.write_bytes(to_bytes(tensors, {"gptm": json.dumps(signed(header, tensors))}))


def signed(header, tensors):
    """The header with new checksums, as somebody would write them who changes a file on purpose."""
    return with_checksums(header, tensors) if isinstance(header, dict) else header


def test_rewriting_alone_changes_nothing(saved, models):
    rewrite(saved)
    assert_array_equal(gptm.load(saved).components_, models["sum"].components_)


def test_a_newer_schema(saved):
    rewrite(saved, lambda header: header.update(schema=99, surprise=True))
    refused(saved, "99", "schema", "Upgrade gptm")


def test_a_newer_schema_of_an_unknown_shape(saved):
    rewrite(saved, lambda header: {"schema": 99})
    refused(saved, "99", "Upgrade gptm")


def drop(*names):
    def change(header):
        for name in names:
            del header[name]

    return change


def rename_kernel(name):
    def change(header):
        header["kernel"] = {"gptm": name, "params": {}}

    return change


TAMPERED = {
    "no schema": drop("schema"),
    "schema in words": lambda header: header.update(schema="1"),
    "schema zero": lambda header: header.update(schema=0),
    "not an object": lambda header: [1, 2],
    "no model": drop("model"),
    "unknown model": lambda header: header.update(model="LDA"),
    "no parameters": drop("parameters"),
    "unknown parameter": lambda header: header["parameters"].update(shape=3),
    "parameters of another kind": lambda header: header.update(parameters=[1]),
    "no reason": drop("reason"),
    "no kernel": drop("kernel"),
    "unknown kernel": rename_kernel("Spherical"),
    "a function for a kernel": rename_kernel("resolve_kernel"),
    "a module for a kernel": rename_kernel("base"),
    "an abstract kernel": rename_kernel("Kernel"),
    "foreign kernel": lambda header: header.update(kernel={"sklearn": "clone", "params": {}}),
    "kernel without parameters": lambda header: header.update(kernel={"gptm": "RBF"}),
    "kernel of another kind": lambda header: header.update(kernel="RBF"),
    "another kernel": lambda header: header.update(
        kernel={"gptm": "Identity", "params": {"name": None}}
    ),
    "a tensor that is not there": lambda header: header["parameters"].update(
        init={"tensor": "none"}
    ),
    "too few words": lambda header: header.update(vocabulary=["tea"]),
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_a_tampered_header(change, saved):
    rewrite(saved, change)
    refused(saved)


def without(name):
    return lambda tensors: tensors.pop(name)


def cut(name):
    def change(tensors):
        tensors[name] = np.ascontiguousarray(tensors[name][:-1])

    return change


ARRAYS = ["components", "Sigma", "mu", "B", "alpha"]
ARRAYS += ["doc_topics", "draws.mu", "draws.S", "draws.B", "draws.chain", "draws.logits"]
ARRAYS += ["draws.part0.weights", "draws.part2.own"]


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("change", [without, cut])
def test_arrays_that_are_missing_or_do_not_fit(change, name, saved):
    rewrite(saved, change_tensors=change(name))
    refused(saved)


@pytest.mark.parametrize("row", [-1, D])
def test_draws_of_documents_that_are_not_there(row, saved):
    def change(tensors):
        tensors["draws.rows"][0] = row

    rewrite(saved, change_tensors=change)
    refused(saved)


def test_draws_of_another_kernel(saved, models, tmp_path):
    models["graph"].save(tmp_path / "other.gptm")
    other = load_file(tmp_path / "other.gptm")

    def change(tensors):
        for name in [name for name in tensors if name.startswith("draws.")]:
            del tensors[name]
        tensors.update({name: x for name, x in other.items() if name.startswith("draws.")})

    rewrite(saved, change_tensors=change)
    refused(saved)


def test_training_arrays_that_are_missing(saved):
    def change(tensors):
        for name in [name for name in tensors if name.startswith("training.")]:
            del tensors[name]

    rewrite(saved, change_tensors=change)
    refused(saved)


def test_a_folder_is_no_model(tmp_path):
    with pytest.raises(PermissionError if os.name == "nt" else IsADirectoryError):
        gptm.load(tmp_path)


def test_a_file_without_permission(saved):
    saved.chmod(0)
    if os.access(saved, os.R_OK):
        pytest.skip("nothing is forbidden to this user")
    with pytest.raises(PermissionError, match=r"model\.gptm"):
        gptm.load(saved)


def beyond(tensors, name):
    tensors[f"{name}.indices"][0] = 10**6


def negative(tensors, name):
    tensors[f"{name}.indices"][0] = -1


def backwards(tensors, name):
    tensors[f"{name}.indptr"][1] = tensors[f"{name}.indptr"][-1] + 1


def empty_at_last(tensors, name):
    tensors[f"{name}.indptr"][-1] = 0


def fractional(tensors, name):
    tensors[f"{name}.indices"] = tensors[f"{name}.indices"].astype(np.float64)


BROKEN = [beyond, negative, backwards, empty_at_last, fractional]
MATRICES = [
    ("variational", "counts"),
    ("graph", "training.links"),
    ("graph, adjacency", "training.edges"),
    ("neighbours", "training.edges"),
    ("neighbours", "training.points"),
]


@pytest.mark.parametrize("change", BROKEN)
@pytest.mark.parametrize(("model", "name"), MATRICES)
def test_positions_outside_of_a_matrix(change, model, name, tmp_path):
    path = tmp_path / "model.gptm"
    fitted(model).save(path)
    rewrite(path, change_tensors=lambda tensors: change(tensors, name))
    refused(path, "not a complete gptm model")


def test_a_matrix_is_written_once(tmp_path):
    n = 200
    similarity = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 4)
    counts = np.random.default_rng(0).poisson(1.0, (n, V))
    model = quietly(GPTM(2, kernel=similarity, random_state=0, tol=1e-2).fit, counts)
    model.save(tmp_path / "model.gptm")
    # Once, and its eigenvectors in single precision, which draws of weights belong to.
    assert (tmp_path / "model.gptm").stat().st_size < 1.8 * similarity.nbytes


# Files that carry their documents

CELLS = {
    "float": pd.Series([0.5, np.nan, -np.inf, 3.0]),
    "float32": pd.Series([0.5, np.nan, 1.0, 3.0], dtype=np.float32),
    "int": pd.Series([1, 2, 3, 2**60]),
    "bool": pd.Series([True, False, True, True]),
    "text": pd.Series(["a", "", "größe\n\t\0", "🫖"]),
    "text, missing": pd.Series(["a", None, "c", np.nan]),
    "text as objects": pd.Series(["a", None, "c", ""], dtype=object),
    "text as objects, nan": pd.Series(["a", np.nan, "c", None], dtype=object),
    "text, half a character": pd.Series(["\ud800", "b", "c", "d"], dtype=object),
    "string": pd.Series(["a", None, "c", "d"], dtype="string"),
    "date": pd.Series(pd.to_datetime(["2020-01-01", None, "1790-01-08", "2262-01-01"])),
    "date, nanoseconds": pd.Series(np.array([1, 2, 3, 4], dtype="datetime64[ns]")),
    "date, zone": pd.Series(pd.date_range("2020-03-28", periods=4, tz="Europe/Berlin")),
    "date, utc": pd.Series(pd.to_datetime(["2020-01-01", None, "2021-01-01", None], utc=True)),
    "duration": pd.Series(pd.to_timedelta([1, None, 3, 4], unit="h")),
    "period": pd.Series(pd.PeriodIndex(["2020-01", "NaT", "2020-03", "2021-01"], freq="M")),
    "category": pd.Series(["x", None, "y", "x"], dtype="category"),
    "category, ordered": pd.Series(
        pd.Categorical([3, 1, 3, 2], categories=[3, 2, 1], ordered=True)
    ),
    "nullable int": pd.Series([1, None, 3, 2**60 + 1], dtype="Int64"),
    "nullable small": pd.Series([1, None, 3, 4], dtype="UInt8"),
    "nullable bool": pd.Series([True, None, False, True], dtype="boolean"),
    "nullable float": pd.Series([0.5, None, 1.5, 2.5], dtype="Float64"),
    "links": pd.Series([["a", "b"], [], None, ["c"]]),
    "links, numbers": pd.Series([[1, 2], [3], np.nan, []]),
    "tuples": pd.Series([("a",), (), None, ("b", 2)]),
    "sets": pd.Series([{"a", "b"}, set(), None, {"c"}]),
    "vectors": pd.Series([np.array([1.0, 2.0]), None, np.array([0.5, np.nan]), np.zeros(2)]),
    "vectors as lists": pd.Series([[1.0, 2.0], None, [0.5, 0.25], [3.0, 4.0]]),
    "vectors, whole": pd.Series([np.array([1, 2]), None, np.array([3, 4]), np.array([5, 6])]),
    "mixed": pd.Series([1, "a", None, 2.5], dtype=object),
    "mixed, missing": pd.Series([pd.NaT, pd.NA, np.nan, None], dtype=object),
    "mixed, infinite": pd.Series([np.inf, -np.inf, "a", np.int64(3)], dtype=object),
    "times as objects": pd.Series([pd.Timestamp("2020-01-01 12:30"), None, "b", 1], dtype=object),
    "nothing": pd.Series([None] * 4, dtype=object),
}


def same_cell(one, other):
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=True)
    if one is None or one is pd.NA or one is pd.NaT:
        return one is other
    if isinstance(one, float) and np.isnan(one):
        return isinstance(other, float) and np.isnan(other)
    return type(one) is type(other) and one == other


def plain(value):
    return value.item() if isinstance(value, np.int64) else value


def round_trip(series):
    tensors = {}
    header = json.loads(json.dumps(pack_column(series, "it", tensors)))
    tensors = load_tensors(to_bytes(tensors))
    return unpack_column(header, "it", tensors)


@pytest.mark.parametrize("kind", CELLS)
def test_columns_keep_their_types(kind):
    series = CELLS[kind]
    again = round_trip(series)
    assert again.dtype == series.dtype
    pairs = zip(map(plain, series), map(plain, again), strict=True)
    assert all(same_cell(*pair) for pair in pairs), (list(series), list(again))


@pytest.mark.parametrize("kind", CELLS)
def test_columns_without_rows_keep_their_types(kind):
    again = round_trip(CELLS[kind][:0])
    assert len(again) == 0
    assert again.dtype == CELLS[kind].dtype


cells = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


@given(st.lists(cells, max_size=6))
def test_any_cells_come_back(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    again = list(round_trip(pd.Series(column, dtype=object)))
    assert repr(again) == repr(values)


@given(st.lists(st.none() | st.text(), max_size=8))
def test_texts_come_back(texts):
    tensors = {}
    pack_texts(texts, "it", tensors)
    assert unpack_texts("it", tensors) == texts


def test_texts_that_would_unpack_to_more_than_they_say():
    tensors = {}
    pack_texts(["a" * 10_000_000], "it", tensors)
    assert tensors["it.bytes"].nbytes < 20_000
    tensors["it.lengths"][0] = 10
    with pytest.raises(ValueError, match="do not have the 10 bytes"):
        unpack_texts("it", tensors)


def test_a_column_that_cannot_be_kept():
    with pytest.raises(ValueError, match=r"'odd' cannot be kept.*complex"):
        pack_column(pd.Series([1j, "a"], name="odd", dtype=object), "it", {})


TEXTS = [f"Secret </script> tea number {i}\n\u2028" for i in range(D)]


def documents(**parts):
    words = [f"word{w}" for w in range(V)]
    given = {"metadata": METADATA, "ids": [f"id{i}" for i in range(D)]} | parts
    return Corpus(csr_matrix(X), words, **given)


@pytest.fixture(scope="module")
def with_documents():
    model = GPTM(3, kernel=TIME, random_state=0, max_iter=6)
    return quietly(model.fit, documents())


def same_corpus(one, other):
    assert one.shape == other.shape
    assert one.counts.dtype == other.counts.dtype
    assert (one.counts != other.counts).nnz == 0
    for part in ("vocabulary", "ids", "texts"):
        mine, theirs = getattr(one, part), getattr(other, part)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype
            assert_array_equal(mine, theirs)
    assert (one.metadata is None) == (other.metadata is None)
    if one.metadata is not None:
        assert list(one.metadata) == list(other.metadata)
        assert (one.metadata.dtypes == other.metadata.dtypes).all()
        for name in one.metadata:
            assert all(map(same_cell, one.metadata[name], other.metadata[name]))


CORPORA = {
    "all": documents(),
    "no metadata": documents(metadata=None),
    "no ids": documents(ids=None),
    "number ids": documents(ids=np.arange(D)),
    "object ids": documents(ids=np.array([f"x{i}" for i in range(D)], dtype=object)),
    "float counts": Corpus(X.astype(float), metadata=METADATA),
    "no columns": documents(metadata=pd.DataFrame(index=range(D))),
    "columns of one name": documents(metadata=pd.concat([METADATA[["t"]]] * 2, axis=1)),
}


@pytest.mark.parametrize("name", CORPORA)
def test_documents_come_back(name, tmp_path, with_documents):
    path = tmp_path / "model.gptm"
    with_documents.save(path, corpus=CORPORA[name])
    found = load_attached(path)
    if name == "columns of one name":
        assert list(found.corpus.metadata) == ["t", "t"]
    else:
        same_corpus(found.corpus, CORPORA[name])
    assert found.texts is None
    assert found.words is None
    assert_array_equal(gptm.load(path).doc_topics_, with_documents.doc_topics_)


def test_texts_and_settings_come_back(tmp_path, with_documents):
    path = tmp_path / "model.gptm"
    words, reading = {"stop_words": "english", "ngrams": [1, 2]}, {"text": ["title", "body"]}
    corpus = documents()
    with_documents.save(path, corpus=corpus, texts=TEXTS, words=words, reading=reading)
    found = load_attached(path)
    assert found.texts == TEXTS
    assert found.words == words
    assert found.reading == reading
    header, _ = read_by_hand(path)
    assert "Secret" not in header["__metadata__"]["gptm"]
    assert "id17" not in header["__metadata__"]["gptm"]


def test_texts_stay_out_unless_they_are_passed(tmp_path, with_documents):
    path = tmp_path / "model.gptm"
    with_documents.save(path, corpus=documents(texts=TEXTS))
    assert load_attached(path).texts is None
    assert load_attached(path).corpus.ids[3] == "id3"


def test_texts_are_compressed(tmp_path, with_documents):
    path = tmp_path / "model.gptm"
    texts = ["the same words again and again " * 1000] * D
    with_documents.save(path, corpus=documents(), texts=texts)
    assert path.stat().st_size < 100_000
    assert load_attached(path).texts == texts


def test_a_file_with_a_model_alone_has_nothing_attached(saved):
    found = load_attached(saved)
    assert found.corpus is None
    assert found.texts is None
    rewrite(saved, lambda header: [header.pop(name, None) for name in ("corpus", "words")] and None)
    assert load_attached(saved).corpus is None  # as older versions wrote it


def test_loading_the_model_does_not_read_the_documents(tmp_path, with_documents):
    path = tmp_path / "model.gptm"
    with_documents.save(path, corpus=documents(), texts=TEXTS)
    rewrite(path, change_tensors=without("corpus.texts.bytes"))
    assert_array_equal(gptm.load(path).components_, with_documents.components_)
    with pytest.raises(ValueError, match=r"model\.gptm is not a complete"):
        load_attached(path)


DAMAGED = [
    "corpus.counts.indices",
    "corpus.counts.indptr",
    "corpus.texts.lengths",
    "corpus.ids.bytes",
]


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("change", [without, cut])
def test_damaged_documents(change, name, tmp_path, with_documents):
    path = tmp_path / "model.gptm"
    with_documents.save(path, corpus=documents(), texts=TEXTS)
    rewrite(path, change_tensors=change(name))
    with pytest.raises(ValueError, match=r"model\.gptm is not a complete"):
        load_attached(path)


@pytest.mark.parametrize("change", BROKEN)
def test_positions_outside_of_the_documents_words(change, tmp_path, with_documents):
    path = tmp_path / "model.gptm"
    with_documents.save(path, corpus=documents())
    rewrite(path, change_tensors=lambda tensors: change(tensors, "corpus.counts"))
    with pytest.raises(ValueError, match=r"model\.gptm is not a complete"):
        load_attached(path)


def test_documents_of_another_model_are_refused(tmp_path, with_documents):
    path = tmp_path / "model.gptm"
    with pytest.raises(ValueError, match=r"24 documents and 9 words; got 12 and 9"):
        with_documents.save(path, corpus=documents()[:12])
    with pytest.raises(ValueError, match="one entry per document: expected 24, got 3"):
        with_documents.save(path, corpus=documents(), texts=TEXTS[:3])
    assert not path.exists()


def test_time_zones_without_a_name_become_utc():
    dateutil_tz = pytest.importorskip("dateutil.tz")
    zone = dateutil_tz.tzoffset(None, 3600)
    times = pd.Series(pd.date_range("2000-01-01", periods=2, tz=zone))
    tensors = {}
    header = pack_column(times, "when", tensors)
    found = unpack_column(header, "when", tensors)
    assert (found == times).all()


@pytest.mark.parametrize("labels", [None, [f"w{i}" for i in range(6)]])
def test_topics_given_as_a_table_come_back(tmp_path, labels):
    X = np.random.default_rng(0).poisson(1.0, (20, 6))
    init = pd.DataFrame(np.random.default_rng(1).dirichlet(np.ones(6), 2), columns=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gptm.CTM(2, init=init, max_iter=2).fit(X)
    model.save(tmp_path / "model.gptm")
    loaded = gptm.load(tmp_path / "model.gptm")
    pd.testing.assert_frame_equal(loaded.init, init, check_column_type=False)


def test_a_length_scale_in_an_array_of_no_dimension_comes_back(tmp_path):
    X = np.random.default_rng(0).poisson(1.0, (20, 6))
    kernel = gptm.kernels.RBF("t", "u", length_scale=np.array(3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gptm.GPTM(2, kernel=kernel, max_iter=2).fit(
            X, metadata={"t": np.arange(20.0), "u": np.arange(20.0) % 3}
        )
    model.save(tmp_path / "model.gptm")
    assert float(gptm.load(tmp_path / "model.gptm").kernel.length_scale) == 3.0


def test_draws_of_a_machine_that_turned_the_features_are_turned_back(tmp_path):
    """Eigenvectors of another machine may have other signs and directions; weights of features go with them."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 10, 60)
    counts = rng.poisson(1.0, (60, V))
    model = quietly(GPTM(3, kernel=k.Matern("t"), random_state=0).fit, counts, metadata={"t": t})
    path = tmp_path / "model.gptm"
    model.save(path)
    with safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    Phi, weights = tensors["anchor.0"], tensors["draws.part0.weights"]
    turn = np.linalg.qr(rng.standard_normal((Phi.shape[1], Phi.shape[1])))[0]
    tensors["anchor.0"] = (Phi @ turn).astype(np.float32)
    tensors["draws.part0.weights"] = np.einsum("qr,sqp->srp", turn, weights).astype(np.float32)
    rewrite(path, change_tensors=lambda old: old.update(tensors))
    here, there = (one.effects("t", n_points=5) for one in (model, gptm.load(path)))
    assert_allclose(there["contrast"], here["contrast"], atol=1e-3)
    tensors["anchor.0"] = Phi  # weights of another basis than the anchors say
    rewrite(path, change_tensors=lambda old: old.update(tensors))
    wrong = gptm.load(path).effects("t", n_points=5)
    assert np.abs(wrong["contrast"] - here["contrast"]).max() > 0.05
