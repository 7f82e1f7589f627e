"""Files that appear as a whole or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def replace_file(path: str | os.PathLike[str], data: bytes, *, one_writer: bool = False) -> None:
    """Put a complete file in place of what is there: whoever reads meanwhile finds the old one or the new one.

    A link stays a link, and what it names is replaced. Devices and pipes are written to as they are. With `one_writer`
    the file in the making always has the same name, so that writers that were killed leave one at most.
    """
    target = Path(path)
    # Before links are followed: those of a pipe lead to no path.
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    target = Path(os.path.realpath(target))
    own = target.name if one_writer else f"gptm-{secrets.token_hex(8)}"
    waiting = target.with_name(f".{own}.tmp")
    try:
        file = open(waiting, "wb" if one_writer else "xb")  # noqa: SIM115, like any new file, with the permissions that the umask leaves
    except OSError as error:
        error.filename = os.fspath(path)  # the one that was asked for
        raise
    try:
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(waiting, target)
        sync(target.parent)
    except BaseException as error:
        waiting.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename = os.fspath(path)  # a full disk does not say which file it was
        raise


def sync(path: Path) -> None:
    """Let what is in a file, or the names in a folder, outlive a power cut, where the system can promise that."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
