"""What a fitted kernel does to the topics, as tables: against loops over draws, against the truth of sampled corpora,
and whatever users may ask."""

import pickle
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import gptm
from gptm import CTM, GPTM
from gptm import kernels as k
from gptm.effects.bands import effective_draws, widening
from gptm.effects.column_values import unseen_levels, warn_unseen
from gptm.effects.explanation import mean_softmax
from gptm.inference.contrasts import contrasts, to_contrasts
from gptm.kernels import Documents
from gptm.kernels.weighted_terms import terms_of

D, K = 120, 3
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "t": np.linspace(0.0, 100.0, D),
        "u": RNG.normal(size=D),
        "g": RNG.choice(list("abcd"), D, p=[0.1, 0.2, 0.3, 0.4]),
        "date": pd.Timestamp("2000-01-01") + pd.to_timedelta(np.arange(D) * 30, unit="D"),
        "links": [[int(j) for j in RNG.integers(0, D, 2)] for _ in range(D)],
        "other": [[int(j) for j in RNG.integers(0, D, 2)] for _ in range(D)],
        "vector": list(RNG.normal(size=(D, 3))),
    }
)
HOLES = FRAME.assign(
    t=FRAME["t"].where(np.arange(D) % 5 > 0), g=FRAME["g"].where(np.arange(D) % 7 > 0)
)
BOTH = k.RBF("t") + k.Categorical("g")
BANDS = ["contrast", "contrast_low", "contrast_high", "share", "share_low", "share_high"]


def sampled(kernel, frame, seed=0, n_words=60, own=0.4, strength=1.0, V=40):
    """Counts drawn from the model, their topics, and (terms, n, K) what each term did."""
    rng = np.random.default_rng(seed)
    n = len(frame)
    parts = []
    for part in terms_of(kernel.bind(Documents(n, frame))):
        root = np.linalg.cholesky(part.gram() + 1e-9 * np.eye(n))
        parts.append(np.sqrt(strength) * root @ rng.normal(size=(n, K)))
    theta = softmax(sum(parts) + own * rng.normal(size=(n, K)), axis=1)
    beta = rng.dirichlet(np.full(V, 0.08), K)
    X = np.array([rng.multinomial(n_words, row) for row in theta @ beta])
    return X, beta, np.array(parts)


X, BETA, _ = sampled(k.RBF("t", length_scale=15.0) + k.Categorical("g"), FRAME)


def end_of_band(model, found, p):
    """A quantile of draws (draws, ...), farther from the median the fewer they are worth (tests/test_bands.py)."""
    chain = model.fitted_.draws.chain
    factor = widening(effective_draws(found, chain), 1.0 - 2.0 * min(p, 1.0 - p))
    end, middle = np.quantile(found, [p, 0.5], axis=0)
    return middle + factor * (end - middle)


def fit(kernel=BOTH, frame=FRAME, counts=X, **options):
    options = {"random_state": 0, "init": BETA, "max_iter": 40} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GPTM(K, kernel=kernel, **options).fit(counts, metadata=frame)


@pytest.fixture(scope="module")
def model():
    return fit(max_iter=400)


def values(table, name="contrast"):
    """(settings, topics) of a table."""
    return np.column_stack([part[name].to_numpy() for _, part in table.groupby("topic")])


def check_table(table, columns):
    """What every table of effects without versus= has."""
    assert list(table.columns) == ["term", "topic", *columns, *BANDS]
    assert list(table.index) == list(range(len(table)))
    assert np.isfinite(table[BANDS].to_numpy()).all()
    np.testing.assert_allclose(values(table).sum(1), 0.0, atol=1e-9)
    shares = values(table, "share")
    np.testing.assert_allclose(shares.sum(1), 1.0, atol=1e-9)
    assert ((shares >= 0) & (shares <= 1)).all()
    for name in ("contrast", "share"):
        assert (table[f"{name}_low"] <= table[name] + 1e-12).all()
        assert (table[name] <= table[f"{name}_high"] + 1e-12).all()
    assert table["share_low"].min() >= 0
    assert table["share_high"].max() <= 1


# Numbers, from another source

