"""Whether the machine can hold so many topics."""

from gptm._basics.memory import check_bytes

_COVARIANCE = 60  # bytes for each pair of topics, at the peak of a decomposition
_WORDS = 16  # bytes for each word of a topic: its probability and its count


def check_topics_fit(K: int, V: int) -> None:
    """An error at once, and not after a long start, where K topics of V words cannot be held.

    Examples
    --------
    >>> from gptm.inference.topic_memory import check_topics_fit
    >>> check_topics_fit(100, 20_000)
    """
    what = f"{K:,} topics of {V:,} words have a covariance of all their pairs"
    check_bytes(_COVARIANCE * K**2 + _WORDS * K * V, what, "Fit fewer topics.")
