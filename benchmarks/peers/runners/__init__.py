"""How each library is driven. A runner is a module with the same few names.

- `PACKAGE`: the distribution whose version is told; `WARM_UP`: options that make a fit short.
- `fit(X, K, seed, threads, options, recorder)`: a fitted model. It brings the counts into the library's form, calls
  `recorder.start`, and `recorder.note` on the way. `topics(model)`: (K, V); `facts(model)`: how it ended.
- `INFERENCE`: settings of the inference from the quickest to the most thorough, which is the library's own theta;
  `prepare_new(model, X)` and `infer(model, documents, threads, setting)`: (M, K) mixtures of new documents.
"""

from importlib import import_module
from types import ModuleType

RUNNERS = {
    "gptm": "ours",
    "tomotopy": "tomotopy_lda",
    "tomotopy-ctm": "tomotopy_ctm",
    "topica": "topica_lda",
    "scikit-learn": "sklearn_lda",
    "gensim": "gensim_lda",
    "stm": "stm",
}


def runner(library: str) -> ModuleType:
    """The module that drives a library; imports the library."""
    return import_module(f"{__name__}.{RUNNERS[library]}")
