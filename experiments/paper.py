"""What the paper reports: means and deviations of perplexity over five folds."""

from typing import NamedTuple


class Reported(NamedTuple):
    """A mean and its deviation."""

    mean: float
    deviation: float


def _rows(text: str, names: tuple[str, ...]) -> dict[str, dict[str, Reported]]:
    """Lines with the name of a set, then mean and deviation for each model."""
    rows = {}
    for line in text.strip().splitlines():
        corpus, *values = line.split()
        numbers = [float(value) for value in values]
        pairs = zip(names, numbers[::2], numbers[1::2], strict=True)
        rows[corpus] = {name: Reported(mean, deviation) for name, mean, deviation in pairs}
    return rows


TABLE2 = _rows(
    """
    dif100   1231 32  1195 49  1183 36
    sim100   1720 19  1706 22  1684 21
    same100   761  6   758  6   755 12
    asrs      491  8   488  8   483  3
    news100  2944 83  2943 66  2936 82
    """,
    ("ctm", "ml", "nn"),
)

TABLE6 = _rows(
    """
    dif100   1264 47  1232 29  1198 46  1138 42  1121 40  1095 53
    sim100   1778 51  1741 51  1720 46  1656 41  1639 46  1610 37
    same100   829 21   792 11   745 28   633 14   638 12   608 10
    asrs      514 11   508  7   472  7   485  9   466  9   467  7
    news100  3093 89  3047 56  2911 65  2877 79  2818 51  2769 86
    """,
    ("si-ki", "ki", "si-ml", "si-nn", "ml", "nn"),
)
