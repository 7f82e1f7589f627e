"""Names of models, and clones that can be fitted to any fold."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state

from gptm._basics.errors import ArgumentError
from gptm._basics.validation import check_seed
from gptm.corpus import BlockCorpus
from gptm.corpus.counts import frame_of
from gptm.kernels import Graph, Kernel, MustLink, Precomputed, is_automatic, resolve_kernel
from gptm.model import GPTM
from gptm.selection.data import Data


def name_of(model: object) -> str:
    if isinstance(model, type) and issubclass(model, GPTM):
        name = model.__name__
        raise ValueError(f"expected a GPTM or CTM; got the class {name}. Make one, as in {name}().")
    if not isinstance(model, GPTM):
        raise ValueError(
            f"expected a GPTM or CTM; got {model!r}. Pass the topic model itself, with counts or a Corpus as X. For "
            "pipelines use sklearn.model_selection."
        )
    return " ".join(repr(model).split())


def named_models(models: Any) -> dict[Any, GPTM]:
    """Models by name; models with the same name get numbers."""
    if isinstance(models, Mapping):
        pairs = [(str(n) if isinstance(n, tuple) else n, model) for n, model in models.items()]
    elif isinstance(models, Iterable):
        pairs = [(name_of(model), model) for model in models]
    else:
        pairs = []
    if not pairs:
        raise ValueError(f"models must be a dict or a list of models; got {models!r}.")
    named: dict[Any, GPTM] = {}
    for name, model in pairs:
        name_of(model)  # which checks it
        repeats = sum(name == earlier for earlier, _ in pairs[: len(named)])
        named[f"{name} ({repeats + 1})" if repeats else name] = model
    return named


def find_reference(reference: Any, models: dict[Any, GPTM]) -> Any:
    """The name of the model that the others are compared with."""
    if reference is None:
        without = [name for name, model in models.items() if model.kernel is None]
        return next(iter(without or models))
    if not isinstance(reference, Hashable) or reference not in models:
        names = ", ".join(map(repr, models))
        expected = f"must be the name of a model, one of {names}"
        raise ArgumentError("reference", expected, reference)
    return reference


def prepare(
    models: dict[Any, GPTM], data: Data, random_state: Any, split: bool = True
) -> dict[Any, GPTM]:
    """Clones with their kernel and seed set; an error for kernels that cannot be split into folds."""
    seed = _settled_seed(random_state)
    return {name: _prepared(model, data, seed, split) for name, model in models.items()}


def prepare_one(model: GPTM, data: Data, random_state: Any, split: bool = True) -> GPTM:
    """The same for a single model."""
    return _prepared(model, data, _settled_seed(random_state), split)


def _settled_seed(random_state: Any) -> Any:
    """A number that is the same for all models, or None."""
    check_seed("random_state", random_state)
    if random_state is None or isinstance(random_state, int | np.integer):
        return random_state
    return int(check_random_state(random_state).randint(2**31))


def _prepared(model: GPTM, data: Data, seed: Any, split: bool) -> GPTM:
    copy = clone(model)
    if copy.random_state is None:
        copy.set_params(random_state=seed)
    if split:
        _refuse_positions(copy.kernel)
    if is_automatic(copy.kernel):
        # Announced once, and the same in all folds.
        frame = frame_of(data.X, data.metadata, data.n)
        in_blocks = isinstance(data.X, BlockCorpus)
        copy.set_params(kernel=resolve_kernel(copy.kernel, frame, in_blocks=in_blocks))
    return copy


def _refuse_positions(kernel: Any) -> None:
    """Raise an error for kernels that identify documents by position, which differs between folds."""
    if isinstance(kernel, np.ndarray | pd.DataFrame):
        kernel = Precomputed(kernel)
    if not isinstance(kernel, Kernel):
        return
    for part in (kernel, *kernel.get_params(deep=True).values()):
        if isinstance(part, Precomputed) and part.id is None:
            remedy = "Pass Precomputed(matrix, id='row')"
        elif isinstance(part, Graph) and part.adjacency is not None and part.id is None:
            remedy = "Pass Graph(adjacency=matrix, id='row')"
        elif isinstance(part, MustLink) and part.pairs is not None:
            raise ValueError(
                "MustLink(pairs=...) identifies documents by position, which changes when documents are held out. "
                "Pass MustLink('label') with a column of the metadata that is equal for linked documents and missing "
                "for the others."
            )
        else:
            continue
        raise ValueError(
            f"{part!r} identifies documents by position, which changes when documents are held out. {remedy} with a "
            "column of the metadata that has each document's row in the matrix, for example np.arange(n)."
        )
