"""Sheets for human coders: which word, or which document, does not belong?"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gptm import metrics
from gptm._basics.errors import ArgumentError, InputError
from gptm._basics.types import Array
from gptm._basics.validation import check_number
from gptm.corpus import Corpus
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.selection.alignment import topic_labels_of
from gptm.tables import word_names
from gptm.views.shown_table import table_card, table_lines

OPTION = "option_"  # then a number from 1
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


@dataclass(frozen=True, eq=False, repr=False)
class IntrusionSheet:
    """Questions for human coders, and the answers apart from them.

    Attributes
    ----------
    sheet : DataFrame
        For the coders: one row per question with `question`, the options `option_1`, `option_2`, ..., and an empty
        column `answer` for the number of the option that does not belong. Nothing in it gives away the topic.
    key : DataFrame
        The answers: `question`, `topic`, its name or words, `answer`, the number of the intruder, `intruder` (the word,
        or the position of the document), and `intruder_topic`, where it comes from.
    """

    sheet: pd.DataFrame
    key: pd.DataFrame

    def save(
        self, path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None
    ) -> tuple[Path, Path]:
        """Write the sheet and the key to two CSV files, which spreadsheet programs open.

        Parameters
        ----------
        path : path
            Where the sheet goes.
        key : path, optional
            Where the key goes; by default beside it, `sheet-key.csv` for `sheet.csv`.

        Returns
        -------
        tuple of two paths
        """
        target = Path(path)
        beside = target.with_name(f"{target.stem}-key{target.suffix or '.csv'}")
        answers = beside if key is None else Path(key)
        if answers == target:
            raise ArgumentError("key", "must be another file than the sheet", os.fspath(answers))
        self.sheet.map(_harmless).to_csv(target, index=False, encoding="utf-8-sig")
        self.key.map(_harmless).to_csv(answers, index=False, encoding="utf-8-sig")
        return target, answers

    def __repr__(self) -> str:
        """What the coders see, not the answers."""
        return "\n".join([self._title, *table_lines(self.sheet)])

    def _repr_html_(self) -> str:
        return table_card(self._title, self.sheet)

    @property
    def _title(self) -> str:
        n = len(self.sheet)
        return f"{n:,} question{'s' if n != 1 else ''}: which option does not belong? .key has the answers"


def _harmless(cell: Any) -> Any:
    """A text that no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def word_intrusion(
    model: GPTM,
    *,
    n_words: int = 5,
    questions: int = 1,
    random_state: int = 0,
    feature_names: Sequence[str] | None = None,
) -> IntrusionSheet:
    """Questions that show whether people see what the words of a topic have in common.

    Each question has the most probable words of a topic, and one word that is improbable in it and among the most
    probable ones of another topic. If the topic makes sense, coders find this word.

    Parameters
    ----------
    model : fitted GPTM or CTM
        With two topics or more.
    n_words : int, default=5
        Words of the topic in each question.
    questions : int, default=1
        Questions per topic. The first has the most probable words, each further one a choice of twice as many.
    random_state : int, default=0
        Seed of the intruders, and of the order of words and questions.
    feature_names : sequence of str, optional
        The words of the columns of X, for a model that was fitted to a bare array.

    Returns
    -------
    IntrusionSheet
        With `sheet` for the coders, `key` with the answers, and `save`. `score_intrusion` reads filled sheets.

    Notes
    -----
    Chang, Boyd-Graber, Gerrish, Wang & Blei (2009).

    Examples
    --------
    >>> from gptm import CTM, Corpus, word_intrusion
    >>> texts = ["green tea, black tea, a cup of tea", "army and navy at war, army, navy"] * 20
    >>> model = CTM(2, random_state=0).fit(Corpus.from_texts(texts))
    >>> found = word_intrusion(model, n_words=2)
    >>> found.sheet.columns.tolist()
    ['question', 'option_1', 'option_2', 'option_3', 'answer']
    >>> sorted(found.key["topic"])
    [0, 1]
    """
    check_fitted(model)
    check_number("n_words", n_words, least=2, integer=True)
    beta = model.components_
    K, V = beta.shape
    _check_settings(K, questions, random_state)
    if n_words >= V:
        raise ArgumentError("n_words", f"must be less than the number of words, {V}", n_words)
    names = word_names(model.fitted_, feature_names)
    top = metrics.top_words(beta, min(2 * n_words, V - 1))  # one is left for an intruder
    rng = np.random.default_rng(random_state)
    rows = []
    for topic in range(K):
        for number in range(questions):
            own = top[topic, :n_words]
            if number:
                own = rng.permutation(top[topic])[:n_words]
            intruder = _improbable_word(beta, topic, top[:, :n_words], top[topic], rng)
            home = int(np.argmax(np.where(np.arange(K) == topic, -1.0, beta[:, intruder])))
            rows.append((topic, [str(names[w]) for w in own], str(names[intruder]), home))
    return _sheet(model, rows, rng, [row[2] for row in rows])


def _improbable_word(
    beta: Array, topic: int, top: np.ndarray, own: np.ndarray, rng: np.random.Generator
) -> int:
    """A top word of another topic that is in the less probable half of this one, and not among its own words."""
    others = np.unique(np.delete(top, topic, axis=0))
    others = others[~np.isin(others, own)]
    if len(others) == 0:  # all topics have the same top words
        others = np.setdiff1d(np.arange(beta.shape[1]), own)
    improbable = others[beta[topic, others] <= np.median(beta[topic])]
    if len(improbable) == 0:
        improbable = others[beta[topic, others] <= np.median(beta[topic, others])]
    return int(rng.choice(improbable))


