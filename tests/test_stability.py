"""Topics and effects that come back, pooled errors, and refits that can be resumed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from scipy import stats
from sklearn.base import clone

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.findings.pooling import pool
from gptm.findings.stability_runs import bootstrap, plan_runs
from gptm.findings.term_effects import MOST_LEVELS, settings_of

N, V, K = 80, 40, 3
QUICK = {"init": "random", "max_iter": 80, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def documents(n=N, seed=0, effect=1.5):
    """Three clear topics; the left speaks of the first one, and the second one grows."""
    rng = np.random.default_rng(seed)
    beta = np.kron(np.eye(K), np.full((1, V // K), K / V))
    beta = np.hstack([beta, np.zeros((K, V - beta.shape[1]))]) + 0.002
    beta /= beta.sum(1, keepdims=True)
    party = rng.choice(["left", "right"], n)
    year = rng.uniform(1990, 2020, n)
    eta = rng.normal(0.0, 0.7, (n, K))
    eta[:, 0] += effect * (party == "left")
    eta[:, 1] += effect * (year - 2005) / 15
    theta = np.exp(eta) / np.exp(eta).sum(1, keepdims=True)
    X = np.array([rng.multinomial(60, p) for p in theta @ beta])
    frame = pd.DataFrame({"party": party, "year": year, "author": rng.integers(12, size=n)})
    return Corpus(X, [f"w{i}" for i in range(V)], metadata=frame, ids=np.arange(n))


@pytest.fixture(scope="module")
def corpus():
    return documents()


@pytest.fixture(scope="module")
def model(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GPTM(K, kernel=k.RBF("year") + k.Categorical("party"), **QUICK).fit(corpus)


@pytest.fixture(scope="module")
def found(model, corpus):
    return gptm.stability(model, corpus, seeds=2, n_components=[2, 4], resamples=2)


# Rubin's rules


def test_pooling_is_rubins_rule_written_out():
    rng = np.random.default_rng(0)
    estimates, errors = rng.normal(size=(5, 3)), rng.uniform(0.5, 1.0, (5, 3))
    estimates[2, 1] = errors[2, 1] = np.nan
    found = pool(estimates, errors)
    low, high = found.band(0.9)
    for column in range(3):
        there = ~np.isnan(estimates[:, column])
        q, u = estimates[there, column], errors[there, column] ** 2
        m = len(q)
        mean, W, B = sum(q) / m, sum(u) / m, sum((x - sum(q) / m) ** 2 for x in q) / (m - 1)
        T = W + (1 + 1 / m) * B
        df = (m - 1) * (1 + W / ((1 + 1 / m) * B)) ** 2
        assert_allclose(found.estimate[column], mean)
        assert_allclose(found.total[column], T)
        assert_allclose([low[column], high[column]], stats.t.interval(0.9, df, mean, np.sqrt(T)))
        assert found.m[column] == m


def test_one_fit_has_its_own_error_and_none_has_none():
    found = pool(np.array([[2.0, np.nan]]), np.array([[0.5, np.nan]]))
    assert_allclose([found.estimate[0], found.total[0]], [2.0, 0.25])
    assert_allclose(found.band(0.95)[1][0], 2.0 + 0.5 * stats.norm.ppf(0.975), rtol=1e-5)
    assert np.isnan([found.estimate[1], found.total[1]]).all()


def test_pooled_bands_cover_when_fits_disagree():
    """Fits that miss the truth by an error of their own: one fit's band is too narrow, the pooled one is not."""
    rng = np.random.default_rng(1)
    n = 4000
    noise = rng.normal(0.0, 1.0, n)  # of the documents, common to all fits
    estimates = noise + rng.normal(0.0, 1.0, (6, n))
    pooled = pool(estimates, np.ones((6, n)))
    low, high = pooled.band(0.9)
    assert ((low < 0) & (high > 0)).mean() > 0.93
    half = stats.norm.ppf(0.95)
    assert (np.abs(estimates[0]) < half).mean() < 0.8


# Which refits


def test_the_plan_of_refits():
    runs = plan_runs(3, None, 2, 10, own_seed=1)
    assert [run.label for run in runs] == [
        *("seed 0", "seed 2", "seed 3"),
        *("8 topics", "12 topics"),
        *("resample 1", "resample 2"),
    ]
    assert [run.seed for run in runs] == [0, 2, 3, 1, 1, 1, 1]
    assert [run.n_components for run in plan_runs(0, None, 0, 2, 0)] == [3]
    assert [run.label for run in plan_runs([7, 7, 9], 5, 0, 4, 0)] == [
        "seed 7",
        "seed 9",
        "5 topics",
    ]
    assert plan_runs(0, (), 0, 4, 0) == []


