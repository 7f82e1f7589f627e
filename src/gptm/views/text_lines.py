"""Tables as lines of text that fit into a terminal."""

from collections.abc import Sequence

WIDTH = 100  # columns of a terminal that everybody has
_BETWEEN = "  "
_LEAST = 20  # characters that are left to the last column, however wide the others are


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of at most `WIDTH` characters: columns are aligned to the right, the last `left` of them to the left.

    The last column is cut where it is too long.

    Examples
    --------
    >>> print("\\n".join(aligned(["topic", "words"], [["0", "tea, milk"], ["12", "war"]])))
    topic  words
        0  tea, milk
       12  war
    """
    table = [[one_line(cell) for cell in row] for row in (header, *rows)]
    n = len(header)
    widths = [max(len(row[i]) for row in table) for i in range(n - 1)]
    for i in range(n - left, n - 1):  # texts before the last column leave room for it
        widths[i] = min(widths[i], WIDTH // 4)
    rest = max(WIDTH - sum(widths) - len(_BETWEEN) * (n - 1), _LEAST)
    lines = []
    for row in table:
        cells = [
            cut(cell, width).ljust(width) if i >= n - left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append(_BETWEEN.join([*cells, cut_list(row[-1], rest)]).rstrip())
    return lines


def cut_list(text: str, width: int) -> str:
    """A text of at most `width` characters, of which as many whole items are shown as have room.

    Examples
    --------
    >>> cut_list("green tea, black tea, milk", 22), cut_list("lapsang souchong", 9)
    ('green tea, black tea …', 'lapsang …')
    """
    if len(text) <= width:
        return text
    for mark in (", ", " "):
        end = text.rfind(mark, 0, width - 1 + len(mark) - 1)
        if end > 0:
            return f"{text[:end]} …"
    return cut(text, width)


def cut(text: str, width: int) -> str:
    """A text of at most `width` characters.

    Examples
    --------
    >>> cut("green tea, black tea", 12)
    'green tea, …'
    """
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def one_line(text: str) -> str:
    """A text without line breaks and other characters that move the cursor."""
    return "".join(c if c.isprintable() else " " for c in text)


def percent(share: float) -> str:
    """A share as people write it.

    Examples
    --------
    >>> percent(0.1234), percent(0.004)
    ('12 %', '0.4 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"
