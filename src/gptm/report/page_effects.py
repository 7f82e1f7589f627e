"""What the metadata do to the topics, as curves, bars and tables that a page can draw."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.prose import readable
from gptm._basics.warnings import warn
from gptm.corpus.metadata import is_date, is_number, numbers
from gptm.model import GPTM
from gptm.report.json_values import clean_text, fixed, rounded

LEVEL = 0.9  # of all intervals
N_POINTS = 100  # along a column: fewer are seen as corners
N_ENDS = 5  # documents at either end of a term that has a value for each document
MAX_LINES = 6  # that a chart can tell apart
_VALUES = ("share", "share_low", "share_high", "contrast", "contrast_low", "contrast_high")


def explain(
    model: GPTM, labels: list[str], say: Callable[[str], None] = lambda line: None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What the page says of the kernel: effects term by term, and shares of variance.

    What could not be computed is named in `left_out`, so that nobody takes its absence for "no effect". `say` gets a
    line about each of the steps, which may be long.
    """
    left_out: list[str] = []
    terms = effect_terms(model, labels, left_out, say)
    say("shares of variance")
    variance = variance_parts(model, left_out)
    return {"level": LEVEL, "terms": terms, "left_out": left_out}, variance


def effect_terms(
    model: GPTM,
    labels: list[str],
    left_out: list[str],
    say: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """Every term of the kernel with its effect on every topic; none where there is no kernel.

    `labels` name the documents. A term has a `kind`: "curve" (over a number or a date, one line per value of its
    other columns), "categories", "documents" (the ones that it moves most, either way).
    """
    if model.kernel_ is None:
        return []
    described = []
    for term in model.terms_:
        say(f"effects of {term}")
        question = partial(model.effects, term, level=LEVEL, n_points=N_POINTS)
        table = _asked(f"the effect of {term}", question, left_out)
        if table is not None and len(table):
            described.append(_describe(str(term), table, labels))
    return described


def _asked(
    what: str, question: Callable[[], pd.DataFrame], left_out: list[str]
) -> pd.DataFrame | None:
    """The answer; without one the page does without this part, since all others are still worth reading."""
    try:
        return question()
    except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
        left_out.append(clean_text(what, 120))
        warn(f"the report leaves out {what}, because it could not be computed: {error}")
        return None


def _describe(term: str, table: pd.DataFrame, labels: list[str]) -> dict[str, Any]:
    columns = [
        name for name in table.columns if name not in {"term", "topic", "topic_name", *_VALUES}
    ]
    about = {"term": clean_text(term), "columns": [clean_text(name, 80) for name in columns]}
    if columns == ["document"]:
        return about | {"kind": "documents"} | _documents(table, labels)
    smooth = [name for name in columns if is_date(table[name]) or is_number(table[name])]
    if smooth:
        along = max(smooth, key=lambda name: table[name].nunique())  # others may be held fixed
        return about | {"kind": "curve"} | _curve(table, along, columns)
    return about | {"kind": "categories"} | _categories(table, columns)


def _curve(table: pd.DataFrame, along: str, columns: list[str]) -> dict[str, Any]:
    others = [name for name in columns if name != along]
    lines = _joined(table, others)
    kept = list(dict.fromkeys(lines))
    shown = _spread(kept, MAX_LINES)
    parts = [table[lines == name] for name in shown]
    series = []
    for part, name in zip(parts, shown, strict=True):
        for topic, rows in part.groupby("topic", sort=True):
            x = numbers(rows[along], along)
            order = np.argsort(x, kind="stable")
            series.append(
                {"topic": int(topic), "line": name, "x": rounded(x[order], 7)}
                | _values(rows.iloc[order])
            )
    return {
        "along": clean_text(along, 80),
        "date": bool(is_date(table[along])),
        "lines": shown,
        "n_lines": len(kept),
        "series": series,
    }


def _categories(table: pd.DataFrame, columns: list[str]) -> dict[str, Any]:
    names = _joined(table, columns)
    levels = list(dict.fromkeys(names))
    place = {name: i for i, name in enumerate(levels)}
    series = []
    for topic, rows in table.assign(_place=[place[name] for name in names]).groupby("topic"):
        ordered = rows.drop_duplicates("_place").set_index("_place").reindex(range(len(levels)))
        series.append({"topic": int(topic)} | _values(ordered))
    return {"levels": levels, "series": series}


def _documents(table: pd.DataFrame, labels: list[str]) -> dict[str, Any]:
    """Of each topic the documents with the largest and the smallest contrast, largest first."""
    series = []
    for topic, rows in table.groupby("topic", sort=True):
        ordered = rows.sort_values("contrast", ascending=False, kind="stable")
        if len(ordered) > 2 * N_ENDS:
            ordered = pd.concat([ordered.head(N_ENDS), ordered.tail(N_ENDS)])
        names = [_document_label(value, labels) for value in ordered["document"]]
        series.append({"topic": int(topic), "levels": names} | _values(ordered))
    return {"series": series}


def _document_label(value: Any, labels: list[str]) -> str:
    whole = isinstance(value, int | np.integer) and 0 <= value < len(labels)
    return labels[int(value)] if whole else clean_text(value, 80)


def _values(rows: pd.DataFrame) -> dict[str, Any]:
    return {name: rounded(rows[name]) for name in _VALUES}


def _joined(table: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """(n,) the values of some columns as one text."""
    texts = [[_level(value) for value in table[name]] for name in columns]
    joined = np.empty(len(table), dtype=object)
    joined[:] = [", ".join(row) for row in zip(*texts, strict=True)] if texts else ""
    return joined


def _level(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return value.date().isoformat()
    return readable(value, 4) if isinstance(value, float) else clean_text(value, 80)


def _spread(names: list[str], n: int) -> list[str]:
    """At most n of the names, evenly from first to last."""
    if len(names) <= n:
        return names
    return [names[i] for i in np.linspace(0, len(names) - 1, n).round().astype(int)]


def variance_parts(model: GPTM, left_out: list[str]) -> dict[str, Any] | None:
    """Shares of the topics' variance by term, all topics together first; None where there is no kernel."""
    if model.kernel_ is None:
        return None
    table = _asked(
        "the explained variance", partial(model.variance_explained, level=LEVEL), left_out
    )
    if table is None:
        return None
    terms = list(dict.fromkeys(table["term"]))
    topics = sorted(
        dict.fromkeys(table["topic"]), key=lambda topic: (topic != "all", str(topic).zfill(9))
    )
    cells = table.set_index(["topic", "term"])[["share", "low", "high"]]
    rows = []
    for topic in topics:
        its_cells = cells.loc[topic].reindex(terms)
        values = {name: fixed(its_cells[name], 4) for name in ("share", "low", "high")}
        rows.append({"topic": topic if topic == "all" else int(topic)} | values)
    return {"terms": [clean_text(term) for term in terms], "rows": rows}
