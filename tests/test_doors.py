"""A corpus is the same whichever way it came in."""

import csv
import io
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from gptm import GPTM, Corpus, files, load
from gptm import kernels as k
from gptm.cli.app import app
from gptm.corpus import Words
from gptm.corpus.cells import MISSING, is_missing
from gptm.corpus.kinds import base_kind, kinds_of
from gptm.corpus.links import LinkReader
from gptm.corpus.metadata import level_names, link_lists, numbers, vectors
from gptm.corpus.typed_columns import typed_frame
from gptm.kernels.auto import auto_kernel
from gptm.storage.model_file import load_attached

N = 24
ANIMALS = ["Katze", "Hund", "Maus", "Igel", "Fuchs", "Dachs"]
TEXTS = [
    f"Die {ANIMALS[i % 6]} ist nicht im Garten und der {ANIMALS[(i + 2) % 6]} ist auch nicht da."
    for i in range(N)
]
KEYS = [f"d{i}" for i in range(N)]
DAYS = pd.date_range("2020-01-31", periods=N, freq="7D")
CITES = [
    [f"d{(i + 1) % N}", f"d{(i + 5) % N}", f"d{(i + 7) % N}"] if i % 4 else None for i in range(N)
]
VECTORS = [[0.5 + i, -1.25 * i, 3.0] for i in range(N)]

