"""Filled sheets of human coders: how often they found the intruder, topic by topic."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from gptm._basics.errors import ArgumentError, InputError, Message
from gptm._basics.validation import check_level
from gptm.findings.intrusion import OPTION
from gptm.views.shown_table import table_card, table_lines


@dataclass(frozen=True, repr=False, eq=False)
class IntrusionScores:
    """How often coders found the intruder; `print` shows it.

    Attributes
    ----------
    table : DataFrame
        One row per topic: its words; `answers`, `correct`, `precision` = correct / answers; `low` and `high`, Wilson's
        interval of the precision.
    precision, low, high : float
        The same for all topics together.
    chance : float
        The precision of a coder who guesses.
    p_value : float
        Of a binomial test: coders guess, against the alternative that they do better.
    agreement : float
        Krippendorff's alpha of the answers: 1 if all coders agree, 0 if as by chance; NaN for one coder.
    answers : DataFrame
        One row per coder and question: the answer, the key, and whether it is correct. Questions without an answer
        are left out; `missing` is their number.
    """

    answers: pd.DataFrame
    words: dict[int, str]
    chance: float
    missing: int
    level: float

    @property
    def table(self) -> pd.DataFrame:
        rows = []
        for topic, words in self.words.items():
            correct = self.answers.loc[self.answers["topic"] == topic, "correct"]
            rows.append({"topic": topic, "words": words, **self._summary(correct)})
        return pd.DataFrame(rows).set_index("topic")

    def _summary(self, correct: pd.Series) -> dict[str, float]:
        n, right = len(correct), int(correct.sum())
        found: dict[str, float] = {"answers": n, "correct": right}
        if n == 0:
            return found | {"precision": np.nan, "low": np.nan, "high": np.nan}
        interval = binomtest(right, n).proportion_ci(self.level, method="wilson")
        return found | {"precision": right / n, "low": interval.low, "high": interval.high}

    @property
    def precision(self) -> float:
        return float(self._summary(self.answers["correct"])["precision"])

    @property
    def low(self) -> float:
        return float(self._summary(self.answers["correct"])["low"])

    @property
    def high(self) -> float:
        return float(self._summary(self.answers["correct"])["high"])

    @property
    def p_value(self) -> float:
        n, right = len(self.answers), int(self.answers["correct"].sum())
        return float(binomtest(right, n, self.chance, alternative="greater").pvalue)

    @property
    def agreement(self) -> float:
        return nominal_alpha(self.answers.pivot(index="coder", columns="question", values="answer"))

    @property
    def title(self) -> str:
        """How often the intruder was found, in a line."""
        n = len(self.answers)
        return (
            f"{100 * self.precision:.0f} % of {n} answers found the intruder "
            f"({100 * self.level:g} % interval {100 * self.low:.0f} to {100 * self.high:.0f} %; guessing "
            f"{100 * self.chance:.0f} %, p = {self.p_value:.2g})"
        )

    @property
    def notes(self) -> list[str]:
        """What is missing, and how much the coders agree."""
        coders = self.answers["coder"].nunique()
        notes = []
        if self.missing:
            what = "question has" if self.missing == 1 else "questions have"
            notes.append(f"{self.missing} {what} no answer and no part in the scores")
        if coders > 1:
            notes.append(f"{coders} coders, Krippendorff's alpha {self.agreement:.2f}")
        return notes

    def _worst_first(self) -> pd.DataFrame:
        return self.table.sort_values("precision", kind="stable")

    def __repr__(self) -> str:
        return "\n".join([self.title, *self.notes, *table_lines(self._worst_first())])

    def _repr_html_(self) -> str:
        return table_card(self.title, self._worst_first(), self.notes)


def score_intrusion(filled: Any, key: Any, *, level: float = 0.9) -> IntrusionScores:
    """Score the sheets that coders filled in.

    Parameters
    ----------
    filled : DataFrame or path; or a list or dict (by coder) of them
        Sheets of `word_intrusion` or `document_intrusion` with answers: the number of an option, or its text. Rows
        may be in another order.
    key : DataFrame or path
        The key of the same sheet.
    level : float, default=0.9
        Level of the intervals.

    Returns
    -------
    IntrusionScores
        With `precision` of all topics and `table` of each.

    Examples
    --------
    >>> from gptm import CTM, Corpus, score_intrusion, word_intrusion
    >>> texts = ["green tea, black tea, a cup of tea", "army and navy at war, army, navy"] * 20
    >>> found = word_intrusion(CTM(2, random_state=0).fit(Corpus.from_texts(texts)), n_words=2)
    >>> filled = found.sheet.assign(answer=found.key["answer"])  # by somebody who knows
    >>> score_intrusion(filled, found.key).precision
    1.0
    """
    check_level(level)
    answers = _read(key, "key", ("question", "topic", "answer", "options"))
    answers = answers.astype({"question": int, "topic": int, "answer": int, "options": int})
    if isinstance(filled, Mapping):
        coders = {str(name): sheet for name, sheet in filled.items()}
    elif isinstance(filled, Sequence) and not isinstance(filled, str):
        coders = {_name(sheet, number): sheet for number, sheet in enumerate(filled, 1)}
    else:
        coders = {_name(filled, 1): filled}
    if not coders:
        raise ArgumentError("filled", "must be at least one sheet", filled)
    rows, missing = [], 0
    for coder, sheet in coders.items():
        table = _read(sheet, "filled", ("question", "answer"))
        given = _answers(table, set(answers["question"]), coder)
        missing += len(answers) - len(given)
        for question in answers.itertuples():
            if question.question in given:
                rows.append(
                    {
                        "coder": coder,
                        "question": question.question,
                        "topic": question.topic,
                        "answer": given[question.question],
                        "key": question.answer,
                        "correct": given[question.question] == question.answer,
                    }
                )
    if not rows:
        raise InputError("no question has an answer. Fill in the column 'answer'.")
    words = answers.groupby("topic")["words"].first() if "words" in answers else {}
    named = {int(k): str(dict(words).get(k, "")) for k in sorted(answers["topic"].unique())}
    chance = float((1.0 / answers["options"]).mean())
    return IntrusionScores(pd.DataFrame(rows), named, chance, missing, level)


def _name(sheet: Any, number: int) -> str:
    return os.fspath(sheet) if isinstance(sheet, str | os.PathLike) else f"coder {number}"


def _read(source: Any, name: str, needed: tuple[str, ...]) -> pd.DataFrame:
    """A table from a file, as texts, or as it is."""
    if isinstance(source, pd.DataFrame):
        table = source
    elif isinstance(source, str | os.PathLike):
        # Spreadsheet programs may write other separators.
        try:
            table = pd.read_csv(
                source,
                dtype=str,
                keep_default_na=False,
                sep=None,
                engine="python",
                encoding="utf-8-sig",
            )
        except (ValueError, csv.Error) as error:  # of pandas, too, and of letters
            why = Message(f"{os.fspath(source)}, which cannot be read ({error})")
            raise ArgumentError(name, "must be a CSV file", why) from None
    else:
        raise ArgumentError(
            name, "must be a table or a CSV file; or several of them for filled", source
        )
    absent = [column for column in needed if column not in table]
    if absent:
        columns = ", ".join(map(repr, table.columns))
        raise ArgumentError(
            name, f"must have the columns {', '.join(map(repr, needed))}; it has {columns}"
        )
    return table


def _answers(table: pd.DataFrame, questions: set[int], coder: str) -> dict[int, int]:
    """Numbers of options by question, without those that are left open."""
    options = [name for name in table if str(name).startswith(OPTION)]
    given: dict[int, int] = {}
    for _, row in table.iterrows():
        number = _whole(row["question"])
        if number not in questions or number is None:
            raise InputError(f"{coder}: there is no question {row['question']!r} in the key.")
        text = "" if pd.isna(row["answer"]) else str(row["answer"]).strip()
        if not text:
            continue
        if number in given:
            raise InputError(f"{coder}: question {number} has two answers.")
        shown = [_plain(row[name]) for name in options]
        choice = _whole(text)
        if choice is not None and 1 <= choice <= max(len(options), 1):
            given[number] = choice
        elif _plain(text) in shown:
            given[number] = shown.index(_plain(text)) + 1
        else:
            raise InputError(
                f"{coder}: the answer to question {number} must be a number from 1 to {len(options)}, or the option "
                f"itself; got {text!r}."
            )
    return given


def _whole(value: Any) -> int | None:
    """A whole number, however it is written; None for anything else."""
    try:
        number = float(str(value).strip())
    except ValueError:
        return None
    return int(number) if number == int(number) else None


def _plain(value: Any) -> str:
    return str(value).strip().removeprefix("'").casefold()


def nominal_alpha(answers: pd.DataFrame) -> float:
    """Krippendorff's alpha of names, from a table of coders by questions with gaps.

    Examples
    --------
    >>> nominal_alpha(pd.DataFrame([[1, 2, 3], [1, 2, 3]]))
    1.0
    """
    pairs: dict[tuple[Any, Any], float] = {}
    for question in answers:
        values = answers[question].dropna().tolist()
        for i, a in enumerate(values):
            for j, b in enumerate(values):
                if i != j:
                    pairs[a, b] = pairs.get((a, b), 0.0) + 1.0 / (len(values) - 1)
    total = sum(pairs.values())
    if total == 0:
        return float("nan")
    margins: dict[Any, float] = {}
    for (a, _), weight in pairs.items():
        margins[a] = margins.get(a, 0.0) + weight
    observed = sum(weight for (a, b), weight in pairs.items() if a != b)
    expected = (total**2 - sum(m**2 for m in margins.values())) / (total - 1)
    return 1.0 if observed == 0 else float(1.0 - observed / expected)
