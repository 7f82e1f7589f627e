"""Are effects and error bars right? On corpora drawn from the model, where the truth is known.

Each corpus has ten correlated topics, a binary group, a smooth effect of time and a covariate that does nothing. All
topics count, found or not, with default settings. New documents of 0, 10, 40 and 120 words tell whether intervals of
their proportions hold. The simulator is in the shared folder beside the project. What is measured already is not
measured again. Usage:

    python -m benchmarks.simulated                              # ten corpora of 120 words a document, ten of 40
    python -m benchmarks.simulated --corpora 2 --words 120      # quickly
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import softmax

from gptm import GPTM
from gptm import kernels as k
from job_store import Store

SHARED = Path(__file__).resolve().parents[2] / "shared" / "bench"
RESULTS = Path(__file__).parent / "results" / "simulated.jsonl"
K = 10
NEW_LENGTHS = (0, 10, 40, 120)
N_NEW = 500


def simulator():
    """The module that draws corpora."""
    if not (SHARED / "simulate.py").exists():
        sys.exit(f"there is no file {SHARED / 'simulate.py'}, which draws the corpora.")
    sys.path.insert(0, str(SHARED))
    import simulate

    return simulate


def held(truth, low, high):
    return float(np.mean((truth >= low) & (truth <= high)))


def table_of(model, order, term, columns, n, **question):
    """(columns, n, K) of an effects table, topics in the order of the true ones."""
    table = model.effects(term, **question)
    return [table[name].to_numpy().reshape(K, n)[order].T for name in columns]


CONTRAST = ("contrast", "contrast_low", "contrast_high")
SHARE = ("share", "share_low", "share_high")


def judge_effects(model, order, truth):
    """Slopes and coverage of 90 % bands, and how often those of the covariate that does nothing exclude zero."""
    b_against_a = {"at": "b", "versus": "a"}
    contrast, low, high = table_of(model, order, "group", CONTRAST, 1, **b_against_a)
    _, share_low, share_high = table_of(model, order, "group", SHARE, 1, **b_against_a)
    curve, curve_low, curve_high = table_of(
        model, order, "t", CONTRAST, len(truth["grid"]), at=list(truth["grid"])
    )
    excluded = {}
    for level in (0.9, 0.95):
        _, a, z = table_of(model, order, "null", CONTRAST, 1, **b_against_a, level=level)
        excluded[level] = float(np.mean((a > 0) | (z < 0)))
    true = truth["contrast"]
    return {
        "slope": float(contrast[0] @ true / (true @ true)),
        "slope_of_time": float((curve * truth["time"]).sum() / (truth["time"] ** 2).sum()),
        "contrasts_held": held(true, low[0], high[0]),
        "shares_held": held(truth["share"], share_low[0], share_high[0]),
        "curves_held": held(truth["time"], curve_low, curve_high),
        "null_excluded_90": excluded[0.9],
        "null_excluded_95": excluded[0.95],
    }


def new_documents(truth, n_words, rng):
    """Documents of one length without side information of their own, and their true proportions."""
    spread = np.linalg.cholesky(truth["Sigma"])
    rows = rng.integers(len(truth["theta"]), size=N_NEW)
    frame = truth["metadata"].iloc[rows].reset_index(drop=True)
    prior = truth["prior"][rows]
    theta = softmax(prior + rng.standard_normal((N_NEW, K)) @ spread.T, axis=1)
    counts = [rng.multinomial(n_words, p / p.sum()) for p in theta @ truth["beta"]]
    return np.array(counts, dtype=float), frame, theta


def judge_proportions(model, order, truth, seed):
    """Coverage of 90 % intervals of theta, and the slope of true on estimated theta, by length of new documents."""
    rng, scores = np.random.default_rng(seed), {}
    for n_words in NEW_LENGTHS:
        X, frame, theta = new_documents(truth, n_words, rng)
        mean, ends = model.transform(X, metadata=frame, quantiles=(0.05, 0.95))
        mean, low, high = mean[:, order], ends[0][:, order], ends[1][:, order]
        away = mean - mean.mean(0)
        scores[f"theta_held_{n_words}"] = held(theta, low, high)
        scores[f"theta_slope_{n_words}"] = float(
            (away * (theta - theta.mean(0))).sum() / (away**2).sum()
        )
    return scores


def prior_means(truth):
    """(D, K) mu + group and time effects of the training documents, up to what all have in common."""
    frame = truth["metadata"]
    grid, curve = truth["grid"], truth["time"]
    time_part = np.array([np.interp(frame["t"], grid, curve[:, j]) for j in range(K)]).T
    group = (frame["group"] == "b").to_numpy()[:, None] * truth["contrast"]
    return truth["mu"] + time_part + group


def judge(seed, n_words, options):
    simulate = simulator()
    truth = simulate.draw(seed, n_words)
    truth["prior"] = prior_means(truth)
    kernel = k.Categorical("group") + k.Matern("t") + k.Categorical("null")
    model = GPTM(K, kernel=kernel, random_state=seed, **options)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(truth["X"], metadata=truth["metadata"])
    seconds = time.process_time() - started
    order, overlap = simulate.align(model.components_, truth["beta"])
    centre = np.eye(K) - 1.0 / K
    row = {"seed": seed, "words": n_words, "sweeps": model.n_iter_, "cpu_seconds": seconds}
    row["least_overlap"] = float(overlap.min())
    row["covariance_ratio"] = float(
        np.trace(centre @ model.topic_covariance_ @ centre)
        / np.trace(centre @ truth["Sigma"] @ centre)
    )
    row |= judge_effects(model, order, truth) | judge_proportions(model, order, truth, seed)
    if model.diagnostics_ is not None:
        row |= {f"ess_{line.quantity}": line.ess for line in model.diagnostics_.itertuples()}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first corpus")
    parser.add_argument("--words", type=int, nargs="+", default=[120, 40])
    parser.add_argument("--inference", default="sampling")
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    chosen = parser.parse_args()
    options = {"inference": chosen.inference, "n_chains": chosen.chains}
    store = Store(RESULTS)
    rows = []
    for n_words in chosen.words:
        for seed in range(chosen.first, chosen.first + chosen.corpora):
            key = f"{chosen.inference}/{chosen.chains} chains/{n_words} words/corpus {seed}"
            if chosen.again or store.get(key) is None:
                store.put(key, judge(seed, n_words, options))
                print(describe(store.get(key)), flush=True)
            rows.append(store.get(key))
    table = pd.DataFrame(rows)
    print(table.drop(columns="seed").groupby("words").mean().T.round(3).to_string())


def describe(row):
    """One line on a corpus."""
    return " ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in row.items()
    )


if __name__ == "__main__":
    main()