KERNELS = {
    "curve and groups": (BOTH, FRAME, 0, {"t": [-20.0, 3.0, 50.0, 300.0]}),
    "groups and curve": (BOTH, FRAME, 1, {"g": ["a", "d", "new"]}),
    "missing values": (BOTH, HOLES, 1, {"g": ["a", "d", None]}),
    "many groups": (k.Categorical("i") + k.RBF("t"), FRAME.assign(i=np.arange(D) // 4), 0, None),
    "linear": (k.Linear("u") + k.RBF("t"), FRAME, 0, {"u": [-2.0, 0.0, 5.0]}),
    "matern": (k.Matern("date"), FRAME, 0, {"date": ["1999-01-01", "2004-02-03"]}),
    "embedding": (k.Embedding("vector") + k.RBF("t"), FRAME, 0, None),
    "product": (k.RBF("t") * k.Categorical("g"), FRAME, 0, {"t": [1.0, 60.0], "g": ["a", "new"]}),
    "must-link": (k.MustLink("g"), FRAME, 0, {"g": ["a", "d"]}),
    "documents": (k.Graph("links") + k.RBF("t"), FRAME, 0, None),
    "graph": (k.Graph("links") + k.RBF("t"), FRAME, 0, {"links": [[4, 5], [6, 7], [8, 99]]}),
    "beside a graph": (k.Graph("links") + k.RBF("t"), FRAME, 1, {"t": [20.0, 90.0, 200.0]}),
    "own": (k.Identity() + k.RBF("t"), FRAME, 0, None),
}


def term_at_documents(model, term):
    """(draws, D, p) of a term at the training documents, draw by draw."""
    part, structure = model.fitted_.draws.parts[term], terms_of(model.fitted_.bound)[term].structure
    found = []
    for s in range(model.fitted_.draws.n):
        F = np.zeros((D, K - 1))
        if part.weights is not None:
            F += structure.features.to_dense() @ part.weights[s].astype(float)
        for rest in (part.own, *part.graphs):
            F += 0.0 if rest is None else rest[s]
        found.append(F)
    return np.array(found)


def dense_draws(model, term, settings, copies=1):
    """(draws copies, n, K) contrasts at settings, and which of them the documents have told all about.

    What is left open, given the term at all documents, is drawn anew.
    """
    bound, draws = terms_of(model.fitted_.bound)[term], model.fitted_.draws
    there = term_at_documents(model, term)
    average, Q = there.mean(1, keepdims=True), contrasts(K)
    if settings is None:
        return (there - average) @ Q.T, np.ones(D, dtype=bool)
    new = bound.read(Documents(len(settings), settings))
    gram, rows = bound.gram() - np.diag(bound.structure.own), bound.cross_gram(new)
    gain = rows @ np.linalg.pinv(gram, rcond=1e-13, hermitian=True)
    left = bound.own_gram(new, False) - bound.own_part - np.sum(gain * rows, axis=1)
    known = left < 1e-6 * np.diagonal(gram).mean()
    left = np.where(known, 0.0, left)  # rounding, whose square root would be noise of a thousandth
    rng, found = np.random.default_rng(5), []
    if draws.parts[term].own is not None:  # of documents, not of settings
        there = there - draws.parts[term].own
    for F, B, middle in zip(there, draws.B, average, strict=True):
        for _ in range(copies):
            alone = rng.standard_normal((len(rows), K - 1)) @ np.linalg.cholesky(B).T
            at = gain @ F + np.sqrt(np.maximum(left, 0.0))[:, None] * alone
            found.append((at - middle) @ Q.T)
    return np.array(found), known


@pytest.mark.parametrize("name", KERNELS)
def test_contrasts_and_their_bands_are_those_of_the_draws(name):
    kernel, frame, term, at = KERNELS[name]
    model = fit(kernel, frame, max_iter=200)
    table = model.effects(term, at=at, level=0.8)
    columns = [c for c in table.columns if c not in ("term", "topic", *BANDS)]
    check_table(table, columns)
    settings = None
    if columns != ["document"]:
        settings = table.loc[table["topic"] == 0, columns].reset_index(drop=True)
    found, known = dense_draws(model, term, settings)
    # The number of effective draws jumps where draws change by a millionth and ranks change places: by 6 % here, and
    # with it the width of a band by 1 %. Without widening, bands here would be narrower by 9 % and more.
    middle = np.median(found, axis=0)
    for name, expected, of_width in (
        ("contrast", found.mean(0), 0.0),
        ("contrast_low", end_of_band(model, found, 0.1), 0.02),
        ("contrast_high", end_of_band(model, found, 0.9), 0.02),
    ):
        tolerance = 2e-3 + of_width * np.abs(expected - middle)
        assert (np.abs(values(table, name) - expected) < tolerance)[known].all(), name
    # Where documents say less, draws of the rest are of the right width, as far as a hundred of them can tell.
    wider = widening(effective_draws(found, model.fitted_.draws.chain), 0.8)[~known]
    found = dense_draws(model, term, settings, copies=50)[0][:, ~known]
    low, middle, high = (values(table, f"contrast{end}")[~known] for end in ("_low", "", "_high"))
    width = np.subtract(*np.quantile(found, [0.9, 0.1], axis=0))
    np.testing.assert_allclose((high - low).mean(1), (wider * width).mean(1), rtol=0.3)
    np.testing.assert_array_less(np.abs(middle - found.mean(0)), 0.25 * width)


def test_a_term_of_two_graphs_at_new_documents():
    graphs = k.Graph("links"), k.Graph("other")
    kernel = 3.0 * (graphs[0] + graphs[1]) + 1.0 * k.RBF("t")
    model = fit(kernel, learn_kernel=False, max_iter=200)
    at = pd.DataFrame({"links": [[4, 5], [90, 91]], "other": [[40, 41], [7, 8]]})
    Q, draws, there, left = contrasts(K), model.fitted_.draws, 0.0, 0.0
    for kernel, drawn in zip(graphs, draws.parts[0].graphs, strict=True):
        bound = kernel.bind(Documents(D, FRAME))
        new = bound.read(Documents(2, at))
        rows = bound.cross_gram(new)
        gain = np.linalg.solve(bound.gram(), rows.T).T
        there = there + gain @ drawn - drawn.mean(1, keepdims=True)
        left = left + 3.0 * (bound.own_gram(new, False) - np.sum(gain * rows, axis=1))
    # What the links leave open is drawn anew, and all but averages out.
    spread = np.sqrt(np.outer(left, np.diagonal(Q @ draws.B.mean(0) @ Q.T)) / draws.n)
    distance = values(model.effects(0, at=at)) - there.mean(0) @ Q.T
    assert (np.abs(distance) < 4 * spread).all()
    assert (spread < 0.2 * np.abs(there.mean(0) @ Q.T).max()).all()


def shares_by_loops(model, term, rows):
    """(draws, n, K) mean proportions at settings of training documents, with the random numbers of the library.

    What all documents would have there, and what those near the place have beyond that; documents have random weights.
    """
    draws, Q, rng = model.fitted_.draws, contrasts(K), np.random.default_rng(1)
    terms = [term_at_documents(model, one) for one in range(len(model.terms_))]
    near = terms_of(model.fitted_.bound)[term].gram()[rows]
    found = np.empty((draws.n, len(rows), K))
    for s in range(draws.n):
        logits, means = draws.logits[s].astype(float), draws.mu[s] + sum(one[s] for one in terms)
        weights = rng.standard_exponential(D)
        weights /= weights.sum()
        expected = np.zeros((D, K))
        for _ in range(16):
            expected += softmax((means + rng.permutation(logits - means)) @ Q.T, axis=1) / 16
        beyond = softmax(logits @ Q.T, axis=1) - expected
        for i, row in enumerate(rows):
            there = softmax((logits - terms[term][s] + terms[term][s, row]) @ Q.T, axis=1)
            local, n = near[i] * weights, near[i].sum() ** 2 / (near[i] ** 2).sum()
            found[s, i] = weights @ there + n / (n + 50) * (local @ beyond) / local.sum()
    found = np.maximum(found, 0.0)
    return found / found.sum(2, keepdims=True)


def test_shares_are_averages_over_documents_all_else_as_it_is(model):
    assert model.fitted_.draws.rows.tolist() == list(range(D))
    for term, column in enumerate(["t", "g"]):
        settings = FRAME[[column]].drop_duplicates()[:7]
        table = model.effects(term, at=settings, level=0.8)
        found = shares_by_loops(model, term, settings.index.to_numpy())
        for name, expected in (
            ("share", found.mean(0)),
            ("share_low", np.maximum(end_of_band(model, found, 0.1), 0.0)),
            ("share_high", np.minimum(end_of_band(model, found, 0.9), 1.0)),
        ):
            np.testing.assert_allclose(values(table, name), expected, atol=1e-6)


def test_shares_of_groups_are_those_of_their_documents():
    """Where everything else is alike in all groups: mean proportions of the documents of each."""
    frame = pd.concat([FRAME] * 6, ignore_index=True)  # so that there are enough to tell
    alone = fit(k.Categorical("g"), frame, np.tile(X, (6, 1)), max_iter=200)
    table = alone.effects("g")
    for level, found in zip("abcd", values(table, "share"), strict=True):
        members = alone.doc_topics_[(frame["g"] == level).to_numpy()]
        np.testing.assert_allclose(found, members.mean(0), atol=0.03)


def test_a_level_of_few_documents_is_like_others():
    """Two documents do not make a band of their own: what the model says of all counts for them."""
    rare = FRAME["g"].to_numpy(copy=True)
    rare[:2] = "rare"
    alone = fit(k.Categorical("g"), FRAME.assign(g=rare), max_iter=200)
    table = alone.effects("g", at=["rare"])
    of_two = alone.doc_topics_[:2].mean(0)
    of_all = alone.doc_topics_.mean(0)
    found = values(table, "share")[0]
    assert np.abs(found - of_all).max() < np.abs(found - of_two).max()


def test_shares_average_to_those_of_the_corpus(model):
    table = model.effects("g")
    weights = FRAME["g"].value_counts(normalize=True).sort_index().to_numpy()
    found = weights @ values(table, "share")
    np.testing.assert_allclose(found, model.doc_topics_.mean(0), atol=0.04)


def test_contrasts_of_levels_average_to_zero_over_the_training_documents(model):
    weights = FRAME["g"].value_counts(normalize=True).sort_index().to_numpy()
    table = model.effects("g")
    assert table.loc[table["topic"] == 0, "g"].tolist() == list("abcd")
    np.testing.assert_allclose(weights @ values(table), 0.0, atol=1e-9)
    assert np.abs(values(table)).max() > 0.1
    along = values(model.effects("t", at=FRAME["t"].to_numpy()))
    np.testing.assert_allclose(along.mean(0), 0.0, atol=1e-8)


# Far from what was seen


def widths(table, name="contrast"):
    return values(table, f"{name}_high") - values(table, f"{name}_low")


def test_far_from_all_documents_there_is_the_prior(model):
    table = model.effects("t", at=[30.0, 1e4, -1e5, np.nan])
    found, width = values(table), widths(table)
    assert (width[1:] > 3 * width[0]).all()
    np.testing.assert_allclose(width[1:].mean(1), width[1:].mean(), rtol=0.2)
    # Relative to the average document; the prior's own mean is nothing.
    average = term_at_documents(model, 0).mean((0, 1)) @ contrasts(K).T
    assert (np.abs(found[1:] + average) < 0.2 * width[1:]).all()
    steps = widths(model.effects("t", at=np.linspace(100, 200, 8))).mean(1)
    assert steps[-1] > 1.5 * steps[0]


def test_an_unseen_level_is_the_prior(model):
    table = model.effects("g", at=["new", None, "d"])
    found, width = values(table), widths(table)
    assert (width[:2] > 1.5 * width[2]).all()
    np.testing.assert_allclose(width[0].mean(), width[1].mean(), rtol=0.25)
    average = term_at_documents(model, 1).mean((0, 1)) @ contrasts(K).T
    assert (np.abs(found[:2] + average) < 0.2 * width[:2]).all()
    assert np.abs(found[:2]).max() < np.abs(values(model.effects("g"))).max()


# Comparisons


@pytest.mark.parametrize(("term", "one"), [("g", "b"), ("g", "new"), ("t", 40.0), ("t", 1e4)])
def test_a_setting_against_itself_is_nothing(model, term, one):
    """Also one that was never seen: it is the same new one on both sides."""
    table = model.effects(term, at=[one, one], versus=one)
    np.testing.assert_allclose(table[BANDS], 0.0, atol=1e-12)


def test_different_new_levels_have_nothing_in_common(model):
    both = model.effects("g", at="new", versus="other")
    alone = model.effects("g", at="new")
    assert widths(both).mean() > 1.2 * widths(alone).mean()


@pytest.mark.parametrize(
    ("term", "at", "versus"),
    [("g", ["a", "c", "new"], "d"), ("t", [0.0, 50.0], 90.0), ("g", ["a"], {"g": "c"})],
)
def test_comparisons_are_differences(model, term, at, versus):
    table = model.effects(term, at=at, versus=versus)
    other = versus[term] if isinstance(versus, dict) else versus
    together = model.effects(term, at=[*at, other])
    for name in ("contrast", "share"):
        found = values(together, name)
        np.testing.assert_allclose(values(table, name), found[:-1] - found[-1], atol=1e-12)
        np.testing.assert_allclose(values(table, name).sum(1), 0.0, atol=1e-9)
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()


def test_what_two_near_points_share_is_not_counted_twice(model):
    near = model.effects("t", at=50.0, versus=51.0)
    alone = model.effects("t", at=50.0)
    width = near["contrast_high"] - near["contrast_low"]
    assert (width < 0.5 * (alone["contrast_high"] - alone["contrast_low"])).all()


def test_what_two_near_points_share_where_nothing_was_seen_is_not_counted_twice(model):
    """Their difference has the variance of the prior alone, 2 (1 - correlation) times B."""
    bound, draws = terms_of(model.fitted_.bound)[0], model.fitted_.draws
    places = pd.DataFrame({"t": [1e5, 1e5 + 2.0]})
    gram = bound.own_gram(bound.read(Documents(2, places)), True)
    rng = np.random.default_rng(5)
    scale = np.sqrt(gram[0, 0] + gram[1, 1] - 2 * gram[0, 1])
    roots = np.linalg.cholesky(draws.B)
    drawn = np.concatenate([root @ rng.standard_normal((K - 1, 500)) for root in roots], axis=1)
    difference = scale * contrasts(K) @ drawn
    table = model.effects("t", at=1e5, versus=1e5 + 2.0, level=0.8)
    expected = np.subtract(*np.quantile(difference, [0.9, 0.1], axis=1))
    np.testing.assert_allclose(widths(table)[0].mean(), expected.mean(), rtol=0.2)
    assert widths(table).mean() < 0.5 * widths(model.effects("t", at=1e5, level=0.8)).mean()


def test_versus_must_name_the_columns_of_the_term(model):
    """A column misspelt must not count as a missing value."""
    with pytest.raises(ValueError, match="'t'"):
        model.effects("t", at=50.0, versus={"T": 20.0})


def test_versus_alone_compares_all_levels(model):
    table = model.effects("g", versus="c")
    np.testing.assert_allclose(table.loc[table["g"] == "c", BANDS].to_numpy(), 0.0, atol=1e-12)
    assert len(table) == 4 * K


def test_bands_grow_with_their_probability(model):
    tables = [model.effects("t", level=level, n_points=5) for level in (0.1, 0.5, 0.9, 0.99)]
    for narrow, wide in pairwise(tables):
        for name in ("contrast", "share"):
            np.testing.assert_array_equal(narrow[name], wide[name])
            assert (wide[f"{name}_low"] < narrow[f"{name}_low"]).all()
            assert (wide[f"{name}_high"] > narrow[f"{name}_high"]).all()


def test_many_settings_at_once_are_those_few_at_a_time(model):
    many = np.linspace(0.0, 120.0, 601)
    whole, few = model.effects("t", at=many), model.effects("t", at=many[::100])
    check_table(whole, ["t"])
    seen = many[::100] <= 100.0
    for name in ("contrast", "share"):
        for end in ("", "_low", "_high"):
            found, expected = values(whole, name + end)[::100], values(few, name + end)
            np.testing.assert_allclose(found[seen], expected[seen], atol=1e-6)
        wide = widths(whole, name)[::100], widths(few, name)
        np.testing.assert_allclose(*wide, rtol=0.3, atol=0.01)  # beyond them, of other noise


# Questions


@pytest.mark.parametrize(
    "at",
    [
        [20.0, 70.0],
        (20, 70),
        np.array([20.0, 70.0]),
        pd.Series([20.0, 70.0], index=[5, 3]),
        {"t": [20.0, 70.0]},
        pd.DataFrame({"t": [20.0, 70.0]}, index=["x", "y"]),
        pd.DataFrame({"t": [20.0, 70.0], "note": ["one", "two"]}),
    ],
    ids=["list", "tuple", "array", "series", "dict", "frame", "more columns"],
)
def test_settings_in_any_form(model, at):
    table = model.effects("t", at=at)
    check_table(table, [c for c in ("t", "note") if c == "t" or c in getattr(at, "columns", ())])
    assert table["t"].tolist() == [20.0, 70.0] * K
    expected = np.vstack([values(model.effects("t", at=one)) for one in (20.0, 70.0)])
    np.testing.assert_allclose(values(table), expected, atol=1e-7)


@pytest.mark.parametrize(
    "several",
    [
        pd.Categorical(["a", "b"]),
        pd.array(["a", "b"]),
        {"a": 1, "b": 2}.keys(),
        pd.Index(["a", "b"]),
    ],
    ids=["categorical", "extension array", "keys", "index"],
)
def test_levels_come_in_any_container(model, several):
    assert model.effects("g", at=several)["g"].tolist() == ["a", "b"] * K


def test_a_level_never_seen_is_told(model):
    with pytest.warns(
        UserWarning, match="g 'B' was not seen in training.*Levels seen in training: 'a', 'b'"
    ):
        model.effects("g", at=["a", "B"])
    with pytest.warns(UserWarning, match="g 'nobody'"):
        model.effects("g", at="a", versus="nobody")


@pytest.mark.parametrize(
    ("column", "known", "new", "name"),
    [
        (FRAME["g"].map(ord) - 96, [1, 3.0, np.int64(2)], 7.0, "'7'"),
        (FRAME["g"] == "a", [True, np.False_], 2, "'2'"),
        (FRAME["g"].map({"a": 1.5, "b": 2, "c": 3, "d": np.nan}), [1.5, 2, None], 1, "'1'"),
        (FRAME["g"].map(ord).map(pd.Timestamp), [pd.Timestamp(97)], "1999", "'1999'"),
    ],
    ids=["whole numbers", "truths", "numbers", "dates"],
)
def test_levels_that_are_no_names_are_known_by_what_they_are_called(column, known, new, name):
    frame = FRAME.assign(x=column)
    for kernel in (k.Categorical("x"), k.Categorical("x") * k.RBF("t", length_scale=9.0)):
        bound = kernel.bind(Documents(D, frame))
        assert unseen_levels(bound, pd.DataFrame({"x": known, "t": 1.0})) == []
        with pytest.warns(UserWarning, match=f"x {name} was not seen in training"):
            warn_unseen(bound, pd.DataFrame({"x": [*known, new], "t": 1.0}))


def test_a_label_that_stands_for_none_is_not_an_unseen_level():
    bound = k.MustLink("x").bind(Documents(D, FRAME.assign(x=np.arange(D) % 4 - 1)))
    (found,) = unseen_levels(bound, pd.DataFrame({"x": [0, -1, None, 8, 9, 9]}))
    assert found == ("x", ["8", "9"], 3, ["0", "1", "2"])


def test_settings_compared_row_by_row():
    """A product of kernels: the difference between groups at each time, by one setting that leaves time out."""
    model = fit(k.RBF("t", length_scale=30.0) * k.Categorical("g"))
    times = [10.0, 50.0, 90.0]
    at = {"t": times, "g": "a"}
    curve = model.effects(at=at, versus={"g": "b"})
    other = model.effects(at=at, versus={"t": times, "g": "b"})
    both = values(model.effects(at={"t": 2 * times, "g": 3 * ["a"] + 3 * ["b"]}))
    np.testing.assert_allclose(values(curve), values(other), atol=1e-12)
    np.testing.assert_allclose(values(curve), both[:3] - both[3:], atol=1e-12)


def test_a_setting_must_have_all_columns_of_its_term():
    model = fit(k.RBF("t", length_scale=30.0) * k.Categorical("g"))
    for at in ({"t": [10.0, 20.0]}, pd.DataFrame({"t": [10.0], "other": 1})):
        with pytest.raises(ValueError, match=r"at must have .* 't', 'g'; it lacks 'g'.*None"):
            model.effects(at=at)
    check_table(model.effects(at={"t": [10.0, 20.0], "g": None}), ["t", "g"])


def test_a_column_may_be_called_like_a_result():
    frame = FRAME.rename(columns={"t": "share", "g": "topic"})
    model = fit(k.RBF("share") + k.Categorical("topic"), frame)
    table = model.effects("share", at=[20.0, 70.0])
    assert table["share_at"].tolist() == [20.0, 70.0] * K
    assert table["share"].between(0, 1).all()
    assert model.effects("topic")["topic_at"].unique().tolist() == ["a", "b", "c", "d"]


def test_a_curve_has_the_points_that_were_asked_for(model):
    table = model.effects("t", n_points=7)
    np.testing.assert_allclose(table.loc[table["topic"] == 1, "t"], np.linspace(0, 100, 7))
    assert len(model.effects("t")) == 50 * K
    assert len(model.effects("t", n_points=1)) == K


def test_dates_go_in_and_come_out_as_dates():
    model = fit(k.RBF("date"))
    table = model.effects(n_points=4)
    check_table(table, ["date"])
    assert pd.api.types.is_datetime64_any_dtype(table["date"])
    assert table["date"].min() == FRAME["date"].min()
    assert table["date"].max() == FRAME["date"].max()
    asked = ("2003-05-01", pd.Timestamp("2003-05-01"), np.datetime64("2003-05-01"))
    first, *rest = (values(model.effects(at=[one])) for one in asked)
    for one in rest:
        np.testing.assert_array_equal(one, first)
    with pytest.raises(ValueError, match="date"):
        model.effects(at=3.0)


def test_groups_may_be_numbers_truths_or_categories():
    number = FRAME["g"].map(ord) - 96
    expected = fit(k.Categorical("g") + k.RBF("t")).effects("g", at=["a", "c"])
    for column, at in ((number, [1, 3]), (FRAME["g"].astype("category"), ["a", "c"])):
        found = fit(k.Categorical("x") + k.RBF("t"), FRAME.assign(x=column)).effects("x", at=at)
        np.testing.assert_allclose(found[BANDS], expected[BANDS], atol=1e-6)
    truth = fit(k.Categorical("x") + k.RBF("t"), FRAME.assign(x=FRAME["g"] == "a"))
    check_table(truth.effects("x"), ["x"])
    np.testing.assert_allclose(
        truth.effects("x", at=True)["contrast"].abs().max(),
        truth.effects("x")["contrast"].abs().max(),
    )


def test_graphs_are_shown_per_document_and_at_new_links():
    model = fit(k.Graph("links"))
    table = model.effects()
    check_table(table, ["document"])
    assert table.loc[table["topic"] == 2, "document"].tolist() == list(range(D))
    np.testing.assert_allclose(values(table).mean(0), 0.0, atol=1e-8)
    check_table(model.effects(at=[[1, 2]]), ["links"])
    check_table(model.effects(at={"links": [[1, 2], [3, 4]]}), ["links"])
    with pytest.raises(ValueError, match="at="):
        model.effects(versus=[[1]])


def test_new_documents_may_have_different_numbers_of_links():
    check_table(fit(k.Graph("links")).effects(at={"links": [[1, 2], [3]]}), ["links"])


def test_vectors_products_and_several_columns():
    model = fit(k.Embedding("vector") + k.RBF("t") * k.Categorical("g") + k.Linear("u", "t"))
    assert model.terms_ == ["vector", "t, g", "u, t"]
    check_table(model.effects("vector"), ["document"])
    check_table(model.effects("vector", at=[[0.0, 1.0, 2.0]]), ["vector"])
    check_table(model.effects("t, g"), ["document"])
    check_table(model.effects("t, g", at={"t": 3, "g": "a"}), ["t", "g"])
    check_table(model.effects("t, g", at=FRAME[["t", "g"]].head(4)), ["t", "g"])
    check_table(model.effects("u, t", at={"u": [0, 1], "t": [0, 1]}), ["u", "t"])
    at_documents = values(model.effects("t, g", at=FRAME))
    np.testing.assert_allclose(at_documents, values(model.effects("t, g")), atol=1e-7)
    with pytest.raises(ValueError, match=r"at must be a dict .*'t', 'g'"):
        model.effects("t, g", at=[1, 2])
    with pytest.raises(ValueError, match="'g'"):
        model.effects("t, g", at={"t": 1})


def test_a_linear_effect_is_a_line():
    model = fit(k.Linear("u") + k.RBF("t"))
    found = values(model.effects("u", at=[-1.0, 0.0, 1.0, 7.0]))
    np.testing.assert_allclose(found[2] - found[1], found[1] - found[0], atol=1e-10)
    np.testing.assert_allclose(found[3] - found[2], 6 * (found[2] - found[1]), atol=1e-9)


def test_terms_are_found_by_name_number_and_column():
    kernel = (
        k.RBF("t", name="time") + k.Categorical("g") + k.Identity() + k.Linear("u") * k.RBF("t")
    )
    model = fit(kernel)
    assert model.terms_ == ["time", "g", "Identity", "u, t"]
    for label, others in (("time", (0, np.int64(0))), ("g", (1,)), ("u, t", (3, "u"))):
        expected = model.effects(label)
        assert (expected["term"] == label).all()
        for other in others:
            pd.testing.assert_frame_equal(model.effects(other), expected)
    with pytest.raises(ValueError, match=r"one of \['time', 'g', 'Identity', 'u, t'\].*got 't'"):
        model.effects("t")  # two terms read it
    with pytest.raises(ValueError, match="reads no column"):
        model.effects("Identity", at=[1])


def test_no_two_terms_have_the_same_label():
    kernel = k.RBF("t") + k.RBF("t", length_scale=3.0) + 2.0 * k.Linear("t") + k.Categorical("g")
    model = fit(kernel)
    assert model.terms_ == ["RBF(t)", "RBF(t) #2", "Linear(t)", "g"]
    for number, label in enumerate(model.terms_):
        table = model.effects(label, n_points=3)
        assert (table["term"] == label).all()
        pd.testing.assert_frame_equal(table, model.effects(number, n_points=3))


def test_topics_can_be_chosen(model):
    whole = model.effects("g")
    one = model.effects("g", topic=2)
    assert (one["topic"] == 2).all()
    np.testing.assert_array_equal(one[BANDS], whole.loc[whole["topic"] == 2, BANDS])
    some = model.effects("g", topic=[2, 0])
    assert some["topic"].unique().tolist() == [2, 0]
    np.testing.assert_array_equal(some["share"], np.r_[one["share"], whole["share"][:4]])
    np.testing.assert_array_equal(model.effects("g", topic=np.arange(K))[BANDS], whole[BANDS])


def test_only_one_term_needs_no_name(model):
    alone = fit(k.Categorical("g"))
    pd.testing.assert_frame_equal(alone.effects(), alone.effects("g"))
    with pytest.raises(ValueError, match="term must be one of"):
        model.effects()


# What cannot be answered


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"term": "fish"}, r"term must be one of \['t', 'g'\].*'fish'"),
        ({"term": 2}, "term must be one of"),
        ({"term": -1}, "term must be one of"),
        ({"term": "g", "topic": K}, r"topic must be a number from 0 to 2; got 3"),
        ({"term": "g", "topic": -1}, "topic must be a number"),
        ({"term": "g", "topic": "0"}, "topic must be a number"),
        ({"term": "g", "topic": [0, 9]}, "topic must be a number"),
        ({"term": "g", "level": 0}, "level must be"),
        ({"term": "g", "level": 1.0}, "level must be"),
        ({"term": "g", "level": "high"}, "level must be"),
        ({"term": "t", "n_points": 0}, "n_points must be"),
        ({"term": "t", "n_points": 2.5}, "n_points must be"),
        ({"term": "t", "at": "noon"}, "numbers or dates"),
        ({"term": "t", "at": np.inf}, "infinite"),
        ({"term": "t", "at": pd.Timestamp("2000-01-01")}, "dates"),
        ({"term": "t", "at": {"x": 1}}, "'t'"),
        ({"term": "t", "at": pd.DataFrame({"x": [1]})}, "'t'"),
        ({"term": "g", "versus": pd.DataFrame({"G": ["a"]})}, "reads: 'g'; got 'G'"),
        ({"term": "g", "versus": ["a", "b"]}, "as many as at= has, which is 4; got 2"),
        ({"term": "g", "versus": []}, "one setting, or as many as at= has, which is 4; got 0"),
        (
            {"term": "t", "at": {"t": [1, 2], "g": ["a"] * 2}},
            "reads: 't'; got 'g'",
        ),
    ],
)
def test_bad_questions_are_answered_clearly(model, question, message):
    with pytest.raises(ValueError, match=message):
        model.effects(**question)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"topic": []}, "topic"),
        ({"topic": 1.0}, "topic must be a number"),
        ({"at": {}}, "^at must have values"),
    ],
)
def test_empty_and_odd_questions_are_answered_clearly(model, question, message):
    with pytest.raises(ValueError, match=message):
        model.effects("g", **question)


