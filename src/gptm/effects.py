"""What each term of a kernel does to the topics, with error bars: effects along its columns, shares of variation.

Everything is stated as a contrast: of a topic to the mean of all topics, as words cannot see a shift common to them,
and to the average training document, as a constant belongs to the overall mean.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from gptm._types import Array
from gptm.draws import Deviation, Posterior
from gptm.information import contrasts
from gptm.kernels import BoundKernel
from gptm.kernels.terms import terms_of
from gptm.operators import Features, Placement, Structure

_NODES = 256  # of the average over what else differs between documents
_FEW_NODES = 32  # where there are many places
MANY = 500  # places, from where on what they have in common beside the features is left out too
# By what share of an effect fits fall short, measured: a constant, and a part that falls with the words of a document.
_ATTENUATION = (0.03, 1.5)
_PILOT = 2048  # nodes of the average where nothing is drawn
_SEED = 0


class Band(NamedTuple):
    """(n, K) each: an estimate and where it lies with the asked probability."""

    mean: Array
    low: Array
    high: Array


class Effect(NamedTuple):
    """Of one term at n settings."""

    contrast: Band  # of logits
    share: Band  # expected share of each topic among documents there


class Shares(NamedTuple):
    """(terms + 1, K + 1) each; the last row is what no term explains, the last column is all topics together."""

    mean: Array
    low: Array
    high: Array


class Explanation:
    """A fitted kernel taken apart into its terms.

    Parameters
    ----------
    bound : the kernel over the training documents
    posterior : of F given the words
    n_words : that documents have on average
    n_draws : from the posterior; they are drawn anew for each question, from one seed
    """

    def __init__(self, bound: BoundKernel, posterior: Posterior, n_words: float, n_draws: int):
        self.n_draws = n_draws
        self.attenuation = _ATTENUATION[0] + _ATTENUATION[1] / max(n_words, 1.0)
        self.bounds = terms_of(bound)
        self.draws = posterior
        self.structures = posterior.structures
        self.coordinates = contrasts(len(posterior.back) + 1)  # (K, K - 1)
        F, v = posterior.mean()
        self.F = self._topics(F)
        self.alpha = self._topics(v @ posterior.back)
        self.mu = self._topics(posterior.parameters.mu)
        self.Sigma = self._topics(self._topics(posterior.parameters.Sigma).T)
        self.means = [self._mean_of(part) for part in self.structures]

    def _topics(self, X: Array) -> Array:
        """From the posterior's coordinates to the topics', where all logits are relative to the topics' mean."""
        return np.asarray(X @ self.coordinates.T)

    def _batches(self) -> Iterator[list[Deviation]]:
        for batch in self.draws.batches(self.n_draws, _SEED):
            yield [one.mapped(self._topics) for one in batch]

    def _mean_of(self, part: Structure) -> Deviation:
        """A term's posterior mean, in the form of a single draw."""
        features = part.features
        return Deviation(
            None if features is None else features.t_dot(self.alpha)[:, None],
            (part.own[:, None] * self.alpha)[:, None] if part.own.any() else None,
            tuple(
                graph.network.apply(graph.function, self.alpha)[:, None] for graph in part.graphs
            ),
        )

    def shares(self, level: float) -> Shares:
        """How much of the topics' variation over documents each term explains: Cov_d(F_p, F) over all."""
        K = len(self.mu)
        own = np.diagonal(self.Sigma)
        means = [
            _at_documents(part, one) for part, one in zip(self.structures, self.means, strict=True)
        ]
        found = []
        for batch in self._batches():
            terms = [
                _varying(mean + _at_documents(part, one))
                for part, mean, one in zip(self.structures, means, batch, strict=True)
            ]
            total = sum(terms)
            covariances = [np.einsum("dsk,dsk->sk", one, total) / len(one) for one in terms]
            n = covariances[0].shape[0]
            found.append(np.stack([*covariances, np.broadcast_to(own, (n, K))], axis=1))
        parts = np.concatenate(found)  # (draws, terms + 1, K)
        parts = np.concatenate([parts, parts.sum(2, keepdims=True)], axis=2)
        ratios = parts / parts.sum(1, keepdims=True)
        tail = 0.5 * (1.0 - level)
        low, high = np.quantile(ratios, [tail, 1.0 - tail], axis=0)
        return Shares(ratios.mean(0), low, high)

    def effect(
        self,
        term: int,
        places: Placement | None,
        level: float,
        here: np.ndarray | slice = slice(None),
        versus: np.ndarray | None = None,
    ) -> Effect:
        """At places numbered `here`, or their differences to those numbered `versus`, one or as many.

        The places are new documents, or the training documents.
        """

        def compared(values: Array) -> Array:
            return values[here] if versus is None else values[here] - values[versus]

        mean = self._at(term, places, self.means[term])
        average = _average(self.structures[term], self.means[term])
        centre = _centred(mean - average)[:, 0]
        many, few = (
            self._rest(term, _PILOT),
            self._rest(term, _NODES if len(mean) <= MANY else _FEW_NODES),
        )
        # Shares between nothing and all, even on the scale of log-odds; differences of shares as they are.
        scale = _log_odds if versus is None else _unchanged
        share, offset = scale(self._share(mean, many)), scale(self._share(mean, few))
        typical = scale(self._share(average, many))
        curves = _Moments(compared(centre[:, None])[:, 0])
        shares = _Moments(compared(share)[:, 0])
        rng = np.random.default_rng(_SEED + 2)
        for drawn, shift in self._places(term, places):
            away = drawn - shift
            curves.add(compared(_centred(mean - average + away)))
            away = away + self._overall(rng, away.shape[1])
            moved = share - offset + scale(self._share(mean + away, few))
            shares.add(compared(moved))
        z = float(norm.ppf(0.5 * (1.0 + level)))
        bias = self.attenuation * compared(centre[:, None])[:, 0]
        bias_of_share = self.attenuation * compared(share - typical)[:, 0]
        band = shares.band(z, bias_of_share)
        if versus is None:
            band = Band(*map(expit, band))
        return Effect(curves.band(z, bias), band)

    def _places(self, term: int, places: Placement | None) -> Iterator[tuple[Array, Array]]:
        """(n, draws, K) deviations at the places, and (1, draws, K) on average over the training documents."""
        rng = np.random.default_rng(_SEED + 1)
        root = None if places is None else _own_root(places, self.bounds[term].own_part)
        for batch in self._batches():
            found = self._at(term, places, batch[term])
            if root is not None and root.any():
                white = rng.standard_normal((*found.shape[:2], len(self.draws.back)))
                noise = self._topics(white @ self.draws.back)
                alone = root.ndim == 1
                noise = root[:, None, None] * noise if alone else np.tensordot(root, noise, axes=1)
                found = found + noise
            yield found, _average(self.structures[term], batch[term])

    def _at(self, term: int, places: Placement | None, one: Deviation) -> Array:
        """(n, draws, K) of the term at the places."""
        part = self.structures[term]
        if places is None:
            return _at_documents(part, one)
        n_draws = next(X for X in (one.weights, one.own, *one.graphs) if X is not None).shape[1]
        total = np.zeros((places.n, n_draws, len(self.mu)))
        if places.features is not None and one.weights is not None:
            total += _dot(places.features, one.weights)
        for weights, drawn in zip(places.weights, one.graphs, strict=True):
            total += np.asarray(weights @ drawn.reshape(len(drawn), -1)).reshape(total.shape)
        return total

    def _overall(self, rng: np.random.Generator, n: int) -> Array:
        """(1, draws, K) what is not known of the average document's logits."""
        values, vectors = np.linalg.eigh(self.draws.precision.sum(0))
        known = values > 1e-8 * values.max(initial=0.0)
        root = vectors[:, known] / np.sqrt(values[known])
        return self._topics(rng.standard_normal((n, int(known.sum()))) @ root.T)[None]

    def _rest(self, term: int, n_nodes: int) -> Array:
        """(nodes, K) what documents have beside this term: the mean, other terms, and themselves."""
        other = self.F - _at_documents(self.structures[term], self.means[term])[:, 0]
        spread = self.Sigma + np.cov(other.T, bias=True).reshape(self.Sigma.shape)
        z = np.random.default_rng(_SEED).standard_normal((n_nodes // 2, len(self.mu)))
        root = np.linalg.cholesky(spread + 1e-12 * np.trace(spread) * np.eye(len(spread)))
        return np.asarray(self.mu + other.mean(0) + np.vstack([z, -z]) @ root.T)

    @staticmethod
    def _share(F: Array, nodes: Array) -> Array:
        """(n, draws, K) shares, on average over the nodes."""
        total = np.zeros(F.shape)
        values = np.exp(F - F.max(axis=2, keepdims=True))
        for node in np.exp(nodes - nodes.max(axis=1, keepdims=True)):
            one = values * node
            total += one / np.maximum(one.sum(axis=2, keepdims=True), np.finfo(float).tiny)
        return total / len(nodes)


class _Moments:
    """Mean and spread of draws, one batch at a time, around a value that is known."""

    def __init__(self, centre: Array):
        self.centre = centre  # (n, K)
        self.n, self.total, self.squares = 0, np.zeros_like(centre), np.zeros_like(centre)

    def add(self, values: Array) -> None:
        away = values - self.centre[:, None]
        self.n += away.shape[1]
        self.total += away.sum(1)
        self.squares += (away**2).sum(1)

    def band(self, z: float, bias: Array) -> Band:
        spread = z * np.sqrt(self.squares / self.n + bias**2)
        return Band(self.centre, self.centre - spread, self.centre + spread)


def _own_root(places: Placement, own_part: float) -> Array:
    """A root of what places have beside the features; (n,) where each has it for itself alone.

    What every document has for itself, `own_part`, belongs to documents and not to places.
    """
    if places.own.ndim == 1:
        return np.sqrt(np.maximum(places.own - own_part, 0.0))
    values, vectors = np.linalg.eigh(places.own - own_part * np.eye(places.n))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _log_odds(share: Array) -> Array:
    return np.asarray(logit(np.clip(share, 1e-12, 1.0 - 1e-12)))


def _unchanged(share: Array) -> Array:
    return share


def _centred(F: Array) -> Array:
    """Relative to the mean of all topics."""
    return F - F.mean(-1, keepdims=True)


def _varying(F: Array) -> Array:
    """(D, draws, K) relative to all topics, and to the average document."""
    centred = _centred(F)
    return centred - centred.mean(0)


def _dot(features: Features, weights: Array) -> Array:
    flat = features.dot(weights.reshape(len(weights), weights.shape[1] * weights.shape[2]))
    return np.asarray(flat).reshape(len(flat), *weights.shape[1:])


def _at_documents(part: Structure, one: Deviation) -> Array:
    """(D, draws, K) of a term at the training documents."""
    parts = [rest for rest in (one.own, *one.graphs) if rest is not None]
    if one.weights is not None:
        assert part.features is not None
        parts.append(_dot(part.features, one.weights))
    return np.sum(parts, axis=0)


def _average(part: Structure, one: Deviation) -> Array:
    """(1, draws, K) of a term over the training documents."""
    total: Array | float = 0.0
    if one.weights is not None:
        assert part.features is not None
        row = part.features.t_dot(np.full((part.n, 1), 1.0 / part.n))[:, 0]
        total = total + np.tensordot(row, one.weights, axes=1)[None]
    for rest in (one.own, *one.graphs):
        if rest is not None:
            total = total + rest.mean(0, keepdims=True)
    return np.asarray(total)
