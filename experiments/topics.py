"""Tables 3 to 5: the topics of CTM, GPTM-NN and GPTM-ML on the newsgroups, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from experiments.data import available, load_set
from experiments.jobs import Claim, Job, Section, Settings
from experiments.judging import Difference, verdict
from experiments.perplexities import INFERENCES
from experiments.scoring import (
    CTM_VARIANT,
    Variant,
    best,
    fitted,
    paper_variant,
    tuning_jobs,
)
from experiments.tables import write_table
from gptm._basics.types import Array
from gptm.metrics import npmi_coherence, top_words

CORPUS = "news100"
N_TOPICS = 10  # as many as there are newsgroups; the paper does not say, and shows six
N_WORDS = 10
N_SEEDS = 5
N_KEPT = 200  # words of a topic that are kept for matching
_MODELS = {
    "CTM": CTM_VARIANT,
    "GPTM-NN": Variant("smooth"),
    "GPTM-ML": Variant("ml"),
    "GPTM-NN (map)": paper_variant("nn", tuned_by="completion_50"),
    "GPTM-ML (map)": paper_variant("ml", tuned_by="completion_50"),
}
_SHOWN = {
    "sampling": ("CTM", "GPTM-NN", "GPTM-ML"),
    "map": ("CTM", "GPTM-NN (map)", "GPTM-ML (map)"),
}


def jobs(settings: Settings) -> list[Job]:
    """A fit for each model and seed, after the tuning of the paper's kernels."""
    if available(settings)[CORPUS]:
        return []
    by_key: dict[str, Job] = {}
    for variant in _MODELS.values():
        tuning = [] if variant.tuned_by is None else tuning_jobs(CORPUS, variant, settings)
        needs = tuple(job.key for job in tuning)
        fits = [
            Job(
                _key(variant, start),
                fit_topics,
                {"corpus": CORPUS, **variant._asdict(), "start": start},
                needs,
                5.0,
            )
            for start in range(_n_seeds(settings))
        ]
        by_key |= {job.key: job for job in (*tuning, *fits)}
    return list(by_key.values())


def _key(variant: Variant, start: int) -> str:
    return f"topics/{variant.label}/{start}"


def _n_seeds(settings: Settings) -> int:
    return 2 if settings.quick else N_SEEDS


def fit_topics(
    settings: Settings,
    corpus: str,
    start: int,
    needed: Mapping[str, dict[str, Any]] | None = None,
    **parts: Any,
) -> dict[str, Any]:
    """Top words and coherence of the topics of all documents; those of the first start themselves too."""
    variant = Variant(**parts)
    documents = load_set(corpus, settings)
    parameters = None if variant.tuned_by is None else best(needed or {}, variant.tuned_by)
    everything = np.arange(len(documents.labels))
    model = fitted(variant, documents, everything, settings.seed + start, parameters, N_TOPICS)
    words = top_words(model.components_, N_WORDS)
    return {
        "words": documents.vocabulary[words].tolist(),
        "npmi": npmi_coherence(model.components_, documents.counts, N_WORDS).tolist(),
        "topics": _shortened(model.components_) if start == 0 else None,
        "parameters": parameters,
    }


def _shortened(topics: Array) -> dict[str, Any]:
    """The most probable words of topics as JSON has them: numbers of columns, and probabilities."""
    words = top_words(topics, N_KEPT)
    kept = np.take_along_axis(topics, words, axis=1)
    return {"shape": list(topics.shape), "words": words.tolist(), "values": kept.round(6).tolist()}


def _restored(kept: dict[str, Any]) -> Array:
    topics = np.zeros(kept["shape"])
    np.put_along_axis(topics, np.array(kept["words"]), np.array(kept["values"]), axis=1)
    return topics


def match_topics(first: Array, second: Array) -> np.ndarray:
    """For each topic of the first model the one of the second that is most like it, each taken once.

    Likeness is the share of the probability that two topics have in common; the sum over all pairs is as large as
    it can be (the Hungarian method).

    Examples
    --------
    >>> import numpy as np
    >>> match_topics(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.1, 0.9], [0.6, 0.4]]))
    array([1, 0])
    """
    common = np.minimum(first[:, None, :], second[None, :, :]).sum(2)
    return np.asarray(linear_sum_assignment(common, maximize=True)[1])


def present(results: Mapping[str, dict[str, Any]], out: Path, settings: Settings) -> Section:
    """Words of matched topics, and coherence over several starts."""
    title = "Tables 3 to 5: topics"
    if available(settings)[CORPUS]:
        return Section(title, f"Skipped: the set {CORPUS} is missing.")
    text = [_INTRODUCTION.format(topics=N_TOPICS, corpus=CORPUS)]
    for inference, names in _SHOWN.items():
        text += [
            f"### {INFERENCES[inference].capitalize()}",
            write_table(out, f"topics-{inference}", _words(results, names)),
        ]
    seeds = _n_seeds(settings)
    values = {
        name: [float(np.mean(results[_key(variant, s)]["npmi"])) for s in range(seeds)]
        for name, variant in _MODELS.items()
    }
    rows = [
        {"model": name, "mean NPMI": np.mean(v), "deviation": np.std(v, ddof=1)}
        for name, v in values.items()
    ]
    table = write_table(out, "topics-npmi", pd.DataFrame(rows))
    text += [f"Mean NPMI over all topics and {seeds} starts:", table]
    claims = tuple(
        _claim(name, values, INFERENCES[inference])
        for inference, (_, *names) in _SHOWN.items()
        for name in names
    )
    means = ", ".join(f"{name} {np.mean(v):.3f}" for name, v in values.items())
    return Section(title, "\n\n".join(text), claims, f"Mean NPMI of topics: {means}.")


def _words(results: Mapping[str, dict[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    """A row for each topic of each model; topics that match stand together."""
    fits = {name: results[_key(_MODELS[name], 0)] for name in names}
    topics = {name: _restored(result["topics"]) for name, result in fits.items()}
    places = {name: match_topics(topics[names[0]], topics[name]) for name in names}
    order = np.argsort(-np.array(fits[names[0]]["npmi"]), kind="stable")
    return pd.DataFrame(
        {
            "topic": number if name == names[0] else "",
            "model": name.removesuffix(" (map)"),
            "NPMI": f"{fits[name]['npmi'][places[name][topic]]:.2f}",
            "words": " ".join(fits[name]["words"][places[name][topic]]),
        }
        for number, topic in enumerate(order, 1)
        for name in names
    )


def _claim(name: str, values: Mapping[str, Sequence[float]], under: str) -> Claim:
    """That topics are more coherent than CTM's: lower, with the sign turned."""
    difference = Difference.of([-v for v in values[name]], [-v for v in values["CTM"]])
    numbers = f"mean NPMI {np.mean(values[name]):.3f} against {np.mean(values['CTM']):.3f}"
    shown = f"{numbers}, difference {-difference.mean:+.3f} ± {difference.error:.3f}"
    text = f"topics of {name.removesuffix(' (map)')} are more coherent than CTM's"
    return Claim(text, verdict([difference]), shown, under)


_INTRODUCTION = """\
{topics} topics on all documents of {corpus}, as many as there are newsgroups (the paper shows six of a number that it
does not give). Topics are matched to CTM's by the Hungarian method, those of highest NPMI first; NPMI is that of the
ten top words in the documents themselves. The paper's kernels are those tuned by completion with three topics."""
