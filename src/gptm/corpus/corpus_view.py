"""A corpus as a notebook shows it."""

from typing import Protocol

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from gptm._basics.sparse_arrays import column_sums, row_sums
from gptm.corpus.cells import is_missing
from gptm.corpus.kinds import kinds_of
from gptm.corpus.words_report import WordsReport
from gptm.views.html_card import card, html_table
from gptm.views.text_lines import cut, one_line

_N_WORDS = 12  # most frequent ones
_N_COLUMNS = 40
_LONG = 60  # characters of an example


class HasDocuments(Protocol):
    """What is shown of a corpus."""

    counts: csr_matrix
    vocabulary: np.ndarray | None
    texts: np.ndarray | None
    report: WordsReport | None

    @property
    def metadata(self) -> pd.DataFrame | None: ...


def corpus_html(corpus: HasDocuments) -> str:
    """Sizes, frequent words, what was left out, and a table of the columns of the metadata."""
    n, V = corpus.counts.shape
    lengths = row_sums(corpus.counts)
    facts = [("tokens", f"{lengths.sum():,.0f}; {_median(lengths)} in the median document")]
    if corpus.vocabulary is not None and V:
        totals = column_sums(corpus.counts)
        frequent = np.argsort(-totals, kind="stable")[:_N_WORDS]
        facts.append(("frequent words", ", ".join(str(corpus.vocabulary[w]) for w in frequent)))
    if (n_empty := int((lengths == 0).sum())) > 0:
        facts.append(("empty", f"{n_empty:,} documents have no counted word"))
    facts.append(("texts", "kept" if corpus.texts is not None else "not kept"))
    frame = corpus.metadata
    return card(
        f"Corpus: {n:,} documents, {V:,} words",
        facts,
        "" if frame is None or not frame.shape[1] else _columns(frame),
        [] if frame is None or frame.shape[1] <= _N_COLUMNS else [_more(frame)],
    )


def _median(lengths: np.ndarray) -> str:
    return f"{np.median(lengths):,.0f}" if len(lengths) else "0"


def _more(frame: pd.DataFrame) -> str:
    return f"{frame.shape[1] - _N_COLUMNS:,} more columns"


def _columns(frame: pd.DataFrame) -> str:
    """One row per column: kind, how many values are missing or different, and an example."""
    kinds = kinds_of(frame)
    rows = []
    for position in range(min(frame.shape[1], _N_COLUMNS)):
        values = frame.iloc[:, position]
        cells = [cell for cell in values if not is_missing(cell)]
        different = len(set(map(str, cells)))
        example = cut(one_line(str(cells[0])).removesuffix(" 00:00:00"), _LONG) if cells else ""
        name = str(values.name)
        missing = len(values) - len(cells)
        rows.append([name, kinds.get(name, ""), f"{missing:,}", f"{different:,}", example])
    return html_table(["column", "kind", "missing", "different", "for example"], rows, [2, 3])
