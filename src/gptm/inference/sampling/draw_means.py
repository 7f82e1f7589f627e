"""The overall mean and the document means F, drawn together, by perturbing and solving.

In coordinates in which S is the identity and B is diag(b), the columns of U are independent regressions with kernel
b_i 𝒦 and unit noise. Take a draw from the prior and data simulated from it. Add to the draw what a regression on the
difference between the real and the simulated data predicts: the sum is a draw from the posterior (Matheron's rule). It
takes one shifted solve per column, which every operator has, so it works for all kernels and their sums.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gptm._basics.types import Array
from gptm.fitted import Part
from gptm.inference.contrasts import contrast_rows
from gptm.inference.mean_solve import diagonalise
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.state import ChainState
from gptm.kernels.weighted_terms import terms_of
from gptm.operators import Structure, solved_variances

EVERY = (
    3  # sweeps between two draws of F over graphs, which take long: tokens mix more slowly anyway
)


class White(NamedTuple):
    """A term's prior, whitened: independent standard normals behind a draw of it."""

    weights: Array | None  # (r, p)
    own: Array | None  # (D, p)
    graphs: tuple[Array, ...]  # (D, p) each


def draw_means(problem: FitProblem, state: ChainState, rng: np.random.Generator) -> ChainState:
    """mu with a flat prior, and F, given the documents' logits."""
    U = contrast_rows(state.eta)
    if problem.coregionalization == "none" or state.K < 2:
        return _draw_mu(problem, state, U, rng)
    structures = term_structures(problem, state)
    costly = any(part.graphs for part in structures)
    waits = (costly and state.sweep % EVERY) or not state.draws_matrices
    if state.parts and waits:
        return _draw_mu(problem, state, U - state.F, rng)
    basis = diagonalise(state.S, state.B)
    root, p, D = np.sqrt(basis.b), len(basis.b), len(U)
    white = [_white(part, p, rng) for part in structures]
    prior = [
        _coloured(part, normals, root) for part, normals in zip(structures, white, strict=True)
    ]
    noise = rng.standard_normal((D, p))
    left = (
        U @ basis.T
        - sum(total(part, draw) for part, draw in zip(structures, prior, strict=True))
        - noise
    )
    if problem.fit_mean:
        both = state.operator.solve(
            np.concatenate([basis.b, basis.b]), np.hstack([left, np.ones((D, p))])
        )
        of_data, of_ones = both[:, :p], both[:, p:]
        mu = of_data.sum(0) / of_ones.sum(0)
        v = of_data - mu * of_ones
    else:
        mu, v = np.zeros(p), state.operator.solve(basis.b, left)
    drawn = [
        _posterior(part, draw, normals, basis.b, root, v)
        for part, draw, normals in zip(structures, prior, white, strict=True)
    ]
    parts = tuple(_turned(draw, basis.T_inv) for draw, _ in drawn)
    energy = sum(squares for _, squares in drawn)
    F = sum(total(part, draw) for part, draw in zip(structures, parts, strict=True))
    return state._replace(
        mu=mu @ basis.T_inv,
        F=np.asarray(F),
        parts=parts,
        energy=basis.T_inv.T @ energy @ basis.T_inv,
        dimension=sum(_dimension(normals) for normals in white),
    )


def _draw_mu(
    problem: FitProblem, state: ChainState, U: Array, rng: np.random.Generator
) -> ChainState:
    """mu given F, which is taken off U."""
    if not problem.fit_mean:
        return state
    root = np.linalg.cholesky(state.S) if len(state.S) else state.S
    mu = U.mean(0) + root @ rng.standard_normal(len(state.S)) / np.sqrt(len(U))
    return state._replace(mu=mu)


def term_structures(problem: FitProblem, state: ChainState) -> list[Structure]:
    """What each term of the kernel is made of; together they are what the operator solves with."""
    bound = problem.bound if state.terms is None else state.terms.bound
    parts, solved = [part.structure for part in terms_of(bound)], solved_variances(bound.structure)
    own = bound.structure.own
    if solved is own:
        return parts
    ratio = np.divide(solved, own, out=np.ones_like(own), where=own > 0)
    return [part._replace(own=ratio * part.own) for part in parts]


def _white(part: Structure, p: int, rng: np.random.Generator) -> White:
    features = part.features
    return White(
        None if features is None else rng.standard_normal((features.width, p)),
        rng.standard_normal((part.n, p)) if part.own.any() else None,
        tuple(rng.standard_normal((part.n, p)) for _ in part.graphs),
    )


def _dimension(white: White) -> int:
    return sum(len(x) for x in (white.weights, white.own, *white.graphs) if x is not None)


def _coloured(part: Structure, white: White, root: Array) -> Part:
    """A draw from the prior b_i 𝒦 of one term."""
    return Part(
        None if white.weights is None else white.weights * root,
        None if white.own is None else np.sqrt(part.own)[:, None] * white.own * root,
        tuple(
            graph.network.apply(_root_of(graph.function), normals) * root
            for graph, normals in zip(part.graphs, white.graphs, strict=True)
        ),
    )


def _root_of(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: np.sqrt(np.maximum(function(x), 0.0))


def _posterior(
    part: Structure, prior: Part, white: White, b: Array, root: Array, v: Array
) -> tuple[Part, Array]:
    """The term given the data, and (p, p) the squares of its whitened weights, which vary as B does."""
    bv = b * v
    squares = np.zeros((len(b), len(b)))
    weights, own, graphs = prior.weights, prior.own, []
    if weights is not None:
        assert part.features is not None
        weights = weights + part.features.t_dot(bv)
        squares += weights.T @ weights
    if own is not None and white.own is not None:
        own = own + part.own[:, None] * bv
        alone = white.own * root + np.sqrt(part.own)[:, None] * bv
        squares += alone.T @ alone
    for graph, drawn, normals in zip(part.graphs, prior.graphs, white.graphs, strict=True):
        graphs.append(drawn + graph.network.apply(graph.function, bv))
        whitened = normals * root + graph.network.apply(_root_of(graph.function), bv)
        squares += whitened.T @ whitened
    return Part(weights, own, tuple(graphs)), squares


def _turned(part: Part, turn: Array) -> Part:
    return Part(
        None if part.weights is None else part.weights @ turn,
        None if part.own is None else part.own @ turn,
        tuple(values @ turn for values in part.graphs),
    )


def total(structure: Structure, part: Part) -> Array:
    """(D, p) a term at the training documents."""
    summands = [values for values in (part.own, *part.graphs) if values is not None]
    if part.weights is not None:
        assert structure.features is not None
        summands.append(structure.features.dot(part.weights))
    return np.asarray(sum(summands[1:], summands[0]))
