"""Questions after the fit: regressions of topics' shares on columns, checked against closed forms, naive versions and
statsmodels."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import BSpline
from scipy.special import softmax
from scipy.stats import t as student
from typer.testing import CliRunner

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.cli.app import app
from gptm.effects.formula_design import make_design
from gptm.effects.share_regression import dependent_columns, pool_regressions
from gptm.inference.contrasts import contrasts
from gptm.inference.sampling import kept

rng = np.random.default_rng(0)
N = 90


def columns(n=N, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "party": rng.choice(["left", "right", "centre"], n),
            "year": rng.integers(1990, 2020, n),
            "age": rng.normal(50, 10, n),
            "treated": rng.integers(0, 2, n),
            "author": rng.choice([f"a{i}" for i in range(25)], n),
            "date": pd.date_range("2015-01-01", periods=n, freq="17D").strftime("%Y-%m-%d"),
        }
    )


def corpus(frame, seed=0):
    """Documents about three things; the second is that of the right."""
    rng = np.random.default_rng(seed)
    rates = np.full((len(frame), 9), 0.6)
    rates[:, :3] += 1.5
    rates[:, 3:6] += 4.0 * (frame["party"] == "right").to_numpy()[:, None]
    rates[:, 6:] += rng.gamma(1.0, 2.0, len(frame))[:, None]
    words = [f"w{i}" for i in range(9)]
    return Corpus(rng.poisson(rates), words, metadata=frame)


@pytest.fixture(scope="module")
def frame():
    return columns()


@pytest.fixture(scope="module")
def model(frame):
    return CTM(3, max_iter=80, random_state=0).fit(corpus(frame))


def thetas(model):
    """(draws, documents, topics) the naive way."""
    logits = model.fitted_.draws.logits.astype(float)
    return softmax(logits @ contrasts(3).T, axis=2)


# One regression


X = np.column_stack([np.ones(N), rng.normal(size=N), rng.integers(0, 2, N)])
Y = rng.normal(size=(N, 2)) * (1.0 + X[:, [2]])
CLUSTERS = np.arange(N) % 11


@pytest.mark.parametrize(
    ("errors", "clusters", "cov", "options"),
    [
        ("robust", None, "HC2", {}),
        ("classical", None, "nonrobust", {}),
        ("robust", CLUSTERS, "cluster", {"groups": CLUSTERS}),
    ],
)
def test_errors_are_those_of_statsmodels(errors, clusters, cov, options):
    api = pytest.importorskip("statsmodels.api")
    found = pool_regressions(X, [Y, Y], errors=errors, clusters=clusters).combine(np.eye(3))
    for topic in range(2):
        theirs = api.OLS(Y[:, topic], X).fit(cov_type=cov, cov_kwds=options)
        np.testing.assert_allclose(found.mean[:, topic], theirs.params, rtol=1e-9)
        np.testing.assert_allclose(found.std_error[:, topic], theirs.bse, rtol=1e-7)


def test_the_difference_of_two_groups_has_neymans_error():
    """s1^2 / n1 + s0^2 / n0, which is what HC2 comes to."""
    group = X[:, 2] == 1
    found = pool_regressions(X[:, [0, 2]], [Y, Y], errors="robust", clusters=None)
    estimate = found.combine(np.array([[0.0, 1.0]]))
    ones, zeros = Y[group], Y[~group]
    np.testing.assert_allclose(estimate.mean[0], ones.mean(0) - zeros.mean(0), rtol=1e-10)
    neyman = ones.var(0, ddof=1) / len(ones) + zeros.var(0, ddof=1) / len(zeros)
    np.testing.assert_allclose(estimate.std_error[0] ** 2, neyman, rtol=1e-10)


def test_one_document_per_cluster_is_the_robust_error_with_another_factor():
    """CR1 of single documents is HC1."""
    found = pool_regressions(X, [Y, Y], errors="robust", clusters=np.arange(N))
    Q = np.linalg.inv(X.T @ X) @ X.T
    e = Y - X @ (Q @ Y)
    for topic in range(2):
        hc1 = N / (N - 3) * (Q * e[:, topic] ** 2) @ Q.T
        np.testing.assert_allclose(found.within[topic], hc1, rtol=1e-8)


# Pooling


def test_pooling_is_the_limit_of_drawing_coefficients():
    """The method of composition by brute force: draw shares, regress, draw coefficients, and look at all of them."""
    rng = np.random.default_rng(3)
    draws = [Y + 0.7 * rng.normal(size=Y.shape) for _ in range(40)]
    found = pool_regressions(X, draws, errors="robust", clusters=None)
    Q = np.linalg.inv(X.T @ X) @ X.T
    h = np.einsum("ip,pi->i", X, Q)
    coefficients = []
    for theta in draws:
        b = Q @ theta[:, 0]
        V = (Q * ((theta[:, 0] - X @ b) ** 2 / (1 - h))) @ Q.T
        coefficients.append(rng.multivariate_normal(b, V, size=4000))
    every = np.concatenate(coefficients)
    estimate = found.combine(np.eye(3))
    np.testing.assert_allclose(estimate.mean[:, 0], every.mean(0), atol=0.01)
    np.testing.assert_allclose(estimate.std_error[:, 0], every.std(0), rtol=0.03)


def test_more_noise_between_draws_means_larger_errors_and_fewer_degrees_of_freedom():
    rng = np.random.default_rng(4)
    calm = pool_regressions(X, [Y, Y, Y], errors="robust", clusters=None).combine(np.eye(3))
    noisy_draws = [Y + rng.normal(size=(1, 2)) for _ in range(3)]
    noisy = pool_regressions(X, noisy_draws, errors="robust", clusters=None).combine(np.eye(3))
    assert (noisy.std_error[0] > 3 * calm.std_error[0]).all()
    np.testing.assert_allclose(
        noisy.std_error[1:], calm.std_error[1:]
    )  # the shift is common to all
    assert (noisy.df[0] < 4).all()
    assert (calm.df > 0.9 * (N - 3)).all()


def test_coverage_of_bands_of_a_plain_regression():
    """Without draws to speak of, 90 % bands contain the true slope 90 % of the time; spread depends on x."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, (40, 1))
    design = np.column_stack([np.ones(40), x])
    y = rng.normal(size=(40, 2000)) * np.where(x == 1, 3.0, 0.5)
    low, high = (
        pool_regressions(design, [y, y], errors="robust", clusters=None)
        .combine(np.array([[0.0, 1.0]]))
        .band(0.9)
    )
    assert 0.87 < np.mean((low < 0) & (high > 0)) < 0.93


