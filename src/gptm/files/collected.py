"""A dask dataframe or bag of texts as a corpus on disk, for as long as a fit takes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gptm.files.block_reading import read_to_blocks
from gptm.files.dask_tables import is_collection

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def collected(
    X: Any, checkpoint: str | os.PathLike[str] | None, client: "Client | None", verbose: int | bool
) -> Iterator[Any]:
    """The documents; those of a dask collection as blocks, in a folder beside the checkpoint or a temporary one.

    Reading a collection again gives the same blocks, so that a checkpoint finds its corpus again.
    """
    if not is_collection(X):
        yield X
        return
    if checkpoint is None:
        folder = Path(tempfile.mkdtemp(prefix="gptm-corpus-"))
    else:
        folder = Path(f"{os.fspath(checkpoint)}.corpus")
    try:
        yield read_to_blocks(X, folder, client=client, overwrite=True, verbose=bool(verbose)).corpus
    finally:
        shutil.rmtree(folder, ignore_errors=True)
