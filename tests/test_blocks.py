"""A corpus on disk holds what one in memory holds, and damaged or foreign blocks are refused."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from typer.testing import CliRunner

import gptm
from gptm import Corpus, files
from gptm.cli.app import app
from gptm.corpus.block_corpus import BlockCorpus
from gptm.corpus.words import Words

pytest.importorskip("pyarrow")

WORDS = ["tea", "green", "black", "milk", "coffee", "beans", "cup", "water", "leaf", "roast"]


def corpus_of(n=23, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 9))) for _ in range(n)]
    metadata = {
        "when": [None if i == 3 else f"2020-01-{i + 1:02d}" for i in range(n)],
        "who": rng.choice(["Ann", "Bob", "Çelik"], n).tolist(),
        "stars": rng.integers(1, 6, n).astype(float).tolist(),
        "place": [[float(i), 1.0] for i in range(n)],
    }
    ids = [f"d{i}" for i in range(n)]
    return Corpus.from_texts(texts, metadata, ids, min_df=1, max_df=1.0)


@pytest.fixture
def blocks(tmp_path):
    return gptm.open_corpus(corpus_of().to_blocks(tmp_path / "blocks", block_documents=5))


def same(corpus, other):
    assert (corpus.counts != other.counts).nnz == 0
    assert corpus.vocabulary.tolist() == other.vocabulary.tolist()
    assert corpus.kinds == other.kinds
    assert np.array_equal(corpus.ids, other.ids)
    for name in corpus.metadata:
        ours, theirs = corpus.metadata[name].tolist(), other.metadata[name].tolist()
        for a, b in zip(ours, theirs, strict=True):
            missing = np.ndim(a) == 0 and pd.isna(a)
            assert pd.isna(b) if missing else np.array_equal(a, b)


def test_a_corpus_comes_back_from_disk(blocks):
    same(corpus_of(), blocks.load())
    assert blocks.load().words == corpus_of().words
    assert blocks.shape == corpus_of().shape
    assert blocks.n_blocks == 5


def test_documents_are_selected_without_being_read(blocks):
    rows = [1, 4, 5, 17]
    some = blocks[rows]
    assert len(some) == 4
    assert some.n_blocks == 3
    same(corpus_of()[rows], some.load())
    same(corpus_of()[rows][[0, 3]], some[[0, 3]].load())
    mask = np.arange(23) % 2 == 0
    same(corpus_of()[mask], blocks[mask].load())
    with pytest.raises(ValueError, match="in ascending order"):
        blocks[[3, 1]]


def test_counts_without_names_and_fractions(tmp_path):
    counts = np.array([[0.5, 0, 2], [0, 0, 0], [1, 1, 1]])
    loaded = gptm.open_corpus(Corpus(counts).to_blocks(tmp_path / "a", block_documents=2)).load()
    assert loaded.vocabulary is None
    assert loaded.metadata is None
    assert loaded.ids is None
    assert np.array_equal(loaded.counts.toarray(), counts)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_reading_to_blocks_is_reading(tmp_path, suffix, n_jobs):
    rng = np.random.default_rng(1)
    n = 2500  # several chunks
    frame = pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "date": pd.date_range("2000-01-01", periods=n).strftime("%d.%m.%Y"),
            "who": rng.choice(["Ann", "Bob", ""], n),
            "body": [" ".join(rng.choice([*WORDS, "the", "rare" + str(i)], 6)) for i in range(n)],
        }
    )
    path = tmp_path / f"docs.{suffix}"
    files.write_table(frame, path)
    words = Words("english", min_df=2)
    result = files.read_to_blocks(
        path, tmp_path / "blocks", words=words, block_documents=700, n_jobs=n_jobs, keep_texts=9
    )
    expected = files.read(path, words=words)
    same(expected.corpus, result.corpus.load())
    assert result.report == expected.report
    assert [str(p) for p in result.problems] == [str(p) for p in expected.problems]
    assert str(result.columns) == str(expected.columns)
    assert result.corpus.n_blocks == 4
    assert result.corpus.load().texts[0] == frame["body"][0][:9]
    assert result.documents_per_second > 0
    sizes = Parallel(n_jobs=2)(delayed(abs)(x) for x in (-1, -2))  # joblib's own processes work on
    assert sizes == [1, 2]


def test_several_files_and_a_given_vocabulary(tmp_path):
    for name, texts in (("a", ["green tea", "tea"]), ("b", ["black tea", "coffee"])):
        (tmp_path / f"{name}.csv").write_text("n,body\n" + "".join(f"1,{t}\n" for t in texts))
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    result = files.read_to_blocks(
        paths, tmp_path / "c", vocabulary=["coffee", "tea"], text="body", block_documents=3
    )
    assert result.corpus.load().counts.toarray().tolist() == [[0, 1], [0, 1], [0, 1], [1, 0]]
    assert result.report.unknown.words == 2
    (tmp_path / "b.csv").write_text("n,other\n1,green tea\n")
    with pytest.raises(ValueError, match=r"b\.csv.*'body'"):
        files.read_to_blocks(paths, tmp_path / "d", text="body")
    assert not (tmp_path / "d" / "corpus.json").exists()


def test_cells_and_columns_that_turn_up_late_are_noted(tmp_path, monkeypatch):
    monkeypatch.setattr("gptm.files.texts_to_blocks.DECIDING", 2)
    monkeypatch.setattr("gptm.files.row_chunks._CHUNK_ROWS", 2)
    lines = [{"body": "green tea leaf", "stars": 3}] * 4 + [
        {"body": "black tea cup", "stars": "many", "new": 1}
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = files.read_to_blocks(path, tmp_path / "b", text="body", block_documents=2)
    assert {p.kind for p in result.problems} == {"not a number", "late column"}
    assert result.corpus.load().metadata["stars"].isna().tolist() == [False] * 4 + [True]


def test_a_folder_is_not_overwritten_by_accident(tmp_path, blocks):
    with pytest.raises(ValueError, match="overwrite=True"):
        corpus_of().to_blocks(blocks.path)
    corpus_of(3).to_blocks(blocks.path, overwrite=True)
    assert len(gptm.open_corpus(blocks.path)) == 3
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(ValueError, match="holds other files"):
        corpus_of().to_blocks(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "notes.txt").exists()


def damage(blocks, how):
    first = blocks.path / "block-000001.arrow"
    if how == "missing":
        first.unlink()
    elif how == "short":
        first.write_bytes(first.read_bytes()[:-100])
    elif how == "bit":
        content = bytearray(first.read_bytes())
        content[len(content) // 2] ^= 1
        first.write_bytes(content)
    elif how == "manifest":
        (blocks.path / "corpus.json").write_text('{"gptm corpus": 1, "blocks": 3}')
    elif how == "version":
        text = (blocks.path / "corpus.json").read_text()
        (blocks.path / "corpus.json").write_text(
            text.replace('"gptm corpus": 1', '"gptm corpus": 9')
        )
    elif how == "vocabulary":
        (blocks.path / "vocabulary.json").write_text(json.dumps(["x"] * blocks.shape[1]))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("missing", "block-000001.arrow.*missing"),
        ("short", "bytes"),
        ("bit", "checksum"),
        ("manifest", "corpus.json"),
        ("version", "form 9"),
        ("vocabulary", "vocabulary of another corpus"),
    ],
)
def test_damage_is_refused(blocks, how, said):
    damage(blocks, how)
    with pytest.raises(ValueError, match=said):
        gptm.open_corpus(blocks.path).load()


def with_block_of(blocks, other):
    """The folder with a block of another corpus, and with a manifest that believes it."""
    shutil.copy(other.path / "block-000000.arrow", blocks.path / "block-000000.arrow")
    manifest = json.loads((blocks.path / "corpus.json").read_text())
    theirs = json.loads((other.path / "corpus.json").read_text())
    manifest["blocks"][0] = theirs["blocks"][0]
    (blocks.path / "corpus.json").write_text(json.dumps(manifest))
    return BlockCorpus(blocks.path)


def test_blocks_of_another_corpus_are_refused(blocks, tmp_path):
    other = Corpus.from_texts(["green apple", "pear"], min_df=1).to_blocks(tmp_path / "other")
    with pytest.raises(ValueError, match="vocabulary of another corpus"):
        with_block_of(blocks, gptm.open_corpus(other)).load()
    plain = corpus_of()
    bare = Corpus(
        plain.counts, plain.vocabulary, metadata={"else": [1] * len(plain)}, ids=plain.ids
    )
    with pytest.raises(ValueError, match="its columns are"):
        with_block_of(blocks, gptm.open_corpus(bare.to_blocks(tmp_path / "bare"))).load()


def test_what_is_no_corpus_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no corpus\.json"):
        gptm.open_corpus(tmp_path)
    with pytest.raises(ValueError, match="is not a folder"):
        gptm.open_corpus(tmp_path / "nowhere")


def test_the_command_writes_blocks_and_tells_its_speed(tmp_path):
    (tmp_path / "a.csv").write_text("date,body\n2020-01-31,green tea\n2021-02-28,black tea\n")
    given = ["corpus", str(tmp_path / "a.csv"), "-o", str(tmp_path / "blocks"), "-j", "1"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0
    assert "documents per second" in done.stderr
    assert gptm.open_corpus(tmp_path / "blocks").kinds == {"date": "date"}
    done = CliRunner().invoke(app, given)
    assert done.exit_code != 0
    assert "--overwrite" in done.stderr
    done = CliRunner().invoke(app, [*given, "--overwrite", "--json"])
    assert json.loads(done.stdout)["documents"] == 2
