"""The kernel's features given what words say of each document, in the space of their weights."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csc_matrix

from gptm._types import Array
from gptm.operators import APART, Features, Split, Structure, pointing, stack

_SLIGHT = 1e-3  # signal to noise of a direction that is left at its prior
_MOST_WEIGHTS = 5000  # features times topics that are factored together
_MOST_WORK = 5 * 10**10  # multiplications to eliminate features that exclude each other
_ENTRIES = 10**7  # of what these have in common with the others, at a time


class Stacked:
    """The terms of a kernel side by side, and what of their features no words change.

    Parameters
    ----------
    structures : of the terms
    """

    def __init__(self, structures: list[Structure]):
        self.structures = structures
        self.features = stack([part.features for part in structures if part.features is not None])
        self.own = np.sum([part.own for part in structures], axis=0)

    @cached_property
    def split(self) -> Split | None:
        return None if self.features is None else self.features.split(APART)

    @property
    def together(self) -> Features | None:
        """What is factored together: all features, or those beside a wide category."""
        return self.features if self.split is None else self.split.rest

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues and vectors of the gram of the features that are factored together."""
        assert self.together is not None
        values, vectors = np.linalg.eigh(self.together.gram())
        return values, vectors


class Turned(NamedTuple):
    """Features in the directions that words say something of, without writing the features out."""

    features: Features
    turn: Array  # (r, directions)

    def look(self, s: Array) -> Array:
        """(directions, draws, K) from (D, draws, K)."""
        return _by_rows(lambda X: self.turn.T @ self.features.t_dot(X), s)

    def spread(self, weights: Array) -> Array:
        """(D, draws, K) from (directions, draws, K)."""
        return _by_rows(lambda X: self.features.dot(self.turn @ X), weights)

    def precision(self, W: Array) -> Array:
        """I + sum_d phi_d phi_d' (x) W_d, (directions K, directions K)."""
        r, K = self.turn.shape[1], W.shape[1]
        distinct, groups = _distinct_rows(self.features)
        Phi = distinct.dot(self.turn)
        seen = pointing(groups, len(Phi)).T @ W.reshape(len(W), -1)
        A = np.zeros((r, K, r, K))
        for k, other in _pairs(K):
            A[:, k, :, other] = (Phi * seen[:, [k * K + other]]).T @ Phi
            A[:, other, :, k] = A[:, k, :, other]
        flat = A.reshape(r * K, r * K)
        flat[np.diag_indices(r * K)] += 1.0
        return flat


class WeightSpace:
    """The features' weights given the words: their precision I + sum_d phi_d phi_d' (x) W_d, factored.

    Directions of which words say next to nothing keep their prior, and are left out.

    Parameters
    ----------
    features : Phi (D, r)
    W : (D, K, K) how sharply the words of each document see the sum of its features
    turn : (r, directions) those that words say something of
    """

    def __init__(self, features: Features, W: Array, turn: Array):
        self.turned = Turned(features, turn)
        self.factor = _factor(self.turned.precision(W))

    def fitted(self, s: Array) -> Array:
        """(D, draws, K) 𝒦 (I + W 𝒦)^-1 s, the posterior mean for data s."""
        return self.turned.spread(_solve(self.factor, self.turned.look(s)))


