"""Figures 3 and 4: documents of three classes as three topics place them, in two dimensions.

Topics mix in proportions that sum to one, so that K logits have K - 1 degrees of freedom: what all topics share is
projected out, with distances kept. CTM is shown by lambda, GPTM by F, GPLVM by its latent places. How cleanly classes
are separated is said by the silhouette and by the share of documents whose nearest neighbour is of their class.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import helmert
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

from experiments import figures, gplvm
from experiments.data import Documents, available, load_set
from experiments.jobs import Claim, Job, Section, Settings
from experiments.judging import Difference, verdict
from experiments.perplexities import INFERENCES
from experiments.scoring import CTM_VARIANT, N_TOPICS, Variant, fitted, paper_variant
from experiments.tables import write_table
from gptm._basics.types import Array
from gptm.model import GPTM

TITLES = {"dif100": "Dif100", "asrs3": "ASRS3"}
LABELLED = (10, 100, None)  # None: all documents
MOST = 100  # labels of which some documents have none
LEAST = 2  # labelled documents of each class, so that there is a pair to link


class Shown(NamedTuple):
    """A model of Figure 3."""

    name: str
    variant: Variant | None  # None: GPLVM, which has one start
    drawn: bool = True


MODELS = {
    "ctm": Shown("CTM (λ)", CTM_VARIANT),
    "gplvm": Shown("GPLVM (RBF)", None),
    "map": Shown("GPTM-NN (F), paper's inference", paper_variant("nn")),
    "direct": Shown("GPTM-NN (F), default inference, eq. 21", Variant("nn"), drawn=False),
    "smooth": Shown("GPTM-NN (F), default inference", Variant("smooth")),
}


# Jobs.


def jobs(settings: Settings) -> list[Job]:
    """Models of both figures on each set, from several starts."""
    listed = []
    for corpus in corpora(settings):
        for model in MODELS:
            chosen: dict[str, Any] = {"corpus": corpus, "model": model}
            keys = _by_start(f"figure3/{corpus}/{model}", model, settings)
            cost = 12.0 if model == "gplvm" else 1.0
            listed += _jobs_of(embed_unlabelled, keys, chosen, cost)
        for inference in INFERENCES:
            for n in LABELLED:
                chosen = {"corpus": corpus, "inference": inference, "n_labels": n}
                keys = _by_start(f"figure4/{corpus}/{inference}/{n or 'all'}", inference, settings)
                listed += _jobs_of(embed_labelled, keys, chosen)
    return listed


def _by_start(key: str, model: str, settings: Settings) -> list[str]:
    return [f"{key}/{start}" for start in range(1 if model == "gplvm" else n_starts(settings))]


def _jobs_of(
    run: Callable[..., dict[str, Any]], keys: list[str], chosen: dict[str, Any], cost: float = 1.0
) -> list[Job]:
    return [Job(key, run, {**chosen, "start": start}, cost=cost) for start, key in enumerate(keys)]


def corpora(settings: Settings) -> list[str]:
    """The sets of the figures that can be had; one of them for a quick run."""
    missing = available(settings)
    return [name for name in TITLES if not missing[name]][: 1 if settings.quick else None]


def n_starts(settings: Settings) -> int:
    return 2 if settings.quick else 10


def embed_unlabelled(settings: Settings, corpus: str, model: str, start: int) -> dict[str, Any]:
    """A model without labels from one start."""
    documents = load_set(corpus, settings)
    variant = MODELS[model].variant
    if variant is None:
        places = gplvm.embed(documents.counts, N_TOPICS - 1).X
    else:
        hidden = hide_labels(documents, np.zeros(len(documents.labels), dtype=bool))
        places = places_of(fit_everyone(variant, hidden, settings.seed + start))
    return _described(places, documents, start)


def embed_labelled(
    settings: Settings, corpus: str, inference: str, n_labels: int | None, start: int
) -> dict[str, Any]:
    """GPTM with the must-link kernel and the labels of some documents."""
    documents = load_set(corpus, settings)
    seed = settings.seed + start
    labelled = draw_labelled(documents.labels, n_labels, seed)
    places = places_of(fit_everyone(ml_variant(inference), hide_labels(documents, labelled), seed))
    result = _described(places, documents, start) | {"labelled": np.flatnonzero(labelled).tolist()}
    if n_labels is None:
        return result
    never = ~draw_labelled(documents.labels, MOST, seed)  # the same documents for fewer labels
    apart = separation(places[never], documents.labels[never])
    return result | {f"unlabelled_{name}": value for name, value in apart.items()}


def _described(places: Array, documents: Documents, start: int) -> dict[str, Any]:
    """How well classes are separated, and the places themselves where they will be drawn."""
    drawn = {"places": np.round(places, 5).tolist()} if start == 0 else {}
    return separation(places, documents.labels) | drawn


# Embeddings.


def ml_variant(inference: str) -> Variant:
    """GPTM with the must-link kernel, eq. 22, as the paper has it or with its strength learnt."""
    return paper_variant("ml") if inference == "map" else Variant("ml")


def draw_labelled(labels: np.ndarray, n: int | None, seed: int) -> np.ndarray:
    """(D,) which documents have a label: some of each class, then others at random; more contain fewer.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.repeat(["a", "b", "c"], 10)
    >>> few, more = (draw_labelled(labels, n, seed=0) for n in (6, 12))
    >>> int(few.sum()), labels[few].tolist(), bool((more >= few).all())
    (6, ['a', 'a', 'b', 'b', 'c', 'c'], True)
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    turn = pd.Series(labels[order]).groupby(labels[order]).cumcount().to_numpy()
    first = np.concatenate([order[turn < LEAST], order[turn >= LEAST]])
    labelled = np.zeros(len(labels), dtype=bool)
    labelled[first[:n]] = True
    return labelled


