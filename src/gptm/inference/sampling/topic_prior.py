"""The Dirichlet prior that topics share, learnt as a whole from the counts of words in topics.

    beta_k ~ Dirichlet(tau m),   m ~ Dirichlet(even, ..., even),   tau and even exponential

All three matter: with an `even` fixed too low m follows every word that a topic happens to have, tau becomes too large,
and documents seem to differ more than they do; fixed too high it is the other way round.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from gptm import _hot
from gptm._basics.parallel import blocks, ordered_map
from gptm._basics.types import Array
from gptm.inference.sampling.scalars import slice_step

RATE = 1e-4  # of the exponential prior of tau
EVEN_RATE = 1.0  # and of that of even
ROWS = 512  # words of a piece of work
_LEAST = 1e-12  # of m, so that no word is impossible
_START = 0.1  # of tau, per word


class Urn(NamedTuple):
    """The topics' common prior."""

    tau: float  # total pseudo-count
    base: Array  # (V,) m, which sums to one
    even: float  # pseudo-count of each word in the prior of m

    @property
    def pseudo_counts(self) -> Array:
        """(V,) tau m."""
        return self.tau * self.base


def first_urn(totals: Array) -> Urn:
    """An urn to begin with, from how often each word occurs."""
    base = np.asarray(totals, dtype=np.float64) + 0.5
    return Urn(_START * len(base), base / base.sum(), 1.0)


def random_key(rng: np.random.Generator) -> np.uint64:
    """A key for compiled loops to draw random numbers from."""
    return np.uint64(rng.integers(2**63))


def draw_urn(counts: Array, urn: Urn, rng: np.random.Generator, n_jobs: int | None) -> Urn:
    """The urn given counts (V, K) of words in topics, by its tables (Antoniak): each stands for a draw from m.

    Pseudo-counts of seed words count like tokens.
    """
    key, prior, opened = random_key(rng), urn.pseudo_counts, np.empty(len(urn.base))

    def run(rows: slice, checkpoint: Callable[[], None]) -> None:
        checkpoint()
        _hot.draw_tables(key, rows.start, counts[rows], prior[rows], opened[rows])

    ordered_map(run, blocks(0, len(opened), ROWS), n_jobs)
    tau = draw_tau(urn.tau, float(opened.sum()), counts.sum(0, dtype=np.float64), rng)
    even = draw_even(urn.even, opened, rng)
    base = draw_base(opened + even, rng)
    return Urn(tau, base / base.sum(), even)


def draw_base(pseudo_counts: Array, rng: np.random.Generator) -> Array:
    """A draw of m given the pseudo-counts of its words, none of them nought.

    Where all pseudo-counts are tiny, the gammas may all underflow; one word has the whole probability then.
    """
    base = rng.standard_gamma(pseudo_counts)
    if base.sum() < np.finfo(float).tiny:
        base = rng.multinomial(1, pseudo_counts / pseudo_counts.sum()).astype(np.float64)
    return np.asarray(np.maximum(base / base.sum(), _LEAST))


def draw_tau(tau: float, tables: float, n: Array, rng: np.random.Generator) -> float:
    """tau given the number of tables and the topics' sizes n (K,): tau^tables times a Dirichlet's normalisers."""

    def log_density(x: float) -> float:
        normalisers = (gammaln(np.exp(x)) - gammaln(np.exp(x) + n)).sum()
        return float((tables + 1.0) * x - RATE * np.exp(x) + normalisers)

    return float(np.exp(slice_step(log_density, np.log(tau), rng)))


def draw_even(even: float, tables: Array, rng: np.random.Generator) -> float:
    """`even` given the tables (V,) of each word, m integrated out."""
    return draw_concentration(even, tables[None], rng, EVEN_RATE)


def draw_concentration(a: float, counts: Array, rng: np.random.Generator, rate: float) -> float:
    """a, with an exponential prior, given rows of counts (n, C) whose shares have a Dirichlet(a, ..., a) prior."""
    n, C = counts.shape
    cells, of_cells = np.unique(counts, return_counts=True)
    totals, of_totals = np.unique(counts.sum(1), return_counts=True)

    def log_density(x: float) -> float:
        a = np.exp(x)
        value = of_cells @ gammaln(cells + a) - n * C * gammaln(a)
        value += n * gammaln(C * a) - of_totals @ gammaln(totals + C * a)
        return float(x - rate * a + value)

    return float(np.exp(slice_step(log_density, np.log(a), rng)))