def test_dependent_columns_are_named_with_what_they_depend_on():
    both = np.column_stack([X, X[:, 1] - 2 * X[:, 2], np.zeros(N), X[:, 0]])
    assert dependent_columns(both) == [(3, [1, 2]), (4, []), (5, [0])]
    assert dependent_columns(X) == []


# Of a fitted model


def test_a_naive_version_agrees(model, frame):
    effects = model.estimate_effects("~ treated + age", frame)
    design = np.column_stack([np.ones(N), frame["treated"], frame["age"]])
    Q = np.linalg.inv(design.T @ design) @ design.T
    h = np.einsum("ip,pi->i", design, Q)
    bs, Vs = [], []
    for theta in thetas(model)[:, :, 1]:
        b = Q @ theta
        bs.append(b)
        Vs.append(np.diag((Q * ((theta - design @ b) ** 2 / (1 - h))) @ Q.T))
    m = len(bs)
    total = np.mean(Vs, 0) + (1 + 1 / m) * np.var(bs, axis=0, ddof=1)
    table = effects.table.query("topic == 1")
    assert table["term"].tolist() == ["Intercept", "treated", "age"]
    np.testing.assert_allclose(table["estimate"], np.mean(bs, 0), rtol=1e-8)
    np.testing.assert_allclose(table["std_error"], np.sqrt(total), rtol=1e-8)
    part = (1 + 1 / m) * np.var(bs, axis=0, ddof=1) / total
    observed = (N - 2) / N * (N - 3) * (1 - part)  # Barnard and Rubin's degrees of freedom
    df = 1 / (part**2 / (m - 1) + 1 / observed)
    half = student.ppf(0.95, df) * np.sqrt(total)
    np.testing.assert_allclose(table["high"] - table["estimate"], half, rtol=1e-6)
    p = 2 * student.sf(np.abs(np.mean(bs, 0)) / np.sqrt(total), df)
    np.testing.assert_allclose(table["p_value"], p, rtol=1e-6)


def test_shares_of_all_topics_sum_to_one(model, frame):
    table = model.estimate_effects("~ party * s(year, df=4)", frame).table
    sums = table.groupby("term")["estimate"].sum()
    assert sums.pop("Intercept") == pytest.approx(1.0)
    np.testing.assert_allclose(sums, 0.0, atol=1e-9)


def test_the_effect_that_was_put_in_is_found(model, frame):
    table = model.estimate_effects("~ party", frame).marginal_effects()
    right = table[table["change"] == "right - centre"]
    assert right["estimate"].max() > 0.3
    assert right.loc[right["estimate"].idxmax(), "p_value"] < 1e-4


def test_metadata_in_all_forms(model, frame):
    expected = model.estimate_effects("~ party + year", frame).table
    for metadata in (frame.to_dict("list"), corpus(frame), frame.astype({"year": str})):
        pd.testing.assert_frame_equal(
            model.estimate_effects("~ party + year", metadata).table, expected
        )


def test_some_topics_by_number_or_name(model, frame):
    named = model.name_topics({2: "sea"})
    every = named.estimate_effects("~ party", frame).table
    some = named.estimate_effects("~ party", frame, topic=["sea", 0]).table
    assert some["topic"].unique().tolist() == [2, 0]
    assert some["topic_name"].tolist()[:3] == ["sea"] * 3
    pd.testing.assert_frame_equal(
        some[some["topic"] == 0].reset_index(drop=True),
        every[every["topic"] == 0].reset_index(drop=True),
    )


def test_estimates_of_merged_topics_add_up(model, frame):
    whole = model.estimate_effects("~ party", frame).table
    merged = model.merge_topics([0, 2]).estimate_effects("~ party", frame).table
    parts = (
        whole[whole["topic"] == 0]["estimate"].to_numpy()
        + whole[whole["topic"] == 2]["estimate"].to_numpy()
    )
    np.testing.assert_allclose(merged[merged["topic"] == 0]["estimate"], parts, rtol=1e-9)
    theta = thetas(model)[:, :, [0, 2]].sum(2).mean(1).mean()
    assert merged["estimate"][0] != theta  # with columns; without any it is the mean share
    share = model.merge_topics([0, 2]).estimate_effects("~ 1", frame).table["estimate"][0]
    assert share == pytest.approx(theta, rel=1e-9)


def test_shares_of_a_model_without_a_topic_sum_to_one(model, frame):
    dropped = model.drop_topics(1).estimate_effects("~ party", frame).table
    assert dropped.query("term == 'Intercept'")["estimate"].sum() == pytest.approx(1.0)
    theta = thetas(model)[:, :, [0, 2]]
    theta /= theta.sum(2, keepdims=True)
    centre = (frame["party"] == "centre").to_numpy()
    assert dropped["estimate"][0] == pytest.approx(theta[:, centre, 0].mean(), rel=1e-8)


