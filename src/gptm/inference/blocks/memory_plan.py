"""How much memory a fit to blocks takes, and how large a sample of documents may be kept in it."""

from typing import NamedTuple

from gptm import _hot
from gptm._basics.errors import Argument, InputError
from gptm._basics.memory import memory_bytes
from gptm.corpus.block_corpus import BlockCorpus

SAMPLE = 20_000  # documents kept in memory at most
FEWEST = 200  # and at least, if there are so many
_BASE = 350 * 2**20  # bytes of libraries
_PER_TOPIC_WORD = (
    110  # bytes: counts, topics and their sums in the making, once for each of eight shards
)
_PER_LOGIT = 200  # bytes: states, sums and snapshots of a document of the sample
_PER_ENTRY = 60  # bytes of a word of a document, at the peak of reading and starting
_PER_BLOCK_ENTRY = 40  # and of a document that only passes by


class MemoryPlan(NamedTuple):
    """What fits."""

    limit: int  # bytes
    sample: int  # documents in memory


def plan_memory(corpus: BlockCorpus, K: int, memory: object) -> MemoryPlan:
    """A sample of documents that fits into the memory, or an error that says what does not."""
    limit, (n, V) = memory_bytes(memory), corpus.shape
    topics = _PER_TOPIC_WORD * V * _hot.padded(K)
    largest = max((e.bytes for e in corpus.manifest.blocks), default=0) // 8
    size = max((e.documents for e in corpus.manifest.blocks), default=0)
    block = _PER_BLOCK_ENTRY * largest + 80 * K * size
    fixed = _BASE + topics + block
    per_document = (
        _PER_LOGIT * K + _PER_ENTRY * (corpus.n_tokens / max(corpus.n_documents, 1)) + 2000
    )
    wanted = min(SAMPLE, (n + 1) // 2)
    possible = int((limit - fixed) / per_document)
    if possible < min(FEWEST, wanted):
        needed = (fixed + per_document * FEWEST) / 2**30
        raise InputError(
            f"{K} topics over {V:,} words take {topics / 2**30:.2g} GB, and a fit to blocks of this corpus about "
            f"{needed:.2g} GB in all; the limit is {limit / 2**30:.2g} GB. Raise ",
            Argument("memory", ...),
            ", fit fewer topics, count fewer words (",
            Argument("max_features", ...),
            "), or write smaller blocks.",
        )
    return MemoryPlan(limit, min(wanted, possible))
