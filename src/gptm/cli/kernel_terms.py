"""What the terms of a model's kernel read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gptm.model import GPTM


@dataclass(frozen=True)
class Term:
    """A term of the kernel and its columns."""

    label: str
    columns: tuple[str, ...]
    levels: dict[str, list[str]]  # by column, for categories
    dates: frozenset[str]  # columns that hold dates
    numbers: frozenset[str]


def terms(fitted: "GPTM") -> list[Term]:
    """The terms of a fitted model's kernel."""
    from gptm.kernels.weighted_terms import terms_of

    kernel_terms = []
    for label, bound in zip(fitted.terms_, terms_of(fitted.fitted_.bound), strict=True):
        settings = bound.settings(1)
        shown = {} if settings is None else {str(name): settings[name] for name in settings}
        levels = {
            name: [str(value) for value in values]
            for name, values in shown.items()
            if values.dtype.kind not in "ifuM"
        }
        dates = frozenset(name for name, values in shown.items() if values.dtype.kind == "M")
        numbers = frozenset(name for name, values in shown.items() if values.dtype.kind in "ifu")
        kernel_terms.append(Term(label, tuple(bound.kernel.column_names()), levels, dates, numbers))
    return kernel_terms
