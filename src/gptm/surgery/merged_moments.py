"""Parameters of a model with fewer topics, such that its logits have the moments that they had before.

The logit of a merged topic is log sum exp of its parts' logits, for each document and each draw. That is no linear
function, so the smaller model cannot be the old one exactly. What the kernel adds is taken to first order: the mean of
the parts, weighted by their shares (`means`, W). The mean and the covariance of the logits are those of the old prior,
by simulation; what is linear in it is exact, only the rest is simulated. Topics that are not merged keep their numbers.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from gptm._basics.types import Array
from gptm.fitted import Draws, Origin, Part
from gptm.inference.contrasts import contrasts, to_contrasts
from gptm.inference.sampling.kept import mapped

N_SIMULATED = 20_000  # logits of documents
# Of the smallest eigenvalue that a linear merge would have: the least that remains.
_NARROWEST = 0.05
_SEED = 0


class Moments(NamedTuple):
    """What logits of merged topics have beyond the weighted means of their parts."""

    gap: Array  # (K,) on average
    spread: Array  # (K, K) in their covariance


def merged_logits(eta: Array, origin: Origin) -> Array:
    """(..., K) logits of topics from those of their parts.

    >>> from types import SimpleNamespace
    >>> merged_logits(np.log([[1.0, 2.0, 3.0]]), SimpleNamespace(members=((0, 2), (1,)))).round(3)
    array([[1.386, 0.693]])
    """
    groups = [list(group) for group in origin.members]
    return np.stack(
        [
            eta[..., group[0]] if len(group) == 1 else logsumexp(eta[..., group], -1)
            for group in groups
        ],
        -1,
    )


def prior_moments(origin: Origin) -> Moments:
    """By simulation from the old prior: documents as in training, each with its own mean."""
    old, W = origin.fitted, origin.means
    rng = np.random.default_rng(_SEED)
    half = rng.standard_normal((N_SIMULATED // 2, old.K))
    noise = np.concatenate([half, -half]) @ np.linalg.cholesky(old.Sigma).T
    rows = np.linspace(0, len(old.F) - 1, len(noise)).round().astype(int)
    linear = noise @ W
    centre = old.mu + (0.0 if old.kernel is None else old.F[rng.permutation(rows)])
    gaps = merged_logits(centre + noise, origin) - (centre + noise) @ W
    total = linear + gaps - gaps.mean(0)
    return Moments(gaps.mean(0), (total.T @ total - linear.T @ linear) / len(noise))


def merged_documents(origin: Origin) -> tuple[Array, Array]:
    """(D, K) means and variances of the training documents' logits, to second and first order."""
    old, K = origin.fitted, len(origin.members)
    lam, nu2 = merged_logits(old.lam, origin), np.empty((len(old.lam), K))
    for topic, group in enumerate(origin.members):
        parts = list(group)
        weights = np.exp(old.lam[:, parts] - lam[:, [topic]])
        nu2[:, topic] = (weights**2 * old.nu2[:, parts]).sum(1)
        if len(parts) > 1:
            lam[:, topic] += 0.5 * (weights * (1.0 - weights) * old.nu2[:, parts]).sum(1)
    return lam, nu2


def merged_covariance(A: Array, W: Array, spread: Array) -> Array:
    """W' A W + spread, positive definite; A may be a stack."""
    linear = W.T @ A @ W
    smallest = np.asarray(np.linalg.eigvalsh(linear)[..., :1], dtype=np.float64)
    return _at_least(linear + spread, _NARROWEST * smallest)


def merged_draws(draws: Draws, origin: Origin, moments: Moments) -> Draws:
    """The snapshots of a model with fewer topics: logits exactly, all else as the parameters."""
    H, H_new = contrasts(origin.fitted.K), contrasts(len(origin.members))
    turn = H.T @ origin.means @ H_new
    logits = merged_logits(draws.logits.astype(np.float64) @ H.T, origin) @ H_new
    return draws._replace(
        mu=draws.mu @ turn + moments.gap @ H_new,
        S=merged_covariance(draws.S, turn, to_contrasts(moments.spread)),
        B=turn.T @ draws.B @ turn,
        logits=logits.astype(np.float16),
        parts=tuple(_turned(part, turn) for part in draws.parts),
    )


def _turned(part: Part, turn: Array) -> Part:
    return mapped(part, lambda X: (X @ turn).astype(np.float32))


def _at_least(A: Array, least: Array) -> Array:
    """Symmetric, with eigenvalues of at least so much; untouched where they are."""
    A = 0.5 * (A + A.swapaxes(-1, -2))
    if not A.shape[-1]:
        return A
    values, vectors = np.linalg.eigh(A)
    raised = (vectors * np.maximum(values, least)[..., None, :]) @ vectors.swapaxes(-1, -2)
    low = np.asarray((values < least).any(-1))[..., None, None]
    return np.where(low, raised, A)
