"""Expectation maximisation, as a list of named steps.

    topics -> documents -> means -> covariance -> strength -> kernel -> bound

Each step takes an `EmState` and returns a new one; none lowers the bound of its inference. Topics come first so
that the bound of an iteration is that of the very parameters it leaves behind.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gptm._basics.types import Array
from gptm.fitted import Reason
from gptm.inference.checkpoint import Checkpoint, NoCheckpoint, Tree, terms_from, terms_tree
from gptm.inference.em import lower_bound as bound
from gptm.inference.em import parameter_steps as mstep
from gptm.inference.em.document_step import Posterior, Prior, Statistics, infer_documents
from gptm.inference.kernel_evidence import learn_parameters
from gptm.inference.mean_solve import (
    Basis,
    Means,
    diagonalise,
    document_means,
    solve_means,
    view_logits,
)
from gptm.inference.problem import FitProblem
from gptm.kernels.weighted_terms import Terms
from gptm.operators import Operator, View

FIRST_INNER = 20  # inner iterations of a document step that starts from nothing
INNER = 2  # and of one that starts where the last one stopped: the topics move on anyway
INNER_TOL = 1e-6  # nats per token
SETTLING = 50  # rounds for the kernel's strength at the start, at most
SETTLED = 1e-4  # change of the kernel's share of the spread that is none


class EmState(NamedTuple):
    """Everything that changes during EM; a callback receives it after each iteration."""

    beta_T: Array  # (V, K) topics, columns sum to one
    Sigma: Array  # (K, K) topic covariance
    B: Array  # (K, K) coregionalisation
    strength: float  # b of B = b I or b Sigma
    posterior: Posterior  # lam, nu2 (D, K)
    terms: Terms | None  # the kernel, where parameters of its own are learnt
    operator: Operator  # how to solve with it
    last_view: (
        View | None
    )  # lam as the kernel sees it; dropped before the next iteration makes its own
    means: Means  # q(F) and mu
    F: Array  # (D, K) document means
    statistics: Statistics | None  # of the last document step
    bound: float
    iteration: int = 0
    kernel_learnt: int = 0  # the last iteration that looked at the kernel's parameters
    kernel_due: bool = False  # whether the next one has to

    @property
    def view(self) -> View:
        """lam as the kernel sees it."""
        if self.last_view is None:
            return view_logits(self.operator, self.posterior.lam)
        return self.last_view

    @property
    def components(self) -> Array:
        """(K, V) topics, rows sum to one. Words stay together in memory, as the document step reads them."""
        return self.beta_T.T


def update_topics(problem: FitProblem, state: EmState) -> EmState:
    """beta from the expected counts of the last document step; the start's own on the first pass."""
    if state.statistics is None:
        return state
    return state._replace(beta_T=mstep.update_beta(state.statistics.expected, problem.prior))


def update_documents(problem: FitProblem, state: EmState) -> EmState:
    """lam and nu2 of every document around mu + F, and the words' statistics."""
    K = len(state.Sigma)
    posterior, statistics = infer_documents(
        problem.counts,
        Prior(state.means.mu + state.F, state.means.basis.T, np.ones(K)),
        state.beta_T,
        state.posterior,
        max_inner=FIRST_INNER if state.statistics is None else INNER,
        tol=INNER_TOL,
        n_jobs=problem.n_jobs,
        tally=problem.tally,
    )
    view = view_logits(state.operator, posterior.lam)
    return state._replace(posterior=posterior, statistics=statistics, last_view=view)


def update_means(problem: FitProblem, state: EmState, basis: Basis | None = None) -> EmState:
    """q(F), or F, and mu at their joint optimum for the present Sigma and B; `basis` is theirs if they are new."""
    basis = state.means.basis if basis is None else basis
    means = solve_means(state.operator, state.view, _given_mean(problem, state), basis)
    return state._replace(means=means)


def _given_mean(problem: FitProblem, state: EmState) -> Array | None:
    return None if problem.fit_mean else np.zeros(len(state.Sigma))


def update_covariance(problem: FitProblem, state: EmState) -> EmState:
    """Sigma for q(F) as it stands, then q(F) again."""
    if not problem.learn_covariance:
        return state
    means, nu2 = state.means, state.posterior.nu2
    shared = problem.coregionalization == "shared"
    if problem.inference == "map":
        if shared:
            Sigma = mstep.update_Sigma_map_shared(means, nu2, problem.rank)
        else:
            Sigma = mstep.update_Sigma_map(means, nu2)
    else:
        Sigma = (mstep.update_Sigma_shared if shared else mstep.update_Sigma)(means, nu2)
    B = state.strength * Sigma if shared else state.B
    return update_means(problem, state._replace(Sigma=Sigma, B=B), diagonalise(Sigma, B))


