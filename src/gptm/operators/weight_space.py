"""Features over an operator with a functional calculus, and the systems of their weights."""

from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from gptm._basics.eigenvectors import steady_signs
from gptm._basics.memory import check_square
from gptm._basics.types import Array
from gptm.operators.arrow import Arrow, ArrowInner
from gptm.operators.calculus import Base, damping
from gptm.operators.diagonal import Diagonal
from gptm.operators.features import Features
from gptm.operators.moments import FeatureMoments, feature_moments
from gptm.operators.sparse import Sparse
from gptm.operators.weight_systems import DenseInner, DiagonalInner, Inner

_ENTRIES = 10**7  # of features that are written out at a time
APART = 256  # features that exclude each other: a decomposition of so many with the others would be slow


class WeightSpace:
    """𝒦 = base + Phi Phi', by Woodbury's identity: weight space for Phi, the base's calculus for the rest.

    Per strength, one r x r system N = I + b Phi' (b base + I)^-1 Phi has to be solved; where the base is a
    multiple of the identity, features are rotated once so that all of them are diagonal. `like` is an operator with
    other parameters, whose moments of the same features are reused. A block of features that exclude each other is
    solved apart from the others if it has `apart` columns or more.
    """

    def __init__(self, base: Base, features: Features, like: object = None, apart: int = APART):
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
            earlier = like.moments_of_features if isinstance(like, WeightSpace) else None
            self.moments_of_features = feature_moments(base, features, earlier)
            self._Z = base.at_nodes(self.moments_of_features.assembled(features))
        else:
            Z = base.moments(features, features)  # (q, r, r)
            self._Z = self._diagonalised(Z[0])[None] if len(Z) == 1 else Z

    def _diagonalised(self, Z: Array) -> Array:
        """The one diagonal that is left of Phi' Phi after rotating the features."""
        diagonal = np.diagonal(Z).copy()
        if np.abs(Z - np.diag(diagonal)).max(initial=0.0) > 1e-13 * diagonal.max(initial=0.0):
            diagonal, vectors = eigh(Z)
            self._rotation = vectors * steady_signs(vectors)
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

    def inner(self, b: Array) -> Inner:
        """N for each strength, cached for the next call with the same strengths."""
        key, last = b.tobytes(), self._last  # read once, since another thread may replace it
        if last is None or last[0] != key:
            self._last = last = (key, inner_systems(damping(self.base, b), self._Z, b))
        return last[1]

    def moments_times(self, q: int, X: Array) -> Array:
        """Z_q X, with the features' moments at the q-th node of the base."""
        Z = self._Z
        if isinstance(Z, Arrow):
            return Z.times(q, X)
        return np.asarray(Z[q][:, None] * X if Z.ndim == 2 else Z[q] @ X)

    def quadratic(self, features: Features, b: Array) -> Array:
        """(n, len(b)) x' N^-1 x for the features x of any documents, some of them at a time."""
        inner = self.inner(b)
        if isinstance(inner, DiagonalInner) and self._rotation is None and features.sparse:
            return np.asarray(features.to_sparse().power(2) @ (1.0 / inner.N))
        apart = inner.Z.columns if isinstance(inner, ArrowInner) else slice(0, 0)
        dense = features.width - (apart.stop - apart.start)
        pieces = 1 + features.n * dense // _ENTRIES
        forms = []
        for rows in np.array_split(np.arange(features.n), pieces):
            some = features.take(rows)
            rest = np.hstack([some.columns(0, apart.start), some.columns(apart.stop, some.width)])
            if isinstance(inner, ArrowInner):
                forms.append(inner.quadratic_of(some.sparse_columns(apart), rest))
            else:
                forms.append(inner.quadratic(self.rotated(rest.T).T))
        return np.concatenate(forms)

    def limit(self) -> Array:
        """(r,) or (r, r), posterior covariance of the weights given F exactly: (I + Phi' base^-1 Phi)^-1."""
        Z = written_out(self._Z)
        tiny = max(np.finfo(float).eps * float(Z.max(initial=0.0)), 1e-300)
        inverse = 1.0 / np.maximum(self.base.nodes, tiny)
        if Z.ndim == 2:
            return 1.0 / (1.0 + inverse @ Z)
        if len(Z) == 1:  # by eigenvalues, as some may be zero but for rounding
            values, vectors = eigh(Z[0])
            values[values < len(values) * tiny] = 0.0
            return np.asarray((vectors / (1.0 + inverse[0] * values)) @ vectors.T)
        return np.asarray(np.linalg.inv(np.eye(Z.shape[1]) + np.tensordot(inverse, Z, axes=1)))


def inner_systems(g: Array, Z: Array | Arrow, b: Array) -> Inner:
    """N for the moments of the features: (q, r) their diagonals, (q, r, r), or an arrow."""
    if isinstance(Z, Arrow):
        return ArrowInner(g, Z, b)
    return DiagonalInner(g, Z, b) if Z.ndim == 2 else DenseInner(g, Z, b)


def written_out(Z: Array | Arrow) -> Array:
    """The moments of the features as an array, refused where that would not fit."""
    if not isinstance(Z, Arrow):
        return Z
    width = Z.z.shape[1] + Z.S.shape[1]
    check_square(width, f"{width:,} features are decomposed together for this")
    return Z.to_dense()
