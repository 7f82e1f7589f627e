"""The pictures of the experiments: embeddings by class, errors against labels, seconds against documents."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import orthogonal_procrustes

from gptm._basics.types import Array
from gptm.plots.canvas import SMALL, as_percent, color_of, tidy

MARKERS = ("o", "^", "s", "D", "v", "P")
WIDTH = 9.0  # inches
TITLE = 10.0  # points


class Panel(NamedTuple):
    """One embedding."""

    title: str
    note: str  # the numbers that go with it
    places: Array  # (D, 2)
    labels: np.ndarray  # (D,)
    labelled: np.ndarray | None = None  # (D,) whose label the model saw; None: nobody's


class Line(NamedTuple):
    """Values with bars along a quantity."""

    name: str
    x: Array
    y: Array
    spread: Array | None = None


def draw_embeddings(rows: Mapping[str, Sequence[Panel]]) -> Any:
    """A Figure with a row of panels under each title, coloured by class; the legend of a row is below it.

    Examples
    --------
    >>> import numpy as np
    >>> panel = Panel("CTM", "silhouette 0.5", np.eye(2), np.array(["a", "b"]))
    >>> figure = draw_embeddings({"Dif100": [panel, panel]})
    >>> len(figure.axes)
    2
    """
    n = max(len(row) for row in rows.values())
    height = WIDTH / n + 1.15  # as high as wide, with room for what is written
    figure = _new_figure((WIDTH, height * len(rows)))
    parts = np.atleast_1d(figure.subfigures(len(rows), 1, hspace=0.02))
    for part, (title, row) in zip(parts, rows.items(), strict=True):
        part.suptitle(title, fontsize=TITLE, fontweight="bold")
        for ax, panel in zip(part.subplots(1, n, squeeze=False)[0], row, strict=True):
            _draw_classes(ax, panel)
        _legend_below(part, *_handles(row))
    return figure


def draw_errors(parts: Mapping[str, Sequence[Line]], xlabel: str, ylabel: str) -> Any:
    """A Figure with a panel for each name: shares in percent, with bars, against a quantity on a logarithmic scale.

    Examples
    --------
    >>> import numpy as np
    >>> line = Line("CTM", np.array([10, 20]), np.array([0.3, 0.2]), np.array([0.1, 0.1]))
    >>> draw_errors({"dif100": [line]}, "labels", "error").axes[0].get_title()
    'dif100'
    """
    figure = _new_figure((WIDTH, 3.9))
    axes = figure.subplots(1, len(parts), squeeze=False)[0]
    for ax, (title, lines) in zip(axes, parts.items(), strict=True):
        shifts = np.linspace(-0.03, 0.03, len(lines))  # so that bars stand side by side
        for i, (line, shift) in enumerate(zip(lines, shifts, strict=True)):
            ax.errorbar(line.x * np.exp(shift), line.y, line.spread, **_style(i), capsize=2)
        _logarithmic(ax, lines)
        as_percent(ax.yaxis)
        ax.set_title(title, fontsize=TITLE)
        ax.set_xlabel(xlabel)
        tidy(ax)
    top = max(float(np.max(line.y + _spread(line))) for lines in parts.values() for line in lines)
    for ax in axes:
        ax.set_ylim(0.0, 1.05 * top if top > 0 else 1.0)
    axes[0].set_ylabel(ylabel)
    names = [line.name for line in next(iter(parts.values()))]
    _legend_below(figure, list(axes[0].containers), names, columns=3)
    return figure


def draw_growth(parts: Mapping[str, Sequence[Line]], xlabel: str, ylabel: str) -> Any:
    """A Figure with a panel for each name, both axes logarithmic.

    Examples
    --------
    >>> import numpy as np
    >>> line = Line("scipy", np.array([100, 200]), np.array([0.1, 0.8]))
    >>> draw_growth({"F step": [line]}, "documents", "seconds").axes[0].get_yscale()
    'log'
    """
    figure = _new_figure((WIDTH, 3.9))
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes = figure.subplots(1, len(parts), squeeze=False)[0]
    for ax, (title, lines) in zip(axes, parts.items(), strict=True):
        for i, line in enumerate(lines):
            ax.plot(line.x, line.y, **_style(i), label=line.name)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        _logarithmic(ax, lines)
        ax.set_title(title, fontsize=TITLE)
        ax.set_xlabel(xlabel)
        tidy(ax)
        ax.legend(fontsize=SMALL, frameon=False, loc="upper left")
    axes[0].set_ylabel(ylabel)
    return figure


def turned(places: Array, reference: Array) -> Array:
    """Centred, turned and mirrored to lie like the reference, which topics in another order do not; not scaled."""
    centred = places - places.mean(0)
    return centred @ orthogonal_procrustes(centred, reference - reference.mean(0))[0]


def save(figure: Any, out: Path, name: str) -> str:
    """Write figures/NAME.png and .svg, the same bytes for the same figure; returns Markdown that shows it."""
    import matplotlib as mpl

    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "gptm"}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
    return f"![{name}](figures/{name}.png)"


def _new_figure(size: tuple[float, float]) -> Any:
    """A Figure of its own, which no other state knows of."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            f"figures need the package matplotlib, which could not be imported ({error}): pip install 'gptm[plot]'"
        ) from error
    return Figure(figsize=size, layout="constrained")


