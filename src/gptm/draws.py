"""The posterior of F that knows how little words say, and draws from it.

q(F) takes the documents' logits as observed, and its intervals are too narrow by far. Here the words of document d
are a Gaussian observation of eta_d with information I_d, and what is left is a linear Gaussian model,

    F ~ N(0, 𝒦 (x) B),   eta_d ~ N(mu + F_d, Sigma),   words_d see eta_d with information I_d,

whose posterior is exact: with eta integrated out, F is seen with precision W_d = I_d - I_d (P + I_d)^-1 I_d.

In coordinates in which B is the identity and the mean of W_d is diagonal, a draw is a prior draw less what data drawn
from it say of it (Matheron's rule). Means and draws both take v = (I + W 𝒦)^-1 s: in weight space where there are
few features and nothing else, and otherwise by conjugate gradients on C 𝒦 C + I with C_d the root of W_d,
preconditioned by the fit's own solver at the mean precision.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gptm._types import Array
from gptm._warnings import warn
from gptm.information import Words
from gptm.operators import Operator, Structure
from gptm.weightspace import Stacked, weight_space

_ENTRIES = 4 * 10**6  # of documents x topics x draws at a time
# Relative residuals: the kernel's leading directions make much of what is left; draws err by some per cent anyway.
_TOL_MEAN, _TOL_DRAWS = 1e-8, 1e-5
_MAX_STEPS = 200


class Deviation(NamedTuple):
    """Some draws of one term of the kernel, as far as they are away from its mean."""

    weights: Array | None  # (r, draws, K) of the term's features
    own: Array | None  # (D, draws, K) what documents have for themselves
    graphs: tuple[Array, ...] = ()  # (D, draws, K) of each graph

    def mapped(self, function: Callable[[Array], Array]) -> "Deviation":
        """The same with a function of each of its parts."""
        return Deviation(
            None if self.weights is None else function(self.weights),
            None if self.own is None else function(self.own),
            tuple(map(function, self.graphs)),
        )


class Gaussian(NamedTuple):
    """The parameters of the linear Gaussian model."""

    mu: Array
    Sigma: Array
    B: Array


class Posterior:
    """F given the words, for given parameters.

    Parameters
    ----------
    operator : of the whole kernel
    terms : of the kernel
    words : as `Words`
    parameters : as `Gaussian`
    """

    def __init__(self, operator: Operator, terms: Stacked, words: Words, parameters: Gaussian):
        self.operator, self.structures = operator, terms.structures
        self.words, self.parameters = words, parameters
        P = np.linalg.inv(parameters.Sigma)
        self.spread = np.linalg.inv(P + words.information)  # (D, K, K) of eta given F
        I_spread = words.information @ self.spread
        W = words.information - I_spread @ words.information
        self.precision = 0.5 * (W + W.transpose(0, 2, 1))  # (D, K, K) W
        self.seen = np.einsum("dkl,dl->dk", self.spread, words.gradient) @ P  # W times the data
        values, vectors = np.linalg.eigh(parameters.B)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        inside = root.T @ self.precision @ root
        strength, turn = np.linalg.eigh(inside.mean(0))
        self.strength = np.maximum(strength, 0.0)
        self.back = (root @ turn).T  # (K, K) from these coordinates to the topics'
        self.W = turn.T @ inside @ turn
        values, vectors = np.linalg.eigh(self.W)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        self.C = roots @ vectors.transpose(0, 2, 1)
        self.weights = weight_space(terms, self.W, float(self.strength.max()))

    def mean(self) -> tuple[Array, Array]:
        """(D, K) each, F and, in these coordinates, v: alpha is v back, and F is 𝒦 alpha."""
        shifted = self.seen - np.einsum("dkl,l->dk", self.precision, self.parameters.mu)
        v = self._dual((shifted @ self.back.T)[:, None], _TOL_MEAN)
        return (self._kernel(v) @ self.back)[:, 0], v[:, 0]

    def batches(self, n_draws: int, seed: int = 0) -> Iterator[list[Deviation]]:
        """One deviation per term, for some of the draws at a time."""
        D, K = self.C.shape[:2]
        size = int(np.clip(_ENTRIES // max(D * K, 1), 1, n_draws))
        rng = np.random.default_rng(seed)
        for start in range(0, n_draws, size):
            prior, v = self._draw(min(size, n_draws - start), rng)
            yield [
                self._term(part, drawn, v)
                for part, drawn in zip(self.structures, prior, strict=True)
            ]

    def simulated(self, n_draws: int, seed: int = 0) -> tuple[Array, Array]:
        """(D, draws, K) each: v of data from the model, as alpha is of the words; and F's deviation in that draw."""
        prior, v = self._draw(n_draws, np.random.default_rng(seed))
        away = _total(self.structures, prior, v.shape) - self._kernel(v)
        return v, away @ self.back

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[list[Deviation], Array]:
        """Prior draws of the terms, and v (D, draws, K): less 𝒦 v they are posterior draws around zero."""
        D, K = self.C.shape[:2]
        prior = [_prior_draw(part, n * K, rng) for part in self.structures]
        h = _total(self.structures, prior, (D, n, K))
        s = h @ self.W + rng.standard_normal((D, n, K)) @ self.C
        return prior, self._dual(s, _TOL_DRAWS)

    def _dual(self, s: Array, tol: float) -> Array:
        """(I + W 𝒦)^-1 s for (D, draws, K)."""
        if self.weights is not None:
            return s - self.weights.fitted(s) @ self.W
        return s - self._solve(self._kernel(s) @ self.C, tol) @ self.C

    def _term(self, part: Structure, prior: Deviation, v: Array) -> Deviation:
        D, n, K = v.shape
        flat = v.reshape(D, n * K)
        weights = own = None
        if prior.weights is not None:
            assert part.features is not None
            weights = prior.weights - part.features.t_dot(flat)
        if prior.own is not None:
            own = prior.own - part.own[:, None] * flat
        graphs = tuple(
            drawn - graph.network.apply(graph.function, flat)
            for drawn, graph in zip(prior.graphs, part.graphs, strict=True)
        )
        found = Deviation(weights, own, graphs)
        return found.mapped(lambda X: X.reshape(len(X), n, K) @ self.back)

    def _kernel(self, X: Array) -> Array:
        """𝒦 X for (D, draws, K)."""
        D, n, K = X.shape
        return self.operator.matmul(X.reshape(D, n * K)).reshape(D, n, K)

    def _solve(self, X: Array, tol: float) -> Array:
        """(C 𝒦 C + I)^-1 X for (D, draws, K), by conjugate gradients, all draws at once."""
        D, n, K = X.shape
        b = np.tile(self.strength, n)

        def product(Z: Array) -> Array:
            return self._kernel(Z @ self.C) @ self.C + Z

        def precondition(Z: Array) -> Array:
            return self.operator.solve(b, Z.reshape(D, n * K)).reshape(D, n, K)

        return conjugate_gradients(product, precondition, X, tol)


