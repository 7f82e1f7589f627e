"""All experiments, or some: do the jobs that are left to do, then write the page."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from experiments import catalogue, data
from experiments.fingerprints import fingerprints
from experiments.jobs import Job, Section, Settings
from experiments.page import results_page
from experiments.running import Say, run_jobs
from job_store import Store

PAGE, RESULTS = "RESULTS.md", "results.jsonl"


def reproduce(out: Path, settings: Settings, names: Sequence[str], say: Say) -> Path:
    """Run experiments, keep their results under `out`, and write all that is complete there as a page."""
    _check_plots()
    missing = _missing_sets(settings, say)
    jobs_by_name = {name: catalogue.load(name).jobs(settings) for name in catalogue.NAMES}
    every_job = {job.key: job for jobs in jobs_by_name.values() for job in jobs}
    store = Store(out / RESULTS, fingerprints(every_job.values(), settings))
    chosen = {job.key: job for name in names for job in jobs_by_name[name]}
    run_jobs(list(chosen.values()), store, settings, say)
    sections = _sections(jobs_by_name, store, out, settings, say)
    documents = {name: data.load_set(name, settings) for name, why in missing.items() if not why}
    page = out / PAGE
    page.write_text(results_page(sections, documents, missing, settings), encoding="utf-8")
    return page


def _check_plots() -> None:
    if find_spec("matplotlib") is None:
        raise ImportError("the figures need the package matplotlib: pip install 'gptm[plot]'")


def _missing_sets(settings: Settings, say: Say) -> dict[str, str]:
    """For each set why it is missing, or nothing; an error where all are."""
    missing = data.available(settings)
    for name, why in missing.items():
        if why:
            say(f"{name} is skipped: {why}")
    if all(missing.values()):
        raise ValueError(
            "there are no documents. Expected a folder with dif100.jsonl.gz and others, given with --data."
        )
    return missing


def _sections(
    jobs_by_name: Mapping[str, list[Job]], store: Store, out: Path, settings: Settings, say: Say
) -> list[Section]:
    """A section for each experiment that is complete, with its tables and figures written."""
    sections = []
    results = store.results()
    for name, jobs in jobs_by_name.items():
        if all(job.key in results for job in jobs):
            own = {job.key: results[job.key] for job in jobs}
            sections.append(catalogue.load(name).present(own, out, settings))
        else:
            say(f"{name} is not complete and is left out of the page")
    return sections
