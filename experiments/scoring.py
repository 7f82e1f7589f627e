"""Held-out perplexity of the paper's models, fold by fold, and kernels tuned on the training documents.

In "map" inference the kernel is as given. Its parameters are tuned for each set by cross-validation inside the
training documents of the first fold: one choice per set, model and score, which no test document of that fold has
seen. In the default inference the strength of the kernel is learnt and nothing is tuned.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.model_selection import KFold

from experiments.data import Documents, available, load_set
from experiments.jobs import Job, Settings
from gptm import CTM, GPTM
from gptm import kernels as k
from gptm._basics.parallel import single_threaded_blas
from gptm.model.predicting import kernel_input
from gptm.prediction.new_documents import held_out_bounds

Inference = Literal["map", "sampling"]
Score = Literal["conditional", "joint", "completion_50"]

N_TOPICS = 3
N_NEIGHBOURS = 10
N_FOLDS, N_INNER_FOLDS = 5, 3
SHARES = (0.5, 0.2, 0.05)
CORPORA = ("dif100", "sim100", "same100", "asrs", "news100")
SECONDS = {"dif100": 0.5, "sim100": 1.0, "same100": 1.0, "asrs": 2.0, "news100": 2.0}  # of a fit


class Variant(NamedTuple):
    """A model of the paper by its parts."""

    kernel: Literal["none", "ki", "ml", "nn", "smooth", "ml+nn"]
    covariance: Literal["full", "identity"] = "full"
    inference: Inference = "sampling"
    coregionalization: Literal["identity", "shared", "free"] = "free"
    tuned_by: Score | None = None  # the kernel's parameters; None: as they are, or learnt
    unit: bool = False  # the kernel scaled to a mean variance of one, which the identity has

    @property
    def label(self) -> str:
        how = "ctm" if self.kernel == "none" else f"{self.inference}-{self.coregionalization}"
        tuned = "" if self.tuned_by is None else f"/{self.tuned_by}"
        return f"{how}/{self.kernel}-{self.covariance}{tuned}{'/unit' if self.unit else ''}"


CTM_VARIANT = Variant("none")


def paper_variant(kernel: Any, covariance: Any = "full", tuned_by: Score | None = None) -> Variant:
    """The paper's own model: F at its maximum, independent topics, no overall mean."""
    return Variant(kernel, covariance, "map", "identity", tuned_by)


def corpora(settings: Settings) -> list[str]:
    """The sets of the tables that can be had; two of them for a quick run."""
    missing = available(settings)
    there = [name for name in CORPORA if not missing[name]]
    return there[:2] if settings.quick else there


def n_folds(settings: Settings) -> int:
    return 2 if settings.quick else N_FOLDS


# Jobs.


def fold_jobs(corpus: str, variant: Variant, settings: Settings) -> list[Job]:
    """The folds of one model on one set, after the tuning that they need."""
    tuning = [] if variant.tuned_by is None else tuning_jobs(corpus, variant, settings)
    needs = tuple(job.key for job in tuning)
    folds = [
        Job(
            fold_key(corpus, variant, fold),
            score_fold,
            {"corpus": corpus, **variant._asdict(), "fold": fold},
            needs,
            SECONDS[corpus],
        )
        for fold in range(n_folds(settings))
    ]
    return tuning + folds


def fold_key(corpus: str, variant: Variant, fold: int) -> str:
    return f"fold/{corpus}/{variant.label}/{fold}"


def tuning_jobs(corpus: str, variant: Variant, settings: Settings) -> list[Job]:
    """A job for each value of the grid, which gives all scores."""
    plain = variant._replace(tuned_by=None)
    return [
        Job(
            f"tuning/{corpus}/{plain.label}/{'-'.join(f'{v:g}' for v in parameters.values())}",
            tune,
            {"corpus": corpus, **plain._asdict(), "parameters": parameters},
            (),
            2 * SECONDS[corpus],
        )
        for parameters in grid(variant.kernel, settings.quick)
    ]


