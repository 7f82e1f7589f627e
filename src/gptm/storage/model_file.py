"""A model on disk: one safetensors file, arrays as tensors, all else as JSON in its header.

Nothing in the file is code: loading never runs anything that the file brings along. Nothing in it is believed either:
checksums show damage, and sizes, types and values are checked before anything is built from them.

Beside the model the file may hold the documents it was fitted to, which `read_model` leaves alone and `load_attached`
reads.
"""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata as package_metadata
from typing import Any, NamedTuple, TypeVar

import numpy as np
from safetensors.numpy import save as to_bytes

from gptm._basics.atomic_files import replace_file
from gptm._basics.parallel import computing
from gptm._basics.plain_json import check_depth
from gptm._basics.sparse_arrays import from_sparse_arrays, sparse_arrays
from gptm._basics.version import VERSION
from gptm.corpus import Corpus, Words
from gptm.fitted import Fitted
from gptm.inference.sampling.convergence import QUANTITIES, diagnostics_table
from gptm.kernels import BoundKernel
from gptm.kernels.identity import NothingBound
from gptm.storage.array_checks import check_model_arrays
from gptm.storage.checked_file import SCHEMA, Content, read_checked
from gptm.storage.checksum import with_checksums
from gptm.storage.corpus_arrays import pack_corpus, unpack_corpus
from gptm.storage.draw_arrays import (
    anchors,
    check_draws,
    draws_arrays,
    in_own_basis,
    read_draws,
    read_whole,
    whole_arrays,
)
from gptm.storage.header_checks import check_attached_header, check_model_header
from gptm.storage.parameter_json import decode, encode, storable
from gptm.storage.stream_arrays import pack_stream, read_stream
from gptm.storage.training_checks import check_bound, check_training
from gptm.surgery.regroup import regroup

_CORPUS = "corpus."  # begins the names of all arrays that belong to the documents, not to the model
_WATCHED = "watched."  # and of those that a chain is judged by
_TRAINING = "training."  # and of what the kernel needs of the training documents
_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "safetensors")
_ARRAYS = ("components", "mu", "Sigma", "lam", "nu2", "lengths", "doc_topics", "coherence", "trace")
_OF_KERNEL = ("B", "F", "alpha")  # zero without one
_T = TypeVar("_T")
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
    """Write a fitted model, and its documents where they are given, replacing the file as a whole.

    What `read_model` would refuse is not written.
    """
    tensors = _all_tensors(model.fitted)
    header = _header(model, tensors)
    if corpus is not None:
        _check_documents(model.fitted, corpus)
        header["corpus"] = pack_corpus(corpus, texts, _CORPUS, tensors)
    used = model.fitted.words
    header["words"] = dict(words) if words is not None else None if used is None else used.to_dict()
    header["kinds"] = dict(model.fitted.kinds)
    header["reading"] = None if reading is None else dict(reading)
    check_depth(header)
    check_attached_header(header)
    check_model_arrays(tensors, with_kernel=header["kernel"] is not None)
    signed = with_checksums(header, tensors)
    replace_file(path, to_bytes(tensors, {"gptm": json.dumps(signed)}))


def read_model(path: str | os.PathLike[str]) -> Stored:
    """The model in a file; a `ValueError` if it is damaged, or not a model."""
    return _read(path, _restore_model, lambda name: not name.startswith(_CORPUS))


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
    return _read(path, _restore_attached, lambda name: name.startswith(_CORPUS))


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model's file says of itself: schema, versions of libraries, parameters; no arrays."""
    return _read(path, _checked_header, lambda name: False)


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
    if _keeps_counts(fitted):
        tensors |= sparse_arrays(fitted.counts, "counts")
    for name, array in (fitted.watched or {}).items():
        tensors[f"{_WATCHED}{name}"] = np.ascontiguousarray(array)
    if fitted.whole is not None:
        tensors |= whole_arrays(fitted.whole)
    for name, array in fitted.bound.arrays().items():
        tensors[f"{_TRAINING}{name}"] = np.ascontiguousarray(array)
    return tensors


