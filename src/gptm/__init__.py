"""Topic models that use what you know about your documents.

The names below load on first use, so that `import gptm` is light.
"""

from typing import TYPE_CHECKING

from gptm._basics.lazy import lazy_names
from gptm._basics.version import VERSION

if TYPE_CHECKING:
    from gptm import corpus, files, kernels, metrics, plots, report
    from gptm.corpus import Corpus, open_corpus
    from gptm.findings import (
        check_residuals,
        document_intrusion,
        permutation_test,
        score_intrusion,
        stability,
        word_intrusion,
    )
    from gptm.model import CTM, GPTM, load, load_corpus
    from gptm.questions import split_sample_effects, topics_over_time
    from gptm.selection import align, compare, cross_validate, search_components

__version__ = VERSION

__all__ = [
    "CTM",
    "GPTM",
    "Corpus",
    "align",
    "check_residuals",
    "compare",
    "corpus",
    "cross_validate",
    "document_intrusion",
    "files",
    "kernels",
    "load",
    "load_corpus",
    "metrics",
    "open_corpus",
    "permutation_test",
    "plots",
    "report",
    "score_intrusion",
    "search_components",
    "split_sample_effects",
    "stability",
    "topics_over_time",
    "word_intrusion",
]

_HOMES = {
    "CTM": "gptm.model",
    "Corpus": "gptm.corpus",
    "GPTM": "gptm.model",
    "align": "gptm.selection",
    "check_residuals": "gptm.findings",
    "compare": "gptm.selection",
    "cross_validate": "gptm.selection",
    "document_intrusion": "gptm.findings",
    "load": "gptm.model",
    "load_corpus": "gptm.model",
    "open_corpus": "gptm.corpus",
    "permutation_test": "gptm.findings",
    "score_intrusion": "gptm.findings",
    "search_components": "gptm.selection",
    "split_sample_effects": "gptm.questions",
    "stability": "gptm.findings",
    "topics_over_time": "gptm.questions",
    "word_intrusion": "gptm.findings",
}
_MODULES = ("corpus", "files", "kernels", "metrics", "plots", "report")
__getattr__, __dir__ = lazy_names(__name__, _HOMES | {name: f"gptm.{name}" for name in _MODULES})
