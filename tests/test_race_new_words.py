"""The race's track of new documents: what libraries are given, and how their answers are scored."""

import gzip
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix

from benchmarks.race import worker
from benchmarks.race.corpora import texts_of
from benchmarks.race.task import Task, as_words
from benchmarks.race.tracks import Case, Completion

WORDS = [f"{a}{b}" for a in ("ship", "bank", "star") for b in "abcdefghij"]
TRUTH = np.kron(np.eye(3), np.full(10, 0.1))
CASE = Case("m10", 3, 0)


@pytest.fixture(scope="module")
def track(tmp_path_factory):
    """150 documents of 30 words; each of three topics has ten words of its own."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("data")
    with gzip.open(folder / "m10.jsonl.gz", "wt", encoding="utf-8") as file:
        for theta in rng.dirichlet(np.full(3, 0.2), 150):
            words = rng.choice(WORDS, size=30, p=theta @ TRUTH)
            file.write(json.dumps({"text": " ".join(words)}) + "\n")
    return Completion(folder)


def topics_of(vocabulary):
    """The true topics over the words that are left."""
    topics = np.array(
        [[word[:4] == name for word in vocabulary] for name in ("ship", "bank", "star")]
    )
    return topics / topics.sum(1, keepdims=True)


def test_new_documents_survive_the_way_through_files(track, tmp_path):
    task = track.task(CASE, "gptm")
    task.write(tmp_path)
    again = Task.read(tmp_path)
    assert len(again.new) == 3
    for counts, before in zip(again.new, task.new, strict=True):
        assert_allclose(counts.toarray(), before.toarray())


def test_words_one_by_one():
    counts = csr_matrix([[2, 0, 1], [0, 0, 0]])
    assert as_words(counts, np.array(["a", "b", "c"])) == [["a", "a", "c"], []]


def test_new_documents_are_not_trained_on_and_lose_no_word(track):
    corpus = track.corpus("m10", 0)
    assert corpus.counts.shape[0] == 120
    whole = np.add(*corpus.parts[0]).toarray()
    for share, (seen, hidden) in zip(track.seen, corpus.parts, strict=True):
        assert_allclose((seen + hidden).toarray(), whole)
        assert_allclose(np.ravel(seen.sum(1)), np.ceil(share * whole.sum(1)))


def test_true_proportions_predict_best(track):
    corpus = track.corpus("m10", 0)
    topics = topics_of(corpus.vocabulary)
    shares = [(seen @ (topics.T > 0)) + 0.1 for seen, _ in corpus.parts]
    near = [share / share.sum(1, keepdims=True) for share in shares]
    far = [np.full_like(share, 1 / 3) for share in shares]
    train = np.full((corpus.counts.shape[0], 3), 1 / 3)
    good = track.scores(CASE, topics, train, {"new_theta": near})
    bad = track.scores(CASE, topics, train, {"new_theta": far})
    for seen in (50, 20, 5):
        assert good[f"own_{seen}"] < bad[f"own_{seen}"]
        assert good[f"common_{seen}"] == bad[f"common_{seen}"] < bad[f"own_{seen}"]


def test_equal_proportions_score_as_the_mean_of_the_topics_does(track):
    corpus = track.corpus("m10", 0)
    topics = topics_of(corpus.vocabulary)
    far = [np.full((seen.shape[0], 3), 1 / 3) for seen, _ in corpus.parts]
    scores = track.scores(CASE, topics, far[0], {"new_theta": far})
    hidden = np.asarray(corpus.parts[0][1].sum(0)).ravel()
    expected = np.exp(-(hidden @ np.log(topics.mean(0))) / hidden.sum())
    assert scores["own_50"] == pytest.approx(expected, rel=1e-3)


def test_a_fit_leaves_proportions_of_new_documents(track, tmp_path):
    track.task(CASE, "gptm").write(tmp_path)
    worker.main("gptm_em", tmp_path)
    for number, (seen, _) in enumerate(track.corpus("m10", 0).parts):
        theta = np.load(tmp_path / f"new_theta_{number}.npy")
        assert theta.shape == (seen.shape[0], 3)
        assert_allclose(theta.sum(1), 1.0)


def test_paragraphs_of_speeches(tmp_path):
    long = " ".join(["word"] * 20)
    with gzip.open(tmp_path / "sotu.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"text": f"{long}\n\ntoo short\n\n{long} end"}))
    assert texts_of(tmp_path, "sotu") == [long, f"{long} end"]
