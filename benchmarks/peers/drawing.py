"""Perplexity against time: one panel per case, one line per run."""

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.cases import LIBRARIES
from benchmarks.peers.results import Run
from benchmarks.peers.summary import good_runs, standing

COLUMNS = 3
# Okabe and Ito's colours, which everybody can tell apart.
COLOURS = ("#D55E00", "#0072B2", "#56B4E9", "#000000", "#009E73", "#CC79A7", "#E69F00")
HEADROOM = 1.3  # of the best perplexity at the end: earlier points would squeeze the rest


def draw(runs: Sequence[Run], cases: Sequence[str], path: Path) -> None:
    """Write a PNG with the curves of the cases; the dashed line is the best peer's perplexity at the end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    columns = min(COLUMNS, len(cases))
    n_rows = math.ceil(len(cases) / columns)
    figure, axes = plt.subplots(
        n_rows, columns, figsize=(4.2 * columns, 3.1 * n_rows + 0.5), squeeze=False
    )
    colours = dict(zip(LIBRARIES, COLOURS, strict=True))
    present = set()
    for ax, case in zip(axes.ravel(), cases, strict=False):
        for run in good_runs(runs, case):
            library = run["library"]
            present.add(library)
            seconds = [point["seconds"] for point in run["curve"]]
            ppl = [point["ppl"] for point in run["curve"]]
            ax.plot(seconds, ppl, color=colours[library], lw=1.2, alpha=0.8)
            ax.plot(seconds[-1], ppl[-1], "o", color=colours[library], ms=4)
        stand = standing(runs, case)
        if stand.level is not None:
            ax.axhline(stand.level, color="0.4", lw=0.8, ls="--")
        best = min(row.ppl for row in stand.rows)
        ax.set(xscale="log", title=case, ylim=(0.98 * best, HEADROOM * best))
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes.ravel()[len(cases) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("completion perplexity")
    figure.supxlabel("seconds", fontsize=10)
    handles = [
        Line2D([], [], color=colours[name], marker="o", ms=4, label=name)
        for name in LIBRARIES
        if name in present
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    figure.set_layout_engine("constrained")
    figure.savefig(path, dpi=90)
    plt.close(figure)
