"""Which topics are alike, as a tree."""

from collections.abc import Sequence
from typing import Any

from gptm._basics.errors import InputError
from gptm.model import GPTM
from gptm.model.checked_model import check_fitted
from gptm.plots.canvas import COLORS, SMALL, new_axes, tidy, topic_labels
from gptm.surgery.hierarchy import topic_linkage

_ROW = 0.27  # inches


def plot_hierarchy(
    model: GPTM, *, n_words: int = 3, feature_names: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Topics as a tree: branches that join far to the left are topics with similar words.

    `model.topic_hierarchy()` has the same tree as a table, and `model.reduce_to(n)` merges along it.

    Parameters
    ----------
    model : fitted GPTM or CTM
        With two topics or more.
    n_words : int, default=3
        Words that name a topic which has no name.
    feature_names : sequence of str, optional
        The words of the columns of X, if the model does not have them.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from gptm import CTM, Corpus, plots
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
    >>> ax = plots.plot_hierarchy(CTM(n_components=2, random_state=0).fit(corpus), n_words=1)
    >>> sorted(label.get_text() for label in ax.get_yticklabels())
    ['coffee', 'tea']
    """
    check_fitted(model)
    K = model.fitted_.K
    if K < 2:
        raise InputError("a tree of topics needs two topics or more; this model has one.")
    from scipy.cluster.hierarchy import dendrogram

    ax = new_axes(ax, (7.2, 1.2 + _ROW * K))
    dendrogram(
        topic_linkage(model.fitted_),
        labels=topic_labels(model.fitted_, n_words, feature_names),
        orientation="right",
        ax=ax,
        color_threshold=0.0,
        above_threshold_color=COLORS[0],
    )
    tidy(ax, "x")
    ax.set_xlim(0.0, 1.0)
    ax.tick_params(axis="y", labelsize=SMALL, length=0)
    ax.set_xlabel("distance between the topics' words")
    return ax
