"""Which model, and how many topics: fitted to some documents, scored on the words of others."""

import time
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit, check_cv
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.parallel import Parallel, delayed

from gptm import metrics
from gptm._validation import check_number
from gptm._warnings import warn
from gptm.base import TopicModel
from gptm.corpus import Corpus
from gptm.kernels import Graph, Kernel, MustLink, Precomputed, resolve_kernel
from gptm.metadata import as_frame
from gptm.progress import Progress

SHARES = (0.5, 0.2, 0.05)  # of the words of a held-out document that a model sees
TEST_SHARE = 0.2  # of the documents, where they are split once


def cross_validate(
    model: TopicModel,
    X: Any,
    *,
    metadata: Any = None,
    y: Any = None,
    cv: Any = 5,
    observed: float | Sequence[float] = SHARES,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
) -> "CrossValidation":
    """Scores of a model on documents that it was not fitted to, fold by fold.

    For each fold a clone of the model is fitted to the other documents, with their metadata, and predicts for each
    document of the fold some of its words from the rest of them and from its metadata.

    Parameters
    ----------
    model : GPTM or CTM
        Stays as it is.
    X : Corpus, or sparse or dense array of shape (n_documents, n_words)
    metadata : DataFrame or dict of columns, optional
        One row per document; by default a corpus brings its own.
    y : array of shape (n_documents,), optional
        Labels, for `MustLink()` and for splitters that look at them.
    cv : int, scikit-learn splitter or iterable of (train, test), default=5
        Number of folds, drawn at random; or what makes them, for example `GroupKFold().split(X, groups=authors)`.
    observed : float or sequence of floats, default=(0.5, 0.2, 0.05)
        Shares of a held-out document's words that the model sees.
    random_state : int, RandomState or None, default=0
        Draws the folds, and seeds models that have no `random_state` of their own.
    n_jobs : int or None
        Fits at the same time, in processes; None means 1, -1 all cores. Changes nothing but the time.
    verbose : int or bool, default=False
        Print a line after each fit.

    Returns
    -------
    CrossValidation
        With `table`, one row per fold, and `summary`, mean and standard deviation over the folds.

    Notes
    -----
    `perplexity_50` is the perplexity of the held-out words where half of them are seen, and lower is better. `bound`
    is the training bound per word (not to be compared between "variational" and "map" inference), `coherence` the mean
    NPMI of the topics' ten top words in the training documents, `seconds` the time of the fit.

    `kernel="auto"` is resolved once, from the metadata of all documents. Ctrl-C ends the work and keeps the folds
    that are done, with a warning; `complete` is then False.

    Examples
    --------
    >>> import gptm
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> found = gptm.cross_validate(gptm.CTM(2), X, cv=3, observed=[0.5, 0.1])
    >>> list(found.table.columns[:3])
    ['perplexity_50', 'perplexity_10', 'bound']
    >>> found.summary.drop(columns="seconds").shape  # mean and standard deviation
    (2, 6)
    """
    data, shares = _read(X, metadata, y), _shares(observed)
    folds = _folds(cv, data, random_state)
    name = _name(model)
    models = _prepared({type(model).__name__: model}, data, random_state)
    fits = _run(_tasks(models, data, folds, shares), len(folds), n_jobs, verbose)
    table = fits.table.droplevel("model")
    return CrossValidation(table, fits.note, f"{len(folds)}-fold cross-validation of {name}")


