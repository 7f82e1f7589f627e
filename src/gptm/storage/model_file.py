"""A model on disk: one safetensors file, arrays as tensors, all else as JSON in its header.

Nothing in the file is code: loading never runs anything that the file brings along. Beside the model the file may hold
the documents it was fitted to, which `load` leaves alone and `load_attached` reads.
"""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import metadata as package_metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from scipy.sparse import issparse
from sklearn.gaussian_process import kernels as gp

from gptm import __version__, kernels
from gptm._basics.atomic_files import replace_file
from gptm._basics.parallel import computing
from gptm._basics.sparse_arrays import from_sparse_arrays, sparse_arrays
from gptm._basics.warnings import warn
from gptm.corpus import Corpus
from gptm.corpus.metadata import as_name, parse_days
from gptm.inference.em.document_step import word_by_word
from gptm.inference.sampling.convergence import QUANTITIES, diagnostics_table
from gptm.kernels import Kernel
from gptm.kernels.identity import NothingBound
from gptm.model import CTM, GPTM
from gptm.storage.corpus_arrays import pack_corpus, unpack_corpus
from gptm.storage.draw_arrays import anchors, check_draws, draws_arrays, in_own_basis, read_draws

SCHEMA = 1
_CORPUS = "corpus."  # begins the names of all arrays that belong to the documents, not to the model
_WATCHED = "watched."  # and of those that a chain is judged by
_MODELS: dict[str, type] = {"GPTM": GPTM, "CTM": CTM}
_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "safetensors")
_SCALARS = ("n_features_in_", "n_iter_", "converged_", "stop_reason_", "_joint")
_ARRAYS = (
    "components_",
    "topic_covariance_",
    "mean_",
    "doc_logits_",
    "doc_variance_",
    "doc_lengths_",
    "doc_topics_",
    "_coherence",
    "bound_",
    "coregionalization_",
    "doc_means_",
    "dual_coef_",
)


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


