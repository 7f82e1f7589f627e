"""Permutation tests: exact on small examples, uniform without an effect, powerful with one."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from scipy import stats

import gptm
from checks import assert_safe
from gptm import CTM, GPTM
from gptm import kernels as k
from gptm._basics.progress import Progress
from gptm.findings.association import associations, quadratic_forms, standardised, structures_of
from gptm.findings.permutation_result import p_values
from gptm.findings.shuffles import Shuffles
from gptm.kernels import Documents

QUICK = {"init": "random", "max_iter": 30, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def documents(n=90, V=24, effect=0.0, seed=0):
    """Two topics; a party that speaks of the first one, as much as `effect` says; and columns of no meaning."""
    rng = np.random.default_rng(seed)
    beta = np.kron(np.eye(3), np.full((1, V // 3), 3 / V))
    party = rng.choice(["left", "right"], n)
    eta = rng.normal(0.0, 1.0, (n, 3))
    eta[:, 0] += effect * (party == "left")
    theta = np.exp(eta) / np.exp(eta).sum(1, keepdims=True)
    X = np.array([rng.multinomial(40, p) for p in theta @ beta])
    frame = pd.DataFrame(
        {"party": party, "year": rng.uniform(0, 10, n), "author": np.arange(n) % 9}
    )
    return X, frame


def fit(model, X, frame=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, metadata=frame)


@pytest.fixture(scope="module")
def nothing():
    """Documents and a model of their words, for columns that have nothing to do with them."""
    X, _ = documents()
    return X, fit(CTM(3, **QUICK), X)


# Orders


def test_all_orders_of_a_small_example():
    found = sorted(tuple(order) for order in Shuffles.of(3, None, None).all())
    assert found == sorted(itertools.permutations(range(3)))
    blocks = np.array([0, 1, 0, 1])
    found = {tuple(order) for order in Shuffles.of(4, None, blocks).all()}
    assert found == {(0, 1, 2, 3), (2, 1, 0, 3), (0, 3, 2, 1), (2, 3, 0, 1)}
    assert Shuffles.of(20, None, None).total == math.factorial(20)


def test_random_orders_stay_in_their_blocks_and_are_equally_probable():
    blocks = np.repeat([0, 1], [3, 5])
    shuffles = Shuffles.of(8, None, blocks)
    orders = list(shuffles.drawn(6000, 0))
    for order in orders[:50]:
        assert_array_equal(blocks[order], blocks)
        assert sorted(order) == list(range(8))
    first = [tuple(order[:3]) for order in orders]
    counts = [first.count(order) for order in itertools.permutations(range(3))]
    assert stats.chisquare(counts).pvalue > 0.001
    assert_array_equal(orders[7], list(shuffles.drawn(8, 0))[7])


def test_groups_move_as_a_whole():
    groups = np.array([0, 0, 1, 2, 2, 2])
    shuffles = Shuffles.of(6, groups, None)
    assert shuffles.total == 6
    for order in shuffles.all():
        for group in range(3):
            assert len(set(order[groups == group])) == 1
    assert shuffles.as_it_is().tolist() == [0, 0, 2, 3, 3, 3]
    with pytest.raises(ValueError, match="same group are in different blocks"):
        Shuffles.of(6, groups, np.array([0, 1, 0, 0, 0, 0]))


# The statistic


def test_the_statistic_is_the_dense_formula_and_has_mean_one():
    _, frame = documents(30)
    rng = np.random.default_rng(0)
    Y = standardised(rng.normal(size=(30, 2)))
    for kernel in (k.Categorical("party"), k.RBF("year", length_scale=2.0), k.RBF("year")):
        structures = structures_of(kernel, Documents(30, frame))
        assert len(structures) == (3 if kernel.get_params().get("length_scale", 1) is None else 1)
        order = rng.permutation(30)
        found = associations(structures, Y, [order], 1, None, Progress(False))[0]
        H = np.eye(30) - 1 / 30
        values = []
        for structure in structures:
            dense = structure._replace(own=np.zeros(30)).to_dense()
            moved = H @ dense[np.ix_(order, order)] @ H
            expected = np.trace(H @ dense @ H) * 30 / 29
            values.append([y @ moved @ y / expected for y in Y.T])
        assert_allclose(found, np.mean(values, axis=0), rtol=1e-8)
        many = associations(
            structures, Y, Shuffles.of(30, None, None).drawn(3000, 1), 3000, None, Progress(False)
        )
        assert_allclose(many.mean(0), 1.0, atol=0.1)


def test_the_statistic_of_a_graph():
    n = 20
    frame = pd.DataFrame({"links": [[(i + 1) % n] for i in range(n)]}, index=map(str, range(n)))
    (structure, *_) = structures_of(k.Graph("links"), Documents(n, frame))
    W = np.random.default_rng(0).normal(size=(n, 3))
    dense = structure._replace(own=np.zeros(n)).to_dense()
    assert_allclose(quadratic_forms(structure, W), [w @ dense @ w for w in W.T], rtol=1e-6)


def test_a_category_is_compared_by_its_group_sums():
    """With two groups of the same size the order of shuffles is that of the F statistic."""
    X, _ = documents(40)
    party = np.repeat(["a", "b"], 20)
    model = fit(CTM(2, **QUICK), X)
    test = gptm.permutation_test(model, X, k.Categorical("party"), n=200, metadata={"party": party})
    y = (model.doc_logits_ - model.mean_)[:, 0]
    F = []
    for order in Shuffles.of(40, None, None).drawn(200, 0):
        moved = party[order]
        F.append(stats.f_oneway(y[moved == "a"], y[moved == "b"]).statistic)
    own = stats.f_oneway(y[party == "a"], y[party == "b"]).statistic
    expected = (1 + np.sum(np.array(F) >= own * (1 - 1e-9))) / 201
    assert_allclose(test.table["p_value"], expected)  # of both topics, which mirror each other


# Exactness


def test_small_examples_are_exact():
    X, _ = documents(6)
    model = fit(CTM(2, **QUICK), X)
    column = ["a", "a", "a", "b", "b", "b"]
    test = gptm.permutation_test(model, X, k.Categorical("c"), metadata={"c": column}, n=720)
    assert test.exact
    assert len(test.shuffled) == 720
    y = (model.doc_logits_ - model.mean_)[:, 0]
    y = y - y.mean()
    own = y[:3].sum() ** 2
    splits = [y[list(rows)].sum() ** 2 for rows in itertools.combinations(range(6), 3)]
    expected = np.mean([value >= own * (1 - 1e-9) for value in splits])
    assert_allclose(test.p_value, expected)
    assert not gptm.permutation_test(
        model, X, k.Categorical("c"), metadata={"c": column}, n=719
    ).exact
    assert "all 720 orders of the column" in repr(test)


def test_p_values_count_the_data():
    shuffled = np.arange(1.0, 10.0)[:, None]
    assert_allclose(p_values(np.array([100.0]), shuffled, False), 0.1)
    assert_allclose(p_values(np.array([9.0]), shuffled, False), 0.2)
    assert_allclose(p_values(np.array([0.0]), shuffled, False), 1.0)


# Without an effect, and with one


@pytest.mark.parametrize("how", ["category", "number", "within", "groups"])
def test_p_values_are_uniform_without_an_effect(nothing, how):
    X, model = nothing
    n = len(X)
    rng = np.random.default_rng(5)
    blocks = np.arange(n) % 6
    found, adjusted = [], []
    for _ in range(150):
        options = {}
        if how == "number":
            column, kernel = rng.normal(size=n), k.RBF("c")
        else:
            column, kernel = rng.choice(["a", "b", "c"], n), k.Categorical("c")
        if how == "within":  # the column depends on the block, and within it on nothing
            column = np.where(rng.random(n) < blocks / 6, "a", "b")
            options = {"within": blocks}
        if how == "groups":
            column = rng.choice(["a", "b"], 6)[blocks]
            options = {"groups": blocks}
            if len(set(column)) == 1:
                continue
        test = gptm.permutation_test(
            model, X, kernel, metadata={"c": column}, n=99, random_state=len(found), **options
        )
        found.append(test.p_value)
        adjusted.append(test.table["p_adjusted"].min())
    ranks = (
        np.array(found) - np.random.default_rng(0).random(len(found)) / 100
    )  # of a hundred values
    if how == "groups":  # 6! orders of few distinct ones: never too small, often larger
        assert (ranks <= 0.1).mean() < 0.17
    else:
        assert stats.kstest(ranks, "uniform").pvalue > 0.001
    assert (np.array(adjusted) <= 0.1).mean() < 0.17  # all topics together, once in ten


def test_a_model_that_has_seen_the_column_finds_no_effect_where_there_is_none():
    """The kernel draws documents towards a column without meaning; the test must not believe that."""
    small = 0
    for seed in range(16):
        X, frame = documents(60, seed=seed)
        model = fit(GPTM(3, kernel=k.Categorical("party"), **QUICK), X, frame)
        test = gptm.permutation_test(model, X, "party", metadata=frame, n=99)
        small += test.p_value <= 0.1
    assert small <= 5  # 1.6 are expected; six or more have a probability of 0.5 %


def test_real_effects_are_found():
    X, frame = documents(effect=1.5)
    model = fit(GPTM(3, kernel=k.Categorical("party") + k.RBF("year"), **QUICK), X, frame)
    party = gptm.permutation_test(model, X, "party", metadata=frame)
    assert party.p_value == 0.001
    assert party.statistic > 3
    year = gptm.permutation_test(model, X, "year", metadata=frame)
    assert year.p_value > 0.02
    topic = int(model.components_[:, :8].sum(1).argmax())
    row = party.table.set_index("topic").loc[topic]
    assert row["p_adjusted"] == 0.001
    assert row["overlap"] > 0.8
    assert party.table["topic"].tolist() == [0, 1, 2]
    assert (party.table["p_adjusted"] >= party.table["p_value"]).all()
    assert "p_adjusted" in repr(party.table)
    assert "..." not in repr(party.table)
    assert (
        "party: p = 0.001, 999 shuffles of the column, topics held from a fit without party"
        in repr(party)
    )
    assert max(map(len, repr(party).splitlines())) <= 100
    shown = assert_safe(party._repr_html_())
    assert party.title in shown
    assert "90 % of the shuffled ones" in shown


def test_blocks_take_out_what_differs_between_them():
    """Authors of one party speak of one topic. Within authors the party does not matter."""
    rng = np.random.default_rng(0)
    n = 120
    author = np.arange(n) % 6
    beta = np.kron(np.eye(2), np.full((1, 8), 1 / 8))
    share = np.where(author < 3, 0.8, 0.2)
    X = np.array(
        [rng.multinomial(40, [p, 1 - p] @ beta) for p in rng.beta(8 * share, 8 * (1 - share))]
    )
    party = np.where(rng.random(n) < 0.15 + 0.7 * (author < 3), "left", "right")
    frame = pd.DataFrame({"author": author.astype(str), "party": party})
    model = fit(CTM(2, **QUICK), X)
    free = gptm.permutation_test(model, X, k.Categorical("party"), metadata=frame)
    blocked = gptm.permutation_test(
        model, X, k.Categorical("party"), metadata=frame, within="author"
    )
    assert free.p_value == 0.001
    assert blocked.p_value > 0.05


def test_refits_find_the_same(tmp_path):
    X, frame = documents(60, effect=2.0)
    settings = QUICK | {"max_iter": 25}
    model = fit(GPTM(3, kernel=k.Categorical("party"), **settings), X, frame)
    test = gptm.permutation_test(model, X, metadata=frame, n=9, refit=True)
    assert test.p_value == 0.1
    shares = model.variance_explained().set_index(["term", "topic"])["share"]
    assert test.statistic == shares["party", "all"]
    assert_allclose(test.table["statistic"], shares["party"].iloc[1:].astype(float))
    assert "p_value" not in test.table
    assert "each fitted anew" in repr(test)
    by_hand = frame.assign(
        party=frame["party"].to_numpy()[next(Shuffles.of(60, None, None).drawn(1, 0))]
    )
    again = fit(GPTM(3, kernel=k.Categorical("party"), **settings), X, by_hand)
    expected = again.variance_explained()
    assert_allclose(test.shuffled[0], expected.loc[expected["topic"] == "all", "share"].iloc[0])
    path = tmp_path / "work"
    parallel = gptm.permutation_test(
        model, X, metadata=frame, n=9, refit=True, n_jobs=2, checkpoint=path
    )
    assert_array_equal(parallel.shuffled, test.shuffled)


def test_the_same_for_any_number_of_jobs(nothing, monkeypatch):
    X, model = nothing
    frame = {"c": np.random.default_rng(0).normal(size=len(X))}
    first = gptm.permutation_test(model, X, k.RBF("c"), metadata=frame, n=50)
    monkeypatch.setattr("gptm.findings.association._NUMBERS", 2000)
    second = gptm.permutation_test(model, X, k.RBF("c"), metadata=frame, n=50, n_jobs=2)
    assert_allclose(first.shuffled, second.shuffled, rtol=1e-12)
    assert_frame_equal(first.table, second.table)


def test_progress_is_told(nothing, monkeypatch, capsys):
    X, model = nothing
    monkeypatch.setattr("gptm.findings.association._NUMBERS", 2000)
    gptm.permutation_test(
        model, X, k.Categorical("c"), metadata={"c": ["a", "b"] * 45}, n=50, verbose=True
    )
    assert "of 50 shuffles" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_terms_of_all_kinds():
    X, frame = documents(40)
    frame["links"] = [[str((i + 1) % 40)] for i in range(40)]
    frame.index = frame.index.astype(str)
    kernel = (
        k.Graph("links")
        + 2.0 * k.Linear("year")
        + k.Categorical("party") * k.RBF("year")
        + k.MustLink("party")
    )
    model = GPTM(2, kernel=kernel, **QUICK | {"max_iter": 3}).fit(X, metadata=frame)
    for term in range(4):
        assert 0 < gptm.permutation_test(model, X, term, metadata=frame, n=19).p_value <= 1
    auto = GPTM(2, **QUICK | {"max_iter": 3}).fit(X, metadata=frame[["party"]])
    assert gptm.permutation_test(auto, X, "party", metadata=frame[["party"]], n=9).term == "party"
    by_row = GPTM(2, kernel=np.eye(40) + 1.0, **QUICK | {"max_iter": 3}).fit(X)
    assert gptm.permutation_test(by_row, X, n=9).p_value > 0
    merged = auto.reorder_topics([1, 0])
    assert len(gptm.permutation_test(merged, X, "party", metadata=frame[["party"]], n=9).table) == 2


@pytest.mark.parametrize(
    ("term", "options", "said"),
    [
        ("party", {}, r"must be a kernel for a model without one.*Categorical\('party'\)"),
        (k.Categorical("partei"), {}, "needs the metadata column 'partei'"),
        (k.NearestNeighbors(3), {}, "a column that can be shuffled; this one reads the words"),
        (k.Identity(), {}, "makes no two documents alike"),
        (k.Categorical("party"), {"n": 0}, "n must be an integer of at least 1"),
        (k.Categorical("party"), {"n": 10**12}, r"n must be .* at most 1e\+06"),
        (k.Categorical("party"), {"within": "autor"}, "Did you mean 'author'"),
        (k.Categorical("party"), {"within": range(90)}, "nothing to shuffle"),
        (k.Categorical("party"), {"within": "party"}, "shuffles change nothing: 'party' has"),
        (k.Categorical("party"), {"groups": "author"}, "same group differ in 'party'"),
        (k.Categorical("party"), {"refit": True}, "a term of the model's own kernel"),
        (k.Categorical("party"), {"refit": 1}, "refit must be True or False"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(nothing, term, options, said):
    X, model = nothing
    _, frame = documents()
    with pytest.raises(ValueError, match=said):
        gptm.permutation_test(model, X, term, metadata=frame, **options)


@pytest.mark.filterwarnings("ignore")
def test_what_a_refit_cannot_shuffle():
    X, frame = documents(30)
    twice = k.RBF("year") + k.Linear("year") + k.Categorical("party")
    model = GPTM(2, kernel=twice, **QUICK | {"max_iter": 3}).fit(X, metadata=frame)
    with pytest.raises(ValueError, match="other terms read 'year' too"):
        gptm.permutation_test(model, X, 0, metadata=frame, refit=True)
    with pytest.raises(ValueError, match="restore_topics"):
        gptm.permutation_test(model.reorder_topics([1, 0]), X, "party", metadata=frame, refit=True)
    with pytest.raises(ValueError, match="kernel reads 'party'"):
        gptm.permutation_test(model, X, k.Categorical("party"), metadata=frame)
