"""Effects of each term of a kernel on the topics, from draws of the posterior.

Effects are contrasts: relative to the mean of all topics, because words cannot see a shift common to all topics, and
relative to the average training document, because a constant belongs to the overall mean.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from gptm._basics.eigenvectors import symmetric_root
from gptm._basics.types import Array
from gptm.effects.bands import Band
from gptm.fitted import Draws, Origin, Part
from gptm.inference.contrasts import contrasts
from gptm.inference.sampling.kept import turned
from gptm.kernels import BoundKernel
from gptm.kernels.weighted_terms import terms_of
from gptm.operators import Features, Placement

MANY = 500  # places, from where on what they have in common beside the features is left out
_PAIRS = 10**6  # of places and documents that shares are averaged over, in one draw
_FEWEST, _MOST = 50, 4000  # documents of that average
_FEW_PLACES = 400  # variances use as many documents as shares do for so many places
_OTHERS = 16  # residuals of other documents that each is compared with
_LIKE_OTHERS = 50.0  # documents whose weight the belief has that a place leaves nothing
_ROUNDING = 1e-9
_SEED = 0
_UNDERFLOW = 1e-250  # sums of exponentials with fewer digits are left to slower sums


class Effect(NamedTuple):
    """Of one term at n settings."""

    contrast: Band  # of logits
    share: Band  # mean proportion of the topic among documents there, all else as it is


class Explanation:
    """A kernel taken apart into its terms.

    Parameters
    ----------
    bound : the kernel over the training documents
    draws : of the posterior
    origin : of a fit whose topics were merged, dropped or reordered; the draws are those of its topics
    """

    def __init__(self, bound: BoundKernel, draws: Draws, origin: Origin | None = None):
        self.bounds, self.draws, self.sums = terms_of(bound), draws, None
        if origin is not None:
            kept = origin.kept
            self.draws, self.sums = of_topics(draws, kept), origin.sums[kept]
        self.H = contrasts(self.draws.mu.shape[1] + 1)
        self.T = self.H if origin is None else mean_contrasts(self.H, origin.means[origin.kept])

    def variance_shares(self, level: float) -> Band:
        """(terms + 1, K + 1) the share of the variance of logits over documents that each term explains.

        Cov_d(F_p, F) over the variance of F plus that of the documents' own part. The last row is the documents' own
        part, the last column all topics together.
        """
        rows = self._some_rows(_FEW_PLACES)
        terms = [self._topics(self._at_documents(term, rows)) for term in range(len(self.bounds))]
        terms = [values - values.mean(1, keepdims=True) for values in terms]
        total = sum(terms)
        covariances = [
            np.einsum("sdk,sdk->sk", values, total) / values.shape[1] for values in terms
        ]
        own = np.einsum("kp,spq,kq->sk", self.T, self.draws.S, self.T)
        parts = np.stack([*covariances, own], axis=1)  # (draws, terms + 1, K)
        parts = np.concatenate([parts, parts.sum(2, keepdims=True)], axis=2)
        return self._band(parts / parts.sum(1, keepdims=True), level, (0.0, 1.0))

    def effect(
        self,
        term: int,
        places: Placement | None,
        level: float,
        rows: np.ndarray | slice = slice(None),
        versus: np.ndarray | None = None,
    ) -> Effect:
        """The effect at the places numbered `rows`, or differences from the places numbered `versus`, one or as many.

        The places are settings, or without any the training documents.
        """

        def compared(values: Array) -> Array:
            return values[:, rows] if versus is None else values[:, rows] - values[:, versus]

        everywhere = np.arange(self.bounds[term].n)
        values = self._at_documents(term, everywhere) if places is None else self._at(term, places)
        contrast = self._topics(values - self._average(term))
        share = self._shares(term, places, values)
        limits = (0.0, 1.0) if versus is None else (-1.0, 1.0)
        return Effect(
            self._band(compared(contrast), level), self._band(compared(share), level, limits)
        )

    def _band(self, values: Array, level: float, limits: tuple[float, float] | None = None) -> Band:
        return Band.of(values, level, self.draws.chain, limits)

    def share_draws(self, term: int, places: Placement) -> Array:
        """(draws, n, K) mean proportions of documents at the places, all else as it is."""
        return self._shares(term, places, self._at(term, places))

    def _topics(self, X: Array) -> Array:
        """From contrasts to topics, relative to their mean; a merged topic has the mean of its parts."""
        return np.asarray(X @ self.T.T)

    def _shares(self, term: int, places: Placement | None, at_places: Array) -> Array:
        """(draws, n, K) mean proportions of documents at the places, all else as it is.

        Two parts. The first is what the model predicts: the mean proportions of all documents if each had this term's
        value at the place. The second is what the model misses: documents at or near a place may have other proportions
        than their means and the residuals of all documents would give them, for example because they vary more. It
        counts more if there are more documents near the place. The Bayesian bootstrap weights the documents, as they
        are a sample too.
        """
        rows = self._some_rows(at_places.shape[1])
        rng = np.random.default_rng(_SEED + 1)
        near = None if places is None else self._nearness(term, places, rows)
        at_rows = self._at_documents(term, rows)
        positions = np.searchsorted(self.draws.rows, rows)
        total = None if near is None else self._all_terms(rows)
        trust = np.empty(0) if near is None else self._trust(near)
        shares = np.empty((*at_places.shape[:2], len(self.H)))
        for s in range(self.draws.n):
            logits = self.draws.logits[s, positions].astype(np.float64)
            weights = rng.standard_exponential(len(rows))
            weights /= weights.sum()
            without_term = (logits - at_rows[s]) @ self.H.T
            shares[s] = mean_softmax(at_places[s] @ self.H.T, without_term, weights)
            if near is not None and total is not None:
                left = self._left(logits, self.draws.mu[s] + total[s], rng)
                shares[s] += trust * (_normalised(near * weights) @ left)
        shares = np.maximum(shares, 0.0)
        shares /= shares.sum(2, keepdims=True)
        return shares if self.sums is None else shares @ self.sums

    def _some_rows(self, n: int) -> np.ndarray:
        """Documents that shares are averaged over, fewer where there are many places."""
        rows = self.draws.rows
        few = min(int(np.clip(_PAIRS // max(n, 1), _FEWEST, _MOST)), len(rows))
        return rows[np.linspace(0, len(rows) - 1, few).round().astype(int)]

    def _all_terms(self, rows: np.ndarray) -> Array:
        """(draws, rows, p) F."""
        return np.asarray(sum(self._at_documents(term, rows) for term in range(len(self.bounds))))

    def _trust(self, near: Array) -> Array:
        """(n, 1) weight of the residual proportions of the documents near a place: more documents count more."""
        # One over their number, if all are as near.
        squares = (_normalised(near) ** 2).sum(1, keepdims=True)
        all_over_some = self.bounds[0].n / near.shape[1]
        return np.asarray(all_over_some / (all_over_some + _LIKE_OTHERS * squares))

    def _left(self, logits: Array, means: Array, rng: np.random.Generator) -> Array:
        """(rows, K) proportions less what they would be on average with other documents' residuals."""
        residuals = logits - means
        expected = np.zeros((len(logits), len(self.H)))
        for _ in range(_OTHERS):
            expected += softmax((means + rng.permutation(residuals)) @ self.H.T, axis=1)
        return np.asarray(softmax(logits @ self.H.T, axis=1) - expected / _OTHERS)

    def _nearness(self, term: int, places: Placement, rows: np.ndarray) -> Array | None:
        """(n, rows) the kernel between places and documents; None where it is not a matter of features."""
        features = self.bounds[term].structure.features
        if features is None or places.features is None or places.weights:
            return None
        near = np.asarray(places.features.dot(features.take(rows).to_dense().T))
        return None if (near < -_ROUNDING * np.abs(near).max(initial=0.0)).any() else near

    def _at(self, term: int, places: Placement) -> Array:
        """(draws, n, p) of the term at new places."""
        part, s, p = self.draws.parts[term], *self.draws.mu.shape
        total = np.zeros((s, places.n, p))
        if places.features is not None and part.weights is not None:
            total += _dot(places.features, part.weights)
        for weights, drawn in zip(places.weights, part.graphs, strict=True):
            flat = weights @ _flat(drawn)
            total += np.asarray(flat).reshape(places.n, s, p).swapaxes(0, 1)
        return total + self._own(term, places)

    def _own(self, term: int, places: Placement) -> Array:
        """(draws, n, p) what places have that no document of the training had; the same ones every time."""
        root = _own_root(places, self.bounds[term].own_part)
        s, p = self.draws.mu.shape
        if not root.any():
            return np.zeros((s, places.n, p))
        white = np.random.default_rng(_SEED).standard_normal((s, places.n, p))
        white = root[:, None] * white if root.ndim == 1 else root @ white
        return np.asarray(white @ symmetric_root(self.draws.B))

    def _at_documents(self, term: int, rows: np.ndarray) -> Array:
        """(draws, rows, p) of the term at training documents."""
        part, structure = self.draws.parts[term], self.bounds[term].structure
        summands = [values[:, rows].astype(np.float64) for values in _by_document(part)]
        if part.weights is not None:
            assert structure.features is not None
            summands.append(_dot(structure.features.take(rows), part.weights))
        return np.asarray(sum(summands[1:], summands[0]))

    def _average(self, term: int) -> Array:
        """(draws, 1, p) of the term over all training documents."""
        part, structure = self.draws.parts[term], self.bounds[term].structure
        summands = [
            values.mean(1, keepdims=True, dtype=np.float64) for values in _by_document(part)
        ]
        if part.weights is not None:
            assert structure.features is not None
            row = structure.features.t_dot(np.full((structure.n, 1), 1.0 / structure.n))[:, 0]
            summands.append(np.einsum("r,srp->sp", row, part.weights)[:, None])
        return np.asarray(sum(summands[1:], summands[0]))


