"""A digest of the code that a job runs, so that a change of it makes the job run again."""

import hashlib
import inspect
import json
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any


@cache
def code_digest(function: Callable[..., Any]) -> str:
    """A digest of a function and of all that it uses of its own package: functions, classes and constants.

    What it uses of other packages does not count, nor does what stands beside it in the same file.

    Examples
    --------
    >>> code_digest(code_digest) == code_digest(code_digest)
    True
    """
    sources: dict[str, str] = {}
    collect_sources(function, function.__module__.partition(".")[0], sources)
    return hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()


def collect_sources(function: Any, package: str, sources: dict[str, str]) -> None:
    """Add the source of a function or class, and of all that it uses of the package, under their names."""
    name = f"{function.__module__}.{function.__qualname__}"
    if name in sources:
        return
    sources[name] = inspect.getsource(function)
    members = vars(function).values() if inspect.isclass(function) else (function,)
    parts = (getattr(member, "__func__", member) for member in members)
    for part in filter(inspect.isfunction, parts):
        for used in _names(part.__code__):
            value = part.__globals__.get(used)
            if _belongs(value, package) and callable(value):
                collect_sources(inspect.unwrap(value), package, sources)
            elif isinstance(value, int | float | str | tuple | dict):
                sources[f"{part.__module__}.{used}"] = repr(value)


def _belongs(value: Any, package: str) -> bool:
    module = getattr(value, "__module__", None) or ""
    return bool(module.partition(".")[0] == package)


def _names(code: CodeType) -> set[str]:
    """Names that code uses, also inside its comprehensions and inner functions."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*map(_names, inner))
