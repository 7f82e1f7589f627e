"""Odd corpora, metadata, kernels and settings: each ends in a sound result, or in an error that helps.

`python tests/fuzz_inputs.py 50000` runs so many cases and counts how they ended; `make fuzz` does that. The suite
runs some hundred of them (`test_fuzz.py`). The same seed draws the same cases.
"""

import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from scipy import sparse

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.starts.lda import LdaRun

PACKAGE = str(Path(gptm.__file__).parent)
ROUND = 100  # cases that share a seed
SLOW = 20.0  # seconds for one case, the first aside: it compiles
FEWEST_WORDS = 6  # of an error that helps
COLUMNS = ("t", "c", "when", "links", "v", "odd")

# Values of cells and parameters


ODD_TEXTS = [
    "",
    " ",
    "a",
    "b",
    "Ω",
    "e\u0301",
    "\x00",
    "x\ud800",
    "\udfff",
    "🙂",
    "-1",
    "nan",
    "1e3",
]
ODD_NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-162, 1e155, 1e-308, 5e-324, 1.7e308, -1e200]
ODD_NUMBERS += [1e16, 1e-9, 3.0, 100.0, 1e9, float("nan"), float("inf"), float("-inf")]
ODD_OBJECTS = [None, True, 2**70, 1j, (1, 2), {"a": 1}, [1.0], b"a", object(), pd.NA, pd.NaT]
ODD_DATES = ["0001-01-01", "1677-01-01", "1970-01-01", "2000-02-29", "2024-12-31", "2262-04-12"]
ODD_DATES += ["9999-12-31", "-0044-03-15", "+12345-01-01", "NaT"]

numbers = st.one_of(st.floats(-5, 5), st.integers(-3, 3), st.sampled_from(ODD_NUMBERS))
texts = st.sampled_from(ODD_TEXTS)
plain_positive = st.floats(0.01, 100.0)


def odd(usual, one_in=20, strange=numbers):
    """Mostly a usual value, sometimes a strange one; small cases are usual ones."""
    return st.integers(1, one_in).flatmap(lambda i: strange if i == one_in // 2 + 1 else usual)


# Counts


CONTAINERS = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X, columns=[f"w{i}" for i in range(X.shape[1])]),
    "corpus": Corpus,
    **{
        name: getattr(sparse, name)
        for name in ("csr_matrix", "csc_matrix", "coo_matrix", "lil_matrix", "dok_matrix")
    },
    **{name: getattr(sparse, name) for name in ("csr_array", "bsr_array", "dia_array")},
}
DTYPES = ["int64", "int8", "uint8", "uint64", "float16", "float32", "float64", "bool", "object"]
HUGE = [1e3, 1001.0, 2500.5, 1e5, 1e6, 1e8, 1e10, 1e14, 1e18, 1e155, 1e300]
STRANGE_COUNTS = [-1.0, float("nan"), float("inf"), 0.3, 1e-9, 1e-300, 5e-324]


@st.composite
def counts(draw):
    """(D, V) counts, mostly small whole numbers; some rows are empty."""
    D, V = draw(st.integers(1, 7)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = rng.poisson(draw(st.sampled_from([0.2, 1.0, 3.0])), (D, V)).astype(float)
    if draw(st.booleans()):
        X[rng.integers(D)] = 0.0
    kind = draw(
        st.sampled_from(["plain"] * 12 + ["huge", "huge", "all huge", "strange", "fractions"])
    )
    if kind == "huge":
        X[rng.integers(D), rng.integers(V)] = draw(st.sampled_from(HUGE))
    elif kind == "all huge":
        X = np.rint(X * draw(st.sampled_from(HUGE)))
    elif kind == "strange":
        X[rng.integers(D), rng.integers(V)] = draw(st.sampled_from(STRANGE_COUNTS))
    elif kind == "fractions":
        X *= 0.37
    return X


@st.composite
def documents(draw, X):
    """The same counts in some container and dtype; those that a dtype cannot have stay floats."""
    dtype, container = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(list(CONTAINERS)))
    with np.errstate(all="ignore"):
        other = X.astype(dtype)
        same = np.array_equal(other.astype(float), X)
    dense = container in ("array", "fortran", "list", "frame")
    X = other if same and (dense or dtype not in ("object", "float16")) else X
    if container == "corpus":
        vocabulary = draw(st.none() | st.permutations(ODD_TEXTS).map(lambda t: t[: X.shape[1]]))
        return Corpus(X, vocabulary) if vocabulary else Corpus(X)
    return CONTAINERS[container](X)


