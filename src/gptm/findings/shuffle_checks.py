"""Whether shuffles of a column can say anything: groups that share its values, blocks in which it varies."""

from gptm._basics.errors import Argument, InputError
from gptm.corpus.counts import frame_of
from gptm.findings.shuffles import Shuffles
from gptm.kernels import Kernel
from gptm.selection.data import Data, read_column


def check_shuffles(kernel: Kernel, data: Data, shuffles: Shuffles, *, by_groups: bool) -> None:
    """An error where shuffles cannot be, or change nothing."""
    if by_groups:
        for name in kernel.column_names():
            _check_shared(name, _cells(name, data), shuffles)
    if shuffles.total == 1:
        raise InputError(
            "there is nothing to shuffle: every block has a single document or group. Choose larger blocks."
        )
    frame = frame_of(data.X, data.metadata, data.n)
    names = kernel.column_names()
    # Of a column that is not there the kernel says it.
    if names and frame is not None and all(name in frame for name in names):
        _check_varies({name: _cells(name, data) for name in names}, shuffles)


def _cells(name: str, data: Data) -> list[str]:
    return [str(value) for value in read_column("term", name, data)]


def _check_shared(name: str, values: list[str], shuffles: Shuffles) -> None:
    """An error unless all documents of a group have the same values of the term's columns."""
    for document, unit in enumerate(shuffles.unit):
        if values[document] != values[shuffles.first[unit]]:
            raise InputError(
                f"documents of the same group differ in {name!r}, so groups cannot exchange values as a whole. "
                "Leave out ",
                Argument("groups"),
                ", or pass it as ",
                Argument("within", ...),
                ".",
            )


def _check_varies(columns: dict[str, list[str]], shuffles: Shuffles) -> None:
    """An error if documents that exchange their values all have the same ones: rounding would decide then."""
    names = ", ".join(map(repr, columns))
    if len(set(zip(*columns.values(), strict=True))) == 1:
        raise InputError(
            f"shuffles change nothing: {names} has the same value in all documents. Test a column that varies."
        )
    of_block: dict[int, tuple[str, ...]] = {}
    for document, block in zip(shuffles.first, shuffles.block, strict=True):
        values = tuple(cells[document] for cells in columns.values())
        if of_block.setdefault(int(block), values) != values:
            return
    raise InputError(
        f"shuffles change nothing: {names} has the same value in all documents that may exchange it. Choose other "
        "blocks with ",
        Argument("within", ...),
        ", or leave them out.",
    )
