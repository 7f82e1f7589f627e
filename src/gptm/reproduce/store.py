"""Results of jobs, one JSON file each, so that a run goes on where the last one stopped."""

import hashlib
import importlib
import inspect
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from gptm.reproduce import data
from gptm.reproduce.jobs import Job, Settings


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
        text = json.dumps(content, indent=1, allow_nan=False) + "\n"
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(key)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)


def fingerprint(job: Job, settings: Settings, needed: list[str]) -> str:
    """A digest of what a result depends on: arguments, seed, documents, the code of the job, and other results."""
    corpus = job.arguments.get("corpus")
    parts = {
        "key": job.key,
        "arguments": job.arguments,
        "seed": settings.seed,
        "quick": settings.quick,
        "documents": None if corpus is None else data.digest(corpus, settings),
        "code": [_digest_of_module(name) for name in (job.run.__module__, data.__name__)],
        "needed": needed,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@cache
def _digest_of_module(name: str) -> str:
    """Of its source; of nothing where it has none, as in a notebook."""
    try:
        source = inspect.getsource(importlib.import_module(name))
    except (OSError, TypeError):
        source = ""
    return hashlib.sha256(source.encode()).hexdigest()