def of_topics(draws: Draws, kept: list[int]) -> Draws:
    """The draws of some topics alone: their logits are the same, so their proportions are scaled up to sum to one."""
    H = contrasts(draws.mu.shape[1] + 1)
    if len(kept) == len(H):
        return draws
    return turned(draws, H[kept].T @ contrasts(len(kept)))


def mean_contrasts(H: Array, means: Array) -> Array:
    """(K, p) from contrasts to topics that are means of others, relative to the mean of all."""
    T = means.T @ H
    return T if np.isin(means, (0.0, 1.0)).all() else T - T.mean(0)


def mean_softmax(at_places: Array, others: Array, weights: Array) -> Array:
    """(n, K) the weighted mean over documents d of softmax(at_places[i] + others[d]).

    Exponentials of sums are products, so the normalisers of all pairs are one matrix product, and their means another.

    >>> mean_softmax(np.zeros((1, 2)), np.log([[1.0, 3.0], [1.0, 1.0]]), np.array([0.5, 0.5]))
    array([[0.375, 0.625]])
    """
    of_place = np.exp(at_places - at_places.max(1, keepdims=True))
    of_others = np.exp(others - others.max(1, keepdims=True))
    totals = of_place @ of_others.T
    far = (totals < _UNDERFLOW).any(1)  # one by one, where exponentials have no digits left
    result = np.asarray(of_place * ((weights / np.maximum(totals, _UNDERFLOW)) @ of_others))
    for place in np.flatnonzero(far):
        result[place] = weights @ softmax(at_places[place] + others, axis=1)
    return result


def _normalised(weights: Array) -> Array:
    """Rows that sum to one; those of places that no document is near stay at zero."""
    weights = np.maximum(weights, 0.0)
    total = weights.sum(1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > _ROUNDING)


def _by_document(part: Part) -> list[Array]:
    return [values for values in (part.own, *part.graphs) if values is not None]


def _flat(X: Array) -> Array:
    """(n, draws p) from (draws, n, p)."""
    return np.asarray(X.swapaxes(0, 1).reshape(X.shape[1], -1), dtype=np.float64)


def _dot(features: Features, weights: Array) -> Array:
    """(draws, n, p) from weights (draws, r, p)."""
    s, _, p = weights.shape
    flat = np.asarray(features.dot(_flat(weights)))
    return flat.reshape(len(flat), s, p).swapaxes(0, 1)


def _own_root(places: Placement, own_part: float) -> Array:
    """A root of what places have beside the features; (n,) where each has it for itself alone.

    What every document has for itself, `own_part`, belongs to documents and not to places.
    """
    if places.own.ndim == 1:
        return np.sqrt(np.maximum(places.own - own_part, 0.0))
    return symmetric_root(places.own - own_part * np.eye(places.n))
