"""Which columns of the metadata become terms by themselves, and why the others do not."""

from dataclasses import dataclass

import pandas as pd

from gptm.corpus.kinds import base_kind, kinds_of
from gptm.corpus.typed_columns import typed_frame
from gptm.kernels.auto_doubts import batteries, doubt_about, repeats
from gptm.kernels.auto_terms import usable_term
from gptm.kernels.graph import Graph
from gptm.kernels.kernel import Kernel

MOST_TERMS = 4
# Which kinds come first where there is not room for all.
_ORDER = ("links", "date", "category", "list", "vector", "number")


@dataclass(frozen=True)
class ColumnChoice:
    """What becomes of a column: its term, or the reason why it is not used."""

    column: str
    kind: str
    term: Kernel | None  # that it has, or that it could have
    reason: str = ""  # why it is not used; empty where it is

    @property
    def used(self) -> bool:
        """Whether the kernel has a term for the column."""
        return self.term is not None and not self.reason


def choose_terms(
    frame: pd.DataFrame, *, every: bool = False, in_blocks: bool = False
) -> list[ColumnChoice]:
    """What becomes of each column, in their order; `every` usable column has a term, or a few that stand out.

    A kernel that is fitted `in_blocks` has no links, which lead from one block to others.
    """
    frame = typed_frame(frame)
    choices = _usable(frame)
    if in_blocks:
        choices = [_without_links(choice) for choice in choices]
    return choices if every else _few(_without_doubts(choices, frame), frame)


def _usable(frame: pd.DataFrame) -> list[ColumnChoice]:
    kinds = kinds_of(frame)
    terms = [usable_term(frame.iloc[:, i], frame, kinds) for i in range(frame.shape[1])]
    ids = {term.id: term.column for term in terms if isinstance(term, Graph)}
    choices = []
    for name, term in zip(frame.columns, terms, strict=True):
        kind = kinds.get(name, "")
        if name in ids:
            reason = f"but for the ids that {ids[name]!r} links to"
            choices.append(ColumnChoice(name, kind, None, reason))
        elif isinstance(term, Kernel):
            choices.append(ColumnChoice(name, kind, term))
        else:
            choices.append(ColumnChoice(name, kind, None, term))
    return choices


def _without_links(choice: ColumnChoice) -> ColumnChoice:
    if not isinstance(choice.term, Graph):
        return choice
    reason = "links, which need all documents in memory"
    return ColumnChoice(choice.column, choice.kind, None, reason)


def _without_doubts(choices: list[ColumnChoice], frame: pd.DataFrame) -> list[ColumnChoice]:
    """The same, without columns that hardly ever should be terms."""
    kinds = {choice.column: choice.kind for choice in choices if choice.used}
    reasons = {name: doubt_about(frame[name], kind) for name, kind in kinds.items()}
    left = {name: frame[name] for name, reason in reasons.items() if not reason}
    reasons |= batteries(left, kinds)
    return [_refused(choice, reasons.get(choice.column, "")) for choice in choices]


def _few(choices: list[ColumnChoice], frame: pd.DataFrame) -> list[ColumnChoice]:
    """The same with at most `MOST_TERMS` terms, one of them for a date, none of which repeats another."""
    taken: list[ColumnChoice] = []
    reasons: dict[str, str] = {}
    rank = {kind: number for number, kind in enumerate(_ORDER)}
    for choice in sorted((c for c in choices if c.used), key=lambda c: rank[base_kind(c.kind)]):
        reason = _superfluous(choice, taken, frame)
        if not reason and len(taken) == MOST_TERMS:
            reason = f"{MOST_TERMS} other columns have terms"
        if reason:
            reasons[choice.column] = reason
        else:
            taken.append(choice)
    return [_refused(choice, reasons.get(choice.column, "")) for choice in choices]


def _superfluous(choice: ColumnChoice, taken: list[ColumnChoice], frame: pd.DataFrame) -> str:
    """Why a column adds nothing to the columns taken before; empty where it does."""
    for other in taken:
        if base_kind(choice.kind) == base_kind(other.kind) == "date":
            return f"one date is enough, and {other.column!r} comes first"
        values, before = frame[choice.column], frame[other.column]
        if reason := repeats(values, before, choice.kind, other.kind):
            return reason
    return ""


def _refused(choice: ColumnChoice, reason: str) -> ColumnChoice:
    if not reason:
        return choice
    return ColumnChoice(choice.column, choice.kind, choice.term, reason)