def document_intrusion(
    model: GPTM,
    corpus: Corpus,
    *,
    n_documents: int = 3,
    questions: int = 1,
    length: int = 300,
    random_state: int = 0,
) -> IntrusionSheet:
    """Questions that show whether people see what the documents of a topic have in common.

    Each question has documents with large proportions of a topic, and one that has little of it and much of another
    topic. If the topic makes sense, coders find this document.

    Parameters
    ----------
    model : fitted GPTM or CTM
        With two topics or more.
    corpus : Corpus
        The training documents, with their texts.
    n_documents : int, default=3
        Documents of the topic in each question.
    questions : int, default=1
        Questions per topic. Each takes the next documents in the order of their proportions.
    length : int, default=300
        Characters of a text that coders see.
    random_state : int, default=0
        Seed of the intruders, and of the order of documents and questions.

    Returns
    -------
    IntrusionSheet
        As from `word_intrusion`.

    Examples
    --------
    >>> from gptm import CTM, Corpus, document_intrusion
    >>> texts = [f"{t}, number {i}" for i in range(20) for t in ("green tea, a cup of tea", "army and navy at war")]
    >>> corpus = Corpus.from_texts(texts)
    >>> model = CTM(2, random_state=0).fit(corpus)
    >>> found = document_intrusion(model, corpus, n_documents=2)
    >>> found.sheet.shape
    (2, 5)
    """
    check_fitted(model)
    check_number("n_documents", n_documents, least=2, integer=True)
    check_number("length", length, least=10, integer=True)
    theta = model.doc_topics_
    K = theta.shape[1]
    _check_settings(K, questions, random_state)
    texts = _texts_of(corpus, len(theta), length)
    rng = np.random.default_rng(random_state)
    rows, positions = [], []
    for topic in range(K):
        order = _distinct(np.argsort(-theta[:, topic], kind="stable"), texts)
        if len(order) < questions * n_documents + 1:
            raise InputError(
                f"{questions} question{'s' * (questions != 1)} of {n_documents} documents need more than "
                f"{questions * n_documents} different texts; there are {len(order)}."
            )
        for number in range(questions):
            own = order[number * n_documents : (number + 1) * n_documents]
            intruder = _other_document(theta, topic, order[questions * n_documents :], rng)
            home = int(np.argmax(np.where(np.arange(K) == topic, -1.0, theta[intruder])))
            rows.append((topic, [texts[d] for d in own], texts[intruder], home))
            positions.append(intruder)
    return _sheet(model, rows, rng, positions)


def _texts_of(corpus: Any, D: int, length: int) -> list[str]:
    if not isinstance(corpus, Corpus) or len(corpus) != D or corpus.texts is None:
        arrived = (
            f"a corpus of {len(corpus)} documents, {'without' if corpus.texts is None else 'with'} texts"
            if isinstance(corpus, Corpus)
            else f"an object of type {type(corpus).__name__}"
        )
        raise InputError(
            f"corpus must be the gptm.Corpus of the {D} training documents with their texts, in the same order; got "
            f"{arrived}. Make it with Corpus.from_texts."
        )
    return [" ".join(str(text).split())[:length] for text in corpus.texts]


def _distinct(order: np.ndarray, texts: list[str]) -> np.ndarray:
    """The documents in their order, without those whose text came before, and without empty ones."""
    first: dict[str, int] = {}
    for document in order:
        if texts[document]:
            first.setdefault(texts[document], int(document))
    return np.array(list(first.values()), dtype=np.intp)


def _other_document(theta: Array, topic: int, rest: np.ndarray, rng: np.random.Generator) -> int:
    """A document of another topic, from the half of the rest with the smaller proportions of this one."""
    few = rest[len(rest) // 2 :]
    others = few[theta[few].argmax(1) != topic]
    return int(rng.choice(others if len(others) else few))


def _check_settings(K: int, questions: Any, random_state: Any) -> None:
    check_number("questions", questions, least=1, integer=True)
    check_number("random_state", random_state, least=0, integer=True)
    if K < 2:
        raise InputError("an intruder comes from another topic, and this model has only one topic.")


def _sheet(
    model: GPTM,
    rows: list[tuple[int, list[str], str, int]],
    rng: np.random.Generator,
    intruders: list[Any],
) -> IntrusionSheet:
    """Questions in random order, with the intruder at a random place."""
    labels = topic_labels_of(model.fitted_)
    questions, answers = [], []
    for number, position in enumerate(rng.permutation(len(rows)), 1):
        topic, own, intruder, home = rows[position]
        options = [*own, intruder]
        order = rng.permutation(len(options))
        place = int(np.flatnonzero(order == len(own))[0]) + 1
        shown = {f"{OPTION}{i}": options[j] for i, j in enumerate(order, 1)}
        questions.append({"question": number, **shown, "answer": ""})
        answers.append(
            {
                "question": number,
                "topic": topic,
                "words": labels[topic],
                "answer": place,
                "intruder": intruders[position],
                "intruder_topic": home,
                "options": len(options),
            }
        )
    return IntrusionSheet(pd.DataFrame(questions), pd.DataFrame(answers))
