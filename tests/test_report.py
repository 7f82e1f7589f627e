"""The report: what is on the page, that it is the model's own, and that no text can leave its place."""

import base64
import gzip
import hashlib
import itertools
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import gptm
from gptm import CTM, GPTM, Corpus, metrics
from gptm import kernels as k
from gptm._basics.prose import readable
from gptm.corpus.kinds import kinds_of
from gptm.corpus.typed_columns import typed_frame
from gptm.report import json_values as plain
from gptm.report import layout, model_report, report_data, write_report
from gptm.report import page_documents as documents
from gptm.report import page_effects as report_effects
from gptm.report.kernel_words import kernel_code, kernel_sentences
from gptm.report.page import render_page
from gptm.report.page_data import score_table

N, K = 160, 4
THEMES = [
    "river bridge water boat flood harbour",
    "bread oven flour baker yeast dough",
    "star planet orbit comet moon telescope",
    "match goal team player league referee",
]
HOSTILE = "</script><script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"
ASSETS = Path(documents.__file__).parent / "assets"


def make_corpus(n=N, seed=0):
    """Four themes, of which time brings one after the other; document 3 would break a careless page."""
    rng = np.random.default_rng(seed)
    texts, dates, parties = [], [], []
    for row in range(n):
        theme = min(int(4 * (row / n) + rng.normal(0, 0.4)) % 4, 3)
        words = rng.choice(THEMES[theme].split(), 14).tolist()
        words += rng.choice(" ".join(THEMES).split(), 4).tolist()
        texts.append(f"Note {row}: " + " ".join(words) + ".")
        dates.append(pd.Timestamp("1900-01-01") + pd.Timedelta(days=200 * row))
        parties.append(["left", "right", None][theme % 3])
    texts[3] = f"{HOSTILE} {texts[3]} \ud800\x00 & 'quotes' \"more\""
    parties[3] = "<b>bold</b>"
    frame = pd.DataFrame({"date": dates, "party": parties, "<i>size": rng.normal(size=n).round(3)})
    counted = Corpus.from_texts(texts, metadata=frame, min_df=1)
    return Corpus(
        counted.counts,
        counted.vocabulary,
        metadata=frame,
        ids=[f"n{row}" for row in range(n)],
        texts=texts,
    )


class Told(GPTM):
    """A model that tells made-up effects in every form that the report draws."""

    @property
    def terms_(self):
        return ["date", "party", "links", "date * party"]

    def effects(self, term=None, topic=None, *, at=None, versus=None, level=0.9, n_points=50):
        dates = pd.date_range("1900-01-01", "1987-01-01", periods=7)
        grids = {
            "date": pd.DataFrame({"date": dates}),
            "party": pd.DataFrame({"party": ["<b>bold</b>", "left", "right"]}),
            "links": pd.DataFrame({"document": np.arange(len(self.doc_topics_))}),
            "date * party": pd.MultiIndex.from_product(
                [dates, [f"party {i}" for i in range(9)]], names=["date", "party"]
            ).to_frame(index=False),
        }
        rng, tables = np.random.default_rng(0), []
        for number in range(self.n_components):
            share = rng.dirichlet(np.ones(len(grids[term]) + 1))[:-1]
            values = {"share": share, "contrast": np.log(share) - np.log(share).mean()}
            for name, value in list(values.items()):
                values |= {f"{name}_low": value - 0.01, f"{name}_high": value + 0.01}
            tables.append(grids[term].assign(term=term, topic=number, **values))
        return pd.concat(tables, ignore_index=True)

    def variance_explained(self, level=0.9):
        terms, rows = [*self.terms_, "unexplained"], []
        for topic in ["all", *range(self.n_components)]:
            for i, term in enumerate(terms):
                rows.append((term, topic, (i + 1) / 15, i / 15, (i + 2) / 15))
        return pd.DataFrame(rows, columns=["term", "topic", "share", "low", "high"])


def fit(model, X, **data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **data)


def told_model(corpus):
    kernel = k.Matern("date") + k.Categorical("party")
    return fit(Told(K, kernel=kernel, random_state=0, max_iter=20), corpus)


