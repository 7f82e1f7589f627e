"""Are effects of a column right that the model did not see? On corpora drawn from the model, where the truth is known.

The corpora are those of `benchmarks.simulated`: ten correlated topics, a binary group, a smooth effect of time and a
column that does nothing. Models are fitted without the group, and for comparison with it. Afterwards `estimate_effects`
asks about it, on the training documents and, with topics from one half, on the other half. All topics count, found or
not. What is measured already is not measured again. Usage:

    python -m benchmarks.questions                              # ten corpora of 120 words a document, ten of 40
    python -m benchmarks.questions --corpora 2 --words 120      # quickly
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import gptm
from benchmarks.simulated import K, describe, held, simulator
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from job_store import Store

RESULTS = Path(__file__).parent / "results" / "questions.jsonl"


def judge_share(effects, order, column, truth):
    """Slope on the true differences of shares, and how often 90 % bands contain them and exclude zero."""
    table = effects.marginal_effects(column).set_index("topic").loc[order]
    estimate, low, high = (table[name].to_numpy() for name in ("estimate", "low", "high"))
    slope = {"slope": float(estimate @ truth / (truth @ truth))} if truth.any() else {}
    return slope | {
        "held": held(truth, low, high),
        "excluded": float(np.mean((low > 0) | (high < 0))),
        "std_error": float(table["std_error"].mean()),
    }


def named(prefix, scores):
    return {f"{prefix}_{name}": value for name, value in scores.items()}


def judge(seed, n_words):
    simulate = simulator()
    truth = simulate.draw(seed, n_words)
    metadata = truth["metadata"]
    row = {"seed": seed, "words": n_words}
    for name, model in {
        "words_alone": CTM(K, random_state=seed),
        "in_kernel": GPTM(K, kernel=k.Matern("t") + k.Categorical("group"), random_state=seed),
    }.items():
        model.fit(truth["X"], metadata=metadata)
        order, _ = simulate.align(model.components_, truth["beta"])
        started = time.process_time()
        effects = model.estimate_effects("~ group + null", metadata)
        row[f"{name}_seconds"] = time.process_time() - started
        row |= named(name, judge_share(effects, order, "group", truth["share"]))
        row |= named(f"{name}_null", judge_share(effects, order, "null", np.zeros(K)))
    corpus = Corpus(truth["X"], metadata=metadata)
    split = gptm.split_sample_effects(CTM(K, random_state=seed), corpus, "~ group + null")
    order, _ = simulate.align(split.model.components_, truth["beta"])
    row |= named("halves", judge_share(split, order, "group", truth["share"]))
    return row | named("halves_null", judge_share(split, order, "null", np.zeros(K)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first corpus")
    parser.add_argument("--words", type=int, nargs="+", default=[120, 40])
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    chosen = parser.parse_args()
    store, rows = Store(RESULTS), []
    for n_words in chosen.words:
        for seed in range(chosen.first, chosen.first + chosen.corpora):
            key = f"{n_words} words/corpus {seed}"
            if chosen.again or store.get(key) is None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    store.put(key, judge(seed, n_words))
                print(describe(store.get(key)), flush=True)
            rows.append(store.get(key))
    table = pd.DataFrame(rows)
    print(table.drop(columns="seed").groupby("words").mean().T.round(3).to_string())


if __name__ == "__main__":
    main()
