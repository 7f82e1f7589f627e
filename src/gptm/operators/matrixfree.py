"""Sums of several large graphs, which are only available as products."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from gptm._basics.errors import Argument, InputError
from gptm._basics.types import Array
from gptm._basics.warnings import warn
from gptm.operators.additive import Additive
from gptm.operators.diagonal import Diagonal
from gptm.operators.lanczos import gauss_rules
from gptm.operators.operator import BySpectrum, EigenView, View
from gptm.operators.placement import Placement
from gptm.operators.spectral import Spectral
from gptm.operators.structure import Structure
from gptm.operators.tangent import Tangent
from gptm.operators.training_operator import Cross, TrainingOperator

MAX_STEPS = 30
_EVERY = 4  # steps between two checks for convergence
_TOL = 1e-6  # relative change of the quadratic forms at which a Krylov space is large enough
_STRENGTHS = np.array([0.1, 1.0, 10.0])


class MatrixFree(BySpectrum, TrainingOperator):
    """𝒦 = Phi Phi' + graphs + diag(own), by Krylov spaces of 𝒦 around the data.

    A block Lanczos run from the data gives coordinates in which 𝒦 is nearly diagonal, for all strengths;
    traces and log-determinants come from one seeded Lanczos quadrature. Posterior variances of new documents are
    sums over the terms, where each term sees the others as noise. They are too large rather than too small; exact ones
    would take a solve for every document.
    """

    learnable = False  # every trial of a parameter would cost as much as ten iterations

    def __init__(self, structure: Structure):
        self.structure = structure
        self.n = structure.n

    def matmul(self, X: Array) -> Array:
        features = self.structure.features
        result = self.structure.own[:, None] * X
        if features is not None:
            result += features.dot(features.t_dot(X))
        for graph in self.structure.graphs:
            result += graph.matmul(X)
        return result

    def view(self, Y: Array, like: View | None = None) -> "KrylovView":
        return KrylovView(self, Y)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        values, weights = gauss_rules(self.matmul, self.n)
        return np.maximum(values, np.finfo(float).eps * values.max()), weights

    def slopes(self, tangents: Sequence[Tangent], b: Array) -> Array:
        raise TypeError("parameters of several large graphs are not learnt")

    def cross(self, new: Placement) -> Cross:
        return MatrixFreeCross(self, new)


class KrylovView(EigenView):
    """Data in the eigenbasis of 𝒦 on a space that holds the data and their images."""

    def __init__(self, operator: MatrixFree, Y: Array):
        self.Y = Y
        basis, images = [_orthonormal(Y)], [np.zeros((len(Y), 0))]
        forms_before = None
        for step in range(1, MAX_STEPS + 1):
            images.append(operator.matmul(basis[-1]))
            V = np.hstack(basis)
            fresh = images[-1] - V @ (V.T @ images[-1])
            fresh = _orthonormal(fresh - V @ (V.T @ fresh), scale=float(np.abs(images[-1]).max()))
            if step % _EVERY and fresh.shape[1] and step < MAX_STEPS:
                basis.append(fresh)
                continue
            self._project(V, np.hstack(images), Y)
            forms = np.stack([self._inverse(b) for b in _STRENGTHS])
            settled = (
                forms_before is not None
                and np.abs(forms - forms_before).max() <= _TOL * np.abs(forms).max()
            )
            if settled or fresh.shape[1] == 0:
                break
            forms_before = forms
            basis.append(fresh)
        else:
            warn(
                f"the solution over {operator.n} documents and {len(operator.structure.graphs)} graphs has not "
                f"converged after {MAX_STEPS} steps, and may be less accurate. A larger kappa needs fewer.",
                ConvergenceWarning,
            )

    def _project(self, V: Array, KV: Array, Y: Array) -> None:
        H = V.T @ KV
        values, vectors = eigh(0.5 * (H + H.T))
        self.values, self.coordinates = np.maximum(values, 0.0), vectors.T @ (V.T @ Y)
        self.space, self.ritz = V, vectors

    def _inverse(self, b: float) -> Array:
        return (self.coordinates.T / (self.values * b + 1.0)) @ self.coordinates

    def lift(self, X: Array) -> Array:
        return self.space @ (self.ritz @ X)


class MatrixFreeCross(Cross):
    """New documents, term by term."""

    def __init__(self, operator: MatrixFree, new: Placement):
        self.operator = operator
        n, features, own, self.graphs = operator.structure
        variances = np.array([graph.trace(np.zeros(1))[0] / n for graph in self.graphs])
        shared = 0.0 if features is None else float(features.row_squares().mean())
        # Each term sees the variance of the others as noise; for graphs, their mean variance.
        others = variances.sum() - variances + shared + own.mean()
        self.among_others = [g.plus(float(v)) for g, v in zip(self.graphs, others, strict=True)]
        base: TrainingOperator = Diagonal(own + variances.sum())
        if features is not None:
            base = Additive(Diagonal(own + variances.sum()), features)
        self.rest = base.cross(Placement(new.n, new.features, new.own))
        nothing = np.zeros(new.n)
        self.leaves = [Placement(new.n, None, nothing, (weights,)) for weights in new.weights]

    def mean(self, alpha: Array, F: Array) -> Array:
        parts = zip(self.graphs, self.leaves, strict=True)
        carried = (graph.carried(leaf, alpha, graph.matmul(alpha)) for graph, leaf in parts)
        return self.rest.mean(alpha, F) + sum(carried)

    def variance(self, b: Array) -> Array:
        parts = zip(self.among_others, self.leaves, strict=True)
        return self.rest.variance(b) + sum(g.carried_variance(leaf, b) for g, leaf in parts)

    def conditional(self) -> Spectral:
        raise InputError(
            "a joint prediction (",
            Argument("inference", "map"),
            ") from a sum of several graphs over this many documents would take a dense matrix. Use one graph, ",
            Argument("inference", "variational"),
            ", or fewer documents.",
        )


def _orthonormal(X: Array, scale: float | None = None) -> Array:
    """An orthonormal basis of the columns; directions that are rounding beside `scale` are left out."""
    Q, values, _ = np.linalg.svd(X, full_matrices=False)
    cutoff = 1e-10 * (
        values.max(initial=0.0) if scale is None else max(scale, values.max(initial=0.0))
    )
    return np.ascontiguousarray(Q[:, values > cutoff])
