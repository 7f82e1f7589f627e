"""Texts in dask dataframes and bags become the corpus that a file of the same rows becomes."""

import numpy as np
import pandas as pd
import pytest

from gptm import GPTM, files
from gptm import kernels as k
from test_block_fit import same_bits

dask = pytest.importorskip("dask")
pytest.importorskip("pyarrow")
bag = pytest.importorskip("dask.bag")
dataframe = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    words = np.array(
        ["tea", "milk", "leaf", "kettle", "coffee", "bean", "roast", "mug", "cup", "water"]
    )
    n = 2500
    return pd.DataFrame(
        {
            "body": [" ".join(rng.choice(words, rng.integers(0, 8))) for _ in range(n)],
            "year": rng.integers(2000, 2020, n),
            "shop": rng.choice(["north", "south", None], n),
            "day": pd.date_range("2020-01-01", periods=n),
        }
    )


@pytest.fixture(scope="module")
def from_file(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    table.to_parquet(folder / "t.parquet")
    return files.read_to_blocks(
        folder / "t.parquet", folder / "b", text="body", block_documents=400, n_jobs=1
    )


def rows_of(table):
    return table.astype(object).where(table.notna(), None).to_dict("records")


@pytest.mark.parametrize("form", ["dataframe", "bag"])
@pytest.mark.parametrize("partitions", [1, 7])
def test_the_same_corpus_as_from_a_file(table, from_file, tmp_path, form, partitions):
    if form == "dataframe":
        collection = dataframe.from_pandas(table, npartitions=partitions)
    else:
        collection = bag.from_sequence(rows_of(table), npartitions=partitions)
    with dask.config.set(scheduler="synchronous"):
        result = files.read_to_blocks(
            collection, tmp_path / "b", text="body", block_documents=400, n_jobs=2
        )
    assert result.report == from_file.report
    assert result.corpus.kinds == from_file.corpus.kinds
    assert result.corpus.digest == from_file.corpus.digest
    empty = next(problem for problem in result.problems if problem.kind == "empty text")
    wanted = next(problem for problem in from_file.problems if problem.kind == "empty text")
    assert (empty.count, empty.lines) == (wanted.count, wanted.lines)


def test_a_bag_or_series_of_texts_alone(table, tmp_path):
    with dask.config.set(scheduler="synchronous"):
        one = files.read_to_blocks(
            bag.from_sequence(table["body"].tolist(), npartitions=3), tmp_path / "a"
        )
        two = files.read_to_blocks(
            dataframe.from_pandas(table["body"], npartitions=2), tmp_path / "b", n_jobs=1
        )
    assert one.corpus.digest == two.corpus.digest
    assert one.corpus.shape == (2500, 10)


def test_fit_takes_a_collection(table, from_file, tmp_path):
    distributed = pytest.importorskip("distributed")
    whole = files.read_to_blocks(
        dataframe.from_pandas(table, npartitions=3), tmp_path / "b", text="body"
    )
    kernel = k.RBF("year", length_scale=5.0)
    settings = {"kernel": kernel, "max_iter": 4, "random_state": 0}
    expected = GPTM(2, **settings).fit(whole.corpus)
    with (
        distributed.LocalCluster(
            n_workers=2, processes=False, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        collection = dataframe.from_pandas(table.rename(columns={"body": "text"}), npartitions=3)
        checkpoint = tmp_path / "c"
        model = GPTM(2, **settings).fit(collection, client=client, checkpoint=checkpoint)
    same_bits(expected, model)
    assert not (tmp_path / "c.corpus").exists()
    assert list(model.sample_.metadata) == ["year", "shop", "day"]


def test_bad_collections_are_refused(tmp_path):
    with dask.config.set(scheduler="synchronous"):
        for items, said in (([1, 2], "got int"), ([], "no documents")):
            with pytest.raises(ValueError, match=said):
                files.read_to_blocks(
                    bag.from_sequence(items or [""], npartitions=1).filter(lambda item: item != ""),
                    tmp_path / "b",
                )
        mixed = dataframe.from_pandas(
            pd.DataFrame({"text": ["green tea"], "n": [[1]]}), npartitions=1
        ).assign(n=1)
        with pytest.raises(ValueError, match="bdy"):
            files.read_to_blocks(mixed, tmp_path / "b", text="bdy")
    assert not (tmp_path / "b").exists()
    with pytest.raises(ValueError, match="metadata"):
        GPTM(2).fit(bag.from_sequence(["green tea"] * 9, npartitions=1), metadata={"a": [1] * 9})
