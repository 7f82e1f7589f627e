"""Numbers, lengths of time and lists as people write them."""

from collections.abc import Iterable

import numpy as np

_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DAYS_IN_YEAR = 365.2425
_UNITS = (("year", _DAYS_IN_YEAR), ("month", _DAYS_IN_YEAR / 12), ("day", 1.0))


def readable(value: float, digits: int = 3) -> str:
    """A number in prose: this many significant digits, and words rather than an exponent.

    Examples
    --------
    >>> from gptm._basics.prose import readable
    >>> [readable(value) for value in (2.234e8, 12345.6, 1990.0, 0.25, 0.0000071)]
    ['223 million', '12,300', '1990', '0.25', '7.1 × 10⁻⁶']
    """
    number = float(f"{value:.{digits}g}")
    size = abs(number)
    if size == 0.0 or not np.isfinite(number):
        return f"{number:g}"
    if not 1e-4 <= size < 1e15:
        factor, power = f"{number:e}".split("e")
        return f"{float(factor):g} × 10{str(int(power)).translate(_RAISED)}"
    for unit, name in _LARGE:
        if size >= unit:
            return f"{number / unit:.10g} {name}"
    return f"{number:,.10g}" if size >= 1e4 else f"{number:.10g}"  # years have no comma


def duration(days: float) -> str:
    """A length of time in the largest unit that it fills.

    Examples
    --------
    >>> from gptm._basics.prose import duration
    >>> [duration(days) for days in (0.5, 30.44, 3652.4)]
    ['0.5 days', '1 month', '10 years']
    """
    unit, length = next((u for u in _UNITS if days >= 0.95 * u[1]), _UNITS[-1])
    amount = days / length
    text = f"{amount:.0f}" if 9.95 <= amount < 1e4 else readable(amount, 2)
    return f"{text} {unit}{'' if text == '1' else 's'}"


def listed(names: Iterable[object]) -> str:
    """a; a and b; a, b and c."""
    texts = [str(name) for name in names]
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))
