"""From starts to a fitted model: run the chains, match their topics, and take means."""

from collections.abc import Callable

import numpy as np

from gptm._basics.types import Array
from gptm.fitted import Draws, Fitted, Reason, TopicDraws
from gptm.inference.checkpoint import Checkpoint, NoCheckpoint
from gptm.inference.contrasts import contrasts, to_topics
from gptm.inference.mean_solve import (
    diagonalise,
    document_means,
    dual_coefficients,
    residuals,
    solve_means,
    view_logits,
)
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.align import alignments
from gptm.inference.sampling.chains import Chain, automatic_length, run_chains
from gptm.inference.sampling.convergence import diagnostics_table, watched
from gptm.inference.sampling.kept import Kept, stacked, turned
from gptm.inference.sampling.state import ChainState
from gptm.inference.sampling.sweeps import first_state
from gptm.inference.start_point import Start

TARGET = 100.0  # effective draws
_NARROWEST = 1e-8  # variance of a logit


def run_sampler(
    problem: FitProblem,
    starts: list[Start],
    seeds: list[int],
    *,
    n_components: int,
    max_iter: int | None,
    after_iteration: Callable[[int, ChainState], bool],
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """The posterior by Gibbs sampling, one chain from each start, or from a checkpoint."""
    length = automatic_length(problem.counts, n_components) if max_iter is None else max_iter
    chains = [
        Chain(seed, first_state(problem, start)._replace(limit=length), None, ())
        for seed, start in zip(seeds, starts, strict=False)
    ]
    starts.clear()  # their documents are as large as those of the chains
    result = run_chains(
        problem,
        chains,
        max_iter=length,
        target=TARGET,
        after_sweep=after_iteration,
        checkpoint=checkpoint or NoCheckpoint(),
    )
    kept = [chain.kept or only_state(problem, chain.state) for chain in result.chains]
    first = result.chains[0]
    return summarised(problem, first.state, kept, list(first.trace), result.reason)


def only_state(problem: FitProblem, state: ChainState) -> Kept:
    """The state itself, where a chain was interrupted before its first sweep."""
    kept = Kept(problem, state, 1, 1)
    kept.add(state)
    return kept


def summarised(
    problem: FitProblem, state: ChainState, kept: list[Kept], trace: list[float], reason: Reason
) -> Fitted:
    """The means of all chains' draws, as one fit."""
    orders = alignments([draws.beta_T for draws in kept])
    turns = [_turn(order) for order in orders]
    n = sum(draws.n for draws in kept)

    def mean(values: list[Array]) -> Array:
        return np.asarray(sum(values[1:], values[0]) / n)

    pairs = list(zip(kept, orders, strict=True))
    beta_T = mean([_ordered(draws.beta_T, order) for draws, order in pairs])
    lam = mean([_ordered(draws.eta, order) for draws, order in pairs])
    squares = mean([_ordered(draws.squares, order) for draws, order in pairs])
    S, B = (
        mean(
            [turn.T @ getattr(draws, name) @ turn for draws, turn in zip(kept, turns, strict=True)]
        )
        for name in ("S", "B")
    )
    Sigma, B = (
        to_topics(S),
        to_topics(B) if problem.coregionalization != "none" else 0.0 * to_topics(S),
    )
    view = view_logits(state.operator, lam)
    mu = None if problem.fit_mean else np.zeros(state.K)
    means = solve_means(state.operator, view, mu, diagonalise(Sigma, B))
    quantities = watched(kept)
    return Fitted(
        components=(beta_T / beta_T.sum(0)).T,
        mu=means.mu,
        Sigma=Sigma,
        B=B,
        lam=lam,
        nu2=np.maximum(squares - lam**2, _NARROWEST),
        F=document_means(view, means),
        alpha=dual_coefficients(residuals(view, means), means),
        lengths=problem.lengths,
        counts=problem.counts,
        bound=problem.bound if state.terms is None else state.terms.bound,
        joint=problem.joint,
        trace=np.array(trace),
        reason=reason,
        draws=pooled([turned(draws.draws(c), turns[c]) for c, draws in enumerate(kept)]),
        watched=quantities,
        diagnostics=diagnostics_table(quantities),
        topic_draws=_topic_draws(pairs),
    )


def _topic_draws(pairs: list[tuple[Kept, np.ndarray]]) -> TopicDraws | None:
    """The topics of a few sweeps of all chains, in one order."""
    topics = [beta_T[:, order] for draws, order in pairs for beta_T in draws.topics]
    return TopicDraws(np.arange(len(topics[0])), np.array(topics)) if topics else None


def _ordered(values: Array, order: np.ndarray) -> Array:
    """The columns in another order; no copy where it is the same."""
    return values if _is_same(order) else np.asarray(values[:, order])


def _is_same(order: np.ndarray) -> bool:
    return np.array_equal(order, np.arange(len(order)))


def _turn(order: np.ndarray) -> Array:
    """(p, p) the change of contrasts when topics are brought into another order: U becomes U turn."""
    H = contrasts(len(order))
    return np.eye(len(order) - 1) if _is_same(order) else np.asarray(H[order].T @ H)


def pooled(parts: list[Draws]) -> Draws:
    """The draws of all chains, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    names = ("chain", "mu", "S", "B", "logits")
    joined = {name: np.concatenate([getattr(draws, name) for draws in parts]) for name in names}
    terms = [
        stacked([draws.parts[i] for draws in parts], np.concatenate)
        for i in range(len(first.parts))
    ]
    return first._replace(**joined, parts=tuple(terms))
