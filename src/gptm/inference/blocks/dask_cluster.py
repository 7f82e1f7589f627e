"""A cluster of dask: whether its workers can do a fit, asked before the work begins."""

import hashlib
import os
import platform
import tempfile
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gptm import _hot
from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.version import VERSION
from gptm._basics.warnings import warn
from gptm.corpus.block_corpus import BlockCorpus, is_block_folder
from gptm.corpus.block_manifest import Manifest
from gptm.inference.blocks.dask_placement import BlockTasks
from gptm.inference.blocks.sample_documents import BlockPart, part_of_block

if TYPE_CHECKING:
    from distributed import Client

SHIPPED = 2 * 2**30  # bytes of documents or states that travel through the scheduler, at most
WAIT = 30  # seconds for the first worker
_BASE = 250 * 2**20  # bytes of a worker's libraries
_PER_TASK = 48  # bytes for each word of each topic, of a sweep over one block
_PER_WORKER = 90  # and of topics and of sums that wait for their neighbours


class WorkerFacts(NamedTuple):
    """What a worker says of itself."""

    version: str  # of gptm
    libraries: str  # on which the last bits depend
    corpus: str | None  # digest of the corpus that it finds, None if it finds none
    writes: bool  # whether it can write to the folder of states


class Cluster:
    """A client of dask whose workers can do the fit.

    Parameters
    ----------
    client : of dask.distributed
    corpus : the documents
    K : number of topics
    kept : folder for the states of a checkpoint, None where there is none

    Attributes
    ----------
    reads : whether workers find the corpus under its path; otherwise its documents travel
    shares : whether workers can write to the folder of states; otherwise states travel
    folder : where states are kept
    """

    def __init__(self, client: "Client", corpus: BlockCorpus, K: int, kept: Path | None):
        self.client = checked_client(client)
        self._room = None
        if kept is None:
            self._room = tempfile.TemporaryDirectory(prefix="gptm-states-")
        self.folder = Path(self._room.name if self._room else str(kept)).resolve()
        check_scheduler(client)
        wait_for_workers(client)
        facts = self._facts(corpus)
        check_versions(facts)
        self.reads = self._all_read(corpus, facts)
        self.shares = all(worker.writes for worker in facts.values())
        check_memory(client, corpus, K)
        if not self.reads:
            _check_shipped("the words", _bytes(corpus), corpus.path)
        if not self.shares:
            remedy = Message(
                "Pass ", Argument("checkpoint", ...), ", with a file in such a folder."
            )
            _check_shipped("the logits", 4 * K * len(corpus), self.folder, remedy)

    def ask(self, corpus: BlockCorpus, questions: list[Any]) -> Iterable[BlockPart]:
        """What the sample takes from each block, read by the workers if they find the corpus."""
        if not self.reads:
            return (part_of_block(corpus, *question) for question in questions)
        tasks = BlockTasks(self.client, len(questions))
        where = tasks.constant("corpus", 0, absolute(corpus))
        columns = [list(column) for column in zip(*questions, strict=True)]
        parts = tasks.each("sample-block", 0, part_of_block, [where] * len(questions), *columns)
        answers: list[BlockPart] = self.client.gather(parts)
        return answers

    def _facts(self, corpus: BlockCorpus) -> dict[str, WorkerFacts]:
        self.folder.mkdir(parents=True, exist_ok=True)
        token = f".token-{uuid.uuid4().hex}"
        (self.folder / token).touch()
        try:
            arguments = (str(corpus.path.resolve()), str(self.folder), token)
            answers = ask_workers(self.client, worker_facts, *arguments)
        finally:
            (self.folder / token).unlink()
            with suppress(OSError):  # it holds the states of a checkpoint
                self.folder.rmdir()
        for address, answer in answers.items():
            if not isinstance(answer, WorkerFacts):
                raise InputError(
                    f"the dask worker {address} cannot work with gptm ({type(answer).__name__}: {answer}). Install "
                    "gptm[dask] there, in the same version as here."
                )
        return answers

    def _all_read(self, corpus: BlockCorpus, facts: dict[str, WorkerFacts]) -> bool:
        here = corpus_digest(corpus.path)
        for address, worker in facts.items():
            if worker.corpus not in (None, here):
                raise InputError(
                    f"the dask worker {address} finds another corpus in {corpus.path.resolve()} than this machine "
                    "does. Copy the folder to that machine again, or put it where all machines read the same files."
                )
        return all(worker.corpus == here for worker in facts.values())

    def close(self) -> None:
        """Remove states that no checkpoint needs."""
        if self._room is not None:
            self._room.cleanup()


def import_distributed() -> Any:
    """The package distributed, or an error that says how to get it."""
    try:
        import distributed
    except ImportError:
        raise ImportError(
            "a fit on several machines needs the package dask.distributed, which is not installed: pip install "
            "'gptm[dask]'"
        ) from None
    return distributed


def checked_client(client: Any) -> Any:
    """The client, if it is one that waits for results and is connected."""
    Client = import_distributed().Client
    if not isinstance(client, Client):
        raise ArgumentError(
            "client",
            "must be a dask.distributed.Client",
            client,
            "Make one with Client('tcp://scheduler:8786'), or Client() for the cores of this machine.",
        )
    if client.asynchronous:
        raise ArgumentError(
            "client",
            "must be a client that waits for its results",
            client,
            "Make one without asynchronous=True.",
        )
    if client.status != "running":
        raise ArgumentError(
            "client",
            "must be connected to a scheduler",
            client,
            "Make a new one; this one is closed or has lost its scheduler.",
        )
    return client


