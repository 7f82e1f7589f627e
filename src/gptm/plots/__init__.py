"""Fitted models as pictures. Each function takes a matplotlib Axes, or makes one, and returns it.

Topics are named by their most prominent words, the colours suit all kinds of colour vision, and bands and bars are
credible intervals. matplotlib loads with the first plot: `pip install 'gptm[plot]'`. `canvas` has what all plots share,
and `table_pictures` chooses the kind of plot that suits a table of effects.

Examples
--------
>>> from gptm import CTM, Corpus, plots
>>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
>>> ax = plots.plot_bound(CTM(n_components=2, random_state=0).fit(corpus))
>>> ax.get_xlabel()
'sweep'
"""

from gptm.plots.correlations import plot_topic_correlations
from gptm.plots.dendrogram import plot_hierarchy
from gptm.plots.document_map import plot_documents
from gptm.plots.effect_plots import plot_effects, plot_topics_over_time
from gptm.plots.estimate_plots import plot_estimates
from gptm.plots.fit_plots import plot_bound, plot_components
from gptm.plots.stability_plot import plot_stability
from gptm.plots.variance import plot_variance_explained

__all__ = [
    "plot_bound",
    "plot_components",
    "plot_documents",
    "plot_effects",
    "plot_estimates",
    "plot_hierarchy",
    "plot_stability",
    "plot_topic_correlations",
    "plot_topics_over_time",
    "plot_variance_explained",
]