def _draw_classes(ax: Any, panel: Panel) -> None:
    labelled = np.zeros(len(panel.labels), dtype=bool) if panel.labelled is None else panel.labelled
    size = float(np.clip(4e3 / len(panel.labels), 5.0, 16.0))
    classes = np.unique(panel.labels)
    for i, name in enumerate(classes):
        for has_label in (False, True):
            rows = (panel.labels == name) & (labelled == has_label)
            marked = has_label and not labelled.all()
            ax.scatter(
                *panel.places[rows].T,
                s=size * (1.8 if marked else 1.0),
                marker=MARKERS[i % len(MARKERS)],
                color=color_of(i),
                edgecolors="black" if marked else "none",
                linewidths=0.6 if marked else 0.0,
                alpha=0.9 if marked else 0.65,
                zorder=3 if marked else 2,
            )
    ax.set_title(panel.title, fontsize=TITLE)
    ax.set_xlabel(panel.note, fontsize=SMALL, color="0.25")
    ax.set_aspect("equal", adjustable="datalim")
    ax.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    for spine in ax.spines.values():
        spine.set_color("0.8")


def _handles(row: Sequence[Panel]) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    names = [str(name) for name in np.unique(row[0].labels)]
    handles = [
        Line2D([], [], ls="", marker=MARKERS[i % len(MARKERS)], color=color_of(i), ms=5)
        for i in range(len(names))
    ]
    if any(panel.labelled is not None and 0 < panel.labelled.mean() < 1 for panel in row):
        handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec="black", ms=5))
        names.append("label given")
    return handles, names


def _legend_below(part: Any, handles: list[Any], names: list[str], columns: int = 4) -> None:
    part.legend(
        handles, names, loc="outside lower center", ncols=columns, fontsize=SMALL, frameon=False
    )


def _style(position: int) -> dict[str, Any]:
    marker = MARKERS[position % len(MARKERS)]
    dashes = ("-", "--", "-.", ":")[position % 4]
    return {
        "color": color_of(position),
        "marker": marker,
        "ls": dashes,
        "ms": 5,
        "lw": 1.4,
    }


def _spread(line: Line) -> Array:
    return np.zeros(len(line.y)) if line.spread is None else line.spread


def _logarithmic(ax: Any, lines: Iterable[Line]) -> None:
    """A logarithmic x-axis with ticks where there are values, as plain numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(sorted({float(x) for line in lines for x in line.x})))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.tick_params(axis="x", labelsize=SMALL)