SCORES = {"CTM": {0.5: 2106.0, 0.05: 2968.0}, "GPTM <b>": {0.5: 2035.0, 0.05: 2435.0}}


@pytest.fixture(scope="module")
def corpus():
    return make_corpus()


@pytest.fixture(scope="module")
def model(corpus):
    return told_model(corpus)


@pytest.fixture(scope="module")
def data(model, corpus):
    return report_data(model, corpus=corpus, title=f"Notes {HOSTILE}", scores=SCORES)


@pytest.fixture(scope="module")
def page(data, tmp_path_factory):
    path = write_report(data, tmp_path_factory.mktemp("page") / "report.html")
    return path.read_text(encoding="utf-8")


# What is on the page


def test_the_data_are_json(data):
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert list(data) == [
        "title",
        "generator",
        "overview",
        "topics",
        "words",
        "documents",
        "correlations",
        "tree",
        "effects",
        "variance",
    ]


def test_the_overview_counts(data, model, corpus):
    overview = data["overview"]
    assert (overview["n_documents"], overview["n_words"]) == corpus.shape
    assert overview["n_tokens"] == corpus.counts.sum()
    assert_allclose(overview["bound"], model.bound_, rtol=1e-7)
    assert overview["columns"] == ["date", "party", "<i>size"]


def test_words_of_topics_are_the_models(data, model):
    names = list(model.feature_names_in_)
    overall = np.array([topic["share"] for topic in data["topics"]]) @ model.components_
    for topic in data["topics"]:
        columns = [names.index(word) for word in topic["words"]]
        assert_allclose(
            topic["probabilities"], model.components_[topic["topic"], columns], rtol=1e-3
        )
        assert_allclose(topic["overall"], overall[columns], rtol=1e-3)
    assert_allclose(sum(topic["share"] for topic in data["topics"]), 1.0, atol=1e-4)
    table = model.topics()
    assert_allclose([t["coherence"] for t in data["topics"]], table["coherence"], atol=1e-3)
    assert_allclose([t["exclusivity"] for t in data["topics"]], table["exclusivity"], atol=1e-3)


@pytest.mark.parametrize("lambda_", [0.0, 0.3, 0.6, 1.0])
def test_the_page_has_the_most_relevant_words_at_any_lambda(lambda_):
    beta = np.random.default_rng(1).dirichlet(np.full(300, 0.1), 5)
    model = fit(CTM(5, init=beta, random_state=0, max_iter=1), np.eye(300)[::3])
    found = report_data(model)
    beta, share = model.components_, np.array([topic["share"] for topic in found["topics"]])
    top = metrics.top_words(metrics.relevance(beta, share @ beta, lambda_), 20)
    for topic, words in zip(found["topics"], top, strict=True):
        missing = {str(word) for word in words} - set(topic["words"])
        assert len(missing) <= 1  # the share is rounded


def test_documents_keep_their_topics_and_metadata(data, model, corpus):
    columns = data["documents"]
    assert columns["position"] == list(range(N))
    assert columns["id"] == corpus.ids.tolist()
    theta = model.doc_topics_
    assert_array_equal([topics[0] for topics in columns["topics"]], theta.argmax(1))
    for row in range(N):
        assert_allclose(
            columns["shares"][row], 1000 * theta[row, columns["topics"][row]], atol=0.51
        )
        assert set(np.flatnonzero(theta[row] >= 0.01)) <= {
            *columns["topics"][row],
            theta[row].argmax(),
        }
    date, party, size = columns["metadata"]
    assert (date["kind"], party["kind"], size["kind"]) == ("date", "category", "number")
    assert date["values"][0] == -25567
    assert date["values"][1] == -25367
    levels = [None if code is None else party["levels"][code] for code in party["values"]]
    expected = corpus.metadata["party"]
    assert levels == expected.astype(object).where(expected.notna(), None).tolist()
    assert_allclose(size["values"], corpus.metadata["<i>size"])


def test_typical_documents_have_most_of_the_topic(data, model, corpus):
    for topic in data["topics"]:
        expected = model.representative_documents(topic["topic"], 6, corpus=corpus)
        assert [item["position"] for item in topic["typical"]] == expected["position"].tolist()
        assert [item["id"] for item in topic["typical"]] == expected["id"].tolist()


