"""Whether somebody passed a fitted model, for functions that are no methods of it."""

from sklearn.utils.validation import check_is_fitted

from gptm._basics.errors import ArgumentError, Message
from gptm.model.estimator import GPTM


def check_fitted(model: object, name: str = "model") -> None:
    """An error for anything but a fitted GPTM or CTM."""
    if not isinstance(model, GPTM):
        got = Message(f"an object of type {type(model).__name__}")
        raise ArgumentError(
            name, "must be a fitted GPTM or CTM", got, "gptm.load reads one from its file."
        )
    check_is_fitted(model)


def check_trained_on(model: GPTM, n_documents: int) -> None:
    """An error unless a corpus has as many documents as the model was fitted to.

    Models that went on learning no longer have them all, and are not checked.
    """
    fitted = model.fitted_
    if fitted.stream is None and len(fitted.lengths) != n_documents:
        raise ArgumentError(
            "corpus",
            f"must hold the {len(fitted.lengths):,} training documents",
            Message(f"{n_documents:,}"),
            "Pass the corpus that the model was fitted to.",
        )