@pytest.mark.parametrize("at", [[], {"g": []}, pd.DataFrame({"g": []})])
def test_no_settings_give_an_empty_table(model, at):
    table = model.effects("g", at=at)
    assert len(table) == 0
    assert list(table.columns) == ["term", "topic", "g", *BANDS]


def test_models_that_have_no_kernel():
    for plain in (fit(None), CTM(K, max_iter=2, random_state=0).fit(np.eye(5, dtype=int))):
        assert plain.terms_ == []
        for ask in (plain.effects, plain.variance_explained):
            with pytest.raises(ValueError, match=r"no kernel.*kernel= and"):
                ask()


def test_models_that_are_not_fitted():
    for ask in (GPTM(K, kernel=BOTH).effects, GPTM(K, kernel=BOTH).variance_explained):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize("ask", ["effects", "variance_explained"])
def test_one_topic_has_no_effects_or_says_so(ask):
    model = GPTM(1, kernel=k.RBF("t"), random_state=0, max_iter=40).fit(X, metadata=FRAME)
    try:
        answer = str(getattr(model, ask)().columns.tolist())
    except ValueError as error:
        answer = str(error)
    assert "topic" in answer


# The same answers


def test_answers_are_the_same_twice_saved_and_for_any_number_of_threads(model, tmp_path):
    model.save(tmp_path / "model.gptm")
    others = [
        model,
        gptm.load(tmp_path / "model.gptm"),
        fit(n_jobs=2, max_iter=400),
        pickle.loads(pickle.dumps(model)),
    ]
    for ask in (
        lambda one: one.effects("t", n_points=9),
        lambda one: one.effects("g", at=["a", "new"], versus="b"),
        lambda one: one.variance_explained(),
    ):
        first = ask(model)
        for other in others:
            pd.testing.assert_frame_equal(ask(other), first, check_exact=True)