class SplitWeightSpace:
    """The same with features of which a document has one at most, such as its author, eliminated group by group.

    Their own part of the precision has a (K, K) block for each, and what is left is of the size of the rest.

    Parameters
    ----------
    split : as `Features.split`
    W : (D, K, K)
    turn : (rest, directions)
    """

    def __init__(self, split: Split, W: Array, turn: Array):
        self.turned, self.W = Turned(split.rest, turn), W
        self.hot: csc_matrix = split.hot.sparse_columns(slice(0, split.hot.width)).tocsc()
        K = W.shape[1]
        seen = (self.hot.power(2).T @ W.reshape(len(W), -1)).reshape(-1, K, K)
        self.groups = np.linalg.inv(np.eye(K) + seen)  # (c, K, K)
        precision = self.turned.precision(W)
        for E, inverse in self._in_common(len(precision)):
            flat = (len(E) * K, len(precision))  # which may be (c K, 0)
            precision -= E.reshape(flat).T @ (inverse @ E).reshape(flat)
        self.factor = _factor(precision)

    def fitted(self, s: Array) -> Array:
        """(D, draws, K) 𝒦 (I + W 𝒦)^-1 s, the posterior mean for data s."""
        alone = self._of_groups(s)
        weights = _solve(self.factor, self.turned.look(s - self._seen(alone)))
        curves = self.turned.spread(weights)
        return curves + alone - self._of_groups(self._seen(curves))

    def _of_groups(self, s: Array) -> Array:
        """(D, draws, K) what the groups would be if there were nothing else."""
        sums = _by_rows(lambda X: self.hot.T @ X, s)
        return _by_rows(lambda X: self.hot @ X, sums @ self.groups)

    def _seen(self, F: Array) -> Array:
        return np.asarray(F @ self.W)

    def _in_common(self, size: int) -> Iterator[tuple[Array, Array]]:
        """(c, K, directions K) sum_d h_d W_d (x) phi_d, and the groups' inverses, for some groups at a time."""
        K = self.W.shape[1]
        step = max(1, _ENTRIES // max(K * size, 1))
        for start in range(0, self.hot.shape[1], step):
            some = self.hot[:, start : start + step]
            rows = np.unique(some.indices)
            pointers, W = some[rows].T.tocsr(), self.W[rows]
            Phi = self.turned.features.take(rows).dot(self.turned.turn)
            E = np.empty((some.shape[1], K, Phi.shape[1], K))
            for k, other in _pairs(K):
                E[:, k, :, other] = pointers @ (W[:, k, other][:, None] * Phi)
                E[:, other, :, k] = E[:, k, :, other]
            yield E.reshape(len(E), K, size), self.groups[start : start + step]


class WithOwn:
    """The same with what documents have for themselves beside the features, as where a value is missing.

    For the features that is more noise, and once they are known, each document has a share of what they leave.

    Parameters
    ----------
    space : of the features, given W times its damping
    own : (D,) variances
    W : (D, K, K)
    damping : (D, K, K) (I + own W)^-1
    """

    def __init__(self, space: "Space", own: Array, W: Array, damping: Array):
        self.space, self.own, self.W, self.damping = space, own[:, None, None], W, damping

    def fitted(self, s: Array) -> Array:
        """(D, draws, K) 𝒦 (I + W 𝒦)^-1 s, the posterior mean for data s."""
        shared = self.space.fitted(s @ self.damping)
        return np.asarray(shared + self.own * ((s - shared @ self.W) @ self.damping))


def _damping(own: Array, W: Array) -> Array:
    """(D, K, K) (I + own W)^-1: what is seen of the features, of what is seen of their sum with the own part."""
    inverse = np.linalg.inv(np.eye(W.shape[1]) + own[:, None, None] * W)
    return np.asarray(0.5 * (inverse + inverse.transpose(0, 2, 1)))


Space = WeightSpace | SplitWeightSpace | WithOwn


def weight_space(terms: Stacked, W: Array, strength: float) -> Space | None:
    """Where the kernel has no graphs, and not too many features for it; else None."""
    if terms.features is None or any(part.graphs for part in terms.structures):
        return None
    if not terms.own.any():
        return _of_features(terms, W, strength)
    damping = _damping(terms.own, W)
    space = _of_features(terms, W @ damping, strength)
    return None if space is None else WithOwn(space, terms.own, W, damping)


def _of_features(terms: Stacked, W: Array, strength: float) -> Space | None:
    assert terms.features is not None
    assert terms.together is not None
    split, K = terms.split, W.shape[1]
    if terms.together.width > _MOST_WEIGHTS:
        return None
    values, vectors = terms.spectrum
    turn = vectors[:, values * strength > _SLIGHT]
    size = turn.shape[1] * K
    if size > _MOST_WEIGHTS:
        return None
    if split is None:
        return WeightSpace(terms.features, W, turn)
    work = split.hot.width * K * size**2
    return SplitWeightSpace(split, W, turn) if work <= _MOST_WORK else None


def _pairs(K: int) -> Iterator[tuple[int, int]]:
    return ((k, other) for k in range(K) for other in range(k + 1))


def _distinct_rows(features: Features) -> tuple[Features, np.ndarray]:
    """The different rows of features, and which of them each document has."""
    mark = features.dot(np.random.default_rng(0).standard_normal((features.width, 1)))[:, 0]
    _, first, groups = np.unique(mark, return_index=True, return_inverse=True)
    return features.take(first), groups


def _factor(precision: Array) -> tuple[Array, bool]:
    return cho_factor(precision, lower=True, overwrite_a=True, check_finite=False)


def _solve(factor: tuple[Array, bool], right: Array) -> Array:
    """(directions, draws, K) from the same."""
    n, draws, K = right.shape
    flat = right.transpose(0, 2, 1).reshape(n * K, draws)
    found = cho_solve(factor, flat, check_finite=False)
    return np.asarray(found.reshape(n, K, draws).transpose(0, 2, 1))


def _by_rows(function: Callable[[Array], Array], X: Array) -> Array:
    """A function of (rows, columns) of (rows, draws, K)."""
    result = np.asarray(function(X.reshape(len(X), X.shape[1] * X.shape[2])))
    return result.reshape(len(result), *X.shape[1:])
