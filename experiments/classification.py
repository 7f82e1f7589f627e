"""Figure 2: errors of an SVM on embeddings, against the number of labelled documents.

An embedding is made from the words of all documents and the labels of the training documents only. `hide_labels` takes
the labels of the test documents away before anything else; models and SVM get what it returns and nothing more.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from experiments import figures, gplvm
from experiments.data import Documents, load_set
from experiments.embeddings import (
    TITLES,
    corpora,
    draw_labelled,
    fit_everyone,
    hide_labels,
    ml_variant,
    places_of,
    spread,
    without_common,
)
from experiments.jobs import Claim, Job, Section, Settings
from experiments.judging import Difference, claim_lower
from experiments.perplexities import INFERENCES
from experiments.scoring import CTM_VARIANT, N_TOPICS, Variant
from experiments.tables import write_table
from gptm._basics.types import Array

MODELS = {
    "ctm": "CTM (λ)",
    "gplvm": "GPLVM (RBF)",
    "map": "GPTM-ML (F), paper's inference",
    "sampling": "GPTM-ML (F), default inference",
    "alike": "GPTM-ML, default inference, own label unseen",
    "both": "GPTM-ML + NN, default inference, own label unseen",
}
WITHOUT_LABELS = ("ctm", "gplvm")
SECONDS = {"ctm": 3.0, "gplvm": 30.0, "map": 5.0, "sampling": 5.0, "alike": 6.0, "both": 15.0}
N_FOLDS = 5
GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.1, 1.0, 10.0]}  # for places of mean square one


# Jobs.


def sizes(settings: Settings) -> tuple[int, ...]:
    """Numbers of labelled documents."""
    return (10, 40) if settings.quick else (10, 20, 40, 80, 160)


def n_draws(settings: Settings) -> int:
    return 2 if settings.quick else 10


def jobs(settings: Settings) -> list[Job]:
    """One for each set, model and draw of labels; all draws at once for GPLVM, whose embedding they share."""
    listed = []
    for corpus in corpora(settings):
        draws = list(range(n_draws(settings)))
        for model in MODELS:
            for group in [draws] if model == "gplvm" else [[draw] for draw in draws]:
                key = f"figure2/{corpus}/{model}/{group[0]}"
                chosen = {"corpus": corpus, "model": model, "draws": group}
                listed.append(Job(key, measure, chosen, cost=SECONDS[model]))
    return listed


def measure(settings: Settings, corpus: str, model: str, draws: list[int]) -> dict[str, Any]:
    """Shares of unlabelled documents that are taken for another class, by draw and number of labels."""
    documents = load_set(corpus, settings)
    shared = None
    if model in WITHOUT_LABELS:
        nobody = hide_labels(documents, np.zeros(len(documents.labels), dtype=bool))
        shared = embed(model, nobody, settings.seed + draws[0])
    errors = {}
    for draw in draws:
        seed = settings.seed + draw
        errors[str(draw)] = [
            error_of(model, documents, draw_labelled(documents.labels, n, seed), seed, shared)
            for n in sizes(settings)
        ]
    return {"errors": errors}


def error_of(
    model: str, documents: Documents, labelled: np.ndarray, seed: int, places: Array | None = None
) -> float:
    """Share of the documents whose label the model does not see that are taken for another class."""
    predicted = predict(model, hide_labels(documents, labelled), seed, places)
    return float((predicted != documents.labels[~labelled]).mean())


# What sees no label of a test document.


def predict(model: str, hidden: Documents, seed: int, places: Array | None = None) -> np.ndarray:
    """Labels for the documents that have none, from an embedding, or from places that are there already."""
    return classify(embed(model, hidden, seed) if places is None else places, hidden.labels, seed)


def embed(model: str, hidden: Documents, seed: int) -> Array:
    """(D, K - 1) places of all documents."""
    if model == "gplvm":
        return gplvm.embed(hidden.counts, N_TOPICS - 1).X
    if model == "ctm":
        return places_of(fit_everyone(CTM_VARIANT, hidden, seed))
    if model in INFERENCES:
        return places_of(fit_everyone(ml_variant(model), hidden, seed))
    variant = Variant("ml+nn") if model == "both" else ml_variant("sampling")
    fit = fit_everyone(variant, hidden, seed)
    unlabelled = pd.DataFrame({"label": [None] * len(hidden.labels)})
    return without_common(np.log(fit.transform(hidden.counts, metadata=unlabelled)))


def classify(places: Array, labels: np.ndarray, seed: int) -> np.ndarray:
    """What an RBF SVM says of the documents whose label is None, trained on the others.

    C and gamma are those with the lowest error in cross-validation over the labelled documents: five folds, fewer if a
    class has fewer documents.

    Examples
    --------
    >>> import numpy as np
    >>> places = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> classify(places, np.array(["a", "a", None, "b", "b", None], dtype=object), seed=0)
    array(['a', 'b'], dtype='<U1')
    """
    labelled = np.array([label is not None for label in labels])
    own = labels[labelled].astype(str)
    centred = places - places.mean(0)
    scaled = centred / np.sqrt((centred**2).mean())
    least = int(np.unique(own, return_counts=True)[1].min())
    folds = StratifiedKFold(min(N_FOLDS, least), shuffle=True, random_state=seed)
    search = GridSearchCV(SVC(kernel="rbf"), GRID, cv=folds).fit(scaled[labelled], own)
    return np.asarray(search.predict(scaled[~labelled]))


# Presentation.


def present(results: Mapping[str, dict[str, Any]], out: Path, settings: Settings) -> Section:
    """The figure, its numbers, and what they say of the paper's claim."""
    title = "Figure 2: classification of embeddings"
    there = corpora(settings)
    if not there:
        return Section(title, "Neither of the two sets is there.")
    errors = {
        (corpus, model): _errors(results, corpus, model, settings)
        for corpus in there
        for model in MODELS
    }
    text = [
        f"Error of an RBF SVM (C and gamma by five-fold cross-validation) on the documents without a label; "
        f"{n_draws(settings)} draws of labelled documents, the same for all models. Bars are standard errors over "
        "draws, the table has deviations. An embedding knows the words of all documents and the labels of the training "
        "documents; the labels of the test documents are taken away before any model is fitted.",
        "With must-link, a label moves the F of its own document towards its class, and no test document is moved like "
        "that: the SVM learns from places that test documents do not have. *Own label unseen* embeds all documents "
        "alike: topics are learnt with the labels, then every document is placed by its words, as if it had no label.",
        figures.save(_figure(errors, there, settings), out, "figure2"),
        _table(errors, out, settings),
    ]
    return Section(title, "\n\n".join(text), tuple(_claims(errors, there)), _summary(errors))


