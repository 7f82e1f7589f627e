"""Names of arguments that estimators do not have: an error that says what other libraries' names are called here."""

import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
S = TypeVar("S")

_NAMES_ELSEWHERE = {
    "n_components": ("n_topics", "num_topics", "nr_topics", "n_clusters", "topics", "K", "k"),
    "random_state": ("seed", "random_seed"),
    "max_iter": ("n_iter", "num_iterations", "iterations", "passes", "n_sweeps", "epochs"),
    "seed_words": ("seed_topic_list",),
    "init": ("init_type",),
    "n_jobs": ("workers", "num_workers", "n_threads"),
}
_SIDE_INFORMATION = {
    ("kernel", "prevalence", "covariates", "metadata"): (
        "Pass kernel=, for example kernels.Matern('date'), and metadata= to fit."
    ),
    ("embeddings", "embedding_model"): (
        "Pass kernel=kernels.Embedding('vector'), and metadata={'vector': vectors} to fit."
    ),
}
_OURS = {theirs: ours for ours, names in _NAMES_ELSEWHERE.items() for theirs in names}


def with_known_arguments(
    init: Callable[Concatenate[S, P], None],
) -> Callable[Concatenate[S, P], None]:
    """The constructor of an estimator, with a helpful `TypeError` for arguments that it does not have.

    Examples
    --------
    >>> class Model:
    ...     @with_known_arguments
    ...     def __init__(self, n_components=10, *, max_iter=None): ...
    >>> Model(n_topics=5)
    Traceback (most recent call last):
    TypeError: Model has no argument 'n_topics'. It is called n_components here.
    """
    parameters = list(inspect.signature(init).parameters.values())[1:]
    known = [parameter.name for parameter in parameters]
    by_place = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)

    @functools.wraps(init)
    def checked(self: S, /, *args: P.args, **given: P.kwargs) -> None:
        name = type(self).__name__
        if len(args) > by_place:
            first, others = ", ".join(known[:by_place]), known[by_place]
            raise TypeError(
                f"{name} takes only {first} by position. Name the other arguments, as in {name}(20, {others}=...)."
            )
        for unknown in given:
            if unknown not in known:
                raise TypeError(f"{name} has no argument {unknown!r}. {_advice(unknown, known)}")
        init(self, *args, **given)

    return checked


def _advice(unknown: str, known: list[str]) -> str:
    for names, advice in _SIDE_INFORMATION.items():
        if unknown in names:
            return advice if "kernel" in known else f"Use GPTM. {advice}"
    ours = _OURS.get(unknown)
    if ours is not None:
        return f"It is called {ours} here."
    near = get_close_matches(unknown, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"It has {', '.join(known)}."
