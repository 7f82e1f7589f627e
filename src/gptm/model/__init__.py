"""The estimators: GPTM, and CTM as the case without a kernel."""

from gptm.model.estimator import CTM, GPTM, load, load_corpus

__all__ = ["CTM", "GPTM", "load", "load_corpus"]