def test_questions_change_nothing(model):
    before = {key: np.array(value) for key, value in vars(model).items() if key.endswith("_")}
    kernel = repr(model.kernel_)
    model.effects("t", n_points=3)
    model.variance_explained()
    assert repr(model.kernel_) == kernel
    for key, value in before.items():
        if value.dtype != object:
            np.testing.assert_array_equal(getattr(model, key), value)


def test_a_new_fit_answers_anew():
    model = fit(k.Categorical("g"))
    before = model.effects()
    model.fit(X[::-1], metadata=FRAME)
    pd.testing.assert_frame_equal(
        model.effects(), fit(k.Categorical("g"), counts=X[::-1]).effects()
    )
    assert np.abs(model.effects()["contrast"] - before["contrast"]).max() > 0.01


@pytest.mark.parametrize(
    "options",
    [
        {"inference": "variational", "max_iter": None},
        {"inference": "map", "max_iter": None},
        {"n_chains": 3},
        {"inference": "map", "max_iter": None, "coregionalization": "identity", "fit_mean": False},
        {"learn_kernel": False},
        {"topic_covariance": "identity"},
        {"fit_mean": False},
        {"coregionalization": "free"},
        {"coregionalization": "shared"},
        {"coregionalization": "identity"},
    ],
    ids=lambda options: ", ".join(f"{key}={value}" for key, value in options.items()),
)
def test_every_kind_of_model_explains_itself(options, model):
    other = fit(**options)
    for term, columns in (("t", ["t"]), ("g", ["g"])):
        table, plain = other.effects(term, n_points=20), model.effects(term, n_points=20)
        check_table(table, columns)
        assert np.corrcoef(table["contrast"], plain["contrast"])[0, 1] > 0.8
    shares = other.variance_explained()
    np.testing.assert_allclose(shares.groupby("topic")["share"].sum(), 1.0, atol=1e-9)