# Metadata


@st.composite
def column(draw, name, D):
    """A column of the kind that its name promises, or of any other."""
    kind = draw(odd(st.just(name), 20, st.sampled_from(COLUMNS)))
    cells = {
        "t": st.lists(odd(st.floats(-5, 5) | st.integers(0, 5), 40), min_size=D, max_size=D),
        "c": st.lists(odd(st.sampled_from("abc"), 10, texts | st.none()), min_size=D, max_size=D),
        "when": dates(D),
        "links": st.lists(links(D), min_size=D, max_size=D),
        "v": vectors(D),
        "odd": st.lists(st.sampled_from(ODD_OBJECTS) | numbers | texts, min_size=D, max_size=D),
    }[kind]
    values = draw(cells)
    form = draw(st.sampled_from(["list", "list", "object", "array", "category"]))
    if form == "object":
        values = pd.Series(values, dtype=object)
    elif form == "array" and kind == "t":
        with np.errstate(all="ignore"):
            values = np.array(values, dtype=draw(st.sampled_from([float, np.float32])))
    elif form == "category" and kind == "c" and not any(map(_is_broken, values)):
        values = pd.Categorical(values)
    return values


def _is_broken(cell):
    """Whether pandas refuses a text: half of a character is in it."""
    return any("\ud800" <= character <= "\udfff" for character in cell or "")


def links(D):
    """The links of one document: numbers or names of others, of itself, of nobody."""
    others = st.lists(st.integers(0, D - 1), max_size=3)
    weights = st.dictionaries(st.integers(0, D - 1), numbers, max_size=2)
    return odd(others, 30, weights | texts | st.none() | st.lists(texts, max_size=2))


def dates(D):
    """Dates as texts, as numpy's or as pandas'."""
    usual = st.integers(1990, 2024).map(lambda year: f"{year}-03-0{year % 9 + 1}")
    written = st.lists(odd(usual, 30, st.sampled_from(ODD_DATES)), min_size=D, max_size=D)
    days = st.lists(st.integers(-(10**7), 10**7), min_size=D, max_size=D)
    numpy_days = days.map(lambda some: np.array(some, dtype="datetime64[D]"))
    stamps = days.map(lambda some: pd.to_datetime(np.array(some) % 20_000, unit="D"))
    return written | numpy_days | stamps | stamps.map(lambda some: some.tz_localize("UTC"))


@st.composite
def vectors(draw, D):
    """Vectors of two numbers, now and then of another length or with something odd in them."""
    length = st.just(2) if draw(st.integers(0, 9)) else st.integers(0, 3)
    vector = length.flatmap(lambda n: st.lists(odd(st.floats(-2, 2), 60), min_size=n, max_size=n))
    return draw(st.lists(odd(vector, 10, st.none()), min_size=D, max_size=D))


@st.composite
def metadata(draw, D):
    """A table of some columns, or none."""
    if draw(st.integers(0, 19)) == 0:
        return None
    D = draw(odd(st.just(D), 50, st.integers(0, D + 1)))
    table = {name: draw(column(name, D)) for name in COLUMNS}
    if draw(st.booleans()):
        return table
    return _frame(table, D)


def _frame(table, D):
    try:
        return pd.DataFrame(table, index=range(D))
    except (ValueError, UnicodeError):  # pandas does not take it
        return table


# Kernels


def _columns(usual):
    return odd(st.just(usual), 15, st.sampled_from(COLUMNS))


def _given(usual):
    """A parameter: not given, usual, or odd."""
    return odd(st.none() | usual, 8)


matrices = st.sampled_from([0.0, 1.0, 1e-200, 1e155, 1e300, -1.0, float("nan")])