def test_words_know_their_topics(data, model):
    words, names = data["words"], list(model.feature_names_in_)
    share = model.topics()["share"].to_numpy()
    column = share * model.components_[:, names.index("telescope")]
    place = words["word"].index("telescope")
    assert words["topics"][place][0] == column.argmax()
    assert_allclose(words["parts"][place][0], column.max() / column.sum(), atol=0.006)
    assert words["probability"] == sorted(words["probability"], reverse=True)


def test_correlations_are_the_models(data, model):
    assert_allclose(data["correlations"]["matrix"], model.topic_correlations(), atol=6e-4)
    tree = model.topic_hierarchy()
    assert sorted(data["tree"]["order"]) == list(range(len(tree) + 1))
    assert_allclose([join[2] for join in data["tree"]["joins"]], tree["distance"], atol=6e-4)


def test_a_sample_of_documents_keeps_the_typical_ones(model, corpus):
    found = report_data(model, corpus=corpus, max_documents=50)
    shown = found["documents"]["position"]
    assert len(shown) == 50
    assert shown == sorted(set(shown))
    assert found["overview"]["n_shown"] == 50
    assert found["overview"]["n_documents"] == N
    typical = {item["position"] for topic in found["topics"] for item in topic["typical"]}
    assert typical <= set(shown)
    few = report_data(model, corpus=corpus, max_documents=3)
    assert set(few["documents"]["position"]) <= typical
    assert report_data(model, corpus=corpus, max_documents=50) == found


def test_a_model_without_anything_else():
    X = np.random.default_rng(0).poisson(1.0, (20, 12))
    found = report_data(fit(CTM(3, random_state=0, max_iter=5), X))
    assert found["documents"]["text"] is None
    assert found["documents"]["metadata"] == []
    assert found["effects"]["terms"] == []
    assert found["variance"] is None
    assert found["overview"]["kernel"] == []
    assert found["topics"][0]["words"][0].isdigit()
    assert found["title"] == "3 topics in 20 documents"


def test_a_corpus_names_the_words_of_a_model_fitted_to_counts(corpus):
    model = fit(CTM(2, random_state=0, max_iter=3), corpus.counts)
    words = {
        word for topic in report_data(model, corpus=corpus)["topics"] for word in topic["words"]
    }
    assert words <= set(corpus.vocabulary)


@pytest.mark.parametrize(("n", "n_topics"), [(1, 1), (2, 3), (5, 2), (60, 3)])
def test_small_and_empty(n, n_topics, tmp_path):
    X = np.zeros((n, 3))
    X[0] = 1
    model = fit(CTM(n_topics, init="random", random_state=0, max_iter=3), X)
    path = model_report(model, tmp_path / "small.html")
    assert path.stat().st_size > 1000


def test_a_loaded_model_gives_the_same_report(corpus, tmp_path):
    model = fit(GPTM(2, kernel=k.Matern("date"), random_state=0, max_iter=5), corpus)
    model.save(tmp_path / "model.gptm")
    loaded = gptm.load(tmp_path / "model.gptm")
    assert report_data(loaded, corpus=corpus) == report_data(model, corpus=corpus)


# Texts and columns