def _keeps_counts(fitted: Fitted) -> bool:
    """Whether words of the training documents are needed: by a chain for error bars, or by the next update."""
    for_bars = fitted.draws is None and fitted.kernel is not None
    return for_bars or (fitted.stream is not None and fitted.counts is not None)


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
        "stream": pack_stream(fitted if fitted.origin is None else fitted.origin.fitted, tensors),
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
    restore: Callable[[Content], _T],
    wanted: Callable[[str], bool],
) -> _T:
    content = read_checked(path, wanted)
    try:
        return restore(content)
    except MemoryError:  # sizes were checked: there is too little memory for an honest file
        raise
    except Exception as error:  # whatever a file makes the code below do, the file is the reason
        raise ValueError(
            f"{os.fspath(path)} is not a complete gptm model ({type(error).__name__}: {error}). Save the model again."
        ) from error


def _checked_header(content: Content) -> dict[str, Any]:
    check_attached_header(content.header)
    return content.header


def _restore_attached(content: Content) -> Attached:
    header = _checked_header(content)
    packed = header.get("corpus")
    if packed is not None:
        expected = [content.shapes["lam"][0], content.shapes["components"][1]]
        if packed["shape"] != expected:
            raise ValueError(f"the documents have shape {packed['shape']}, expected {expected}")
    corpus = None if packed is None else unpack_corpus(packed, _CORPUS, content.tensors)
    return Attached(corpus, header.get("words"), header.get("reading"))


def _restore_model(content: Content) -> Stored:
    header, tensors = content.header, content.tensors
    check_model_header(header)
    check_model_arrays(tensors, with_kernel=header["kernel"] is not None)
    parameters = {name: decode(value, tensors) for name, value in header["parameters"].items()}
    fitted = _restore_fitted(header, tensors)
    with computing(1):  # as in a fit, so that eigenvectors are the same
        _check_parts(fitted)
        whole = read_whole(tensors, fitted.bound)
        if fitted.draws is not None and fitted.draws.parts:
            fitted = replace(fitted, draws=in_own_basis(fitted.draws, fitted.bound, tensors))
        fitted = replace(fitted, whole=whole)
        fitted = _restore_topics(fitted, header, tensors)
    return Stored(header["model"], parameters, fitted)


def _restore_fitted(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Fitted:
    kernel = decode(header["kernel"], tensors)
    draws = read_draws(tensors)
    watched = {  # in the order of the fit
        name: tensors[f"{_WATCHED}{name}"] for name in QUANTITIES if f"{_WATCHED}{name}" in tensors
    }
    arrays: dict[str, Any] = {name: tensors[name] for name in _ARRAYS if name in tensors}
    shape = (len(tensors["lam"]), *tensors["components"].T.shape)
    stream, columns = read_stream(header.get("stream"), tensors, shape)
    needed = kernel is not None and draws is None
    there = stream is not None and any(name.startswith("counts") for name in tensors)
    if kernel is None:
        arrays |= _nothing_of_kernel(tensors)
    else:
        arrays |= {name: tensors[name] for name in _OF_KERNEL}
    return Fitted(
        **arrays,
        bound=_restore_bound(kernel, tensors),
        counts=from_sparse_arrays(tensors, "counts") if needed or there else None,
        stream=stream,
        columns=columns,
        joint=header["joint"],
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


def _restore_bound(kernel: Any, tensors: dict[str, np.ndarray]) -> BoundKernel:
    """The kernel over the training documents, whose arrays are checked before it is built on them."""
    D, V = len(tensors["lam"]), tensors["components"].shape[1]
    training = _beginning_with(_TRAINING, tensors)
    check_training(training, D, V)
    bound: BoundKernel = NothingBound(D) if kernel is None else kernel.rebind(training)
    check_bound(bound, D)
    return bound


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


def _check_parts(fitted: Fitted) -> None:
    """An error unless the parts of a model that are no plain arrays fit the arrays."""
    (K, V), D = fitted.components.shape, len(fitted.lam)
    if fitted.counts is not None and fitted.counts.shape != (D, V):
        raise ValueError(f"counts have shape {fitted.counts.shape}, expected {(D, V)}")
    if fitted.draws is not None:
        check_draws(fitted.draws, fitted.bound, K - 1)
    if fitted.vocabulary is not None and len(fitted.vocabulary) != V:
        raise ValueError(f"the vocabulary does not have the {V} words of the topics")
