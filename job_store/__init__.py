"""Which jobs are done, and what came of them: shared by the benchmarks and the paper's experiments."""

from job_store.code import code_digest
from job_store.store import Result, Store

__all__ = ["Result", "Store", "code_digest"]
