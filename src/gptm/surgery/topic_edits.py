"""Topics with names, merged, dropped and in another order: each a new fit, with a sentence in its history."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gptm._basics.errors import ArgumentError, Message
from gptm._basics.prose import listed
from gptm._basics.validation import check_choice
from gptm.fitted import Fitted
from gptm.surgery.hierarchy import clusters
from gptm.surgery.regroup import origin_of, regroup
from gptm.tables import topic_numbers, topic_shares

Names = list[str | None]


def name_topics(fitted: Fitted, names: Mapping[Any, str | None]) -> Fitted:
    """With names for some topics, which are given by number or by the name they have; None takes a name away."""
    if not isinstance(names, Mapping) or not names:
        expected = "must be a dict from topics to their names, such as {3: 'oil'}"
        raise ArgumentError("names", expected, names)
    numbers = [topic_numbers(fitted, topic)[0] for topic in names]
    if len(set(numbers)) < len(numbers):
        raise ArgumentError("names", "must name each topic once", names)
    given = fitted.names
    for number, name in zip(numbers, names.values(), strict=True):
        given[number] = checked_name(name)
    _check_distinct(given)
    named = [f"topic {number} {given[number]!r}" for number in numbers if given[number]]
    without = [str(number) for number in numbers if not given[number]]
    done = [f"Named {listed(named)}."] if named else []
    if without:
        which = "name of topic" if len(without) == 1 else "names of topics"
        done.append(f"Removed the {which} {listed(without)}.")
    return _with(fitted, given, " ".join(done))


def merge_topics(fitted: Fitted, topics: Sequence[Any], name: str | None = None) -> Fitted:
    """With some topics as one, at the place of the first of them."""
    numbers = sorted(topic_numbers(fitted, topics))
    if len(numbers) < 2:
        raise ArgumentError("topics", "must be two or more topics to merge", topics)
    groups = [[number] for number in range(fitted.K) if number not in numbers[1:]]
    groups[numbers[0]] = numbers
    new_name = merged_name(fitted, numbers) if name is None else checked_name(name)
    done = f"Merged topics {shown(fitted, numbers)} into topic {numbers[0]}{_bracketed(new_name)}."
    return _grouped(fitted, groups, {numbers[0]: new_name}, done)


def drop_topics(fitted: Fitted, topics: Any) -> Fitted:
    """Without some topics; the proportions of the others are scaled up to sum to one."""
    numbers = topic_numbers(fitted, topics)
    left = [[number] for number in range(fitted.K) if number not in numbers]
    if not left:
        raise ArgumentError("topics", f"must leave one of the {fitted.K} topics", topics)
    what = "topic" if len(numbers) == 1 else "topics"
    return _grouped(fitted, left, {}, f"Dropped {what} {shown(fitted, numbers)}.")


def reorder_topics(fitted: Fitted, order: Sequence[Any] | None, by: str | None) -> Fitted:
    """With topics in a given order, or the largest first."""
    if (order is None) == (by is None):
        given = Message("both" if by is not None else "neither")
        raise ArgumentError("order", "or by='share' must be given, and not both", given)
    if by is not None:
        check_choice("by", by, ("share",))
    if order is None:
        numbers = np.argsort(-topic_shares(fitted.proportions), kind="stable").tolist()
    else:
        numbers = topic_numbers(fitted, order)
    if len(numbers) != fitted.K:
        expected = f"must list each of the {fitted.K} topics once"
        raise ArgumentError("order", expected, order, "To leave topics out, drop them.")
    how = f": {', '.join(map(str, numbers))}" if by is None else " by their shares, largest first"
    return _grouped(fitted, [[number] for number in numbers], {}, f"Reordered topics{how}.")


def reduce_to(fitted: Fitted, n: int) -> Fitted:
    """With the topics that are most alike merged, step by step, until there are n."""
    groups = clusters(fitted, n)
    names: dict[int, str | None] = {}
    done = []
    for place, group in enumerate(groups):
        if len(group) > 1:
            names[place] = merged_name(fitted, group)
            done.append(f"{shown(fitted, group)} into topic {place}{_bracketed(names[place])}")
    if not done:
        return fitted
    return _grouped(fitted, groups, names, f"Reduced to {n} topics: merged {'; '.join(done)}.")


def restore_topics(fitted: Fitted) -> Fitted:
    """With the topics that inference found; names of those that are whole stay."""
    if fitted.origin is None:
        return fitted
    names: Names = [None] * fitted.origin.fitted.K
    for name, group in zip(fitted.names, fitted.origin.members, strict=True):
        if len(group) == 1:
            names[group[0]] = name
    return replace(
        fitted.origin.fitted,
        topic_names=_or_none(names),
        history=(*fitted.history, "Restored the topics of the fit."),
    )


def _grouped(
    fitted: Fitted, groups: list[list[int]], names: Mapping[int, str | None], done: str
) -> Fitted:
    """With topics that are groups of the present ones; names of groups by their new numbers, others as they are."""
    old, old_names = origin_of(fitted), fitted.names
    given = [
        names[place] if place in names else old_names[group[0]]
        for place, group in enumerate(groups)
    ]
    _check_distinct(given)
    members = tuple(
        tuple(sorted(part for topic in group for part in old.members[topic])) for group in groups
    )
    history = (*fitted.history, done)
    grouped = regroup(old.fitted, members)
    coherence = None if fitted.coherence is None else _kept_coherence(fitted, grouped, groups)
    return replace(grouped, topic_names=_or_none(given), history=history, coherence=coherence)


def _kept_coherence(fitted: Fitted, grouped: Fitted, groups: list[list[int]]) -> Any:
    """Topics that stay as they are keep their coherence, also where the counts are no longer there."""
    assert fitted.coherence is not None
    assert grouped.coherence is not None
    single = [len(group) == 1 for group in groups]
    return np.where(single, fitted.coherence[[group[0] for group in groups]], grouped.coherence)


# Names


def checked_name(name: Any) -> str | None:
    """A name without space around it; None for no name, or an error."""
    if name is not None and not isinstance(name, str):
        raise ArgumentError("name", "must be a text", name)
    return " ".join(name.split()) or None if name is not None else None


def merged_name(fitted: Fitted, numbers: list[int]) -> str | None:
    """The names of the parts, where they have any.

    >>> from types import SimpleNamespace
    >>> merged_name(SimpleNamespace(names=["oil", None, "gas"]), [0, 1, 2])
    'oil + gas'
    """
    names = fitted.names
    return " + ".join(name for number in numbers if (name := names[number])) or None


def shown(fitted: Fitted, numbers: list[int]) -> str:
    """Topics in a sentence, by number and name."""
    names = fitted.names
    return listed(f"{number}{_bracketed(names[number])}" for number in numbers)


def _bracketed(name: str | None) -> str:
    return f" ({name})" if name else ""


def _check_distinct(names: Names) -> None:
    given = [name for name in names if name is not None]
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        expected = "must be different for different topics"
        raise ArgumentError("names", expected, Message(f"{listed(map(repr, twice))} twice"))
    # Whoever then says 'drop 1' on the command line would drop another topic than the one with that number.
    numbers = [name for name in given if name.isdecimal() and int(name) < len(names)]
    if numbers:
        expected = "must not be numbers of topics"
        remedy = f"Write a word beside it, as in 'year {numbers[0]}'."
        raise ArgumentError("names", expected, Message(listed(map(repr, numbers))), remedy)


def _or_none(names: Names) -> Names | None:
    return names if any(names) else None


def _with(fitted: Fitted, names: Names, done: str) -> Fitted:
    return replace(fitted, topic_names=_or_none(names), history=(*fitted.history, done))
