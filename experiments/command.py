"""All experiments, or some: do what is left to do, then write the page."""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments import data, experiments
from experiments.jobs import Claim, Job, Section, Settings
from experiments.page import results_page
from experiments.running import run_jobs
from experiments.store import Store
from gptm.cli.session import INTERRUPTED, OK, Session

PAGE = "RESULTS.md"


def reproduce(session: Session, out: Path, settings: Settings, only: Sequence[str]) -> int:
    """Run experiments by name, keep their results under `out`, and present all that are complete there."""
    if find_spec("matplotlib") is None:
        raise ImportError("the figures need the package matplotlib: pip install 'gptm[plot]'")
    missing = data.available(settings)
    for name, why in missing.items():
        if why:
            session.say(f"{name} is skipped: {why}")
    if all(missing.values()):
        raise ValueError(
            "there are no documents: expected a folder with dif100.jsonl.gz and others, given with --data."
        )
    listed = {name: experiments.load(name).jobs(settings) for name in experiments.NAMES}
    every = {job.key: job for jobs in listed.values() for job in jobs}
    store = Store(out / "results", list(every.values()), settings)
    chosen = {job.key: job for name in only for job in listed[name]}
    try:
        run_jobs(session, list(chosen.values()), store, settings)
    except KeyboardInterrupt:
        session.say("interrupted; what is done is kept, and the same command goes on from there")
        return INTERRUPTED
    found = _present(session, listed, store, out, settings, missing)
    session.answer({"page": str(out / PAGE), "claims": found}, lambda: print(out / PAGE))
    return OK


def _present(
    session: Session,
    listed: Mapping[str, list[Job]],
    store: Store,
    out: Path,
    settings: Settings,
    missing: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Write tables, figures and the page; what came of the claims."""
    sections: list[Section] = []
    claims: list[dict[str, Any]] = []
    used: dict[str, dict[str, Any]] = {}
    for name, jobs in listed.items():
        kept = {job.key: store.get(job.key) for job in jobs}
        results = {key: result for key, result in kept.items() if result is not None}
        if len(results) < len(jobs):
            session.say(f"{name} is not complete and left out of the page")
            continue
        section = experiments.load(name).present(results, out, settings)
        sections.append(section)
        claims += [_row(name, claim) for claim in section.claims]
        used |= results
    documents = {name: data.load_set(name, settings) for name, why in missing.items() if not why}
    page = results_page(sections, documents, missing, settings)
    (out / PAGE).write_text(page, encoding="utf-8")
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(used[key])}" for key in sorted(used))
    (out / "results.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    return claims


def _row(experiment: str, claim: Claim) -> dict[str, Any]:
    return {"experiment": experiment, **claim._asdict()}
