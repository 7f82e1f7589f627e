"""Settings and kernels as JSON, with their arrays beside it; back again without running anything."""

from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.gaussian_process import kernels as gp

from gptm import kernels
from gptm._basics.sparse_arrays import from_sparse_arrays, sparse_arrays
from gptm._basics.warnings import warn
from gptm.corpus.metadata import as_name, parse_days
from gptm.kernels import Kernel


def storable(name: str, value: Any) -> Any:
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


def encode(value: Any, tensors: dict[str, np.ndarray], path: str) -> Any:
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
            [
                label if isinstance(label, int | float | str) else as_name(label)
                for label in labels.tolist()
            ]
            for labels in (value.index, value.columns)
        )
        return {"frame": kept, "index": index, "columns": columns}
    if isinstance(value, list | tuple):
        items = [encode(item, tensors, f"{path}.{i}") for i, item in enumerate(value)]
        return {"list": items} if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        pairs = [
            (encode(k, tensors, path), encode(v, tensors, f"{path}.{k}")) for k, v in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, Kernel | gp.Kernel) and _is_public(value):
        params = value.get_params(deep=False)
        return {
            "gptm" if isinstance(value, Kernel) else "sklearn": type(value).__name__,
            "params": {k: encode(v, tensors, f"{path}.{k}") for k, v in params.items()},
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


def decode(value: Any, tensors: dict[str, np.ndarray]) -> Any:
    """The parameter that `encode` wrote; kernels by name from two known modules only."""
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensors[value["tensor"]]
    if "sparse.data" in value:
        return _square({key: tensors[name] for key, name in value.items()})
    if "frame" in value:
        index, columns = (
            [decode(label, tensors) for label in value[k]] for k in ("index", "columns")
        )
        return pd.DataFrame(tensors[value["frame"]], index=index, columns=columns)
    if "list" in value:
        return [decode(item, tensors) for item in value["list"]]
    if "tuple" in value:
        return tuple(decode(item, tensors) for item in value["tuple"])
    if "dict" in value:
        return {decode(k, tensors): decode(v, tensors) for k, v in value["dict"]}
    params = {k: decode(v, tensors) for k, v in value["params"].items()}
    if "gptm" in value:
        kind = _named_class(kernels, value["gptm"], Kernel)
        return kind.from_params(params)
    return _named_class(gp, value["sklearn"], gp.Kernel)(**params)


def _square(parts: dict[str, np.ndarray]) -> Any:
    """A sparse parameter says which documents are linked, so that a number alone cannot make it any larger."""
    rows, columns = parts["sparse.shape"].tolist()
    if rows != columns:
        raise ValueError(
            f"a sparse matrix must be square; it has {rows} rows and {columns} columns"
        )
    return from_sparse_arrays(parts, "sparse")


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
