"""The estimators: GPTM, and CTM as the case without a kernel.

`estimator` holds settings and one `Fitted`, and asks functions for all else: `fitting` and `updating` for a fit,
`predicting` for new documents, `answering` for what questions need beyond a fit. `Settings` are the parameters as one
frozen value. Begin with `fitting`, which lists the steps of a fit.
"""

from gptm.model.ctm import CTM
from gptm.model.estimator import GPTM
from gptm.model.stored import load, load_corpus

__all__ = ["CTM", "GPTM", "load", "load_corpus"]