def test_a_loaded_model_gives_the_same_bits(model, frame, tmp_path):
    model.merge_topics([0, 2], "both").save(tmp_path / "m.gptm")
    loaded = gptm.load(tmp_path / "m.gptm").estimate_effects("~ party", frame).table
    expected = model.merge_topics([0, 2], "both").estimate_effects("~ party", frame).table
    pd.testing.assert_frame_equal(loaded, expected, check_exact=True)


def test_a_model_by_em_runs_a_short_chain(frame, tmp_path):
    model = CTM(3, inference="variational", random_state=0).fit(corpus(frame))
    effects = model.estimate_effects("~ party", frame)
    assert effects.marginal_effects().query("change == 'right - centre'")["estimate"].max() > 0.3
    fresh = CTM(3, inference="variational", random_state=0).fit(corpus(frame))
    fresh.save(tmp_path / "m.gptm")
    loaded = gptm.load(tmp_path / "m.gptm")
    with pytest.raises(ValueError, match="Pass the training corpus"):
        loaded.estimate_effects("~ party", frame)
    table = loaded.estimate_effects("~ party", corpus(frame)).table
    pd.testing.assert_frame_equal(table, effects.table)


def test_the_columns_of_the_kernel_can_be_asked_about_too(frame):
    model = GPTM(3, kernel=k.Categorical("party"), max_iter=60, random_state=0).fit(corpus(frame))
    effects = model.estimate_effects("~ party", frame)
    assert effects.marginal_effects()["estimate"].abs().max() > 0.3


def test_documents_without_draws_are_left_out_and_counted(frame, monkeypatch):
    monkeypatch.setattr(kept, "ENTRIES", 1)
    monkeypatch.setattr(kept, "LEAST_DOCUMENTS", 50)
    model = CTM(3, max_iter=40, random_state=0).fit(corpus(frame))
    effects = model.estimate_effects("~ treated", frame)
    rows = model.fitted_.draws.rows
    assert len(rows) == effects.n_documents == 50
    assert "draws are kept for 50 of 90 documents" in repr(effects)
    mean = thetas(model).mean(0)[frame["treated"].to_numpy()[rows] == 0, 0].mean()
    assert effects.table["estimate"][0] == pytest.approx(mean, rel=1e-8)


# Columns


def test_missing_values_are_left_out_and_counted(model, frame):
    gaps = frame.assign(
        age=frame["age"].where(frame.index > 4), author=frame["author"].mask(frame.index < 2)
    )
    with pytest.warns(UserWarning, match=r"5 of 90 documents .* 5 in 'age'"):
        effects = model.estimate_effects("~ age", gaps)
    assert effects.n_documents == 85
    with pytest.warns(UserWarning, match=r"5 of 90 .* 5 in 'age' and 2 in 'author'"):
        clustered = model.estimate_effects("~ age", gaps, cluster="author")
    assert clustered.n_documents == 85
    with pytest.raises(ValueError, match="no document has a value"):
        model.estimate_effects("~ age", frame.assign(age=np.nan))


def test_clusters_change_the_errors_and_not_the_estimates(model, frame):
    plain = model.estimate_effects("~ treated", frame).table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clustered = model.estimate_effects("~ treated", frame, cluster="author")
    assert clustered.n_clusters == 25
    np.testing.assert_allclose(clustered.table["estimate"], plain["estimate"])
    assert not np.allclose(clustered.table["std_error"], plain["std_error"])
    with pytest.warns(UserWarning, match="only 3 clusters"):
        model.estimate_effects("~ treated", frame, cluster="party")


def test_a_curve_has_the_splines_of_scipy(frame):
    design, _ = make_design("~ s(year, df=5)", frame, n=N)
    x = frame["year"].to_numpy(float)
    low, high = x.min(), x.max()
    inner = np.quantile(x, [1 / 3, 2 / 3])
    knots = np.r_[[low] * 4, inner, [high] * 4]
    basis = BSpline.design_matrix(x, knots, 3).toarray()[:, 1:]
    np.testing.assert_allclose(design.X[:, 1:], basis, atol=1e-12)


def test_a_curve_remembers_its_knots(frame):
    design, _ = make_design("~ s(year)", frame, n=N)
    assert len(design.terms) == 11
    some = design.frame.iloc[[3, 7]].reset_index(drop=True)
    np.testing.assert_allclose(design.matrix(some), design.X[[3, 7]])


@pytest.mark.parametrize(("distinct", "expected"), [(2, 1), (3, 2), (4, 3), (6, 5), (40, 10)])
def test_a_curve_has_no_more_columns_than_values_allow(distinct, expected):
    x = np.arange(80) % distinct
    design, _ = make_design("~ s(x)", pd.DataFrame({"x": x}), n=80)
    assert design.X.shape[1] == expected + 1


def test_dates_are_days_and_marginal_effects_are_per_year(model, frame):
    effects = model.estimate_effects("~ date", frame)
    days = effects.table.query("term == 'date' and topic == 0")["estimate"].iloc[0]
    slope = effects.marginal_effects().query("topic == 0").iloc[0]
    assert slope["change"] == "per year"
    assert slope["estimate"] == pytest.approx(365.2425 * days, rel=1e-6)
    shares = effects.predict(at={"date": ["2015-01-01", "2016-01-01"]}).query("topic == 0")
    assert shares["date"].tolist() == [pd.Timestamp("2015-01-01"), pd.Timestamp("2016-01-01")]
    assert np.diff(shares["share"])[0] == pytest.approx(365 * days, rel=1e-6)


