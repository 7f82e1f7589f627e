"""A model on disk: one safetensors file, arrays as tensors, all else as JSON in its header.

Nothing in the file is code: loading never runs anything that the file brings along. Beside the model the file may hold
the documents it was fitted to, which `read_model` leaves alone and `load_attached` reads.
"""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata as package_metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from gptm._basics.atomic_files import replace_file
from gptm._basics.parallel import computing
from gptm._basics.sparse_arrays import from_sparse_arrays, sparse_arrays
from gptm._basics.version import VERSION
from gptm.corpus import Corpus, Words
from gptm.fitted import Fitted
from gptm.inference.sampling.convergence import QUANTITIES, diagnostics_table
from gptm.kernels.identity import NothingBound
from gptm.storage.corpus_arrays import pack_corpus, unpack_corpus
from gptm.storage.draw_arrays import anchors, check_draws, draws_arrays, in_own_basis, read_draws
from gptm.storage.parameter_json import decode, encode, storable
from gptm.surgery.regroup import regroup

SCHEMA = 2
_CORPUS = "corpus."  # begins the names of all arrays that belong to the documents, not to the model
_WATCHED = "watched."  # and of those that a chain is judged by
_TRAINING = "training."  # and of what the kernel needs of the training documents
_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "safetensors")
_ARRAYS = ("components", "mu", "Sigma", "lam", "nu2", "lengths", "doc_topics", "coherence", "trace")
_OF_KERNEL = ("B", "F", "alpha")  # zero without one
_GROUPED_COHERENCE = "grouped.coherence"  # of topics that were merged, dropped or reordered


class Stored(NamedTuple):
    """A model as its file has it."""

    kind: str  # name of the estimator's class
    parameters: dict[str, Any]  # of its constructor
    fitted: Fitted


@dataclass(frozen=True)
class Attached:
    """What a model's file holds beside the model.

    Attributes
    ----------
    corpus : Corpus or None
        The training documents: counts, vocabulary, and where they were kept metadata, ids and texts.
    words : dict or None
        How texts were turned into words.
    reading : dict or None
        How the documents were read: which columns, of which kinds.
    """

    corpus: Corpus | None = None
    words: dict[str, Any] | None = None
    reading: dict[str, Any] | None = None

    @property
    def texts(self) -> list[str] | None:
        """The texts of the training documents, where they were kept."""
        return None if self.corpus is None or self.corpus.texts is None else list(self.corpus.texts)


