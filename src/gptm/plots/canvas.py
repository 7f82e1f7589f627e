"""What all plots share: axes, colours, a light look, and labels of topics."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from gptm._basics.types import Array
from gptm.fitted import Fitted
from gptm.tables import shown_words

# Okabe and Ito's colours, which suit all kinds of colour vision; without yellow, which is faint on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "0.62"
COLOR_MAP = "cividis"  # even in lightness, for all kinds of colour vision
DIVERGING = "PuOr"
SMALL = 8.5  # points, of labels


def new_axes(ax: Any = None, size: tuple[float, float] = (7.2, 4.2)) -> Any:
    """The given axes, or new ones that leave room for labels."""
    if ax is not None:
        if not hasattr(ax, "plot"):
            raise ValueError(f"ax must be a matplotlib Axes; got {type(ax).__name__}.")
        return ax
    return _pyplot().subplots(figsize=size, layout="constrained")[1]


def new_panels(size: tuple[float, float], heights: Sequence[float]) -> list[Any]:
    """New axes below each other, with a common horizontal axis."""
    options = {"sharex": True, "height_ratios": list(heights), "layout": "constrained"}
    return list(_pyplot().subplots(len(heights), figsize=size, **options)[1])


def side_by_side(size: tuple[float, float], widths: Sequence[float]) -> list[Any]:
    """New axes beside each other."""
    return list(
        _pyplot().subplots(
            1, len(widths), figsize=size, width_ratios=list(widths), layout="constrained"
        )[1]
    )


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"plots need the package matplotlib, which could not be imported ({error}): pip install 'gptm[plot]'"
        ) from error
    return plt


def tidy(ax: Any, grid: str = "y") -> None:
    """Thin grid lines, and no frame without a scale."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["bottom", "left"]].set_color("0.6")
    ax.tick_params(color="0.6")
    ax.grid(visible=False)
    ax.grid(axis=grid, color="0.9", lw=0.7)
    ax.set_axisbelow(True)


def color_of(position: int) -> str:
    return COLORS[position % len(COLORS)]


def dashes_of(position: int) -> str:
    """The line style: a new one each time the colours start again."""
    return ("-", "--", ":", "-.")[position // len(COLORS) % 4]


def as_percent(axis: Any) -> None:
    """Ticks of an axis of shares as 10 %."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))


def percent(share: float) -> str:
    return f"{round(100 * share, 10):g} %"


def as_dates(axis: Any) -> None:
    """Short ticks for an axis of dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=4, maxticks=8)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))


def topic_labels(
    fitted: Fitted, n_words: int = 3, feature_names: Sequence[str] | None = None
) -> list[str]:
    """Labels of topics: their names, or their most prominent words; numbers if words are unknown or labels repeat."""
    if feature_names is None and fitted.vocabulary is None:
        labels = [f"topic {i}" for i in range(fitted.K)]
    else:
        labels = [", ".join(own) for own in shown_words(fitted, n_words, feature_names)]
    labels = [name or label for name, label in zip(fitted.names, labels, strict=True)]
    times = Counter(labels)
    return [f"{label} ({i})" if times[label] > 1 else label for i, label in enumerate(labels)]


def label_ends(ax: Any, ends: Sequence[tuple[Any, float]], labels: Sequence[str]) -> None:
    """Names of curves at their right ends, in their colours and without overlap.

    The limits of the axes must be final: distances between labels depend on them.
    """
    heights = ax.transData.transform([(0.0, y) for _, y in ends])[:, 1]
    box = ax.get_window_extent()
    line = 1.35 * SMALL * ax.get_figure().dpi / 72
    for i, place in enumerate(spread((heights - box.y0) / box.height, line / box.height)):
        ax.annotate(
            labels[i],
            ends[i],
            xytext=(1.03, place),
            textcoords="axes fraction",
            color=color_of(i),
            fontsize=SMALL,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color_of(i), "lw": 0.7, "shrinkA": 1}
            | {"relpos": (0.0, 0.5)},
        )


def spread(places: Array, gap: float) -> Array:
    """The nearest places in [0, 1], in least squares, with at least a gap between them if there is room."""
    n = len(places)
    gap = min(gap, 1.0 / max(n - 1, 1))
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(n)
    moved = isotonic_regression(np.asarray(places)[order] - steps, y_min=0.0, y_max=1.0 - steps[-1])
    result = np.empty(n)
    result[order] = moved + steps
    return result