# The table with the types that Python and pandas have for its cells.
TYPED = pd.DataFrame(
    {
        "key": KEYS,
        "when": DAYS.where(np.arange(N) != 3),
        "source": pd.Categorical(["Blatt", "Zeitung", None, "Funk"] * (N // 4)),
        "stars": [np.nan if i == 5 else float(i % 7) for i in range(N)],
        "label": [i % 3 for i in range(N)],
        "cites": CITES,
        "vector": VECTORS,
        "open": [i % 2 == 0 for i in range(N)],
        "title": [f"Bericht {chr(97 + i)}" for i in range(N)],
    }
)
# The same table as text.
WRITTEN = pd.DataFrame(
    {
        "key": KEYS,
        "when": ["n/a" if i == 3 else f"{day:%d.%m.%Y}" for i, day in enumerate(DAYS)],
        "source": ["Blatt", "Zeitung", "NA", "Funk"] * (N // 4),
        "stars": ["null" if i == 5 else str(i % 7) for i in range(N)],
        "label": [str(i % 3) for i in range(N)],
        "cites": ["None" if c is None else f"{c[0]} {c[1]}, {c[2]}" for c in CITES],
        "vector": [str(vector) for vector in VECTORS],
        "open": [str(i % 2 == 0) for i in range(N)],
        "title": [f"Bericht {chr(97 + i)}" for i in range(N)],
    },
    dtype=object,
)


def by_command(path):
    model = path.with_suffix(".gptm")
    arguments = ["fit", str(path), "--text", "body", "--topics", "2", "--max-iter", "3"]
    result = CliRunner().invoke(app, [*arguments, "-o", str(model)])
    assert result.exit_code == 0, result.stderr
    return load_attached(model).corpus


def written_file(folder, separator=","):
    path = folder / ("table.csv" if separator == "," else "table.tsv")
    WRITTEN.assign(body=TEXTS).to_csv(path, index=False, sep=separator)
    return path


def json_lines(folder):
    path = folder / "table.jsonl"
    rows = TYPED.assign(body=TEXTS, when=WRITTEN["when"], stars=[*map(float, TYPED["stars"])])
    cells = [
        {n: None if is_missing(c) else c for n, c in row.items()} for row in rows.to_dict("records")
    ]
    path.write_text("\n".join(map(json.dumps, cells)), encoding="utf-8")
    return path


def parquet(folder):
    pytest.importorskip("pyarrow")
    path = folder / "table.parquet"
    TYPED.assign(body=TEXTS).to_parquet(path)
    return path


DOORS = {
    "lists": lambda _: Corpus.from_texts(TEXTS, {n: WRITTEN[n].tolist() for n in WRITTEN}),
    "frame of objects": lambda _: Corpus.from_texts(TEXTS, WRITTEN),
    "frame of strings": lambda _: Corpus.from_texts(TEXTS, WRITTEN.astype("string")),
    "typed frame": lambda _: Corpus.from_texts(pd.Series(TEXTS), TYPED),
    "frame that pandas read": lambda folder: Corpus.from_texts(
        TEXTS, pd.read_csv(written_file(folder)).drop(columns="body")
    ),
    "csv": lambda folder: files.read(written_file(folder), text="body").corpus,
    "tsv": lambda folder: files.read(written_file(folder, "\t"), text="body").corpus,
    "json lines": lambda folder: files.read(json_lines(folder), text="body").corpus,
    "parquet": lambda folder: files.read(parquet(folder), text="body").corpus,
    "command line": lambda folder: by_command(written_file(folder)),
}


def base_kinds(corpus):
    return {name: base_kind(kind) for name, kind in corpus.kinds.items()}


def values(corpus, name):
    """A column as the kernels read it."""
    column, kind = corpus.metadata[name], base_kind(corpus.kinds[name])
    if kind in ("number", "date"):
        return numbers(column, name)
    if kind == "links":
        return link_lists(column)
    return vectors(column, name) if kind == "vector" else level_names(column)


@pytest.fixture(scope="module")
def expected():
    return DOORS["lists"](None)


def test_the_table_is_understood(expected):
    assert base_kinds(expected) == {
        "key": "id",
        "when": "date",
        "source": "category",
        "stars": "number",
        "label": "category",
        "cites": "links",
        "vector": "vector",
        "open": "category",
        "title": "note",
    }
    assert expected.words.stop_words == "german"
    assert "nicht" not in expected.vocabulary
    assert list(expected.ids) == KEYS
    assert link_lists(expected.metadata["cites"]) == [links or [] for links in CITES]
    assert expected.metadata["source"].isna().sum() == N // 4
    assert expected.metadata["when"].isna().tolist() == [i == 3 for i in range(N)]


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_corpus(door, expected, tmp_path, caplog):
    corpus = DOORS[door](tmp_path)
    assert list(corpus.vocabulary) == list(expected.vocabulary)
    assert (corpus.counts != expected.counts).nnz == 0
    assert list(corpus.ids) == list(expected.ids)
    assert base_kinds(corpus) == base_kinds(expected)
    for name in expected.kinds:
        np.testing.assert_equal(list(values(corpus, name)), list(values(expected, name)), name)
    assert repr(auto_kernel(corpus.metadata)) == repr(auto_kernel(expected.metadata))
    if door != "command line":  # where the model's file keeps them, beside the corpus
        assert corpus.words == expected.words
        assert corpus.report == expected.report


def test_kinds_travel_with_rows_and_files(expected, tmp_path):
    assert expected[3:5].kinds == expected.kinds
    assert expected[3].metadata["when"].isna().all()
    model = GPTM(2, random_state=0, max_iter=3).fit(expected)
    model.save(tmp_path / "model.gptm", corpus=expected)
    assert load_attached(tmp_path / "model.gptm").corpus.kinds == expected.kinds
    model.save(tmp_path / "alone.gptm")
    again = load(tmp_path / "alone.gptm")
    assert again.fitted_.words == expected.words
    assert again.fitted_.kinds.items() <= expected.kinds.items()
    assert set(again.fitted_.kinds) == set(model.kernel_.column_names())


def test_a_column_that_was_replaced_is_looked_at_again(expected):
    frame = expected.metadata.assign(when=np.arange(N), stars=list("ab") * (N // 2))
    assert kinds_of(typed_frame(frame))["when"] == "number"
    assert kinds_of(typed_frame(frame))["stars"] == "category"


ODD = st.one_of(
    st.sampled_from(
        [
            *(
                "NA",
                "",
                " ",
                "n/a",
                "null",
                "7",
                "7.0",
                "007",
                "1,5",
                "1.234,5",
                "1e3",
                "-2",
                "inf",
            ),
            *("2020-01-31", "03/04/1999", "31/12/1998", "March 4, 1999", "20200131", "2012-Q3"),
            *("2015", "d0", "d1;d2", "d1 d2, d3", "d1|d2", "['d1', 'd2']", "[1.5, 2]", "[1, 2]"),
            *("{a}", "True", "red", "green", " red ", "a b, c", "x_1", "+3", "½"),
        ]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=5),
)


@st.composite
def odd_columns(draw):
    few = draw(st.lists(ODD, min_size=1, max_size=4))
    return draw(
        st.lists(st.sampled_from(few) if draw(st.booleans()) else ODD, min_size=6, max_size=6)
    )


@given(cells=odd_columns(), name=st.sampled_from(["x", "cites", "date", "label", "user_id"]))
@settings(max_examples=120, deadline=None)
def test_odd_cells_mean_the_same_through_every_door(cells, name):
    n = len(cells)
    texts = [f"{'green' if i % 2 else 'black'} tea from hill {chr(97 + i) * 3}" for i in range(n)]
    ids = [f"d{i}" for i in range(n)]
    table = {"id": ids, name: cells}
    words = Words(None, 1, 1.0)
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL)
    writer.writerow(["id", name, "body"])
    writer.writerows(zip(ids, cells, texts, strict=True))
    rows = [
        dict(zip(("id", name, "body"), row, strict=True))
        for row in zip(ids, cells, texts, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Path(folder, "a.csv").write_text(buffer.getvalue(), encoding="utf-8", newline="")
        Path(folder, "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        expected = Corpus.from_texts(texts, table, words=words)
        others = [Corpus.from_texts(texts, pd.DataFrame(table).astype("string"), words=words)]
        for file in ("a.csv", "a.jsonl"):
            others.append(files.read(Path(folder, file), text="body", id="id", words=words).corpus)
    for corpus in others:
        kinds = {n: kind for n, kind in expected.kinds.items() if kind != "ignore"}
        assert {n: kind for n, kind in corpus.kinds.items() if kind != "ignore"} == kinds
        for column in kinds:
            if base_kind(kinds[column]) != "list":
                np.testing.assert_equal(
                    list(values(corpus, column)), list(values(expected, column))
                )


@given(st.sampled_from(sorted(MISSING)), st.booleans(), st.sampled_from(["", " ", "  "]))
def test_every_spelling_of_missing_is_missing_in_every_column(spelling, upper, around):
    cell = around + (spelling.upper() if upper else spelling) + around
    frame = pd.DataFrame({"who": ["a", "b", "a", cell], "x": ["1", "2", "1", cell]})
    assert level_names(frame["who"]).tolist() == ["a", "b", "a", None]
    assert np.isnan(numbers(frame["x"], "x")).tolist() == [False] * 3 + [True]
    typed = typed_frame(frame)
    assert typed.isna().to_numpy().tolist() == [[False, False]] * 3 + [[True, True]]


def test_links_are_split_in_one_way():
    assert LinkReader()("a b, c") == ["a b", "c"]
    assert LinkReader(["a", "b", "c"])("a b, c") == ["a", "b", "c"]
    assert LinkReader(["a b", "c"])("a b, c") == ["a b", "c"]
    assert LinkReader()("a; b, c") == ["a", "b, c"]


def test_cells_that_do_not_fit_are_warned_about():
    metadata = {"n": [*map(str, range(39)), "many"]}
    with pytest.warns(UserWarning, match=r"not a number: 1 row \(row 40\).*'n' holds 'many'"):
        corpus = Corpus.from_texts(["green tea", "black tea"] * 20, metadata)
    assert corpus.kinds == {"n": "number"}
    assert np.isnan(corpus.metadata["n"].iloc[-1])
    told = Corpus.from_texts(["green tea", "black tea"] * 20, metadata, kinds={"n": "category"})
    assert "many" in level_names(told.metadata["n"])
    with pytest.raises(ValueError, match=r"kinds must give .* got kinds=\{'n': 'numeral'\}"):
        Corpus.from_texts(["green tea"], {"n": [1]}, kinds={"n": "numeral"})
    with pytest.raises(ValueError, match=r"kinds names the column 'm'; the columns .* are 'n'"):
        Corpus.from_texts(["green tea"], {"n": [1]}, kinds={"m": "number"})


# Texts given to the model itself

DRINKS = [
    "green tea, hot tea",
    "coffee beans, hot coffee",
    "tea leaves",
    "roasted coffee beans",
] * 6


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, lambda t: np.array(t, object)])
def test_a_model_takes_texts(make):
    corpus = Corpus.from_texts(DRINKS)
    expected = GPTM(2, random_state=0, max_iter=5, inference="variational").fit(corpus)
    model = GPTM(2, random_state=0, max_iter=5, inference="variational")
    with pytest.warns(UserWarning, match=r"X holds texts: \d+ different words of 24 texts are"):
        model.fit(make(DRINKS))
    assert_array_equal(model.components_, expected.components_)
    assert list(model.feature_names_in_) == list(corpus.vocabulary)
    assert_array_equal(model.transform(make(DRINKS)), expected.transform(corpus))
    assert model.score(make(DRINKS)) == expected.score(corpus)
    assert model.perplexity(make(DRINKS)) == expected.perplexity(corpus)
    new = model.transform(["unheard of", "tea"])
    assert_array_equal(
        new, model.transform(Corpus.from_texts(["unheard of", "tea"], vocabulary=corpus.vocabulary))
    )


@pytest.mark.filterwarnings("ignore:X holds texts")
def test_new_texts_are_counted_as_the_training_texts(tmp_path):
    corpus = Corpus.from_texts(
        ["state of the union", "union of workers"] * 4, ngram_range=(1, 2), stop_words="english"
    )
    model = GPTM(2, random_state=0, max_iter=5, inference="variational").fit(corpus)
    expected = model.transform(corpus[:2])
    assert_array_equal(model.transform(list(corpus.texts[:2])), expected)
    model.save(tmp_path / "model.gptm")
    assert_array_equal(load(tmp_path / "model.gptm").transform(list(corpus.texts[:2])), expected)
    model.fit(corpus.counts)
    assert model.fitted_.words is None
    with pytest.raises(ValueError, match="fitted to counts whose words have no names"):
        model.transform(["state of the union"])


def test_new_metadata_are_read_as_in_training():
    """Day and month, and decimal commas, cannot be told by one row."""
    days = [f"{day:%d/%m/%Y}" for day in pd.date_range("2020-01-20", periods=24, freq="9D")]
    prices = [f"{i},{i % 10}5" for i in range(24)]
    table = pd.DataFrame({"when": days, "price": prices}, dtype=object)
    X = np.random.default_rng(0).poisson(2.0, (24, 6))
    kernel = k.RBF("when", length_scale=30.0) + k.RBF("price", length_scale=5.0)
    model = GPTM(2, kernel=kernel, inference="variational", max_iter=3, random_state=0)
    model.fit(X, metadata=table)
    typed = pd.DataFrame({"when": [pd.Timestamp("2020-04-03")], "price": [1.234]})
    expected = model.transform(X[:1], metadata=typed)
    new = pd.DataFrame({"when": ["03/04/2020"], "price": ["1,234"]}, dtype=object)
    assert_array_equal(model.transform(X[:1], metadata=new), expected)
    assert_array_equal(model.transform(Corpus(X[:1], metadata=new)), expected)
