"""The documents of the page: which ones, where, with which topics, texts and metadata."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gptm._basics.types import Array
from gptm._basics.validation import check_number
from gptm.corpus import Corpus
from gptm.corpus.kinds import kinds_of
from gptm.corpus.typed_columns import typed_frame
from gptm.report.json_values import clean_text, describe_column, fixed
from gptm.report.layout import document_map

MAX_DOCUMENTS = 100_000  # that a browser draws smoothly
N_TYPICAL = 6  # documents that stand for a topic
TYPICAL_LENGTH = 500  # characters of their texts
LEAST_SHARE = 0.01  # of a topic in a document; the page leaves out smaller ones
_LONGEST, _SHORTEST, _BUDGET = 400, 100, 6_000_000  # characters of a text, and of all together


def check_source(n_documents: int, corpus: Any, texts: Any) -> list[str] | None:
    """The texts of the training documents, from wherever they are given; None where nowhere."""
    if corpus is not None and (not isinstance(corpus, Corpus) or len(corpus) != n_documents):
        arrived = (
            f"a corpus of {len(corpus)}"
            if isinstance(corpus, Corpus)
            else f"an object of type {type(corpus).__name__}"
        )
        raise ValueError(
            f"corpus must be the gptm.Corpus of the {n_documents} training documents, in the same order; got "
            f"{arrived}. Pass the corpus that was passed to fit. Pass plain texts as texts=."
        )
    if texts is None:
        return None if corpus is None or corpus.texts is None else list(corpus.texts)
    if isinstance(texts, str) or not hasattr(texts, "__len__") or len(texts) != n_documents:
        arrived = (
            "one string"
            if isinstance(texts, str)
            else f"{len(texts)}"
            if hasattr(texts, "__len__")
            else f"an object of type {type(texts).__name__}"
        )
        raise ValueError(
            f"texts must have one text for each of the {n_documents} training documents, in the same order; got "
            f"{arrived}."
        )
    return ["" if text is None else str(text) for text in texts]


def typical_rows(doc_topics: Array) -> np.ndarray:
    """(K, n) positions of the documents with the largest share of each topic, largest first."""
    return np.argsort(-doc_topics, axis=0, kind="stable")[:N_TYPICAL].T


def choose_rows(n_documents: int, typical: np.ndarray, max_documents: int | None) -> np.ndarray:
    """Positions of the documents that the page shows: all, or a seeded sample with the typical ones in it."""
    if max_documents is not None:
        check_number("max_documents", max_documents, least=1, integer=True)
    limit = MAX_DOCUMENTS if max_documents is None else int(max_documents)
    if n_documents <= limit:
        return np.arange(n_documents)
    order = np.random.default_rng(0).permutation(n_documents)
    # The most typical documents of all topics come first, should there be room for few only.
    wanted = dict.fromkeys([*typical.T.ravel().tolist(), *order.tolist()])
    return np.sort(list(wanted)[:limit])


def typical_documents(
    doc_topics: Array, rows: np.ndarray, texts: Sequence[str] | None, ids: np.ndarray | None
) -> list[list[dict[str, Any]]]:
    """For each topic the documents that stand for it, with more of their texts than the map has room for."""
    return [
        [
            {
                "position": int(row),
                "id": _id(ids, row),
                "share": fixed(doc_topics[row, topic], 3)[0],
                "text": None if texts is None else clean_text(texts[row], TYPICAL_LENGTH),
            }
            for row in its_rows
        ]
        for topic, its_rows in enumerate(rows)
    ]


def document_columns(
    doc_topics: Array, rows: np.ndarray, texts: Sequence[str] | None, corpus: Corpus | None
) -> dict[str, Any]:
    """The chosen documents column by column.

    `topics` lists the topics of each document from the largest share down to one per cent; `shares` are theirs, in
    thousandths.
    """
    theta = doc_topics[rows]
    places = document_map(theta)
    ids = None if corpus is None else corpus.ids
    length = int(min(_LONGEST, max(_SHORTEST, _BUDGET // max(len(rows), 1))))
    topics, shares = _largest_topics(theta)
    metadata = None if corpus is None else corpus.metadata
    columns = []
    if metadata is not None:
        typed = typed_frame(metadata.loc[:, ~metadata.columns.duplicated()])
        kinds = dict.fromkeys(typed.columns, "note") | kinds_of(typed)
        frame = typed.iloc[rows]
        columns = [describe_column(frame[name], name, kinds[name]) for name in frame.columns]
    return {
        "position": rows.tolist(),
        "id": None if ids is None else [_id(ids, row) for row in rows],
        "x": fixed(places[:, 0], 4),
        "y": fixed(places[:, 1], 4),
        "topics": topics,
        "shares": shares,
        "text": None if texts is None else [clean_text(texts[row], length) for row in rows],
        "metadata": [column for column in columns if column is not None],
    }


def _largest_topics(theta: Array) -> tuple[list[list[int]], list[list[int]]]:
    order = np.argsort(-theta, axis=1, kind="stable")
    ordered = np.take_along_axis(theta, order, axis=1)
    kept = np.maximum((ordered >= LEAST_SHARE).sum(1), 1)
    thousandths = np.rint(1000 * ordered).astype(int)
    pairs = list(zip(order, thousandths, kept, strict=True))
    return [o[:n].tolist() for o, _, n in pairs], [t[:n].tolist() for _, t, n in pairs]


def _id(ids: np.ndarray | None, row: int) -> str | None:
    return None if ids is None else clean_text(ids[row], 80)
