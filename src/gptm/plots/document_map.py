"""The documents as a map."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm._basics.validation import check_choice
from gptm.corpus import Corpus
from gptm.corpus.kinds import base_kind, kinds_of
from gptm.corpus.metadata import as_frame, column, level_names, numbers
from gptm.corpus.typed_columns import typed_frame
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.plots.canvas import (
    COLOR_MAP,
    COLORS,
    SMALL,
    as_dates,
    as_percent,
    new_axes,
    tidy,
    topic_labels,
)
from gptm.tables import topic_numbers
from gptm.views.text_lines import cut

_LABEL = 28  # characters of a topic's name beside an axis
FEW = 6  # different whole numbers that count as categories


class Coloring(NamedTuple):
    """The meaning of the dots' colours."""

    title: str
    values: np.ndarray  # (D,) numbers, NaN where missing, or names, None where missing
    kind: Literal["classes", "numbers", "dates", "shares"]


def plot_documents(
    model: GPTM,
    color: Any = None,
    *,
    metadata: Any = None,
    of: Literal["means", "logits"] | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """A map of the training documents, in the plane in which they differ most.

    It shows principal components of the kernel's part of the logits, or of the logits themselves. The labels at the
    ends of the axes are topics that are large there.

    Parameters
    ----------
    model : fitted GPTM or CTM
    color : int, str or sequence, optional
        A topic, by number or name, to show its proportions; the name of a column of the metadata; or one value per
        document. By default the largest topic of each document.
    metadata : DataFrame, dict of columns or Corpus, optional
        Metadata of the training documents, if `color` is the name of a column: the model does not keep them.
    of : {"means", "logits"}, optional
        Which map: of `doc_means_`, the kernel's part, or of `doc_logits_`. By default the means if there is a
        kernel.
    feature_names : sequence of str, optional
        The words of the columns of X, for a model that was fitted to an array without names.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from gptm import CTM, Corpus, plots
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5, metadata={"shop": ["a", "b"] * 5})
    >>> model = CTM(n_components=2, random_state=0).fit(corpus)
    >>> ax = plots.plot_documents(model, "shop", metadata=corpus)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    check_fitted(model)
    labels = topic_labels(model.fitted_, 2, feature_names)
    coloring = _read_colors(model, color, metadata, labels)
    places, shares, directions = _principal_plane(_positions(model, of))
    ax = new_axes(ax, (7.2, 4.8))
    dots = {"s": float(np.clip(3e4 / len(places), 3.0, 28.0)), "lw": 0, "alpha": 0.75}
    dots["rasterized"] = len(places) > 5000  # a vector graphic of all would be slow to show
    draw = _draw_classes if coloring.kind == "classes" else _draw_numbers
    draw(ax, places, coloring, dots)
    for axis, share, direction in zip((ax.xaxis, ax.yaxis), shares, directions.T, strict=True):
        ends = labels[int(direction.argmin())], labels[int(direction.argmax())]
        low, high = (cut(label, _LABEL) for label in ends)
        axis.set_label_text(f"← {low}     ({100 * share:.0f} %)     {high} →", fontsize=SMALL)
    ax.set_aspect("equal", adjustable="datalim")
    tidy(ax, "both")
    return ax


def _positions(model: GPTM, of: str | None) -> Array:
    """(D, K) means or logits, without the shift that is common to all topics."""
    has_kernel = model.kernel_ is not None
    if of is not None:
        check_choice("of", of, ("means", "logits"))
    if of == "means" and not has_kernel:
        raise ValueError(
            "of='means' needs a kernel, but this model has no kernel. Use of='logits'."
        )
    chosen = model.doc_means_ if has_kernel and of != "logits" else model.doc_logits_
    return np.asarray(chosen - chosen.mean(1, keepdims=True))


def _principal_plane(positions: Array) -> tuple[Array, Array, Array]:
    """(D, 2) places, (2,) shares of the variance, (K, 2) directions; the largest entry of a direction is positive."""
    centred = positions - positions.mean(0)
    K = centred.shape[1]
    variances, vectors = np.linalg.eigh(centred.T @ centred)
    directions = np.zeros((K, 2))  # one topic has no second direction
    directions[:, : min(K, 2)] = vectors[:, ::-1][:, :2]
    largest = np.abs(directions).argmax(0)
    directions = directions * np.where(directions[largest, [0, 1]] < 0, -1.0, 1.0)
    total = max(float(variances.sum()), np.finfo(float).tiny)
    shares = np.zeros(2)
    shares[: min(K, 2)] = np.maximum(variances[::-1][:2], 0.0) / total
    return centred @ directions, shares, directions


def _read_colors(model: GPTM, color: Any, metadata: Any, labels: list[str]) -> Coloring:
    D = len(model.doc_logits_)
    if color is None:
        largest = model.doc_topics_.argmax(1)
        return Coloring("largest topic", np.array(labels, dtype=object)[largest], "classes")
    named = isinstance(color, str) and color in (model.topic_names_ or ())
    if named or (np.ndim(color) == 0 and not isinstance(color, str)):
        (topic,) = topic_numbers(model.fitted_, color)
        return Coloring(f"share of {labels[topic]}", model.doc_topics_[:, topic], "shares")
    if isinstance(color, str):
        if isinstance(metadata, Corpus):
            metadata = metadata.metadata
        if metadata is None:
            raise ValueError(
                f"color={color!r} names a column of the metadata, which the model does not keep. Pass metadata=, with "
                f"one row for each of the {D} training documents, or the column itself as color."
            )
        return _column_as_coloring(as_frame(metadata, D), color)
    if len(color) != D:
        raise ValueError(
            f"color must have one value for each of the {D} training documents; got {len(color)}."
        )
    values = color if isinstance(color, pd.Series) else pd.Series(list(color))
    title = str(values.name or "")
    return _column_as_coloring(values.to_frame(title), title)


def _column_as_coloring(frame: pd.DataFrame | None, name: str) -> Coloring:
    frame = None if frame is None else typed_frame(frame, only=[name])
    values = column(frame, name, "plot_documents")
    kind = base_kind(kinds_of(frame).get(name, "note"))
    if kind == "date":
        return Coloring(name, numbers(values, name), "dates")
    few = pd.api.types.is_integer_dtype(values) and values.nunique() <= FEW
    if kind == "number" and not few:
        return Coloring(name, numbers(values, name), "numbers")
    return Coloring(name, level_names(values), "classes")


def _draw_numbers(ax: Any, places: Array, coloring: Coloring, dots: dict[str, Any]) -> None:
    missing = np.isnan(coloring.values)
    ax.scatter(*places[missing].T, color="0.85", **dots)
    rows = np.flatnonzero(~missing)
    limits = {}
    if coloring.kind == "shares":
        limits = {"vmin": 0.0}
        rows = rows[np.argsort(coloring.values[rows], kind="stable")]  # the few large ones on top
    drawn = ax.scatter(*places[rows].T, c=coloring.values[rows], cmap=COLOR_MAP, **limits, **dots)
    bar = ax.get_figure().colorbar(drawn, ax=ax, pad=0.02)
    bar.solids.set_alpha(1.0)
    bar.outline.set_visible(False)
    bar.set_label(coloring.title, fontsize=SMALL)
    if coloring.kind == "shares":
        as_percent(bar.ax.yaxis)
    elif coloring.kind == "dates":
        as_dates(bar.ax.yaxis)


def _draw_classes(ax: Any, places: Array, coloring: Coloring, dots: dict[str, Any]) -> None:
    """The most frequent classes in colours, the others and the missing in grey below them."""
    frequent = pd.Series(coloring.values).value_counts().index
    shown = sorted(frequent[: len(COLORS)])
    in_grey = ~np.isin(coloring.values.astype(str), shown)
    n_others = len(frequent) - len(shown)
    ax.scatter(*places[in_grey].T, color="0.85", **dots)
    for name, color in zip(shown, COLORS, strict=False):
        ax.scatter(*places[coloring.values == name].T, color=color, label=name, **dots)
    if in_grey.any():
        name = "missing" if n_others == 0 else "other" if n_others == 1 else f"{n_others} others"
        ax.scatter([], [], color="0.85", label=name, **dots)
    legend = ax.legend(
        title=coloring.title,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=SMALL,
        title_fontsize=SMALL,
        alignment="left",
    )
    for handle in legend.legend_handles:
        handle.set(sizes=[30.0], alpha=1.0)
