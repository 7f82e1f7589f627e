"""Sheets for human coders: what is asked, that nothing tells the answer, and how filled sheets score."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from scipy.stats import binom

import gptm
from checks import assert_safe
from gptm import CTM, Corpus
from gptm.findings.intrusion_scores import nominal_alpha

THEMES = {
    "tea": "tea leaves green kettle cup steam pot jasmine",
    "war": "army navy battle soldier general front treaty enemy",
    "law": "court judge trial verdict lawyer appeal crime police",
}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    texts = [
        " ".join([*rng.choice(words.split(), 14), *rng.choice(["the", "of", "and"], 3)])
        for _ in range(25)
        for words in THEMES.values()
    ]
    return Corpus.from_texts(texts)


@pytest.fixture(scope="module")
def model(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CTM(
            3,
            seed_words={
                name: [name] if name == "tea" else words.split()[:2]
                for name, words in THEMES.items()
            },
            max_iter=40,
            random_state=0,
        ).fit(corpus)


def test_words_of_a_topic_and_one_of_another(model):
    found = gptm.word_intrusion(model, n_words=4, questions=3)
    assert "9 questions: which option does not belong?" in found._repr_html_()
    assert found.sheet["question"].tolist() == list(range(1, 10))
    assert (found.sheet["answer"] == "").all()
    assert sorted(found.key["topic"]) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for (_, row), (_, key) in zip(found.sheet.iterrows(), found.key.iterrows(), strict=True):
        options = [row[f"option_{i}"] for i in range(1, 6)]
        assert len(set(options)) == 5
        intruder = options.pop(key["answer"] - 1)
        assert intruder == key["intruder"]
        assert set(options) <= set(model.topic_words(8, order="probable")[key["topic"]])
        assert intruder in model.topic_words(4, order="probable")[key["intruder_topic"]]
        beta = model.components_[key["topic"]]
        column = list(model.feature_names_in_).index(intruder)
        assert beta[column] <= np.median(beta)
        assert model.components_[:, column].argmax() == key["intruder_topic"]
    first = gptm.word_intrusion(model, n_words=5)
    for (_, row), (_, key) in zip(first.sheet.iterrows(), first.key.iterrows(), strict=True):
        shown = {row[f"option_{i}"] for i in range(1, 7)} - {key["intruder"]}
        assert shown == set(model.topic_words(5)[key["topic"]])


def test_documents_of_a_topic_and_one_of_another(model, corpus):
    found = gptm.document_intrusion(model, corpus, n_documents=3, questions=2, length=60)
    theta = model.doc_topics_
    assert len(found.sheet) == 6
    for (_, row), (_, key) in zip(found.sheet.iterrows(), found.key.iterrows(), strict=True):
        options = [row[f"option_{i}"] for i in range(1, 5)]
        assert max(map(len, options)) <= 60
        assert options[key["answer"] - 1] == corpus.texts[key["intruder"]][:60]
        assert theta[key["intruder"]].argmax() == key["intruder_topic"] != key["topic"]
    used = found.sheet.filter(like="option_").to_numpy().ravel()
    key = found.key
    own = [row for _, row in found.sheet.iterrows()]
    top = {t: set(corpus.texts[np.argsort(-theta[:, t], kind="stable")[:6]]) for t in range(3)}
    for row, topic, answer in zip(own, key["topic"], key["answer"], strict=True):
        shown = {row[f"option_{i}"] for i in range(1, 5) if i != answer}
        assert shown <= {text[:60] for text in top[topic]}
    assert len(used) == 24


def test_the_same_seed_gives_the_same_sheet_and_nothing_tells_the_topic(model, corpus):
    for make in (gptm.word_intrusion, lambda m, **o: gptm.document_intrusion(m, corpus, **o)):
        first, again, other = make(model), make(model), make(model, random_state=1)
        assert_frame_equal(first.sheet, again.sheet)
        assert not first.sheet.equals(other.sheet)
        assert not {"topic", "words", "intruder"} & set(first.sheet)
    places = [
        place
        for seed in range(60)
        for place in gptm.word_intrusion(model, random_state=seed).key["answer"]
    ]
    counts = np.bincount(places, minlength=7)[1:]
    assert counts.min() > 10  # every place about thirty times


def test_files_for_spreadsheets(model, tmp_path):
    found = gptm.word_intrusion(model)
    sheet, key = found.save(tmp_path / "words.csv")
    assert key == tmp_path / "words-key.csv"
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbf")  # so that they read the umlauts
    filled = pd.read_csv(sheet, encoding="utf-8-sig")
    filled["answer"] = found.key["answer"].astype(float)  # 3.0, as spreadsheets have it
    filled.sample(frac=1.0, random_state=0).to_csv(tmp_path / "ann.csv", index=False, sep=";")
    scores = gptm.score_intrusion(tmp_path / "ann.csv", key)
    assert scores.precision == 1.0
    with pytest.raises(ValueError, match="key must be another file"):
        found.save(tmp_path / "a.csv", tmp_path / "a.csv")


def test_no_cell_is_a_formula(tmp_path):
    texts = [f"=cmd {a} {i}" for i in range(12) for a in ("tea tea", "war war")]
    corpus = Corpus.from_texts(texts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CTM(2, max_iter=10, random_state=0).fit(corpus)
    found = gptm.document_intrusion(model, corpus)
    sheet, key = found.save(tmp_path / "d.csv")
    cells = pd.read_csv(sheet, encoding="utf-8-sig")
    assert cells.filter(like="option_").map(lambda cell: cell.startswith("'=")).all(axis=None)
    # An answer by the text itself is understood with and without the mark.
    by_text = cells.copy()
    by_text["answer"] = [cells.loc[i, f"option_{a}"] for i, a in enumerate(found.key["answer"])]
    assert gptm.score_intrusion(by_text, key).precision == 1.0
    by_text["answer"] = by_text["answer"].str.removeprefix("'").str.upper()
    assert gptm.score_intrusion(by_text, key).precision == 1.0


def test_scores(model):
    found = gptm.word_intrusion(model, questions=2)
    key, right = found.key, found.key["answer"]
    wrong = right % 6 + 1
    ann = found.sheet.assign(answer=right.where(found.key["topic"] != 1, wrong))
    bob = found.sheet.assign(answer=right)
    bob.loc[0, "answer"] = None
    scores = gptm.score_intrusion({"ann": ann, "bob": bob}, key)
    answered = 12 - 1
    correct = answered - 2
    assert scores.missing == 1
    assert_allclose(scores.precision, correct / answered)
    z = 1.6448536269514722  # Wilson's interval written out
    p, n = correct / answered, answered
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert_allclose([scores.low, scores.high], [centre - half, centre + half], rtol=1e-6)
    assert_allclose(scores.p_value, binom.sf(correct - 1, n, 1 / 6))
    assert scores.table.loc[1, "correct"] == scores.table.loc[1, "answers"] - 2
    assert scores.chance == pytest.approx(1 / 6)
    assert "2 coders" in repr(scores)
    assert "1 question has no answer" in repr(scores)
    assert max(map(len, repr(scores).splitlines())) <= 100
    shown = assert_safe(scores._repr_html_())
    assert "2 coders" in shown
    assert scores.title in shown
    alone = gptm.score_intrusion([ann], key)
    assert np.isnan(alone.agreement)


def test_agreement_is_krippendorffs():
    """The two examples of Krippendorff's "Computing Krippendorff's Alpha-Reliability" (2011)."""
    two = pd.DataFrame([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]])
    assert_allclose(nominal_alpha(two), 0.095, atol=5e-4)
    _ = None
    four = pd.DataFrame(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
            [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
        ]
    )
    assert_allclose(nominal_alpha(four), 0.743, atol=5e-4)
    assert np.isnan(nominal_alpha(two.iloc[:1]))