def test_texts_are_cut_at_words_and_cleaned():
    assert plain.clean_text("  two\n lines ") == "two lines"
    assert plain.clean_text("one two three", 8) == "one two…"
    assert plain.clean_text("x" * 50, 10) == "x" * 10 + "…"
    assert plain.clean_text("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    assert plain.clean_text("naïve 東京") == "naïve 東京"


def test_many_texts_are_cut_shorter(monkeypatch, model, corpus):
    monkeypatch.setattr(documents, "_BUDGET", 100 * N)
    texts = [text * 40 for text in corpus.texts]
    found = report_data(model, texts=texts)["documents"]["text"]
    assert max(map(len, found)) <= 101
    monkeypatch.undo()
    assert max(map(len, report_data(model, texts=texts)["documents"]["text"])) > 300


def described(values, name="name"):
    """A column as the page shows it, with the kind that it is guessed to be of."""
    frame = typed_frame(pd.DataFrame({name: values}))
    return plain.describe_column(frame[name], name, kinds_of(frame).get(name, "note"))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], "number"),
        (["1", "2", None], "number"),
        ([True, False, None], "category"),
        ([True, False, True], "category"),
        (["a", "b", None], "category"),
        (["2020-01-01", "2021-05-06", None], "date"),
        (pd.to_datetime(["2020-01-01", None, "2021-01-01"]), "date"),
        (pd.to_timedelta(["1D", None, "2D"]), "number"),
        (pd.Categorical(["u", "v", None]), "category"),
        ([[1, 2], [3], None], None),
        ([np.zeros(3), np.ones(3), None], None),
        ([{"a"}, {"b"}, None], None),
        ([None, None, None], None),
        ([np.nan, np.nan, np.nan], None),
        ([np.inf, 1.0, 2.0], "number"),
    ],
)
def test_kinds_of_columns(values, kind):
    found = described(values)
    assert (found and found["kind"]) == kind
    if found:
        json.dumps(found, allow_nan=False)
        assert len(found["values"]) == 3


def test_whole_numbers_keep_all_their_digits():
    column = described([12_345_678, 1, None], "number in the archive")
    assert column["values"] == [12_345_678, 1, None]
    column = described([0.123456789, 1, None], "size")
    assert column["values"] == [0.123457, 1, None]


def test_columns_of_many_different_texts_are_no_categories():
    names = [f"name {i}" for i in range(80)]
    assert described(names)["kind"] == "text"
    assert described([name * 30 for name in names]) is None  # too long to show


def test_the_page_shows_the_kinds_that_the_corpus_was_given(model, corpus):
    frame = pd.DataFrame({"year": [2001 + i % 4 for i in range(N)], "when": ["03/04/2001"] * N})
    kinds = {"year": "category", "when": "date:%d/%m/%Y"}
    given = Corpus(corpus.counts, corpus.vocabulary, metadata=frame, kinds=kinds)
    year, when = report_data(model, corpus=given)["documents"]["metadata"]
    assert year["kind"] == "category"
    assert set(year["levels"]) == {"2001", "2002", "2003", "2004"}
    assert when["kind"] == "date"
    assert when["values"][0] == 11415  # 3 April 2001


def test_columns_of_one_name_are_shown_once(model, corpus):
    frame = corpus.metadata.set_axis(["date", "party", "party"], axis=1)
    twice = Corpus(corpus.counts, corpus.vocabulary, metadata=frame)
    names = [c["name"] for c in report_data(model, corpus=twice)["documents"]["metadata"]]
    assert names == ["date", "party"]


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corpus": ["a", "b"]}, r"corpus must be the gptm.Corpus of the 160 .* type list"),
        ({"corpus": make_corpus(10)}, r"160 training documents.*a corpus of 10"),
        ({"texts": ["a"]}, r"one text for each of the 160 .* got 1\."),
        ({"texts": "a"}, r"got one string"),
        ({"max_documents": 0}, r"max_documents must be an integer of at least 1; got 0"),
        ({"scores": 3.0}, r"scores must be what gptm.compare returns.*got 3.0"),
        ({"scores": {"CTM": {0.5: "low"}}}, r"scores must be numbers"),
    ],
)
def test_errors_say_what_to_pass(model, options, message):
    with pytest.raises(ValueError, match=message):
        report_data(model, **options)