def hide_labels(documents: Documents, labelled: np.ndarray) -> Documents:
    """The documents with no labels but those of `labelled`: nothing after this can see the others."""
    labels = documents.labels.astype(object)
    labels[~labelled] = None
    return documents._replace(labels=labels)


def fit_everyone(variant: Variant, hidden: Documents, seed: int) -> GPTM:
    """A model of the words of all documents and of the labels that `hide_labels` left."""
    return fitted(variant, hidden, np.arange(len(hidden.labels)), seed)


def places_of(model: GPTM) -> Array:
    """(D, K - 1) F, or lambda where there is no kernel, as F is zero then."""
    has_kernel = getattr(model, "kernel_", None) is not None
    return without_common(model.doc_means_ if has_kernel else model.doc_logits_)


def without_common(logits: Array) -> Array:
    """(D, K - 1) logits without what all topics share; distances between documents are kept.

    Examples
    --------
    >>> import numpy as np
    >>> bool(np.allclose(without_common(np.array([[1.0, 2.0, 4.0]])), without_common(np.array([[0.0, 1.0, 3.0]]))))
    True
    """
    return np.asarray(logits @ helmert(logits.shape[1]).T)


def separation(places: Array, labels: np.ndarray) -> dict[str, float]:
    """Silhouette of the classes, and the share of documents whose nearest neighbour has their label.

    Examples
    --------
    >>> import numpy as np
    >>> separation(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array(["a", "a", "b", "b"]))
    {'silhouette': 1.0, 'neighbour': 1.0}
    """
    if not 1 < len(np.unique(labels)) < len(labels):
        return {}  # no classes, or none with two documents
    nearest = NearestNeighbors(n_neighbors=1).fit(places).kneighbors(return_distance=False)[:, 0]
    return {
        "silhouette": float(silhouette_score(places, labels)),
        "neighbour": float((labels[nearest] == labels).mean()),
    }


# Presentation.


