"""What dense matrices cost, and whether the machine can hold them."""

import os

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
