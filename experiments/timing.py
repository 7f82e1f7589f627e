"""Section 5.1: what the step for F costs, and a whole fit, as documents become more.

The paper solves the Sylvester equation 𝒦 F + F Sigma = 𝒦 lam (eq. 14, documents as rows) again in each iteration. scipy
does so by Schur decompositions of both matrices. Ours diagonalises Sigma, and 𝒦 once and for all; from some thousand
documents on it multiplies with the sparse 𝒦 only. Documents are points in a square, the kernel links each to its
ten nearest (eq. 21). Words are sampled.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import solve_sylvester
from scipy.sparse import csr_matrix

from experiments import figures
from experiments.jobs import Claim, Job, Section, Settings
from experiments.tables import write_table
from gptm import CTM, GPTM
from gptm import kernels as k
from gptm._basics.parallel import single_threaded_blas
from gptm._basics.types import Array
from gptm.inference.mean_solve import diagonalise, document_means, solve_means, view_logits
from gptm.kernels import BoundKernel, Documents
from gptm.operators import Operator

N_TOPICS, N_WORDS, LENGTH = 10, 2000, 60
N_ITERATIONS = 10  # of a fit that is timed
REPEATS = 3  # the quickest counts: others were disturbed
SEVERAL = 1000  # documents up to which fits are repeated
SCIPY_MOST = 800  # documents: beyond, it takes too long
AGREE = 1e-6  # relative
STEP_NAMES = {
    "scipy": "scipy.linalg.solve_sylvester",
    "ours": "gptm, each iteration",
    "once": "gptm, once before",
}
FIT_NAMES = {
    "ctm": "CTM",
    "map": "GPTM, paper's inference",
    "sampling": "GPTM, default inference",
}


# Jobs.


def sizes(settings: Settings) -> tuple[int, ...]:
    """Numbers of documents."""
    return (100, 400) if settings.quick else (100, 200, 400, 800, 1600, 3200, 6400, 12800)


def jobs(settings: Settings) -> list[Job]:
    """Steps and fits by size, each with the machine to itself."""
    return [
        Job(f"timing/{name}/{n}", run, {"n_documents": n}, cost=n * seconds, alone=True)
        for name, run, seconds in (("step", time_step, 5e-4), ("fit", time_fit, 1e-3))
        for n in sizes(settings)
    ]


def time_step(settings: Settings, n_documents: int) -> dict[str, Any]:
    """Seconds for F, by us and by scipy, on one thread each; and how far the two are apart."""
    rng = np.random.default_rng(settings.seed)
    lam = rng.standard_normal((n_documents, N_TOPICS))
    A = rng.standard_normal((N_TOPICS, 2 * N_TOPICS))
    Sigma = A @ A.T / (2 * N_TOPICS)
    places = _places(n_documents, rng)
    with single_threaded_blas():
        solve_F(_operator(places[:50])[1], lam[:50], Sigma)  # what is compiled is compiled now
        began = time.perf_counter()
        bound, operator = _operator(places)
        solve_F(operator, lam, 2.0 * Sigma)
        first = time.perf_counter() - began
        seconds, F = _quickest(lambda: solve_F(operator, lam, Sigma))
        result = {"ours": seconds, "once": max(first - seconds, 0.0)}
        if n_documents <= SCIPY_MOST:
            Kxx = bound.gram()
            result["scipy"], other = _quickest(lambda: solve_sylvester(Kxx, Sigma, Kxx @ lam))
            result["disagreement"] = float(np.abs(F - other).max() / np.abs(other).max())
    return result


def time_fit(settings: Settings, n_documents: int) -> dict[str, Any]:
    """Seconds of whole fits of so many iterations, the start included."""
    rng = np.random.default_rng(settings.seed)
    places, counts = _places(n_documents, rng), _words(n_documents, rng)
    common: dict[str, Any] = {
        "max_iter": N_ITERATIONS,
        "tol": 0.0,
        "random_state": settings.seed,
        "n_jobs": settings.n_jobs,
    }
    paper: dict[str, Any] = {"inference": "map", "coregionalization": "identity", "fit_mean": False}
    models = {
        "ctm": CTM(N_TOPICS, **common),
        "map": GPTM(N_TOPICS, kernel=_kernel(), **paper, **common),
        "sampling": GPTM(N_TOPICS, kernel=_kernel(), **common),
    }
    seconds = {}
    for name, model in models.items():
        model.fit(counts[:50], metadata=places.iloc[:50])  # what is compiled is compiled now
        seconds[name], _ = _quickest(
            partial(model.fit, counts, metadata=places), REPEATS if n_documents <= SEVERAL else 1
        )
    return seconds


def solve_F(operator: Operator, lam: Array, Sigma: Array) -> Array:
    """F of eq. 14 as the fit finds it: with all else that the iteration needs of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from gptm import kernels as k
    >>> from gptm.kernels import Documents
    >>> operator = k.Identity().bind(Documents(2)).operator
    >>> solve_F(operator, np.array([[2.0, 0.0], [0.0, 4.0]]), np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    view = view_logits(operator, lam)
    mu = np.zeros(lam.shape[1])
    means = solve_means(operator, view, mu, diagonalise(Sigma, np.eye(len(Sigma))))
    return document_means(view, means)


def _kernel() -> k.Kernel:
    return k.NearestNeighbors(10, on=("x", "y"), form="direct")


def _operator(places: pd.DataFrame) -> tuple[BoundKernel, Operator]:
    bound = _kernel().bind(Documents(len(places), places))
    return bound, bound.operator


def _places(n: int, rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(rng.uniform(size=(n, 2)), columns=["x", "y"])


def _words(n: int, rng: np.random.Generator) -> csr_matrix:
    """(n, words) counts from topics that documents mix at random."""
    beta = rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
    theta = rng.dirichlet(np.full(N_TOPICS, 0.2), n)
    topics = np.array([rng.multinomial(LENGTH, row) for row in theta])  # tokens of each topic
    tokens = [
        rng.choice(N_WORDS, total, p=row) for total, row in zip(topics.sum(0), beta, strict=True)
    ]
    rows = np.concatenate([np.repeat(np.arange(n), column) for column in topics.T])
    ones = np.ones(len(rows))
    return csr_matrix((ones, (rows, np.concatenate(tokens))), shape=(n, N_WORDS))


def _quickest(work: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
    return best, result


# Presentation.


def present(results: Mapping[str, dict[str, Any]], out: Path, settings: Settings) -> Section:
    """Both growths as a figure and tables, and whether the solutions agree."""
    steps = {n: results[f"timing/step/{n}"] for n in sizes(settings)}
    fits = {n: results[f"timing/fit/{n}"] for n in sizes(settings)}
    parts = {
        f"the step for F, {N_TOPICS} topics": _lines(steps, STEP_NAMES),
        f"a fit of {N_ITERATIONS} iterations": _lines(fits, FIT_NAMES),
    }
    text = [
        f"Documents are points in a square, each linked to its ten nearest (eq. 21); {N_TOPICS} topics, {LENGTH} words "
        f"per document. The step runs on one thread, best of {REPEATS}; the fit on {settings.n_jobs}, its start "
        f"included, repeated up to {SEVERAL} documents. *Once before* is what the kernel costs before the first "
        f"iteration. Beyond {SCIPY_MOST} documents scipy is left out. Seconds differ from run to run and from machine "
        "to machine.",
        figures.save(figures.draw_growth(parts, "documents", "seconds"), out, "timing"),
        write_table(out, "timing-step", _table(steps, STEP_NAMES)),
        write_table(out, "timing-fit", _table(fits, FIT_NAMES)),
    ]
    claim = _claim(steps)
    return Section(
        "Section 5.1: time", "\n\n".join(text), (claim,), f"The step for F: {claim.numbers}."
    )


def _lines(by_size: Mapping[int, dict[str, Any]], names: Mapping[str, str]) -> list[figures.Line]:
    lines = []
    for key, name in names.items():
        there = [n for n, result in by_size.items() if key in result]
        y = np.array([by_size[n][key] for n in there])
        lines.append(figures.Line(name, np.array(there, dtype=np.float64), y))
    return lines


def _table(by_size: Mapping[int, dict[str, Any]], names: Mapping[str, str]) -> pd.DataFrame:
    """Seconds by size."""
    rows = [
        {"documents": n} | {name: result.get(key, np.nan) for key, name in names.items()}
        for n, result in by_size.items()
    ]
    return pd.DataFrame(rows)


def _claim(steps: Mapping[int, dict[str, Any]]) -> Claim:
    compared = {n: step for n, step in steps.items() if "scipy" in step}
    apart = max(step["disagreement"] for step in compared.values())
    ratios = {n: step["scipy"] / step["ours"] for n, step in compared.items()}
    right = [ratio > 1 and apart < AGREE for ratio in ratios.values()]
    numbers = ", ".join(f"{ratio:.0f} at {n} documents" for n, ratio in ratios.items())
    return Claim(
        "Section 5.1: repeated solutions can be sped up significantly, as the kernel does not change.",
        "yes" if all(right) else "partly" if any(right) else "no",
        f"scipy's time over ours: {numbers}; the solutions differ by {apart:.0e} of the largest entry at most",
    )
