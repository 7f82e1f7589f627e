"""What a terminal and a notebook show of models, corpora, effects and comparisons."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import gptm
from checks import assert_safe
from gptm import CTM, GPTM, Corpus, load
from gptm import kernels as k
from gptm.views.html_card import Bar, card, html_table
from gptm.views.shown_table import ShownTable
from gptm.views.text_lines import WIDTH, aligned, cut_list, percent

EVIL = "<script>alert('x')</script> & \"co\""
RNG = np.random.default_rng(0)
THEMES = ["tax budget revenue debt bank income", "war army navy enemy troops peace"]
TEXTS = [" ".join(RNG.choice(THEMES[i % 2].split(), 20)) + f" {EVIL}" for i in range(40)]
PARTY = [EVIL if i % 2 else "left" for i in range(40)]


@pytest.fixture(scope="module")
def corpus():
    frame = pd.DataFrame({"party": PARTY, "<b>when": pd.date_range("2020", periods=40)})
    return Corpus.from_texts(TEXTS, metadata=frame, max_df=1.0, stop_words=None)


@pytest.fixture(scope="module")
def model(corpus):
    return GPTM(2, kernel=k.Categorical("party"), random_state=0, max_iter=60).fit(corpus)


def test_print_shows_what_the_model_has_found(model):
    text = str(model)
    assert text == model.summary()
    lines = text.splitlines()
    assert lines[0].startswith("GPTM: 2 topics from 40 documents, ")
    assert lines[1] == "kernel  Categorical('party')"
    assert re.match(
        r"fit     sampling, (converged|ended at max_iter) after 60 sweeps; fewest eff", lines[2]
    )
    assert max(map(len, lines)) <= WIDTH
    for topic, words in enumerate(model.topic_words(3)):
        assert ", ".join(words) in lines[-2 + topic]


def test_repr_stays_that_of_scikit_learn(model):
    assert (
        repr(model)
        == "GPTM(kernel=Categorical('party'), max_iter=60, n_components=2, random_state=0)"
    )
    again = eval(repr(model), {"GPTM": GPTM, "Categorical": k.Categorical})
    assert str(again) == repr(again) == repr(model)  # nothing to show before a fit
    assert repr(clone(model)) == repr(model)
    assert "GPTM" in again._repr_html_()
    assert "GPTM" in make_pipeline(model)._repr_html_()


def test_a_notebook_gets_html_unless_told_otherwise(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == str(model)
    assert bundle["text/html"] == model._repr_html_()
    with sklearn.config_context(display="text"):
        assert model._repr_mimebundle_().keys() == {"text/plain"}


def test_html_is_escaped_everywhere(model, corpus):
    assert "party" in assert_safe(corpus._repr_html_())
    assert "<b>when" in assert_safe(corpus._repr_html_())
    named = model.name_topics({0: EVIL})
    for shown in (named, named.topics(), named.effects()):
        text = assert_safe(shown._repr_html_())
        assert EVIL in text
    models = {EVIL: CTM(2, max_iter=5, random_state=0), "other": CTM(3, max_iter=5, random_state=0)}
    comparison = gptm.compare(models, corpus, cv=2)
    assert EVIL in assert_safe(comparison._repr_html_())
    assert "fold" in assert_safe(gptm.cross_validate(models["other"], corpus, cv=2)._repr_html_())


def test_pieces_of_html():
    assert (
        assert_safe(card(EVIL, [(EVIL, EVIL)], html_table([EVIL], [[EVIL]]), [EVIL])).count(EVIL)
        == 6
    )
    assert "width:6.00em" in html_table(["x"], [[Bar("2", 7.0)]])


@pytest.mark.parametrize("K", [1, 3, 45, 70])
@pytest.mark.parametrize("n_words", [1, 10, 200])
def test_topics_fit_into_100_columns(K, n_words):
    X = RNG.poisson(1.0, (80, 90))
    names = [f"{'long' * (i % 9)}word{i}" for i in range(90)]
    model = CTM(K, inference="variational", max_iter=2, random_state=0).fit(
        pd.DataFrame(X, columns=names)
    )
    model = model.name_topics(
        {0: "a name that is much longer than the names of topics should ever be"}
    )
    table = model.topics(n_words)
    lines = repr(table).splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) == 1 + min(K, 60) + (K > 60)
    assert max(map(len, str(model).splitlines())) <= 100
    assert ("The 30 largest of" in str(model)) == (K > 30)
    assert len(table) == K
    assert table.columns.tolist()[:2] == ["name", "words"]
    assert type(table[["words"]]) is pd.DataFrame
    assert type(table.copy()) is pd.DataFrame
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(table)), table)
    assert_safe(table._repr_html_())


def test_effects_are_a_table_with_bands(model):
    table = model.effects(level=0.8)
    text = assert_safe(table._repr_html_())
    assert "Effects of party, 80 % bands" in text
    row = table.iloc[0]
    assert (
        f"{row['contrast']:+.2f} [{row['contrast_low']:+.2f}, {row['contrast_high']:+.2f}]" in text
    )
    assert "<table" in table[["topic", "contrast"]]._repr_html_()
    assert isinstance(table.groupby("topic")["share"].sum(), pd.Series)


def test_effects_print_within_100_columns(model):
    table = model.effects("party", level=0.8)
    lines = repr(table).splitlines()
    assert lines[0] == "Effects of party, 80 % bands"
    assert lines[1].split() == ["topic", "party", "contrast", "share"]
    row = table.iloc[0]
    share = f"{100 * row['share']:.1f} % [{100 * row['share_low']:.1f}, "
    assert share in lines[2]
    assert len(lines) == 2 + len(table)
    assert max(map(len, lines)) <= WIDTH
    assert "contrast" not in repr(table[["topic", "share"]])
    many = model.effects("party", at=["left"] * 50)
    assert repr(many).endswith("... and 60 more rows")


def test_all_columns_of_a_table_are_printed():
    table = ShownTable.of(
        pd.DataFrame(
            {
                "topic": [0, 12],
                "name": ["x" * 80, EVIL],
                "text": ["y" * 300, "a\nb"],
                "share": [0.123456, 1e-5],
                "when": pd.to_datetime(["2020-01-02 00:00", "2020-01-02 03:04"]),
                "of": [[1, 2], None],
                "p": [np.nan, 12.3456],
            }
        ),
        EVIL,
        "a note",
    )
    heading, first, second = repr(table).splitlines()
    assert heading.split() == ["topic", "name", "text", "share", "when", "of", "p"]
    assert len(first) <= WIDTH
    for cell in ("0.1235", "2020-01-02 ", "1, 2", "xxx…", "yyy…"):
        assert cell in first
    for cell in ("12", "1e-05", "2020-01-02 03:04", "a b", "12.35"):
        assert cell in second
    text = assert_safe(table._repr_html_())
    assert "a note" in text
    assert EVIL in text
    assert type(table[["topic"]]) is pd.DataFrame
    assert "more rows" not in repr(table)
    assert repr(ShownTable({"x": range(100)})).endswith("\n... and 40 more rows")
    assert "40 more rows" in ShownTable({"x": range(100)})._repr_html_()
    assert repr(ShownTable()) == ""


def test_tables_of_a_model_print_within_100_columns(model, corpus):
    named = model.name_topics({0: "a name that is long, " * 4})
    estimated = named.estimate_effects("~ party", corpus)
    tables = [
        named.variance_explained(),
        named.representative_documents(),
        named.topic_hierarchy(),
        estimated.marginal_effects(),
        estimated.predict("party"),
        estimated,
        gptm.word_intrusion(model, feature_names=corpus.vocabulary),
    ]
    for table in tables:
        assert max(map(len, repr(table).splitlines()[1:])) <= WIDTH, type(table)
        assert " ... " not in repr(table)


def test_representative_documents_of_all_topics(model):
    table = model.representative_documents(n=3)
    assert table["topic"].tolist() == [0, 0, 0, 1, 1, 1]
    one = model.representative_documents(1, 3)
    assert table["text"].tolist()[3:] == one["text"].tolist()
    assert table["share"].tolist()[3:] == one["share"].tolist()
    named = model.name_topics({1: "war"}).representative_documents(n=1)
    assert named["topic_name"].tolist() == ["", "war"]


def test_the_documents_in_a_model_file(model, corpus, tmp_path):
    path = tmp_path / "m.gptm"
    model.save(path)
    with pytest.raises(ValueError, match=r"(?s)without its documents\. Save it with model\.save"):
        gptm.load_corpus(path)
    model.save(path, corpus=corpus, texts=corpus.texts)
    loaded = gptm.load_corpus(path)
    assert (loaded.counts != corpus.counts).nnz == 0
    table = load(path).representative_documents(corpus=loaded)
    assert table["text"].tolist() == model.representative_documents()["text"].tolist()


def test_representative_documents_have_their_texts(model, tmp_path):
    table = model.representative_documents(0, 3)
    assert table["text"].tolist() == [TEXTS[d][:200] for d in table["position"]]
    whole = model.representative_documents(0, 3, text_length=None)
    assert whole["text"].tolist() == [TEXTS[d] for d in table["position"]]
    assert model.representative_documents(0, 1, text_length=5)["text"].str.len().tolist() == [5]
    with pytest.raises(ValueError, match="text_length must be"):
        model.representative_documents(0, text_length=0)
    named = model.name_topics({1: "war"})
    assert "text" in named.representative_documents("war")
    model.save(tmp_path / "m.gptm")
    for other in (load(tmp_path / "m.gptm"), pickle.loads(pickle.dumps(model))):
        assert "text" not in other.representative_documents(0)
        assert str(other) == str(model)
    assert TEXTS[0][:30].encode() not in pickle.dumps(model)


def test_texts_that_a_model_was_fitted_to_are_known():
    with pytest.warns(UserWarning, match="X holds texts"):
        model = CTM(2, random_state=0, max_iter=10).fit([text[:60] for text in TEXTS])
    assert model.representative_documents(0, 1)["text"][0] in {text[:60] for text in TEXTS}
    model.fit(RNG.poisson(1.0, (12, 5)))
    assert "text" not in model.representative_documents(0)


def test_shares_of_many_documents_are_not_computed_for_a_look(monkeypatch):
    monkeypatch.setattr("gptm.model.estimator.MANY_DOCUMENTS", 5)
    model = CTM(2, random_state=0, max_iter=5).fit(RNG.poisson(1.0, (12, 5)))
    fresh = model.fitted_.doc_topics is None
    assert ("share" not in str(model)) == fresh
    assert model.topics()["share"].sum() == pytest.approx(1)
    assert "share" in str(model)


def test_odd_corpora_can_be_shown():
    for odd in (
        Corpus(np.zeros((1, 1))),
        Corpus(np.zeros((3, 2)), metadata={f"c{i}": [1, None, 3] for i in range(50)}),
        Corpus(np.zeros((2, 2)), ["a\nb", EVIL], metadata={"x": [None, None]}),
    ):
        assert "Corpus" in assert_safe(odd._repr_html_())


def test_lines():
    assert percent(1.0) == "100 %"
    assert cut_list("abcdefgh", 4) == "abc…"
    lines = aligned(["n", "name", "words"], [["1", "x" * 80, "a\nb, " * 60]], left=2)
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) == 2
    assert_array_equal(["\n" in line for line in lines], False)


def test_two_fits_side_by_side_are_a_card():
    X = np.random.default_rng(0).poisson(1.0, size=(40, 8))
    a, b = (gptm.CTM(K, max_iter=5, random_state=0).fit(X) for K in (2, 3))
    found = gptm.align(a, b)
    page = found._repr_html_()
    assert found.title in page
    assert found.title == str(found).splitlines()[0]
    assert "nan" not in page.lower()
    assert "<p>" not in page
