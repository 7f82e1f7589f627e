"""Which model, and how many topics: fitted to some documents, scored on the words of others.

One file per public function. They read the documents (`data`) and split them (`folds`), prepare the models
(`named_models`), fit and score (`fold_fits`), and return `results`, which print as tables (`score_tables`). What is
done is kept in a `ScoreStore`, so that an interrupted search goes on. Begin with `cross_validation`.
"""

from gptm.selection.alignment import Alignment, align
from gptm.selection.comparison import compare
from gptm.selection.components import search_components
from gptm.selection.cross_validation import cross_validate
from gptm.selection.results import Comparison, ComponentSearch, CrossValidation

__all__ = [
    "Alignment",
    "Comparison",
    "ComponentSearch",
    "CrossValidation",
    "align",
    "compare",
    "cross_validate",
    "search_components",
]
