"""Kernels in words, for readers who do not know what a kernel is."""

import re
from typing import Any

import numpy as np

from gptm import kernels as k
from gptm.corpus.metadata import parse_days
from gptm.kernels.kernel import Product, Scaled, Sum
from gptm.report.json_values import clean_text, readable

_DAYS_IN_YEAR = 365.2425


def kernel_sentences(model: Any) -> list[str]:
    """One sentence per term of the fitted kernel; none without a kernel.

    Examples
    --------
    >>> from gptm import GPTM, kernels as k
    >>> from gptm.report.kernel_words import kernel_sentences
    >>> X, years = [[3, 2, 0], [0, 1, 4]] * 5, {"year": list(range(10)), "party": ["left", "right"] * 5}
    >>> kernel = k.RBF("year", length_scale=2.0) + k.Categorical("party")
    >>> model = GPTM(2, kernel=kernel, random_state=0).fit(X, metadata=years)
    >>> for sentence in kernel_sentences(model):
    ...     print(sentence)
    Documents close in year are alike; the likeness fades over about 2.
    Documents with the same party are alike.
    """
    kernel = getattr(model, "kernel_", None)
    if kernel is None:
        return []
    dates = _date_columns(getattr(model, "_bound_kernel", None))
    return [_sentence(term, dates) for term in _terms(kernel)]


def kernel_code(kernel: Any) -> str:
    """The kernel as one would type it, with four digits of every number."""
    digits = re.sub(
        r"\d+\.\d{4,}(e[-+]?\d+)?", lambda found: f"{float(found[0]):.4g}", repr(kernel)
    )
    return clean_text(digits, 1000)


def _terms(kernel: Any) -> list[Any]:
    if isinstance(kernel, Scaled):
        return _terms(kernel.kernel)
    if isinstance(kernel, Sum):
        return [inner for term in kernel.terms for inner in _terms(term)]
    return [kernel]


def _date_columns(bound: Any) -> set[str]:
    """Columns that held dates when the kernel met the training documents."""
    found = set()
    for part in getattr(bound, "bounds", ()):
        found |= _date_columns(part)
    columns = getattr(getattr(bound, "kernel", None), "columns", ())
    for name, date in zip(columns, getattr(bound, "dates", ()), strict=False):
        if date:
            found.add(name)
    return found


def _sentence(kernel: Any, dates: set[str]) -> str:
    said = _phrase(kernel, dates)
    named = f"{kernel.name}: {said}" if getattr(kernel, "name", None) else said
    return named[0].upper() + named[1:] + "."


def _phrase(kernel: Any, dates: set[str]) -> str:
    if isinstance(kernel, Scaled):
        return _phrase(kernel.kernel, dates)
    if isinstance(kernel, Product):
        return "; and at once ".join(_phrase(factor, dates) for factor in kernel.factors)
    if isinstance(kernel, Sum):
        return "; or ".join(_phrase(term, dates) for term in kernel.terms)
    columns = _listed(kernel.column_names())
    if isinstance(kernel, k.RBF | k.Matern):
        scale = _lengths(kernel, dates)
        return f"documents close in {columns} are alike; the likeness fades over about {scale}"
    if isinstance(kernel, k.Periodic):
        period = parse_days(kernel.period)
        length = _duration(period) if dates & set(kernel.columns) else readable(period, 6)
        return f"documents at the same point of a cycle in {columns}, of length {length}, are alike"
    return _other_phrase(kernel, columns)


def _other_phrase(kernel: Any, columns: str) -> str:
    if isinstance(kernel, k.Linear):
        return f"topics rise or fall steadily with {columns}"
    if isinstance(kernel, k.Categorical):
        return f"documents with the same {columns} are alike"
    if isinstance(kernel, k.MustLink):
        by = f" ({columns})" if columns else ""
        return f"documents with the same label{by} belong together"
    if isinstance(kernel, k.Graph):
        by = f" ({kernel.column})" if kernel.column else ""
        return f"documents that are linked{by} are alike"
    if isinstance(kernel, k.NearestNeighbors):
        by = f"in {columns}" if columns else "by their words"
        nearest = "one" if kernel.n_neighbors == 1 else kernel.n_neighbors
        return f"each document is like the {nearest} nearest to it {by}"
    if isinstance(kernel, k.Embedding):
        return f"documents with similar vectors ({columns}) are alike"
    if isinstance(kernel, k.Precomputed):
        return "how alike documents are was given as a matrix"
    if isinstance(kernel, k.Identity):
        return "every document stands for itself"
    if isinstance(kernel, k.OnColumns):
        return f"documents alike in {columns} are alike, by {kernel.kernel!r}"
    return f"documents are alike as {kernel!r} says"


def _lengths(kernel: Any, dates: set[str]) -> str:
    scales = np.broadcast_to(np.atleast_1d(kernel.length_scale), (len(kernel.columns),))
    pairs = zip(kernel.columns, scales, strict=True)
    texts = [_duration(value) if name in dates else readable(value) for name, value in pairs]
    return _listed(list(dict.fromkeys(texts)))


def _duration(days: float) -> str:
    for unit, length in (("year", _DAYS_IN_YEAR), ("month", _DAYS_IN_YEAR / 12), ("day", 1.0)):
        if days >= 0.95 * length or unit == "day":
            amount = days / length
            text = f"{amount:.0f}" if 9.95 <= amount < 1e4 else readable(amount, 2)
            return f"{text} {unit}{'' if text == '1' else 's'}"
    raise AssertionError("days are the last unit")


def _listed(names: Any) -> str:
    """a; a and b; a, b and c."""
    texts = [str(name) for name in names]
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))
