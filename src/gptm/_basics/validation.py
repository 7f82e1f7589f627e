"""Checks of what users pass in. Each message says what was expected, what arrived, what to do."""

from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from gptm._basics.types import Array
from gptm.corpus import Corpus


def read_counts(estimator: Any, X: Any, *, reset: bool) -> csr_matrix:
    """Counts as a canonical CSR matrix of floats; `reset` when they are the training counts.

    Sets `n_features_in_` and, for a DataFrame or a corpus, `feature_names_in_`; later matrices must agree.
    """
    checks: dict[str, Any] = {
        "accept_sparse": "csr",
        "dtype": np.float64,
        "ensure_non_negative": True,
    }
    try:
        if isinstance(X, Corpus):
            counts = check_array(X.counts, estimator=estimator, input_name="X", **checks)
            _agree_on_vocabulary(estimator, X, reset)
        else:
            counts = validate_data(estimator, X, reset=reset, **checks)
    except ValueError as error:
        raise ValueError(f"{error}\n{_hint(str(error))}") from error
    # The training counts stay with the model, whatever becomes of the caller's.
    canonical = csr_matrix(counts, copy=reset)
    if not (canonical.has_canonical_format and canonical.data.all()):
        canonical = canonical if reset else canonical.copy()
        canonical.sum_duplicates()
        canonical.eliminate_zeros()
    return canonical


def _agree_on_vocabulary(estimator: Any, corpus: Corpus, reset: bool) -> None:
    """For a corpus what `validate_data` does for arrays and DataFrames."""
    if reset:
        estimator.n_features_in_ = corpus.shape[1]
        if corpus.vocabulary is not None:
            estimator.feature_names_in_ = corpus.vocabulary
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    name, expected = type(estimator).__name__, estimator.n_features_in_
    if corpus.shape[1] != expected:
        raise ValueError(
            f"X has {corpus.shape[1]} features, but {name} expects {expected} features."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None or corpus.vocabulary is None:
        return
    differ = np.flatnonzero(np.asarray(fitted) != corpus.vocabulary)
    if len(differ):
        first = differ[0]
        raise ValueError(
            f"the features of X are other words than {name} was fitted with: number {first} is "
            f"{corpus.vocabulary[first]!r}, expected {fitted[first]!r}."
        )


def _hint(message: str) -> str:
    """What to do about scikit-learn's complaint."""
    if "egative" in message:
        return "Expected counts of words, documents x words, none below zero; pass raw counts."
    if "NaN" in message or "infinity" in message:
        return "Expected finite counts; put 0 where a word does not occur."
    if "0 feature" in message or "0 sample" in message:
        return "Expected a matrix of counts, documents x words, with at least one of each."
    if "feature" in message:
        return (
            "Expected documents x words with the vocabulary of the training counts; use the same vectoriser, or "
            "Corpus.from_texts(texts, vocabulary=corpus.vocabulary)."
        )
    return "Expected a matrix of counts, documents x words, or a gptm.Corpus."


def is_real(value: Any) -> bool:
    """Whether a value is a number, Python's or numpy's; truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """A parameter that must be one of a few words."""
    if value not in choices:
        options = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {options}; got {value!r}.")


def check_number(name: str, value: Any, *, least: float, integer: bool = False) -> None:
    """A parameter that must be a number, at least `least`."""
    kind: Any = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    wrong_kind = not isinstance(value, kind) or isinstance(value, bool)
    if wrong_kind or not np.isfinite(value) or value < least:
        expected = "an integer" if integer else "a number"
        raise ValueError(f"{name} must be {expected} of at least {least}; got {value!r}.")


def check_truth(name: str, value: Any) -> None:
    """A parameter that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_n_jobs(n_jobs: Any) -> None:
    """A number of threads as in scikit-learn: None, or an integer that is not 0."""
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise ValueError(
            f"n_jobs must be None, a number of threads, or -1 for all processors; got {n_jobs!r}."
        )


def check_callback(callback: Any) -> None:
    """A function, or none."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of (iteration, state); got {callback!r}.")


def check_init(init: Any, n_components: int, n_words: int) -> str | Array:
    """The name of a start, or topics (K, V) that can serve as one."""
    if isinstance(init, str):
        check_choice("init", init, ("gibbs", "spectral", "random"))
        return init
    try:
        topics = np.asarray(init, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"init must be 'gibbs', 'spectral', 'random' or an array of topics; got {init!r}."
        ) from error
    if topics.shape != (n_components, n_words):
        raise ValueError(
            f"init as an array must have one row per topic and one column per word: expected "
            f"{(n_components, n_words)}, got {topics.shape}."
        )
    if not np.isfinite(topics).all() or (topics < 0).any() or (topics.sum(1) <= 0).any():
        raise ValueError(
            "init as an array must hold finite non-negative weights, with at least one positive per topic."
        )
    return topics


def checked_quantiles(given: Any) -> list[float]:
    """Probabilities of quantiles, such as (0.05, 0.95)."""
    found = [given] if is_real(given) else list(given)
    if not found or not all(is_real(one) and 0 < one < 1 for one in found):
        raise ValueError(
            f"quantiles must be probabilities between 0 and 1, such as (0.05, 0.95); got {given!r}."
        )
    return [float(one) for one in found]
