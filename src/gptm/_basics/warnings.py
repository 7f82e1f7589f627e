"""Warnings that point at the user's own line."""

import sys
import warnings

from gptm._basics.errors import Message

_OURS = ("gptm", "sklearn", "joblib")


def warn(text: str | Message, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the first caller outside of this package and of scikit-learn.

    The warning carries its message as `said`, with arguments as values.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    warning = category(str(text))
    warning.said = Message(text)  # type: ignore[attr-defined]
    warnings.warn(warning, stacklevel=level)
