"""Fitted models in the forms that other packages take; each is loaded only when it is asked for."""

import importlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from gptm._basics.validation import check_choice, check_number, read_counts
from gptm.tables import list_words, topic_shares, word_names


def topic_words(
    model: Any, n_words: int = 10, *, feature_names: Sequence[str] | None = None
) -> list[list[str]]:
    """The most probable words of each topic, as gensim's `CoherenceModel(topics=...)` and OCTIS take them.

    Parameters
    ----------
    model : fitted GPTM or CTM
    n_words : int, default=10
    feature_names : sequence of str, optional
        The words of the columns of X; known already where the model was fitted to a corpus or a DataFrame.

    Returns
    -------
    list of lists of str
        One list per topic, most probable word first.

    Examples
    --------
    >>> from gptm import CTM, Corpus
    >>> from gptm.interop import topic_words
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
    >>> model = CTM(n_components=2, random_state=0).fit(corpus)
    >>> sorted(topic_words(model, 2))
    [['coffee', 'beans'], ['tea', 'green']]
    """
    check_is_fitted(model)
    return list_words(model.components_, word_names(model, feature_names), n_words)


def to_frame(
    model: Any,
    of: Literal["documents", "words"] = "documents",
    *,
    feature_names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Topics of the training documents, or words of the topics, as a long table with one number per row.

    Parameters
    ----------
    model : fitted GPTM or CTM
    of : {"documents", "words"}, default="documents"
    feature_names : sequence of str, optional
        For "words": the words of the columns of X, where the model does not know them.

    Returns
    -------
    DataFrame
        With the columns document, topic and share, where document is the position in the training data; or topic,
        word and probability. Ready for `groupby`, `pivot`, seaborn or ggplot.

    Examples
    --------
    >>> from gptm import CTM, Corpus
    >>> from gptm.interop import to_frame
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
    >>> model = CTM(n_components=2, random_state=0).fit(corpus)
    >>> to_frame(model).columns.tolist()
    ['document', 'topic', 'share']
    >>> to_frame(model, "words").groupby("topic")["probability"].sum().round(6).tolist()
    [1.0, 1.0]
    """
    check_choice("of", of, ("documents", "words"))
    check_is_fitted(model)
    if of == "documents":
        values, value = model.doc_topics_, "share"
        labels = {"document": np.arange(len(values)), "topic": np.arange(values.shape[1])}
    else:
        values, value = model.components_, "probability"
        labels = {"topic": np.arange(len(values)), "word": word_names(model, feature_names)}
    (row_label, rows), (column_label, columns) = labels.items()
    return pd.DataFrame(
        {
            row_label: np.repeat(rows, len(columns)),
            column_label: np.tile(columns, len(rows)),
            value: values.ravel(),
        }
    )


def to_octis(
    model: Any, n_words: int = 10, *, feature_names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The model as the dictionary that the measures of OCTIS take.

    Parameters
    ----------
    model : fitted GPTM or CTM
    n_words : int, default=10
        Words of each topic in the list of topics.
    feature_names : sequence of str, optional
        The words of the columns of X; known already where the model was fitted to a corpus or a DataFrame.

    Returns
    -------
    dict
        "topics": lists of words; "topic-word-matrix": ndarray of shape (n_components, n_words of the vocabulary);
        "topic-document-matrix": ndarray of shape (n_components, n_documents).

    Examples
    --------
    >>> from gptm import CTM, Corpus
    >>> from gptm.interop import to_octis
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
    >>> output = to_octis(CTM(n_components=2, random_state=0).fit(corpus))
    >>> output["topic-word-matrix"].shape, output["topic-document-matrix"].shape
    ((2, 4), (2, 10))
    """
    return {
        "topics": topic_words(model, n_words, feature_names=feature_names),
        "topic-word-matrix": model.components_.copy(),
        "topic-document-matrix": np.ascontiguousarray(model.doc_topics_.T),
    }


def to_arviz(model: Any) -> Any:
    """The draws of a sampler for ArviZ, whose diagnostics and plots take it as it is; needs arviz.

    Parameters
    ----------
    model : fitted GPTM or CTM, with `inference="sampling"`

    Returns
    -------
    arviz.InferenceData
        Group `posterior`: `share` (chain, draw, topic), the mean proportions of the topics, and with a kernel `effect`
        (chain, draw, document, topic), what the kernel says of some documents' logits, relative to the mean of topics
        and documents. Group `sample_stats`: `lp`, the log-density.
    """
    if model._watched is None:
        raise ValueError(
            f"this model was fitted with inference={model.inference!r}, which draws nothing. Fit it with "
            "inference='sampling'."
        )
    arviz = _optional("arviz", "to_arviz")
    watched = dict(model._watched)
    stats = {"lp": watched.pop("log_density")}
    dims = {"share": ["topic"], "effect": ["document", "topic"]}
    used = {name: dims[name] for name in watched}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict({"posterior": watched, "sample_stats": stats}, dims=used)
    return arviz.from_dict(posterior=watched, sample_stats=stats, dims=used)


def to_pyldavis(
    model: Any, X: Any, *, feature_names: Sequence[str] | None = None, **options: Any
) -> Any:
    """The model prepared for pyLDAvis, an interactive map of topics and their words.

    Parameters
    ----------
    model : fitted GPTM or CTM
    X : Corpus, or sparse or dense array of shape (n_documents, n_words)
        The training documents: a model without a kernel keeps no counts of them.
    feature_names : sequence of str, optional
        The words of the columns of X; known already where the model was fitted to a corpus or a DataFrame.
    **options
        For `pyLDAvis.prepare`, such as `mds="mmds"` or `R=20`. Unlike there, topics keep their order by default
        (`sort_topics=False`) and one process does the work (`n_jobs=1`).

    Returns
    -------
    pyLDAvis.PreparedData
        For `pyLDAvis.display`, `pyLDAvis.save_html` and the like. pyLDAvis counts from one: its topic 1 is topic 0.

    Examples
    --------
    >>> from gptm import CTM, Corpus
    >>> from gptm.interop import to_pyldavis
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
    >>> model = CTM(n_components=2, random_state=0).fit(corpus)
    >>> to_pyldavis(model, corpus).topic_order
    [1, 2]
    """
    pyldavis = _optional("pyLDAvis", "to_pyldavis")
    check_is_fitted(model)
    counts = read_counts(model, X, reset=False)
    lengths = np.asarray(counts.sum(1)).ravel()
    if lengths.shape != model.doc_lengths_.shape or not np.allclose(lengths, model.doc_lengths_):
        raise ValueError(
            f"to_pyldavis needs the training documents, {len(model.doc_lengths_)} with "
            f"{model.doc_lengths_.sum():g} words in the same order; got {len(lengths)} with {lengths.sum():g} words. "
            "Pass the X that fit saw."
        )
    if len(model.components_) < 2:
        raise ValueError(
            "pyLDAvis draws distances between topics and needs two at least; the model has one. "
            "Fit with a larger n_components."
        )
    if lengths.sum() == 0:
        raise ValueError("pyLDAvis shows how often words occur; all documents are empty.")
    possible = model.components_.sum(0) > 0  # other words have no place on the map
    return pyldavis.prepare(
        np.maximum(model.components_[:, possible], 1e-300),  # it takes logarithms
        model.doc_topics_,
        lengths,
        [str(name) for name in word_names(model, feature_names)[possible]],
        np.asarray(counts.sum(0)).ravel()[possible],
        **{"sort_topics": False, "n_jobs": 1} | options,
    )


def topic_graph(
    model: Any,
    threshold: float = 0.1,
    *,
    of: Literal["residual", "prior"] = "residual",
    n_words: int = 3,
    feature_names: Sequence[str] | None = None,
) -> Any:
    """Topics as a graph: an edge joins two topics whose correlation is at least `threshold`.

    Parameters
    ----------
    model : fitted GPTM or CTM
    threshold : float, default=0.1
        With a negative one also topics that avoid each other are joined; -1 joins all.
    of : {"residual", "prior"}, default="residual"
        As in `topic_correlations`.
    n_words : int, default=3
        Words in a topic's label.
    feature_names : sequence of str, optional
        The words of the columns of X; known already where the model was fitted to a corpus or a DataFrame.

    Returns
    -------
    networkx.Graph
        Nodes are the topics' numbers with the attributes label, the most probable words, and share; edges have
        the correlation as weight. `networkx.write_graphml` saves it for Gephi, Cytoscape or igraph.

    Examples
    --------
    >>> from gptm import CTM, Corpus
    >>> from gptm.interop import topic_graph
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
    >>> graph = topic_graph(CTM(n_components=2, random_state=0).fit(corpus), n_words=2)
    >>> sorted(label for _, label in graph.nodes(data="label"))
    ['coffee, beans', 'tea, green']
    """
    networkx = _optional("networkx", "topic_graph")
    check_number("threshold", threshold, least=-1.0)
    labels = topic_words(model, n_words, feature_names=feature_names)
    shares = topic_shares(model.doc_topics_)
    correlation = model.topic_correlations(of).to_numpy()
    graph = networkx.Graph()
    for i, (words, share) in enumerate(zip(labels, shares, strict=True)):
        graph.add_node(i, label=", ".join(words), share=float(share))  # GraphML takes plain numbers
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
