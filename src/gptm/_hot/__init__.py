"""Every compiled loop and nothing else: flat arrays in, flat arrays out.

All functions release the interpreter lock, so blocks of documents run in plain Python threads; none
uses numba's own threading, whose default layer aborts on concurrent use. The callers validate,
allocate (`Scratch` too) and decide on blocks; sums run in an order that does not depend on the number of threads.

What other loops call is inlined (`forceinline`). Else a process that compiles them and one that finds them in the cache
would run different copies of the same function, whose last bits differ.
"""

from gptm._hot.binomials import binomial
from gptm._hot.block_sweep import SweepScratch, sweep_block
from gptm._hot.contrast_rows import to_contrast_rows, to_topic_rows
from gptm._hot.document_mode import find_mode
from gptm._hot.document_posterior import ANYTHING, NOWHERE, document_block, optimise_document
from gptm._hot.first_guess import guess_document
from gptm._hot.lda_tokens import (
    choose,
    count_pairs,
    count_values,
    explained,
    gibbs_sweep,
    next_uniform,
    weigh,
)
from gptm._hot.lda_words import list_topics, word_sweep
from gptm._hot.linear_algebra import (
    add_rows,
    cholesky,
    dot,
    inverse,
    product,
    shifted_exp,
    summed,
    weighted_precision,
)
from gptm._hot.logit_variances import settle_nu2, solve_nu2
from gptm._hot.nearest import keep_nearest, nearest_by_words, nearest_members, nearest_rows
from gptm._hot.newton import LEVELS, level_of, newton_direction
from gptm._hot.point_summaries import PointsOut
from gptm._hot.scratch import Scratch
from gptm._hot.simd import LANES, padded, padded_rows, padded_zeros
from gptm._hot.simd_lowering import Vector
from gptm._hot.softmax import Rules, SoftmaxScratch, expected_softmax
from gptm._hot.token_draws import draw_tokens
from gptm._hot.topic_search import find_topic
from gptm._hot.weighted_points import PointsScratch, weigh_block
from gptm._hot.window_counts import count_windows
from gptm._hot.word_draws import draw_gammas, draw_tables, expected_words, normalise_words
from gptm._hot.word_evidence import (
    add_expected_counts,
    expected_topics,
    log_likelihood,
    take_words,
    word_norms,
)

__all__ = [
    "ANYTHING",
    "LANES",
    "LEVELS",
    "NOWHERE",
    "PointsOut",
    "PointsScratch",
    "Rules",
    "Scratch",
    "SoftmaxScratch",
    "SweepScratch",
    "Vector",
    "add_expected_counts",
    "add_rows",
    "binomial",
    "cholesky",
    "choose",
    "count_pairs",
    "count_values",
    "count_windows",
    "document_block",
    "dot",
    "draw_gammas",
    "draw_tables",
    "draw_tokens",
    "expected_softmax",
    "expected_topics",
    "expected_words",
    "explained",
    "find_mode",
    "find_topic",
    "gibbs_sweep",
    "guess_document",
    "inverse",
    "keep_nearest",
    "level_of",
    "list_topics",
    "log_likelihood",
    "nearest_by_words",
    "nearest_members",
    "nearest_rows",
    "newton_direction",
    "next_uniform",
    "normalise_words",
    "optimise_document",
    "padded",
    "padded_rows",
    "padded_zeros",
    "product",
    "settle_nu2",
    "shifted_exp",
    "solve_nu2",
    "summed",
    "sweep_block",
    "take_words",
    "to_contrast_rows",
    "to_topic_rows",
    "weigh",
    "weigh_block",
    "weighted_precision",
    "word_norms",
    "word_sweep",
]
