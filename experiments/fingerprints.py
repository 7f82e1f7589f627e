"""What the result of a job depends on, as a short text: where it changes, the job is done again."""

import hashlib
import json
from collections.abc import Iterable

from experiments import data
from experiments.jobs import Job, Settings
from gptm import __version__
from job_store import code_digest


def fingerprints(jobs: Iterable[Job], settings: Settings) -> dict[str, str]:
    """The fingerprint of each job by its key; jobs that others need come before them."""
    by_key: dict[str, str] = {}
    for job in jobs:
        by_key[job.key] = fingerprint(job, settings, [by_key[key] for key in job.needs])
    return by_key


def fingerprint(job: Job, settings: Settings, needed: list[str]) -> str:
    """A digest of arguments, seed, documents, the code of the job, and the results that it needs.

    How results are presented is none of these, so that other words and colours need no new run.
    """
    corpus = job.arguments.get("corpus")
    parts = {
        "key": job.key,
        "arguments": job.arguments,
        "seed": settings.seed,
        "quick": settings.quick,
        "documents": None if corpus is None else data.digest(corpus, settings),
        "code": code_digest(job.run),
        "version": __version__,
        "needed": needed,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
