"""Whether one model is better than another: differences within folds, and what they say of a claim."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from experiments.jobs import Claim, Verdict

CONFIDENCE = 0.95


class Difference(NamedTuple):
    """Mean of paired differences, its standard error, and how far it may be off by chance.

    Examples
    --------
    >>> Difference.of([10.0, 12.0, 14.0], [11.0, 13.5, 15.0])
    Difference(mean=-1.2, error=0.17, noise=0.72)
    """

    mean: float
    error: float
    noise: float  # half of the 95 % interval of Student's t

    @classmethod
    def of(cls, first: Sequence[float], second: Sequence[float]) -> "Difference":
        """Of two models on the same folds; below zero where the first has the lower values."""
        values = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
        n = len(values)
        error = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
        return cls(float(values.mean()), error, error * _quantile(n))

    @property
    def sign(self) -> int:
        """-1 or 1 where the difference is beyond noise, else 0."""
        return int(np.sign(self.mean)) if abs(self.mean) > self.noise else 0

    def __repr__(self) -> str:
        return f"Difference(mean={self.mean:.2g}, error={self.error:.2g}, noise={self.noise:.2g})"

    def __str__(self) -> str:
        if np.isnan(self.mean):
            return "none"
        return f"{self.mean:+.1f} ± {self.error:.1f}{' *' if self.sign else ''}"


def _quantile(n: int) -> float:
    return float(t.ppf(0.5 + CONFIDENCE / 2, n - 1)) if n > 1 else np.inf


def verdict(differences: Sequence[Difference]) -> Verdict:
    """What differences on several sets say of the claim that the first model is lower.

    Examples
    --------
    >>> lower, higher, close = (Difference(mean, 1.0, 2.8) for mean in (-9.0, 9.0, 1.0))
    >>> verdict([lower, lower]), verdict([lower, close]), verdict([close, close]), verdict([higher, close])
    ('yes', 'partly', 'within noise', 'no')
    """
    signs = {difference.sign for difference in differences}
    if signs == {-1}:
        return "yes"
    if signs == {0}:
        return "within noise"
    return "partly" if -1 in signs else "no"


def claim_lower(text: str, by_corpus: Mapping[str, Difference], under: str = "") -> Claim:
    """The claim that a model has lower values than another, judged on each set."""
    differences = list(by_corpus.values())
    numbers = "; ".join(f"{corpus} {difference}" for corpus, difference in by_corpus.items())
    lower = sum(difference.sign < 0 for difference in differences)
    return Claim(text, verdict(differences), numbers, under, f"{lower} of {len(differences)}")
