"""Scores on plain arrays: how well a model predicts held-out words, and how good its topics look to people.

Nothing here knows a model: topics are (topics, words), counts (documents, words), proportions (documents, topics).
`held_out_words` scores predictions. `topic_words` ranks the words of topics, `coherence` and `window_coherence` ask
whether these belong together, `diversity` whether topics differ. Begin with `held_out_words`.
"""

from gptm.metrics.clusters import nmi, purity
from gptm.metrics.coherence import npmi_coherence
from gptm.metrics.diversity import inverted_rbo, topic_diversity
from gptm.metrics.held_out_words import (
    log_likelihood,
    mean_log_likelihood,
    perplexity,
    split_tokens,
)
from gptm.metrics.significance import topic_significance
from gptm.metrics.topic_words import (
    exclusivity,
    frex,
    lift,
    prominence,
    relevance,
    top_words,
    word_scores,
)
from gptm.metrics.window_coherence import c_npmi, c_v

__all__ = [
    "c_npmi",
    "c_v",
    "exclusivity",
    "frex",
    "inverted_rbo",
    "lift",
    "log_likelihood",
    "mean_log_likelihood",
    "nmi",
    "npmi_coherence",
    "perplexity",
    "prominence",
    "purity",
    "relevance",
    "split_tokens",
    "top_words",
    "topic_diversity",
    "topic_significance",
    "word_scores",
]