@pytest.mark.parametrize("choice", ["fit_mean", "learn_kernel", "inference", "topic_covariance"])
def test_draws_take_what_a_fit_was_told_not_to_learn(choice):
    told = {"inference": "map", "topic_covariance": "identity"}.get(choice, False)
    model = fit(**{choice: told})
    model.effects("g")
    draws, kernel = model.fitted_.draws, to_contrasts(model.coregionalization_)
    kept = {
        "fit_mean": np.allclose(draws.mu, 0.0),
        "kernel": np.allclose(draws.B, kernel),
        "topic_covariance": np.allclose(draws.S, np.eye(K - 1)),
    }
    meant = "kernel" if choice in ("learn_kernel", "inference") else choice
    assert kept == {key: key == meant for key in kept}


@pytest.mark.parametrize("inference", ["variational", "map"])
def test_a_fit_without_draws_gets_them_when_first_asked(inference, monkeypatch):
    monkeypatch.setattr("gptm.model.answering.SHORT_CHAIN", 40)
    model = fit(inference=inference, max_iter=None)
    names = ("components_", "doc_logits_", "doc_means_", "bound_", "coregionalization_")
    fitted = {name: getattr(model, name).copy() for name in names}
    assert model.fitted_.draws is None
    assert model.diagnostics_ is None
    first = model.effects("g")
    draws = model.fitted_.draws
    assert draws.n == 20
    pd.testing.assert_frame_equal(model.effects("g"), first, check_exact=True)
    model.variance_explained()
    assert model.fitted_.draws is draws
    for name, value in fitted.items():
        np.testing.assert_array_equal(getattr(model, name), value)
    again = fit(inference=inference, max_iter=None, n_jobs=2)
    pd.testing.assert_frame_equal(again.effects("g"), first, check_exact=True)
    model.fit(X[::-1], metadata=FRAME)
    assert model.fitted_.draws is None