class Case(NamedTuple):
    """One line of a table and one panel of a figure: the same model from all starts."""

    corpus: str
    row: str  # title of the row that its panel is in
    title: str
    columns: dict[str, str]  # what tables call it
    results: list[dict[str, Any]]
    drawn: bool = True

    def values(self, name: str) -> list[float]:
        return [float(result[name]) for result in self.results if name in result]


SCORES = ("silhouette", "neighbour")
COLUMNS = {
    "silhouette": ("silhouette", 3, 1.0),
    "neighbour": ("neighbour of same class, %", 1, 100.0),
    "unlabelled_silhouette": ("unlabelled alone: silhouette", 3, 1.0),
    "unlabelled_neighbour": ("unlabelled alone: neighbour of same class, %", 1, 100.0),
}


def present(results: Mapping[str, dict[str, Any]], out: Path, settings: Settings) -> Section:
    """Both figures, a number for each panel, and what they say of the paper's claims."""
    title = "Figures 3 and 4: embeddings"
    if not corpora(settings):
        return Section(title, "Neither of the two sets is there.")
    three, four = _cases_of_figure3(results, settings), _cases_of_figure4(results, settings)
    text = [
        f"Two dimensions, three topics, {n_starts(settings)} starts; mean and deviation over them (GPLVM has one). The "
        "pictures show the first start, turned to lie alike. In the paper's inference kernels are as they come "
        "(γ = 1). In the default inference their strength is learnt, and neighbours have the smooth form unless eq. 21 "
        "is named.",
        "### Figure 3: without labels",
        *_drawn_and_written(list(three.values()), out, "figure3", settings),
        "### Figure 4: with labels of some documents",
        "Labels link documents of a class (must-link, closed). A label moves its own document, so that unlabelled "
        f"documents are scored alone too: those that are without a label when {MOST} have one.",
        *_drawn_and_written(list(four.values()), out, "figure4", settings),
    ]
    claims = (*_claims_of_figure3(three, settings), *_claims_of_figure4(four, settings))
    return Section(title, "\n\n".join(text), claims, _summary(three.values()))


def _cases_of_figure3(
    results: Mapping[str, dict[str, Any]], settings: Settings
) -> dict[tuple[str, str], Case]:
    cases = {}
    for corpus in corpora(settings):
        for model, (name, _, drawn) in MODELS.items():
            keys = _by_start(f"figure3/{corpus}/{model}", model, settings)
            columns = {"set": corpus, "model": name}
            runs = [results[key] for key in keys]
            title = name.replace(", ", "\n")
            cases[corpus, model] = Case(corpus, TITLES[corpus], title, columns, runs, drawn)
    return cases


def _cases_of_figure4(
    results: Mapping[str, dict[str, Any]], settings: Settings
) -> dict[tuple[str, str, int | None], Case]:
    cases = {}
    for corpus in corpora(settings):
        for inference, name in INFERENCES.items():
            for n in LABELLED:
                amount = str(n or "all")
                keys = _by_start(f"figure4/{corpus}/{inference}/{amount}", inference, settings)
                columns = {"set": corpus, "inference": name, "labels": amount}
                row, title = f"{TITLES[corpus]}, {name}", f"{amount} labels"
                runs = [results[key] for key in keys]
                cases[corpus, inference, n] = Case(corpus, row, title, columns, runs)
    return cases


def _drawn_and_written(
    cases: Sequence[Case], out: Path, name: str, settings: Settings
) -> tuple[str, str]:
    """Markdown of the figure and of the table."""
    rows: dict[str, list[Case]] = {}
    for case in cases:
        if case.drawn:
            rows.setdefault(case.row, []).append(case)
    panels = {row: _panels(own, settings) for row, own in rows.items()}
    values = [
        {**case.columns, "start": start} | {name: result.get(name) for name in COLUMNS}
        for case in cases
        for start, result in enumerate(case.results)
    ]
    shown = pd.DataFrame([case.columns | _cells(case) for case in cases]).fillna("")
    return (
        figures.save(figures.draw_embeddings(panels), out, name),
        write_table(out, name, shown, pd.DataFrame(values).dropna(axis=1, how="all")),
    )


