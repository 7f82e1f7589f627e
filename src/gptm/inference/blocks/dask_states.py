"""States of blocks on dask's workers, and in a folder from which lost ones are computed again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gptm.inference.blocks.block_states import KeptStates, read_state, write_state
from gptm.inference.blocks.dask_cluster import Cluster
from gptm.inference.blocks.dask_placement import BlockTasks
from gptm.inference.blocks.dask_tasks import load_state, save_state

if TYPE_CHECKING:
    from distributed import Future

SWEEPS = 16  # after so many, states are saved, and forget how they came about
_REMEMBERED = 256 * 2**20  # bytes of topics of these sweeps, which the scheduler remembers, at most
_TOGETHER = 32  # states that are with the client at a time


class DaskStates:
    """States after the last sweep and the one before.

    A state on a worker that dies is computed again by dask, from the state and the topics before, and so on. From time
    to time all states are saved, so that this need not go back far.
    """

    def __init__(self, cluster: Cluster, tasks: BlockTasks):
        self.cluster, self.tasks = cluster, tasks
        self.kept = KeptStates(cluster.folder)
        self.after: dict[int, list[Future]] = {}  # by the number of the sweep
        self.saved = 0  # sweep after which states were last saved
        self.of_checkpoint: int | None = None

    def put(self, number: int, states: "list[Future]") -> None:
        """Note the states that a sweep gives."""
        self.after = {n: old for n, old in self.after.items() if n == number - 1}
        self.after[number] = states

    def settle(self, number: int, size: int) -> None:
        """Save states where the last time is long ago; `size` is that of the values of a sweep, in bytes."""
        if number - self.saved >= max(1, min(SWEEPS, _REMEMBERED // max(size, 1))):
            self.save(number)
            self._clean()

    def save(self, number: int) -> None:
        """Write the states after a sweep to the folder; from now on they come from there."""
        if not self.after.get(number):
            return
        if not self.kept.has(number):
            self._write(number, self.after[number])
        self.take_up(number)

    def _write(self, number: int, states: "list[Future]") -> None:
        with self.kept.filling(number) as folder:
            paths = [folder / f"{position:06d}.npz" for position in range(len(states))]
            client = self.tasks.client
            if self.cluster.shares:
                names = list(map(str, paths))
                client.gather(self.tasks.after("save-state", number, save_state, states, names))
                return
            for some in _pieces(len(states)):
                for path, state in zip(paths[some], client.gather(states[some]), strict=True):
                    write_state(path, state)

    def take_up(self, number: int) -> None:
        """Continue from the states in the folder."""
        paths = [self.kept.path(number, position) for position in range(self.tasks.n)]
        if self.cluster.shares:
            states = self.tasks.each("load-state", number, load_state, list(map(str, paths)))
        else:
            states = [
                self.tasks.constant("load-state", number, read_state(path), position)
                for position, path in enumerate(paths)
            ]
        self.put(number, states)
        self.saved = number

    def keep(self, number: int) -> None:
        """Save states for a checkpoint."""
        self.save(number)
        self.of_checkpoint = number

    def forget(self, but: int | None) -> None:
        """Remove the states of all checkpoints but one; without one, all that there are."""
        self.of_checkpoint = but
        if but is None:
            self.kept.remove_all_but([])
        else:
            self._clean()

    def _clean(self) -> None:
        wanted = {self.saved} if self.of_checkpoint is None else {self.saved, self.of_checkpoint}
        self.kept.remove_all_but(wanted)

    def close(self) -> None:
        """Let go of all states."""
        self.after = {}


def _pieces(n: int) -> Sequence[slice]:
    return [slice(i, i + _TOGETHER) for i in range(0, n, _TOGETHER)]