def test_guessing_scores_as_chance(model):
    found = gptm.word_intrusion(model, questions=40)
    rng = np.random.default_rng(0)
    scores = gptm.score_intrusion(found.sheet.assign(answer=rng.integers(1, 7, 120)), found.key)
    assert scores.low < 1 / 6 < scores.high
    assert scores.p_value > 0.01


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answer": 9}, "question 1 must be a number from 1 to 6, or the option itself; got '9'"),
        ({"answer": "cow"}, "got 'cow'"),
        ({"answer": 2.5}, "got '2.5'"),
        ({"question": 77}, "there is no question 77"),
        ({"answer": ""}, "no question has an answer"),
    ],
)
def test_sheets_that_are_filled_wrongly(model, change, said):
    found = gptm.word_intrusion(model)
    filled = found.sheet.iloc[:1].assign(**{"answer": 1} | change)
    with pytest.raises(ValueError, match=said):
        gptm.score_intrusion(filled, found.key)


def test_what_is_wrong_is_said(model, corpus):
    sheet = gptm.word_intrusion(model)
    cases = [
        (lambda: gptm.word_intrusion(model, n_words=1000), "n_words must be less than"),
        (lambda: gptm.word_intrusion(model, n_words=1), "n_words must be an integer"),
        (lambda: gptm.word_intrusion(model, questions=0), "questions must be"),
        (lambda: gptm.document_intrusion(model, corpus[:5]), "a corpus of 5 documents"),
        (lambda: gptm.document_intrusion(model, corpus.counts), "an object of type csr_matrix"),
        (lambda: gptm.document_intrusion(model, Corpus(corpus.counts)), "without texts"),
        (lambda: gptm.document_intrusion(model, corpus, questions=50), "different texts"),
        (lambda: gptm.score_intrusion(sheet.sheet.drop(columns="answer"), sheet.key), "columns"),
        (lambda: gptm.score_intrusion([], sheet.key), "at least one sheet"),
        (lambda: gptm.score_intrusion(sheet.sheet, 3), "key must be a table or a CSV file"),
        (lambda: gptm.word_intrusion(CTM(1, max_iter=2).fit([[1, 2, 3]] * 4)), "only one topic"),
    ]
    for call, said in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ValueError, match=said):
                call()


def test_topics_with_the_same_words_and_loaded_models(tmp_path):
    X = np.ones((12, 5), dtype=int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CTM(2, max_iter=5, random_state=0).fit(X)
    model.save(tmp_path / "m.gptm")
    found = gptm.word_intrusion(gptm.load(tmp_path / "m.gptm"), n_words=4)
    assert len(found.sheet) == 2


def test_a_sheet_prints_its_questions_and_not_its_answers():
    X = np.kron(np.eye(3), np.ones((5, 6))) * 5
    model = CTM(3, random_state=0, max_iter=20).fit(X)
    sheet = gptm.word_intrusion(model, feature_names=[f"word{i}" for i in range(18)])
    lines = repr(sheet).splitlines()
    assert lines[0] == "3 questions: which option does not belong? .key has the answers"
    assert lines[1].split() == list(sheet.sheet)
    assert "intruder" not in repr(sheet)
