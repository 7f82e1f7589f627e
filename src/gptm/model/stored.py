"""Models and their documents back from a file."""

import os

from gptm.corpus import Corpus
from gptm.model.ctm import CTM as CTM  # makes its name known
from gptm.model.estimator import GPTM
from gptm.model.settings import Settings
from gptm.model.storable import class_of
from gptm.storage import load_attached, read_model


def load(path: str | os.PathLike[str]) -> GPTM:
    """Read a model that `save` wrote; its `transform` gives the same bits.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    GPTM or CTM

    Raises
    ------
    ValueError
        If the file is damaged, not a gptm model, or written by a newer version.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, gptm
    >>> X = np.array([[3, 2, 0, 0], [0, 0, 3, 3]] * 5)
    >>> model = gptm.CTM(n_components=2, random_state=0).fit(X)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.gptm"
    >>> model.save(path)
    >>> bool((gptm.load(path).transform(X) == model.transform(X)).all())
    True
    """
    stored, file = read_model(path), os.fspath(path)
    cls = class_of(stored.kind, file)
    try:
        model: GPTM = cls(**stored.parameters)
        Settings.of(model).check()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{file} is not a complete gptm model ({error}). Save the model again."
        ) from error
    model.fitted_ = stored.fitted
    return model


def load_corpus(path: str | os.PathLike[str]) -> Corpus:
    """The documents that a model's file contains besides the model.

    `gptm fit` stores them with the model. `model.save` does so if you pass `corpus=`, and stores texts if you pass
    `texts=`. Pass them where a loaded model asks for its training corpus.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Corpus

    Raises
    ------
    ValueError
        If the file contains no documents, or is damaged.

    Examples
    --------
    >>> import tempfile, pathlib, gptm
    >>> corpus = gptm.Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.gptm"
    >>> gptm.CTM(2, random_state=0).fit(corpus).save(path, corpus=corpus, texts=corpus.texts)
    >>> corpus = gptm.load_corpus(path)
    >>> gptm.load(path).representative_documents(0, 1, corpus=corpus)["text"][0] in corpus.texts
    True
    """
    corpus = load_attached(path).corpus
    if corpus is None:
        raise ValueError(
            f"{os.fspath(path)} holds a model without its documents. Save it with model.save(path, corpus=corpus), "
            "or fit it on the command line without --no-corpus."
        )
    return corpus
