"""Draws that a chain keeps: means for prediction, and some snapshots for bands."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gptm._basics.parallel import blocks
from gptm._basics.types import Array
from gptm.fitted import Draws, Part
from gptm.inference.contrasts import contrasts
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.draw_topics import expected_topics
from gptm.inference.sampling.state import ChainState

SNAPSHOTS = 100  # of all chains together
TOPICS = 4  # draws of the topics, of all chains together
TOPIC_ENTRIES = (
    2 * 10**7
)  # numbers in all draws of the topics; where they are larger there are fewer
ENTRIES = (
    10**7
)  # numbers in all snapshots of documents' logits, beyond which a sample of documents stands for all
LEAST_DOCUMENTS = 500  # of that sample
WATCHED = 16  # documents whose means show whether a chain has settled


ROWS = 2048  # documents at once


class Watch(NamedTuple):
    """Numbers of every kept sweep, by which a chain is judged."""

    log_density: Array  # (n,)
    shares: Array  # (n, K) mean proportions
    effects: Array  # (n, m, K) the kernel's part of the logits of some documents; m is 0 without a kernel


class Snapshot(NamedTuple):
    """A draw that is kept."""

    mu: Array
    S: Array
    B: Array
    logits: np.ndarray  # half precision
    parts: tuple[Part, ...]  # single precision


class Kept:
    """Draws of one chain since it began to keep them."""

    def __init__(self, problem: FitProblem, state: ChainState, length: int, n_chains: int):
        D, K = state.eta.shape
        self.problem, self.n = problem, 0
        self.thin = max(1, -(-length * n_chains // SNAPSHOTS))
        n_topics = min(TOPICS, TOPIC_ENTRIES // max(len(state.counts) * K, 1))
        self.thin_topics = -(-length * n_chains // n_topics) if n_topics else 0
        self.topics: list[np.ndarray] = []
        self.beta_T = np.zeros((len(state.counts), K))
        self.eta, self.squares = np.zeros((2, D, K))
        self.S, self.B = np.zeros((2, K - 1, K - 1))
        d = int(np.clip(ENTRIES // (SNAPSHOTS * max(K - 1, 1)), LEAST_DOCUMENTS, max(D, 1)))
        self.rows = np.linspace(0, D - 1, min(d, D)).round().astype(np.int64)
        self.watched = np.linspace(0, D - 1, min(WATCHED, D)).round().astype(np.int64)
        self.snapshots: list[Snapshot] = []
        self.log_density: list[float] = []
        self.shares: list[Array] = []
        self.effects: list[Array] = []

    def add(self, state: ChainState) -> None:
        self.n += 1
        expected_topics(self.problem, state, self.beta_T)
        if self.thin_topics and self.n % self.thin_topics == 0:
            beta_T = np.zeros_like(self.beta_T)
            expected_topics(self.problem, state, beta_T)
            self.topics.append((beta_T / beta_T.sum(0)).astype(np.float32))
        self.eta += state.eta
        for rows in blocks(0, len(state.eta), ROWS):  # without another array of all documents
            self.squares[rows] += state.eta[rows] ** 2
        self.S += state.S
        self.B += state.B
        self.log_density.append(state.log_density)
        self.shares.append(state.shares)
        if state.parts:
            F = state.F - state.F.mean(0)
            self.effects.append(F[self.watched] @ contrasts(state.K).T)
        if self.n % self.thin == 0:
            logits = state.eta[self.rows] @ contrasts(state.K)
            parts = tuple(map(_single, state.parts))
            self.snapshots.append(
                Snapshot(state.mu, state.S, state.B, logits.astype(np.float16), parts)
            )

    def watch(self) -> Watch:
        K = self.eta.shape[1]
        effects = np.array(self.effects) if self.effects else np.empty((self.n, 0, K))
        return Watch(np.array(self.log_density), np.array(self.shares), effects)

    def draws(self, chain: int) -> Draws:
        shots, p = self.snapshots, self.eta.shape[1] - 1
        n, n_parts = len(shots), len(shots[0].parts) if shots else 0
        return Draws(
            chain=np.full(n, chain),
            mu=np.array([shot.mu for shot in shots]).reshape(n, p),
            S=np.array([shot.S for shot in shots]).reshape(n, p, p),
            B=np.array([shot.B for shot in shots]).reshape(n, p, p),
            rows=self.rows,
            logits=np.array([shot.logits for shot in shots]).reshape(n, len(self.rows), p),
            parts=tuple(
                stacked([shot.parts[i] for shot in shots], np.array) for i in range(n_parts)
            ),
        )


def _single(part: Part) -> Part:
    """In single precision."""
    return mapped(part, lambda X: X.astype(np.float32))


def mapped(part: Part, function: Callable[[Array], Array]) -> Part:
    """The part with a function applied to each of its arrays."""
    return Part(
        None if part.weights is None else function(part.weights),
        None if part.own is None else function(part.own),
        tuple(map(function, part.graphs)),
    )


def turned(draws: Draws, turn: Array) -> Draws:
    """The draws with contrasts U turn (p, q) in place of U: of topics in another order, or of some of them."""
    if np.array_equal(turn, np.eye(len(turn))):
        return draws
    return draws._replace(
        mu=draws.mu @ turn,
        S=turn.T @ draws.S @ turn,
        B=turn.T @ draws.B @ turn,
        logits=(draws.logits.astype(np.float32) @ turn).astype(np.float16),
        parts=tuple(mapped(part, lambda X: (X @ turn).astype(np.float32)) for part in draws.parts),
    )


def stacked(parts: list[Part], join: Callable[[list[Any]], Array]) -> Part:
    """Several parts of one term as one part, their arrays joined."""
    first = parts[0]
    return Part(
        None if first.weights is None else join([part.weights for part in parts]),
        None if first.own is None else join([part.own for part in parts]),
        tuple(join([part.graphs[i] for part in parts]) for i in range(len(first.graphs))),
    )
