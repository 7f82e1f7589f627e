"""A topic as several: where a fit with more topics begins.

Some Gibbs sweeps for LDA over the tokens that belong to the topic find its subtopics. Then the whole model is fitted
again from there, so that words, documents, effects and bands of all topics are those of a fit with more topics.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_matrix

from gptm._basics.errors import ArgumentError, InputError, PythonOnly
from gptm._basics.parallel import blocks
from gptm._basics.prose import listed
from gptm._basics.types import Array
from gptm._basics.validation import check_number
from gptm.fitted import TINY, Fitted, Origin
from gptm.starts.lda import LdaRun
from gptm.surgery.regroup import Members, origin_of, regroup
from gptm.surgery.topic_edits import shown
from gptm.tables import topic_coherence

SWEEPS = 200  # that look for subtopics
_SMOOTHING = 0.5  # tokens that every document has in every subtopic
_CELLS = 50_000  # of the counts, looked at together


class Division(NamedTuple):
    """A fit with a topic cut into several, as a place to go on from, and what its topics are for."""

    start: Fitted  # without groups; its last topics are the new ones
    members: Members  # groups of its topics
    topic: int
    n: int


def divide(fitted: Fitted, topic: int, n: int, rng: np.random.RandomState) -> Division:
    """Cut a topic into n, which stand at its place; later ones move up."""
    check_number("n", n, least=2, integer=True)
    origin = origin_of(fitted)
    old, parts = origin.fitted, list(origin.members[topic])
    if old.counts is None:
        raise InputError(
            "to split a topic, the model must see the training documents again, and this file does not have them.",
            PythonOnly(" Pass the corpus that it was fitted to as corpus=."),
        )
    tokens = drawn_tokens(old, parts, rng)
    if len(np.unique(tokens.indices)) < n:
        expected = f"must have {n} words or more of its own to be split into {n} topics"
        raise ArgumentError("topic", expected, topic)
    chain = LdaRun(tokens, n, rng)
    chain.sweep_to(SWEEPS)
    word_topic = chain.start().word_topic
    start = _expanded(old, parts, word_topic, _document_parts(tokens, word_topic))
    return Division(start, _members(old, origin, topic, n), topic, n)


def drawn_tokens(old: Fitted, parts: list[int], rng: np.random.RandomState) -> csr_matrix:
    """(D, V) the tokens that belong to some topics, each drawn with its probability given its document."""
    counts, theta, beta_T = old.counts, old.proportions, old.beta_T
    assert counts is not None
    X = csr_matrix(counts)
    docs = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    chance = np.empty(len(docs))
    for some in blocks(0, len(docs), _CELLS):
        each = theta[docs[some]] * beta_T[X.indices[some]]
        chance[some] = each[:, parts].sum(1) / np.maximum(each.sum(1), TINY)
    chance = np.clip(chance, 0.0, 1.0)
    drawn = rng.binomial(np.rint(X.data).astype(np.int64), chance).astype(np.float64)
    tokens = csr_matrix((drawn, X.indices.copy(), X.indptr.copy()), shape=X.shape)
    tokens.eliminate_zeros()
    return tokens


def _document_parts(tokens: csr_matrix, word_topic: Array) -> Array:
    """(D, n) how much of each document's tokens each subtopic has; rows sum to one."""
    totals = word_topic + _SMOOTHING
    by_word = totals / totals.sum(1, keepdims=True)
    inside = tokens @ by_word + _SMOOTHING
    return np.asarray(inside / inside.sum(1, keepdims=True))


def _expanded(old: Fitted, parts: list[int], word_topic: Array, inside: Array) -> Fitted:
    """The fit with topics at the end in place of some others: their logits add up to the old ones'."""
    kept = [number for number in range(old.K) if number not in parts]
    n = inside.shape[1]
    mean = old.components[parts].T @ old.proportions.mean(0)[parts]
    size = np.maximum(word_topic.sum(0), 1.0)  # a part may have got no tokens
    words = word_topic + 0.01 * size * (mean / mean.sum())[:, None]
    together = np.logaddexp.reduce(old.lam[:, parts], axis=1)[:, None]
    lam = np.concatenate([old.lam[:, kept], together + np.log(inside)], axis=1)
    zeros = np.broadcast_to(0.0, lam.shape)
    variance = np.repeat(old.nu2[:, parts].mean(1, keepdims=True), n, axis=1)
    spread = float(np.diagonal(old.Sigma)[parts].mean())
    strength = float(np.diagonal(old.B)[parts].mean())
    square = np.ix_(kept, kept)
    return replace(
        old,
        components=np.concatenate([old.components[kept], (words / words.sum(0)).T]),
        mu=lam.mean(0),
        Sigma=block_diag(old.Sigma[square], spread * np.eye(n)),
        B=block_diag(old.B[square], strength * np.eye(n)),
        lam=lam,
        nu2=np.concatenate([old.nu2[:, kept], variance], axis=1),
        F=zeros,
        alpha=zeros,
        doc_topics=None,
        draws=None,
        topic_draws=None,
        topic_names=None,
    )


def _members(old: Fitted, origin: Origin, topic: int, n: int) -> Members:
    """Groups of the topics of a divided fit: others as they were, the new ones each by itself."""
    kept = [number for number in range(old.K) if number not in origin.members[topic]]
    place = {number: position for position, number in enumerate(kept)}
    groups: list[tuple[int, ...]] = []
    for number, group in enumerate(origin.members):
        if number == topic:
            groups += [(len(kept) + part,) for part in range(n)]
        else:
            groups.append(tuple(place[topic] for topic in group))
    return tuple(groups)


def divided(fitted: Fitted, division: Division, refitted: Fitted) -> Fitted:
    """What a fit from a division has found, with names and history of the fit that was divided."""
    topic, n, names = division.topic, division.n, fitted.names
    old_name = names[topic]
    new_names = [None if old_name is None else f"{old_name} {part + 1}" for part in range(n)]
    names[topic : topic + 1] = new_names
    refitted = replace(
        refitted,
        coherence=topic_coherence(refitted),
        vocabulary=fitted.vocabulary,
        words=fitted.words,
        kinds=fitted.kinds,
    )
    parts = listed(range(topic, topic + n))
    done = f"Split topic {shown(fitted, [topic])} into topics {parts}, and fitted again."
    return replace(
        regroup(refitted, division.members),
        topic_names=names if any(names) else None,
        history=(*fitted.history, done),
    )
