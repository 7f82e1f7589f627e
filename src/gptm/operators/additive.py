"""Features on top of an operator with a functional calculus: 𝒦 = base + Phi Phi'."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix

from gptm._basics.memory import check_square
from gptm._basics.types import Array
from gptm.operators.arrow import Arrow, ArrowInner
from gptm.operators.diagonal import Diagonal
from gptm.operators.feature_view import AdditiveView, AlignedView, GraphView
from gptm.operators.features import Block, Features
from gptm.operators.moments import FeatureMoments, feature_moments
from gptm.operators.operator import Base, BySpectrum, Cross, Operator, View, damping
from gptm.operators.sparse import Sparse
from gptm.operators.spectral import Spectral
from gptm.operators.structure import Placement
from gptm.operators.tangent import Tangent
from gptm.operators.weight_systems import DenseInner, DiagonalInner, Inner

_ENTRIES = 10**7  # of features that are written out at a time
APART = 256  # features that exclude each other: a decomposition of so many with the others would be slow
_PROBES = 32  # of the diagonal's estimate where features lie over a graph


class Additive(BySpectrum):
    """𝒦 = base + Phi Phi', by Woodbury's identity: weight space for Phi, the base's calculus for the rest.

    Per strength, one r x r system N = I + b Phi' (b base + I)^-1 Phi has to be solved; where the base is a
    multiple of the identity, features are rotated once so that all of them are diagonal. `like` is an operator of
    other parameters, of which what it knows of the same features is taken over. Features that exclude each other are
    solved apart from the others where there are `apart` of them or more.
    """

    def __init__(
        self, base: Base, features: Features, like: Operator | None = None, apart: int = APART
    ):
        self.base = base
        self.features = features
        self.n = base.n
        self._rotation: Array | None = None
        self._last: tuple[bytes, Inner] | None = None
        self.moments_of_features: FeatureMoments | None = None
        self._Z: Array | Arrow
        split = features.split(apart) if isinstance(base, Diagonal) else None
        if isinstance(base, Diagonal) and features.one_hot:
            self._Z = base.squares(features)  # (q, r)
        elif isinstance(base, Diagonal) and split is not None:
            self._Z = Arrow.of(base, split)
        elif isinstance(base, Sparse):
            known = like.moments_of_features if isinstance(like, Additive) else None
            self.moments_of_features = feature_moments(base, features, known)
            self._Z = base.at_nodes(self.moments_of_features.assembled(features))
        else:
            Z = base.moments(features, features)  # (q, r, r)
            self._Z = self._diagonalised(Z[0])[None] if len(Z) == 1 else Z

    def _diagonalised(self, Z: Array) -> Array:
        """The one diagonal that is left of Phi' Phi after rotating the features."""
        diagonal = np.diagonal(Z).copy()
        if np.abs(Z - np.diag(diagonal)).max(initial=0.0) > 1e-13 * diagonal.max(initial=0.0):
            diagonal, self._rotation = eigh(Z)
            diagonal[diagonal < len(Z) * np.finfo(float).eps * diagonal.max()] = 0.0
        return diagonal

    def rotated(self, X: Array) -> Array:
        """Rows of features, or (r, m) what came of Phi' X, in the coordinates of N."""
        return X if self._rotation is None else self._rotation.T @ X

    def expand(self, Z: Array) -> Array:
        """Phi Z for Z in the coordinates of N."""
        return self.features.dot(Z if self._rotation is None else self._rotation @ Z)

    @property
    def aligned(self) -> bool:
        """Whether the rotated features are eigenvectors, as they are over a multiple of the identity."""
        return len(self.base.nodes) == 1 and not isinstance(self._Z, Arrow)

    @property
    def squares(self) -> Array:
        """(r,) squared lengths of aligned features."""
        assert isinstance(self._Z, np.ndarray)
        return self._Z[0]

    @cached_property
    def inverse_lengths(self) -> Array:
        """(r, 1) one over the lengths of aligned features; zero for those that are not there."""
        z = self.squares[:, None]
        return np.divide(1.0, np.sqrt(z), out=np.zeros_like(z), where=z > 0)

    def inner(self, b: Array) -> "Inner":
        """N for each strength, kept for the next question about the same ones."""
        key, last = b.tobytes(), self._last  # which another thread may replace meanwhile
        if last is None or last[0] != key:
            self._last = last = (key, _inner_systems(damping(self.base, b), self._Z, b))
        return last[1]

    def moments_times(self, q: int, X: Array) -> Array:
        """Z_q X, with the features' moments at the q-th node of the base."""
        Z = self._Z
        if isinstance(Z, Arrow):
            return Z.times(q, X)
        return np.asarray(Z[q][:, None] * X if Z.ndim == 2 else Z[q] @ X)

    def view(self, Y: Array, like: View | None = None) -> View:
        if isinstance(self.base, Sparse):
            return GraphView(self, self.base, Y, like)
        return AlignedView(self, Y) if self.aligned else AdditiveView(self, Y)

    def matmul(self, X: Array) -> Array:
        return self.base.matmul(X) + self.features.dot(self.features.t_dot(X))

    def solve(self, b: Array, X: Array) -> Array:
        """By Woodbury's identity; columns of one strength share their N."""
        inside = self.base.solve(b, X)
        weights = self.rotated(self.features.t_dot(inside))
        strengths, which = np.unique(b, return_inverse=True)
        inner = self.inner(strengths)
        for i in range(len(strengths)):
            weights[:, which == i] = strengths[i] * inner.solve_one(i, weights[:, which == i])
        return inside - self.base.solve(b, self.expand(weights))

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Of aligned features: along each of them, and across."""
        z, floor = self.squares, self.base.nodes[0]
        return np.append(z + floor, floor), np.append(np.ones(len(z)), self.n - len(z))

    def logdet(self, b: Array) -> Array:
        if self.aligned:
            return super().logdet(b)
        return self.base.logdet(b) + self.inner(b).logdet()

    def trace(self, b: Array) -> Array:
        if self.aligned:
            return super().trace(b)
        return self.base.trace(b) + self.inner(b).diagonals(damping(self.base, b) ** 2).sum(0)

    def diagonal(self, b: Array) -> Array:
        """With P = (b base + I)^-1 Phi it is that of the base plus diag(P N^-1 P')."""
        inner = self.inner(b)
        if isinstance(self.base, Diagonal):
            g = 1.0 / (self.base.values[:, None] * b + 1.0)
            return self.base.diagonal(b) + g**2 * self.quadratic(self.features, b)
        result = self.base.diagonal(b)
        rng = np.random.default_rng(0)
        for i in range(len(b)):
            probes = inner.root(i, rng.standard_normal((self.features.width, _PROBES)))
            P = self.base.solve(np.repeat(b[i], _PROBES), self.expand(probes))
            result[:, i] += (P**2).mean(1)
        return result

    def quadratic(self, features: Features, b: Array) -> Array:
        """(n, len(b)) x' N^-1 x for the features x of any documents, some of them at a time."""
        inner = self.inner(b)
        if isinstance(inner, DiagonalInner) and self._rotation is None and features.sparse:
            return np.asarray(features.to_sparse().power(2) @ (1.0 / inner.N))
        apart = inner.Z.columns if isinstance(inner, ArrowInner) else slice(0, 0)
        dense = features.width - (apart.stop - apart.start)
        pieces = 1 + features.n * dense // _ENTRIES
        found = []
        for rows in np.array_split(np.arange(features.n), pieces):
            some = features.take(rows)
            rest = np.hstack([some.columns(0, apart.start), some.columns(apart.stop, some.width)])
            if isinstance(inner, ArrowInner):
                found.append(inner.quadratic_of(some.sparse_columns(apart), rest))
            else:
                found.append(inner.quadratic(self.rotated(rest.T).T))
        return np.concatenate(found)

    def log_pseudo_determinant(self) -> tuple[float, int]:
        nodes = self.base.nodes
        if nodes.min() > 0:
            log_base, rank = self.base.log_pseudo_determinant()
            inner = _inner_systems(1.0 / nodes[:, None], self._Z, np.ones(1))
            return log_base + float(inner.logdet()[0]), rank
        bottom = _written_out(self._Z)[int(np.argmin(nodes))]
        values = bottom if bottom.ndim == 1 else np.linalg.eigvalsh(bottom)
        kept = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
        rank = self.base.log_pseudo_determinant()[1] + int(kept.sum())
        if len(nodes) == 1:
            return float(np.log(values[kept]).sum()), rank
        # b times any eigenvalue that is not zero leaves nothing of the identity beside it.
        b = 1e13 / max(float(values.max(initial=0.0)), float(nodes.max()))
        return float(self.logdet(np.array([b]))[0] - rank * np.log(b)), rank

    def slopes(self, tangents: Sequence[Tangent], b: Array) -> Array:
        found = _Slopes(self, b)
        return np.array([found.below(tangent) + found.along(tangent) for tangent in tangents])

    def cross(self, new: Placement) -> Cross:
        found = new.features
        absent = self.features.width - (0 if found is None else found.width)
        if absent:  # features that some training documents have for themselves
            nothing = Block(csr_matrix((new.n, absent)), None)
            new = new._replace(features=Features([*(found.blocks if found else ()), nothing]))
        return AdditiveCross(self, new)

    def limit(self) -> Array:
        """(r,) or (r, r), what is left open of the weights once F is known: (I + Phi' base^-1 Phi)^-1."""
        Z = _written_out(self._Z)
        tiny = max(np.finfo(float).eps * float(Z.max(initial=0.0)), 1e-300)
        inverse = 1.0 / np.maximum(self.base.nodes, tiny)
        if Z.ndim == 2:
            return 1.0 / (1.0 + inverse @ Z)
        if len(Z) == 1:  # by eigenvalues, as some may be zero but for rounding
            values, vectors = eigh(Z[0])
            values[values < len(values) * tiny] = 0.0
            return np.asarray((vectors / (1.0 + inverse[0] * values)) @ vectors.T)
        return np.asarray(np.linalg.inv(np.eye(Z.shape[1]) + np.tensordot(inverse, Z, axes=1)))


class _Slopes:
    """tr (b 𝒦 + I)^-1 d𝒦 for several motions, with what they have in common computed once."""

    def __init__(self, operator: Additive, b: Array):
        self.operator, self.base, self.b = operator, operator.base, b
        self.inner, self.g = operator.inner(b), damping(operator.base, b)

    @cached_property
    def variances(self) -> Array:
        """(D, len(b)) phi' N^-1 phi for the features phi of every document."""
        return self.operator.quadratic(self.operator.features, self.b)

    @cached_property
    def grown(self) -> Array:
        """(r, len(b)) what each feature has in tr N^-1 Phi' W Phi, with W = (b base + I)^-1."""
        R, found = self.operator._rotation, self.inner.diagonals(self.g)
        return found if R is None else R**2 @ found

    def below(self, tangent: Tangent) -> Array:
        """What moves below the features: tr W h - b tr N^-1 Phi' W h W Phi."""
        direct = self.base.slopes([tangent], self.b)[0]
        if isinstance(self.base, Sparse):
            h = self.base.motion(tangent, self.base.points)
            return direct - self.b * self.inner.diagonals(h[:, None] * self.g**2).sum(0)
        if tangent.own is None:
            return direct
        assert isinstance(self.base, Diagonal)
        g = 1.0 / (self.base.values[:, None] * self.b + 1.0)
        return direct - self.b * (tangent.own[:, None] * g**2 * self.variances).sum(0)

    def along(self, tangent: Tangent) -> Array:
        """2 tr N^-1 Phi' W dPhi, in the columns that move."""
        if tangent.features is None:
            return np.zeros(len(self.b))
        columns, R = tangent.columns, self.operator._rotation
        if tangent.motion is None:  # they grow as a whole
            return self.grown[columns].sum(0)
        M = self.base.moments(self.operator.features, tangent.motion)
        if R is None:
            return 2.0 * self.inner.partial_trace(self.g, M, columns)
        assert isinstance(self.inner, DiagonalInner)
        turned = np.stack([((R.T @ m) * R[columns].T).sum(1) for m in M])
        return 2.0 * ((turned.T @ self.g) / self.inner.N).sum(0)


def _inner_systems(g: Array, Z: Array | Arrow, b: Array) -> Inner:
    """N for the moments of the features: (q, r) their diagonals, (q, r, r), or an arrow."""
    if isinstance(Z, Arrow):
        return ArrowInner(g, Z, b)
    return DiagonalInner(g, Z, b) if Z.ndim == 2 else DenseInner(g, Z, b)


def _written_out(Z: Array | Arrow) -> Array:
    if not isinstance(Z, Arrow):
        return Z
    width = Z.z.shape[1] + Z.S.shape[1]
    check_square(width, f"{width:,} features are decomposed together for this")
    return Z.to_dense()


class AdditiveCross(Cross):
    """New documents by their features, and by what the base says of them.

    Over a graph, the two parts of the variance are taken as independent given the data: features that are
    known from many documents have hardly any variance left to share.
    """

    def __init__(self, operator: Additive, new: Placement):
        self.operator, self.new = operator, new
        assert new.features is not None
        self.features = new.features

    def mean(self, alpha: Array, F: Array) -> Array:
        weights = self.operator.features.t_dot(alpha)
        rest = F - self.operator.features.dot(weights)
        return self.features.dot(weights) + self.operator.base.carried(self.new, alpha, rest)

    def variance(self, b: Array) -> Array:
        open_part = self.operator.quadratic(self.features, b) * b
        return open_part + self.operator.base.carried_variance(self.new, b)

    def conditional(self) -> Spectral:
        limit = self.operator.limit()
        follows, own = self.operator.base.limit(self.new)
        rows = self.operator.rotated(self.features.to_dense().T).T
        if follows is not None:
            rows = rows - self.operator.rotated(self.operator.features.t_dot(follows.T)).T
        open_part = (rows * limit if limit.ndim == 1 else rows @ limit) @ rows.T
        scale = float((rows**2).sum() + np.trace(own))
        return Spectral.from_dense(0.5 * (open_part + open_part.T) + own, scale)
