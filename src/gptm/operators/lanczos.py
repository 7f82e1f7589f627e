"""Traces of functions of a large matrix, from products alone: stochastic Lanczos quadrature, seeded."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh_tridiagonal

from gptm._basics.types import Array

SEED = 0
STEPS = 40
_ENTRIES = 200_000  # documents times probes: the error of a mean falls with its square root
_LEADING = 32  # directions that are taken one by one
_POWER_STEPS = 8
_EXHAUSTED = 1e-10


def gauss_rules(
    product: Callable[[Array], Array], n: int, shift: float = 0.0
) -> tuple[Array, Array]:
    """Nodes and weights with tr f(matrix) = sum weights f(nodes) for every smooth f.

    A few directions may hold much of a trace: the leading ones, found by power steps of matrix + shift, are treated one
    by one, and random signs probe the rest. All weights are positive, so the results are those of some positive matrix
    close to this one.
    """
    n_probes = max(4, -(-_ENTRIES // n))
    rng = np.random.default_rng(SEED)
    leading = rng.standard_normal((n, min(_LEADING, n // 4)))
    for _ in range(_POWER_STEPS):
        leading = np.linalg.qr(product(leading) + shift * leading)[0]
    signs = rng.choice([-1.0, 1.0], size=(n, n_probes))
    signs -= leading @ (leading.T @ signs)
    start = np.hstack([leading, signs / np.sqrt(n_probes)])
    sizes = (start**2).sum(0)
    pairs = zip(*_lanczos(product, start), strict=True)
    rules = [eigh_tridiagonal(*pair) for pair in pairs]
    nodes = np.concatenate([values for values, _ in rules])
    weights = [s * vectors[0] ** 2 for s, (_, vectors) in zip(sizes, rules, strict=True)]
    return nodes, np.concatenate(weights)


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