def update_strength(problem: FitProblem, state: EmState) -> EmState:
    """B, or its one factor b, then q(F) again."""
    if not problem.learn_strength or problem.coregionalization == "none":
        return state
    if problem.coregionalization == "free":
        B = mstep.update_B(state.means)
        return update_means(problem, state._replace(B=B), diagonalise(state.Sigma, B))
    return _stronger(problem, state, mstep.strength_ratio(state.means))


def _stronger(problem: FitProblem, state: EmState, ratio: float) -> EmState:
    """The state with B times `ratio`, and q(F) for it."""
    basis = state.means.basis
    state = state._replace(strength=ratio * state.strength, B=ratio * state.B)
    return update_means(problem, state, basis._replace(b=ratio * basis.b))


def update_kernel(problem: FitProblem, state: EmState) -> EmState:
    """Weights, length-scales and so on by their evidence, at iterations 2, 4, 8, ...: they settle early."""
    due = state.kernel_due or (state.iteration > 1 and state.iteration & (state.iteration - 1) == 0)
    if state.terms is None or not due or len(problem.origin) == 0:
        return state
    mu = _given_mean(problem, state)
    terms, operator, view, means = learn_parameters(
        state.terms, state.operator, state.view, mu, state.means.basis, problem.origin
    )
    return state._replace(
        terms=terms,
        operator=operator,
        last_view=view,
        means=means,
        kernel_learnt=state.iteration,
        kernel_due=False,
    )


def measure_bound(problem: FitProblem, state: EmState) -> EmState:
    """F for the next prior, and the bound."""
    assert state.statistics is not None
    words = float(state.statistics.terms.sum())
    if problem.inference == "map" and problem.coregionalization != "none":
        value = bound.map_bound(state.operator, state.means, state.posterior, words, state.B)
    else:
        value = bound.variational_bound(state.operator, state.means, state.posterior, words)
    value += bound.log_prior_of_topics(state.beta_T, problem.prior)
    return state._replace(bound=value, F=document_means(state.view, state.means))


STEPS: tuple[Callable[[FitProblem, EmState], EmState], ...] = (
    update_topics,
    update_documents,
    update_means,
    update_covariance,
    update_strength,
    update_kernel,
    measure_bound,
)


def initial_state(
    problem: FitProblem,
    beta_T: Array,
    posterior: Posterior | None = None,
    *,
    Sigma: Array | None = None,
    B: Array | None = None,
    strength: float | None = None,
) -> EmState:
    """The state before the first iteration, from topics and whatever else is given.

    Without Sigma the spread of the given posterior stands in for it; without B the kernel starts at b = 1,
    or, where its strength is learnt, with the same share of that spread as the noise.
    """
    D, K = problem.operator.n, beta_T.shape[1]
    open_strength = (
        posterior is not None and B is None and strength is None and problem.learn_strength
    )
    if posterior is None:
        spread, posterior = np.eye(K), Posterior(np.zeros((D, K)), np.ones((D, K)))
    else:
        centred = posterior.lam - (posterior.lam.mean(0) if problem.fit_mean else 0.0)
        spread = (centred.T @ centred + np.diag(posterior.nu2.sum(0))) / D
    if Sigma is None:
        Sigma = spread if problem.learn_covariance else np.eye(K)
    if strength is None:
        learnt = problem.learn_strength and problem.coregionalization == "identity"
        strength = float(np.trace(Sigma) / K) if learnt else 1.0
    if B is None:
        B = _initial_B(problem, Sigma, strength)
    view = view_logits(problem.operator, posterior.lam)
    mu = None if problem.fit_mean else np.zeros(K)
    means = solve_means(problem.operator, view, mu, diagonalise(Sigma, B))
    state = EmState(
        beta_T,
        Sigma,
        B,
        strength,
        posterior,
        problem.terms,
        problem.operator,
        view,
        means,
        document_means(view, means),
        statistics=None,
        bound=-np.inf,
    )
    return settle_strength(problem, state) if open_strength else state