@st.composite
def adjacency(draw, D):
    A = np.random.default_rng(draw(st.integers(0, 99))).random((D, D)) < 0.4
    A = np.triu(A, 1) * draw(odd(st.just(1.0), 4, matrices))
    return sparse.csr_matrix(A + A.T) if draw(st.booleans()) else A + A.T


@st.composite
def single_kernels(draw, D):
    """A kernel of any class, with parameters of any size."""
    positive = plain_positive
    makers = {
        "RBF": lambda: k.RBF(draw(_columns("t")), length_scale=draw(_given(positive))),
        "Matern": lambda: k.Matern(
            draw(_columns("when")),
            nu=draw(odd(st.sampled_from([0.5, 1.5, 2.5, np.inf]))),
            length_scale=draw(_given(positive)),
        ),
        "Periodic": lambda: k.Periodic(
            draw(_columns("t")),
            period=draw(odd(positive, 8, numbers | st.just("1y"))),
            length_scale=draw(_given(positive)),
        ),
        "Linear": lambda: k.Linear(draw(_columns("t"))),
        "Categorical": lambda: k.Categorical(draw(_columns("c"))),
        "Embedding": lambda: k.Embedding(draw(_columns("v")), center=draw(st.booleans())),
        "MustLink": lambda: k.MustLink(draw(_columns("c"))),
        "Graph": lambda: k.Graph(draw(_columns("links")), **draw(graph_settings())),
        "Adjacency": lambda: k.Graph(adjacency=draw(adjacency(D)), **draw(graph_settings())),
        "NearestNeighbors": lambda: k.NearestNeighbors(
            draw(odd(st.integers(1, 3))),
            on=draw(st.none() | _columns("t") | _columns("v")),
            bandwidth=draw(odd(positive, 6)),
            **draw(graph_settings()),
        ),
        "Precomputed": lambda: k.Precomputed(
            draw(adjacency(D)) + np.diag(np.full(D, draw(odd(st.just(4.0)))))
        ),
        "Identity": k.Identity,
    }
    return makers[draw(st.sampled_from(list(makers)))]()


def graph_settings():
    """Settings of kernels over graphs."""
    return st.fixed_dictionaries(
        {},
        optional={
            "form": odd(st.sampled_from(["smooth", "direct"]), 30, texts),
            "kappa": _given(plain_positive),
            "nu": odd(st.integers(1, 3), 20),
            "gamma": odd(plain_positive, 8),
            "diagonal": _given(plain_positive),
        },
    )


@st.composite
def kernels(draw, D):
    """One kernel, a sum, a product, a weighted one, or what stands for one."""
    single = single_kernels(D)
    form = draw(st.sampled_from(["auto", None, "one", "one", "sum", "sum", "product", "scaled"]))
    if form in ("auto", None):
        return form
    kernel = draw(single)
    if form == "sum":
        return kernel + draw(single)
    if form == "product":
        return kernel * draw(single)
    return draw(odd(plain_positive, 6)) * kernel + draw(single) if form == "scaled" else kernel


# Settings


@st.composite
def models(draw, D, V):
    """An estimator with settings, most of them usual."""
    K = draw(odd(st.integers(1, 4), 60))
    seeds = st.dictionaries(st.integers(0, 3) | texts, st.lists(st.integers(0, V - 1), max_size=2))
    shared = draw(
        st.fixed_dictionaries(
            {"max_iter": st.integers(1, 3), "random_state": st.integers(0, 9)},
            optional={
                "topic_covariance": st.sampled_from(["full", "identity"]),
                "fit_mean": st.booleans(),
                "init": odd(st.sampled_from(["gibbs", "spectral", "random"]), 40, texts),
                "smoothing": odd(st.floats(0, 1), 8),
                "seed_words": odd(st.none(), 3, seeds),
                "seed_weight": odd(st.floats(0, 5), 6),
                "n_chains": odd(st.integers(1, 2), 40),
                "tol": odd(st.floats(0, 0.1), 40),
                "doc_points": odd(st.sampled_from([0, 1, 8, 64]), 40),
                "doc_tol": odd(st.floats(0, 0.1), 40),
                "n_jobs": odd(st.sampled_from([None, 2, -1]), 40),
            },
        )
    )
    if draw(st.integers(0, 5)) == 0:
        return CTM(K, inference=draw(st.sampled_from(["sampling", "variational"])), **shared)
    return GPTM(
        K,
        kernel=draw(kernels(D)),
        inference=draw(st.sampled_from(["sampling", "variational", "map"])),
        coregionalization=draw(st.sampled_from(["free", "shared", "identity"])),
        learn_kernel=draw(st.booleans()),
        **shared,
    )