def grid(kernel: str, quick: bool) -> list[dict[str, float]]:
    """Parameters to try: of eqs 21 and 22, and the scale of the identity.

    The diagonal c of eq. 21 is the smallest that makes the kernel positive definite; that of eq. 22 is a multiple
    of gamma.
    """
    if kernel == "ki":
        wide = (0.01, 1.0) if quick else (0.001, 0.01, 0.1, 1.0, 10.0)
        return [{"scale": scale} for scale in wide]
    scales = (0.3, 3.0) if quick else (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    if kernel == "ml":
        ratios = (2.0,) if quick else (1.1, 2.0)
        return [{"gamma": scale, "ratio": ratio} for scale in scales for ratio in ratios]
    bandwidths = (1.0,) if quick else (0.5, 1.0)
    # A document has ten neighbours or more, which add up to about c.
    return [{"gamma": 0.1 * scale, "bandwidth": width} for scale in scales for width in bandwidths]


def score_fold(
    settings: Settings,
    corpus: str,
    fold: int,
    needed: Mapping[str, dict[str, Any]] | None = None,
    **parts: Any,
) -> dict[str, Any]:
    """Scores on one fold of a model that was fitted to the others."""
    variant = Variant(**parts)
    documents = load_set(corpus, settings)
    parameters = None if variant.tuned_by is None else best(needed or {}, variant.tuned_by)
    train, test = list(outer_folds(documents, settings))[fold]
    model = fitted(variant, documents, train, settings.seed, parameters)
    shares = SHARES[:1] if settings.quick else SHARES
    return scores(model, documents, test, shares) | {
        "parameters": parameters,
        "iterations": model.n_iter_,
        "converged": bool(model.converged_),
        "topic_variance": float(np.trace(model.topic_covariance_) / model.n_components),
        "kernel": repr(getattr(model, "kernel_", None)),
    }


def tune(
    settings: Settings, corpus: str, parameters: dict[str, float], **parts: Any
) -> dict[str, Any]:
    """Mean logarithms of the scores over folds inside the training documents of the first fold."""
    documents = load_set(corpus, settings)
    outer = next(outer_folds(documents, settings))[0]
    inner = KFold(2 if settings.quick else N_INNER_FOLDS, shuffle=True, random_state=settings.seed)
    rows = []
    for train, test in inner.split(outer):
        model = fitted(Variant(**parts), documents, outer[train], settings.seed, parameters)
        rows.append(scores(model, documents, outer[test], SHARES[:1]))
    means = {name: float(np.mean([np.log(row[name]) for row in rows])) for name in rows[0]}
    return {"parameters": parameters, "log_perplexity": means}


def best(tuning: Mapping[str, dict[str, Any]], score: str) -> dict[str, float]:
    """The parameters with the lowest score; of equal ones the first."""
    chosen = min(tuning.values(), key=lambda result: result["log_perplexity"][score])
    return dict(chosen["parameters"])


def neighbour_correlations(settings: Settings, corpus: str) -> dict[str, float]:
    """How alike neighbours are a priori to the kernel of eq. 21 and to the smooth one: their mean correlation."""
    counts = load_set(corpus, settings).counts
    words = k.Documents(counts.shape[0], counts=counts)
    kernels = {
        "eq. 21": make_kernel("nn", None),
        "eq. 21, bandwidth 1": make_kernel("nn", {"bandwidth": 1.0}),
        "smooth": make_kernel("smooth", None),
    }
    grams = {name: kernel.bind(words).gram() for name, kernel in kernels.items()}
    row, other = np.nonzero(np.triu(grams["eq. 21"], 1))
    return {
        name: float((gram[row, other] / np.sqrt(gram[row, row] * gram[other, other])).mean())
        for name, gram in grams.items()
    }


# Folds, models, scores.


def outer_folds(
    documents: Documents, settings: Settings
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    split = KFold(n_folds(settings), shuffle=True, random_state=settings.seed)
    yield from split.split(documents.labels)


def make_kernel(name: str, parameters: Mapping[str, float] | None) -> k.Kernel:
    """A kernel of the paper with its parameters; as it comes without them."""
    given: dict[str, Any] = dict(parameters or {})
    if name == "ki":
        return given.get("scale", 1.0) * k.Identity()
    if name == "ml":
        gamma = given.get("gamma", 1.0)
        return k.MustLink("label", gamma=gamma, diagonal=gamma * given.get("ratio", 2.0))
    if name == "ml+nn":
        return make_kernel("ml", parameters) + make_kernel("smooth", None)
    if name == "nn":  # cosines of the counts, as in the paper
        return k.NearestNeighbors(N_NEIGHBOURS, form="direct", weighting="counts", **given)
    return k.NearestNeighbors(N_NEIGHBOURS)


def make_model(
    variant: Variant, seed: int, parameters: Mapping[str, float] | None, n_topics: int
) -> Any:
    """CTM or GPTM, not fitted."""
    common: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    if variant.kernel == "none":  # as Blei & Lafferty have it, with a mean
        return CTM(n_topics, **common)
    return GPTM(
        n_topics,
        kernel=make_kernel(variant.kernel, parameters),
        inference=variant.inference,
        coregionalization=variant.coregionalization,
        topic_covariance=variant.covariance,
        fit_mean=variant.inference != "map",
        **common,
    )


def fitted(
    variant: Variant,
    documents: Documents,
    train: np.ndarray,
    seed: int,
    parameters: Mapping[str, float] | None = None,
    n_topics: int = N_TOPICS,
) -> GPTM:
    """A model of some of the documents with their labels."""
    X, labels = documents.counts[train], pd.DataFrame({"label": documents.labels[train]})
    model = make_model(variant, seed, parameters, n_topics)
    if variant.unit:
        bound = model.kernel.bind(k.Documents(len(train), labels, X))
        model.set_params(kernel=(1.0 / bound.mean_diagonal()) * model.kernel)
    return model.fit(X, metadata=labels)


def scores(
    model: GPTM, documents: Documents, test: np.ndarray, shares: tuple[float, ...]
) -> dict[str, float]:
    """Perplexities of test documents, whose labels the model does not see.

    Eq. 23 is a density. It has no finite value where a kernel whose strength is learnt became nothing in some
    direction of topics; then it is left out.
    """
    X, nothing = documents.counts[test], pd.DataFrame({"label": [None] * len(test)})
    perplexities = _paper_scores(model, X, nothing)
    for share in shares:
        name = f"completion_{100 * share:.0f}"
        perplexities[name] = model.perplexity(X, metadata=nothing, observed=share)
    return {name: value for name, value in perplexities.items() if 0.0 < value < np.inf}


def _paper_scores(model: GPTM, X: csr_matrix, metadata: pd.DataFrame) -> dict[str, float]:
    """`perplexity` of both kinds, "conditional" and "joint": one search for F_*, which takes most of the time."""
    with single_threaded_blas():
        cross = model.fitted_.bound.cross(
            kernel_input(model.fitted_, X, metadata, X, model.n_jobs), joint=True
        )
        words, means = held_out_bounds(X, model.fitted_, cross, model.n_jobs)
    return {
        "conditional": float(np.exp(-words / X.sum())),
        "joint": float(np.exp(-(words + means) / X.sum())),
    }
