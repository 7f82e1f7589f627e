"""Errors and warnings as values: Python's words in the library, options on the command line."""

import copy
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

from gptm import GPTM, files
from gptm._basics.errors import Argument, ArgumentError, InputError, Message, PythonOnly, Value
from gptm._basics.validation import check_choice, check_n_jobs, check_number
from gptm._basics.warnings import warn
from gptm.cli.app import app
from gptm.cli.argument_options import OPTIONS, in_options
from gptm.corpus.problems import ProblemError

# Words


@pytest.mark.parametrize(
    ("part", "python", "option"),
    [
        (Argument("max_iter"), "max_iter", "--max-iter"),
        (Argument("max_iter", 400), "max_iter=400", "--max-iter 400"),
        (Argument("text", ...), "text=", "--text"),
        (Argument("encoding", "latin-1"), "encoding='latin-1'", "--encoding latin-1"),
        (Argument("text", "the body"), "text='the body'", "--text 'the body'"),
        (Argument("tol", 0.5), "tol=0.5", "--tol 0.5"),
        (Argument("stop_words", None), "stop_words=None", "--stop-words none"),
        (Argument("strict", True), "strict=True", "--strict"),
        (
            Argument("kinds", {"when": "date:%d/%m/%Y"}),
            "kinds={'when': 'date:%d/%m/%Y'}",
            "--column 'when=date:%d/%m/%Y'",
        ),
        (Argument("kinds", {"a b": "date"}), "kinds={'a b': 'date'}", "--column 'a b=date'"),
        (Argument("nu", 1.5), "nu=1.5", "nu=1.5"),  # a kernel's, in formulas as in Python
        (Value("ngram_range", (1, 2)), "(1, 2)", "1-2"),
        (Value("kernel", None), "None", "none"),
        (PythonOnly("pd.to_datetime"), "pd.to_datetime", ""),
    ],
)
def test_each_program_has_its_own_words(part, python, option):
    message = Message("<", part, ">")
    assert str(message) == f"<{python}>"
    assert in_options(message) == f"<{option}>"


def test_a_message_within_a_message_keeps_its_values():
    inner = Message("raise ", Argument("max_df"))
    assert Message("or ", inner, ".") == Message("or ", "raise ", Argument("max_df"), ".")


def test_the_parts_of_an_error_are_values():
    remedy = Message("Lower ", Argument("min_df"), ".")
    error = ArgumentError("max_df", "must be a share", 7, remedy)
    assert isinstance(error, ValueError)
    assert (error.parameter, error.expected, error.got) == ("max_df", "must be a share", "7")
    assert error.remedy is remedy
    assert str(error) == "max_df must be a share; got 7. Lower min_df."
    assert in_options(error) == "--max-df must be a share; got 7. Lower --min-df."
    assert str(ArgumentError("init", "must be finite")) == "init must be finite."


def test_an_error_about_something_keeps_its_values():
    error = InputError.about("RBF('t')", ArgumentError("tol", "must be a number", None))
    assert str(error) == "RBF('t'): tol must be a number; got None."
    assert in_options(error) == "RBF('t'): --tol must be a number; got None."
    assert str(InputError.about("it", ValueError("no {braces}"))) == "it: no {braces}"


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: check_choice("init", "x", ("a", "b")), "--init must be one of 'a', 'b'; got 'x'."),
        (
            lambda: check_number("n_components", 0, least=1, integer=True),
            "--topics must be an integer of at least 1; got 0.",
        ),
        (lambda: check_n_jobs(0), "--jobs must be None, a number of threads, or -1"),
    ],
)
def test_checks_raise_errors_as_values(check, said):
    with pytest.raises(ArgumentError) as caught:
        check()
    assert in_options(caught.value).startswith(said)


# Between processes

text = st.text(max_size=20)
values = st.none() | st.booleans() | st.integers() | text | st.dictionaries(text, text)
parts = st.one_of(
    text,
    st.builds(Argument, text),
    st.builds(Argument, text, values),
    st.just(Argument("text", ...)),
    st.builds(Value, text, values),
    st.builds(PythonOnly, text),
)
errors = st.one_of(
    st.lists(parts).map(lambda given: InputError(*given)),
    st.builds(ArgumentError, text, text, values, parts),
    st.builds(ArgumentError, text, parts),
    st.lists(parts.map(Message), min_size=1).map(ProblemError),
)


@given(errors)
def test_errors_are_the_same_after_a_pickle(error):
    error.add_note("on fold 3")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert (again.args, vars(again)) == (error.args, vars(error))
        assert (str(again), in_options(again)) == (str(error), in_options(error))


def test_an_error_may_be_about_what_cannot_be_pickled():
    error = ArgumentError("callback", "must be a function", lambda: None)
    assert "<lambda>" in str(pickle.loads(pickle.dumps(error)))