def connect(address: str, seconds: float = 10.0) -> "Client":
    """A client of the scheduler at an address, or an error that says that nobody answers."""
    distributed = import_distributed()
    try:
        return distributed.Client(address, timeout=seconds, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            Argument("client"),
            f" expects the address of a dask scheduler; at {address!r} none answers within {seconds:g} seconds "
            f"({' '.join(str(error).split())}). Start one with 'dask scheduler', which prints its address.",
        ) from None


def wait_for_workers(client: "Client", seconds: float | None = None) -> None:
    """Wait until there is a worker."""
    try:
        client.wait_for_workers(1, timeout=WAIT if seconds is None else seconds)
    except TimeoutError:
        raise InputError(
            f"the dask scheduler {client.scheduler.address} has no workers. Start some, with 'dask worker "
            f"{client.scheduler.address}' on each machine."
        ) from None


def own_version() -> str:
    """The version of gptm, wherever it is asked."""
    return VERSION


def check_scheduler(client: "Client") -> None:
    """Refuse a scheduler without gptm, or with another version: tasks pass through it."""
    remedy = "Install gptm[dask] there, in the same version as here"
    try:
        version = client.run_on_scheduler(own_version)
    except Exception as error:  # whatever keeps it from answering
        raise InputError(
            f"the dask scheduler cannot work with gptm ({type(error).__name__}: {error}). {remedy} ({VERSION})."
        ) from error
    if version != VERSION:
        raise InputError(f"the dask scheduler has gptm {version}. {remedy} ({VERSION}).")


def ask_workers(client: "Client", question: Callable[..., Any], *arguments: str) -> dict[str, Any]:
    """The answers of all workers; those that leave before they answer are not asked."""
    while True:
        answers = client.run(question, *arguments, on_error="return")
        left = set(answers) - set(client.nthreads())
        if set(answers) - left:
            return {address: answer for address, answer in answers.items() if address not in left}
        wait_for_workers(client)


def worker_facts(corpus: str, folder: str, token: str) -> WorkerFacts:
    """What the client asks each worker."""
    digest = corpus_digest(Path(corpus)) if is_block_folder(corpus) else None
    return WorkerFacts(VERSION, libraries(), digest, _writes(Path(folder), token))


def corpus_digest(path: Path) -> str:
    """A hash of the manifest of a corpus, which has the checksums of all blocks."""
    return hashlib.sha256(Manifest.read(path).to_json().encode()).hexdigest()


def libraries() -> str:
    """Versions and kind of CPU on which the last bits of results depend."""
    import llvmlite.binding
    import numba
    import numpy
    import scipy

    versions = [f"{m.__name__} {m.__version__}" for m in (numpy, scipy, numba)]
    return ", ".join(
        [f"Python {platform.python_version()}", *versions, llvmlite.binding.get_host_cpu_name()]
    )


def check_versions(facts: dict[str, WorkerFacts]) -> None:
    """Refuse workers with another gptm; warn of other libraries, whose results differ in the last bits."""
    for address, worker in facts.items():
        if worker.version != VERSION:
            raise InputError(
                f"the dask worker {address} has gptm {worker.version}, and this process has {VERSION}. Install the "
                "same version on all machines."
            )
    here = libraries()
    others = {
        address: worker.libraries for address, worker in facts.items() if worker.libraries != here
    }
    if others:
        address, there = next(iter(others.items()))
        warn(
            f"{len(others)} of {len(facts)} dask workers have other libraries or another CPU than this machine "
            f"({address}: {there}; here: {here}). The fit is as good, but another fit on other workers may differ "
            "in the last bits."
        )


def check_memory(client: "Client", corpus: BlockCorpus, K: int) -> None:
    """Refuse workers that cannot hold the topics and the sums of a sweep."""
    V, entries = corpus.shape[1], corpus.manifest.blocks
    topics = V * _hot.padded(K)
    largest = max((entry.bytes // 8 for entry in entries), default=0)
    size = max((entry.documents for entry in entries), default=0)
    for address, info in client.scheduler_info(n_workers=-1)["workers"].items():
        block = 40 * largest + 80 * K * size
        needed = _BASE + topics * _PER_WORKER + info["nthreads"] * (topics * _PER_TASK + block)
        if 0 < info["memory_limit"] < needed:
            raise InputError(
                f"{K} topics over {V:,} words take about {needed / 2**30:.2g} GB on the dask worker {address} with "
                f"{info['nthreads']} threads; its limit is {info['memory_limit'] / 2**30:.2g} GB. Start workers with "
                "fewer threads or more memory (dask worker --nthreads 1 --memory-limit ...), fit fewer topics, count "
                "fewer words, or write smaller blocks."
            )


def absolute(corpus: BlockCorpus) -> BlockCorpus:
    """The corpus for workers, which are in other folders."""
    corpus = copy(corpus)
    corpus.path = corpus.path.resolve()
    return corpus


def _bytes(corpus: BlockCorpus) -> int:
    return sum(corpus.manifest.blocks[number].bytes for number, _ in corpus.pieces)


def _check_shipped(what: str, size: int, path: Path, remedy: Message | str = "") -> None:
    if size > SHIPPED:
        raise InputError(
            f"some dask workers cannot use {path}, so that {what} of the documents, {size / 2**30:.1f} GB, would "
            f"travel through the scheduler; at most {SHIPPED / 2**30:g} GB may. Use a folder that all machines share, "
            "under the same name. ",
            remedy,
        )


def _writes(folder: Path, token: str) -> bool:
    """Whether a worker sees the client's token, and can write beside it."""
    try:
        if not (folder / token).exists():
            return False
        mine = folder / f"{token}-{uuid.uuid4().hex}"
        mine.touch()
        mine.unlink()
    except OSError:
        return False
    return os.access(folder, os.W_OK)
