"""Topic models that use everything known about the documents.

The names below load on first use, so that `import gptm` is light.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gptm import corpus, files, kernels, metrics, plots, report
    from gptm.corpus import Corpus
    from gptm.model import CTM, GPTM
    from gptm.selection import compare, cross_validate, search_components
    from gptm.storage.model_file import load

_HOMES = {
    "CTM": "gptm.model",
    "Corpus": "gptm.corpus",
    "GPTM": "gptm.model",
    "compare": "gptm.selection",
    "cross_validate": "gptm.selection",
    "load": "gptm.storage.model_file",
    "search_components": "gptm.selection",
}
_MODULES = ("corpus", "files", "kernels", "metrics", "plots", "report")

__all__ = [
    "CTM",
    "GPTM",
    "Corpus",
    "compare",
    "corpus",
    "cross_validate",
    "files",
    "kernels",
    "load",
    "metrics",
    "plots",
    "report",
    "search_components",
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
