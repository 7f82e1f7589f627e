"""Draws of a sampler as named arrays, and back.

Weights of features belong to the basis in which these were computed, which another machine may turn: features of some
documents go with them as anchors.
"""

import numpy as np

from gptm.fitted import Draws, Part, Whole
from gptm.kernels import BoundKernel
from gptm.kernels.identity import NothingBound
from gptm.kernels.weighted_terms import terms_of
from gptm.operators import Structure

_DRAWS, _ANCHOR, _WHOLE = "draws.", "anchor.", "whole."  # begin the names of arrays


def _anchor_rows(structure: Structure) -> np.ndarray:
    """Documents whose features say in which basis these are."""
    assert structure.features is not None
    n = min(structure.n, 4 * structure.features.width + 20)
    return np.unique(np.linspace(0, structure.n - 1, n).round().astype(np.int64))


def _turns(structure: Structure) -> bool:
    """Whether features are computed, in a basis that another machine may turn, and not given by the documents."""
    return structure.features is not None and not structure.features.sparse


def anchors(draws: Draws, bound: BoundKernel) -> dict[str, np.ndarray]:
    """Features of some documents, by which `in_own_basis` knows the basis that weights were drawn in."""
    arrays_by_name = {}
    for number, (_, term) in enumerate(zip(draws.parts, terms_of(bound), strict=False)):
        structure = term.structure
        if structure.features is not None and _turns(structure):
            Phi = structure.features.take(_anchor_rows(structure)).to_dense()
            arrays_by_name[f"{_ANCHOR}{number}"] = Phi.astype(np.float32)
    return arrays_by_name


def in_own_basis(draws: Draws, bound: BoundKernel, tensors: dict[str, np.ndarray]) -> Draws:
    """The draws with weights of the features as this machine computes them.

    Eigenvectors have no sign of their own, and where eigenvalues are equal no direction either.
    """
    parts = list(draws.parts)
    for number, (part, term) in enumerate(zip(draws.parts, terms_of(bound), strict=True)):
        turn = _turn(number, term.structure, tensors)
        if turn is not None and part.weights is not None:
            weights = np.einsum("qr,srp->sqp", turn, part.weights)
            parts[number] = part._replace(weights=weights.astype(np.float32))
    return draws._replace(parts=tuple(parts))


def _turn(number: int, structure: Structure, tensors: dict[str, np.ndarray]) -> np.ndarray | None:
    """(r, r) from weights in the file's basis to those in ours; None if both are the same."""
    if not _turns(structure):
        return None
    assert structure.features is not None
    here = structure.features.take(_anchor_rows(structure)).to_dense()
    there = tensors[f"{_ANCHOR}{number}"]
    if here.shape != there.shape:
        raise ValueError("draws of the kernel's terms do not fit the kernel")
    if np.allclose(here, there, rtol=0.0, atol=1e-5 * np.abs(there).max(initial=0.0)):
        return None
    return np.asarray(np.linalg.lstsq(here, there, rcond=1e-6)[0])


def whole_arrays(whole: Whole) -> dict[str, np.ndarray]:
    """What a fit to blocks knows of all documents."""
    sizes = np.array([whole.documents, whole.tokens], dtype=np.int64)
    return {f"{_WHOLE}sizes": sizes, f"{_WHOLE}gram": np.ascontiguousarray(whole.gram)}


def read_whole(tensors: dict[str, np.ndarray], bound: BoundKernel) -> Whole | None:
    """The same from a file, in the basis of this machine."""
    sizes, gram = tensors.get(f"{_WHOLE}sizes"), tensors.get(f"{_WHOLE}gram")
    if sizes is None or gram is None:
        return None
    structures = [] if isinstance(bound, NothingBound) else [t.structure for t in terms_of(bound)]
    widths = [0 if s.features is None else s.features.width for s in structures]
    r = sum(widths)
    if gram.shape != (r, r) or sizes.shape != (2,) or not np.isfinite(gram).all():
        raise ValueError("the features of all documents do not fit the kernel")
    turn, start = np.eye(r), 0
    for number, (structure, width) in enumerate(zip(structures, widths, strict=True)):
        own = _turn(number, structure, tensors)
        if own is not None:
            turn[start : start + width, start : start + width] = own
        start += width
    return Whole(int(sizes[0]), int(sizes[1]), turn @ gram @ turn.T)


def draws_arrays(draws: Draws) -> dict[str, np.ndarray]:
    """Snapshots by name; parts of the kernel's terms by their numbers."""
    arrays_by_name = {name: getattr(draws, name) for name in Draws._fields if name != "parts"}
    for number, part in enumerate(draws.parts):
        arrays = {"weights": part.weights, "own": part.own}
        arrays |= {f"graph{i}": graph for i, graph in enumerate(part.graphs)}
        arrays_by_name |= {
            f"part{number}.{k}": array for k, array in arrays.items() if array is not None
        }
    return {
        f"{_DRAWS}{name}": np.ascontiguousarray(array) for name, array in arrays_by_name.items()
    }


def read_draws(tensors: dict[str, np.ndarray]) -> Draws | None:
    arrays_by_name = {
        name.removeprefix(_DRAWS): array
        for name, array in tensors.items()
        if name.startswith(_DRAWS)
    }
    if not arrays_by_name:
        return None
    parts: list[Part] = []
    while names := [name for name in arrays_by_name if name.startswith(f"part{len(parts)}.")]:
        begin = f"part{len(parts)}."
        graphs = sum(name.startswith(f"{begin}graph") for name in names)
        parts.append(
            Part(
                arrays_by_name.get(f"{begin}weights"),
                arrays_by_name.get(f"{begin}own"),
                tuple(arrays_by_name[f"{begin}graph{i}"] for i in range(graphs)),
            )
        )
    return Draws(**{name: arrays_by_name[name] for name in Draws._fields[:-1]}, parts=tuple(parts))


def check_draws(draws: Draws, bound: BoundKernel, p: int) -> None:
    """An error unless the snapshots fit each other, the kernel and the topics."""
    s, d = len(draws.mu), len(draws.rows)
    expected = {"mu": (s, p), "S": (s, p, p), "B": (s, p, p), "logits": (s, d, p), "chain": (s,)}
    for name, shape in expected.items():
        if getattr(draws, name).shape != shape:
            raise ValueError(f"draws of {name} have shape {getattr(draws, name).shape}")
    if d and not (draws.rows.min() >= 0 and draws.rows.max() < bound.n):
        raise ValueError("draws are of documents that the model does not have")
    if not draws.parts:
        return
    for part, term in zip(draws.parts, terms_of(bound), strict=True):
        structure = term.structure
        width = 0 if structure.features is None else structure.features.width
        if (part.weights is None) != (structure.features is None):
            raise ValueError("draws of the kernel's terms do not fit the kernel")
        arrays = [(part.weights, width), (part.own, structure.n)]
        arrays += [(graph, structure.n) for graph in part.graphs]
        fit = all(array is None or array.shape == (s, n, p) for array, n in arrays)
        if not fit or len(part.graphs) != len(structure.graphs):
            raise ValueError("draws of the kernel's terms do not fit the kernel")