def test_predictions_average_over_the_other_columns(model, frame):
    effects = model.estimate_effects("~ party * age + treated", frame)
    table = effects.predict("party", at={"treated": 1}, level=0.5).query("topic == 2")
    b = effects.table.query("topic == 2").set_index("term")["estimate"]
    age = frame["age"].mean()
    expected = {"centre": b["Intercept"] + b["treated"] + b["age"] * age}
    for party in ("left", "right"):
        expected[party] = (
            expected["centre"] + b[f"party[T.{party}]"] + b[f"party[T.{party}]:age"] * age
        )
    assert table["party"].tolist() == list(expected)
    np.testing.assert_allclose(table["share"], list(expected.values()), rtol=1e-9)
    differences = effects.predict("party", versus={"party": "left"}).query("topic == 2")
    np.testing.assert_allclose(
        differences["share"], np.array(list(expected.values())) - expected["left"], atol=1e-12
    )
    assert differences.query("party == 'left'")[["share", "std_error"]].to_numpy().tolist() == [
        [0, 0]
    ]


def test_a_difference_has_the_error_of_its_coefficient(model, frame):
    effects = model.estimate_effects("~ treated", frame)
    coefficient = effects.table.query("term == 'treated'").drop(columns="term")
    difference = effects.predict(at={"treated": 1}, versus={"treated": 0})
    marginal = effects.marginal_effects("treated")
    for name, other in {"share": "estimate", "share_low": "low", "share_high": "high"}.items():
        np.testing.assert_allclose(difference[name], coefficient[other])
        np.testing.assert_allclose(marginal[other], coefficient[other])


def test_marginal_effects_of_a_curve_are_mean_slopes(model, frame):
    effects = model.estimate_effects("~ I(age**2) + party", frame)
    b = effects.table.query("topic == 1").set_index("term")["estimate"]["I(age ** 2)"]
    slope = effects.marginal_effects("age").query("topic == 1")["estimate"].iloc[0]
    assert slope == pytest.approx((2 * b * frame["age"]).mean(), rel=1e-6)


def test_marginal_effects_at_a_setting(model, frame):
    effects = model.estimate_effects("~ party * treated", frame)
    b = effects.table.query("topic == 0").set_index("term")["estimate"]
    at_left = effects.marginal_effects("treated", at={"party": "left"}).query("topic == 0")
    expected = b["treated"] + b["party[T.left]:treated"]
    assert at_left["estimate"].iloc[0] == pytest.approx(expected)
    every = effects.marginal_effects()
    assert every.query("topic == 0")["column"].tolist() == ["party", "party", "treated"]


def test_values_outside_of_the_documents_get_a_warning(model, frame):
    effects = model.estimate_effects("~ s(year)", frame)
    with pytest.warns(UserWarning, match=r"1 of 2 values of 'year' .* 1990 to 2019"):
        effects.predict(at={"year": [2000, 2050]})


def test_curves_stay_where_a_level_has_documents(model, frame):
    late = frame["party"].where(frame["year"] >= 2005, "left")  # the others begin in 2005
    effects = model.estimate_effects("~ party * s(year, df=3)", frame.assign(party=late))
    table = effects.predict("year", "party", n_points=30)
    ends = table.groupby("party")["year"].agg(["min", "max"])
    own = frame["year"].groupby(late).agg(["min", "max"])
    assert (ends["min"] >= own["min"]).all()
    assert (ends["max"] <= own["max"]).all()
    assert ends.loc["left", "min"] == 1990
    one = effects.predict("year", at={"party": "right"}, n_points=30)
    same = table[table["party"] == "right"].reset_index(drop=True)
    pd.testing.assert_frame_equal(one[same.columns], same, check_frame_type=False)
    asked = effects.predict(at={"party": "right", "year": [2004, 2010]})  # stays as it is
    assert asked["year"].unique().tolist() == [2004, 2010]


def test_impossible_shares_get_a_warning(model, frame):
    late = frame["party"].where(frame["year"] >= 2005, "left")
    effects = model.estimate_effects("~ party * s(year, df=3)", frame.assign(party=late))
    with pytest.warns(
        UserWarning, match=r"expected shares .* impossible: .* Use \+ in place of \*"
    ):
        effects.predict("party")
    with pytest.warns(UserWarning, match="differences of shares .* impossible"):
        effects.marginal_effects("party")


def test_a_level_with_one_document_has_no_robust_error(model, frame):
    odd = frame.assign(party=frame["party"].where(frame.index > 0, "other"))
    with pytest.warns(
        UserWarning, match=r"'party\[T.other\]' rests on a single document, so it has"
    ):
        effects = model.estimate_effects("~ party", odd)
    missing = effects.table.groupby("term")["std_error"].apply(lambda e: e.isna().all())
    assert missing.to_dict() == {
        "Intercept": False, "party[T.left]": False, "party[T.other]": True, "party[T.right]": False,
    }  # fmt: skip
    shares = effects.predict("party").query("topic == 0").set_index("party")
    assert shares["share_low"].isna().tolist() == [False, False, True, False]
    classical = model.estimate_effects("~ party", odd, errors="classical").table
    assert classical["std_error"].notna().all()


def test_columns_inside_of_all_functions_are_found(model, frame):
    for formula, n_terms in {
        "~ bs(year, df=4)": 5,
        "~ poly(age, 2)": 3,
        "~ center(age)": 2,
        "~ np.log(age) + C(treated)": 3,
        "~ s(`the year`, df=3)": 4,
    }.items():
        named = frame.assign(**{"the year": frame["year"], "s": 1.0, "bs": "x"})
        assert len(model.estimate_effects(formula, named).table) == 3 * n_terms
    same = model.estimate_effects("~ bs(year, df=4)", frame).predict("year", n_points=4)
    curve = model.estimate_effects("~ s(year, df=4)", frame).predict("year", n_points=4)
    pd.testing.assert_frame_equal(same, curve)


