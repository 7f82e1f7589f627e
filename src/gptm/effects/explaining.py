"""What a fitted kernel does to the topics: effects and shares of variation, as tables."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from gptm._basics.parallel import computing
from gptm._basics.types import Array
from gptm._basics.validation import check_number, is_real
from gptm.effects.column_values import distinct_settings, read_settings, tell_unseen
from gptm.effects.explanation import MANY, Explanation
from gptm.inference.sampling.kept import Draws
from gptm.kernels import BoundKernel, Documents, Kernel, Scaled, Sum
from gptm.operators import Placement
from gptm.starts.seed_words import topic_numbers

UNEXPLAINED = "unexplained"
_RESULTS = [
    "term",
    "topic",
    *(f"{name}{end}" for name in ("contrast", "share") for end in ("", "_low", "_high")),
]


class Explaining:
    """The methods of a model with a kernel that take the kernel apart. No formulas here."""

    components_: Array
    kernel_: Kernel | None
    n_jobs: int | None
    _bound_kernel: BoundKernel
    _draws: Draws | None
    _draw: Callable[[], Draws]

    @property
    def terms_(self) -> list[str]:
        """What tables call the terms of the kernel: their name, or their columns."""
        if self.kernel_ is None:
            return []
        return term_labels(self.kernel_)

    def variance_explained(self, *, level: float = 0.9) -> pd.DataFrame:
        """The share of the variance of the topics' logits over documents that each term of the kernel explains.

        It describes; it is no test. A share is never zero, and an irrelevant column has a small one too: whether a
        column matters is for `effects` to say, whose bands hold zero or not, or for `gptm.compare`.

        Parameters
        ----------
        level : float, default=0.9
            Credible level of the interval.

        Returns
        -------
        DataFrame
            Columns term, topic ("all", or a topic's number), share, low, high. The last term is "unexplained": what
            documents have for themselves. The shares of one topic sum to one: they are posterior means, and low and
            high quantiles, of Cov(term, kernel) / Var(logits). Terms that go together share what they explain; one
            that goes against the others may have a share below zero.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import GPTM, kernels as k
        >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
        >>> years = {"year": [1990, 1991, 2010, 2011] * 5}
        >>> model = GPTM(2, kernel=k.RBF("year"), random_state=0).fit(X, metadata=years)
        >>> table = model.variance_explained()
        >>> table.loc[table["topic"] == "all", "term"].tolist()
        ['year', 'unexplained']
        """
        explanation = self._explanation()
        _check_level(level)
        with computing(self.n_jobs):
            found = explanation.variance_shares(level)
        labels = [*self.terms_, UNEXPLAINED]
        K = found.mean.shape[1] - 1
        rows = [
            {
                "term": label,
                "topic": "all" if topic == K else topic,
                "share": found.mean[position, topic],
                "low": found.low[position, topic],
                "high": found.high[position, topic],
            }
            for topic in (K, *range(K))
            for position, label in enumerate(labels)
        ]
        return pd.DataFrame(rows)

    def effects(
        self,
        term: str | int | None = None,
        topic: int | str | Sequence[int | str] | None = None,
        *,
        at: Any = None,
        versus: Any = None,
        level: float = 0.9,
        n_points: int = 50,
    ) -> pd.DataFrame:
        """What a term of the kernel does to the topics: a curve along a column, levels of a category, documents.

        Parameters
        ----------
        term : str or int, optional
            One of `terms_`, its number, or a column that it reads; may be left out where there is one term.
        topic : int, str or sequence, optional
            Topics to show, by number or by the name that `seed_words` gave them; all by default.
        at : value, sequence, dict or DataFrame, optional
            Settings of the term's columns, seen in training or not. By default `n_points` even steps along a number
            or date, all levels of a category, and otherwise the training documents.
        versus : value, sequence, dict or DataFrame, optional
            One more setting, or as many as `at` has: all numbers are then differences to it. Columns that it leaves
            out are as in `at`: `versus={"party": "Whig"}` compares parties at each date.
        level : float, default=0.9
            Credible level of the bands, for each value on its own.
        n_points : int, default=50

        Returns
        -------
        DataFrame
            One row per topic and setting: term, topic, the columns of the setting (or `document`, a position; a name
            that is taken gets "_at" behind it), then contrast, contrast_low, contrast_high: the term's part of the
            topic's logit, relative to the mean of all topics and to the average training document; and share,
            share_low, share_high: the mean proportion of the topic among documents at this setting, each of which
            counts the same, with other columns as they are over all training documents. Shares of all topics at a
            setting sum to one.

        Notes
        -----
        Values are means, bands quantiles, over draws of the posterior, in which topics, documents and covariances
        vary together; the kernel's length-scales and weights are held at their estimates. A model that was fitted
        without draws ("variational", "map") gets a short chain from its fit when first asked.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import GPTM, kernels as k
        >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
        >>> years = {"year": [1990, 1991, 2010, 2011] * 5}
        >>> model = GPTM(2, kernel=k.RBF("year"), random_state=0).fit(X, metadata=years)
        >>> model.effects("year", at=[1990, 2010]).columns.tolist()[:6]
        ['term', 'topic', 'year', 'contrast', 'contrast_low', 'contrast_high']
        """
        explanation = self._explanation()
        _check_level(level)
        check_number("n_points", n_points, least=1, integer=True)
        number = self._term_number(term)
        topics = range(len(self.components_)) if topic is None else topic_numbers(self, topic)
        bound = explanation.bounds[number]
        settings = bound.settings(n_points) if at is None else read_settings(bound, at, "at")
        if versus is not None and settings is None:
            raise ValueError(
                f"versus= needs settings of the term {self.terms_[number]!r} to compare with; give them as at=."
            )
        places: Placement | None = None
        shown = pd.DataFrame({"document": np.arange(bound.n)})
        here: np.ndarray | slice = slice(None)
        other: np.ndarray | None = None
        if settings is not None:
            shown, asked = settings, settings
            if versus is not None:
                against = read_settings(bound, versus, "versus", beside=settings)
                asked = pd.concat([settings, against], ignore_index=True)
            tell_unseen(bound, asked)
            distinct, which = distinct_settings(bound, asked)
            new = bound.read(Documents(len(distinct), distinct))
            places = bound.place(new, joint=len(distinct) <= MANY)
            here = which[: len(settings)]
            other = None if versus is None else which[len(settings) :]
        with computing(self.n_jobs):
            found = explanation.effect(number, places, level, here, other)
        shown = shown.rename(columns={name: f"{name}_at" for name in _RESULTS})
        parts = []
        for one in topics:
            table = pd.DataFrame({"term": self.terms_[number], "topic": one}, index=shown.index)
            table = pd.concat([table, shown], axis=1)
            for name, band in zip(("contrast", "share"), found, strict=True):
                table[name] = band.mean[:, one]
                table[f"{name}_low"] = band.low[:, one]
                table[f"{name}_high"] = band.high[:, one]
            parts.append(table)
        return pd.concat(parts, ignore_index=True)

    # How the questions are read.

    def _explanation(self) -> Explanation:
        check_is_fitted(self)
        if self.kernel_ is None:
            raise ValueError(
                "this model has no kernel, so there is no effect of side information to show; fit with kernel= and "
                "metadata=."
            )
        if len(self.components_) < 2:
            raise ValueError(
                "one topic has nothing to be compared with, so there are no effects on it; fit two topics or more."
            )
        known: Explanation | None = getattr(self, "_explained", None)
        if known is None:
            if self._draws is None:
                self._draws = self._draw()
            known = Explanation(self._bound_kernel, self._draws)
            self._explained: Explanation | None = known
        return known

    def _term_number(self, term: str | int | None) -> int:
        labels = self.terms_
        if term is None and len(labels) == 1:
            return 0
        if (
            isinstance(term, int | np.integer)
            and not isinstance(term, bool)
            and 0 <= term < len(labels)
        ):
            return int(term)
        if term in labels:
            return labels.index(str(term))
        assert self.kernel_ is not None
        by_column = [n for n, one in enumerate(_terms(self.kernel_)) if term in one.column_names()]
        if len(by_column) == 1:
            return by_column[0]
        raise ValueError(f"term must be one of {labels}, or its number; got {term!r}.")


def _check_level(level: Any) -> None:
    if not (is_real(level) and 0 < level < 1):
        raise ValueError(
            f"level must be a probability between 0 and 1, such as 0.9; got {level!r}."
        )


def _terms(kernel: Kernel) -> list[Kernel]:
    terms = list(kernel.terms) if isinstance(kernel, Sum) else [kernel]
    return [term.kernel if isinstance(term, Scaled) else term for term in terms]


def term_labels(kernel: Kernel) -> list[str]:
    """A name for each term of a kernel: its own, its columns, or what it is; no two the same."""
    terms = _terms(kernel)
    plain = [term.name or ", ".join(term.column_names()) or type(term).__name__ for term in terms]
    labels: list[str] = []
    for label, term in zip(plain, terms, strict=True):
        full = label if plain.count(label) == 1 else f"{type(term).__name__}({label})"
        twice = sum(one == full or one.startswith(f"{full} #") for one in labels)
        labels.append(f"{full} #{twice + 1}" if twice else full)
    return labels