def refuse(value):
    raise ArgumentError("max_iter", "must be positive", value, Message("Pass ", Argument("tol")))


def test_errors_come_whole_from_other_processes():
    with pytest.raises(ArgumentError) as caught:
        Parallel(n_jobs=2)(delayed(refuse)(value) for value in (0, 0))
    assert in_options(caught.value) == "--max-iter must be positive; got 0. Pass --tol"


# Warnings


def test_a_warning_carries_its_values_to_the_users_line():
    with pytest.warns(ConvergenceWarning, match=r"^Increase max_iter\.$") as caught:
        warn(Message("Increase ", Argument("max_iter"), "."), ConvergenceWarning)
    (record,) = caught
    assert record.filename == __file__
    assert in_options(record.message) == "Increase --max-iter."
    assert in_options(pickle.loads(pickle.dumps(record.message))) == "Increase --max-iter."


def test_a_plain_warning_is_a_message_too():
    with pytest.warns(UserWarning, match="plain") as caught:
        warn("plain")
    assert in_options(caught[0].message) == "plain"


def test_the_same_warning_is_shown_once_for_a_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn(Message("Increase ", Argument("max_iter")))
    assert len(caught) == 1


def test_the_automatic_kernel_is_announced_with_values(caplog):
    from gptm.kernels.auto import auto_kernel

    auto_kernel(pd.DataFrame({"year": [1.0, 2.0, 4.0], "x": [1, 1, 1]}))
    (record,) = caplog.records
    assert record.getMessage() == "kernel='auto' means Matern('year'); not used: 'x' (constant)"
    assert in_options(record.msg).startswith("--kernel auto means Matern('year'); not used")


def test_problems_of_a_file_have_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("body\ngrün tea\nblack tea\n".encode("latin-1"))
    (problem,) = files.read(path).problems
    assert "encoding='latin-1'" in problem.message
    assert "--encoding latin-1" in in_options(problem)
    with pytest.raises(ProblemError) as caught:
        files.read(path, strict=True)
    assert str(caught.value).endswith("(strict=True)")
    assert in_options(caught.value).endswith("(--strict)")


def test_advice_that_needs_python_is_left_out_of_options():
    metadata = {"when": ["a", "b"] * 10}
    from gptm import kernels as k

    with pytest.raises(InputError) as caught:
        GPTM(2, kernel=k.RBF("when")).fit(np.ones((20, 4)), metadata=metadata)
    assert "pd.to_datetime" in str(caught.value)
    assert "pd." not in in_options(caught.value)
    assert "--column 'when=date:%d/%m/%Y'" in in_options(caught.value)


# Every option of the command line, with values that it cannot have

COMMANDS = {
    name: command
    for name, command in typer.main.get_command(app).commands.items()
    if name != "reproduce"  # which makes whatever folder it is given
}
NO_ARGUMENT = {  # options that stand for no argument of the library, or for one in other units
    *("--output", "--quiet", "--json", "--debug", "--help", "--title", "--scores", "--data"),
    *("--by", "--words", "--to", "--no-text", "--text-length", "--no-corpus", "--observed"),
    *("--effects", "--plot", "--shuffles", "--key", "--of", "--size"),
    *("--no-checkpoint", "--restart", "--overwrite", "--auto", "--name", "--by-share"),
    *("--save-model", "--save-test", "--new", "--marginal", "--block-documents", "--documents"),
}
ANYTHING = {"--title", "--name"}  # no value of these is wrong
BAD = {
    "--at": ["when", "nowhere=1", "date=soon"],
    "--block-documents": ["0"],
    "--by": ["size"],
    "--by-time": ["dat"],
    "--cluster": ["autor"],
    "--errors": ["big"],
    "--formula": ["~ nowhere"],
    "--groups": ["autor"],
    "--predict": ["nowhere"],
    "--bins": ["decade", "0", "2.5", "20"],
    "--chains": ["0", "many"],
    "--checkpoint": ["{missing}/work"],
    "--column": ["date", "dat=date", "date=time", "date=date:%Q"],
    "--coregionalization": ["none"],
    "--data": ["{missing}/data"],
    "--dates": ["dat", "key"],
    "--documents": ["0"],
    "--effects": ["{missing}/out.csv"],
    "--encoding": ["klingon"],
    "--decay": ["2", "-1", "x"],
    "--folds": ["1", "1000"],
    "--format": ["docx"],
    "--id": ["kye"],
    "--inference": ["exact"],
    "--init": ["zero"],
    "--jobs": ["0"],
    "--keep": ["links"],
    "--kernel": ["matern(", "matern(dat)", "nu=1"],
    "--key": ["{missing}/key.csv"],
    "--level": ["2", "0", "nan"],
    "--max-df": ["x", "-1", "nan", "0.0001"],
    "--max-documents": ["0"],
    "--max-iter": ["0"],
    "--memory": ["x", "-1GB"],
    "--metadata": ["{missing}"],
    "--min-df": ["0", "x", "inf"],
    "--missing-columns": ["guess"],
    "--ngrams": ["x", "3-2", "0"],
    "--observed": ["0", "x"],
    "--of": ["letters"],
    "--output": ["{missing}/out.csv"],
    "--plot": ["{missing}/a.png"],
    "--points": ["0"],
    "--questions": ["0"],
    "--resamples": ["-1"],
    "--scheduler": ["nonsense", "tcp://127.0.0.1:9"],
    "--scores": ["{missing}"],
    "--seed": ["-1"],
    "--segmenter": ["klingon"],
    "--seed-words": ["war", "99=tea", "war=qqq"],
    "--seeds": ["-1"],
    "--shuffles": ["0"],
    "--simulations": ["-1"],
    "--size": ["1"],
    "--stop-words": ["klingon"],
    "--term": ["dat"],
    "--test-size": ["0", "1.5"],
    "--save-model": ["{missing}/half.gptm"],
    "--save-test": ["{missing}/rest.csv", "rest.docx"],
    "--text": ["bdy", ","],
    "--text-length": ["0"],
    "--threshold": ["2"],
    "--to": ["docx"],
    "--token-pattern": ["(", "(a)(b)"],
    "--tol": ["-1", "nan"],
    "--topic": ["99", "leaf"],
    "--new-topics": ["-1", "x"],
    "--topics": ["0", "x"],
    "--versus": ["when", "nowhere=1", "date=soon"],
    "--vocabulary": ["{missing}"],
    "--within": ["nowhere"],
    "--word-forms": ["roots", "lemmas:klingon"],
    "--words": ["0"],
}
ARGUMENTS = {option: name for name, option in OPTIONS.items()}


