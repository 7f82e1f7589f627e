"""Fitted models in the forms that other packages take. Each of these packages loads on first use.

The methods of `GPTM` with the same names describe the arguments.
"""

import importlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from scipy.spatial.distance import pdist, squareform

from gptm._basics.sparse_arrays import column_sums, row_sums
from gptm._basics.validation import check_choice, check_number
from gptm.fitted import Fitted
from gptm.tables import (
    correlations,
    list_words,
    named_topics,
    shown_weights,
    topic_shares,
    word_names,
)


def topic_words(
    fitted: Fitted,
    n_words: int = 10,
    *,
    order: Literal["prominent", "probable"] = "prominent",
    feature_names: Sequence[str] | None = None,
) -> list[list[str]]:
    """The words of each topic, as gensim's `CoherenceModel(topics=...)` and OCTIS take them."""
    check_choice("order", order, ("prominent", "probable"))
    weights = shown_weights(fitted) if order == "prominent" else fitted.components
    return list_words(weights, word_names(fitted, feature_names), n_words)


def to_frame(
    fitted: Fitted,
    of: Literal["documents", "words"] = "documents",
    *,
    feature_names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Topics of the training documents, or words of the topics, as a long table with one number per row."""
    check_choice("of", of, ("documents", "words"))
    if of == "documents":
        values, value = fitted.proportions, "share"
        labels = {"document": np.arange(len(values)), "topic": np.arange(values.shape[1])}
    else:
        values, value = fitted.components, "probability"
        labels = {"topic": np.arange(len(values)), "word": word_names(fitted, feature_names)}
    (row_label, rows), (column_label, columns) = labels.items()
    table = pd.DataFrame(
        {
            row_label: np.repeat(rows, len(columns)),
            column_label: np.tile(columns, len(rows)),
            value: values.ravel(),
        }
    )
    return named_topics(table, fitted)


def to_octis(
    fitted: Fitted, n_words: int = 10, *, feature_names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The model as the dictionary that the measures of OCTIS take."""
    return {
        "topics": topic_words(fitted, n_words, feature_names=feature_names, order="probable"),
        "topic-word-matrix": fitted.components.copy(),
        "topic-document-matrix": np.ascontiguousarray(fitted.proportions.T),
    }


def to_arviz(fitted: Fitted) -> Any:
    """The draws of the sampler, in the form that the diagnostics and plots of ArviZ take; needs arviz."""
    if fitted.watched is None:
        raise ValueError(
            "this model was fitted by EM and has no draws. Fit it with inference='sampling'."
        )
    arviz = _optional("arviz", "to_arviz")
    watched = dict(fitted.watched)
    stats = {"lp": watched.pop("log_density")}
    dims = {"share": ["topic"], "effect": ["document", "topic"]}
    used = {name: dims[name] for name in watched}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict({"posterior": watched, "sample_stats": stats}, dims=used)
    return arviz.from_dict(posterior=watched, sample_stats=stats, dims=used)


def to_pyldavis(
    fitted: Fitted,
    counts: csr_matrix,
    *,
    feature_names: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """The model prepared for pyLDAvis, an interactive map of topics and their words."""
    pyldavis = _optional("pyLDAvis", "to_pyldavis")
    lengths = row_sums(counts)
    if lengths.shape != fitted.lengths.shape or not np.allclose(lengths, fitted.lengths):
        raise ValueError(
            f"to_pyldavis needs the training documents, {len(fitted.lengths)} with "
            f"{fitted.lengths.sum():g} words in the same order; got {len(lengths)} with {lengths.sum():g} words. "
            "Pass the X that the model was fitted to."
        )
    if len(fitted.components) < 2:
        raise ValueError(
            "pyLDAvis draws distances between topics, so it needs at least two; the model has one. "
            "Fit with a larger n_components."
        )
    if lengths.sum() == 0:
        raise ValueError("pyLDAvis shows how often words occur, but all documents are empty.")
    possible = fitted.components.sum(0) > 0  # other words have no place on the map
    return pyldavis.prepare(
        np.maximum(fitted.components[:, possible], 1e-300),  # it takes logarithms
        fitted.proportions,
        lengths,
        [str(name) for name in word_names(fitted, feature_names)[possible]],
        column_sums(counts)[possible],
        **{"sort_topics": False, "n_jobs": 1, "mds": _plane} | options,
    )


def _plane(topics: Any) -> np.ndarray:
    """Places of topics (K, 2) by classical scaling of their Jensen-Shannon divergences, as pyLDAvis has it.

    Its own function takes eigenvalues of a symmetric matrix for complex numbers, from numpy 2.5 on.
    """
    # Of equal topics rounding may leave the root of a negative number.
    divergence = squareform(np.nan_to_num(pdist(np.asarray(topics), "jensenshannon")) ** 2)
    centre = np.eye(len(divergence)) - 1.0 / len(divergence)
    values, vectors = np.linalg.eigh(-0.5 * centre @ divergence**2 @ centre)
    largest = np.argsort(values)[-2:][::-1]
    return vectors[:, largest] * np.sqrt(np.maximum(values[largest], 0.0))


def topic_graph(
    fitted: Fitted,
    threshold: float = 0.1,
    *,
    of: Literal["residual", "prior"] = "residual",
    n_words: int = 3,
    feature_names: Sequence[str] | None = None,
) -> Any:
    """Topics as a graph: an edge joins two topics whose correlation is at least `threshold`."""
    networkx = _optional("networkx", "topic_graph")
    check_number("threshold", threshold, least=-1.0)
    labels = topic_words(fitted, n_words, feature_names=feature_names)
    shares = topic_shares(fitted.proportions)
    correlation = correlations(fitted, of).to_numpy()
    graph = networkx.Graph()
    for i, (name, words, share) in enumerate(zip(fitted.names, labels, shares, strict=True)):
        label = name or ", ".join(words)
        graph.add_node(i, label=label, share=float(share))  # GraphML takes plain numbers
    for i, j in np.argwhere(np.triu(correlation >= threshold, 1)).tolist():
        graph.add_edge(i, j, weight=float(correlation[i, j]))
    return graph


def _optional(package: str, user: str) -> Any:
    """A package that gptm can do without."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{user} needs the package {package}, which could not be imported ({error}): pip install {package}"
        ) from error