def test_many_levels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": [f"g{i % 150:03d}" for i in range(450)], "x": rng.normal(size=450)})
    model = CTM(2, max_iter=20, random_state=0).fit(rng.poisson(1.0, (450, 8)))
    effects = model.estimate_effects("~ g + x", frame)
    marginal = effects.marginal_effects("g").query("topic == 0")
    coefficients = effects.table.query("topic == 0").set_index("term")
    names = [f"g[T.g{i:03d}]" for i in range(1, 150)]
    np.testing.assert_allclose(
        marginal["estimate"], coefficients.loc[names, "estimate"], atol=1e-10
    )
    np.testing.assert_allclose(marginal["std_error"], coefficients.loc[names, "std_error"])


def test_the_result_can_be_pickled(model, frame):
    effects = model.estimate_effects("~ s(year)", frame)
    again = pickle.loads(pickle.dumps(effects))
    pd.testing.assert_frame_equal(again.predict(), effects.predict())


# Mistakes


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("~ partei", r"must name columns of the metadata: 'party', .*; got 'partei'"),
        ("~ party +", "cannot be read"),
        ("y ~ party", "nothing to the left"),
        ("~ party | year", "no |"),
        (3, "must be a text"),
        ("~ 0", "at least one term"),
        ("~ log(year - 1990)", r"'log\(year - 1990\)' is not finite for \d+ of 90"),
        ("~ author * party * year", "need more documents"),
        ("~ year + I(2 * year)", r"'I\(2 \* year\)' is a combination of 'year'"),
        ("~ s(treated, df=3)", "needs at least 4 distinct values"),
        ("~ s(party)", "cannot be evaluated"),
        ("~ nothing(year)", "must name columns .* got 'nothing'"),
    ],
)
def test_wrong_formulas(model, frame, formula, message):
    with pytest.raises(ValueError, match=message):
        model.estimate_effects(formula, frame)


def test_levels_that_never_occur_together(model, frame):
    frame = frame.assign(side=np.where(frame["party"] == "left", "l", "r"))
    with pytest.raises(ValueError, match=r"'side\[T.r\]' is a combination of"):
        model.estimate_effects("~ party + side", frame)
    with pytest.raises(ValueError, match="is zero for all documents"):
        model.estimate_effects("~ treated + I(treated * 0)", frame)


def test_wrong_arguments(model, frame):
    with pytest.raises(ValueError, match="cluster must be a column"):
        model.estimate_effects("~ age", frame, cluster="writer")
    with pytest.raises(ValueError, match="level must be"):
        model.estimate_effects("~ age", frame, level=90)
    with pytest.raises(ValueError, match="errors must be one of"):
        model.estimate_effects("~ age", frame, errors="hc3")
    with pytest.raises(ValueError, match="expected 90 rows"):
        model.estimate_effects("~ age", frame.head(5))
    with pytest.raises(ValueError, match="there are none"):
        model.estimate_effects("~ age")
    with pytest.raises(ValueError, match="at least two values"):
        model.estimate_effects("~ age", frame.assign(one="x"), cluster="one")
    with pytest.raises(ValueError, match="share of one everywhere"):
        model.merge_topics([0, 1, 2]).estimate_effects("~ age", frame)


def test_wrong_questions(model, frame):
    effects = model.estimate_effects("~ party + age", frame)
    with pytest.raises(ValueError, match="name those to vary"):
        effects.predict()
    with pytest.raises(ValueError, match="columns of the formula: 'party' and 'age'; got 'year'"):
        effects.predict("year")
    with pytest.raises(ValueError, match="levels of 'party' that the documents have"):
        effects.predict(at={"party": "Whig"})
    with pytest.raises(ValueError, match="one value of 'party'"):
        effects.predict("age", versus={"party": ["left", "right"]})
    with pytest.raises(ValueError, match=r"must have numbers of 'age'|must hold numbers"):
        effects.predict(at={"age": "old"})
    with pytest.raises(ValueError, match="must have dates of 'date', such as"):
        model.estimate_effects("~ date", frame).predict(at={"date": 2016})
    with pytest.raises(ValueError, match="settings are more than"):
        effects.predict("party", "age", n_points=100_000)
    with pytest.raises(ValueError, match="reads no column"):
        model.estimate_effects("~ 1", frame).marginal_effects()


def test_the_result_prints(model, frame):
    effects = model.estimate_effects("~ party", frame, cluster="author")
    assert repr(effects).startswith("shares of topics ~ party: 90 documents, 25 clusters, ")
    assert "party[T.left]" in repr(effects)
    assert "<table" in effects._repr_html_()


# Over time


def test_shares_in_periods_are_means_over_their_documents(model, frame):
    table = gptm.topics_over_time(model, frame["date"], bins="year")
    years = pd.to_datetime(frame["date"]).dt.year
    theta = thetas(model).mean(0)
    for topic in range(3):
        rows = table[table["topic"] == topic]
        assert rows["date"].dt.strftime("%Y-%m-%d").tolist() == [
            f"{year}-01-01" for year in sorted(set(years))
        ]
        assert rows["documents"].tolist() == years.value_counts().sort_index().tolist()
        means = [theta[years == year, topic].mean() for year in sorted(set(years))]
        np.testing.assert_allclose(rows["share"], means, rtol=1e-9)
        assert (rows["share_low"] < rows["share"]).all()