def write_model(
    path: str | os.PathLike[str],
    model: Stored,
    *,
    corpus: Corpus | None = None,
    texts: Sequence[str] | None = None,
    words: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model, and its documents where they are given, replacing the file as a whole."""
    tensors = _all_tensors(model.fitted)
    header = _header(model, tensors)
    if corpus is not None:
        _check_documents(model.fitted, corpus)
        header["corpus"] = pack_corpus(corpus, texts, _CORPUS, tensors)
    used = model.fitted.words
    header["words"] = dict(words) if words is not None else None if used is None else used.to_dict()
    header["kinds"] = dict(model.fitted.kinds)
    header["reading"] = None if reading is None else dict(reading)
    replace_file(path, to_bytes(tensors, {"gptm": json.dumps(header)}))


def read_model(path: str | os.PathLike[str]) -> Stored:
    """The model in a file; a `ValueError` if it is damaged, or not a model."""
    model: Stored = _read(path, _restore_model, lambda name: not name.startswith(_CORPUS))
    return model


def load_attached(path: str | os.PathLike[str]) -> Attached:
    """Read what a model's file holds beside the model: documents, and how they were read.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Attached
        Empty where only the model was saved, as `model.save(path)` does.

    Raises
    ------
    ValueError
        As `gptm.load` does.

    Examples
    --------
    >>> import tempfile, pathlib, gptm
    >>> from gptm.storage import load_attached
    >>> corpus = gptm.Corpus.from_texts(["green tea", "coffee beans"] * 5, {"year": range(10)})
    >>> model = gptm.CTM(n_components=2, random_state=0).fit(corpus)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.gptm"
    >>> model.save(path, corpus=corpus, texts=corpus.texts)
    >>> load_attached(path).corpus
    Corpus(10 documents, 4 words, 20 tokens, metadata: year)
    """
    attached: Attached = _read(path, _restore_attached, lambda name: name.startswith(_CORPUS))
    return attached


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model's file says of itself: schema, versions of libraries, parameters; no arrays."""
    return _read_file(Path(path), lambda name: False)[0]


# Out


def _all_tensors(fitted: Fitted) -> dict[str, np.ndarray]:
    """Of the fit that inference made. What groups of its topics have follows from it, but for their coherence."""
    if fitted.origin is None:
        return _tensors(fitted)
    assert fitted.coherence is not None
    return _tensors(fitted.origin.fitted) | {_GROUPED_COHERENCE: fitted.coherence}


def _tensors(fitted: Fitted) -> dict[str, np.ndarray]:
    with_kernel = fitted.kernel is not None
    names = (*_ARRAYS, *_OF_KERNEL) if with_kernel else _ARRAYS
    tensors = {
        name: np.ascontiguousarray(getattr(fitted, name))
        for name in names
        if getattr(fitted, name) is not None
    }
    if fitted.draws is not None:
        tensors |= draws_arrays(fitted.draws) | anchors(fitted.draws, fitted.bound)
    elif with_kernel:  # error bars will need a chain
        tensors |= sparse_arrays(fitted.counts, "counts")
    for name, array in (fitted.watched or {}).items():
        tensors[f"{_WATCHED}{name}"] = np.ascontiguousarray(array)
    for name, array in fitted.bound.arrays().items():
        tensors[f"{_TRAINING}{name}"] = np.ascontiguousarray(array)
    return tensors


def _header(model: Stored, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """What is no array. Arrays among the settings join the tensors."""
    fitted = model.fitted
    return {
        "schema": SCHEMA,
        "model": model.kind,
        "libraries": {"gptm": VERSION}
        | {name: package_metadata.version(name) for name in _LIBRARIES},
        "python": platform.python_version(),
        "parameters": {
            name: encode(storable(name, value), tensors, f"parameters.{name}")
            for name, value in model.parameters.items()
        },
        "reason": fitted.reason,
        "joint": fitted.joint,
        "vocabulary": None if fitted.vocabulary is None else list(map(str, fitted.vocabulary)),
        "topic_names": fitted.topic_names,
        "members": None if fitted.origin is None else fitted.origin.members,
        "history": list(fitted.history),
        "kernel": encode(fitted.kernel, tensors, "kernel"),
    }


def _check_documents(fitted: Fitted, corpus: Corpus) -> None:
    expected = (len(fitted.lengths), fitted.components.shape[1])
    if corpus.shape != expected:
        raise ValueError(
            f"the corpus must be the one that the model was fitted to, with {expected[0]} documents and {expected[1]} "
            f"words; got {corpus.shape[0]} and {corpus.shape[1]}."
        )


# In


def _read(
    path: str | os.PathLike[str],
    restore: Callable[[dict[str, Any], dict[str, np.ndarray]], Any],
    wanted: Callable[[str], bool],
) -> Any:
    header, tensors = _read_file(Path(path), wanted)
    try:
        return restore(header, tensors)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(
            f"{os.fspath(path)} is not a complete gptm model ({type(error).__name__}: {error}). Save the model again."
        ) from error


def _restore_attached(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Attached:
    packed = header.get("corpus")
    corpus = None if packed is None else unpack_corpus(packed, _CORPUS, tensors)
    return Attached(corpus, header.get("words"), header.get("reading"))


def _restore_model(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Stored:
    parameters = {name: decode(value, tensors) for name, value in header["parameters"].items()}
    fitted = _restore_fitted(header, tensors)
    with computing(1):  # as in a fit, so that eigenvectors are the same
        _check_shapes(fitted)
        if fitted.draws is not None and fitted.draws.parts:
            fitted = replace(fitted, draws=in_own_basis(fitted.draws, fitted.bound, tensors))
        fitted = _restore_topics(fitted, header, tensors)
    return Stored(header["model"], parameters, fitted)


def _restore_fitted(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Fitted:
    kernel = decode(header["kernel"], tensors)
    training = _beginning_with(_TRAINING, tensors)
    bound = NothingBound(int(training["n"][0])) if kernel is None else kernel.rebind(training)
    draws = read_draws(tensors)
    watched = {  # in the order of the fit
        name: tensors[f"{_WATCHED}{name}"] for name in QUANTITIES if f"{_WATCHED}{name}" in tensors
    }
    arrays: dict[str, Any] = {name: tensors[name] for name in _ARRAYS if name in tensors}
    if kernel is None:
        arrays |= _nothing_of_kernel(tensors)
    else:
        arrays |= {name: tensors[name] for name in _OF_KERNEL}
    return Fitted(
        **arrays,
        bound=bound,
        counts=from_sparse_arrays(tensors, "counts")
        if kernel is not None and draws is None
        else None,
        joint=bool(header["joint"]),
        reason=header["reason"],
        draws=draws,
        watched=watched or None,
        diagnostics=diagnostics_table(watched) if watched else None,
        words=None if header.get("words") is None else Words.from_dict(header["words"]),
        kinds=header.get("kinds") or {},
        vocabulary=None
        if header["vocabulary"] is None
        else np.array(header["vocabulary"], dtype=object),
    )


def _restore_topics(
    fitted: Fitted, header: dict[str, Any], tensors: dict[str, np.ndarray]
) -> Fitted:
    """With topics merged, dropped, reordered and named as they were."""
    if header["members"] is not None:
        members = tuple(tuple(map(int, group)) for group in header["members"])
        fitted = replace(regroup(fitted, members), coherence=tensors[_GROUPED_COHERENCE])
    names = header["topic_names"]
    if names is not None and len(names) != fitted.K:
        raise ValueError(f"there are names of {len(names)} topics, not {fitted.K}")
    return replace(fitted, topic_names=names, history=tuple(header["history"]))


def _nothing_of_kernel(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    D, K = tensors["lam"].shape
    zeros = np.broadcast_to(0.0, (D, K))
    return {"B": np.zeros((K, K)), "F": zeros, "alpha": zeros}


def _beginning_with(beginning: str, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(beginning): array
        for name, array in tensors.items()
        if name.startswith(beginning)
    }


def _check_shapes(fitted: Fitted) -> None:
    """An error unless the arrays of a model fit each other."""
    K, V = fitted.components.shape
    D = fitted.bound.n
    expected: dict[str, tuple[int, ...]] = {
        "Sigma": (K, K),
        "B": (K, K),
        "mu": (K,),
        "lam": (D, K),
        "nu2": (D, K),
        "F": (D, K),
        "alpha": (D, K),
        "doc_topics": (D, K),
        "lengths": (D,),
        "coherence": (K,),
        "trace": (len(fitted.trace),),
    }
    if fitted.counts is not None:
        expected["counts"] = (D, V)
    for name, shape in expected.items():
        if getattr(fitted, name).shape != shape:
            raise ValueError(f"{name} has shape {getattr(fitted, name).shape}, expected {shape}")
    if fitted.draws is not None:
        check_draws(fitted.draws, fitted.bound, K - 1)
    if fitted.vocabulary is not None and len(fitted.vocabulary) != V:
        raise ValueError(f"the vocabulary does not have the {V} words of the topics")


def _read_file(
    path: Path, wanted: Callable[[str], bool]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {os.fspath(path)}.")
    with path.open("rb"):  # the system says it best where a file may not be read, or is a folder
        pass
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            text = (file.metadata() or {}).get("gptm")
            if text is None:
                raise ValueError(
                    f"{os.fspath(path)} is a safetensors file, but not a gptm model. Pass a file that save wrote."
                )
            header = json.loads(text)
            _check_schema(path, header)
            names = [name for name in file.keys() if wanted(name)]  # noqa: SIM118, it is no dictionary
            return header, {name: file.get_tensor(name) for name in names}
    except (SafetensorError, json.JSONDecodeError, OSError) as error:
        raise ValueError(
            f"{os.fspath(path)} is not a gptm model, or was cut short ({error}). Pass a file that save wrote."
        ) from error


def _check_schema(path: Path, header: Any) -> None:
    schema = header.get("schema") if isinstance(header, dict) else None
    if not isinstance(schema, int) or schema < 1:
        raise ValueError(
            f"{os.fspath(path)} is not a gptm model: its header names no schema version."
        )
    if schema > SCHEMA:
        raise ValueError(
            f"{os.fspath(path)} was written with schema {schema} by gptm {header.get('libraries', {}).get('gptm')}; "
            f"this version reads up to schema {SCHEMA}. Upgrade gptm."
        )
