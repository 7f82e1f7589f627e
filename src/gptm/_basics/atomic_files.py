"""Files that appear as a whole or not at all."""

import os
import secrets
from pathlib import Path


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Put a complete file in place of what is there: whoever reads meanwhile finds the old one or the new one.

    A link stays a link, and what it names is replaced. Devices and pipes are written to as they are.
    """
    target = Path(path)
    # Before links are followed: those of a pipe lead to no path.
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    target = Path(os.path.realpath(target))
    waiting = target.with_name(f".gptm-{secrets.token_hex(8)}.tmp")
    try:
        file = open(waiting, "xb")  # noqa: SIM115, like any new file, with the permissions that the umask leaves
    except OSError as error:
        error.filename = os.fspath(path)  # the one that was asked for
        raise
    try:
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(waiting, target)
    except BaseException:
        waiting.unlink(missing_ok=True)
        raise