def value_options():
    """(command, option) for all options that take a value."""
    return [
        (name, next(opt for opt in parameter.opts if opt.startswith("--")))
        for name, command in COMMANDS.items()
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.is_flag
    ]


def test_every_option_is_an_argument_or_known_to_be_none():
    options = {
        opt
        for command in COMMANDS.values()
        for parameter in command.params
        for opt in parameter.opts
        if opt.startswith("--")
    }
    assert set(OPTIONS.values()) | NO_ARGUMENT | {"--kinds"} == options | {"--help"}
    several = [name for name, option in OPTIONS.items() if ARGUMENTS[option] != name]
    assert several == ["n_documents"]  # the size of a sheet counts words or documents
    assert set(BAD) | ANYTHING == {option for _, option in value_options()}


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """A file of documents, and the file of a model of them."""
    folder = tmp_path_factory.mktemp("options")
    words = ["green tea leaves kettle", "coffee beans roast mug"]
    rows = [
        {"key": f"d{i}", "body": f"{words[i % 2]} morning cup", "date": f"20{10 + i}-01-01"}
        for i in range(20)
    ]
    path, model = folder / "drinks.csv", folder / "drinks.gptm"
    pd.DataFrame(rows).to_csv(path, index=False)
    fit = ["fit", path, "--topics", 2, "--max-iter", 3, "--kernel", "matern(date)", "-o", model]
    result = CliRunner().invoke(app, [*map(str, fit), "-q"])
    assert result.exit_code == 0, result.stderr
    return path, model


def arguments_of(command, path, model):
    """What a command needs beside options."""
    if command in ("fit", "evaluate", "search"):
        return [path]
    if command == "corpus":
        return [path, "--output", "blocks"]
    if command == "split-sample":
        return [path, "--formula", "~ date", "--topics", 2]
    if command == "estimate":
        return [model, path, "--formula", "~ date"]
    topics = {"name": ["0=tea"], "merge": [0, 1], "drop": [0], "split": [0], "reorder": [1, 0]}
    more = topics | {"reduce": [1], "transform": [path], "update": [path], "align": [model]}
    more |= {"score-intrusion": [model]}
    return [] if command in ("demo", "words") else [model, *more.get(command, [])]


CASES = [(c, o, value) for c, o in value_options() if o not in ANYTHING for value in BAD[o]]


@pytest.mark.parametrize(("command", "option", "value"), CASES)
def test_an_error_names_the_option(command, option, value, documents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = value.format(missing=tmp_path / "missing")
    given = [command, *map(str, arguments_of(command, *documents)), option, value]
    result = CliRunner().invoke(app, given)
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", result.stderr).split())
    assert result.exit_code in (1, 2), said
    assert re.search(rf"{option}\b", said), said
    argument = ARGUMENTS.get(option)
    if argument is not None:
        name = argument if "_" in argument else f"{argument}="
        assert not re.search(rf"(?<![-\w]){name}", said), said
        assert f"error: {argument} " not in said, said
    assert list(tmp_path.iterdir()) == []