def test_an_unfitted_model_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        model_report(CTM(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


# Scores


def test_scores_of_a_dict_a_table_and_a_comparison(corpus):
    expected = score_table(SCORES)
    assert expected["columns"] == ["50 % seen", "5 % seen"]
    assert expected["best"] == [1, 1]
    table = pd.DataFrame(SCORES).T.rename(columns={0.5: "perplexity_50", 0.05: "perplexity_5"})
    assert score_table(table.assign(seconds=1.0)) == expected
    found = gptm.compare({"words": CTM(2, tol=1.0)}, corpus, observed=[0.5, 0.2])
    columns = score_table(found)["columns"]
    assert columns == ["50 % seen", "20 % seen"]
    assert score_table(found)["rows"][0]["changes"] == []
    known = table.assign(change_50=[np.nan, -0.02], change_50_error=[np.nan, 0.006])
    known = known.assign(change_5=[np.nan, -0.21], change_5_error=[np.nan, 0.01])
    changes = [row["changes"] for row in score_table(known)["rows"]]
    assert changes == [["", ""], ["-2.0 % ± 0.6", "-21.0 % ± 1.0"]]
    assert score_table(known)["reference"] == known.index[0]
    assert score_table(found)["reference"] is None
    assert score_table(None) is None
    assert score_table({"a": {0.5: np.nan}})["best"] == [None]


# Kernels in words


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (k.Matern("date", length_scale=3652.4), "fades over about 10 years"),
        (k.RBF("date", length_scale=60.0), "fades over about 2 months"),
        (k.RBF("date", length_scale=3.0), "fades over about 3 days"),
        (k.RBF("size", "date", length_scale=[2.0, 3652.4]), "about 2 and 10 years"),
        (k.Periodic("date", period="1y"), "cycle in date, of length 1 year"),
        (k.Periodic("size", period=3.0), "of length 3"),
        (k.Periodic("size", period=2.5e6), "of length 2.5 million"),
        (k.RBF("size", length_scale=2.234e8), "fades over about 223 million."),
        (k.NearestNeighbors(1), "like the one nearest to it by their words"),
        (k.Linear("size", "date"), "Topics rise or fall steadily with size and date"),
        (k.Categorical("party", name="who"), "Who: documents with the same party are alike."),
        (k.MustLink("party"), "same label (party) belong together"),
        (k.NearestNeighbors(3), "the 3 nearest to it by their words"),
        (k.NearestNeighbors(3, on="size"), "the 3 nearest to it in size"),
        (k.Graph("links", id="id"), "Documents that are linked (links) are alike."),
        (k.Embedding("vector"), "similar vectors (vector)"),
        (k.Precomputed(np.eye(40)), "given as a matrix"),
        (k.Identity(), "Each document is independent of all others."),
        (
            k.RBF("size") * k.Categorical("party"),
            "; and at the same time documents with the same party",
        ),
        (k.Function(lambda a, b: np.ones((len(a), len(b)))), "Documents are alike as"),
    ],
)
def test_kernels_in_words(kernel, words):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "date": pd.date_range("2000-01-01", periods=40, freq="300D"),
            "size": rng.normal(size=40),
            "party": ["a", "b"] * 20,
            "id": [str(i) for i in range(40)],
            "links": [[str((i + 1) % 40)] for i in range(40)],
            "vector": list(rng.normal(size=(40, 3))),
        }
    )
    X = rng.poisson(1.0, (40, 10))
    model = fit(GPTM(2, kernel=kernel, random_state=0, max_iter=1), X, metadata=frame)
    (sentence,) = kernel_sentences(model)
    assert words in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-2.5, "-2.5"),
        (1990.0, "1990"),
        (12_345.0, "12,300"),
        (999_999.0, "1 million"),
        (-2.234e8, "-223 million"),
        (7.01e9, "7.01 billion"),
        (5e13, "50 trillion"),
        (2e20, "2 × 10²⁰"),
        (0.00012, "0.00012"),
        (7.1e-12, "7.1 × 10⁻¹²"),
        (np.inf, "inf"),
    ],
)
def test_numbers_in_prose(value, text):
    assert readable(value) == text


def test_numbers_in_prose_keep_the_digits_asked_for():
    assert readable(365.25, 6) == "365.25"
    assert readable(12_345.5, 6) == "12,345.5"
    assert report_effects._level(2.2345e8) == "223.4 million"


def test_sums_are_told_term_by_term(model):
    assert len(kernel_sentences(model)) == 2
    assert "Matern" in kernel_code(model.kernel_)
    assert not re.search(r"\d\.\d{5}", kernel_code(model.kernel_))


# Places