def _errors(
    results: Mapping[str, dict[str, Any]], corpus: str, model: str, settings: Settings
) -> Array:
    """(draws, sizes) in percent."""
    rows: dict[str, list[float]] = {}
    for draw in range(n_draws(settings)):
        rows |= results.get(f"figure2/{corpus}/{model}/{draw}", {}).get("errors", {})
    return 100.0 * np.array([rows[str(draw)] for draw in range(n_draws(settings))])


def _figure(errors: Mapping[tuple[str, str], Array], there: list[str], settings: Settings) -> Any:
    x = np.array(sizes(settings), dtype=np.float64)
    lines = {
        TITLES[corpus]: [
            figures.Line(
                name, x, rows.mean(0) / 100, rows.std(0, ddof=1) / 100 / np.sqrt(len(rows))
            )
            for model, name in MODELS.items()
            if (rows := errors[corpus, model]).size
        ]
        for corpus in there
    }
    return figures.draw_errors(lines, "labelled documents", "error on the others")


def _table(errors: Mapping[tuple[str, str], Array], out: Path, settings: Settings) -> str:
    shown, values = [], []
    for (corpus, model), rows in errors.items():
        row = {"set": corpus, "model": MODELS[model]}
        for n, column in zip(sizes(settings), rows.T, strict=True):
            values += [
                {**row, "labels": n, "draw": draw, "error_percent": value}
                for draw, value in enumerate(column)
            ]
            row = row | {f"{n} labels, error %": spread(column.tolist(), 1)}
        shown.append(row)
    return write_table(out, "figure2", pd.DataFrame(shown), pd.DataFrame(values))


def _claims(errors: Mapping[tuple[str, str], Array], there: list[str]) -> list[Claim]:
    """By the mean over numbers of labels, draw by draw, in points of a percent."""
    under = {
        "map": INFERENCES["map"],
        "sampling": INFERENCES["sampling"],
        "alike": "default inference, own label unseen (not in the paper)",
        "both": "the same with neighbours (not in the paper)",
    }
    return [
        claim_lower(
            f"Figure 2: GPTM-ML has lower errors than {rival.upper()} (in percent).",
            {
                corpus: Difference.of(
                    errors[corpus, model].mean(1).tolist(), errors[corpus, rival].mean(1).tolist()
                )
                for corpus in there
            },
            how,
        )
        for rival in WITHOUT_LABELS
        for model, how in under.items()
    ]


def _summary(errors: Mapping[tuple[str, str], Array]) -> str:
    means = "; ".join(
        f"{corpus} {MODELS[model]} {rows.mean():.1f} %" for (corpus, model), rows in errors.items()
    )
    return f"Mean error over numbers of labels: {means}."