def test_parts_of_the_same_length(model, frame):
    table = gptm.topics_over_time(model, frame["year"], bins=3, topic=1)
    part = np.minimum((frame["year"] - 1990) // (29 / 3), 2)
    assert table["documents"].tolist() == part.value_counts().sort_index().tolist()
    np.testing.assert_allclose(table["date"], 1990 + 29 * np.array([1, 3, 5]) / 6)
    theta = thetas(model).mean(0)[:, 1]
    np.testing.assert_allclose(table["share"], [theta[part == i].mean() for i in range(3)])


def test_periods_with_one_document_have_a_share_without_a_band(model, frame):
    years = frame["year"].where(frame.index > 0, 1960.0)
    said = "^1 period has a single document, and so no standard error. Pass longer ones in bins"
    with pytest.warns(UserWarning, match=said) as caught:
        table = gptm.topics_over_time(model, years, bins=4, topic=0)
    assert len(caught) == 1  # and nothing about levels
    assert table["std_error"].isna().tolist() == [True, *[False] * (len(table) - 1)]
    assert table["share"].notna().all()


def test_a_smooth_curve_over_time_is_a_regression_on_splines(model, frame):
    table = gptm.topics_over_time(model, frame["date"], n_points=7)
    effects = model.estimate_effects("~ s(date)", frame)
    pd.testing.assert_frame_equal(table, effects.predict("date", n_points=7))
    assert table["date"].iloc[[0, 6]].dt.strftime("%Y-%m-%d").tolist() == [
        frame["date"].iloc[0],
        frame["date"].iloc[-1],
    ]
    straight = gptm.topics_over_time(model, frame["date"], df=1, n_points=3).query("topic == 0")
    assert np.diff(straight["share"], 2) == pytest.approx(0.0, abs=1e-9)


def test_documents_without_a_date_are_left_out_and_counted(model, frame):
    dates = frame["date"].mask(frame.index < 3)
    for bins in (None, "year", 4):
        with pytest.warns(UserWarning, match="3 of 90 documents are left out"):
            table = gptm.topics_over_time(model, dates, bins=bins)
        assert table["share"].notna().all()


def test_wrong_dates(model, frame):
    with pytest.raises(ValueError, match="one date for each of the 90 training documents; got 3"):
        gptm.topics_over_time(model, frame["date"].head(3))
    with pytest.raises(ValueError, match=r"dates must be dates, .* got values such as 'right'"):
        gptm.topics_over_time(model, frame["party"])
    with pytest.raises(ValueError, match=r"bins must be one of 'day', .* got 'decade'"):
        gptm.topics_over_time(model, frame["date"], bins="decade")
    with pytest.raises(ValueError, match="for numbers"):
        gptm.topics_over_time(model, frame["year"], bins="year")
    with pytest.raises(ValueError, match="more documents than bins; 90 bins hold 90"):
        gptm.topics_over_time(model, frame["date"], bins="day")


# New documents, and halves of a sample


def naive_new(model, new, treated, topic):
    """Difference of means of the posterior means, and the variance that composition comes to."""
    theta, std = model.transform(new, return_std=True)
    theta, var = theta[:, topic], std[:, topic] ** 2
    total = 0.0
    for group in (treated == 1, treated == 0):
        n = group.sum()
        total += (theta[group].var(ddof=1) + var[group].mean()) / n + var[group].sum() / n**2
    return theta[treated == 1].mean() - theta[treated == 0].mean(), np.sqrt(total)


def test_effects_on_new_documents_are_those_of_their_posterior(model):
    frame = columns(200, 7)
    new = corpus(frame, 8)
    table = model.estimate_effects("~ treated", new=new).table.query("term == 'treated'")
    for topic in range(3):
        difference, error = naive_new(model, new, frame["treated"].to_numpy(), topic)
        assert table["estimate"].iloc[topic] == pytest.approx(difference, rel=1e-6)
        assert table["std_error"].iloc[topic] == pytest.approx(error, rel=0.05)  # a hundred draws
    counts = model.estimate_effects("~ treated", frame, new=new.counts).table
    pd.testing.assert_frame_equal(counts.query("term == 'treated'"), table)


def test_effects_on_new_documents_of_merged_topics_add_up(model):
    new = corpus(columns(100, 7), 8)
    whole = model.estimate_effects("~ party", new=new).table.set_index(["topic", "term"])[
        "estimate"
    ]
    merged = model.merge_topics([1, 2]).estimate_effects("~ party", new=new).table
    both = merged.set_index(["topic", "term"])["estimate"].loc[1]
    np.testing.assert_allclose(both, whole.loc[1] + whole.loc[2], rtol=1e-6)


def test_the_treatment_does_not_decide_the_outcome(frame):
    """A kernel that reads it predicts documents from it; the regression on new documents must not see that."""
    kernel = k.Categorical("party") + k.Linear("age")
    model = GPTM(3, kernel=kernel, max_iter=60, random_state=0).fit(corpus(frame))
    new = columns(60, 7)
    empty = Corpus(np.zeros((60, 9)), corpus(frame).vocabulary, metadata=new)
    theta = model.transform(empty)
    parties = pd.DataFrame(theta).groupby(new["party"]).mean()
    assert np.ptp(parties[1]) > 0.1 or np.ptp(parties[0]) > 0.1
    table = model.estimate_effects("~ party", new=empty).table
    slopes = table[table["term"] != "Intercept"]["estimate"]
    assert slopes.abs().max() < 0.05  # what age, which is not in the formula, adds
    hidden = model.transform(empty, metadata=new.assign(party=None))
    effects = model.estimate_effects("~ party", new=empty)
    expected = hidden[(new["party"] == "centre").to_numpy(), 0].mean()
    assert effects.table["estimate"][0] == pytest.approx(expected, rel=1e-6)


def test_one_call_is_the_same_as_its_steps(frame):
    texts = corpus(frame)
    base = CTM(3, max_iter=60, random_state=0)
    effects = gptm.split_sample_effects(base, texts, "~ party", test_size=0.4, random_state=3)
    assert len(effects.test) == 36
    assert sorted([*effects.train, *effects.test]) == list(range(90))
    model = CTM(3, max_iter=60, random_state=0).fit(texts[effects.train])
    steps = model.estimate_effects("~ party", new=texts[effects.test])
    pd.testing.assert_frame_equal(effects.table, steps.table)
    pd.testing.assert_frame_equal(effects.model.topics(), model.topics())
    again = gptm.split_sample_effects(base, texts, "~ party", test_size=0.4, random_state=3)
    pd.testing.assert_frame_equal(again.table, effects.table, check_exact=True)
    other = gptm.split_sample_effects(base, texts, "~ party", test_size=0.4, random_state=4)
    assert set(other.test) != set(effects.test)
    assert not hasattr(base, "fitted_")
    assert effects.marginal_effects("party")["estimate"].abs().max() > 0.2


def test_clusters_are_not_split(frame):
    base = CTM(2, max_iter=30, random_state=0)
    with pytest.warns(UserWarning, match="clusters"):
        effects = gptm.split_sample_effects(base, corpus(frame), "~ treated", cluster="author")
    authors = frame["author"].to_numpy()
    assert not set(authors[effects.train]) & set(authors[effects.test])
    assert effects.n_clusters == len(set(authors[effects.test]))


def test_wrong_splits(frame):
    base, texts = CTM(2, max_iter=5), corpus(frame)
    with pytest.raises(ValueError, match=r"must be a gptm\.Corpus"):
        gptm.split_sample_effects(base, texts.counts, "~ treated")
    with pytest.raises(ValueError, match="test_size must be a share"):
        gptm.split_sample_effects(base, texts, "~ treated", test_size=10)
    with pytest.raises(ValueError, match="too few"):
        gptm.split_sample_effects(base, texts[:5], "~ treated", test_size=0.1)
    with pytest.raises(ValueError, match="must name columns"):
        gptm.split_sample_effects(base, texts, "~ treatment")
    with pytest.raises(ValueError, match="cluster must be a column"):
        gptm.split_sample_effects(base, texts, "~ treated", cluster="writer")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic": [0, 2]}, "topic must be numbers from 0 to 1, or names"),
        ({"topic": -1}, "topic must be numbers from 0 to 1, or names"),
        ({"level": 1.5}, "level must be"),
        ({"errors": "hc3"}, "errors must be"),
        ({"cluster": "writer"}, "cluster must be a column"),
    ],
)
def test_mistakes_about_a_split_show_before_the_fit(options, said, frame, monkeypatch):
    monkeypatch.setattr(CTM, "fit", None)
    with pytest.raises(ValueError, match=said):
        gptm.split_sample_effects(CTM(2), corpus(frame), "~ treated", **options)


