"""Traces of functions of a large matrix, from products alone: stochastic Lanczos quadrature, seeded."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh_tridiagonal

from gptm._types import Array

SEED = 0
STEPS = 40
_ENTRIES = 200_000  # documents times probes: the error of a mean eigenvalue falls with its root
_EXHAUSTED = 1e-10


def gauss_rules(product: Callable[[Array], Array], n: int) -> tuple[Array, Array]:
    """Nodes and weights with tr f(matrix) = sum weights f(nodes) for every smooth f.

    Random signs as probes make diagonal matrices exact. All weights are positive, so log-determinants and traces
    are those of a matrix, if not quite of this one.
    """
    n_probes = max(4, -(-_ENTRIES // n))
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(n, n_probes))
    rules = [eigh_tridiagonal(*pair) for pair in zip(*_lanczos(product, signs), strict=True)]
    nodes = np.concatenate([values for values, _ in rules])
    shares = np.concatenate([vectors[0] ** 2 for _, vectors in rules])
    return nodes, shares * n / n_probes


def _lanczos(product: Callable[[Array], Array], start: Array) -> tuple[Array, Array]:
    """(probes, steps) diagonals and (probes, steps - 1) off-diagonals of one Lanczos run per column."""
    now = start / np.linalg.norm(start, axis=0)
    before, off = np.zeros_like(now), np.zeros(now.shape[1])
    diagonals, off_diagonals = [], []
    for _ in range(min(STEPS, len(start))):
        after = product(now) - off * before
        diagonal = (after * now).sum(0)
        after -= diagonal * now
        norm = np.linalg.norm(after, axis=0)
        off = np.where(norm > _EXHAUSTED, norm, 0.0)
        diagonals.append(diagonal)
        off_diagonals.append(off)
        # A column whose space is exhausted goes on with zeros, which carry no weight.
        before, now = now, np.divide(after, norm, out=np.zeros_like(after), where=off > 0)
    return np.array(diagonals).T, np.array(off_diagonals).T[:, :-1]
