"""What takes long says how far it is, if asked: one line a second, and nothing about what is done at once."""

import itertools
import re

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import save_npz

from gptm import CTM, GPTM, Corpus, files
from gptm import kernels as k
from gptm._basics import progress
from gptm._basics.parallel import ordered_map
from gptm.report import model_report, report_data

TEXTS = ["green tea, tea and milk", "coffee beans, coffee and milk"] * 600


@pytest.fixture
def slow(monkeypatch):
    """A clock on which everything takes long."""
    monkeypatch.setattr(progress, "_PAUSE", -1.0)


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_texts(TEXTS, {"side": ["left", "right"] * 600}, max_df=1.0)


@pytest.fixture(scope="module")
def by_em(corpus):
    model = GPTM(2, kernel=k.Categorical("side"), inference="variational", random_state=0)
    return model.fit(corpus)


def test_short_work_is_silent(corpus, by_em, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PAUSE", 600.0)  # on a slow machine, nothing is short
    Corpus.from_texts(TEXTS, max_df=1.0, verbose=True)
    by_em.set_params(verbose=True).transform(corpus)
    by_em.set_params(verbose=False)
    (tmp_path / "t.csv").write_text("text\n" + "\n".join(TEXTS))
    files.read(tmp_path / "t.csv", text="text", verbose=True)
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("slow")
def test_counting_texts(capsys):
    Corpus.from_texts(TEXTS, max_df=1.0, verbose=True)
    Corpus.from_texts(iter(TEXTS), max_df=1.0, verbose=True)
    lines = re.sub(r", [\d.]+ s", "", capsys.readouterr().out).splitlines()
    of, alone = "[gptm] texts counted: {} of 1,200", "[gptm] texts counted: {}"
    assert lines == [form.format(n) for form in (of, alone) for n in ("1,000", "1,200")]
    Corpus.from_texts(TEXTS, max_df=1.0)
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="verbose must be True or False"):
        Corpus.from_texts(TEXTS, verbose="yes")


@pytest.mark.usefixtures("slow")
def test_reading_files(tmp_path, capsys, corpus):
    path = tmp_path / "t.csv"
    path.write_text("text\n" + "\n".join(f'"{text}"' for text in TEXTS * 20))
    files.read(path, verbose=True)
    size = f"{path.stat().st_size / 1e6:.0f}"
    assert f"megabytes read: {size} of {size}" in capsys.readouterr().out
    words, moves = corpus.words, []
    files.read_documents(path, words=words, vocabulary=["tea"], verbose=True)
    assert "megabytes read" in capsys.readouterr().out
    files.read(path, progress=lambda *place: moves.append(place), verbose=True)
    assert capsys.readouterr().out == ""
    assert moves


COUNT_FILES = {"c.mtx": "mtx", "c.npz": "npz", "c.ldac": "ldac"}


def write_counts(corpus, path):
    if path.suffix == ".mtx":
        mmwrite(path, corpus.counts)
    elif path.suffix == ".npz":
        save_npz(path, corpus.counts)
    else:
        rows = [row[row > 0] for row in corpus.counts.toarray()]
        lines = [" ".join([str(len(r)), *(f"{i}:{c}" for i, c in enumerate(r))]) for r in rows]
        path.write_text("\n".join(lines))
    return path


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("name", COUNT_FILES)
def test_files_of_counts(name, corpus, tmp_path, capsys):
    path, words = write_counts(corpus, tmp_path / name), list(corpus.vocabulary)
    moves = []
    files.read(path, vocabulary=words, progress=lambda *place: moves.append(place))
    done = [place[0] for place in moves]
    size = path.stat().st_size
    assert done == sorted(done)
    assert len(done) > 1
    assert moves[-1] == (size, size)
    assert capsys.readouterr().out == ""
    files.read(path, vocabulary=words, verbose=True)
    assert "[gptm] megabytes read: 0 of 0" in capsys.readouterr().out


