"""Topics as people type them: by number or by name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gptm.model import GPTM


def typed_topic(model: "GPTM", text: str) -> int | str:
    """A number, or a name; digits are a number unless a topic has them for a name."""
    names = model.topic_names_ or ()
    return int(text) if text not in names and text.isdecimal() else text


def typed_topics(model: "GPTM", texts: Sequence[str]) -> list[int]:
    """Numbers of topics, or an error for one that the model does not have."""
    from gptm.tables import topic_numbers

    return topic_numbers(model.fitted_, [typed_topic(model, text) for text in texts])
