"""Fitted arrays as tables for people."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from gptm import metrics
from gptm._basics.errors import ArgumentError, InputError, PythonOnly
from gptm._basics.types import Array
from gptm._basics.validation import as_items, check_choice, check_number, is_whole
from gptm.corpus import Corpus
from gptm.fitted import Fitted
from gptm.views.shown_table import ShownTable
from gptm.views.topic_view import TopicTable

TEXT_LENGTH = 200  # characters of a document that a table shows
N_SCORED = 10  # words of a topic that its coherence and exclusivity look at


def word_names(
    fitted: Fitted, feature_names: Sequence[str] | np.ndarray | None = None
) -> np.ndarray:
    """Names (V,) of the words: the given ones, those of the fit, or the numbers of the columns."""
    V = fitted.components.shape[1]
    if feature_names is None:
        feature_names = fitted.vocabulary
    if feature_names is None:
        return np.arange(V)
    expected = f"must have one name for each column of the counts: expected {V}"
    names = np.asarray(as_items("feature_names", feature_names, expected), dtype=object)
    if len(names) != V:
        raise InputError(f"feature_names {expected}, got {len(names)}.")
    return names


def topic_numbers(fitted: Fitted, topics: Any) -> list[int]:
    """The numbers of one or several topics, given by number or name.

    Examples
    --------
    >>> from gptm import CTM, Corpus
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
    >>> model = CTM(2, seed_words={"coffee": ["beans"]}, random_state=0).fit(corpus)
    >>> topic_numbers(model.fitted_, "coffee"), topic_numbers(model.fitted_, [1, "coffee"])
    ([0], [1, 0])
    """
    names = fitted.topic_names or []
    single = isinstance(topics, str) or np.ndim(np.asarray(topics, dtype=object)) == 0
    wanted = [topics] if single else list(topics)
    in_use = [repr(name) for name in names if name is not None]
    called = f", or called {', '.join(in_use)}" if in_use else ""
    if not wanted:
        expected = f"must be at least one topic, from 0 to {fitted.K - 1}{called}"
        raise ArgumentError("topic", expected, topics)
    numbers = []
    for topic in wanted:
        if isinstance(topic, str) and topic in names:
            numbers.append(names.index(topic))
        elif is_whole(topic) and 0 <= topic < fitted.K:
            numbers.append(int(topic))
        else:
            expected = f"must be a number from 0 to {fitted.K - 1}{called}"
            nameless = isinstance(topic, str) and not in_use
            remedy = "No topic has a name yet; name_topics gives them names." if nameless else ""
            raise ArgumentError("topic", expected, topic, PythonOnly(remedy) if remedy else "")
    return list(dict.fromkeys(numbers))


def named_topics(table: pd.DataFrame, fitted: Fitted) -> pd.DataFrame:
    """The same with a column `topic_name` beside `topic`, if topics have names."""
    if fitted.topic_names is None:
        return table
    names = {number: name or "" for number, name in enumerate(fitted.topic_names)}
    table.insert(
        table.columns.get_loc("topic") + 1,
        "topic_name",
        [names.get(topic, "") for topic in table["topic"]],
    )
    return table


def one_topic(fitted: Fitted, topic: Any) -> int:
    """The number of a single topic."""
    numbers = topic_numbers(fitted, topic)
    if len(numbers) > 1:
        raise ArgumentError("topic", "must be one topic", topic)
    return numbers[0]


def topic_shares(doc_topics: Array) -> Array:
    """(K,) mean proportions over the training documents; all documents count the same.

    This is what "share" of a topic means in all tables, plots and pages.
    """
    return np.asarray(doc_topics.mean(0))


def list_words(weights: Array, names: np.ndarray, n_words: int) -> list[list[str]]:
    """The words that weigh most in each topic, heaviest first."""
    return [[str(names[w]) for w in row] for row in metrics.top_words(weights, n_words)]


def shown_weights(fitted: Fitted) -> Array:
    """(K, V) weights by which words of topics are chosen and ordered wherever people read them."""
    return metrics.prominence(fitted.components, fitted.word_rates)


def shown_words(
    fitted: Fitted, n_words: int, feature_names: Sequence[str] | np.ndarray | None = None
) -> list[list[str]]:
    """The words that stand for each topic, most prominent first."""
    return list_words(shown_weights(fitted), word_names(fitted, feature_names), n_words)


def topic_table(
    fitted: Fitted, n_words: int, feature_names: Sequence[str] | np.ndarray | None = None
) -> pd.DataFrame:
    """One row per topic: its words in five orders, two scores, and its share.

    Words come first and the share last because pandas shows these columns in a narrow terminal.
    """
    components, share = fitted.components, topic_shares(fitted.proportions)
    names = word_names(fitted, feature_names)
    orders = {
        "words": shown_weights(fitted),
        "probable": components,
        "frex": metrics.frex(components),
        "lift": metrics.lift(components, share @ components),
        "score": metrics.word_scores(components),
    }
    columns: dict[str, Any] = {
        name: [", ".join(words) for words in list_words(weights, names, n_words)]
        for name, weights in orders.items()
    }
    columns["coherence"] = fitted.coherence
    columns["exclusivity"] = metrics.exclusivity(components, N_SCORED)
    columns["share"] = share
    table = pd.DataFrame(columns, index=pd.RangeIndex(len(components), name="topic"))
    if fitted.topic_names is not None:
        table.insert(0, "name", [name or "" for name in fitted.topic_names])
    return TopicTable(table)


def topic_coherence(fitted: Fitted) -> Array:
    """(K,) of the topics' most probable words in the training documents."""
    return np.asarray(metrics.npmi_coherence(fitted.components, fitted.counts, N_SCORED))


