"""Results of jobs, one JSON file each, so that a run goes on where the last one stopped."""

import hashlib
import inspect
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from experiments import data
from experiments.jobs import Job, Settings
from gptm import __version__
from gptm._basics.atomic_files import replace_file

_PACKAGE = "experiments"


class Store:
    """Results under a folder, each with the fingerprint of what made it.

    Examples
    --------
    >>> import tempfile
    >>> def double(settings, number):
    ...     return {"twice": 2 * number}
    >>> job, settings = Job("double/3", double, {"number": 3}), Settings()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder, [job], settings)
    ...     store.get(job.key) is None
    ...     store.put(job.key, {"twice": 6})
    ...     store.get(job.key)
    True
    {'twice': 6}
    """

    def __init__(self, folder: str | os.PathLike[str], jobs: list[Job], settings: Settings):
        self.folder = Path(folder)
        self._fingerprints: dict[str, str] = {}
        for job in jobs:  # those that others need come before them
            needed = [self._fingerprints[key] for key in job.needs]
            self._fingerprints[job.key] = fingerprint(job, settings, needed)

    def path(self, key: str) -> Path:
        return self.folder / f"{key.replace('/', '-')}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """The result, if it is there and nothing has changed that would change it."""
        try:
            kept = json.loads(self.path(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        if kept.get("key") != key or kept.get("fingerprint") != self._fingerprints[key]:
            return None
        return dict(kept["result"])

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Keep a result; whoever reads meanwhile finds the old file or the new one, never half of it."""
        content = {"key": key, "fingerprint": self._fingerprints[key], "result": result}
        text = json.dumps(content, allow_nan=False) + "\n"
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self.path(key), text.encode())


def fingerprint(job: Job, settings: Settings, needed: list[str]) -> str:
    """A digest of what a result depends on: arguments, seed, documents, the code of the job, and other results."""
    corpus = job.arguments.get("corpus")
    parts = {
        "key": job.key,
        "arguments": job.arguments,
        "seed": settings.seed,
        "quick": settings.quick,
        "documents": None if corpus is None else data.digest(corpus, settings),
        "code": _digest_of_code(job.run),
        "version": __version__,
        "needed": needed,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@cache
def _digest_of_code(function: Callable[..., Any]) -> str:
    """Of the source of a function and of all functions, classes and constants of this package that it uses.

    How results are presented is none of these, so that other words and colours need no new run.
    """
    seen: dict[str, str] = {}
    _collect(function, seen)
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def _collect(function: Any, seen: dict[str, str]) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    if name in seen:
        return
    seen[name] = inspect.getsource(function)
    members = vars(function).values() if inspect.isclass(function) else (function,)
    parts = (getattr(member, "__func__", member) for member in members)
    for part in filter(inspect.isfunction, parts):
        for used in _names(part.__code__):
            value = part.__globals__.get(used)
            ours = (getattr(value, "__module__", None) or "").startswith(_PACKAGE)
            if ours and callable(value):
                _collect(inspect.unwrap(value), seen)
            elif isinstance(value, int | float | str | tuple | dict):
                seen[f"{part.__module__}.{used}"] = repr(value)


def _names(code: CodeType) -> set[str]:
    """Names that code uses, also inside its comprehensions and inner functions."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*map(_names, inner))
