"""Kernels in words, for readers who do not know what a kernel is."""

import re

from gptm.kernels import Kernel, Scaled, Sum
from gptm.model import GPTM
from gptm.report.json_values import clean_text


def kernel_sentences(model: GPTM) -> list[str]:
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
    Documents close in year are alike; the similarity fades over about 2.
    Documents with the same party are alike.
    """
    kernel = model.kernel_
    if kernel is None:
        return []
    dates = model.fitted_.bound.date_columns()
    return [_sentence(term, dates) for term in _terms(kernel)]


def kernel_code(kernel: Kernel) -> str:
    """The kernel as one would type it, with four digits of every number."""
    digits = re.sub(
        r"\d+\.\d{4,}(e[-+]?\d+)?", lambda number: f"{float(number[0]):.4g}", repr(kernel)
    )
    return clean_text(digits, 1000)


def _terms(kernel: Kernel) -> list[Kernel]:
    if isinstance(kernel, Scaled):
        return _terms(kernel.kernel)
    if isinstance(kernel, Sum):
        return [inner for term in kernel.terms for inner in _terms(term)]
    return [kernel]


def _sentence(kernel: Kernel, dates: set[str]) -> str:
    words = kernel.describe(dates)
    named = f"{kernel.name}: {words}" if kernel.name else words
    return named[0].upper() + named[1:] + "."