def conjugate_gradients(
    product: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    X: Array,
    tol: float,
) -> Array:
    """The solution of a symmetric positive definite system, for each X[:, s] on its own."""

    def dot(A: Array, Z: Array) -> Array:
        return np.einsum("dsk,dsk->s", A, Z)[None, :, None]

    solution, residual = np.zeros_like(X), X.copy()
    direction = z = precondition(residual)
    size = dot(residual, z)
    target = tol**2 * dot(X, X)
    for _ in range(_MAX_STEPS):
        if (dot(residual, residual) <= target).all():
            return solution
        image = product(direction)
        step = size / np.maximum(dot(direction, image), np.finfo(float).tiny)
        solution = solution + step * direction
        residual = residual - step * image
        z = precondition(residual)
        before, size = size, dot(residual, z)
        direction = z + size / np.maximum(before, np.finfo(float).tiny) * direction
    if (dot(residual, residual) > target).any():
        # Without a number, so that it is told once, however often it happens while parameters are refitted.
        warn(
            f"error bars: {_MAX_STEPS} steps of conjugate gradients are not enough, so the bands may be less accurate. "
            "The kernel is very strong beside what the words say.",
            ConvergenceWarning,
        )
    return solution


def _total(structures: list[Structure], drawn: list[Deviation], shape: tuple[int, ...]) -> Array:
    """(D, draws, K) the sum of all terms."""
    total = np.zeros((shape[0], shape[1] * shape[2]))
    for part, one in zip(structures, drawn, strict=True):
        if part.features is not None and one.weights is not None:
            total += part.features.dot(one.weights)
        for rest in (one.own, *one.graphs):
            if rest is not None:
                total += rest
    return total.reshape(shape)


def _prior_draw(part: Structure, n: int, rng: np.random.Generator) -> Deviation:
    """A prior draw of one term; None for what it has not."""
    weights = own = None
    if part.features is not None:
        weights = rng.standard_normal((part.features.width, n))
    if part.own.any():
        own = np.sqrt(part.own)[:, None] * rng.standard_normal((part.n, n))
    graphs = []
    for graph in part.graphs:

        def root(x: Array, function: Callable[[Array], Array] = graph.function) -> Array:
            return np.sqrt(np.maximum(function(x), 0.0))

        graphs.append(graph.network.apply(root, rng.standard_normal((part.n, n))))
    return Deviation(weights, own, tuple(graphs))
