"""Topics over two centuries: what a date alone says about the words to come.

A model of the State of the Union addresses with a kernel over time is asked about documents without a single
word: its answer is the expected share of each topic at that date. Writes docs/topics-over-time.png.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from gptm import GPTM, Corpus
from gptm import kernels as k
from gptm.demo import N_TOPICS, sotu_paragraphs

SHOWN = 7


def main() -> None:
    paragraphs = sotu_paragraphs()
    corpus = Corpus.from_texts(paragraphs["text"], metadata=paragraphs[["date"]])
    model = GPTM(N_TOPICS, kernel=k.Matern("date"), random_state=0, n_jobs=-1).fit(corpus)

    grid = pd.DataFrame({"date": pd.date_range("1790-01-01", "2026-01-01", periods=400)})
    no_words = np.zeros((len(grid), corpus.shape[1]))
    share = model.transform(Corpus(no_words, corpus.vocabulary, metadata=grid))

    figure, axes = plt.subplots(figsize=(10, 4.6), layout="constrained")
    most_varied = np.argsort(-share.std(axis=0))[:SHOWN]
    words = model.topics(4)["words"]
    for topic in sorted(most_varied, key=lambda i: share[:, i].argmax()):
        axes.plot(grid["date"], 100 * share[:, topic], lw=2, label=words[topic])
    axes.set(ylabel="expected share, %", xlim=(grid["date"].min(), grid["date"].max()))
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=2, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, 1.32))
    target = Path(__file__).parent.parent / "docs" / "topics-over-time.png"
    figure.savefig(target, dpi=110)
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
