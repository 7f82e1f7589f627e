"""The race against other libraries: what its parts do on tiny corpora, without any rival."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from benchmarks.race.environments import FAMILIES, FAMILY_OF
from benchmarks.race.libraries import gptm as ours
from benchmarks.race.running import is_there
from benchmarks.race.tables import markdown, table_of
from benchmarks.race.task import Task, in_our_order
from benchmarks.race.tracks import TRACKS, Case, Topics, Words, split_words
from benchmarks.race.worker import first_documents, main

RNG = np.random.default_rng(0)
COUNTS = csr_matrix(RNG.poisson(1.0, (30, 12)))
VOCABULARY = np.array([f"word{chr(97 + i)}" for i in range(12)])
FRAME = pd.DataFrame({"group": ["a", "b"] * 15, "t": np.linspace(0, 1, 30)})


def task(**changes):
    return Task(COUNTS, VOCABULARY, 3, 0, 1, FRAME, "~ group + s(t)", ("group", "a", "b"))._replace(
        **changes
    )


def test_a_task_survives_the_way_through_files(tmp_path):
    vectors = RNG.standard_normal((30, 4))
    given = task(texts=["a"] * 30, vectors=vectors)
    given.write(tmp_path)
    read = Task.read(tmp_path)
    assert (read.counts != COUNTS).nnz == 0
    pd.testing.assert_frame_equal(read.metadata, FRAME)
    assert read.texts == given.texts
    np.testing.assert_array_equal(read.vectors, vectors)
    assert [len(words) for words in read.documents()] == COUNTS.sum(1).ravel().tolist()[0]


def test_a_formula_becomes_a_kernel():
    assert repr(ours.kernel_of(task())) == "Categorical('group') + Matern('t')"
    assert ours.kernel_of(task(formula="")) is None


def test_a_worker_leaves_topics_proportions_and_effects(tmp_path):
    task().write(tmp_path)
    main("gptm", tmp_path)
    topics, theta = np.load(tmp_path / "topics.npy"), np.load(tmp_path / "theta.npy")
    np.testing.assert_allclose(topics.sum(1), 1.0)
    assert theta.shape == (30, 3)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["memory_mb"] > 50
    effect = result["effect"]
    assert all(low <= high for low, high in zip(effect["low"], effect["high"], strict=True))
    assert sum(effect["estimate"]) == pytest.approx(0.0, abs=1e-9)


def test_words_that_a_library_leaves_out_have_no_weight():
    topics = in_our_order(np.array([[1.0, 2.0]]), ["c", "a"], np.array(["a", "b", "c"]))
    assert topics.tolist() == [[2.0, 0.0, 1.0]]


def test_a_first_fit_is_small():
    few = first_documents(task(counts=csr_matrix(np.ones((500, 12))), metadata=None, K=50))
    assert few.counts.shape == (100, 12)
    assert few.K == 5


def test_held_out_tokens_are_half_of_a_tenth_of_the_documents():
    counts = csr_matrix(RNG.poisson(3.0, (50, 12)))
    train, held = split_words(counts, 0)
    assert len(held) == 5
    for d, words in held.items():
        back = train[d].toarray().ravel() + np.bincount(words, minlength=12)
        np.testing.assert_array_equal(back, counts[d].toarray().ravel())
        assert len(words) == counts[d].sum() // 2
    assert train.sum() == counts.sum() - sum(map(len, held.values()))


def test_scores_of_held_out_words_are_log_probabilities(tmp_path):
    rows = [
        {
            "counts": {w: int(n) + 1 for w, n in zip(VOCABULARY, row, strict=True)},
            "rating": r,
            "date": "2008-01-02",
        }
        for row, r in zip(COUNTS.toarray(), FRAME["group"], strict=True)
    ]
    with gzip.open(tmp_path / "poliblog5k.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    track, case = Words(tmp_path), Case("poliblog5k", 2, 0)
    topics, theta = np.full((2, 12), 1 / 12), np.full((30, 2), 0.5)
    scores = track.scores(case, topics, theta, {})
    assert scores["log_likelihood"] == pytest.approx(-np.log(12))
    assert scores["perplexity"] == pytest.approx(12)


def test_clusters_count_documents_that_were_left_out_as_one_cluster(tmp_path):
    texts = ["green tea black tea leaf"] * 10 + ["cold war army navy ship"] * 10
    rows = [{"text": text, "label": text[:3]} for text in texts]
    with gzip.open(tmp_path / "small.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    track, case = Topics(tmp_path), Case("small", 2, 0)
    V = len(track.corpus("small").vocabulary)
    theta = np.repeat(np.eye(2), 10, axis=0)
    topics = RNG.dirichlet(np.ones(V), 2)
    assert track.scores(case, topics, theta, {})["purity"] == 1.0
    theta[:5] = 0.0
    scores = track.scores(case, topics, theta, {})
    assert scores["assigned"] == 0.75
    assert scores["purity"] == 1.0
    assert scores["nmi"] < 1.0


def test_a_track_without_data_says_so():
    with pytest.raises(ValueError, match="--data"):
        Words(None).task(Case("poliblog5k", 20, 0), "gptm")
    with pytest.raises(FileNotFoundError, match=r"poliblog5k\.jsonl\.gz"):
        Words(__import__("pathlib").Path("nowhere")).task(Case("poliblog5k", 20, 0), "gptm")


def test_every_library_of_a_track_has_a_module_and_an_environment():
    for track in TRACKS.values():
        for library in track.libraries:
            assert library == "stm" or is_there(library)
            assert FAMILY_OF.get(library, "vectors") in FAMILIES


def test_tables_have_medians_and_failures():
    rows = [
        {"corpus": "c", "K": 20, "seed": s, "library": "gptm", "npmi": n, "seconds": 1.0}
        for s, n in enumerate([0.1, 0.2, 0.9])
    ]
    rows.append({"corpus": "c", "K": 20, "seed": 0, "library": "other", "failed": "no memory"})
    text = markdown(table_of("topics", rows))
    assert "| c | 20 | gptm | 3 | 0.2 |" in text
    assert "no memory" in text


def test_tables_have_the_mean_share_of_bands_that_hold():
    rows = [
        {"corpus": "c", "K": 10, "seed": s, "library": "gptm", "slope": x, "bands_hold": x}
        for s, x in enumerate([0.1, 0.8, 0.9])
    ]
    table = table_of("effects", rows)
    assert table["slope"].item() == pytest.approx(0.8)
    assert table["bands_hold"].item() == pytest.approx(0.6)
