"""A fitted model in a few lines, as text and as HTML for notebooks."""

import re
from textwrap import wrap

import numpy as np
import pandas as pd

from gptm.fitted import Fitted
from gptm.tables import shown_words, topic_shares
from gptm.views.html_card import card
from gptm.views.text_lines import WIDTH
from gptm.views.topic_view import topic_html, topic_lines

MANY_DOCUMENTS = 50_000  # whose proportions take too long to compute for a look at the model
_TOPICS = 30  # that are shown
_WORDS = 12  # of a topic, as far as there is room
_NUMBER = re.compile(r"(?<![\w'.])\d+\.\d+(?:e[+-]?\d+)?(?![\w'.])")


def summary_text(name: str, fitted: Fitted, inference: str) -> str:
    """What the model is, how the fit went, and its topics, in lines of at most 100 characters."""
    facts = _facts(fitted, inference)
    width = max(len(label) for label, _ in facts) + 2
    lines = [_title(name, fitted)]
    for label, text in facts:
        lines += wrap(
            text, WIDTH, initial_indent=f"{label:<{width}}", subsequent_indent=" " * width
        )
    table, rest = _topics(fitted)
    return "\n".join([*lines, "", *topic_lines(table), *rest])


def summary_html(name: str, fitted: Fitted, inference: str) -> str:
    """The same as HTML."""
    table, rest = _topics(fitted)
    return card(_title(name, fitted), _facts(fitted, inference), topic_html(table), rest)


def _title(name: str, fitted: Fitted) -> str:
    n, V = fitted.n_documents, fitted.components.shape[1]
    documents = "1 document" if n == 1 else f"{n:,} documents"
    topics = "1 topic" if fitted.K == 1 else f"{fitted.K} topics"
    return f"{name}: {topics} from {documents}, {V:,} words, {fitted.n_tokens:,.0f} tokens"


def _facts(fitted: Fitted, inference: str) -> list[tuple[str, str]]:
    kernel = "none" if fitted.kernel is None else _NUMBER.sub(_rounded, repr(fitted.kernel))
    facts = [("kernel", kernel)]
    facts.append(("fit", _how_it_went(fitted, inference)))
    facts += [("changed", sentence) for sentence in fitted.history[-3:]]
    return facts


def _rounded(number: re.Match[str]) -> str:
    return f"{float(f'{float(number[0]):.3g}'):g}"


def _how_it_went(fitted: Fitted, inference: str) -> str:
    steps = "sweeps" if fitted.by_sampling else "iterations"
    ends = {
        "converged": "converged",
        "max_iter": "ended at max_iter",
        "callback": "ended by the callback",
        "interrupt": "interrupted",
    }
    text = (
        f"{inference}, {ends.get(fitted.reason, fitted.reason)} after {len(fitted.trace):,} {steps}"
    )
    if fitted.diagnostics is None or "ess" not in fitted.diagnostics:
        return text
    ess = fitted.diagnostics["ess"].to_numpy(dtype=float)
    rhat = fitted.diagnostics["rhat"].to_numpy(dtype=float)
    if np.isnan(ess).all() or np.isnan(rhat).all():
        return text
    return (
        f"{text}; fewest effective draws {np.nanmin(ess):,.0f}, largest R-hat {np.nanmax(rhat):.2f}"
    )


def _topics(fitted: Fitted) -> tuple[pd.DataFrame, list[str]]:
    """The topics that are shown, and a note on the others."""
    words = shown_words(fitted, _WORDS)
    columns = {"words": [", ".join(listed) for listed in words]}
    table = pd.DataFrame(columns, index=pd.RangeIndex(fitted.K, name="topic"))
    if fitted.topic_names is not None:
        table.insert(0, "name", [name or "" for name in fitted.topic_names])
    if fitted.coherence is not None:
        table["coherence"] = fitted.coherence
    shown = np.arange(min(fitted.K, _TOPICS))
    if fitted.doc_topics is not None:
        table["share"] = topic_shares(fitted.doc_topics)
        shown = np.sort(np.argsort(-table["share"].to_numpy(), kind="stable")[:_TOPICS])
    if fitted.K <= _TOPICS:
        return table, []
    which = "largest" if fitted.doc_topics is not None else "first"
    return table.iloc[shown], [f"The {_TOPICS} {which} of {fitted.K} topics; topics() has all."]