@pytest.mark.usefixtures("slow")
def test_a_corpus_on_disk(corpus, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    corpus.to_blocks(tmp_path / "a", block_documents=500, verbose=True)
    lines = re.sub(r", [\d.]+ s", "", capsys.readouterr().out).splitlines()
    assert lines == [f"[gptm] blocks written: {n} of 3" for n in (1, 2, 3)]
    corpus.to_blocks(tmp_path / "b")
    with pytest.raises(ValueError, match="verbose must be True or False"):
        corpus.to_blocks(tmp_path / "c", verbose="yes")
    assert capsys.readouterr().out == ""
    words = list(corpus.vocabulary)
    path = write_counts(corpus, tmp_path / "c.mtx")
    files.read_to_blocks(path, tmp_path / "d", vocabulary=words, block_documents=600, verbose=True)
    out = capsys.readouterr().out
    assert "megabytes read: 0 of 0" in out
    assert "blocks written: 2 of 2" in out
    (tmp_path / "t.csv").write_text("text\n" + "\n".join(TEXTS))
    moves = []
    files.read_to_blocks(
        tmp_path / "t.csv",
        tmp_path / "e",
        text="text",
        block_documents=400,
        n_jobs=1,
        progress=lambda *place: moves.append(place),
    )
    size = (tmp_path / "t.csv").stat().st_size
    assert moves[-4:] == [(size, size), (1, 3), (2, 3), (3, 3)]
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("slow")
def test_a_dask_collection(corpus, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    bag = pytest.importorskip("dask.bag")
    texts = bag.from_sequence(TEXTS, npartitions=3)
    files.read_to_blocks(texts, tmp_path / "a", n_jobs=2, verbose=True)
    lines = re.sub(r", [\d.]+ s", "", capsys.readouterr().out).splitlines()
    assert lines == [f"[gptm] partitions counted: {n} of 3" for n in (2, 3)] + [
        "[gptm] blocks written: 1 of 1"
    ]
    moves = []
    files.read_to_blocks(
        texts, tmp_path / "b", n_jobs=1, progress=lambda *place: moves.append(place)
    )
    assert moves == [(1, 3), (2, 3), (3, 3), (1, 1)]
    CTM(2, max_iter=2, random_state=0, verbose=1).fit(texts)
    assert "partitions counted: 3 of 3" in capsys.readouterr().out


@pytest.mark.usefixtures("slow")
def test_documents_that_are_cut_into_words(capsys):
    tokens = [["tea", "milk"], ["tea"]] * 750
    Corpus.from_tokens(tokens, verbose=True)
    assert "[gptm] documents counted: 1,000 of 1,500" in capsys.readouterr().out
    Corpus.from_tokens(tokens)
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="verbose must be True or False"):
        Corpus.from_tokens(tokens, verbose=2.5)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_proportions_of_documents(n_jobs, corpus, by_em, capsys):
    model = by_em.set_params(n_jobs=n_jobs)
    quiet = model.transform(corpus)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=True)
    np.testing.assert_array_equal(model.transform(corpus), quiet)
    assert "[gptm] parts of the documents done:" in capsys.readouterr().out
    model.score(corpus)
    assert "[gptm] parts of the documents done:" in capsys.readouterr().out
    model.set_params(verbose=False)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_pieces_are_told_in_order(n_jobs):
    told = []
    ordered_map(lambda item, _: item, list(range(20)), n_jobs, lambda *done: told.append(done))
    assert {total for _, total in told} == {20}
    done = [number for number, _ in told]
    assert done == sorted(done)
    assert done[-1] == 20


def test_the_steps_of_a_page(corpus, by_em, tmp_path, capsys):
    model = CTM(2, max_iter=20, random_state=0).fit(corpus)
    capsys.readouterr()
    model_report(model, tmp_path / "page.html", corpus=corpus)
    assert capsys.readouterr().out == ""
    model_report(model, tmp_path / "page.html", corpus=corpus, verbose=True)
    steps = ["topics and their documents", "shares of variance", "map and tree"]
    assert capsys.readouterr().out.splitlines() == [f"[gptm] {step}" for step in steps]
    # A model by EM runs a chain for its effects, and tells of that, too.
    report_data(by_em, corpus=corpus, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["[gptm] topics and their documents", "[gptm] effects of side"]
    assert any("iteration  400" in line for line in lines)
    assert by_em.verbose is False


def test_a_chain_for_effects_is_told_by_a_verbose_model(corpus, capsys):
    model = CTM(2, inference="variational", random_state=0).fit(corpus)
    model.set_params(verbose=2).estimate_effects("~ side", corpus)
    lines = capsys.readouterr().out.splitlines()
    numbers = [int(number) for line in lines for number in re.findall(r"iteration +(\d+)", line)]
    assert numbers == list(itertools.chain(range(1, 401)))