def test_bootstraps_draw_documents_or_whole_groups():
    rng = np.random.default_rng(0)
    rows = bootstrap(1000, None, rng)
    assert len(rows) == 1000
    assert_allclose(len(set(rows.tolist())) / 1000, 1 - np.exp(-1), atol=0.03)
    groups = np.repeat(np.arange(5), [1, 2, 3, 4, 10])
    for _ in range(20):
        rows = bootstrap(20, groups, rng)
        drawn = np.bincount(rows, minlength=20)
        for group in range(5):
            assert len(set(drawn[groups == group])) == 1  # all members equally often
        assert sum(drawn[np.flatnonzero(groups == g)[0]] for g in range(5)) == 5


def test_half_of_the_documents_vary_as_a_bootstrap_sample_does():
    rng = np.random.default_rng(0)
    values = rng.normal(size=100)
    for repeats in (True, False):
        means = [values[bootstrap(100, None, rng, repeats)].mean() for _ in range(4000)]
        assert_allclose(np.std(means), values.std() / 10, rtol=0.05)
    assert len(bootstrap(7, None, rng, repeats=False)) == 4


# What comes back


def test_a_refit_is_what_a_fit_by_hand_gives(model, corpus, found):
    by_hand = clone(model).set_params(random_state=2).fit(corpus)
    alignment = gptm.align(model, by_hand, threshold=0.0)
    assert_allclose(found.overlap["seed 2"], alignment.overlap.max(axis=1))
    table = by_hand.effects("party", at=["left", "right"])
    shares = table.pivot(index="party", columns="topic", values="share")
    expected = shares - shares.mean()
    means, _ = found.estimates(1)
    position = list(found.overlap.columns).index("seed 2")
    for topic, other in alignment.pairs.items():
        assert_allclose(means[position][:, topic], expected[other], atol=1e-12)


def test_clear_topics_and_effects_come_back(found):
    assert (found.table["back"] >= 5 / 6).all()
    assert found.runs["topics_back"].tolist() == [3, 3, 2, 3, 3, 3]
    assert (found.table["back_topics"] >= 0.5).all()
    topics = found.table["words"].str.extract(r"w(\d+)")[0].astype(int) // (V // K)
    first = topics.index[topics == 0][0]
    effects = found.effects.set_index(["term", "setting", "topic"])
    left = effects.loc[("party", "left", first)]
    assert left["pooled"] > 0.05
    assert left["clear"]
    assert left["same_sign"] == 1.0
    assert left["fits"] == 1 + int(found.back.loc[first].iloc[:4].sum())
    assert_allclose(left["pooled"], -effects.loc[("party", "right", first), "pooled"])
    assert found.complete
    assert "3 topics in 6 refits: 2 other seeds, 2 other numbers of topics, 2 resamples" in repr(
        found
    )
    assert max(map(len, repr(found).splitlines())) <= 100
    assert "stay clear" in found._repr_html_()


def test_effects_are_pooled_over_seeds_and_numbers_of_topics(found):
    own, error = found.own_effects[0]
    means, errors = found.estimates(0)
    expected = pool(
        np.concatenate([own[None], means[:4]]), np.concatenate([error[None], errors[:4]])
    )
    rows = found.effects[found.effects["term"] == "year"]
    assert_allclose(rows["total_error"], np.sqrt(expected.total).ravel())
    assert_allclose(rows["resample_error"], np.abs(means[4] - means[5]).ravel() / np.sqrt(2))
    assert (rows["total_error"] >= 0.5 * rows["error"]).all()
    assert rows["setting"].nunique() == 5


