"""What is measured: corpora and numbers of topics, the libraries that take part, and their settings.

Peers run at what suits them best on two cores: so many sweeps, iterations or passes that more bring little.
"""

from typing import Any, NamedTuple

from benchmarks.peers.corpora import SMALL
from benchmarks.peers.runners import RUNNERS

THREADS = 2
OURS = "gptm"
LIBRARIES = tuple(RUNNERS)


class Case(NamedTuple):
    """A corpus and a number of topics, with the options of each library that takes part."""

    corpus: str
    K: int
    seeds: int
    options: dict[str, dict[str, Any]]
    minutes: float  # a guess for one seed of all libraries, scoring included, on two idle cores

    @property
    def name(self) -> str:
        return f"{self.corpus.removesuffix('5k')}-{self.K}"


_SMALL = {
    "gptm": {},
    "tomotopy": {"sweeps": 1000},
    "topica": {"sweeps": 1000},
    "scikit-learn": {"max_iter": 50},
    "gensim": {"passes": 20},
    "stm": {"max_iter": 100},
}
_QUARTER = {
    "gptm": {},
    "tomotopy": {"sweeps": 500},
    "topica": {"sweeps": 500},
    "scikit-learn": {"max_iter": 30},
    "gensim": {"passes": 20},
    "tomotopy-ctm": {"sweeps": 100},
    "stm": {"max_iter": 150},
}
_FULL = {
    "gptm": {},
    "tomotopy": {"sweeps": 500},
    "topica": {"sweeps": 500},
    "scikit-learn": {"max_iter": 20},
    "gensim": {"passes": 10},
    "stm": {"max_iter": 3},
}

CASES = {
    case.name: case
    for case in (
        *(Case(name, 3, 20, _SMALL, 0.6) for name in SMALL),
        Case("quarter5k", 20, 5, _QUARTER, 3),
        Case("nips", 20, 3, _FULL, 4),
        Case("nips", 50, 3, _FULL, 5),
        Case("full5k", 20, 3, _FULL, 5),
        Case("full5k", 50, 3, _FULL, 6),
        Case("full5k", 100, 3, _FULL, 9),
        Case("full20k", 50, 3, _FULL, 8),
    )
}
QUICK = ("dif100-3", "quarter-20")


def chosen(names: str | None, available: tuple[str, ...], kind: str) -> list[str]:
    """The names in a list with commas, or all.

    >>> chosen("b,a", ("a", "b", "c"), "letter")
    ['b', 'a']
    """
    if names is None:
        return list(available)
    wanted = names.split(",")
    for name in wanted:
        if name not in available:
            raise ValueError(
                f"there is no {kind} {name!r}; expected some of {', '.join(available)}."
            )
    return wanted