@pytest.mark.parametrize("coregionalization", ["free", "identity", "shared"])
def test_a_kernel_without_strength_can_be_asked(coregionalization):
    """EM may take B to nothing; chains start there and soon leave it."""
    options = {"coregionalization": coregionalization, "warm_start": True, "max_iter": 8}
    for inference in ("variational", "sampling"):
        model = fit(inference=inference, **options)
        model.fitted_ = replace(model.fitted_, B=np.zeros((K, K)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, metadata=FRAME)
        check_table(model.effects("g"), ["g"])
        assert model.variance_explained().notna().all(axis=None)


def test_empty_documents_and_missing_values_are_fine():
    counts = X.copy()
    counts[::3] = 0
    model = fit(counts=counts, frame=HOLES, max_iter=200)
    check_table(model.effects("t"), ["t"])
    check_table(model.effects("g"), ["g"])
    settings = {"at": np.linspace(0.0, 100.0, 9)}
    full = fit(max_iter=200)
    assert (
        widths(model.effects("t", **settings)).mean() > widths(full.effects("t", **settings)).mean()
    )


def test_a_constant_column_has_no_effect():
    model = fit(k.Categorical("c") + k.RBF("t"), FRAME.assign(c="all"), max_iter=200)
    table = model.effects("c")
    assert np.abs(table[BANDS[:3]].to_numpy()).max() < 1e-9
    np.testing.assert_allclose(table["share"].sum(), 1.0)
    width = table["share_high"] - table["share_low"]  # how common topics are is not known for sure
    assert ((width > 0.01) & (width < 0.2)).all()


# Shares of variation


def test_shares_of_variation_sum_to_one(model):
    table = model.variance_explained()
    assert list(table.columns) == ["term", "topic", "share", "low", "high"]
    assert table["topic"].drop_duplicates().tolist() == ["all", 0, 1, 2]
    for _, part in table.groupby("topic", sort=False):
        assert part["term"].tolist() == ["t", "g", "unexplained"]
        assert part["share"].sum() == pytest.approx(1.0)
    assert (table["low"] <= table["share"]).all()
    assert (table["share"] <= table["high"]).all()
    wide = model.variance_explained(level=0.99)
    assert (wide["low"] <= table["low"]).all()
    assert (wide["high"] >= table["high"]).all()
    np.testing.assert_array_equal(wide["share"], table["share"])
    with pytest.raises(ValueError, match="level must be"):
        model.variance_explained(level=90)


def test_shares_of_variation_are_covariances_with_the_whole():
    """From draws of the posterior, one by one."""
    model = fit(k.Graph("links") + BOTH)
    Q, draws = contrasts(K), model.fitted_.draws
    drawn = [term_at_documents(model, term) @ Q.T for term in range(3)]
    ratios = []
    for s in range(draws.n):
        terms = [centred(F[s]) for F in drawn]
        own = np.diagonal(Q @ draws.S[s] @ Q.T)
        parts = np.array([*((one * sum(terms)).mean(0) for one in terms), own])
        parts = np.column_stack([parts.sum(1), parts])
        ratios.append(parts / parts.sum(0))
    table = model.variance_explained(level=0.8)
    found = [part["share"].to_numpy() for _, part in table.groupby("topic", sort=False)]
    np.testing.assert_allclose(np.column_stack(found), np.mean(ratios, 0), atol=1e-6)
    low = [part["low"].to_numpy() for _, part in table.groupby("topic", sort=False)]
    smallest = np.minimum(np.min(ratios, axis=0), 0.0)
    lows = np.maximum(end_of_band(model, np.array(ratios), 0.1), smallest)
    np.testing.assert_allclose(np.column_stack(low), lows, atol=1e-6)


def centred(F):
    """Relative to the mean of the topics and to the average document."""
    F = F - F.mean(-1, keepdims=True)
    return F - F.mean(-2, keepdims=True)


def test_noise_explains_nothing_and_truth_its_share():
    rng = np.random.default_rng(3)
    n = 300
    frame = pd.DataFrame(
        {"g": rng.choice(list("abcdefghij"), n), "noise": rng.choice(list("uvwxyz"), n)}
    )
    counts, beta, parts = sampled(k.Categorical("g"), frame, seed=3, n_words=80, own=0.5)
    kernel = k.Categorical("g") + k.Categorical("noise")
    model = fit(kernel, frame, counts, init=beta, max_iter=200)
    table = model.variance_explained().query("topic == 'all'").set_index("term")
    by_group = (centred(parts[0]) ** 2).mean(0).sum()
    truth = by_group / (by_group + 0.5**2 * (K - 1))  # own variances, less their mean over topics
    assert table.loc["g", "share"] == pytest.approx(truth, abs=0.1)
    assert table.loc["noise", "share"] < 0.03
    assert table.loc["noise", "low"] < 0.01
    assert table.loc["unexplained", "share"] == pytest.approx(1 - truth, abs=0.1)


# Coverage


def coverage(n_words, max_iter, seeds):
    """How often 80 % bands hold the truth, over levels, points of a curve and topics."""
    held = {"t": [], "g": []}
    for seed in seeds:
        rng = np.random.default_rng(100 + seed)
        n = 250
        frame = pd.DataFrame(
            {"t": np.repeat(np.arange(50.0), 5), "g": rng.choice(list("abcdefgh"), n)}
        )
        kernel = k.RBF("t", length_scale=8.0) + k.Categorical("g")
        counts, beta, parts = sampled(kernel, frame, seed, n_words=n_words, own=0.5)
        kernel = k.RBF("t") + k.Categorical("g")
        model = fit(kernel, frame, counts, init=beta, max_iter=max_iter)
        for term, F in zip(held, parts, strict=True):
            table = model.effects(term, at=frame[[term]].drop_duplicates(), level=0.8)
            truth = centred(F)[frame[term].drop_duplicates().index]
            inside = (values(table, "contrast_low") <= truth) & (
                truth <= values(table, "contrast_high")
            )
            held[term].append(inside.mean())
    return {term: float(np.mean(found)) for term, found in held.items()}


@pytest.mark.parametrize(("n_words", "max_iter"), [(20, 800), (80, 400)])
def test_bands_hold_the_truth_about_as_often_as_they_say(n_words, max_iter):
    found = coverage(n_words, max_iter, range(4))
    for share in found.values():
        assert 0.6 < share < 0.97, found


@pytest.mark.parametrize("coregionalization", ["free", "identity", "shared"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_bands_of_few_groups_have_a_width_in_every_topic(n_groups, coregionalization):
    """Few groups tell little of B; the most likely one would have bands of no width for most topics."""
    K, D, V = 5, 150, 60
    rng = np.random.default_rng(0)
    beta = rng.dirichlet(np.full(V, 0.1), K)
    codes = np.arange(D) % n_groups
    logits = 0.3 * rng.standard_normal((n_groups, K))[codes] + rng.standard_normal((D, K))
    X = np.array([rng.multinomial(60, p) for p in softmax(logits, axis=1) @ beta])
    model = GPTM(
        K,
        kernel=k.Categorical("g"),
        coregionalization=coregionalization,
        init=beta,
        random_state=0,
        max_iter=800,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, metadata={"g": [f"g{code}" for code in codes]})
    table = model.effects(at="g1", versus="g0")
    width = (table["contrast_high"] - table["contrast_low"]).to_numpy() / 2
    # If the logits had been seen, without pooling.
    centred = logits - logits.mean(1, keepdims=True)
    plain = 1.645 * np.sqrt(2 * centred.var(0) / (D / n_groups))
    assert (width > 0.5 * plain).all()
    assert (width < 2.0 * plain).all()


def test_mean_softmax_of_logits_of_any_size():
    rng = np.random.default_rng(0)
    for scale in (1.0, 300.0, 3000.0, 1e50):
        places, others = scale * rng.standard_normal((4, 3)), scale * rng.standard_normal((6, 3))
        weights = rng.dirichlet(np.ones(6))
        expected = [weights @ softmax(place + others, axis=1) for place in places]
        np.testing.assert_allclose(
            mean_softmax(places, others, weights), expected, rtol=1e-9, atol=1e-200
        )
