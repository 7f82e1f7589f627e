"""Do 90 % bands cover the truth 90 % of the time? On corpora drawn from the model, where the truth is known.

Curves over time and effects of a category, drawn with the kernel; documents of 10, 30 and 150 words; with the topics
known, and with fitted topics aligned to the true ones; and groups of documents, two to twelve of them, whose effects
on the topics are all alike. Usage:

    python benchmarks/calibration.py              # all cases
    python benchmarks/calibration.py --repeats 2  # quickly
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from gptm import GPTM, em
from gptm import kernels as k
from gptm.kernels import Documents

K, V, LEVELS = 5, 200, 8
DOCUMENTS = {10: 3000, 30: 1500, 150: 600}  # by their words, so that topics can be found at all
GROUPS = (2, 3, 6, 12)
LEVEL = 0.9
STARTS = 3  # of which the fit with the highest bound counts, as one would do
MISSED = 0.2  # total variation from which on a true topic was not found, so that there is nothing to align
RESULTS = Path(__file__).parent / "results" / "calibration.json"


def drawn(seed, n_words):
    """Counts, a table of a date and a source, and the truth on a grid of dates and for every source."""
    rng, D = np.random.default_rng(seed), DOCUMENTS[n_words]
    frame = pd.DataFrame(
        {"day": np.sort(rng.uniform(0, 100, D)), "source": rng.choice(list("abcdefgh"), D)}
    )
    grid = np.linspace(0, 100, 25)
    days = np.r_[frame["day"], grid]
    B = 0.7 * np.cov(rng.standard_normal((K, 4 * K))) + 0.3 * np.eye(K)
    root = np.linalg.cholesky(B)
    smooth = k.RBF("day", length_scale=15.0).bind(Documents(len(days), pd.DataFrame({"day": days})))
    lower = np.linalg.cholesky(smooth.gram() + 1e-9 * np.eye(len(days)))
    time = np.sqrt(0.6) * lower @ rng.standard_normal((len(days), K)) @ root.T
    levels = np.sqrt(0.4) * rng.standard_normal((LEVELS, K)) @ root.T
    codes = frame["source"].map({name: i for i, name in enumerate("abcdefgh")}).to_numpy()
    A = rng.standard_normal((K, 3 * K))
    Sigma = 0.3 * A @ A.T / (3 * K) + 0.2 * np.eye(K)
    mu = 0.5 * rng.standard_normal(K)
    eta = mu + time[:D] + levels[codes] + rng.standard_normal((D, K)) @ np.linalg.cholesky(Sigma).T
    beta = rng.dirichlet(np.full(V, 0.05), K)
    X = np.array([rng.multinomial(n_words, p) for p in softmax(eta, axis=1) @ beta])
    average = levels[codes].mean(0)
    truth = {"day": time[D:] - time[:D].mean(0), "source": levels - average}
    # Expected shares at a day: over sources and the documents' own.
    noise = rng.standard_normal((4000, K)) @ np.linalg.cholesky(Sigma).T
    others = {
        "day": mu + time[:D].mean(0) + levels[rng.choice(codes, 4000)] + noise,
        "source": mu + average + time[rng.integers(0, D, 4000)] + noise,
    }
    shares = {
        name: np.array([softmax(others[name] + row, axis=1).mean(0) for row in truth[name]])
        for name in truth
    }
    contrasts = {name: rows - rows.mean(1, keepdims=True) for name, rows in truth.items()}
    return X, frame, grid, beta, contrasts, shares


def aligned(model, beta):
    """For each true topic, the fitted one that is nearest."""
    overlap = np.sqrt(beta)[:, None] * np.sqrt(model.components_)[None]
    return linear_sum_assignment(-overlap.sum(2))[1]


def fitted_to(X, frame, beta):
    """The model, with these topics or its own."""
    kernel = k.RBF("day") + k.Categorical("source")
    steps = em.STEPS
    if beta is not None:
        em.STEPS = tuple(step for step in steps if step is not em.update_topics)
    models = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(1 if beta is not None else STARTS):
                init = "gibbs" if beta is None else beta
                model = GPTM(K, kernel=kernel, random_state=seed, tol=1e-5, init=init)
                models.append(model.fit(X, metadata=frame))
    finally:
        em.STEPS = steps
    return max(models, key=lambda model: model.bound_[-1])


def covered(seed, n_words, known):
    """Share of the truth that lies within the bands, for contrasts and for shares; None where a topic was missed."""
    X, frame, grid, beta, contrasts, shares = drawn(seed, n_words)
    model = fitted_to(X, frame, beta if known else None)
    order = aligned(model, beta)
    if 0.5 * np.abs(model.components_[order] - beta).sum(1).max() > MISSED:
        return None
    found = {}
    for term, at in (("day", grid), ("source", list("abcdefgh"))):
        table = model.effects(term, at=at, level=LEVEL)
        for kind, truth in (("contrast", contrasts[term]), ("share", shares[term])):
            low, high = (
                table[f"{kind}_{end}"].to_numpy().reshape(K, -1)[order].T for end in ("low", "high")
            )
            found[f"{term} {kind}"] = float(((low <= truth) & (truth <= high)).mean())
    return found


def covered_groups(seed, n_groups, n_topics=8, n_documents=400, n_words=120):
    """The same for differences between groups, with the topics known at the start; half of the width of the bands too.

    Effects on all topics are independent, so no direction of topic space stands out, and few groups cannot tell so.
    """
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(400, 0.05), n_topics)
    codes = rng.integers(0, n_groups, n_documents)
    effect = 0.5 * rng.standard_normal((n_groups, n_topics))
    eta = effect[codes] + rng.standard_normal((n_documents, n_topics))
    X = np.array([rng.multinomial(n_words, p) for p in softmax(eta, axis=1) @ beta])
    model = GPTM(n_topics, kernel=k.Categorical("g"), random_state=0, init=beta, tol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, metadata={"g": [f"g{code}" for code in codes]})
    centred = effect - effect.mean(1, keepdims=True)
    inside = []
    for group in range(1, n_groups):
        table = model.effects(at=f"g{group}", versus="g0", level=LEVEL)
        truth = centred[group] - centred[0]
        inside.append((table["contrast_low"] <= truth) & (truth <= table["contrast_high"]))
    return {"difference": float(np.mean(inside))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    rows = []
    for known in (True, False):
        for n_words in (10, 30, 150):
            found = [covered(seed, n_words, known) for seed in range(options.repeats)]
            kept = [one for one in found if one is not None]
            row = {"topics": "known" if known else "fitted", "words": n_words}
            row |= {"corpora": len(kept), "topics missed": len(found) - len(kept)}
            rows.append(row | pd.DataFrame(kept).mean().to_dict())
            print(
                json.dumps(
                    {
                        key: value if isinstance(value, str) else round(value, 3)
                        for key, value in rows[-1].items()
                    }
                ),
                flush=True,
            )
    for n_groups in GROUPS:
        found = [covered_groups(seed, n_groups) for seed in range(2 * options.repeats)]
        rows.append(
            {"topics": "at the start", "groups": n_groups, "words": 120, "corpora": len(found)}
        )
        rows[-1] |= pd.DataFrame(found).mean().to_dict()
        print(json.dumps(rows[-1]), flush=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print(pd.DataFrame(rows).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