def document_table(
    fitted: Fitted,
    topic: int | None,
    n_documents: int,
    corpus: Corpus | None,
    text_length: int | None = TEXT_LENGTH,
) -> pd.DataFrame:
    """The documents with the largest proportions of a topic, or of each, with ids and texts if available."""
    check_number("n", n_documents, least=1, integer=True)
    if text_length is not None:
        check_number("text_length", text_length, least=1, integer=True)
    check_training_corpus(corpus, len(fitted.proportions))
    if topic is None:
        each = range(fitted.K)
        parts = [_typical_documents(fitted, k, n_documents, corpus, text_length) for k in each]
        table = pd.concat(parts, keys=each, names=["topic"]).reset_index("topic")
        return ShownTable.of(named_topics(table.reset_index(drop=True), fitted))
    table = _typical_documents(fitted, topic, n_documents, corpus, text_length)
    if fitted.topic_names is not None and fitted.topic_names[topic]:
        table.insert(0, "topic_name", fitted.topic_names[topic])
    return ShownTable.of(table)


def _typical_documents(
    fitted: Fitted, topic: int, n_documents: int, corpus: Corpus | None, text_length: int | None
) -> pd.DataFrame:
    proportions = fitted.proportions[:, topic]
    rows = np.argsort(-proportions, kind="stable")[:n_documents]
    table = pd.DataFrame({"position": rows, "share": proportions[rows]})
    if corpus is not None and corpus.ids is not None:
        table["id"] = corpus.ids[rows]
    if corpus is not None and corpus.texts is not None:
        table["text"] = [text[:text_length] for text in corpus.texts[rows]]
    return table


def check_training_corpus(corpus: object, D: int) -> None:
    """An error for anything but the corpus of the D training documents, and None."""
    if corpus is None or (isinstance(corpus, Corpus) and len(corpus) == D):
        return
    arrived = (
        f"a corpus of {len(corpus)}"
        if isinstance(corpus, Corpus)
        else f"an object of type {type(corpus).__name__}"
    )
    raise ValueError(
        f"corpus must be the gptm.Corpus of the {D} training documents, in the same order; got {arrived}. "
        "Pass the corpus that the model was fitted to."
    )


def correlations(fitted: Fitted, of: Literal["residual", "prior"]) -> pd.DataFrame:
    """Correlations of the topics' logits: of what the kernel does not explain, or of all variation."""
    check_choice("of", of, ("residual", "prior"))
    covariance = fitted.Sigma
    if of == "prior":
        covariance = covariance + fitted.bound.mean_diagonal() * fitted.B
    return correlation_table(covariance)


def correlation_table(covariance: Array) -> pd.DataFrame:
    """Correlations of topics from the covariance of their logits.

    A shift common to all logits does not change the proportions and is removed first. A topic that then does not vary
    has correlation zero with all others.
    """
    K = len(covariance)
    C = np.eye(K) - 1.0 / K
    centred = C @ covariance @ C
    scale = np.sqrt(np.maximum(np.diagonal(centred), 0.0))
    varies = scale > 1e-8 * np.sqrt(np.abs(covariance).max(initial=0.0))  # beyond rounding
    scale = np.where(varies, scale, np.inf)
    correlation = np.clip((centred + centred.T) / 2 / np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    topics = pd.RangeIndex(K, name="topic")
    return pd.DataFrame(correlation, index=topics, columns=topics)