def blocks_of_topics(n, n_topics=6, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(n_topics, size=n)
    return rng.dirichlet(np.ones(n_topics), n) * 0.3 + 0.7 * np.eye(n_topics)[kind], kind


@pytest.mark.parametrize("n_landmarks", [5000, 150])
def test_the_map_keeps_documents_of_a_topic_together(monkeypatch, n_landmarks):
    monkeypatch.setattr(layout, "N_LANDMARKS", n_landmarks)
    theta, kind = blocks_of_topics(400)
    places = layout.document_map(theta)
    apart = ((places[:, None] - places[None]) ** 2).sum(-1) + 9.0 * np.eye(400)
    neighbours = np.argsort(apart, axis=1)[:, :5]
    assert (kind[neighbours] == kind[:, None]).mean() > 0.9
    assert_allclose(np.ptp(places, axis=0).max(), 2.0)
    assert np.abs(places).max() <= 1.0 + 1e-9
    assert_array_equal(places, layout.document_map(theta))


@pytest.mark.parametrize("theta", [np.full((70, 4), 0.25), np.ones((3, 1)), np.eye(2)[[0, 1] * 40]])
def test_maps_of_documents_that_hardly_differ_are_finite(theta):
    places = layout.document_map(theta)
    assert places.shape == (len(theta), 2)
    assert np.isfinite(places).all()


def test_correlated_topics_are_close_and_none_hides_another():
    correlation = np.full((8, 8), -1 / 7)
    np.fill_diagonal(correlation, 1.0)
    correlation[1, 6] = correlation[6, 1] = 0.9
    places = layout.graph_layout(correlation)
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1)) + 9.0 * np.eye(8)
    assert np.unravel_index(apart.argmin(), apart.shape) == (1, 6)
    assert apart.min() > 0.1
    assert np.abs(places).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("n_topics", [1, 2, 3, 40])
def test_graphs_of_any_number_of_topics_are_finite(n_topics):
    assert np.isfinite(layout.graph_layout(np.eye(n_topics))).all()
    assert np.isfinite(layout.graph_layout(np.ones((n_topics, n_topics)))).all()


# Effects


def test_effects_come_in_four_forms(data, model):
    date, party, links, both = data["effects"]["terms"]
    assert [term["kind"] for term in (date, party, links, both)] == [
        "curve",
        "categories",
        "documents",
        "curve",
    ]
    table = model.effects("date")
    assert date["date"]
    assert date["lines"] == [""]
    for series in date["series"]:
        rows = table[table["topic"] == series["topic"]]
        assert_allclose(series["share"], rows["share"], rtol=1e-3)
        assert_allclose(series["contrast_low"], rows["contrast_low"], rtol=1e-3)
        assert series["x"][0] == -25567.0
    assert party["levels"] == ["<b>bold</b>", "left", "right"]
    table = model.effects("party")
    for series in party["series"]:
        assert_allclose(
            series["share"], table.loc[table["topic"] == series["topic"], "share"], rtol=1e-3
        )
    assert both["n_lines"] == 9
    assert len(both["lines"]) == report_effects.MAX_LINES
    assert len(both["series"]) == K * report_effects.MAX_LINES


def test_a_curve_runs_along_the_column_that_varies(model):
    table = model.effects("date").assign(size=2.5)[
        ["term", "topic", "size", "date", *report_effects._VALUES]
    ]
    found = report_effects._describe("size, date", table, [])
    assert (found["along"], found["lines"], found["date"]) == ("date", ["2.5"], True)


@pytest.mark.parametrize("kernel", [k.Matern("date"), k.Categorical("party"), k.Linear("<i>size")])
def test_effects_of_a_real_model(corpus, kernel):
    model = fit(GPTM(2, kernel=kernel, random_state=0, max_iter=5), corpus)
    found = report_data(model, corpus=corpus, max_documents=40)
    (term,) = found["effects"]["terms"]
    table = model.effects(level=report_effects.LEVEL, n_points=100)
    assert term["kind"] == ("categories" if isinstance(kernel, k.Categorical) else "curve")
    assert_allclose(term["series"][1]["share"], table.loc[table["topic"] == 1, "share"], rtol=1e-3)
    assert found["variance"]["terms"] == [*model.terms_, "unexplained"]