def compare(
    models: Mapping[Any, TopicModel] | Sequence[TopicModel],
    X: Any,
    *,
    metadata: Any = None,
    y: Any = None,
    test: Any = None,
    test_metadata: Any = None,
    cv: Any = None,
    observed: float | Sequence[float] = SHARES,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
) -> "Comparison":
    """Models side by side, fitted to the same documents and scored on the same others.

    Parameters
    ----------
    models : dict of models by name, or sequence of models
        GPTMs and CTMs, which stay as they are: clones are fitted.
    X : Corpus, or sparse or dense array of shape (n_documents, n_words)
    metadata : DataFrame or dict of columns, optional
        One row per document; by default a corpus brings its own.
    y : array of shape (n_documents,), optional
        Labels, for `MustLink()`.
    test : float, int, Corpus or array, optional
        Share or number of the documents that are drawn at random and held out, by default a fifth. Or the held-out
        documents themselves: all of X is for the training then, and models that are fitted already are scored as
        they are.
    test_metadata : DataFrame or dict of columns, optional
        Of the documents in `test`, where that is not a corpus with its own.
    cv : int, scikit-learn splitter or iterable of (train, test), optional
        Cross-validate instead: the table holds means over the folds.
    observed, random_state, n_jobs, verbose
        As in `cross_validate`. Models that have a `random_state` keep it.

    Returns
    -------
    Comparison
        With `table`, one row per model and columns as in `cross_validate`; `std`, standard deviations over the folds;
        `folds`, every fit; and `best`, the name of the model with the lowest perplexity at the first share.

    Examples
    --------
    >>> import gptm
    >>> from gptm import kernels as k
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> years = {"year": [1990, 1991, 2010, 2011] * 6}
    >>> models = {"words": gptm.CTM(2), "time": gptm.GPTM(2, kernel=k.RBF("year", length_scale=5.0))}
    >>> found = gptm.compare(models, X, metadata=years, observed=[0.5, 0.1])
    >>> found.table.index.tolist()
    ['words', 'time']
    >>> bool(found.table.loc["time", "perplexity_10"] < found.table.loc["words", "perplexity_10"])
    True
    """
    data, shares, named = _read(X, metadata, y), _shares(observed), _named(models)
    if cv is not None and test is not None:
        raise ValueError("compare takes test= or cv=, not both.")
    held_out = None
    if cv is None and test is not None and not isinstance(test, int | float | np.number):
        held_out = _read(test, test_metadata, None)
    elif test_metadata is not None:
        raise ValueError("test_metadata goes with documents in test=; there are none.")
    if held_out is None:
        share = TEST_SHARE if test is None else test
        split = ShuffleSplit(1, test_size=share, random_state=random_state) if cv is None else cv
        folds = _folds(split, data, random_state)
        how = f"{len(folds)} folds" if cv is not None else f"{len(folds[0][1])} held-out documents"
        tasks = _tasks(_prepared(named, data, random_state), data, folds, shares)
    else:
        folds, how = [], f"{held_out.n} held-out documents"
        fitted = {name: model for name, model in named.items() if hasattr(model, "components_")}
        others = {name: model for name, model in named.items() if name not in fitted}
        ready = _prepared(others, data, random_state, split=False) | fitted
        tasks = iter(_Task(name, 0, ready[name], data, held_out, shares) for name in named)
    fits = _run(tasks, len(named) * max(len(folds), 1), n_jobs, verbose)
    return Comparison(fits.table, fits.note, f"{len(named)} models on {how}")


def search_components(
    model: TopicModel,
    X: Any,
    n_components: Iterable[int] = (5, 10, 20, 40),
    *,
    metadata: Any = None,
    y: Any = None,
    cv: Any = 5,
    observed: float = 0.5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
) -> "ComponentSearch":
    """Cross-validated perplexity of held-out words against the number of topics.

    Parameters
    ----------
    model : GPTM or CTM
        Its own `n_components` does not matter.
    X, metadata, y, cv, random_state, n_jobs, verbose
        As in `cross_validate`; all numbers of topics see the same folds.
    n_components : iterable of int, default=(5, 10, 20, 40)
        Numbers of topics to try.
    observed : float, default=0.5
        Share of a held-out document's words that the model sees.

    Returns
    -------
    ComponentSearch
        With `table`, one row per number of topics; `lowest`, the number with the lowest mean perplexity; `best`, the
        smallest number whose mean is within one standard error of that; `folds`, every fit; and `plot`.

    Notes
    -----
    More topics than needed often predict about as well; hence the one-standard-error rule of Breiman et al. (1984).

    Examples
    --------
    >>> import gptm
    >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 3], [1, 0, 5, 2]] * 6
    >>> found = gptm.search_components(gptm.CTM(), X, [1, 2], cv=3)
    >>> found.best
    2
    >>> found.table["perplexity"].round(1).tolist()
    [4.1, 2.7]
    """
    if np.ndim(observed):
        raise ValueError(f"observed must be one share, such as 0.5; got {observed!r}.")
    data, shares = _read(X, metadata, y), _shares(observed)
    folds = _folds(cv, data, random_state)
    sizes = _sizes(n_components)
    name = _name(model)
    prepared = _prepared({name: model}, data, random_state)[name]
    models = {size: clone(prepared).set_params(n_components=size) for size in sizes}
    tasks = _tasks(models, data, folds, shares)
    fits = _run(tasks, len(sizes) * len(folds), n_jobs, verbose, " topics")
    table = fits.table.rename(columns={_column(shares[0]): "perplexity"})
    table = table.rename_axis(["n_components", "fold"])
    title = f"numbers of topics, {len(folds)}-fold cross-validation of {name}"
    return ComponentSearch(table, fits.note, title, shares[0])