# Cases, and how they end


@dataclass(repr=False)
class Case:
    """Documents with metadata, a model, and where it is asked for effects."""

    X: Any
    metadata: Any
    model: GPTM
    at: Any

    def __repr__(self):  # in ASCII: half a character in a report would end pytest's workers
        return ascii_only(
            f"Case(X={self.X!r}, metadata={self.metadata!r}, model={self.model!r}, at={self.at!r})"
        )


@st.composite
def cases(draw):
    """All that one run of the library takes."""
    try:
        X = draw(counts())
        D, V = X.shape
        container = draw(documents(X))
        table = draw(metadata(D))
        model = draw(models(D, V))
    except (ValueError, TypeError) as error:  # as it should be, or not
        return error
    return Case(container, table, model, draw(st.none() | st.lists(numbers | texts, max_size=2)))


class Unsound(AssertionError):
    """A result that cannot be."""


def require(condition, what):
    if not condition:
        raise Unsound(what)


def check_helpful(error):
    """An error of ours in a sentence; anything else is raised again."""
    plain = isinstance(error, ValueError | TypeError) and not isinstance(
        error, np.linalg.LinAlgError | UnicodeError
    )
    raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
    sentence = str(error).rstrip().endswith((".", ")", "]", "'")) or "\n" in str(error)
    if not (plain and raised_in.startswith(PACKAGE) and sentence):
        raise error
    if len(str(error).split()) < FEWEST_WORDS:
        raise error


@contextmanager
def helpful(outcomes, step):
    """Count how a step ended: with a result, or with an error that helps."""
    try:
        yield
    except (ValueError, TypeError) as error:
        check_helpful(error)
        outcomes[f"{step}: refused"] += 1
    else:
        outcomes[f"{step}: result"] += 1


def check_proportions(theta, n, K):
    require(theta.shape == (n, K), f"shape {theta.shape}")
    require(np.isfinite(theta).all(), "proportions that are not finite")
    require((theta >= 0).all(), "proportions below zero")
    require(np.allclose(theta.sum(1), 1.0, rtol=1e-9), "proportions that do not sum to one")


def check_fit(model):
    for name in ("components_", "topic_covariance_", "mean_", "doc_logits_", "bound_"):
        require(np.isfinite(getattr(model, name)).all(), f"{name} that is not finite")
    for name in ("doc_variance_", "doc_means_", "dual_coef_", "coregionalization_"):
        require(np.isfinite(getattr(model, name)).all(), f"{name} that is not finite")
    require((model.doc_variance_ >= 0).all(), "variances below zero")
    require(np.allclose(model.components_.sum(1), 1.0, rtol=1e-9), "topics that do not sum to one")
    check_proportions(model.doc_topics_, len(model.doc_logits_), model.n_components)


def check_bands(table, value, low, high):
    require(np.isfinite(table[[value, low, high]].to_numpy()).all(), f"{value} that is not finite")
    require((table[low] <= table[high] + 1e-12).all(), f"bands of {value} out of order")


