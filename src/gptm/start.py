"""Where chains and EM start: topics, and where known the documents."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from gptm import em
from gptm._types import Array
from gptm.gibbs import Chain
from gptm.mstep import update_beta
from gptm.sampler.urn import Urn, first_urn
from gptm.seeds import grow, plant
from gptm.spectral import spectral_topics

# Where tokens are few, single Gibbs runs differ much, and their likelihood tells which are bad. Where they are many, it
# tells no more than chance, and sweeps are worth more than a choice (measured).
CHAINS = 8  # runs to choose from
MANY_TOKENS = 400_000  # beyond, there is one run
SWEEPS = 25  # of each run
FEW_TOKENS = 100_000  # up to here, twice as many sweeps
MORE_SWEEPS = 100  # of the best one
_HANDFUL = 5  # documents that a random topic is made of
_FLOOR = 1e-12  # a zero in the start would stay zero for ever


class Start(NamedTuple):
    """Where an inference begins."""

    state: em.State
    word_topic: Array  # (V, K) tokens of words in topics
    urn: Urn  # the topics' common prior
    complete: bool = True  # False when it was interrupted

    @classmethod
    def at(cls, problem: em.Problem, state: em.State, complete: bool = True) -> "Start":
        """A start that knows the topics, not the tokens in them: these are taken to be even."""
        totals = np.asarray(problem.counts.sum(0)).ravel()
        size = totals.sum() / state.beta_T.shape[1]
        return cls(state, size * state.beta_T, first_urn(totals), complete)


def make_start(
    init: str | Array, problem: em.Problem, n_components: int, rng: np.random.RandomState
) -> Start:
    """The start that `init` names, or the given (K, V) topics."""
    counts = problem.counts
    if not isinstance(init, str):  # as users order them
        beta_T = np.asarray(init, dtype=np.float64).T
        return Start.at(problem, em.initial_state(problem, _floored(beta_T)))
    if init == "gibbs":
        return _best_gibbs_run(problem, n_components, rng)
    complete = True
    if init == "random":
        beta_T = grow(_random_topics(counts, n_components, rng), problem.seeds, counts)
    else:
        try:
            beta_T = plant(spectral_topics(counts, n_components), problem.seeds, counts.sum())
        except KeyboardInterrupt:
            beta_T, complete = _random_topics(counts, n_components, rng), False
    return Start.at(problem, em.initial_state(problem, _floored(beta_T)), complete)


def _best_gibbs_run(problem: em.Problem, n_components: int, rng: np.random.RandomState) -> Start:
    """The likeliest of a few Gibbs runs, with some more sweeps: the same with a kernel and without."""
    n_tokens = problem.counts.sum()
    n_chains, n_sweeps = CHAINS, SWEEPS if n_tokens > FEW_TOKENS else 2 * SWEEPS
    if n_tokens > MANY_TOKENS:
        n_chains, n_sweeps = 1, 4 * SWEEPS
    best: Chain | None = None
    complete = True
    for seed in rng.randint(2**31, size=n_chains):
        chain = Chain(problem.counts, n_components, np.random.RandomState(seed), problem.seeds)
        complete = chain.sweep(n_sweeps, problem.n_jobs)
        if best is None or (complete and chain.log_likelihood() > best.log_likelihood()):
            best = chain
        if not complete:
            break
    assert best is not None
    complete = complete and best.sweep(MORE_SWEEPS, problem.n_jobs)
    found = best.start()
    beta_T = _floored(update_beta(found.word_topic, problem.prior))
    state = em.initial_state(problem, beta_T, found.posterior)
    return Start(state, found.word_topic, found.urn, complete)


def _floored(beta_T: Array) -> Array:
    beta_T = beta_T / beta_T.sum(0) + _FLOOR
    return np.ascontiguousarray(beta_T / beta_T.sum(0))


def _random_topics(counts: csr_matrix, n_components: int, rng: np.random.RandomState) -> Array:
    """Topics from random handfuls of documents over the words' overall frequency."""
    D, V = counts.shape
    overall = (np.asarray(counts.sum(0)).ravel() + 1.0) / (counts.sum() + V)
    chosen = rng.randint(D, size=(n_components, _HANDFUL))
    handfuls = np.stack([np.asarray(counts[rows].sum(0)).ravel() for rows in chosen], axis=1)
    noise = rng.gamma(1.0, size=(V, n_components))  # tells topics apart where documents do not
    return np.asarray(handfuls + overall[:, None] * noise * (1.0 + handfuls.sum(0)))