# What comes back.


class _Result:
    """What the results share: whether they are complete, and how they print."""

    note: str  # what happened, if anything did
    title: str

    @property
    def complete(self) -> bool:
        return not self.note

    def _printed(self) -> tuple[pd.DataFrame, str]:
        """A table of texts, and what to say below it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        table, conclusion = self._printed()
        return "\n".join(filter(None, [self.title, self.note, table.to_string(), conclusion]))

    def _repr_html_(self) -> str:
        table, conclusion = self._printed()
        before, after = (
            "".join(f"<p>{escape(text)}</p>" for text in texts if text)
            for texts in ((self.title, self.note), (conclusion,))
        )
        return before + table.to_html() + after


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidation(_Result):
    """Scores of one model, fold by fold.

    Attributes
    ----------
    table : DataFrame
        One row per fold.
    summary : DataFrame
        Mean and standard deviation over the folds.
    complete : bool
        False where the work was interrupted.
    """

    table: pd.DataFrame
    note: str
    title: str

    @property
    def summary(self) -> pd.DataFrame:
        values = self.table.astype(np.float64)
        return pd.DataFrame({"mean": values.mean(), "std": values.std()}).T

    def _printed(self) -> tuple[pd.DataFrame, str]:
        text = pd.concat([_as_text(self.table), _as_text(self.summary)])
        text.loc["std", "converged"] = ""
        return text.rename_axis("fold"), ""


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(_Result):
    """Scores of several models on the same documents.

    Attributes
    ----------
    table, std : DataFrame
        One row per model: means and standard deviations over the folds that all models have.
    folds : DataFrame
        One row per model and fold.
    best : name
        The model with the lowest perplexity at the first share.
    complete : bool
        False where the work was interrupted.
    """

    folds: pd.DataFrame
    note: str
    title: str

    @property
    def table(self) -> pd.DataFrame:
        return _per_group(self.folds)[0]

    @property
    def std(self) -> pd.DataFrame:
        return _per_group(self.folds)[1]

    @property
    def best(self) -> Any:
        return self.table.iloc[:, 0].idxmin()

    def _printed(self) -> tuple[pd.DataFrame, str]:
        return _as_text(self.table), f"lowest {self.folds.columns[0]}: {self.best}"


@dataclass(frozen=True, repr=False, eq=False)
class ComponentSearch(_Result):
    """Scores against the number of topics.

    Attributes
    ----------
    table : DataFrame
        One row per number of topics: mean perplexity, its standard deviation over the folds and its standard error,
        means of the other columns, and which rows are `best` and `lowest`.
    folds : DataFrame
        One row per number of topics and fold.
    lowest : int
        The number of topics with the lowest mean perplexity.
    best : int
        The smallest number within one standard error of that.
    complete : bool
        False where the work was interrupted.
    """

    folds: pd.DataFrame
    note: str
    title: str
    observed: float

    @property
    def table(self) -> pd.DataFrame:
        table, deviation = _per_group(self.folds)
        mean, spread = table["perplexity"], deviation["perplexity"]
        error = spread / np.sqrt(len(_common(self.folds)) / len(table))
        lowest = mean.idxmin()
        limit = mean[lowest] + np.nan_to_num(error[lowest])  # which one fold does not have
        best = mean.index[mean <= limit].min()
        table.insert(1, "std", spread)
        table.insert(2, "standard_error", error)
        return table.assign(best=table.index == best, lowest=table.index == lowest)

    @property
    def best(self) -> int:
        return int(self.table["best"].idxmax())

    @property
    def lowest(self) -> int:
        return int(self.table["lowest"].idxmax())

    def plot(self, ax: Any = None) -> Any:
        """Mean perplexity with standard errors against the number of topics.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        Axes
        """
        ax = _new_axes() if ax is None else ax
        table, best, lowest = self.table, self.best, self.lowest
        sizes, mean = table.index.to_numpy(), table["perplexity"]
        error = table["standard_error"].fillna(0.0)
        n_folds = len(_common(self.folds)) // len(table)
        what = f"mean and standard error, {n_folds} folds" if n_folds > 1 else "one split"
        curve = ax.errorbar(sizes, mean, yerr=error, marker="o", capsize=4, label=what)
        ring: dict[str, Any] = {"linestyle": "", "fillstyle": "none", "markeredgewidth": 1.8}
        what = f"lowest: {lowest} topics"
        squares = ax.plot(lowest, mean[lowest], "s", color="C1", ms=16, label=what, **ring)
        what = f"best: {best} topics"
        circles = ax.plot(best, mean[best], "o", color="C2", ms=13, label=what, **ring)
        limit = ax.axhline(mean[lowest] + error[lowest], color="0.6", ls="--", lw=1, zorder=0)
        limit.set_label("one standard error above the lowest")
        if sizes[-1] >= 4 * sizes[0]:
            ax.set_xscale("log")
        ax.set_xticks(sizes, labels=[str(size) for size in sizes])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("number of topics")
        ax.set_ylabel(f"perplexity of held-out words, {100 * self.observed:g} % seen")
        ax.legend(handles=[curve, *squares, *circles, limit], frameon=False)
        return ax

    def _printed(self) -> tuple[pd.DataFrame, str]:
        table, best, lowest = self.table, self.best, self.lowest
        text = _as_text(table)
        for column in ("best", "lowest"):
            text[column] = np.where(table[column], "*", "")
        conclusion = f"best by the one-standard-error rule: {best} topics; lowest: {lowest}"
        if len(table) > 1 and lowest == table.index[-1]:
            conclusion += ", the largest number tried"
        return text, conclusion


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install matplotlib") from None
    return plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]


# The documents and how they are split.


class _Data(NamedTuple):
    """Documents with what belongs to them."""

    X: Any
    metadata: pd.DataFrame | None
    y: Any
    n: int

    def select(self, rows: np.ndarray) -> "_Data":
        return _Data(
            self.X[rows] if isinstance(self.X, Corpus) else _safe_indexing(self.X, rows),
            None if self.metadata is None else self.metadata.iloc[rows],
            None if self.y is None else _safe_indexing(self.y, rows),
            len(rows),
        )

    @property
    def counts(self) -> Any:
        return self.X.counts if isinstance(self.X, Corpus) else self.X


def _read(X: Any, metadata: Any, y: Any) -> _Data:
    X = X.tocsr() if issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X must be a Corpus, or counts of words, documents x words; got an array of shape {X.shape}. For texts "
            "pass Corpus.from_texts(texts)."
        )
    n = X.shape[0]
    if y is not None and len(y) != n:
        raise ValueError(f"y must hold one label per document: expected {n}, got {len(y)}.")
    return _Data(X, as_frame(metadata, n), y, n)


def _folds(cv: Any, data: _Data, random_state: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    if isinstance(cv, int | np.integer):
        check_number("cv", cv, least=2, integer=True)
        if cv > data.n:
            raise ValueError(f"cv must be at most the number of documents, {data.n}; got {cv}.")
        cv = KFold(cv, shuffle=True, random_state=random_state)
    positions = np.arange(data.n)
    split = check_cv(cv).split(np.zeros((data.n, 1)), data.y)
    folds = [(positions[train], positions[test]) for train, test in split]
    if not folds or any(len(part) == 0 for fold in folds for part in fold):
        raise ValueError(
            "cv must give at least one fold, with documents to fit to and documents to score; "
            f"got folds of sizes {[(len(train), len(test)) for train, test in folds]}."
        )
    return folds


def _shares(observed: float | Sequence[float]) -> tuple[float, ...]:
    try:
        shares = tuple(float(share) for share in np.atleast_1d(np.asarray(observed)))
    except (TypeError, ValueError):
        shares = ()
    if not shares or not all(0.0 < share < 1.0 for share in shares):
        raise ValueError(
            f"observed must be a share of the words between 0 and 1, or several; got {observed!r}."
        )
    return tuple(dict.fromkeys(shares))


def _sizes(n_components: Iterable[int]) -> list[int]:
    sizes = list(n_components) if isinstance(n_components, Iterable) else []
    if not sizes:
        raise ValueError(f"n_components must be numbers of topics to try; got {n_components!r}.")
    for size in sizes:
        check_number("n_components", size, least=1, integer=True)
    return sorted({int(size) for size in sizes})


# The models.


def _name(model: Any) -> str:
    if not isinstance(model, TopicModel):
        raise ValueError(
            f"expected a GPTM or CTM; got {model!r}. Pass the topic model itself, and counts or a Corpus as X; for "
            "pipelines there is sklearn.model_selection."
        )
    return " ".join(repr(model).split())


def _named(models: Any) -> dict[Any, TopicModel]:
    """Models by name; of those that print the same, the later ones are numbered."""
    if isinstance(models, Mapping):
        pairs = [(str(n) if isinstance(n, tuple) else n, model) for n, model in models.items()]
    elif isinstance(models, Iterable):
        pairs = [(_name(model), model) for model in models]
    else:
        pairs = []
    if not pairs:
        raise ValueError(f"models must be a dict or a list of models; got {models!r}.")
    named: dict[Any, TopicModel] = {}
    for name, model in pairs:
        _name(model)  # which checks it
        repeats = sum(name == other for other, _ in pairs[: len(named)])
        named[f"{name} ({repeats + 1})" if repeats else name] = model
    return named


def _prepared(
    models: dict[Any, TopicModel], data: _Data, random_state: Any, split: bool = True
) -> dict[Any, TopicModel]:
    """Clones that know their kernel and their seed; an error for kernels that cannot follow a split."""
    seed = random_state
    if not (random_state is None or isinstance(random_state, int | np.integer)):
        seed = int(check_random_state(random_state).randint(2**31))
    prepared = {}
    for name, model in models.items():
        copy = clone(model)
        if copy.random_state is None:
            copy.set_params(random_state=seed)
        kernel = getattr(copy, "kernel", None)
        if split:
            _refuse_positions(kernel)
        if (
            isinstance(kernel, str) and kernel == "auto"
        ):  # announced once, and the same in all folds
            frame = copy._frame(data.X, data.metadata, data.n)
            copy.set_params(kernel=resolve_kernel(kernel, frame))
        prepared[name] = copy
    return prepared


def _refuse_positions(kernel: Any) -> None:
    """An error for kernels that know documents by their place, which a fold changes."""
    if isinstance(kernel, np.ndarray | pd.DataFrame):
        kernel = Precomputed(kernel)
    if not isinstance(kernel, Kernel):
        return
    for part in (kernel, *kernel.get_params(deep=True).values()):
        if isinstance(part, Precomputed) and part.id is None:
            remedy = "Pass Precomputed(matrix, id='row')"
        elif isinstance(part, Graph) and part.adjacency is not None and part.id is None:
            remedy = "Pass Graph(adjacency=matrix, id='row')"
        elif isinstance(part, MustLink) and part.pairs is not None:
            raise ValueError(
                "MustLink(pairs=...) knows documents by their positions, which change when documents are held out. "
                "Pass MustLink('label') with a column of the metadata that is equal for linked documents and missing "
                "for the others."
            )
        else:
            continue
        raise ValueError(
            f"{part!r} knows documents by their positions, which change when documents are held out. {remedy} with a "
            "column of the metadata that says which row of the matrix a document is, for example np.arange(n)."
        )


# The work.


class _Task(NamedTuple):
    name: Hashable
    fold: int
    model: TopicModel
    train: _Data
    test: _Data
    shares: tuple[float, ...]


class _Outcome(NamedTuple):
    row: dict[str, Any]
    out_of_iterations: bool

    def line(self) -> str:
        """What `verbose` tells."""
        scores = [value for name, value in self.row.items() if name.startswith("perplexity")]
        return (
            f"perplexity {', '.join(f'{score:.1f}' for score in scores)}  {self.row['iterations']} iterations  "
            f"{self.row['seconds']:.1f} s"
        )


class _Fits(NamedTuple):
    table: pd.DataFrame  # by model and fold
    note: str  # empty if all are there


def _tasks(
    models: dict[Any, TopicModel],
    data: _Data,
    folds: list[tuple[np.ndarray, np.ndarray]],
    shares: tuple[float, ...],
) -> Iterator[_Task]:
    """All models on a fold before the next one, so that Ctrl-C leaves models that can be compared."""
    for number, (train, test) in enumerate(folds):
        parts = data.select(train), data.select(test)
        for name, model in models.items():
            yield _Task(name, number, clone(model), *parts, shares)


def _run(
    tasks: Iterator[_Task], n_tasks: int, n_jobs: int | None, verbose: int | bool, unit: str = ""
) -> _Fits:
    """All fits, or after Ctrl-C those that are done."""
    progress = Progress(verbose)
    keys: list[tuple[Any, int]] = []
    done: list[_Outcome] = []
    note = ""

    def calls() -> Iterator[Any]:
        for task in tasks:
            keys.append((task.name, task.fold))
            yield delayed(_evaluate)(task)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said once, below
        outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(calls())
        try:
            for outcome in outcomes:
                if outcome is None:
                    raise KeyboardInterrupt
                done.append(outcome)
                name, fold = keys[len(done) - 1]
                position = f"{len(done)} of {n_tasks}"
                progress.say(f"{position}  {name}{unit}, fold {fold}: {outcome.line()}")
        except KeyboardInterrupt:
            if not done:
                raise
            note = f"interrupted: {len(done)} of {n_tasks} fits are done"
        finally:
            outcomes.close()
    if note:
        warn(f"{note}, and kept.")
    n_short = sum(outcome.out_of_iterations for outcome in done)
    if n_short:
        warn(
            f"{n_short} of {len(done)} fits did not converge in max_iter iterations, see `converged`. Increase "
            "max_iter, or tol if this is close enough.",
            ConvergenceWarning,
        )
    index = pd.MultiIndex.from_tuples(keys[: len(done)], names=["model", "fold"])
    return _Fits(pd.DataFrame([outcome.row for outcome in done], index=index), note)


def _evaluate(task: _Task) -> _Outcome | None:
    """The scores of one fit; None if Ctrl-C ended it."""
    _, fold, model, train, test, shares = task
    try:
        seconds = np.nan
        if not hasattr(model, "components_"):
            started = time.perf_counter()
            if not _fit(model, train):
                return None
            seconds = time.perf_counter() - started
        row: dict[str, Any] = {
            _column(share): model.perplexity(test.X, metadata=test.metadata, observed=share)
            for share in shares
        }
        coherence = metrics.npmi_coherence(model.components_, train.counts)
    except Exception as error:
        error.add_note(f"(while scoring {_name(model)} on fold {fold})")
        raise
    row["bound"] = float(model.bound_[-1] / model.doc_lengths_.sum())
    row["coherence"] = float(coherence.mean())
    row["seconds"] = seconds
    row["iterations"] = model.n_iter_
    row["converged"] = bool(model.converged_)
    return _Outcome(row, not model.converged_ and model.n_iter_ >= model.max_iter)


class _Noting:
    """A callback that remembers whether it ended the fit: otherwise Ctrl-C did."""

    def __init__(self, callback: Any):
        self.callback = callback
        self.ended = False

    def __call__(self, iteration: int, state: Any) -> bool:
        self.ended = bool(self.callback(iteration, state))
        return self.ended


def _fit(model: TopicModel, train: _Data) -> bool:
    """Fit, and say whether that came to its own end: a fit keeps what it has at Ctrl-C and raises nothing."""
    noting = _Noting(model.callback) if callable(model.callback) else None
    if noting is not None:
        model.set_params(callback=noting)
    model.fit(train.X, train.y, metadata=train.metadata)
    ended = noting is not None and noting.ended
    return bool(model.converged_) or ended or model.n_iter_ >= model.max_iter


# Tables and how they print.


def _column(share: float) -> str:
    return f"perplexity_{100 * share:g}"


def _common(folds: pd.DataFrame) -> pd.DataFrame:
    """The folds that all have been scored on, which differ after Ctrl-C: other means could not be compared."""
    scored = folds.groupby(level=1).size()
    full = scored.index[scored == folds.index.get_level_values(0).nunique()]
    return folds[folds.index.get_level_values(1).isin(full)]


def _per_group(folds: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Means and standard deviations over the folds; as they are where there is but one."""
    used = _common(folds)
    groups = used.astype(np.float64).groupby(level=0, sort=False)
    n_folds, deviation = groups.size(), groups.std()
    if n_folds.max() == 1:
        return used.droplevel(1), deviation
    return groups.mean().assign(folds=n_folds), deviation


def _as_text(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: _written(table[name]) for name in table}, index=table.index)


def _written(values: pd.Series) -> list[str]:
    """Numbers with as many digits as are of use, all of a column alike."""
    if values.dtype == bool:
        return [str(value) for value in values]
    known = values.dropna()
    if values.name == "converged":
        form = ".0%"
    elif (known == known.round()).all():
        form = ".0f"
    else:
        form = f".{max(1, 4 - len(str(int(known.abs().max()))))}f"
    return ["" if pd.isna(value) else format(value, form) for value in values]