def test_of_a_term_over_documents_the_ends_are_kept(data, model, corpus):
    links, table = data["effects"]["terms"][2], model.effects("links")
    for series in links["series"]:
        rows = table[table["topic"] == series["topic"]].sort_values("contrast", ascending=False)
        ends = [*rows["document"].head(5), *rows["document"].tail(5)]
        assert series["levels"] == [corpus.ids[row] for row in ends]
        assert series["contrast"] == sorted(series["contrast"], reverse=True)


def test_variance_has_all_topics_first(data, model):
    variance = data["variance"]
    assert variance["terms"] == [*model.terms_, "unexplained"]
    assert [row["topic"] for row in variance["rows"]] == ["all", *range(K)]
    for row in variance["rows"]:
        assert_allclose(sum(row["share"]), 1.0, atol=1e-3)


def test_what_cannot_be_computed_is_left_out_with_a_warning(model, corpus, monkeypatch):
    def effects(self, term, **options):
        if term == "date":
            raise np.linalg.LinAlgError("Singular matrix")
        return told(self, term, **options)

    told = Told.effects
    monkeypatch.setattr(Told, "effects", effects)
    with pytest.warns(UserWarning, match=r"leaves out the effect of date.*Singular matrix"):
        found = report_data(model, max_documents=40)
    assert [term["term"] for term in found["effects"]["terms"]] == model.terms_[1:]
    assert found["effects"]["left_out"] == ["the effect of date"]
    assert "could not be computed: the effect of date." in render_page(found)


# The page


def payload(page):
    text = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(text, validate=True)))


def test_the_page_holds_the_data(page, data):
    assert payload(page) == data


def test_nothing_in_the_texts_becomes_markup(page):
    outside = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", page, flags=re.DOTALL)
    assert "window.hacked" in outside  # in the title, as text
    assert "<img" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert page.count("<script") == 2
    assert page.count("</script") == 2


def test_only_our_own_script_and_style_may_run(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
    for element in ("script", "style"):
        content = re.search(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy.replace("&#43;", "+").replace("&#39;", "'")
    assert not re.search(r'\s(style|onclick|onload|onerror)="', page)


def test_the_page_asks_nothing_from_anywhere(page):
    page = page.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.search(r"https?://|//cdn|@import|url\(", page)
    assert not re.search(r"<\w[^>]*\s(src|srcset)=", page)
    assert set(re.findall(r'href="([^"]*)"', page)) <= {
        "data:,",
        *(
            f"#{name}"
            for name in ("overview", "topics", "map", "correlations", "effects", "search")
        ),
    }


def test_assets_are_careful_and_short():
    files = [path for path in ASSETS.rglob("*") if path.is_file()]
    assert len(files) > 20
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 300, path.name
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "fetch(",
        ):
            assert word not in text, path.name


def test_sections_and_landmarks(page):
    for name in ("overview", "topics", "map", "correlations", "effects", "search"):
        assert f'<section id="{name}" aria-labelledby="{name}-title"' in page
    for landmark in (
        "<header",
        "<main",
        "<nav aria-label",
        "<footer",
        'role="search"',
        "aria-live",
    ):
        assert landmark in page
    labelled = set(re.findall(r'<label for="([^"]+)"', page))
    for control in re.findall(r'<(?:select|input)[^>]* id="([^"]+)"', page):
        assert control in labelled


@pytest.mark.parametrize(
    ("inference", "step"), [("sampling", "sweep"), ("variational", "iteration")]
)
def test_one_of_a_kind_is_singular(inference, step, page):
    choices = {"inference": inference, "init": "random", "random_state": 0, "max_iter": 1}
    model = fit(CTM(1, **choices), np.ones((1, 1)))
    found = report_data(model)
    assert found["title"] == "1 topic in 1 document"
    one = render_page(found)
    text = " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*", "", one)).split())
    assert "1 topic from 1 word in 1 document." in text
    assert re.search(rf"after 1 {step}\b", text)
    assert not re.search(r"\b1 (topics|words|documents|iterations|sweeps)", text)
    assert "nan" not in text.lower().split()
    for name in ("document", "word", "different word", "topic"):
        assert f"<dt>{name}</dt><dd>1</dd>" in one
        assert f"<dt>{name}s</dt>" in page
    assert "4 topics from " in page
    assert re.search(r"after each of \d+ sweeps", page)