# On the command line


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    subjects = ["tea cup leaf pot", "army navy war ship"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "side": np.where(np.arange(80) % 2, "Smith, John", "Lee"),
            "year": 1990 + np.arange(80) // 4,
        }
    )
    for name in ("train", "new"):
        texts = [
            " ".join(rng.choice(subjects[int(rng.random() < 0.2 + 0.6 * (i % 2))].split(), 12))
            for i in range(80)
        ]
        frame.assign(text=texts).to_csv(folder / f"{name}.csv", index=False)
    fit = ["fit", folder / "train.csv", "-t", "2", "-k", "none", "-q", "-o", folder / "m.gptm"]
    assert command(*fit).exit_code == 0
    return folder


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def table_of(*arguments):
    result = command("estimate", *arguments, "--json", "-q")
    assert result.exit_code == 0, result.stderr
    return pd.DataFrame(json.loads(result.stdout))


def test_the_command_gives_the_same_table(files):
    model = gptm.load(files / "m.gptm")
    frame = pd.read_csv(files / "train.csv")
    effects = model.estimate_effects("~ side * year", frame)
    for file in ([], [files / "train.csv"]):
        table = table_of(files / "m.gptm", *file, "-f", "~ side * year")
        np.testing.assert_allclose(table["estimate"], effects.table["estimate"], rtol=1e-9)
        assert table["term"].tolist() == effects.table["term"].tolist()
    shares = table_of(
        files / "m.gptm",
        "-f",
        "~ side * year",
        "--at",
        "side=Smith, John",
        "--points",
        3,
        "--predict",
        "year",
    )
    expected = effects.predict("year", at={"side": "Smith, John"}, n_points=3)
    np.testing.assert_allclose(shares["share_high"], expected["share_high"], rtol=1e-9)
    marginal = table_of(files / "m.gptm", "-f", "~ side * year", "--marginal", "--topic", 1)
    assert marginal["column"].tolist() == ["side", "year"]
    by_year = table_of(files / "m.gptm", "-f", "~ side", "--cluster", "year", "--level", 0.5)
    clustered = model.estimate_effects("~ side", frame, cluster="year", level=0.5).table
    np.testing.assert_allclose(by_year["high"], clustered["high"], rtol=1e-9)


def test_the_command_measures_new_documents(files):
    model = gptm.load(files / "m.gptm")
    frame = pd.read_csv(files / "new.csv")
    new = Corpus.from_texts(frame["text"], frame[["side"]], vocabulary=model.feature_names_in_)
    expected = model.estimate_effects("~ side", new=new).table
    table = table_of(files / "m.gptm", files / "new.csv", "--new", "-f", "~ side")
    np.testing.assert_allclose(table["std_error"], expected["std_error"], rtol=1e-6)
    result = command("estimate", files / "m.gptm", files / "new.csv", "-f", "~ side")
    assert result.exit_code == 1
    assert "training documents" in result.stderr