def _cells(case: Case) -> dict[str, str]:
    return {
        title: spread([scale * value for value in values], digits)
        for name, (title, digits, scale) in COLUMNS.items()
        if (values := case.values(name))
    }


def spread(values: Sequence[float], digits: int) -> str:
    """Mean and deviation, if there are several.

    Examples
    --------
    >>> spread([1.0, 3.0], 1), spread([0.5], 2)
    ('2.0 ± 1.4', '0.50')
    """
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def _panels(cases: Sequence[Case], settings: Settings) -> list[figures.Panel]:
    """The first start of each, turned to lie like the last."""
    labels = load_set(cases[0].corpus, settings).labels
    reference = np.array(cases[-1].results[0]["places"])
    panels = []
    for case in cases:
        first = case.results[0]
        labelled = np.zeros(len(labels), dtype=bool)
        labelled[first.get("labelled", [])] = True
        note = f"silhouette {first['silhouette']:.2f}\nneighbour of same class {100 * first['neighbour']:.0f} %"
        places = figures.turned(np.array(first["places"]), reference)
        panels.append(figures.Panel(case.title, note, places, labels, labelled))
    return panels


def _claims_of_figure3(
    cases: Mapping[tuple[str, str], Case], settings: Settings
) -> Iterator[Claim]:
    for other, rival in (("ctm", "CTM"), ("gplvm", "GPLVM")):
        for inference, model in (("map", "map"), ("sampling", "smooth")):
            yield _claim(
                f"Figure 3: GPTM-NN separates the classes better than {rival}.",
                {
                    corpus: _compared(cases[corpus, model], cases[corpus, other])
                    for corpus in corpora(settings)
                },
                INFERENCES[inference],
            )


def _claims_of_figure4(
    cases: Mapping[tuple[str, str, int | None], Case], settings: Settings
) -> Iterator[Claim]:
    whole: tuple[tuple[int, int | None], ...] = ((10, 100), (100, None))
    for of, prefix, steps in (
        ("all documents", "", whole),
        ("unlabelled documents (not in the paper)", "unlabelled_", whole[:1]),
    ):
        for inference, name in INFERENCES.items():
            yield _claim(
                f"Figure 4: with more labels the classes of {of} are separated better.",
                {
                    f"{corpus}, {few} to {more or 'all'} labels": _compared(
                        cases[corpus, inference, more], cases[corpus, inference, few], prefix
                    )
                    for corpus in corpora(settings)
                    for few, more in steps
                },
                name,
            )


def _compared(first: Case, second: Case, prefix: str = "") -> list[Difference]:
    """Start by start, for both scores; below zero where the first is separated better."""
    differences = []
    for score in SCORES:
        better, worse = (case.values(prefix + score) for case in (first, second))
        if better and worse:
            differences.append(Difference.of(worse * (len(better) // len(worse)), better))
    return differences


def _claim(text: str, by_case: Mapping[str, list[Difference]], under: str) -> Claim:
    """Judged by both scores in each case that has them."""
    judged = {case: both for case, both in by_case.items() if both}
    differences = [difference for both in judged.values() for difference in both]
    better = sum(difference.sign < 0 for difference in differences)
    numbers = "; ".join(
        f"{case}: silhouette {-silhouette.mean:+.3f} ± {silhouette.error:.3f}, neighbour "
        f"{-100 * neighbour.mean:+.1f} ± {100 * neighbour.error:.1f} %"
        for case, (silhouette, neighbour) in judged.items()
    )
    return Claim(text, verdict(differences), numbers, under, f"{better} of {len(differences)}")


def _summary(cases: Iterable[Case]) -> str:
    """The first score of each model."""
    silhouettes = [
        f"{case.columns['set']} {case.columns['model']} {np.mean(case.values(SCORES[0])):.2f}"
        for case in cases
    ]
    return f"Silhouettes of the classes without labels: {'; '.join(silhouettes)}."
