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
    absent: int = (
        0  # words that no document has, for which the last word stands; 0 if it stands for itself
    )

    @property
    def pseudo_counts(self) -> Array:
        """(V,) tau m."""
        return self.tau * self.base

    @property
    def n_words(self) -> int:
        return len(self.base) + max(self.absent - 1, 0)


def first_urn(totals: Array, absent: int = 0) -> Urn:
    """An urn to begin with, from how often each word occurs."""
    base = _for_all(np.asarray(totals, dtype=np.float64), 0.5, absent)
    urn = Urn(1.0, base / base.sum(), 1.0, absent)
    return urn._replace(tau=_START * urn.n_words)


def _for_all(values: Array, each: float, absent: int) -> Array:
    """The values with so much more for each word, and for each that the last one stands for."""
    more = values + each
    if absent:
        more[-1] += (absent - 1) * each
    return more


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
    even = draw_even(urn.even, opened, urn.n_words, rng)
    base = draw_base(_for_all(opened, even, urn.absent), rng)
    return Urn(tau, base / base.sum(), even, urn.absent)


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


def draw_even(even: float, tables: Array, n_words: int, rng: np.random.Generator) -> float:
    """`even` given the tables of each word that has any, m integrated out."""
    return draw_concentration(even, tables[None], n_words, rng, EVEN_RATE)


def draw_concentration(
    a: float, counts: Array, C: int, rng: np.random.Generator, rate: float
) -> float:
    """a, with an exponential prior, given rows of counts whose shares have a Dirichlet(a, ..., a) prior.

    Counts are whole numbers; of the C columns those may be left out that have none.
    """
    n = len(counts)
    cells, of_cells = _how_often(counts)
    totals, of_totals = _how_often(counts.sum(1, keepdims=True, dtype=np.float64))

    def log_density(x: float) -> float:
        a = np.exp(x)
        value = of_cells @ (gammaln(cells + a) - gammaln(a))
        value += n * gammaln(C * a) - of_totals @ gammaln(totals + C * a)
        return float(x - rate * a + value)

    return float(np.exp(slice_step(log_density, np.log(a), rng)))


def _how_often(counts: Array) -> tuple[Array, Array]:
    """The values other than zero among whole numbers, and how often each occurs."""
    often = np.zeros(int(counts.max(initial=0.0)) + 1)
    _hot.count_values(counts, often)
    values = 1 + np.flatnonzero(often[1:])
    return values.astype(np.float64), often[values]
