"""What came back: one row per topic, one row per effect, and a picture."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from gptm._basics.types import Array
from gptm.findings.pooling import PooledFits, pool
from gptm.findings.stability_runs import RESAMPLE, SEED, TOPICS, Run
from gptm.findings.term_effects import TermSettings
from gptm.selection.resumable import Row
from gptm.views.shown_table import frame_card, table_lines
from gptm.views.text_lines import WIDTH

_KINDS = {SEED: "back_seeds", TOPICS: "back_topics", RESAMPLE: "back_resamples"}
_WORDS, _CLEAREST = "words", "clearest effect"  # columns of texts in what is printed


@dataclass(frozen=True, repr=False, eq=False)
class Stability:
    """Topics and effects of a model, and how often they come back in refits; `print` shows the table.

    Attributes
    ----------
    table : DataFrame
        One row per topic: its words or name and its share; `back`, the fraction of refits in which it came back, and
        the same by kind of refit; `overlap`, the median over refits of its best overlap with a topic there, and the
        lowest; `nearest`, its overlap with the most similar topic of the model itself; and its clearest effect: the
        term and setting, the pooled estimate with its band, and `same_sign`, the fraction of the refits with this topic
        in which the effect has the same sign.
    effects : DataFrame
        One row per term, setting and topic: `effect` and `error`, estimate and standard error in the model itself;
        `pooled`, the mean over the model and its refits with other seeds and numbers of topics; `between_error`, the
        standard deviation of these; `total_error`, by Rubin's rules; `low` and `high`, the band from it; `clear`,
        whether the band leaves out zero; `fits`, how many fits are pooled; `same_sign`; and `resample_error`, the
        standard deviation over the resamples.
    runs : DataFrame
        One row per refit: what is different, how many topics came back, their mean overlap, seconds.
    overlap : DataFrame
        Of shape (topics, refits): the best overlap of each topic with a topic of the refit.
    complete : bool
        False if the work was interrupted.
    """

    runs_done: list[Run]
    rows: list[Row]
    terms: list[TermSettings]
    own_effects: list[tuple[Array, Array]]
    topics: list[str]
    shares: Array
    nearest: Array
    threshold: float
    level: float
    note: str

    @property
    def complete(self) -> bool:
        return not self.note

    @cached_property
    def overlap(self) -> pd.DataFrame:
        return self._by_run("best")

    @cached_property
    def back(self) -> pd.DataFrame:
        """(topics, refits) whether a topic came back: paired with a topic there, with enough overlap.

        Enough is the threshold, and as much as it has with any other topic of the model.
        """
        return self._by_run("paired").ge(np.maximum(self.threshold, self.nearest), axis=0)

    def _by_run(self, name: str) -> pd.DataFrame:
        values = {run.label: row[name] for run, row in zip(self.runs_done, self.rows, strict=True)}
        return pd.DataFrame(values, index=pd.RangeIndex(len(self.topics), name="topic"))

    @cached_property
    def runs(self) -> pd.DataFrame:
        paired = self._by_run("paired").to_numpy()
        back = self.back.to_numpy()
        return pd.DataFrame(
            {
                "kind": [run.kind for run in self.runs_done],
                "n_components": [run.n_components for run in self.runs_done],
                "seed": [run.seed for run in self.runs_done],
                "topics_back": back.sum(0),
                "overlap": [
                    float(np.mean(p[b])) if b.any() else np.nan
                    for p, b in zip(paired.T, back.T, strict=True)
                ],
                "seconds": [row["seconds"] for row in self.rows],
            },
            index=pd.Index(self.overlap.columns, name="run"),
        )

    @cached_property
    def effects(self) -> pd.DataFrame:
        tables = [self._effects_of(position) for position in range(len(self.terms))]
        columns = ["term", "setting", "topic"]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)

    def estimates(self, position: int) -> tuple[Array, Array]:
        """(refits, settings, topics) estimates and errors of a term; NaN where the topic did not come back."""
        lost = np.where(self.back.to_numpy().T, 0.0, np.nan)[:, None, :]
        both = np.array([row["effects"][position] for row in self.rows], dtype=np.float64)
        return both[:, 0] + lost, both[:, 1] + lost

    def pooled(self, position: int) -> PooledFits:
        """The model and its refits with other seeds and numbers of topics, as one."""
        own, own_error = self.own_effects[position]
        means, errors = self.estimates(position)
        used = [run.kind != RESAMPLE for run in self.runs_done]
        return pool(
            np.concatenate([own[None], means[used]]),
            np.concatenate([own_error[None], errors[used]]),
        )

    def _effects_of(self, position: int) -> pd.DataFrame:
        term, (own, own_error) = self.terms[position], self.own_effects[position]
        means, _ = self.estimates(position)
        pooled = self.pooled(position)
        low, high = pooled.band(self.level)
        resampled = means[[run.kind == RESAMPLE for run in self.runs_done]]
        values = {
            "effect": own,
            "error": own_error,
            "pooled": pooled.estimate,
            "between_error": np.sqrt(pooled.between),
            "total_error": np.sqrt(pooled.total),
            "low": low,
            "high": high,
            "clear": (low > 0) | (high < 0),
            "fits": pooled.m,
            "same_sign": _mean(np.where(np.isnan(means), np.nan, np.sign(means) == np.sign(own))),
            "resample_error": _deviation(resampled),
        }
        n, K = own.shape
        table = pd.DataFrame(
            {
                "term": term.label,
                "setting": np.repeat(term.names, K),
                "topic": np.tile(np.arange(K), n),
            }
        )
        return table.assign(**{name: array.ravel() for name, array in values.items()})

    @cached_property
    def table(self) -> pd.DataFrame:
        back, overlap = self.back, self.overlap
        table = pd.DataFrame(
            {"words": self.topics, "share": self.shares, "back": back.mean(axis=1)}
        )
        kinds = np.array([run.kind for run in self.runs_done])
        for kind, name in _KINDS.items():
            if (kinds == kind).any():
                table[name] = back.loc[:, kinds == kind].mean(axis=1)
        table["overlap"] = overlap.median(axis=1)
        table["overlap_lowest"] = overlap.min(axis=1)
        table["nearest"] = self.nearest
        return table.join(self._clearest()) if len(self.effects) else table

    def _clearest(self) -> pd.DataFrame:
        """Of each topic the effect that is largest relative to its total error."""
        effects = self.effects
        ratio = (effects["pooled"].abs() / effects["total_error"].replace(0.0, np.nan)).fillna(0.0)
        rows = effects.loc[ratio.groupby(effects["topic"]).idxmax()].set_index("topic")
        names = {"pooled": "effect", "low": "low", "high": "high", "same_sign": "same_sign"}
        clearest = rows[list(names)].rename(columns=names)
        clearest.insert(0, "at", rows["term"] + " = " + rows["setting"])
        return clearest

    def plot(self, ax: Any = None) -> Any:
        """Best overlaps of each topic with refits, and its clearest effect; see `plots.plot_stability`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw the overlaps alone; by default a new figure with both.

        Returns
        -------
        Axes
            That of the overlaps.
        """
        from gptm.plots import plot_stability  # loads matplotlib

        return plot_stability(self, ax=ax)

    @property
    def title(self) -> str:
        counts = [
            (SEED, "other seeds"),
            (TOPICS, "other numbers of topics"),
            (RESAMPLE, "resamples"),
        ]
        kinds = [run.kind for run in self.runs_done]
        numbers = [(kinds.count(kind), name) for kind, name in counts if kind in kinds]
        parts = [f"{n} {name if n > 1 else _single(name)}" for n, name in numbers]
        refits = "1 refit" if len(self.rows) == 1 else f"{len(self.rows)} refits"
        return f"{len(self.topics)} topics in {refits}: {', '.join(parts)}"

    @property
    def conclusion(self) -> str:
        """What came back, in one sentence."""
        back = self.table["back"]
        said = f"{int((back == 1).sum())} topics came back in all refits, {int((back < 0.5).sum())} in less than half"
        if len(self.effects) == 0:
            return said
        own = self.effects
        from_self = own[own["effect"].abs() > 1.645 * own["error"]]
        kept = int(from_self["clear"].sum())
        return (
            f"{said}; {kept} of {len(from_self)} effects that one fit finds clear stay clear when the variation "
            "between fits counts too"
        )

    def printed(self) -> pd.DataFrame:
        """The table as texts."""
        table = self.table
        text = pd.DataFrame({_WORDS: table["words"]}, index=table.index)
        for name in ["share", *[n for n in table if n.startswith("back")]]:
            text[name.removeprefix("back_")] = [f"{100 * value:.0f} %" for value in table[name]]
        text["overlap"] = [f"{value:.2f}" for value in table["overlap"]]
        if "at" in table:
            text[_CLEAREST] = table["at"]
            text["effect"] = [
                f"{100 * row.effect:+.1f} [{100 * row.low:+.1f}, {100 * row.high:+.1f}]"
                for row in table[["effect", "low", "high"]].itertuples(name="Effect")
            ]
            text["same sign"] = [
                "" if np.isnan(value) else f"{100 * value:.0f} %" for value in table["same_sign"]
            ]
        return text

    def __repr__(self) -> str:
        """Topics, and below them their effects, each within 100 columns."""
        table = self.printed()
        effects = [name for name in (_CLEAREST, "effect", "same sign") if name in table]
        parts = [table.drop(columns=effects), *([table[effects]] if effects else [])]
        tables = [
            table_lines(part, [name for name in part if name not in (_WORDS, _CLEAREST)])
            for part in parts
        ]
        if effects:
            tables.insert(1, ["effects, in percentage points of the share:"])
        above = [self.title, *([self.note] if self.note else [])]
        return "\n".join([*above, *chain.from_iterable(tables), *wrap(self.conclusion, WIDTH)])

    def _repr_html_(self) -> str:
        return frame_card(self.title, self.printed(), [self.note, self.conclusion])


def _single(name: str) -> str:
    """Of "other seeds", "other seed"."""
    return name.replace("numbers", "number") if "numbers" in name else name.removesuffix("s")


def _mean(values: Array) -> Array:
    """Along the first axis, without NaN; NaN where there is nothing else."""
    there = ~np.isnan(values)
    n = there.sum(0)
    return np.where(n > 0, np.where(there, values, 0.0).sum(0) / np.maximum(n, 1), np.nan)


def _deviation(values: Array) -> Array:
    """Standard deviation along the first axis, without NaN; NaN where there are less than two."""
    if len(values) == 0:
        return np.full(values.shape[1:], np.nan)
    n = (~np.isnan(values)).sum(0)
    squares = np.where(np.isnan(values), 0.0, values - _mean(values)) ** 2
    return np.where(n > 1, np.sqrt(squares.sum(0) / np.maximum(n - 1, 1)), np.nan)