def run(case, outcomes):
    """Fit, and ask for all that a fitted model can say."""
    if isinstance(case, Exception):
        check_helpful(case)
        outcomes["kernel or corpus: refused"] += 1
        return
    model, X, frame = case.model, case.X, case.metadata
    with helpful(outcomes, "fit"):
        model.fit(X, metadata=frame)
        check_fit(model)
    if not hasattr(model, "fitted_"):
        return
    n = len(model.doc_logits_)
    with helpful(outcomes, "transform"):
        check_proportions(model.transform(X, metadata=frame), n, model.n_components)
    with helpful(outcomes, "transform without words"):
        empty = np.zeros((n, model.n_features_in_))
        theta, std = model.transform(empty, metadata=frame, return_std=True)
        check_proportions(theta, n, model.n_components)
        require(np.isfinite(std).all(), "standard deviations that are not finite")
    with helpful(outcomes, "effects"):
        for term in model.terms_:
            table = model.effects(term, at=case.at, n_points=3)
            check_bands(table, "contrast", "contrast_low", "contrast_high")
            check_bands(table, "share", "share_low", "share_high")
    with helpful(outcomes, "variance_explained"):
        check_bands(model.variance_explained(), "share", "low", "high")
    with helpful(outcomes, "topics"):
        shares = model.topics(3)["share"]
        require(np.isclose(shares.sum(), 1.0), "shares of topics that do not sum to one")
    with helpful(outcomes, "score"):
        require(np.isfinite(model.score(X, metadata=frame)), "a score that is not finite")
    check_saved(model, X, frame, outcomes)


def check_saved(model, X, frame, outcomes):
    """A model that was saved says the same."""
    with tempfile.TemporaryDirectory() as folder, helpful(outcomes, "save and load"):
        path = Path(folder) / "model.gptm"
        model.save(path)
        same = gptm.load(path)
        with helpful(outcomes, "transform of the loaded model"):
            theta = same.transform(X, metadata=frame)
            require(np.array_equal(theta, model.transform(X, metadata=frame)), "other proportions")


@contextmanager
def short_work():
    """Few sweeps where tests of other things want them: where they lead is told elsewhere."""
    sweep_to = LdaRun.sweep_to
    with (
        mock.patch.object(
            LdaRun, "sweep_to", lambda self, n, *rest: sweep_to(self, min(n, 5), *rest)
        ),
        mock.patch("gptm.model.answering.SHORT_CHAIN", 5),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


def ascii_only(text):
    return text.encode("ascii", "backslashreplace").decode()


def run_cases(first_seed, n, outcomes, failures=None):
    """Run `n` cases. Failures are collected by kind; without a place for them the first is made small, and raised."""

    def check(case):
        began = time.perf_counter()
        run(case, outcomes)
        outcomes["slow"] += time.perf_counter() - began > SLOW

    with short_work():
        try_all(cases(), check, first_seed, n, outcomes, failures)


def try_all(strategy, check, first_seed, n, outcomes, failures):
    """Check `n` cases of a strategy. Failures are collected by kind; without a place for them the first is raised."""

    @seed(first_seed)
    @settings(
        max_examples=n,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(strategy)
    def run_all(case):
        try:
            check(case)
        except Exception as error:
            if failures is None:
                raise AssertionError(ascii_only(traceback.format_exc())) from None
            failures.setdefault(kind_of(error), []).append((case, error))
        outcomes["cases"] += 1

    run_all()


def kind_of(error):
    """The type of an error, and the last line of ours that it passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(PACKAGE)] or frames[-1:]
    said = str(error)[:60] if isinstance(error, Unsound) else ""
    return f"{type(error).__name__} {said} at {Path(ours[-1].filename).name}:{ours[-1].lineno}"


def main(run_cases, n, first_seed=0):
    """Run `n` cases, `ROUND` with each seed; print the first failure of each kind, and how cases ended."""
    sys.stdout.reconfigure(errors="backslashreplace")
    outcomes: Counter = Counter()
    failures: dict = {}
    for number in range(first_seed, first_seed + -(-n // ROUND)):
        before = set(failures)
        run_cases(number, min(ROUND, n), outcomes, failures)
        for kind in set(failures) - before:
            case, error = failures[kind][0]
            print(f"\n{kind}\n{case}")
            traceback.print_exception(error, limit=-12, file=sys.stdout)
        print(f"seed {number}: {dict(outcomes)}", flush=True)
    for kind, found in failures.items():
        print(f"{len(found)} times: {kind}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(run_cases, *map(int, sys.argv[1:] or [50_000])))
