"""Where chains and EM start: topics, and where known the documents."""

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.inference.em import loop as em
from gptm.inference.em.parameter_steps import update_beta
from gptm.inference.problem import Problem
from gptm.inference.start_point import Start
from gptm.starts.anchor_words import spectral_topics
from gptm.starts.lda import Chain
from gptm.starts.seed_words import grow, plant

# Where tokens are few, single Gibbs runs differ much, and how well they fit the words tells which have missed a topic
# (measured; the joint probability of words and their topics does not). Where tokens are many, runs differ less, and
# sweeps are worth more than a choice.
RUNS = 8  # to begin with; after each of two rounds the better half of them goes on, in the end the best
MANY_TOKENS = 400_000  # beyond, there is one run
WORK = 7e7  # tokens drawn in all runs,
SWEEPS = (200, 1200)  # but not in fewer or more sweeps than that,
PER_TOPIC = (
    2.5  # nor in fewer than so many for each topic: many topics take long to find their places
)
ROUND, LAST = (
    0.06,
    0.28,
)  # of these sweeps: each run's in a round, and those of the best run after that
_HANDFUL = 5  # documents that a random topic is made of
_FLOOR = 1e-12  # a zero in the start would stay zero for ever


def make_start(
    init: str | Array, problem: Problem, n_components: int, rng: np.random.RandomState
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


def _best_gibbs_run(problem: Problem, n_components: int, rng: np.random.RandomState) -> Start:
    """The best of a few Gibbs runs, with some more sweeps: the same with a kernel and without."""
    n_tokens = problem.counts.sum()
    least, most = SWEEPS
    least += round(PER_TOPIC * n_components)
    total = int(np.clip(WORK / max(n_tokens, 1.0), least, max(most, least)))
    several = n_tokens <= MANY_TOKENS
    runs: list[Chain] = []
    try:
        for seed in rng.randint(2**31, size=RUNS if several else 1):
            own = np.random.RandomState(seed)
            runs.append(Chain(problem.counts, n_components, own, problem.seeds))
        complete = True
        for left in (RUNS // 2, 1) if several else ():
            sweeps = round(ROUND * total)
            complete = complete and all(run.sweep(sweeps, problem.n_jobs) for run in runs)
            runs = sorted(runs, key=lambda run: -run.fit())[:left]
        sweeps = round(LAST * total) if several else total
        complete = complete and runs[0].sweep(sweeps, problem.n_jobs)
    except KeyboardInterrupt:  # between two sweeps
        if not runs:
            raise
        complete = False
    best = runs[0]
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