def test_noise_does_not_come_back():
    """Documents without topics: what one fit finds, another does not."""
    X = np.random.default_rng(0).multinomial(30, np.full(60, 1 / 60), size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CTM(6, **QUICK).fit(X)
    found = gptm.stability(model, X, seeds=3, n_components=(), resamples=2)
    assert found.table["back"].mean() < 0.75
    assert (found.overlap > 0.4).all(axis=None)  # although all topics are alike
    assert list(found.table) == [
        *("words", "share", "back", "back_seeds", "back_resamples", "overlap", "overlap_lowest"),
        "nearest",
    ]
    assert len(found.effects) == 0


def test_the_same_for_any_number_of_jobs_and_after_an_interrupt(
    model, corpus, tmp_path, monkeypatch
):
    options = {"seeds": 2, "n_components": (), "resamples": 1}
    whole = gptm.stability(model, corpus, **options)
    assert_frame_equal(gptm.stability(model, corpus, n_jobs=2, **options).table, whole.table)
    path = tmp_path / "work"
    fit, calls = GPTM.fit, []

    def interrupted(self, *arguments, **keywords):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(self, *arguments, **keywords)

    monkeypatch.setattr(GPTM, "fit", interrupted)
    with pytest.warns(UserWarning, match="2 of 3 fits are done"):
        part = gptm.stability(model, corpus, checkpoint=path, **options)
    assert not part.complete
    assert part.overlap.columns.tolist() == ["seed 1", "seed 2"]
    assert path.exists()
    rest = gptm.stability(model, corpus, checkpoint=path, **options)
    assert len(calls) == 4  # only the one that was missing
    assert_frame_equal(rest.effects, whole.effects)
    assert not path.exists()


def test_progress_is_told(model, corpus, capsys):
    gptm.stability(model, corpus, seeds=1, n_components=(), resamples=0, verbose=True)
    assert "1 of 1  seed 1: 3 of 3 topics came back" in capsys.readouterr().out


@pytest.mark.parametrize(
    "kernel",
    [k.Graph("links"), k.NearestNeighbors(3), k.Linear("year"), "auto", None],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore")
def test_all_kinds_of_models(corpus, kernel):
    frame = corpus.metadata.assign(links=[[(i + 1) % N, (i + 2) % N] for i in range(N)])
    documents = Corpus(corpus.counts, corpus.vocabulary, metadata=frame, ids=corpus.ids)
    model = GPTM(2, kernel=kernel, **QUICK | {"max_iter": 4}).fit(documents)
    found = gptm.stability(model, documents, seeds=1, n_components=(), resamples=1)
    assert len(found.runs) == 2
    if isinstance(kernel, k.Linear):
        assert found.effects["setting"].nunique() == 5


@pytest.mark.filterwarnings("ignore")
def test_merged_models_loaded_models_groups_and_em(model, corpus, tmp_path):
    merged = model.merge_topics([0, 1])
    found = gptm.stability(merged, corpus, seeds=1, n_components=(), resamples=1, groups="author")
    assert len(found.table) == 2
    assert found.runs["n_components"].tolist() == [3, 3]  # as many as were fitted
    model.save(tmp_path / "m.gptm")
    loaded = gptm.load(tmp_path / "m.gptm")
    options = {"seeds": 1, "n_components": (), "resamples": 0}
    assert_frame_equal(
        gptm.stability(loaded, corpus, **options).table,
        gptm.stability(model, corpus, **options).table,
    )
    em = GPTM(2, kernel=k.Categorical("party"), inference="variational", max_iter=3, random_state=0)
    assert len(gptm.stability(em.fit(corpus), corpus, **options).effects) == 4


def test_only_frequent_levels_are_looked_at():
    X = np.random.default_rng(0).poisson(1.0, (200, 5)) + 1
    names = [f"a{min(i, 30):02d}" for i in range(200)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GPTM(2, kernel=k.Categorical("name"), **QUICK | {"max_iter": 2}).fit(
            X, metadata={"name": names}
        )
    (term,) = settings_of(model)
    assert len(term.settings) == MOST_LEVELS
    assert "a30" in term.names


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seeds": 0, "n_components": (), "resamples": 0}, "nothing to compare with: pass seeds="),
        ({"seeds": -1}, "seeds must be an integer"),
        ({"seeds": [1.5]}, "seeds must be an integer"),
        ({"n_components": 3}, "other numbers of topics than the model's own, 3; got 3"),
        ({"n_components": [0]}, "n_components must be an integer of at least 1"),
        ({"resamples": 0.5}, "resamples must be an integer"),
        ({"threshold": 2}, "threshold must lie between 0 and 1"),
        ({"groups": "autor"}, "Did you mean 'author'"),
        ({"random_state": "x"}, "random_state must be an integer"),
        ({"level": 90}, "level must be"),
    ],
)
def test_what_is_wrong_is_said_before_any_fit(model, corpus, options, said, monkeypatch):
    monkeypatch.setattr(GPTM, "fit", lambda *a, **o: pytest.fail("nothing should be fitted"))
    with pytest.raises(ValueError, match=said):
        gptm.stability(model, corpus, **options)


def test_other_words_and_kernels_by_position(model, corpus):
    with pytest.raises(ValueError, match="features"):
        gptm.stability(model, corpus.counts[:, :10])
    by_row = GPTM(2, kernel=np.eye(N), **QUICK | {"max_iter": 2}).fit(corpus.counts)
    with pytest.raises(ValueError, match="position, which changes"):
        gptm.stability(by_row, corpus.counts, seeds=1, resamples=1)
    assert (
        len(gptm.stability(by_row, corpus.counts, seeds=1, n_components=(), resamples=0).runs) == 1
    )


def test_the_picture_shows_what_the_table_says(found):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    ax = found.plot()
    left, right = ax.figure.axes
    assert left is ax
    order = found.table.sort_values(["back", "overlap"], kind="stable").index
    assert [label.get_text().split("(")[-1] for label in ax.get_yticklabels()] == [
        f"{i})" for i in order
    ]
    drawn = np.concatenate([line.get_xdata() for line in ax.lines[:3]])
    assert_array_equal(np.sort(drawn), np.sort(found.overlap.to_numpy().ravel()))
    ticks = right.yaxis.get_major_ticks()
    assert [tick.label2.get_text() for tick in ticks] == found.table.loc[order, "at"].tolist()
    assert {f"{100 * back:.0f} %" for back in found.table["back"]} == {
        t.get_text() for t in ax.texts
    }
    figure, given = plt.subplots()
    assert gptm.plots.plot_stability(found, ax=given) is given
    assert figure.axes == [given]
    with pytest.raises(ValueError, match=r"the result of gptm\.stability; got .* DataFrame"):
        gptm.plots.plot_stability(found.table)
    plt.close("all")
