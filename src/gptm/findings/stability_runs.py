"""The refits that a finding must survive: other seeds, other numbers of topics, other samples of the documents."""

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from gptm._basics.errors import ArgumentError
from gptm._basics.types import Array
from gptm._basics.validation import check_number
from gptm.findings.term_effects import TermSettings, effects_at
from gptm.kernels import Graph, Kernel
from gptm.model import GPTM
from gptm.selection.alignment import best_pairs, overlaps
from gptm.selection.data import Data
from gptm.selection.refits import Refit, fitted_to
from gptm.selection.resumable import Row

SEED, TOPICS, RESAMPLE = "seed", "topics", "resample"


class Run(NamedTuple):
    """One refit: what is different in it."""

    kind: str
    n_components: int
    seed: int
    resample: int | None = None  # its number

    @property
    def label(self) -> str:
        if self.kind == SEED:
            return f"seed {self.seed}"
        if self.kind == TOPICS:
            return f"{self.n_components} topics"
        return f"resample {self.resample}"


class Reference(NamedTuple):
    """What a refit is compared with."""

    topics: Array  # (K, V)
    terms: list[TermSettings]


def plan_runs(seeds: Any, n_components: Any, resamples: Any, K: int, own_seed: int) -> list[Run]:
    """All refits of a model of K topics and a seed of its own."""
    check_number("resamples", resamples, least=0, integer=True)
    sizes = _sizes(n_components, K)
    return [
        *(Run(SEED, K, seed) for seed in _seeds(seeds, own_seed)),
        *(Run(TOPICS, size, own_seed) for size in sizes),
        *(Run(RESAMPLE, K, own_seed, number + 1) for number in range(resamples)),
    ]


def _seeds(seeds: Any, own: int) -> list[int]:
    if isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str | bytes):
        for seed in seeds:
            check_number("seeds", seed, least=0, integer=True)
        return list(dict.fromkeys(int(seed) for seed in seeds))
    check_number("seeds", seeds, least=0, integer=True)
    return [seed for seed in range(int(seeds) + 1) if seed != own][: int(seeds)]


def _sizes(n_components: Any, K: int) -> list[int]:
    if n_components is None:
        fewer, more = min(K - 1, round(0.8 * K)), max(K + 1, round(1.25 * K))
        return [size for size in (fewer, more) if size >= 2]
    given = [n_components] if np.ndim(n_components) == 0 else list(n_components)
    for size in given:
        check_number("n_components", size, least=1, integer=True)
    if K in given:
        raise ArgumentError(
            "n_components",
            f"must be other numbers of topics than the model's own, {K}",
            n_components,
            "Other seeds are in seeds=.",
        )
    return list(dict.fromkeys(int(size) for size in given))


def make_refits(
    runs: list[Run],
    model: GPTM,
    data: Data,
    *,
    learnt: Kernel | None,
    groups: np.ndarray | None,
    random_state: int,
) -> Iterator[Refit]:
    """The refits themselves; `model` is a clone with its kernel settled, `learnt` the kernel of the reference.

    Resamples hold the learnt kernel: copies of a document are alike in everything, from which a fit would learn that
    length-scales are short.
    """
    for run in runs:
        copy = clone(model).set_params(
            n_components=run.n_components, random_state=run.seed, warm_start=False
        )
        if run.kind == TOPICS and not isinstance(copy.init, str):
            copy.set_params(init="gibbs")  # given topics are as many as the model has
        part = data
        if run.resample is not None:
            rng = np.random.default_rng([random_state, run.resample])
            rows = bootstrap(data.n, groups, rng, may_repeat(copy.kernel))
            part = data.select(rows)
            if learnt is not None:
                copy.set_params(kernel=clone(learnt))
        yield Refit(run.label, copy, part)


def bootstrap(
    n: int, groups: np.ndarray | None, rng: np.random.Generator, repeats: bool = True
) -> np.ndarray:
    """Documents drawn with replacement, or whole groups of them; without repeats half of them, each once.

    Means over half of the documents vary as much as means over a bootstrap sample do.
    """
    units = np.arange(n) if groups is None else groups
    n_units = int(units.max()) + 1
    drawn = (
        rng.integers(n_units, size=n_units)
        if repeats
        else rng.choice(n_units, (n_units + 1) // 2, replace=False)
    )
    order = np.argsort(units, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(units[order])) + 1)
    return np.sort(np.concatenate([members[unit] for unit in drawn]))


def may_repeat(kernel: Any) -> bool:
    """Whether a document may be there twice: not where links lead to ids, of which there is one for each."""
    if not isinstance(kernel, Kernel):
        return True
    return not any(
        isinstance(part, Graph) for part in (kernel, *kernel.get_params(deep=True).values())
    )


def compare_refit(task: Refit, reference: Reference) -> Row | None:
    """Fit, and find the reference's topics and effects again; None if Ctrl-C ended it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit that is repeated has said it all
        return _compared(task, reference)


def _compared(task: Refit, reference: Reference) -> Row | None:
    started = time.perf_counter()
    try:
        if not fitted_to(task.model, task.data):
            return None
        K = len(reference.topics)
        overlap = overlaps(reference.topics, task.model.components_)
        partner = np.full(K, -1)
        for topic, other in best_pairs(overlap):
            partner[topic] = other
        back = partner >= 0
        effects = []
        for mean, error in effects_at(task.model, reference.terms):
            columns = (
                np.where(back, mean[:, partner], np.nan),
                np.where(back, error[:, partner], np.nan),
            )
            effects.append([values.tolist() for values in columns])
    except Exception as problem:
        problem.add_note(f"(in the refit with {task.label})")
        raise
    return {
        "best": overlap.max(1).tolist(),
        "paired": [float(overlap[k, j]) if j >= 0 else 0.0 for k, j in enumerate(partner)],
        "partner": partner.tolist(),
        "effects": effects,
        "seconds": time.perf_counter() - started,
    }