def test_the_command_writes_a_file(files):
    result = command("estimate", files / "m.gptm", "-f", "~ side", "-o", files / "out.csv")
    assert "shares of topics ~ side: 80 documents" in result.stderr
    assert pd.read_csv(files / "out.csv").columns.tolist() == [
        "topic", "term", "estimate", "std_error", "low", "high", "p_value",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-f", "~ sid"], "--formula must name columns"),
        (["-f", "~ side", "--cluster", "x"], "--cluster must be a column"),
        (["-f", "~ side", "--new"], "--new expects a FILE"),
        (["-f", "~ side", "--marginal", "--predict", "side"], "Choose one"),
        (["-f", "~ side", "--predict", "year"], "--predict must name columns of the formula"),
        (["-f", "~ side", "--at", "side=Lea"], "--at must have levels of 'side'"),
        (["-f", "~ side", "--level", "1"], "--level expects"),
    ],
)
def test_mistakes_on_the_command_line(files, arguments, message):
    result = command("estimate", files / "m.gptm", *arguments)
    assert result.exit_code != 0
    assert message in result.stderr


# Plots


def test_plots(model, frame):
    pytest.importorskip("matplotlib").use("Agg")
    from gptm import plots

    effects = model.name_topics({0: "land"}).estimate_effects(
        "~ party * s(year, df=4) + treated", frame
    )
    ax = plots.plot_estimates(effects, "year", topics="land")
    assert ax.get_xlabel() == "year"
    assert [text.get_text() for text in ax.texts] == ["land"]
    band = ax.collections[0].get_paths()[0].vertices
    table = effects.predict("year", n_points=200).query("topic == 0")
    assert band[:, 1].min() == pytest.approx(table["share_low"].min())
    ax = plots.plot_estimates(effects, "party", at={"treated": 1})
    assert sorted(tick.get_text() for tick in ax.get_yticklabels()) == ["centre", "left", "right"]
    assert ax.get_title("left") == "treated = 1"
    ax = plots.plot_estimates(effects, "year", "party")
    assert {text.get_text() for text in ax.texts} == {"centre", "left", "right"}
    ax = plots.plot_estimates(effects, "treated", versus={"treated": 0})
    assert ax.get_xlabel() == "difference in mean share of documents"
    ax = plots.plot_topics_over_time(model, dates=frame["date"], topics=[0, 1])
    assert ax.get_xlabel() == "date"
    assert len(ax.collections) == 2
    plots.plot_topics_over_time(model, dates=frame["date"], bins="year")
    with pytest.raises(ValueError, match="bins must come with dates"):
        plots.plot_topics_over_time(model, bins="year")


def test_a_split_sample_on_the_command_line(files, tmp_path):
    half, rest = tmp_path / "half.gptm", tmp_path / "rest.csv"
    fit = [files / "train.csv", "--text", "text", "-t", 2, "-k", "none", "--max-iter", 60]
    options = ["-f", "~ side", "--test-size", 0.25, "--seed", 5]
    keep = ["--save-model", half, "--save-test", rest]
    result = command("split-sample", *fit, *options, *keep, "--json")
    assert result.exit_code == 0, result.stderr
    table = pd.DataFrame(json.loads(result.stdout))
    assert "2 topics of 60 documents, measured on 20 others" in result.stderr

    frame = pd.read_csv(files / "train.csv")
    survey = Corpus.from_texts(frame["text"], frame[["side", "year"]])
    base = GPTM(2, kernel=None, max_iter=60, random_state=5)
    expected = gptm.split_sample_effects(base, survey, "~ side", test_size=0.25, random_state=5)
    np.testing.assert_allclose(table["estimate"], expected.table["estimate"], rtol=1e-9)

    # Both parts, to look at the topics first.
    assert pd.read_csv(rest)["text"].tolist() == frame["text"][expected.test].tolist()
    assert len(gptm.load_corpus(half)) == 60
    assert command("name", half, "0=land").exit_code == 0
    steps = table_of(half, rest, "--new", "-f", "~ side")
    np.testing.assert_allclose(steps["estimate"], table["estimate"], rtol=1e-6)
    assert set(steps["topic_name"]) == {"land", ""}

    marginal = command("split-sample", *fit, *options, "--marginal", "--topic", 1, "-q")
    assert "Smith, John - Lee" in marginal.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--test-size", 1], "--test-size expects a share"),
        (["--level", 0], "--level expects a probability"),
        (["--marginal", "--predict", "side"], "Choose one"),
        (["--topic", 7], "--topic must be numbers from 0 to 1"),
        (["--cluster", "author"], "--cluster must be a column"),
        (["-f", "~ treatment"], "must name columns"),
        (["--save-test", "rest.txt"], "ends in .csv"),
        (["--text", "nothing"], "--text names the column 'nothing'"),
    ],
)
def test_a_split_sample_with_wrong_options(options, said, files):
    given = [] if "-f" in options else ["-f", "~ side"]
    fit = ["split-sample", files / "train.csv", "-t", 2, "-k", "none", "--max-iter", 5]
    result = command(*fit, *given, *options)
    assert result.exit_code in (1, 2)
    assert said in result.stderr


def test_counts_have_no_texts_to_save(tmp_path):
    bags = [{"counts": {"tea": 3, "cup": 1}, "side": i % 2} for i in range(8)]
    (tmp_path / "bags.jsonl").write_text("\n".join(map(json.dumps, bags)))
    given = ["split-sample", tmp_path / "bags.jsonl", "-t", 2, "-f", "~ side"]
    result = command(*given, "--save-test", tmp_path / "rest.csv")
    assert result.exit_code == 2
    assert "has counts" in result.stderr
