"""Topic models that use everything known about the documents.

The names below load on first use, so that `import gptm` is light.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gptm import files, kernels, metrics, plots, report, words
    from gptm.corpus import Corpus
    from gptm.model import CTM, GPTM
    from gptm.persistence import load
    from gptm.selection import compare, cross_validate, search_components

_HOMES = {
    "CTM": "gptm.model",
    "Corpus": "gptm.corpus",
    "GPTM": "gptm.model",
    "compare": "gptm.selection",
    "cross_validate": "gptm.selection",
    "load": "gptm.persistence",
    "search_components": "gptm.selection",
}
_MODULES = ("files", "kernels", "metrics", "plots", "report", "words")

__all__ = [
    "CTM",
    "GPTM",
    "Corpus",
    "compare",
    "cross_validate",
    "files",
    "kernels",
    "load",
    "metrics",
    "plots",
    "report",
    "search_components",
    "words",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"gptm.{name}")
    else:
        raise AttributeError(f"module 'gptm' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
