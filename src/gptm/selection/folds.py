"""Folds: at random, with groups of documents kept together, or from the past to the future."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, ShuffleSplit, check_cv

from gptm._basics.errors import Argument, ArgumentError, InputError, Message
from gptm._basics.types import Array
from gptm._basics.validation import check_number, check_seed, is_real, is_whole
from gptm.selection.data import Data, read_groups, read_times

Fold = tuple[np.ndarray, np.ndarray]  # positions of the documents to fit to, and of those to score


def make_folds(
    cv: Any, data: Data, random_state: Any, groups: Any = None, by_time: Any = None
) -> list[Fold]:
    """Folds at random, with groups kept together, or in the order of time."""
    _check_one_order(groups, by_time)
    check_folds(cv, data)
    check_seed("random_state", random_state)
    if groups is not None:
        split = group_folds(cv, data, read_groups("groups", groups, data))
    elif by_time is not None:
        split = time_folds(cv, read_times(by_time, data))
    else:
        split = random_folds(cv, data, random_state)
    return checked_folds(split, data.n)


def make_split(
    share: float | int, data: Data, random_state: Any, groups: Any = None, by_time: Any = None
) -> list[Fold]:
    """One split into documents to fit to and documents to score, in the same ways."""
    _check_one_order(groups, by_time)
    check_seed("random_state", random_state)
    if by_time is None:
        _check_share(share, data.n if groups is None else None)
    if groups is not None:
        split = group_split(share, data, read_groups("groups", groups, data), random_state)
        return checked_folds([split], data.n)
    if by_time is not None:
        return checked_folds([time_split(share, read_times(by_time, data))], data.n)
    splitter = ShuffleSplit(1, test_size=share, random_state=random_state)
    return checked_folds(random_folds(splitter, data, random_state), data.n)


def random_folds(cv: Any, data: Data, random_state: Any) -> list[Fold]:
    """Folds of a number, at random, of a splitter, or as given."""
    if isinstance(cv, int | np.integer):
        cv = KFold(cv, shuffle=True, random_state=random_state)
    try:
        folds = list(check_cv(cv).split(np.zeros((data.n, 1)), data.y))
        return checked_folds(folds, data.n)
    except ArgumentError:
        raise
    except (TypeError, ValueError, IndexError) as error:
        if "groups" in str(error):
            remedy = Message("Name their column, as in ", Argument("groups", "author"), ".")
            raise ArgumentError("cv", "needs groups of documents here", cv, remedy) from error
        if _is_splitter(cv):
            raise
        expected = (
            "must be a number of folds, a splitter of scikit-learn, or a list of pairs of positions, of documents to "
            "fit to and of documents to score"
        )
        raise ArgumentError("cv", expected, cv) from None


def _is_splitter(cv: Any) -> bool:
    """Whether something makes folds; texts can be split, too."""
    return hasattr(cv, "split") and not isinstance(cv, str | bytes)


def group_folds(cv: Any, data: Data, groups: np.ndarray) -> list[Fold]:
    """Folds in which each group is held out as a whole; those of a number have about as many documents each."""
    n_groups = _several(groups)
    if isinstance(cv, int | np.integer):
        if n_groups < cv:
            raise ArgumentError("cv", f"must be at most the number of groups, {n_groups}", cv)
        cv = GroupKFold(cv)
    if not _is_splitter(cv):
        raise InputError(
            Argument("groups"),
            " needs a number of folds or a scikit-learn splitter as ",
            Argument("cv"),
            "; the folds themselves are there already.",
        )
    return list(cv.split(np.zeros((data.n, 1)), data.y, groups))


def _several(groups: np.ndarray) -> int:
    """The number of groups, or an error for a single one."""
    n_groups = int(groups.max()) + 1
    if n_groups < 2:
        raise ArgumentError(
            "groups",
            "must have at least two values, one to fit to and one to score",
            Message("one"),
            "Use another column, or none.",
        )
    return n_groups


def group_split(share: float | int, data: Data, groups: np.ndarray, random_state: Any) -> Fold:
    """One split that holds out whole groups: a share of the groups, or a number of them."""
    _several(groups)
    splitter = GroupShuffleSplit(1, test_size=share, random_state=random_state)
    train, test = next(splitter.split(np.zeros((data.n, 1)), data.y, groups))
    return train, test


def time_folds(cv: Any, times: Array) -> list[Fold]:
    """As many folds: each scores the documents that follow in time, after a fit to all earlier ones.

    Documents are cut into cv + 1 parts, about as large as each other. Documents of the same time stay together.
    """
    if not isinstance(cv, int | np.integer):
        raise ArgumentError("cv", "must be a number of folds where time decides", cv)
    values, counts = np.unique(times[~np.isnan(times)], return_counts=True)
    few = (
        "Use another column."
        if len(values) < 3
        else Message("Use fewer folds: ", Argument("cv", len(values) - 1), ".")
    )
    if len(values) <= cv:
        raise ArgumentError(
            "by_time",
            f"must have at least {cv + 1} different values for {cv} folds",
            Message(f"{len(values)}"),
            few,
        )
    starts = [*(values[i] for i in _cuts(counts, int(cv) + 1)), np.inf]
    return [
        (np.flatnonzero(times < start), np.flatnonzero((times >= start) & (times < end)))
        for start, end in pairwise(starts)
    ]


def _cuts(counts: np.ndarray, n_parts: int) -> list[int]:
    """Where parts 2, 3, ... of a sequence begin, such that the counts in them are about equal and none is empty."""
    before = np.concatenate([[0], np.cumsum(counts)])
    cuts: list[int] = []
    for part in range(1, n_parts):
        first = (cuts[-1] if cuts else 0) + 1
        last = len(counts) - (n_parts - part)
        wanted = before[-1] * part / n_parts
        cuts.append(first + int(np.abs(before[first : last + 1] - wanted).argmin()))
    return cuts


def time_split(share: float | int, times: Array) -> Fold:
    """One split: the latest documents are held out, a share or a number of them, and those of the same time."""
    present = np.sort(times[~np.isnan(times)])
    whole = isinstance(share, int | np.integer)
    wanted = int(share) if whole else int(np.ceil(share * len(present)))
    if not 0 < wanted < len(present):
        raise ArgumentError(
            "test", f"must leave documents to fit to; {len(present)} have a time", share
        )
    start = present[len(present) - wanted]
    if start == present[0]:
        raise ArgumentError(
            "by_time", "must have a value before those of the held-out documents", start
        )
    return np.flatnonzero(times < start), np.flatnonzero(times >= start)


def check_folds(cv: Any, data: Data) -> None:
    """An error for a number of folds that documents cannot be split into; anything else passes."""
    if isinstance(cv, int | np.integer):
        check_number("cv", cv, least=2, integer=True)
        if cv > data.n:
            raise ArgumentError("cv", f"must be at most the number of documents, {data.n}", cv)


def checked_folds(split: Iterable[Fold], n: int) -> list[Fold]:
    """The same as positions; an error if there is nothing to fit to or nothing to score."""
    positions = np.arange(n)
    folds = [(positions[train], positions[test]) for train, test in split]
    if not folds or any(len(part) == 0 for fold in folds for part in fold):
        sizes = [(len(train), len(test)) for train, test in folds]
        raise ArgumentError(
            "cv",
            "must give at least one fold, with documents to fit to and documents to score",
            Message(f"folds of sizes {sizes}"),
        )
    return folds


def _check_share(share: Any, n: int | None) -> None:
    """A share to hold out, or a number; of n documents, or of groups, which nobody counted yet."""
    most = np.inf if n is None else n - 1
    if not (1 <= share <= most if is_whole(share) else is_real(share) and 0 < share < 1):
        limit = "" if n is None else f" from 1 to {n - 1:,}"
        expected = f"must be a share between 0 and 1, such as 0.2, or a number{limit}, to hold out"
        raise ArgumentError("test", expected, share)


def _check_one_order(groups: Any, by_time: Any) -> None:
    if groups is not None and by_time is not None:
        raise InputError(
            "folds keep groups together or follow time: pass ",
            Argument("groups", ...),
            " or ",
            Argument("by_time", ...),
            ", not both.",
        )


def described_folds(n: int, groups: Any, by_time: Any) -> str:
    """What kind of cross-validation it is, in words.

    Examples
    --------
    >>> described_folds(5, "author", None)
    '5-fold cross-validation by author'
    >>> described_folds(4, None, "date")
    '4-fold cross-validation from past to future by date'
    """
    return f"{n}-fold cross-validation{described_order(groups, by_time)}"


def described_order(groups: Any, by_time: Any) -> str:
    """How documents were split, as an ending; empty if at random."""
    if groups is not None:
        return f" by {groups if isinstance(groups, str) else 'groups'}"
    if by_time is not None:
        return f" from past to future{f' by {by_time}' if isinstance(by_time, str) else ''}"
    return ""
