"""All that the page shows, as one dictionary that JSON takes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list

from gptm import metrics, tables
from gptm._basics.errors import InputError
from gptm._basics.progress import Progress
from gptm._basics.types import Array
from gptm._basics.validation import check_string
from gptm._basics.version import VERSION
from gptm.corpus import BlockCorpus
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.report.json_values import clean_text, counted, fixed, rounded
from gptm.report.kernel_words import kernel_code, kernel_sentences
from gptm.report.layout import graph_layout
from gptm.report.page_documents import (
    check_source,
    choose_rows,
    document_columns,
    typical_documents,
    typical_rows,
)
from gptm.report.page_effects import explain
from gptm.selection.paired import written_changes
from gptm.surgery.hierarchy import topic_linkage

MAX_WORDS = 30_000  # of the vocabulary that can be searched
N_WORDS = 30  # of a topic, in each order that the page offers
LABEL_WORDS = 3  # words that name a topic


def report_data(
    model: GPTM,
    *,
    corpus: Any = None,
    texts: Sequence[str] | None = None,
    title: str | None = None,
    scores: Any = None,
    max_documents: int | None = None,
    verbose: int | bool = False,
) -> dict[str, Any]:
    """What a report shows, as a dictionary that `json.dumps` takes.

    Parameters
    ----------
    model : fitted GPTM or CTM
    corpus, texts, title, scores, max_documents, verbose
        As in `model_report`.

    Returns
    -------
    dict
        With the keys title, overview, topics, words, documents, correlations, tree, effects and variance. Dates are
        days since 1970-01-01. Numbers are rounded. None means missing.

    Examples
    --------
    >>> from gptm import CTM, Corpus
    >>> from gptm.report import report_data
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
    >>> model = CTM(n_components=2, random_state=0).fit(corpus)
    >>> data = report_data(model, corpus=corpus)
    >>> data["overview"]["n_documents"], sorted(topic["words"][0] for topic in data["topics"])
    (40, ['coffee', 'tea'])
    """
    check_fitted(model)
    if title is not None:
        check_string("title", title, "must be a text")
    say = Progress(verbose).say
    say("topics and their documents")
    theta = model.doc_topics_
    corpus = _in_memory(model, corpus)
    doc_texts = check_source(len(theta), corpus, texts)
    names = _words(model, corpus)
    share = tables.topic_shares(theta)
    typical = typical_rows(theta)
    rows = choose_rows(len(theta), typical, max_documents)
    ids = None if corpus is None else corpus.ids
    topics = _topics(model, names, share)
    for topic, documents in zip(
        topics, typical_documents(theta, typical, doc_texts, ids), strict=True
    ):
        topic["typical"] = documents
    with _telling(model, verbose):
        effects, variance = explain(model, _labels(len(theta), doc_texts, ids), say)
    say("map and tree")
    heading = (
        title
        or f"{counted(len(topics), 'topic')} in {counted(model.fitted_.n_documents, 'document')}"
    )
    return {
        "title": clean_text(heading),
        "generator": f"gptm {VERSION}",
        "overview": _overview(model, corpus, scores, len(rows)),
        "topics": topics,
        "words": _vocabulary(model.components_, names, share),
        "documents": document_columns(theta, rows, doc_texts, corpus),
        "correlations": _correlations(model),
        "tree": _tree(model),
        "effects": effects,
        "variance": variance,
    }


@contextmanager
def _telling(model: GPTM, verbose: int | bool) -> Iterator[None]:
    """Inside the block the model tells of a chain that it has to run, as one that was fitted by EM has."""
    before = model.verbose
    model.verbose = verbose or before
    try:
        yield
    finally:
        model.verbose = before


def _in_memory(model: GPTM, corpus: Any) -> Any:
    """The corpus, or of one on disk the sample that the model was fitted with."""
    if not isinstance(corpus, BlockCorpus):
        return corpus
    if model.sample_ is None:
        raise InputError(
            "a page about a corpus on disk shows the sample that the model was fitted with, and a model from a "
            "file does not know it. Pass corpus=gptm.load_corpus(path), or the model as fitted."
        )
    return model.sample_


def _words(model: GPTM, corpus: Any) -> list[str]:
    fitted = model.fitted_
    given = corpus.vocabulary if fitted.vocabulary is None and corpus is not None else None
    return [clean_text(word, 60) for word in tables.word_names(fitted, given)]


def _labels(n: int, texts: Sequence[str] | None, ids: np.ndarray | None) -> list[str]:
    """Short names of documents: their ids, else how their texts begin, else their numbers."""
    if ids is not None:
        return [clean_text(name, 60) for name in ids]
    if texts is not None:
        return [clean_text(text[:200], 60) for text in texts]
    return [f"document {row}" for row in range(n)]


def _overview(model: GPTM, corpus: Any, scores: Any, n_shown: int) -> dict[str, Any]:
    kernel = model.kernel_
    return {
        "model": type(model).__name__,
        "n_documents": model.fitted_.n_documents,
        "n_shown": n_shown,
        "n_tokens": round(model.fitted_.n_tokens),
        "n_words": model.components_.shape[1],
        "n_topics": len(model.components_),
        "kernel": [clean_text(sentence) for sentence in kernel_sentences(model)],
        "kernel_code": None if kernel is None else kernel_code(kernel),
        "history": [clean_text(sentence) for sentence in model.history_],
        "converged": bool(model.converged_),
        "n_iter": int(model.n_iter_),
        "sampled": model.inference == "sampling",
        "diagnostics": _diagnostics(model),
        "bound": rounded(model.bound_, 8),
        "columns": []
        if corpus is None or corpus.metadata is None
        else [clean_text(name, 80) for name in corpus.metadata.columns],
        "scores": score_table(scores),
    }


def _diagnostics(model: GPTM) -> list[dict[str, Any]]:
    """Effective draws and R-hat of a sampler, by kind of quantity."""
    if model.diagnostics_ is None:
        return []
    return [
        {
            "quantity": row.quantity.replace("_", "-"),
            "ess": f"{row.ess:.0f}",
            "rhat": f"{row.rhat:.2f}",
        }
        for row in model.diagnostics_.dropna().itertuples()  # of three sweeps there is nothing to say
    ]


def score_table(scores: Any) -> dict[str, Any] | None:
    """Perplexities as a table: one row per model, one column per share of the words seen, with changes where known.

    Takes what `gptm.compare` returns, a DataFrame with one row per model, or a dict of dicts: model, share, number.

    Examples
    --------
    >>> from gptm.report.page_data import score_table
    >>> score_table({"CTM": {0.5: 2106, 0.05: 2968}, "GPTM": {0.5: 2035, 0.05: 2435}})["columns"]
    ['50 % seen', '5 % seen']
    """
    if scores is None:
        return None
    table = getattr(scores, "table", scores)
    if isinstance(table, Mapping):
        table = pd.DataFrame.from_dict(table, orient="index")
    if not isinstance(table, pd.DataFrame) or table.empty:
        raise ValueError(
            "scores must be what gptm.compare returns, a DataFrame with one row per model, or a dict such as "
            f"{{'CTM': {{0.5: 2106.0}}}}; got {scores!r}."
        )
    perplexities = [name for name in table.columns if str(name).startswith("perplexity")]
    changes = written_changes(table.rename(columns=str))
    table = table[perplexities or list(table.columns)]
    try:
        values = table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers; got {table.to_dict()!r}.") from error
    rows = [
        {
            "model": clean_text(name, 80),
            "values": rounded(row, 5),
            "changes": [texts[position] for texts in changes.values()],
        }
        for position, (name, row) in enumerate(zip(table.index, values.to_numpy(), strict=True))
    ]
    return {
        "columns": [_share_name(name) for name in table.columns],
        "rows": rows,
        # What the changes are relative to; None if there are none.
        "reference": next(
            (row["model"] for row in rows if changes and not any(row["changes"])), None
        ),
        "best": [
            int(np.nanargmin(column)) if np.isfinite(column).any() else None
            for column in values.to_numpy().T
        ],
    }


def _share_name(name: Any) -> str:
    """50 % seen, for a column named perplexity_50 or 0.5."""
    text = str(name).removeprefix("perplexity_")
    try:
        number = float(text)
    except ValueError:
        return clean_text(text.replace("_", " "), 40)
    return f"{100 * number if number < 1 else number:g} % seen"


def _topics(model: GPTM, names: list[str], share: Array) -> list[dict[str, Any]]:
    beta = model.components_
    table = model.topics(1, feature_names=names)
    overall = share @ beta
    candidates = _candidates(beta, overall)
    labels = metrics.top_words(tables.shown_weights(model.fitted_), LABEL_WORDS)
    frex = metrics.top_words(metrics.frex(beta), 10)
    given = [clean_text(name or "", 40) for name in model.fitted_.names]
    return [
        {
            "topic": topic,
            "label": given[topic] or ", ".join(names[word] for word in labels[topic]),
            "share": fixed(share[topic], 5)[0],
            "coherence": fixed(table["coherence"].iloc[topic], 3)[0],
            "exclusivity": fixed(table["exclusivity"].iloc[topic], 3)[0],
            "frex": [names[word] for word in frex[topic]],
            "words": [names[word] for word in candidates[topic]],
            "probabilities": rounded(beta[topic, candidates[topic]]),
            "overall": rounded(overall[candidates[topic]]),
        }
        for topic in range(len(beta))
    ]


def _candidates(beta: Array, overall: Array) -> list[np.ndarray]:
    """Words of each topic that are among its most relevant ones at some lambda, most probable first."""
    tops = [
        metrics.top_words(metrics.relevance(beta, overall, lambda_), N_WORDS)
        for lambda_ in np.linspace(0.0, 1.0, 11)
    ]
    candidates = []
    for topic in range(len(beta)):
        words = np.unique(np.concatenate([top[topic] for top in tops]))
        words = words[beta[topic, words] > 0]
        candidates.append(words[np.argsort(-beta[topic, words], kind="stable")])
    return candidates


def _vocabulary(beta: Array, names: list[str], share: Array) -> dict[str, Any]:
    """Words, most frequent first, with the topics that they come from and how much of them each has."""
    joint = share[:, None] * beta
    overall = joint.sum(0)
    order = np.argsort(-overall, kind="stable")[:MAX_WORDS]
    posterior = joint[:, order] / np.maximum(overall[order], 1e-300)
    largest = np.argsort(-posterior, axis=0, kind="stable")[:4]
    parts = np.take_along_axis(posterior, largest, axis=0)
    kept = np.maximum((parts >= 0.02).sum(0), 1)
    return {
        "word": [names[word] for word in order],
        "probability": rounded(overall[order], 3),
        "topics": [largest[:n, i].tolist() for i, n in enumerate(kept)],
        "parts": [fixed(parts[:n, i], 2) for i, n in enumerate(kept)],
    }


def _correlations(model: GPTM) -> dict[str, Any]:
    matrix = model.topic_correlations().to_numpy()
    places = graph_layout(matrix)
    return {
        "x": fixed(places[:, 0], 4),
        "y": fixed(places[:, 1], 4),
        "matrix": [fixed(row, 3) for row in matrix],
    }


def _tree(model: GPTM) -> dict[str, Any]:
    """Which topics have similar words: topics from top to bottom, and pairs of nodes with their distance.

    Nodes are the topics, then the pairs in their order.
    """
    tree = topic_linkage(model.fitted_)
    order = leaves_list(tree).tolist() if len(tree) else [0]
    joins = [[int(left), int(right), fixed(distance, 3)[0]] for left, right, distance, _ in tree]
    return {"order": order, "joins": joins}