def settle_strength(problem: FitProblem, state: EmState) -> EmState:
    """Sigma and B that fit the documents of the start, before any document moves.

    An irrelevant kernel then has no strength left. With half of the spread, as at first, it would pull the documents
    together for some iterations, and EM would end in a worse optimum than without the kernel.
    """
    share = np.inf
    for _ in range(SETTLING):
        state = update_strength(problem, update_covariance(problem, state))
        before, share = share, np.trace(state.B) / np.trace(state.B + state.Sigma)
        if abs(share - before) < SETTLED:
            break
    return state._replace(F=document_means(state.view, state.means))


def _initial_B(problem: FitProblem, Sigma: Array, strength: float) -> Array:
    if problem.coregionalization == "none":
        return np.zeros_like(Sigma)
    if problem.coregionalization == "shared":
        return strength * Sigma
    if problem.coregionalization == "free" and problem.learn_strength:
        return Sigma.copy()
    return strength * np.eye(len(Sigma))


def advance(problem: FitProblem, state: EmState) -> EmState:
    """The state after one pass over the steps."""
    state = state._replace(iteration=state.iteration + 1)
    for step in STEPS:
        state = step(problem, state)
    return state


def normalised(problem: FitProblem, state: EmState) -> EmState:
    """The same model with the kernel at a mean variance of one, and its strength where it belongs: in B."""
    if state.terms is None or state.terms is problem.terms:
        return state
    terms, factor = state.terms.normalised()
    operator, view = terms.operator(state.operator), state.view
    state = state._replace(terms=terms, operator=operator, last_view=operator.view(view.Y, view))
    return _stronger(problem, state, factor)


class EmResult(NamedTuple):
    """Where EM ended, and why."""

    state: EmState
    bounds: list[float]  # one per iteration
    reason: Reason


def run(
    problem: FitProblem,
    state: EmState | None,
    *,
    max_iter: int,
    tol: float,
    after_iteration: Callable[[int, EmState], bool],
    checkpoint: Checkpoint | None = None,
) -> EmResult:
    """Iterate until the bound rises by less than `tol` of its value, the kernel's parameters included.

    `after_iteration(iteration, state)` stops it when it returns True. Ctrl-C leaves the state of the last
    complete iteration.
    """
    checkpoint = checkpoint or NoCheckpoint()
    bounds: list[float] = []
    if (tree := checkpoint.read("em")) is not None:
        state, bounds = state_from(problem, tree["state"]), tree["bounds"].tolist()
    assert state is not None
    try:
        for iteration in range(len(bounds) + 1, max_iter + 1):
            if checkpoint.due():
                _write(checkpoint, state, bounds)
            state = state._replace(last_view=None)  # two views at once would be memory for nothing
            state = advance(problem, state)
            bounds.append(state.bound)
            if after_iteration(iteration, state):
                return EmResult(state, bounds, "callback")
            if iteration > 1 and abs(bounds[-1] - bounds[-2]) <= tol * abs(bounds[-2]):
                if len(problem.origin) == 0 or state.kernel_learnt >= state.iteration - 1:
                    return EmResult(state, bounds, "converged")
                state = state._replace(kernel_due=True)
    except KeyboardInterrupt:
        if len(bounds) == state.iteration:  # else it came between the two
            _write(checkpoint, state, bounds)
        return EmResult(state, bounds, "interrupt")
    return EmResult(state, bounds, "max_iter")


def _write(checkpoint: Checkpoint, state: EmState, bounds: list[float]) -> None:
    checkpoint.write("em", {"state": state_tree(state), "bounds": np.array(bounds)})


def state_tree(state: EmState) -> Tree:
    """A state as a tree, without what can be rebuilt from it: the operator, and its view of the logits."""
    tree: dict[str, Any] = state._asdict()
    del tree["operator"], tree["last_view"]
    tree["posterior"] = state.posterior._asdict()
    tree["terms"] = terms_tree(state.terms)
    tree["means"] = state.means._asdict() | {"basis": state.means.basis._asdict()}
    tree["statistics"] = None if state.statistics is None else state.statistics._asdict()
    return tree


def state_from(problem: FitProblem, tree: Tree) -> EmState:
    terms, means, statistics = (
        terms_from(tree["terms"], problem.terms),
        tree["means"],
        tree["statistics"],
    )
    rebuilt = {
        "posterior": Posterior(**tree["posterior"]),
        "terms": terms,
        "operator": problem.operator if terms is None else terms.operator(),
        "last_view": None,
        "means": Means(**means | {"basis": Basis(**means["basis"])}),
        "statistics": None if statistics is None else Statistics(**statistics),
    }
    return EmState(**tree | rebuilt)
