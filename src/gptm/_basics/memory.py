"""What dense matrices cost, and whether the machine can hold them."""

import os
import re
from typing import Any

from gptm._basics.errors import ArgumentError

_BYTES = 60  # per entry of a matrix, at the peak of its decomposition (measured)


class TooLarge(ValueError):
    """A dense matrix that takes more memory, or for a mere trial more time, than there is."""


def check_square(n: int, what: str, remedy: str = "", kept: int = 0) -> None:
    """Refuse to decompose an (n, n) matrix that the machine cannot hold, with others `kept` beside; `what` needs it."""
    check_bytes((_BYTES + 8 * kept) * n**2, what, remedy)


def check_bytes(needed: int, what: str, remedy: str = "") -> None:
    """Refuse what takes more memory than the machine has; `what` needs it."""
    try:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if needed > available:
        gigabytes = f"about {needed / 2**30:.0f} GB; this machine has {available / 2**30:.0f} GB"
        raise TooLarge(f"{what} and would need {gigabytes}. {remedy}".strip())


_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kMGT]?)i?B?\s*", re.I)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def memory_bytes(memory: Any) -> int:
    """A setting such as "4GB" or a number of bytes, in bytes; None is half of what the machine has.

    >>> memory_bytes("4GB") == memory_bytes("4096 MiB") == 4 * 2**30
    True
    """
    if memory is None:
        return machine_memory() // 2
    if isinstance(memory, str) and (parts := _SIZE.fullmatch(memory)):
        size = float(parts[1]) * 1024 ** _UNITS[parts[2].lower()]
    elif isinstance(memory, int | float) and not isinstance(memory, bool):
        size = float(memory)
    else:
        raise ArgumentError(
            "memory", "must be a size such as '4GB', a number of bytes, or None", memory
        )
    if not 0 < size < float("inf"):
        raise ArgumentError("memory", "must be larger than 0", memory)
    return int(size)


def machine_memory() -> int:
    """Bytes of memory that the machine has; 8 GB where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * 2**30
