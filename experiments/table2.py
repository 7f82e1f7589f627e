"""Table 2: CTM against GPTM with labels of training documents (ML) or nearest neighbours (NN) as side information."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from experiments.jobs import Job, Section, Settings
from experiments.paper import TABLE2
from experiments.perplexities import (
    INFERENCES,
    SCORES,
    Column,
    Comparison,
    changes_in_words,
    choices,
)
from experiments.scoring import (
    CTM_VARIANT,
    Score,
    Variant,
    corpora,
    fold_jobs,
    n_folds,
    neighbour_correlations,
    paper_variant,
)
from experiments.tables import write_table

_CTM = Column("CTM", CTM_VARIANT, "ctm")
_HOW = ("identity", "shared", "free")


class _Part(NamedTuple):
    """One table: an inference and a score."""

    inference: str
    score: Score
    columns: tuple[Column, ...]
    pairs: tuple[tuple[str, str], ...]  # of which the first should be lower

    @property
    def name(self) -> str:
        return f"table2-{self.inference}-{self.score}"


def _parts() -> Iterator[_Part]:
    scores: tuple[Score, ...] = ("conditional", "completion_50")
    pairs = (("ML", "CTM"), ("NN", "CTM"), ("NN", "ML"))
    for score in scores:
        columns = (
            _CTM,
            Column("ML", paper_variant("ml", tuned_by=score), "ml"),
            Column("NN", paper_variant("nn", tuned_by=score), "nn"),
            Column("identity", paper_variant("ki", tuned_by=score)),
        )
        yield _Part("map", score, columns, (*pairs, ("ML", "identity"), ("NN", "identity")))
    for score in scores:
        smooth = (("NN smooth", "CTM"), ("NN smooth", "ML"))
        yield _Part("sampling", score, (_CTM, *_learnt("free")), pairs + smooth)


def _learnt(coregionalization: Any) -> tuple[Column, ...]:
    return (
        Column("ML", Variant("ml", coregionalization=coregionalization), "ml"),
        Column("NN", Variant("nn", coregionalization=coregionalization), "nn"),
        Column("NN smooth", Variant("smooth", coregionalization=coregionalization)),
    )


def _beyond() -> list[Column]:
    """CTM, and the kernels of the default inference in all ways to act across topics."""
    kernels = [
        Column(f"{column.name}, {how}", column.variant) for how in _HOW for column in _learnt(how)
    ]
    return [_CTM, *kernels]


def jobs(settings: Settings) -> list[Job]:
    """All folds of all models on all sets."""
    columns = [column for part in _parts() for column in part.columns] + _beyond()
    variants = dict.fromkeys(column.variant for column in columns)
    by_key: dict[str, Job] = {}
    for corpus in corpora(settings):
        near = Job(f"neighbours/{corpus}", neighbour_correlations, {"corpus": corpus})
        folds = [job for variant in variants for job in fold_jobs(corpus, variant, settings)]
        by_key |= {job.key: job for job in (near, *folds)}
    return list(by_key.values())


def present(results: Mapping[str, dict[str, Any]], out: Path, settings: Settings) -> Section:
    """A table for each inference and score, with differences within folds."""
    sets, folds = corpora(settings), n_folds(settings)
    text, claims = [_INTRODUCTION.format(folds=folds)], []
    comparisons: dict[str, Comparison] = {}
    for part in _parts():
        comparison = Comparison.of(results, part.columns, part.score, sets, folds)
        reported = TABLE2 if part.score == "conditional" else None
        under = f"{INFERENCES[part.inference]}, {SCORES[part.score]}"
        text += [
            f"### {under[0].upper()}{under[1:]}",
            comparison.write(out, part.name, reported),
            "Differences within folds, mean ± standard error; * beyond noise:",
            comparison.write_differences(out, f"{part.name}-differences", part.pairs),
        ]
        if part.inference == "map":
            text.append(_tuned(results, part, sets))
        claims += [
            comparison.claim(f"{_named(first)} is below {_named(second)}", under, (first, second))
            for first, second in part.pairs
        ]
        comparisons[under] = comparison
    text += [_IDENTITY, _near(results, out, sets), *_presented_beyond(results, out, sets, folds)]
    title = "Table 2: GPTM against CTM"
    return Section(title, "\n\n".join(text), tuple(claims), changes_in_words(comparisons, _named))


def _named(column: str) -> str:
    names = {"CTM": "CTM", "identity": "a kernel that says nothing"}
    return names.get(column, f"GPTM-{column}")


def _tuned(results: Mapping[str, dict[str, Any]], part: _Part, sets: list[str]) -> str:
    tuned = [column for column in part.columns if column.variant.tuned_by is not None]
    return f"Kernels as tuned by {SCORES[part.score]}: {choices(results, tuned, sets)}."


def _near(results: Mapping[str, dict[str, Any]], out: Path, sets: list[str]) -> str:
    rows = [{"set": corpus} | results[f"neighbours/{corpus}"] for corpus in sets]
    table = write_table(out, "neighbour-correlations", pd.DataFrame(rows).round(3))
    return f"{_NEAR}\n\n{table}"


def _presented_beyond(
    results: Mapping[str, dict[str, Any]], out: Path, sets: list[str], folds: int
) -> list[str]:
    text = ["### Beyond the paper: how the kernel acts across topics", _BEYOND]
    for score in ("conditional", "completion_50"):
        comparison = Comparison.of(results, _beyond(), score, sets, folds)
        pairs = [(column.name, "CTM") for column in _beyond()[1:]]
        comparison.write(out, f"coregionalization-{score}")
        text += [
            f"{SCORES[score]}, differences to CTM within folds:",
            comparison.write_differences(out, f"coregionalization-{score}-differences", pairs),
        ]
    return text


_INTRODUCTION = """\
Perplexity of held-out documents, lower is better, by {folds}-fold cross-validation with three topics: mean ± deviation
over the folds. ML takes the labels of the training documents as must-links (eq. 22), and no label of a test document.
NN takes the ten nearest neighbours by the cosine of the counts (eq. 21). Eq. 24 scores the words after the document
means F_* have been adapted to these same words; completion predicts one half of each test document's words from the
other half. The paper's documents are not published, and its words were chosen otherwise, so its numbers are of
another size; what can be compared is which model is lower."""

_IDENTITY = """\
The column "identity" is a control: the same model with a kernel that makes no two documents alike, its scale tuned in
the same way. What it gains on CTM, it gains without side information."""

_NEAR = """\
In the default inference NN is eq. 21 with its strength learnt, and "NN smooth" another kernel of a graph of neighbours,
((1 + kappa²) I − S)^-nu, which is the default of `NearestNeighbors`. To be positive definite, eq. 21 needs a c above
gamma times the size of the graph's most negative eigenvalue; c here is above that of the largest. The larger c, the
less neighbours correlate a priori, and the closer the kernel is to the identity, which cannot be told from the topic
covariance. Mean correlation of neighbours:"""

_BEYOND = """\
The paper has independent topics, vec F ~ N(0, 𝒦 ⊗ I). Below the strength of the kernel is learnt as b I (identity),
b Sigma (shared), or a matrix of its own (free, the default)."""
