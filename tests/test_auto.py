"""kernel="auto", and how documents get their names."""

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gptm
from gptm import GPTM, Corpus, load
from gptm import kernels as k

N = 12
RNG = np.random.default_rng(0)
NAMES = [f"d{i}" for i in range(N)]
CHAIN = [[NAMES[i - 1]] if i else [] for i in range(N)]
X = RNG.poisson(2.0, (N, 6))


def frame(**columns):
    return pd.DataFrame(columns)


COLUMNS = {
    "dates": (frame(when=pd.date_range("2020", periods=N)), k.Matern("when")),
    "ISO dates": (frame(when=[f"20{10 + i}-01-01" for i in range(N)]), k.Matern("when")),
    "numbers": (frame(x=np.arange(N) * 1.5), k.Matern("x")),
    "compact dates, one blank": (
        frame(when=["", *(f"20{10 + i}0101" for i in range(1, N))]),
        k.Matern("when"),
    ),
    "categories": (frame(who=list("aabbccaabbcc")), k.Categorical("who")),
    "true or false": (frame(open=[True, False] * 6), k.Categorical("open")),
    "true or false, one missing": (
        frame(open=[None, False, *[True, False] * 5]),
        k.Categorical("open"),
    ),
    "vectors of zeros and ones": (frame(v=np.eye(3)[[0, 1, 2] * 4].tolist()), k.Embedding("v")),
    "vectors": (frame(v=list(RNG.standard_normal((N, 3)))), k.Embedding("v")),
    "vectors, some missing": (
        frame(v=[None, *RNG.standard_normal((N - 1, 3)).tolist()]),
        k.Embedding("v"),
    ),
    "ids in a column": (frame(id=NAMES, links=CHAIN), k.Graph("links", id="id")),
    "numbers as ids": (
        frame(number=np.arange(N) + 7, links=[[8 + i % 11] for i in range(N)]),
        k.Graph("links", id="number"),
    ),
    "ids in the index": (frame(links=CHAIN).set_axis(NAMES), k.Graph("links")),
    "numbers of rows": (frame(links=[[(i + 1) % N] for i in range(N)]), k.Graph("links")),
    "most ids known": (
        frame(id=NAMES, links=[[*names, f"x{i}"] for i, names in enumerate(CHAIN[:6])] + CHAIN[6:]),
        k.Graph("links", id="id"),
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_auto_finds_the_kernel_for_a_column(name, caplog):
    table, expected = COLUMNS[name]
    with caplog.at_level(logging.WARNING, "gptm"):
        assert k.auto_kernel(table) == expected
    assert len(caplog.records) == 1
    assert repr(expected) in caplog.text


UNUSABLE = {
    "constant": ([1.0] * N, "constant"),
    "all missing": ([None] * N, "all values missing"),
    "all blank": (["", " "] * 6, "all values missing"),
    "names of documents": (NAMES, "hardly repeat"),
    "lists of unknown ids": (
        [["u", "v"], ["w"]] + [[]] * (N - 2),
        "neither ids of documents nor vectors",
    ),
    "empty lists": ([[]] * N, "lists are empty"),
    "infinite": ([np.inf, *range(N - 1)], "infinite"),
    "huge": (np.arange(N) * 1e200, "too large"),
    "tiny": (np.arange(N) * 1e-200, "too close"),
    "vectors with holes": ([[np.nan, 1.5 + i] for i in range(N)], "each of its vectors misses"),
    "whole vectors with holes": (
        [[np.nan, 1e6 + i] for i in range(N)],
        "each of its vectors misses",
    ),
    "huge vectors": (list(1e200 * RNG.standard_normal((N, 3))), "their numbers are too large"),
    "arrays of two axes": ([np.ones((2, 2)) * i for i in range(N)], "neither lists of ids nor vec"),
    "arrays of no axis": (
        [np.array(1.5 * i) for i in range(N)],
        "neither lists of ids nor vectors",
    ),
    "lists of arrays": ([[np.ones(2), np.ones(2)]] * N, "neither lists of ids nor vectors"),
    "dictionaries": ([{"a": i} for i in range(N)], "neither numbers, dates nor names"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_auto_names_what_it_leaves_out_and_why(name, caplog):
    values, reason = UNUSABLE[name]
    with caplog.at_level(logging.WARNING, "gptm"):
        assert k.auto_kernel(frame(column=values)) is None
    assert f"'column' ({reason}" in caplog.text or reason in caplog.text


@pytest.mark.parametrize("name", UNUSABLE)
def test_auto_fits_beside_what_it_leaves_out(name):
    table = frame(column=UNUSABLE[name][0], x=np.arange(N) * 1.5)
    model = GPTM(2, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    assert model.kernel_.columns == ("x",)


def test_auto_leaves_out_dictionaries_of_arrow(caplog):
    pa = pytest.importorskip("pyarrow")
    struct = pd.ArrowDtype(pa.struct([("a", pa.int64())]))
    table = frame(
        column=pd.Series([{"a": i} for i in range(N)], dtype=struct), x=np.arange(N) * 1.5
    )
    model = GPTM(2, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    assert model.kernel_.columns == ("x",)
    assert "'column' (neither numbers, dates nor names)" in caplog.text


def test_auto_takes_columns_of_several_levels():
    table = frame(who=np.repeat(np.arange(N), 2), x=np.arange(2.0 * N)).groupby("who")
    model = GPTM(2, random_state=0, max_iter=3, tol=0.5)
    model.fit(X, metadata=table.agg({"x": ["mean", "count"]}))
    assert model.kernel_.columns == ("x_mean",)


@pytest.mark.parametrize("ids", [NAMES, [f"{i}" for i in range(100, 100 + N)]])
def test_auto_says_what_it_takes_for_ids(ids, caplog):
    table = frame(id=ids, links=[[ids[i - 1]] for i in range(N)])
    assert k.auto_kernel(table) == k.Graph("links", id="id")
    assert "'id' (but for the ids that 'links' links to)" in caplog.text
    assert "hardly repeat" not in caplog.text


def test_auto_fits_all_of_them_together(caplog):
    table = frame(
        id=NAMES,
        links=CHAIN,
        v=list(RNG.standard_normal((N, 3))),
        x=np.arange(N) * 1.5,
        who=list("aabbccaabbcc"),
    )
    model = GPTM(2, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    assert len(model.kernel_.terms) == 4
    theta = model.transform(np.zeros((2, 6)), metadata=table[:2])
    assert_allclose(theta.sum(1), 1)


def test_ids_of_a_corpus_are_the_ids_of_its_documents():
    """Graph("links") without a column of ids takes them, at fit and at transform."""
    table = frame(links=CHAIN)
    corpus = Corpus(X, metadata=table, ids=NAMES)
    kernel = k.Graph("links")
    model = GPTM(2, kernel=kernel, random_state=0, max_iter=3, tol=0.5).fit(corpus)
    other = GPTM(2, kernel=k.Graph("links", id="id"), random_state=0, max_iter=3, tol=0.5)
    other.fit(X, metadata=table.assign(id=NAMES))
    assert_array_equal(model.doc_means_, other.doc_means_)
    new = Corpus(X[:2], metadata=frame(links=[["d3"], []]), ids=["new", "newer"])
    expected = other.transform(X[:2], metadata=frame(links=[["d3"], []], id=["new", "newer"]))
    assert_array_equal(model.transform(new), expected)


@pytest.mark.parametrize("form", ["smooth", "direct"])
def test_a_fitted_model_with_links_can_be_pickled(form):
    table = frame(id=NAMES, links=CHAIN)
    kernel = k.Graph("links", id="id", form=form) + k.NearestNeighbors(2)
    model = GPTM(2, kernel=kernel, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(X, metadata=table), model.transform(X, metadata=table))


@pytest.mark.parametrize(
    "kernel",
    [
        k.Periodic("x", period=np.float32(3), length_scale=np.int64(1)),
        k.Matern("x", nu=np.float32(1.5), length_scale=np.int64(2)),
        k.MustLink("who", gamma=np.int64(1)),
        k.NearestNeighbors(np.int64(2), on="x", bandwidth=np.float32(1)),
        k.Graph("links", kappa=np.float32(0.2), nu=np.int64(2)),
    ],
    ids=repr,
)
def test_numbers_of_numpy_are_numbers(kernel):
    """As they come out of np.arange in a grid of parameters."""
    table = frame(
        x=np.arange(N) * 1.5, who=list("aabbccaabbcc"), links=[[(i + 1) % N] for i in range(N)]
    )
    assert np.isfinite(kernel.bind(k.Documents(N, table)).gram()).all()


def test_a_period_in_words_is_for_dates():
    with pytest.raises(ValueError, match="reads numbers"):
        k.Periodic("x", period="10y").bind(k.Documents(N, frame(x=np.arange(N) * 1.0)))


def test_the_value_that_is_no_date_is_named():
    when = ["2001-02-01", "2001-03-01", "soon", *["2001-04-01"] * (N - 3)]
    with pytest.raises(ValueError, match="'soon'"):
        k.RBF("when").bind(k.Documents(N, frame(when=when)))


@pytest.mark.parametrize("make", [k.Sum, lambda: k.Sum(1), lambda: k.Product("a", "b")])
def test_sums_and_products_are_of_kernels(make):
    with pytest.raises(ValueError, match="expects one or more kernels"):
        make()


def test_scores_may_do_without_a_column_too():
    table = frame(x=np.arange(N) * 1.5, who=list("aabbccaabbcc"))
    kernel = k.RBF("x") + k.Categorical("who")
    model = GPTM(2, kernel=kernel, random_state=0, max_iter=3, tol=0.5).fit(X, metadata=table)
    without = table[["x"]]
    with pytest.raises(ValueError, match="'who'"):
        model.perplexity(X, metadata=without)
    unknown = model.perplexity(X, metadata=table.assign(who=None))
    assert model.perplexity(X, metadata=without, missing_columns="prior") == unknown


def test_categories_stay_categories_whatever_their_names():
    frame = pd.DataFrame({"year": pd.Categorical(["1990", "1991"] * 10)})
    assert k.auto_kernel(frame) == k.Categorical("year")


def test_links_to_ids_that_repeat_are_left_out_with_the_reason(caplog):
    table = pd.DataFrame({"post": ["a", "b", "c", "c"], "cites": [["b"], ["a"], ["a"], ["b"]]})
    assert k.auto_kernel(table) is None
    assert "'cites' (the ids that it links to, in column 'post', repeat; make them" in caplog.text


# What does not become a term by itself.

M = 240
R = np.random.default_rng(2)
WHEN = pd.date_range("2019-01-01", periods=M, freq="3D")
PARTY = R.choice(["left", "right", "green"], M)
DOUBTFUL = {
    "row numbers": ("Unnamed: 0", np.arange(M), "row numbers"),
    "row numbers, shuffled": ("n", R.permutation(M) + 1, "row numbers"),
    "some row numbers": ("index", np.sort(R.choice(10**4, M, replace=False)), "numbers of docu"),
    "keys": ("tweet_id", [7, 7, *R.integers(10**17, 10**18, M - 2)], "keys"),
    "keys that repeat at times": ("conversationId", R.integers(0, M, M), "keys"),
    "flags": ("is_retweet", R.integers(0, 2, M).astype(bool), "a flag of the platform"),
    "likes": ("likes", R.poisson(3, M), "engagement counts"),
    "likes, as an API calls them": ("public_metrics.like_count", R.poisson(3, M), "engagement"),
    "retweets": ("retweetCount", R.poisson(3, M), "engagement counts"),
    "replies": ("n_replies", R.poisson(3, M), "engagement counts"),
    "followers": ("user_followers_count", R.poisson(900, M), "engagement counts"),
    "uneven": ("score", np.floor(np.exp(R.normal(1, 3, M))), "very uneven: half of its numbers"),
    "mostly missing": (
        "x",
        np.where(np.arange(M) % 10, np.nan, R.normal(size=M)),
        "missing for 90%",
    ),
    "nearly one value": ("lang", ["en"] * (M - 2) + ["de"] * 2, "'en' for 99.2% of the documents"),
    "a split": ("split", R.choice(["train", "test"], M), "how the documents were split"),
    "the year beside a date": ("year", WHEN.year + 0, "in the same order as 'when'"),
    "another date": (
        "retrieved",
        R.permutation(WHEN),
        "one date is enough, and 'when' comes first",
    ),
    "the same groups": (
        "code",
        [party[0].upper() for party in PARTY],
        "the same groups as 'party'",
    ),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_auto_leaves_doubtful_columns_to_the_user(name, caplog):
    column, values, reason = DOUBTFUL[name]
    table = pd.DataFrame({"when": WHEN, "party": PARTY, column: values})
    assert k.auto_kernel(table) == k.Matern("when") + k.Categorical("party")
    assert f"{column!r} ({reason}" in caplog.text
    assert "For all usable columns pass kernel='auto+'." in caplog.text
    both = k.auto_kernel(table, every=True)
    assert [term.column_names() for term in both.terms] == [("when",), ("party",), (column,)]
    assert "not used" not in caplog.records[-1].getMessage()


HARMLESS = {
    "years, one document each": ("year", 1790 + np.arange(M)),
    "steps from zero": ("t", np.arange(M)),
    "stars": ("score", R.integers(1, 6, M)),
    "ages": ("age", R.integers(18, 90, M)),
    "a treatment": ("treated", (np.arange(M) > M / 2).astype(int)),
    "money": ("income", np.exp(R.normal(10, 0.7, M))),
    "a share": ("share_of_votes", R.random(M)),
    "kinship": ("likelihood", R.normal(size=M)),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_auto_takes_numbers_that_mean_something(name):
    column, values = HARMLESS[name]
    table = pd.DataFrame({"party": PARTY, column: values})
    assert k.auto_kernel(table) == k.Categorical("party") + k.Matern(column)


SURVEYS = {
    "numbered questions": ({f"Q{i}": R.integers(0, 50, M) for i in range(600)}, "named alike"),
    "answers on one scale": (
        {f"trust in {w}": R.choice(["no", "so", "yes"], M) for w in "abcdefg"},
        "with the same values",
    ),
    "many numbers": ({f"x {c}": R.normal(size=M) for c in "abcdefghijkl"}, "columns of numbers"),
    "many categories": (
        {f"g {c}": R.choice([f"{c}{i}" for i in range(3)], M) for c in "abcdefghijkl"},
        "columns of categories",
    ),
}


@pytest.mark.parametrize("name", SURVEYS)
def test_auto_takes_no_column_of_a_survey(name, caplog):
    questions, reason = SURVEYS[name]
    table = pd.DataFrame({"when": WHEN, "party": PARTY} | questions)
    kernel = k.auto_kernel(table)
    named = ["when"] if name == "many categories" else ["when", "party"]
    assert list(kernel.column_names()) == named
    assert reason in caplog.text
    assert len(caplog.text) < 600
    everything = k.auto_kernel(table, every=True)
    assert len(everything.terms) == 2 + len(questions)


def test_auto_takes_a_few_terms_at_most(caplog):
    table = pd.DataFrame({f"g {c}": R.choice([f"{c}{i}" for i in range(4)], M) for c in "abcdef"})
    table["when"] = WHEN
    kernel = k.auto_kernel(table)
    assert list(kernel.column_names()) == ["g a", "g b", "g c", "when"]
    assert "'g d', 'g e', 'g f' (4 other columns have terms)" in caplog.text


def test_a_model_takes_auto_plus_and_keeps_its_name(tmp_path):
    table = pd.DataFrame({"likes": np.arange(N) % 4, "who": list("aabbccaabbcc")})
    few = GPTM(2, random_state=0, max_iter=3).fit(X, metadata=table)
    assert few.kernel_ == k.Categorical("who")
    model = GPTM(2, kernel="auto+", random_state=0, max_iter=3).fit(X, metadata=table)
    assert model.kernel_.column_names() == ("likes", "who")
    model.save(tmp_path / "m.gptm")
    assert load(tmp_path / "m.gptm").kernel == "auto+"
    scores = gptm.cross_validate(model, X, metadata=table, cv=2)
    assert scores is not None


def test_auto_as_a_table():
    table = pd.DataFrame({"when": WHEN, "party": PARTY, "likes": R.poisson(3, M), "same": 1})
    rows = k.auto_table(table).set_index("column")
    assert rows["used"].tolist() == [True, True, False, False]
    assert rows["term"].tolist() == [
        "Matern('when')",
        "Categorical('party')",
        "Matern('likes')",
        "",
    ]
    assert rows["kind"].tolist() == ["date", "category", "number", "number"]
    assert (rows["reason"] == "").tolist() == [True, True, False, False]
    assert len(k.auto_table({})) == 0
    with pytest.raises(ValueError, match="must be a DataFrame, a dict of columns, or a Corpus"):
        k.auto_table(["when"])


def test_auto_as_a_table_takes_a_corpus_and_prints_every_column():
    table = pd.DataFrame({"when": WHEN, "likes": R.poisson(3, M)})
    corpus = Corpus(np.ones((M, 2), dtype=int), metadata=table)
    shown = repr(k.auto_table(corpus))
    assert shown == repr(k.auto_table(table))
    assert "Matern('when')" in shown
    assert "engagement counts, which follow from the text" in shown
    assert len(k.auto_table(Corpus(np.ones((M, 2), dtype=int)))) == 0


# Lists of tags, which are no links.

TAGS = [
    list(R.choice(["tax", "war", "law", "art"], R.integers(1, 4), replace=False)) for _ in range(M)
]
TAGGED = {
    "lists": pd.DataFrame({"tags": TAGS}),
    "text": pd.DataFrame({"tags": ["; ".join(tags) for tags in TAGS]}),
    "commas": pd.DataFrame({"tags": [", ".join(tags) for tags in TAGS]}),
    "lists in text": pd.DataFrame({"tags": [str([str(t) for t in tags]) for tags in TAGS]}),
    "numbers": pd.DataFrame(
        {"tags": [sorted({len(t) + ord(t[0]) % 7 for t in tags}) for tags in TAGS]}
    ),
    "numbers beside ids": pd.DataFrame(
        {"id": np.arange(M), "tags": [[ord(t[0]) % 23 for t in tags] for tags in TAGS]}
    ),
    "beside the first of them": pd.DataFrame({"tags": TAGS, "main": [tags[0] for tags in TAGS]}),
}


@pytest.mark.parametrize("name", TAGGED)
def test_lists_of_tags_are_groups_and_no_links(name):
    kernel = k.auto_kernel(TAGGED[name])
    terms = kernel.terms if isinstance(kernel, k.Sum) else [kernel]
    assert k.Categorical("tags", multiple=True) in list(terms)
    corpus = Corpus(np.ones((M, 3)), metadata=TAGGED[name])
    assert corpus.kinds["tags"].partition(":")[0] == "list"


def test_all_authors_beside_the_first_author_are_no_links():
    first = [f"person {i}" for i in range(60)]
    authors = [[first[i], first[(7 * i + 1) % 60], f"student {i % 9}"] for i in range(60)]
    table = pd.DataFrame({"first": first, "authors": authors})
    assert Corpus(np.ones((60, 2)), metadata=table).kinds["authors"] == "list"
    cites = pd.DataFrame({"first": first, "cites": [a[1:2] for a in authors]})
    assert Corpus(np.ones((60, 2)), metadata=cites).kinds["cites"] == "links"


def test_tags_are_read_the_same_way_at_transform():
    table = pd.DataFrame({"tags": ["; ".join(tags) for tags in TAGS]})
    counts = R.poisson(2.0, (M, 6))
    model = GPTM(2, random_state=0, max_iter=5, kernel="auto").fit(counts, metadata=table)
    as_text = model.transform(np.zeros((3, 6)), metadata={"tags": ["tax", "tax; war", "new"]})
    as_lists = model.transform(
        np.zeros((3, 6)), metadata={"tags": [["tax"], ["tax", "war"], ["new"]]}
    )
    assert_array_equal(as_text, as_lists)
    assert not np.allclose(as_text[0], as_text[2])


def test_kinds_of_lists_can_be_given():
    table = {"places": ["Paris, Rome", "Rome, Bonn", "Bonn, Paris", "Rome, Paris"]}
    corpus = Corpus(np.ones((4, 2)), metadata=table, kinds={"places": "list:,"})
    assert corpus.metadata["places"][0] == ["Paris", "Rome"]
    with pytest.raises(ValueError, match=r"'list:;', 'list:,' or 'list:\|'"):
        Corpus(np.ones((4, 2)), metadata=table, kinds={"places": "list:/"})


def test_numbers_called_ids_that_repeat_are_groups():
    table = pd.DataFrame({"user_id": R.integers(10**6, 10**6 + 9, M), "when": WHEN})
    assert k.auto_kernel(table) == k.Categorical("user_id") + k.Matern("when")
