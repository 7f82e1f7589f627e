"""Which columns are counted, which kept and which left out: settled by the first rows and by the given kinds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gptm._basics.errors import Argument, InputError
from gptm.corpus.cells import as_text, is_missing
from gptm.corpus.kinds import LONG_STRINGS, ColumnKind, check_kinds, guess_kind
from gptm.corpus.problems import ProblemLog
from gptm.files.guess_text import guess_text, texts_among
from gptm.files.rows import BAG, Row
from gptm.files.table import CellTable
from gptm.files.table_columns import listed, named, unknown_column

BAG_REASON = "counts of words"


@dataclass
class Plan:
    """What is to be done with each column.

    `settled` columns do not go into the table of metadata: they are counted, or left out.
    """

    given: dict[str, str] = field(default_factory=dict)
    id: str | None = None
    text: tuple[str, ...] = ()
    settled: list[ColumnKind] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    new: bool = False  # documents for a model that is there already

    def __post_init__(self) -> None:
        self.given = check_kinds(self.given)
        if self.id is not None:
            self.given = {n: k if k != "id" else "note" for n, k in self.given.items()}
            self.given[self.id] = "id"

    @property
    def left_out(self) -> frozenset[str]:
        """Columns that the table of metadata does not hold."""
        return frozenset(column.name for column in self.settled)

    def text_of(self, cells: Mapping[str, Any]) -> str:
        """The text of a document, from one column or several; NA and its like are no words."""
        parts = [cells.get(name) for name in self.text]
        return "\n".join("" if is_missing(cell) else as_text(cell) for cell in parts)

    def take_texts(self, rows: Sequence[Row]) -> list[str]:
        """The texts of rows, from which the columns that are left out are taken: texts are the most of their size."""
        texts = [self.text_of(cells) for _, cells in rows]
        for _, cells in rows:
            for column in self.left_out:
                cells.pop(column, None)
        return texts

    def check(self, table: CellTable, log: ProblemLog) -> None:
        """Columns that have a given kind but are not there: an error, or, for new documents, noted."""
        names = [*self.left_out, *table.cells]
        for name in self.given:
            if name in names:
                continue
            if not self.new:
                raise unknown_column(name, names, "id" if name == self.id else "kinds")
            if self.given[name] not in ("text", "ignore", "id"):
                log.add("missing column", None, repr(name))

    def in_order(self, columns: Iterable[ColumnKind]) -> list[ColumnKind]:
        """Columns in the order of the file."""
        place = {name: position for position, name in enumerate(self.order)}
        return sorted(columns, key=lambda column: place.get(column.name, len(place)))


def make_plan(
    sample: Sequence[Row],
    text: str | Sequence[str] | None,
    id: str | None,
    kinds: Mapping[str, str] | None,
    *,
    more: bool = False,
    new: bool = False,
    trained_text: Sequence[str] | None = None,
    bags: bool = False,
) -> Plan:
    """A plan by the first rows; with `more` columns to come from another file, or for `new` documents.

    Rows that are `bags` have counts in the place of a text.
    """
    plan = Plan(dict(kinds or {}), id, new=new)
    order = plan.order = list(dict.fromkeys(name for _, cells in sample for name in cells))
    if id is not None and id not in order and not more:
        raise unknown_column(id, order, "id")
    first = {name: [cells.get(name) for _, cells in sample] for name in order}
    if bags:
        plan.text = (BAG,)
        plan.settled.append(ColumnKind(BAG, "text", BAG_REASON))
    else:
        if text is None and trained_text is not None:
            text = _text_as_trained(plan, trained_text, first)
        _settle_text(plan, text, first)
    for name in order:
        if name in plan.text:
            continue
        if plan.given.get(name) == "ignore":
            plan.settled.append(ColumnKind(name, "ignore", "as you said"))
        elif name not in plan.given and guess_kind(name, first[name]) == ("ignore", LONG_STRINGS):
            plan.settled.append(ColumnKind(name, "ignore", LONG_STRINGS))
    return plan


def _text_as_trained(
    plan: Plan, trained: Sequence[str], first: Mapping[str, list[Any]]
) -> list[str]:
    """The columns of the training's texts; where none is there, the only one that looks like text."""
    if any(name in first for name in trained):
        missing = [name for name in trained if name not in first]
    else:
        text_like = texts_among({name: first[name] for name in first if name not in plan.given})
        if len(text_like) == 1:
            return text_like
        missing = list(trained)
    if missing:
        columns = listed(first)
        raise InputError(
            f"the training's text was in {', '.join(map(repr, missing))}, which is not in this file; its columns are "
            f"{columns}. Name the one to count: ",
            Argument("text", ...),
            ".",
        )
    return list(trained)


def _settle_text(
    plan: Plan, text: str | Sequence[str] | None, first: Mapping[str, list[Any]]
) -> None:
    by_kind = tuple(name for name, kind in plan.given.items() if kind == "text")
    if text is not None or by_kind:
        role = "kinds" if text is None else "text"
        plan.text, why = named(by_kind if text is None else text, list(first), role), "as you said"
    else:
        free = {name: cells for name, cells in first.items() if name not in plan.given}
        best, why = guess_text(free)
        plan.text = (best,)
    # Where `text` says otherwise, a column that `kinds` calls text is not counted.
    plan.given = {
        name: "ignore" if kind == "text" and name not in plan.text else kind
        for name, kind in plan.given.items()
    }
    plan.settled.extend(ColumnKind(name, "text", why) for name in plan.text)