def save_model(
    model: GPTM | CTM,
    path: str | os.PathLike[str],
    *,
    corpus: Corpus | None = None,
    texts: Sequence[str] | None = None,
    words: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model, and its documents where they are given, replacing the file as a whole.

    Parameters
    ----------
    model : GPTM or CTM
    path : str or path
    corpus : Corpus, optional
        The training documents; their counts, metadata and ids are kept.
    texts : sequence of str, optional
        One per document of the corpus. Those inside of the corpus are not kept unless they are passed here.
    words, reading : dict, optional
        How texts become words and how files were read, as far as JSON can say it.

    Examples
    --------
    >>> import tempfile, pathlib, gptm
    >>> from gptm.storage.model_file import load_attached, save_model
    >>> corpus = gptm.Corpus.from_texts(["green tea", "coffee beans"] * 5, {"year": range(10)})
    >>> model = gptm.CTM(n_components=2, random_state=0).fit(corpus)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.gptm"
    >>> save_model(model, path, corpus=corpus, texts=corpus.texts)
    >>> load_attached(path).corpus
    Corpus(10 documents, 4 words, 20 tokens, metadata: year)
    """
    if _MODELS.get(type(model).__name__) is not type(model):
        raise ValueError(
            f"a {type(model).__name__} cannot be saved: load would not know the class. Save a GPTM or CTM."
        )
    tensors: dict[str, np.ndarray] = {
        name: np.ascontiguousarray(getattr(model, name)) for name in _ARRAYS if hasattr(model, name)
    }
    if model._draws is not None:
        tensors |= draws_arrays(model._draws) | anchors(model._draws, model._bound_kernel)
    elif isinstance(model, GPTM) and model.kernel_ is not None:  # error bars will need a chain
        tensors |= sparse_arrays(model._counts, "counts")
    for name, array in (model._watched or {}).items():
        tensors[f"{_WATCHED}{name}"] = np.ascontiguousarray(array)
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "model": type(model).__name__,
        "libraries": {"gptm": __version__}
        | {name: package_metadata.version(name) for name in _LIBRARIES},
        "python": platform.python_version(),
        "scalars": {name: getattr(model, name) for name in _SCALARS},
        "parameters": {
            name: _encode(_storable(name, value), tensors, f"parameters.{name}")
            for name, value in model.get_params(deep=False).items()
        },
    }
    names = getattr(model, "feature_names_in_", None)
    header["vocabulary"] = None if names is None else [str(name) for name in names]
    header["topic_names"] = getattr(model, "topic_names_", None)
    header["kernel"] = _encode(getattr(model, "kernel_", None), tensors, "kernel")
    for name, array in model._bound_kernel.arrays().items():
        tensors[f"training.{name}"] = np.ascontiguousarray(array)
    if corpus is not None:
        _check_documents(model, corpus)
        header["corpus"] = pack_corpus(corpus, texts, _CORPUS, tensors)
    header["words"] = None if words is None else dict(words)
    header["reading"] = None if reading is None else dict(reading)
    replace_file(path, to_bytes(tensors, {"gptm": json.dumps(header)}))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; its `transform` gives the same bits.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    GPTM or CTM

    Raises
    ------
    ValueError
        If the file is truncated, not a gptm model, or written by a newer version.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, gptm
    >>> X = np.array([[3, 2, 0, 0], [0, 0, 3, 3]] * 5)
    >>> model = gptm.CTM(n_components=2, random_state=0).fit(X)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.gptm"
    >>> model.save(path)
    >>> bool((gptm.load(path).transform(X) == model.transform(X)).all())
    True
    """
    return _read(path, _restore_model, lambda name: not name.startswith(_CORPUS))


def load_attached(path: str | os.PathLike[str]) -> Attached:
    """Read what a model's file holds beside the model: documents, and how they were read.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Attached
        Empty where only the model was saved, as `model.save` does.

    Raises
    ------
    ValueError
        As `load` does.
    """
    return _read(path, _restore_attached, lambda name: name.startswith(_CORPUS))


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model's file says of itself: schema, versions of libraries, parameters; no arrays."""
    return _read_file(Path(path), lambda name: False)[0]


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


def _restore_model(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    model = _restore(header, tensors)
    with computing(1):  # as in a fit, so that eigenvectors are the same
        _check_shapes(model)
        if model._draws is not None and model._draws.parts:
            model._draws = in_own_basis(model._draws, model._bound_kernel, tensors)
    model.components_ = word_by_word(model.components_)
    return model


def _check_documents(model: GPTM | CTM, corpus: Corpus) -> None:
    expected = (len(model.doc_lengths_), model.components_.shape[1])
    if corpus.shape != expected:
        raise ValueError(
            f"the corpus must be the one that the model was fitted to, with {expected[0]} documents and {expected[1]} "
            f"words; got {corpus.shape[0]} and {corpus.shape[1]}."
        )


def _restore_attached(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Attached:
    found = header.get("corpus")  # files of older versions know nothing of it
    corpus = None if found is None else unpack_corpus(found, _CORPUS, tensors)
    return Attached(corpus, header.get("words"), header.get("reading"))


def _check_shapes(model: Any) -> None:
    """An error unless the arrays of a model fit each other."""
    K, V = model.components_.shape
    D = model._bound_kernel.n
    expected: dict[str, tuple[int, ...]] = {
        "topic_covariance_": (K, K),
        "mean_": (K,),
        "doc_logits_": (D, K),
        "doc_variance_": (D, K),
        "doc_lengths_": (D,),
    }
    if isinstance(model, GPTM):
        expected |= {"coregionalization_": (K, K), "doc_means_": (D, K), "dual_coef_": (D, K)}
        if model.kernel_ is not None and model._draws is None:
            expected["_counts"] = (D, V)
    for name, shape in expected.items():
        if getattr(model, name).shape != shape:
            raise ValueError(f"{name} has shape {getattr(model, name).shape}, expected {shape}")
    if model._draws is not None:
        check_draws(model._draws, model._bound_kernel, K - 1)
    if getattr(model, "_doc_topics", np.empty(0)).shape != (D, K):
        raise ValueError(f"doc_topics_ must have shape {(D, K)}")
    if model.n_features_in_ != V or len(getattr(model, "feature_names_in_", range(V))) != V:
        raise ValueError(f"the vocabulary does not have the {V} words of the topics")


def _restore(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    parameters = {name: _decode(value, tensors) for name, value in header["parameters"].items()}
    model = _MODELS[header["model"]](**parameters)
    for name in _ARRAYS:
        if name in tensors:
            setattr(model, "_doc_topics" if name == "doc_topics_" else name, tensors[name])
    model._draws = read_draws(tensors)
    watched = {  # in the order of the fit
        name: tensors[f"{_WATCHED}{name}"] for name in QUANTITIES if f"{_WATCHED}{name}" in tensors
    }
    model._watched = watched or None
    model.diagnostics_ = diagnostics_table(watched) if watched else None
    for name in _SCALARS:
        setattr(model, name, header["scalars"][name])
    if header["vocabulary"] is not None:
        model.feature_names_in_ = np.array(header["vocabulary"], dtype=object)
    model.topic_names_ = header.get("topic_names")  # not in files of older versions
    kernel = _decode(header["kernel"], tensors)
    training = {
        name.removeprefix("training."): array
        for name, array in tensors.items()
        if name.startswith("training.")
    }
    if isinstance(model, GPTM):
        model.kernel_ = kernel
        if kernel is not None and model._draws is None:
            model._counts = from_sparse_arrays(tensors, "counts")
    nothing = kernel is None
    model._bound_kernel = (
        NothingBound(int(training["n"][0])) if nothing else kernel.rebind(training)
    )
    return model


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


def _storable(name: str, value: Any) -> Any:
    """A parameter as it can be kept: what only lives in a process is left out, and said so."""
    if name == "callback":
        return None
    if name == "seed_words" and value is not None:  # words may come as a set, a series, an array
        return {
            topic: [words] if isinstance(words, str) else list(words)
            for topic, words in value.items()
        }
    if name == "random_state" and value is not None and not isinstance(value, int | np.integer):
        warn(
            f"random_state={value!r} cannot be saved; the loaded model has random_state=None.",
        )
        return None
    return value


def _encode(value: Any, tensors: dict[str, np.ndarray], path: str) -> Any:
    """JSON for a parameter; arrays go to the tensors and leave their name behind."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, timedelta | np.timedelta64):  # as text, which kernels read too
        return f"{np.format_float_positional(parse_days(value))}d"
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return {"tensor": _kept(value, tensors, path)}
    if issparse(value):
        parts = sparse_arrays(value.tocsr(), "sparse")
        return {key: _kept(part, tensors, f"{path}.{key}") for key, part in parts.items()}
    if isinstance(value, pd.DataFrame):
        kept = _kept(value.to_numpy(dtype=np.float64), tensors, path)
        index, columns = (
            [one if isinstance(one, int | float | str) else as_name(one) for one in labels.tolist()]
            for labels in (value.index, value.columns)
        )
        return {"frame": kept, "index": index, "columns": columns}
    if isinstance(value, list | tuple):
        items = [_encode(item, tensors, f"{path}.{i}") for i, item in enumerate(value)]
        return {"list": items} if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        pairs = [
            (_encode(k, tensors, path), _encode(v, tensors, f"{path}.{k}"))
            for k, v in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, Kernel | gp.Kernel) and _is_public(value):
        params = value.get_params(deep=False)
        return {
            "gptm" if isinstance(value, Kernel) else "sklearn": type(value).__name__,
            "params": {k: _encode(v, tensors, f"{path}.{k}") for k, v in params.items()},
        }
    raise ValueError(
        f"{path} = {value!r} cannot be saved; only numbers, strings, arrays and named kernels can."
    )


def _kept(array: np.ndarray, tensors: dict[str, np.ndarray], path: str) -> str:
    """The name under which an array is kept; one that is there already is not written again."""
    for name, other in tensors.items():
        if other.dtype == array.dtype and np.array_equal(other, array):
            return name
    tensors[path] = np.asarray(array, order="C")  # which keeps a single number single
    return path


def _decode(value: Any, tensors: dict[str, np.ndarray]) -> Any:
    """The parameter that `_encode` wrote; kernels by name from two known modules only."""
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensors[value["tensor"]]
    if "sparse.data" in value:
        return from_sparse_arrays({key: tensors[name] for key, name in value.items()}, "sparse")
    if "frame" in value:
        index, columns = ([_decode(one, tensors) for one in value[k]] for k in ("index", "columns"))
        return pd.DataFrame(tensors[value["frame"]], index=index, columns=columns)
    if "list" in value:
        return [_decode(item, tensors) for item in value["list"]]
    if "tuple" in value:
        return tuple(_decode(item, tensors) for item in value["tuple"])
    if "dict" in value:
        return {_decode(k, tensors): _decode(v, tensors) for k, v in value["dict"]}
    params = {k: _decode(v, tensors) for k, v in value["params"].items()}
    if "gptm" in value:
        kind = _named_class(kernels, value["gptm"], Kernel)
        return kind.from_params(params)
    return _named_class(gp, value["sklearn"], gp.Kernel)(**params)


def _is_public(kernel: Kernel | gp.Kernel) -> bool:
    """Whether `load` will find the kernel's class by its name."""
    module = kernels if isinstance(kernel, Kernel) else gp
    return getattr(module, type(kernel).__name__, None) is type(kernel)


def _named_class(module: Any, name: str, parent: type) -> Any:
    kind = getattr(module, name, None)
    if not (isinstance(kind, type) and issubclass(kind, parent)):
        raise ValueError(
            f"the file names the kernel {name!r}, which {module.__name__} does not have."
        )
    return kind
