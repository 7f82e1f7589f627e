"""Tasks of dask, one for each block: where they run, what they are called, and how their sums are added up."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gptm.inference.blocks.dask_tasks import add_pairs, add_sums, packed, unpacked
from gptm.inference.blocks.sums import FAN

if TYPE_CHECKING:
    from distributed import Client, Future

FIRST = 10  # priority of tasks after which memory is let go of


class BlockTasks:
    """Makes tasks for n blocks.

    Neighbouring blocks go to the same worker, so that most sums are added up where they are. That is a wish: dask may
    move tasks to workers that join late or have nothing to do, and results do not depend on it.
    """

    def __init__(self, client: "Client", n: int):
        self.client, self.n = client, n
        self.mark = f"0{uuid.uuid4().hex[:11]}"  # keys of other fits are others

    def homes(self) -> list[tuple[str, slice]]:
        """Workers, and the blocks of each: as many as its threads can do."""
        threads = sorted(self.client.nthreads().items())
        total, begin, ranges = sum(count for _, count in threads), 0, []
        for address, count in threads:
            ranges.append(
                (address, slice(begin * self.n // total, (begin + count) * self.n // total))
            )
            begin += count
        return ranges

    def each(
        self, name: str, number: int, function: Callable[..., Any], *columns: Sequence[Any]
    ) -> "list[Future]":
        """One task for each block, with its own item of each column."""
        tasks: list[Future] = []
        for address, blocks in self.homes() or [("", slice(0, self.n))]:
            if blocks.stop > blocks.start:
                tasks += self._map(
                    name,
                    number,
                    function,
                    [column[blocks] for column in columns],
                    begin=blocks.start,
                    workers=[address] if address else None,
                    allow_other_workers=bool(address),
                )
        return tasks

    def after(
        self, name: str, number: int | str, function: Callable[..., Any], *columns: Sequence[Any]
    ) -> "list[Future]":
        """Small tasks that run as soon as they can, where their inputs are."""
        return self._map(name, number, function, columns, priority=FIRST)

    def total(self, name: str, number: int, pairs: "Sequence[Future]") -> "Future":
        """The sum over blocks, with the same bits as `tree_sum` has them."""
        level, height = self.after(name, f"{number}-0", add_pairs, list(_groups(pairs))), 0
        while len(level) > 1:
            height += 1
            level = self.after(name, f"{number}-{height}", add_sums, list(_groups(level)))
        return level[0]

    def constant(self, name: str, number: int, value: object, begin: int = 0) -> "Future":
        """A value of the client. The scheduler holds it, so that it outlives the workers that have it."""
        with large_graphs():
            return self.client.submit(
                unpacked,
                packed(value),
                key=(f"{name}-{self.mark}-{number}", begin),
                priority=FIRST,
            )

    def _map(
        self,
        name: str,
        number: int | str,
        function: Callable[..., Any],
        columns: Sequence[Sequence[Any]],
        begin: int = 0,
        **more: Any,
    ) -> "list[Future]":
        keys = [(f"{name}-{self.mark}-{number}", begin + i) for i in range(len(columns[0]))]
        return self.client.map(function, *columns, key=keys, **more)


@contextmanager
def large_graphs() -> Iterator[None]:
    """Inside the block, dask does not warn of values that are sent along: that is how topics travel."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        yield


def _groups(parts: "Sequence[Future]") -> "Iterator[list[Future]]":
    return (list(parts[i : i + FAN]) for i in range(0, len(parts), FAN))