def test_the_page_says_how_the_fit_went(page, model, corpus, tmp_path):
    assert "Effective sample size: log-density " in page
    assert "90 % credible bands" in page
    by_em = fit(CTM(2, inference="variational", random_state=0, max_iter=3), corpus)
    other = model_report(by_em, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Lower bound on the log-likelihood after each of 3 iterations. The fit did not" in other
    assert "Effective sample size" not in other


def test_the_page_says_what_was_done_to_the_topics(model, corpus, page, tmp_path):
    assert "What was done to the topics" not in page
    changed = model.name_topics({0: "<b>tea</b> & milk"}).reorder_topics(by="share")
    path = model_report(changed, tmp_path / "changed.html", corpus=corpus)
    text = path.read_text(encoding="utf-8")
    assert "Named topic 0 &#39;&lt;b&gt;tea&lt;/b&gt; &amp; milk&#39;." in text
    assert "Reordered topics by their shares, largest first." in text


def test_the_table_of_topics_needs_no_script(page, data):
    table = re.search(r'<table id="topic-table">(.*?)</table>', page, re.DOTALL)[1]
    assert table.count("<tr>") == 1 + K
    assert data["topics"][0]["words"][0] in table
    assert "2,035" in page
    assert "<strong>2,435</strong>" in page
    assert "GPTM &lt;b&gt;" in page


def test_a_page_without_a_kernel_has_no_effects(tmp_path, corpus):
    model = fit(CTM(2, random_state=0, max_iter=3), corpus)
    page = model_report(model, tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="effects"' not in page
    assert "#effects" not in page
    assert "correlated topic model" in page


def test_the_same_data_give_the_same_bytes_and_leave_nothing_else(data, tmp_path):
    first = write_report(data, tmp_path / "one.html", json_path=tmp_path / "one.json")
    second = write_report(data, str(tmp_path / "two.html"))
    assert first.read_bytes() == second.read_bytes()
    assert json.loads((tmp_path / "one.json").read_text(encoding="utf-8")) == data
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "one.json", "two.html"]


def test_a_page_that_cannot_be_written_leaves_the_old_one(data, tmp_path):
    path = write_report(data, tmp_path / "report.html")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        write_report(data | {"title": float("nan")}, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError):
        write_report(data, tmp_path / "nowhere" / "report.html")


# Colours


SEEN = {  # Machado, Oliveira & Fernandes (2009), full strength, of linear RGB
    "all": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
XYZ = np.array([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8728]])


def linear_rgb(name):
    values = np.array([int(name[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    f = np.cbrt(np.maximum(XYZ @ np.clip(rgb, 0, 1), 0.008856))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    bright, dim = sorted([(XYZ @ linear_rgb(name))[1] for name in (one, other)], reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def themes():
    text = (ASSETS / "page.css").read_text(encoding="utf-8")
    light, dark = text.split("@media")[:2]
    read = [dict(re.findall(r"--([\w-]+): #([0-9a-f]{6})", part)) for part in (light, dark)]
    return {"light": read[0], "dark": read[1]}


@pytest.mark.parametrize("eyes", list(SEEN))
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_of_series_stay_apart_for_all_eyes(theme, eyes):
    colours = themes()[theme]
    seen = {
        name: lab(np.array(SEEN[eyes]) @ linear_rgb(colours[name]))
        for name in (*(f"c{i}" for i in range(8)), "quiet")
    }
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 20, (one, other)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_enough_contrast(theme):
    colours = themes()[theme]
    for ink, paper in itertools.product(
        ("ink", "soft", "accent"), ("paper", "panel", "accent-soft")
    ):
        assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
    lightness = [lab(linear_rgb(colours[f"s{i}"]))[0] for i in range(7)]
    assert lightness == sorted(lightness, reverse=theme == "light")
