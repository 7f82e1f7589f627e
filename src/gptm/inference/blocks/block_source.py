"""The documents of a corpus on disk, block by block, as a sweep reads them, without those of the sample in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.errors import Argument, InputError, Message, PythonOnly
from gptm._basics.types import Array
from gptm.corpus import Corpus
from gptm.corpus.block_corpus import BlockCorpus
from gptm.corpus.counts import frame_of
from gptm.corpus.metadata import with_columns
from gptm.inference.blocks.block_documents import BlockDocuments
from gptm.kernels import BoundKernel, Documents
from gptm.kernels.identity import NothingBound
from gptm.operators import Features

WIDEST = 5_000  # features, whose squares are decomposed


@dataclass(frozen=True)
class BlockSource:
    """Documents by blocks. Small and without state, so that it can travel."""

    corpus: BlockCorpus
    sample: np.ndarray  # (n,) sorted numbers of the documents that are left out
    bound: BoundKernel  # over the sample
    kinds: Mapping[str, str]  # of the columns that the kernel reads

    @cached_property
    def numbers(self) -> list[int]:
        """Blocks that have documents besides those of the sample."""
        sizes = np.diff(self.corpus.starts) - np.diff(self._cuts)
        return np.flatnonzero(sizes > 0).tolist()

    @cached_property
    def _cuts(self) -> np.ndarray:
        return np.searchsorted(self.sample, self.corpus.starts)

    def __len__(self) -> int:
        return len(self.numbers)

    def documents(self, position: int) -> BlockDocuments:
        """The documents of one of the blocks."""
        number = self.numbers[position]
        begin, cuts = int(self.corpus.starts[number]), self._cuts
        block = self.corpus.block(number)
        out = self.sample[cuts[number] : cuts[number + 1]] - begin
        if len(out):
            block = block[np.delete(np.arange(len(block)), out)]
        first = len(self.sample) + begin - int(cuts[number])
        counts = sweep_counts(block.counts, f"block {number}")
        features, own = self._placed(block, counts)
        return BlockDocuments(first, counts, features, own)

    def _placed(self, block: Corpus, counts: csr_matrix) -> tuple[Features | None, Array | None]:
        if isinstance(self.bound, NothingBound):
            return None, None
        frame = frame_of(block, None, len(block), self.kinds, only=self.kinds)
        if frame is not None:
            frame = with_columns(frame, self.bound.kernel.column_names(), fill=False)
        placed = self.bound.place(self.bound.read(Documents(len(block), frame, counts)))
        return placed.features, placed.own_diagonal


def sweep_counts(counts: csr_matrix, where: str) -> csr_matrix:
    """Counts as the compiled loops read them, in memory of their own."""
    data = counts.data.astype(np.float64)
    if len(data) and not (np.isfinite(data).all() and data.min() >= 0):
        raise InputError(
            f"{where} has counts that are negative or not finite. Write the corpus again, with counts."
        )
    copied = csr_matrix(
        (data, counts.indices.astype(np.int32), counts.indptr.astype(np.int32)), shape=counts.shape
    )
    if not (copied.has_canonical_format and data.all()):
        copied.sum_duplicates()
        copied.eliminate_zeros()
    return copied


def check_kernel(bound: BoundKernel) -> None:
    """Refuse kernels that need all documents at once, with the way out."""
    if isinstance(bound, NothingBound):
        return
    structure = bound.structure
    way_out = Message(
        " Block by block gptm fits kernels of dates and numbers (RBF, Matern, Periodic), Categorical, Linear, and sums "
        "and products of these: pass such a ",
        Argument("kernel"),
        PythonOnly(", or load the documents into memory, as in fit(corpus.load())"),
        ".",
    )
    if structure.graphs:
        raise InputError(
            f"the kernel {bound.kernel!r} links documents of different blocks, and cannot be fitted block by block.",
            way_out,
        )
    width = 0 if structure.features is None else structure.features.width
    if width > WIDEST:
        raise InputError(
            f"{bound.kernel!r} has {width:,} features over the sample in memory; block by block at most {WIDEST:,} are "
            "fitted. Round the columns it reads, or pass ",
            Argument("kernel", None),
            ".",
            way_out,
        )
