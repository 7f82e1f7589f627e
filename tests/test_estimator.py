"""The estimators as a shape: parameters, docstrings and settings agree, and methods leave the work to functions."""

import ast
import inspect
import pickle
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import gptm.model
from gptm import CTM, GPTM
from gptm import kernels as k
from gptm.model import argument_names
from gptm.model.same_text import entries
from gptm.model.settings import Settings

FIXED = {"kernel", "coregionalization", "learn_kernel"}  # by a CTM
ROOM = Path(gptm.model.__file__).parent


def parameters(cls):
    return {name: p for name, p in inspect.signature(cls).parameters.items() if name != "self"}


def section(cls, name):
    """Names of the entries of one section of a docstring, in their order."""
    text = inspect.getdoc(cls)
    start = text.index(f"{name}\n---")
    end = text.find("\n----", start + 2 * len(name) + 2)
    return [entry for entry, words in entries(cls).items() if start <= text.find(words) < end]


def test_a_ctm_has_the_parameters_of_a_gptm_that_say_nothing_of_kernels():
    full, plain = parameters(GPTM), parameters(CTM)
    assert list(plain) == [name for name in full if name not in FIXED]
    for name, parameter in plain.items():
        assert parameter.default == full[name].default, name
        assert parameter.kind == full[name].kind, name
        if name != "inference":
            assert parameter.annotation == full[name].annotation, name


@pytest.mark.parametrize(
    ("cls", "name", "advice"),
    [
        (GPTM, "n_topics", "GPTM has no argument 'n_topics'. It is called n_components here."),
        (CTM, "K", "called n_components"),
        (CTM, "seed", "called random_state"),
        (GPTM, "random_sate", "Did you mean 'random_state'?"),
        (GPTM, "prevalence", "Pass kernel=, for example kernels.Matern('date')"),
        (GPTM, "embeddings", "kernels.Embedding('vector')"),
        (CTM, "kernel", "Use GPTM."),
        (CTM, "alpha", "It has n_components, inference,"),
    ],
)
def test_arguments_of_other_libraries_are_refused_with_our_names(cls, name, advice):
    with pytest.raises(TypeError, match=re.escape(advice)):
        cls(**{name: 5})


def test_arguments_without_a_name_beyond_the_first_are_refused_with_names():
    with pytest.raises(TypeError, match=r"by position.*GPTM\(20, kernel=\.\.\.\)"):
        GPTM(20, k.Matern("date"))


def test_names_of_other_libraries_are_not_ours():
    ours = parameters(GPTM).keys()
    assert ours >= set(argument_names._NAMES_ELSEWHERE)
    assert not ours & argument_names._OURS.keys()


def test_a_ctm_is_a_gptm_without_a_kernel():
    given = {
        "n_components": 3,
        "inference": "variational",
        "topic_covariance": "identity",
        "fit_mean": False,
        "init": "random",
        "smoothing": 0.1,
        "seed_words": {0: [1]},
        "seed_weight": 1.0,
        "n_chains": 2,
        "max_iter": 7,
        "tol": 0.1,
        "doc_points": 4,
        "doc_tol": 0.2,
        "random_state": 1,
        "n_jobs": 2,
        "verbose": 1,
        "callback": print,
        "warm_start": True,
        "memory": "1GB",
    }
    assert given.keys() == parameters(CTM).keys()
    assert all(given[name] != p.default for name, p in parameters(CTM).items())
    assert CTM(**given).get_params() == given
    assert vars(CTM(**given)) == vars(GPTM(kernel=None, **given))


def test_a_ctm_from_an_older_pickle_has_what_it_fixes():
    model = CTM(2, random_state=0, max_iter=3).fit(np.eye(4) + 1)
    old = CTM.__new__(CTM)
    old.__setstate__({k: v for k, v in model.__getstate__().items() if k not in FIXED})
    assert {name: getattr(old, name) for name in FIXED} == {
        name: getattr(model, name) for name in FIXED
    }
    np.testing.assert_array_equal(old.transform(np.eye(4)), model.transform(np.eye(4)))


@pytest.mark.parametrize("cls", [GPTM, CTM])
def test_every_parameter_is_explained_in_the_order_of_the_signature(cls):
    assert section(cls, "Parameters") == list(parameters(cls))


def test_both_explain_what_they_share_in_the_same_words():
    full, plain = entries(GPTM), entries(CTM)
    assert plain.keys() <= full.keys()
    assert {name for name in plain if plain[name] != full[name]} == {"inference"}
    assert "As in" not in GPTM.__doc__ + CTM.__doc__


@pytest.mark.parametrize("cls", [GPTM, CTM])
def test_every_attribute_that_is_explained_is_there(cls):
    model = cls(2, random_state=0, max_iter=3).fit(np.eye(4) + 1)
    explained = section(cls, "Attributes")
    assert "components_" in explained
    for name in explained:
        getattr(model, name)


def test_settings_are_the_parameters_of_the_estimator():
    names = [field.name for field in fields(Settings)]
    assert names == [*parameters(GPTM), "model", "given"]
    for model in (GPTM(3, max_iter=5), CTM(3, max_iter=5)):
        settings = Settings.of(model)
        assert settings.model == type(model).__name__
        assert settings.given == model.get_params()
        assert {name: getattr(settings, name) for name in names[:-2]} == vars(model)


def methods():
    """Names of the estimator's methods and the number of lines of code in each, docstrings not counted."""
    tree = ast.parse((ROOM / "estimator.py").read_text(encoding="utf-8"))
    (cls,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield node.name, body[-1].end_lineno - body[0].lineno + 1


def test_methods_of_the_estimator_are_short():
    long = {name: lines for name, lines in methods() if lines > 20}
    assert long == {}
    assert np.median([lines for _, lines in methods()]) <= 4


def test_no_function_of_the_room_takes_an_estimator():
    """They take settings and a fit; only what makes estimators knows the classes."""
    importing = {
        path.stem
        for path in ROOM.glob("*.py")
        if "gptm.model.estimator" in path.read_text(encoding="utf-8")
    }
    assert importing == {"__init__", "checked_model", "ctm", "stored"}


def test_a_pickle_has_no_texts_and_answers_the_same():
    texts = ["green tea, tea", "coffee beans, coffee"] * 5
    corpus = gptm.Corpus.from_texts(texts)
    model = CTM(2, random_state=0, max_iter=5).fit(corpus)
    again = pickle.loads(pickle.dumps(model))
    assert "text" in model.representative_documents(0)
    assert "text" not in again.representative_documents(0)
    np.testing.assert_array_equal(again.transform(corpus), model.transform(corpus))


def test_models_of_other_classes_are_not_saved(tmp_path):
    class Other(CTM):
        pass

    model = Other(2, random_state=0, max_iter=3).fit(np.eye(4) + 1)
    with pytest.raises(ValueError, match="Other cannot be saved"):
        model.save(tmp_path / "other.gptm")
