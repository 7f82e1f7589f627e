"""RESULTS.md: what was run, which claims hold, and all tables and figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

import pandas as pd

from experiments.data import Documents
from experiments.jobs import Section, Settings, Verdict
from experiments.tables import markdown
from gptm import __version__


def results_page(
    sections: Sequence[Section],
    documents: Mapping[str, Documents],
    missing: Mapping[str, str],
    settings: Settings,
) -> str:
    """The whole page in Markdown."""
    parts = [
        "# The paper's experiments, run again",
        _how(settings),
        _sets(documents, missing),
        "## In short",
        *(f"- **{section.title}.** {section.summary}" for section in sections if section.summary),
        _overview(sections),
        *(_verdicts(section) for section in sections if section.claims),
    ]
    for section in sections:
        parts += [f"## {section.title}", section.text]
        if section.claims:
            parts += ["### The claims in numbers", _claims(section)]
    return "\n\n".join(parts) + "\n"


def _how(settings: Settings) -> str:
    quick = " This is a quick run: few documents, folds and values; its numbers mean little."
    command = f"python -m experiments --seed {settings.seed}"
    command += f"{' --data FOLDER' if settings.data else ''}{' --quick' if settings.quick else ''}"
    return (
        "Section 4 of Agovic & Banerjee, *Gaussian Process Topic Models* (UAI 2010), by "
        f"`{command}` with gptm {__version__}.{quick if settings.quick else ''} That command writes all of this page "
        "from the results in `results.jsonl`; tables are in `tables/` as CSV too, figures in `figures/`."
    )


def _sets(documents: Mapping[str, Documents], missing: Mapping[str, str]) -> str:
    rows = [
        {
            "set": name,
            "documents": counted_set.counts.shape[0],
            "labels": len(set(counted_set.labels)),
            "words": counted_set.counts.shape[1],
            "tokens": int(counted_set.counts.sum()),
            "without a word": counted_set.n_empty,
        }
        for name, counted_set in documents.items()
    ]
    skipped = [f"{name} is skipped: {why}." for name, why in missing.items() if why]
    return "\n\n".join([markdown(pd.DataFrame(rows)), *skipped])


def _overview(sections: Sequence[Section]) -> str:
    counted = Counter(claim.holds for section in sections for claim in section.claims)
    tallies = [f"{counted[key]} {key}" for key in get_args(Verdict) if counted[key]]
    return (
        f"Of {counted.total()} claims judged: {', '.join(tallies)}. A difference is beyond noise if its 95 % "
        "interval (Student's t over folds, draws or starts) excludes zero; this is approximate, because folds share "
        "training documents. With several sets, a claim holds (yes) if it does on all of them, partly if on some, "
        "and does not (no) if on none and the opposite on some. In brackets: on how many it holds beyond noise."
    )


def _verdicts(section: Section) -> str:
    """A row for each claim, a column for each way to judge it."""
    rows: dict[str, dict[str, str]] = {}
    for claim in section.claims:
        tally = f" ({claim.tally})" if claim.tally else ""
        rows.setdefault(claim.text, {})[claim.under or "holds"] = f"{claim.holds}{tally}"
    table = pd.DataFrame.from_dict(rows, orient="index").fillna("").rename_axis("claim")
    return f"**{section.title}**\n\n{markdown(table.reset_index())}"


def _claims(section: Section) -> str:
    rows = [
        {"claim": claim.text, "by": claim.under, "holds": claim.holds, "numbers": claim.numbers}
        for claim in section.claims
    ]
    table = pd.DataFrame(rows)
    return markdown(table if table["by"].any() else table.drop(columns="by"))
