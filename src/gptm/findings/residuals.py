"""Whether words vary more than a model says: the dispersion of the residuals."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack
from scipy.stats import chi2
from sklearn.base import clone

from gptm._basics.progress import Progress
from gptm._basics.sparse_arrays import column_sums, row_sums
from gptm._basics.types import Array
from gptm._basics.validation import check_n_jobs, check_number
from gptm.corpus.counts import frame_of, read_counts
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.selection.data import Data, read_data
from gptm.selection.named_models import prepare_one
from gptm.selection.refits import Refit, fitted_to, run_refits
from gptm.selection.resumable import Row
from gptm.tables import word_names
from gptm.views.shown_table import table_card

_CELLS = 4_000_000  # of documents and words, that are looked at together
_SHOWN = 8  # words, of those that vary most
_LEAST = 1e-12  # probability of a word, below which it counts as this


@dataclass(frozen=True, repr=False, eq=False)
class ResidualCheck:
    """Whether words vary more than a model says; `print` says it in words.

    Attributes
    ----------
    dispersion : float
        `statistic` / `df`. About 1 if the model explains the words; well above 1 if there are too few topics, or if
        words come in bursts.
    statistic : float
        Sum of the squared standardised residuals.
    df : int
        Degrees of freedom: cells with an expected count above `tol`, less the parameters of the model.
    p_value : float
        Of a chi-square test that the dispersion is 1, against more.
    words : DataFrame
        One row per word: its count, its own dispersion, and its `excess`, the part of the statistic above what is
        expected. The largest excess comes first.
    simulated : ndarray
        Dispersions of fits to documents that were simulated from the model; empty without `simulations`.
    p_simulated : float
        The fraction of the simulated dispersions that are as large, with the correction (1 + ...) / (1 + n); NaN
        without `simulations`.
    """

    dispersion: float
    statistic: float
    df: int
    p_value: float
    words: pd.DataFrame
    simulated: Array
    note: str = ""

    @property
    def p_simulated(self) -> float:
        if len(self.simulated) == 0:
            return float("nan")
        larger = int((self.simulated >= self.dispersion).sum())
        return (1 + larger) / (1 + len(self.simulated))

    def _repr_html_(self) -> str:
        first, *rest = repr(self).split("\n")
        return table_card(first, self.words.head(_SHOWN), rest)

    def __repr__(self) -> str:
        if self.df <= 0:
            return (
                "there are more parameters than cells with an expected count above tol, so the dispersion cannot be "
                "estimated. Use fewer topics, more documents, or a smaller vocabulary."
            )
        lines = [
            f"residual dispersion {self.dispersion:.3f} (1 is expected), chi-square {self.statistic:,.0f} on "
            f"{self.df:,} degrees of freedom, p = {self.p_value:.3g}"
        ]
        if len(self.simulated):
            low, high = self.simulated.min(), self.simulated.max()
            lines.append(
                f"{len(self.simulated)} corpora simulated from the model have {low:.3f} to {high:.3f}, "
                f"p = {self.p_simulated:.3g}"
            )
        names = ", ".join(map(str, self.words["word"].head(_SHOWN)))
        lines.append(f"words that vary more than the model says: {names}")
        return "\n".join(filter(None, [self.note, *lines]))


def check_residuals(
    model: GPTM,
    corpus: Any,
    *,
    metadata: Any = None,
    y: Any = None,
    tol: float = 0.01,
    simulations: int = 0,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ResidualCheck:
    """Test whether words vary more than the model says, which is a sign of too few topics.

    If the model is right, the count of a word in a document varies as the multinomial distribution says. Residuals are
    standardised by that, and the mean of their squares, the dispersion, is about 1. With too few topics it is larger.

    Parameters
    ----------
    model : fitted GPTM or CTM
    corpus : Corpus, or sparse or dense array of shape (n_documents, n_words)
        The training documents. Other documents work too: `transform` then finds their topics.
    metadata : DataFrame or dict of columns, optional
        One row per document. Default: the metadata of the corpus. Needed for other documents and for simulations, if
        the kernel reads columns.
    y : array of shape (n_documents,), optional
        Labels, for simulations with `MustLink()`.
    tol : float, default=0.01
        Cells of documents and words with a smaller expected count do not add a degree of freedom.
    simulations : int, default=0
        Number of corpora to simulate from the model and to fit anew, for `p_simulated`. 19 or more are useful.
    random_state : int, default=0
        Seed of the simulations.
    n_jobs, verbose, checkpoint
        As in `cross_validate`, for the simulations.

    Returns
    -------
    ResidualCheck

    Notes
    -----
    The test of Taddy (2012), as `checkResiduals` in the R package stm has it. Its chi-square distribution holds for
    large expected counts. Texts have small ones, and their topics are shrunk by a prior, so the p-value is rough: on
    large corpora it is nearly always 0. Compare dispersions of models with different numbers of topics, or pass
    `simulations`: they say what dispersion this model would have on documents of its own, fitted in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> import gptm
    >>> rng = np.random.default_rng(0)
    >>> topics = np.kron(np.eye(2), np.full((1, 10), 0.1))
    >>> X = np.array([rng.multinomial(200, rng.dirichlet([0.5, 0.5]) @ topics) for _ in range(60)])
    >>> right, wrong = (gptm.CTM(K, random_state=0).fit(X) for K in (2, 1))
    >>> [round(gptm.check_residuals(model, X).dispersion) for model in (right, wrong)]
    [1, 6]
    """
    check_fitted(model)
    check_number("tol", tol, least=0.0)
    check_number("simulations", simulations, least=0, integer=True)
    check_number("random_state", random_state, least=0, integer=True)
    check_n_jobs(n_jobs)
    counts = read_counts(model.fitted_.expects(type(model).__name__), corpus)
    theta = _proportions(model, corpus, counts, metadata)
    dispersed = dispersion(theta, model.components_, counts, tol, Progress(verbose))
    simulated, note = np.empty(0), ""
    if simulations:
        data = read_data(corpus, metadata, y)
        prepared = prepare_one(model, data, random_state, split=False)
        q = theta @ model.components_
        source = _Simulation(
            q / q.sum(1, keepdims=True),
            row_sums(counts).round().astype(np.int64),
            frame_of(data.X, data.metadata, data.n),
            y,
        )
        done = run_refits(
            source.refits(prepared, simulations, random_state),
            simulations,
            partial(_refit_dispersion, tol=tol),
            _line,
            asked=(tol,),
            n_jobs=n_jobs,
            verbose=verbose,
            checkpoint=checkpoint,
        )
        simulated, note = np.array([row["dispersion"] for row in done.rows]), done.note
    p = float(chi2.sf(dispersed.statistic, dispersed.df)) if dispersed.df > 0 else float("nan")
    words = _word_table(dispersed, counts, word_names(model.fitted_))
    return ResidualCheck(
        dispersed.dispersion, dispersed.statistic, dispersed.df, p, words, simulated, note
    )


def _proportions(model: GPTM, corpus: Any, counts: csr_matrix, metadata: Any) -> Array:
    """(n, K) of the training documents as they are, recognised by their lengths, or of others."""
    lengths = row_sums(counts)
    if np.array_equal(lengths, model.doc_lengths_):
        return model.doc_topics_
    return np.asarray(model.transform(corpus, metadata=metadata))


class Dispersion(NamedTuple):
    """Sums of squared standardised residuals, and how many cells they have."""

    statistic: float
    df: int
    of_words: Array  # (V,) sums over the documents
    cells: np.ndarray  # (V,) cells with an expected count above tol

    @property
    def dispersion(self) -> float:
        return self.statistic / self.df if self.df > 0 else float("nan")


def dispersion(
    theta: Array,
    beta: Array,
    counts: csr_matrix,
    tol: float,
    progress: Progress | None = None,
) -> Dispersion:
    """Squared residuals of counts around m theta beta, divided by the variance of a multinomial.

    In each cell (x - m q)^2 / (m q (1 - q)), where q = theta beta and m is the number of tokens of the document. Empty
    documents have no cells.
    """
    (n, K), V = theta.shape, beta.shape[1]
    of_words, cells = np.zeros(V), np.zeros(V, dtype=np.int64)
    step = max(1, _CELLS // V)
    for start in range(0, n, step):
        X = counts[start : start + step].toarray().astype(np.float64)
        m = X.sum(1, keepdims=True)
        q = np.clip(theta[start : start + step] @ beta, _LEAST, 1.0 - _LEAST)
        expected = m * q
        with np.errstate(invalid="ignore"):
            squares = (X - expected) ** 2 / (expected * (1.0 - q))
        of_words += np.nan_to_num(squares).sum(0)
        cells += (expected > tol).sum(0)
        if progress is not None and n > step:
            progress.say(f"residuals of {min(start + step, n):,} of {n:,} documents")
    parameters = n * (K - 1) + K * (V - 1)
    return Dispersion(float(of_words.sum()), int(cells.sum()) - V - parameters, of_words, cells)


def _word_table(found: Dispersion, counts: csr_matrix, names: np.ndarray) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "word": names,
            "count": column_sums(counts),
            "dispersion": found.of_words / np.maximum(found.cells, 1),
            "excess": found.of_words - found.cells,
        }
    )
    return table.sort_values("excess", ascending=False, kind="stable", ignore_index=True)


class _Simulation(NamedTuple):
    """What corpora are simulated from: probabilities of words (n, V), lengths, and the same metadata every time."""

    q: Array
    lengths: np.ndarray
    frame: pd.DataFrame | None
    y: Any

    def refits(self, model: GPTM, n: int, seed: int) -> Iterator[Refit]:
        """Fits to corpora that the fitted model would have brought forth."""
        for number in range(n):
            rng = np.random.default_rng([seed, number])
            data = Data(self._counts(rng), self.frame, self.y, len(self.q))
            copy = clone(model).set_params(random_state=number, warm_start=False)
            yield Refit(f"simulation {number + 1}", copy, data)

    def _counts(self, rng: np.random.Generator) -> csr_matrix:
        step = max(1, _CELLS // self.q.shape[1])
        starts = range(0, len(self.q), step)
        blocks = [rng.multinomial(self.lengths[s : s + step], self.q[s : s + step]) for s in starts]
        return vstack([csr_matrix(block) for block in blocks], format="csr")


def _refit_dispersion(task: Refit, tol: float) -> Row | None:
    if not fitted_to(task.model, task.data):
        return None
    model, counts = task.model, csr_matrix(task.data.counts)
    dispersed = dispersion(model.doc_topics_, model.components_, counts, tol)
    return {"dispersion": dispersed.dispersion}


def _line(label: str, row: Row) -> str:
    return f"{label}: dispersion {row['dispersion']:.3f}"
