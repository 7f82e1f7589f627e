"""Pictures of fitted models: what is drawn is what the tables say."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from gptm import plots  # noqa: E402
from gptm.plots.canvas import COLORS, spread, topic_labels  # noqa: E402
from gptm.plots.document_map import _principal_plane  # noqa: E402

D, V, K = 60, 24, 4
RNG = np.random.default_rng(0)
BETA = RNG.dirichlet(np.full(V, 0.15), K)
X = np.array([RNG.multinomial(30, p) for p in RNG.dirichlet(np.full(K, 0.3), D) @ BETA])
WORDS = [f"word{w:02}" for w in range(V)]
SHOPS = ["Aldi", "Bio", "Coop"]
METADATA = pd.DataFrame(
    {
        "date": pd.date_range("2001-01-01", periods=D, freq="ME"),
        "age": np.linspace(20.0, 60.0, D),
        "shop": np.resize(SHOPS, D),
    }
)
CORPUS = Corpus(X, WORDS, metadata=METADATA)
GRIDS = {
    "date": {"date": pd.date_range("2001", "2006", periods=9)},
    "age": {"age": np.linspace(20.0, 60.0, 7)},
    "shop": {"shop": SHOPS},
    "links": {"document": np.arange(D)},
    "age:shop": {"age": np.linspace(20.0, 60.0, 5), "shop": SHOPS},
    "place": {"north": np.linspace(0.0, 1.0, 4), "east": np.linspace(0.0, 2.0, 3)},
    "much": {"a": [0.0, 1.0], "b": [0.0, 1.0], "c": [0.0, 1.0]},
}


class Told(GPTM):
    """A model whose effects are made up, so that every kind of term is there."""

    terms_ = list(GRIDS)  # noqa: RUF012

    @property
    def kernel_(self):
        return sum(
            k.Linear(*(["links"] if term == "links" else GRIDS[term])) for term in self.terms_
        )

    def effects(self, term=None, topic=None, *, at=None, versus=None, level=0.9, n_points=50):
        axes = [pd.DataFrame({name: values}) for name, values in GRIDS[term].items()]
        grid = axes[0]
        for other in axes[1:]:
            grid = grid.merge(other, how="cross")
        parts = []
        for i in range(K) if topic is None else [topic]:
            contrast = (i - 1.5) * np.cos(1.0 + np.arange(len(grid)) + i)
            share = 0.1 + 0.05 * (contrast - contrast.min(initial=9.0))
            parts.append(
                grid.assign(term=term, topic=i, contrast=contrast, share=share).assign(
                    contrast_low=contrast - level,
                    contrast_high=contrast + level,
                    share_low=0.5 * share,
                    share_high=1.5 * share,
                )
            )
        return pd.concat(parts, ignore_index=True)

    def variance_explained(self, level=0.9):
        rows = []
        for topic in ["all", *range(K)]:
            weight = 0 if topic == "all" else topic
            shares = np.array([0.1 + 0.02 * weight, *[0.05] * (len(GRIDS) - 1), 0.0])
            shares[-1] = 1.0 - shares.sum()
            for term, share in zip([*GRIDS, "unexplained"], shares, strict=True):
                rows.append((term, topic, share, 0.9 * share, 1.05 * share))
        return pd.DataFrame(rows, columns=["term", "topic", "share", "low", "high"])


def fitted(model, X=CORPUS, **data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(random_state=0, max_iter=10).fit(X, **data)


@pytest.fixture(scope="module")
def told():
    return fitted(Told(K, kernel=k.Matern("date") + k.Categorical("shop")))


@pytest.fixture(scope="module")
def ctm():
    return fitted(CTM(K))


@pytest.fixture(scope="module")
def real():
    model = fitted(GPTM(K, kernel=k.Matern("date") + k.Categorical("shop")))
    if not hasattr(model, "effects"):
        pytest.skip("no effects to be drawn")
    return model


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


DRAWINGS = {
    "bound": plots.plot_bound,
    "over time": plots.plot_topics_over_time,
    "curves": lambda model, **axes: plots.plot_effects(model, "date", **axes),
    "dots": lambda model, **axes: plots.plot_effects(model, "shop", **axes),
    "bars": lambda model, **axes: plots.plot_effects(model, "links", **axes),
    "interaction": lambda model, **axes: plots.plot_effects(model, "age:shop", 1, **axes),
    "surface": lambda model, **axes: plots.plot_effects(model, "place", 1, **axes),
    "variance": plots.plot_variance_explained,
    "variance by topic": lambda model, **axes: plots.plot_variance_explained(model, "all", **axes),
    "correlations": plots.plot_topic_correlations,
    "documents": plots.plot_documents,
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_each_takes_and_returns_axes_and_can_be_saved(draw, told, tmp_path):
    figure, given = plt.subplots()
    before = plt.get_fignums()
    assert draw(told, ax=given) is given
    assert plt.get_fignums() == before
    made = draw(told)
    assert made.get_figure() is not figure
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that does not fit, of glyphs that are missing
        made.get_figure().savefig(tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 5000


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_each_leaves_the_model_and_the_settings_alone(draw, told):
    settings = dict(matplotlib.rcParams)
    before = {name: np.array(value) for name, value in vars(told).items() if name.endswith("_")}
    draw(told)
    assert dict(matplotlib.rcParams) == settings
    for name, value in before.items():
        assert_array_equal(np.array(getattr(told, name)), value)


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_each_asks_for_a_fitted_model_and_for_axes(draw, told):
    with pytest.raises(NotFittedError):
        draw(Told(K))
    with pytest.raises(ValueError, match="ax must be a matplotlib Axes; got Figure"):
        draw(told, ax=plt.figure())


# How the fit went


def test_the_bound_is_drawn_per_word(ctm):
    line = plots.plot_bound(ctm).lines[0]
    assert_array_equal(line.get_xdata(), np.arange(1, ctm.n_iter_ + 1))
    assert_allclose(line.get_ydata(), ctm.bound_ / X.sum())


def test_the_bound_says_whether_it_converged():
    em = {"inference": "variational"}
    once = fitted(CTM(2, tol=0.0, **em))
    assert "not converged in 10 iterations" in texts(plots.plot_bound(once))
    assert "converged after" in texts(plots.plot_bound(fitted(CTM(2, tol=1.0, **em))))[0]


def test_the_trace_of_a_chain_is_drawn(ctm):
    ax = plots.plot_bound(ctm)
    assert ax.get_xlabel() == "sweep"
    assert ax.get_ylabel() == "log-density, nats per word"
    assert f"{ctm.n_iter_} sweeps" in texts(ax)[0]


def test_the_bound_of_a_model_without_words():
    for inference, value in (("sampling", "log-density"), ("variational", "lower bound")):
        ax = plots.plot_bound(fitted(CTM(2, inference=inference), np.zeros((5, 4))))
        assert ax.get_ylabel() == f"{value}, nats"


def test_components_are_drawn_by_the_search_itself():
    found = gptm.search_components(CTM(max_iter=5, tol=1.0), X, [1, 2, 3], cv=2)
    ax, own = plots.plot_components(found), found.plot()
    assert_array_equal(ax.lines[0].get_xydata(), own.lines[0].get_xydata())
    assert legend(ax) == legend(own)
    with pytest.raises(
        ValueError, match=r"the result of gptm\.search_components; got .* DataFrame"
    ):
        plots.plot_components(found.table)


# Names of topics


def test_topics_are_named_by_their_words(ctm):
    expected = [", ".join(words) for words in ctm.topic_words(3)]
    assert topic_labels(ctm.fitted_) == expected
    assert topic_labels(ctm.fitted_, 1) == [words[0] for words in ctm.topic_words(1)]


def test_topics_without_words_have_numbers():
    nameless = fitted(CTM(3), X)
    assert topic_labels(nameless.fitted_) == ["topic 0", "topic 1", "topic 2"]
    assert topic_labels(nameless.fitted_, 2, WORDS) == [
        ", ".join(w) for w in nameless.topic_words(2, feature_names=WORDS)
    ]
    with pytest.raises(ValueError, match="expected 24, got 2"):
        topic_labels(nameless.fitted_, 2, ["a", "b"])


def test_topics_with_the_same_words_can_be_told_apart():
    model = fitted(CTM(3))
    model.components_[2] = model.components_[0]
    first, _, third = topic_labels(model.fitted_)
    assert (first[-4:], third[-4:]) == (" (0)", " (2)")


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_labels_are_spread_without_losing_their_order(n):
    for places in (np.zeros(n), np.ones(n), RNG.random(n), np.linspace(0, 1, n)[::-1]):
        moved = spread(places, 0.07)
        assert ((moved >= -1e-12) & (moved <= 1 + 1e-12)).all()
        assert (np.diff(np.sort(moved)) >= 0.07 - 1e-12).all()
        assert (np.diff(moved[np.argsort(places, kind="stable")]) > 0).all()


def test_labels_with_room_stay_where_they_are():
    assert_allclose(spread(np.array([0.9, 0.1, 0.5]), 0.1), [0.9, 0.1, 0.5])


# Along a column


def test_curves_and_bands_are_those_of_the_table(told):
    ax = plots.plot_effects(told, "age", [2, 0], kind="share", level=0.5)
    table = told.effects("age", level=0.5)
    for line, band, topic in zip(ax.lines, ax.collections, [2, 0], strict=False):
        rows = table[table["topic"] == topic]
        assert_allclose(line.get_xydata(), rows[["age", "share"]])
        heights = band.get_paths()[0].vertices[:, 1]
        assert_allclose(
            [heights.min(), heights.max()], [rows["share_low"].min(), rows["share_high"].max()]
        )
    labels = topic_labels(told.fitted_)
    assert texts(ax) == [labels[2], labels[0]]
    assert (ax.get_xlabel(), ax.get_ylim()[0]) == ("age", 0.0)


def test_topics_that_move_most_are_chosen(told):
    """Topics 0 and 3 have a factor of 1.5, topics 1 and 2 one of 0.5."""
    table = told.effects("shop")
    moves = table.groupby("topic")["contrast"].agg(np.ptp)
    chosen = legend(plots.plot_effects(told, "shop"))
    assert set(chosen) == {topic_labels(told.fitted_)[i] for i in moves.nlargest(3).index}


def test_more_topics_than_colours_differ_in_their_lines(told):
    many = fitted(Told(9, kernel=k.Matern("date")))
    many.effects = lambda term, *args, **options: pd.concat(
        told.effects("date").query("topic == 0").assign(topic=i, term=term) for i in range(9)
    )
    ax = plots.plot_topics_over_time(many, "date", range(9))
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == len(ax.lines) == 9
    assert len(plots.plot_topics_over_time(many, "date").lines) == len(COLORS)


def test_time_is_the_first_column_of_dates(told):
    assert plots.plot_topics_over_time(told).get_xlabel() == "date"
    assert plots.plot_topics_over_time(told, "age").get_xlabel() == "age"


def test_time_asks_no_more_terms_than_it_must(monkeypatch):
    model = fitted(Told(K, kernel=k.Matern("age") + k.Matern("date") + k.Categorical("shop")))
    asked = []
    monkeypatch.setattr(Told, "terms_", ["age", "date", "shop"])
    monkeypatch.setattr(
        model,
        "effects",
        lambda term, **options: asked.append(term) or Told.effects(model, term),
        raising=False,
    )
    assert plots.plot_topics_over_time(model).get_xlabel() == "date"
    assert asked == ["age", "date"]
    plots.plot_topics_over_time(model, "age")
    assert asked == ["age", "date", "age"]
    with pytest.raises(ValueError, match="reads 'city' alone"):
        plots.plot_topics_over_time(model, "city")
    assert len(asked) == 3


def test_time_without_such_a_term(told):
    with pytest.raises(
        ValueError, match=r"reads 'shop' alone; its terms are 'date', 'age'.*Matern\('shop'\)"
    ):
        plots.plot_topics_over_time(told, "shop")
    with pytest.raises(ValueError, match="reads 'nowhere' alone"):
        plots.plot_topics_over_time(told, "nowhere")
    without = fitted(Told(K, kernel=k.Categorical("shop")))
    without.terms_ = ["shop", "links"]
    with pytest.raises(
        ValueError, match=r"a column of dates or numbers alone; .* 'shop', 'links'\."
    ):
        plots.plot_topics_over_time(without)


# Categories, documents, several columns


def test_dots_are_sorted_and_have_the_bars_of_the_table(told):
    ax = plots.plot_effects(told, "shop", 3)
    rows = told.effects("shop", 3).sort_values("contrast")
    assert [label.get_text() for label in ax.get_yticklabels()] == rows["shop"].tolist()
    (container,) = ax.containers
    dots, _, (bars,) = container
    assert_allclose(dots.get_xdata().astype(float), rows["contrast"])
    ends = [(segment[0, 0], segment[1, 0]) for segment in bars.get_segments()]
    assert_allclose(ends, rows[["contrast_low", "contrast_high"]])
    assert ax.get_title("left") == topic_labels(told.fitted_)[3]


def test_of_many_categories_the_ones_at_the_ends_are_shown(told, monkeypatch):
    names = [f"level {i:02}" for i in range(60)]
    monkeypatch.setitem(GRIDS, "shop", {"shop": names})
    ax = plots.plot_effects(told, "shop", 3)
    assert ax.get_title("right") == "the 24 of 60 furthest from the middle"
    shown = [label.get_text() for label in ax.get_yticklabels()]
    rows = told.effects("shop", 3).set_index("shop")["contrast"]
    assert len(shown) == 24
    assert {rows.idxmin(), rows.idxmax()} <= set(shown)
    assert rows[shown].is_monotonic_increasing


def test_documents_at_either_end_are_shown(told):
    ax = plots.plot_effects(told, "links", 3)
    rows = told.effects("links", 3).sort_values("contrast", kind="stable")
    ends = pd.concat([rows[:10], rows[-10:]])
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        str(document) for document in ends["document"]
    ]
    assert_allclose([bar.get_width() for bar in ax.patches], ends["contrast"])
    assert "40 documents between" in texts(ax)


def test_all_of_a_few_documents_are_shown(told, monkeypatch):
    monkeypatch.setitem(GRIDS, "links", {"document": ["p1", "p2", "p3"]})
    ax = plots.plot_effects(told, "links", 3)
    assert sorted(label.get_text() for label in ax.get_yticklabels()) == ["p1", "p2", "p3"]
    assert not texts(ax)


def test_two_columns_are_a_curve_per_category(told):
    ax = plots.plot_effects(told, "age:shop", 2)
    table = told.effects("age:shop", 2)
    assert texts(ax) == SHOPS
    for line, shop in zip(ax.lines, SHOPS, strict=False):
        rows = table[table["shop"] == shop]
        assert_allclose(line.get_xydata(), rows[["age", "contrast"]])


def test_two_columns_of_numbers_are_a_map(told):
    ax = plots.plot_effects(told, "place", 2)
    (mesh,) = ax.collections
    assert mesh.get_array().size == 12
    assert mesh.norm.vmin == -mesh.norm.vmax  # none is in the middle of the colours
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("north", "east")


def test_what_cannot_be_drawn_says_so(told):
    with pytest.raises(
        ValueError, match="of single documents are drawn for one topic at a time; got 2"
    ):
        plots.plot_effects(told, "links", [0, 1])
    with pytest.raises(ValueError, match="one topic at a time"):
        plots.plot_effects(told, "age:shop", [0, 1])
    with pytest.raises(ValueError, match=r"effects of 3 columns: a, b, c\. .*model\.effects"):
        plots.plot_effects(told, "much")


def test_a_term_without_effects_says_so(told, monkeypatch):
    monkeypatch.setitem(GRIDS, "links", {"document": []})
    with pytest.raises(ValueError, match="the term 'links' has no effects to draw"):
        plots.plot_effects(told, "links")


def test_one_value_is_enough(told, monkeypatch):
    monkeypatch.setitem(GRIDS, "shop", {"shop": ["Aldi"]})
    assert len(plots.plot_effects(told, "shop").get_yticklabels()) == 1
    monkeypatch.setitem(GRIDS, "age", {"age": [30.0]})
    plots.plot_effects(told, "age").get_figure().canvas.draw()
    monkeypatch.setitem(GRIDS, "place", {"north": [1.0], "east": [2.0]})
    plots.plot_effects(told, "place").get_figure().canvas.draw()


def test_columns_that_are_held_are_told_and_not_drawn():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 10, (2, 40))
    X = np.array([[9, 9, 1, 1] if one > 5 else [1, 1, 9, 9] for one in x])
    model = GPTM(2, kernel=k.RBF("x", "y"), random_state=0).fit(X, metadata={"x": x, "y": y})
    ax = plots.plot_effects(model, 0)
    assert ax.get_xlabel() == "x"
    assert ax.get_title("left") == f"y = {np.median(y):.4g}"
    assert [len(line.get_xdata()) for line in ax.lines[:2]] == [50, 50]
    places = pd.DataFrame({"x": [1.0, 9.0, 1.0, 9.0], "y": [1.0, 1.0, 9.0, 9.0]})
    ax = plots.plot_effects(model, 0, 1, at=places)
    assert ax.collections[0].get_array().shape == (2, 2)


def test_wrong_choices_say_what_there_is(told):
    with pytest.raises(ValueError, match="kind must be one of 'contrast', 'share'; got 'ratio'"):
        plots.plot_effects(told, "date", kind="ratio")
    for wrong in (K, -1, 1.5, "peace", True, [0, K], [None]):
        with pytest.raises(ValueError, match="topic must be a number from 0 to 3"):
            plots.plot_effects(told, "date", wrong)
        with pytest.raises(ValueError, match="topic must be a number from 0 to 3"):
            plots.plot_variance_explained(told, wrong)
    with pytest.raises(ValueError, match="at least one topic"):
        plots.plot_effects(told, "date", [])
    with pytest.raises(ValueError, match="n_points must be an integer of at least 2"):
        plots.plot_topics_over_time(told, n_points=1)


def test_models_without_a_kernel_have_no_effects(ctm):
    for model in (ctm, fitted(GPTM(2, kernel=None))):
        for draw in (
            plots.plot_topics_over_time,
            plots.plot_variance_explained,
            lambda model: plots.plot_effects(model, "date"),
        ):
            with pytest.raises(ValueError, match=r"has no kernel.*Matern\('date'\)"):
                draw(model)


# Variance


def test_variance_overall_is_that_of_the_table(told):
    ax = plots.plot_variance_explained(told, level=0.8)
    table = told.variance_explained().query("topic == 'all'").set_index("term")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "unexplained"
    assert names[-1] == "date"
    assert_allclose([bar.get_width() for bar in ax.patches], table.loc[names, "share"])
    assert texts(ax) == [f"{100 * share:.1f} %" for share in table.loc[names, "share"]]
    bars = ax.containers[1][2][0] if len(ax.containers[1]) == 3 else ax.collections[0]
    ends = [(segment[0, 0], segment[1, 0]) for segment in bars.get_segments()]
    assert_allclose(ends, table.loc[names, ["low", "high"]])


def test_variance_by_topic_adds_up_to_one(told):
    ax = plots.plot_variance_explained(told, [3, 1])
    labels = topic_labels(told.fitted_)
    assert [label.get_text() for label in ax.get_yticklabels()] == [labels[1], labels[3]]
    assert legend(ax) == [*GRIDS, "unexplained"]
    last = [bar.get_x() + bar.get_width() for bar in ax.patches[-2:]]
    assert_allclose(last, 1.0)
    rest = told.variance_explained().query("term == 'unexplained'").set_index("topic")
    segments = ax.collections[0].get_segments()
    for segment, topic in zip(segments, [1, 3], strict=True):
        assert_allclose(segment[:, 0], 1.0 - rest.loc[topic, ["high", "low"]].astype(float))
    every = plots.plot_variance_explained(told, "all")
    assert len(every.get_yticklabels()) == K


def test_shares_below_zero_are_drawn_on_their_side(told, monkeypatch):
    """Terms that go against others may have them; all still add up to one."""
    table = told.variance_explained()
    table.loc[table["term"] == "age", ["share", "low", "high"]] = [-0.05, -0.1, 0.0]
    table.loc[table["term"] == "date", ["share", "low", "high"]] += 0.1
    monkeypatch.setattr(told, "variance_explained", lambda level: table, raising=False)
    ax = plots.plot_variance_explained(told)
    assert ax.get_xlim()[0] < -0.1
    ax = plots.plot_variance_explained(told, [2])
    widths = np.array([bar.get_width() for bar in ax.patches])
    starts = np.array([bar.get_x() for bar in ax.patches])
    assert widths.sum() == pytest.approx(1.0)
    assert ax.get_xlim()[0] < -0.05
    ends = np.maximum(starts, starts + widths)
    assert ends.max() == pytest.approx(1.05)
    assert (np.sort(ends)[1:-1] > 0).all()


# Correlations


def test_correlations_have_lines_of_both_signs(ctm):
    pytest.importorskip("networkx")
    ax = plots.plot_topic_correlations(ctm, 0.3)
    correlation = ctm.topic_correlations().to_numpy()[np.triu_indices(K, 1)]
    drawn = [line.get_color() for line in ax.lines]
    assert drawn.count(COLORS[0]) == (correlation >= 0.3).sum()
    assert drawn.count(COLORS[1]) == (correlation <= -0.3).sum()
    assert drawn
    sizes = ax.collections[0].get_sizes()
    assert_allclose(sizes / sizes.max(), ctm.topics()["share"] / ctm.topics()["share"].max())
    assert len(plots.plot_topic_correlations(ctm, 0.0).lines) == K * (K - 1) / 2
    assert len(plots.plot_topic_correlations(ctm, 1.1).lines) == 0


def test_correlations_of_one_and_two_topics():
    pytest.importorskip("networkx")
    assert len(plots.plot_topic_correlations(fitted(CTM(1))).lines) == 0
    assert len(plots.plot_topic_correlations(fitted(CTM(2))).lines) == 1


def test_correlations_are_the_same_twice(ctm):
    pytest.importorskip("networkx")
    first, second = (plots.plot_topic_correlations(ctm).collections[0] for _ in range(2))
    assert_array_equal(first.get_offsets(), second.get_offsets())
    with pytest.raises(ValueError, match=r"threshold must be a number of at least 0\.0; got -1"):
        plots.plot_topic_correlations(ctm, -1)


# Documents


def test_documents_are_at_their_principal_components(ctm):
    from sklearn.decomposition import PCA

    logits = ctm.doc_logits_ - ctm.doc_logits_.mean(1, keepdims=True)
    places, shares, directions = _principal_plane(logits)
    pca = PCA(2).fit(logits)
    assert_allclose(np.abs(places), np.abs(pca.transform(logits)), atol=1e-8)
    assert_allclose(shares, pca.explained_variance_ratio_)
    assert (directions[np.abs(directions).argmax(0), [0, 1]] > 0).all()
    ax = plots.plot_documents(ctm, 0)
    upwards = np.argsort(ctm.doc_topics_[:, 0], kind="stable")  # large shares over small ones
    assert_allclose(ax.collections[1].get_offsets(), places[upwards])
    assert_allclose(ax.collections[1].get_array(), ctm.doc_topics_[upwards, 0])


def test_documents_are_those_of_the_kernel_where_there_is_one(told):
    means, logits = (told.doc_means_, told.doc_logits_)
    for of, positions in ((None, means), ("means", means), ("logits", logits)):
        ax = plots.plot_documents(told, 0, of=of)
        places = _principal_plane(positions - positions.mean(1, keepdims=True))[0]
        upwards = np.argsort(told.doc_topics_[:, 0], kind="stable")
        assert_allclose(ax.collections[1].get_offsets(), places[upwards])


def test_documents_by_their_largest_topic(ctm):
    labels = np.array(topic_labels(ctm.fitted_, 2))
    expected = sorted(set(labels[ctm.doc_topics_.argmax(1)]))
    assert legend(plots.plot_documents(ctm)) == expected


def test_documents_by_a_column(ctm):
    for metadata in (METADATA, dict(METADATA), CORPUS):
        assert legend(plots.plot_documents(ctm, "shop", metadata=metadata)) == SHOPS
    assert legend(plots.plot_documents(ctm, METADATA["shop"])) == SHOPS
    assert legend(plots.plot_documents(ctm, METADATA["shop"].tolist())) == SHOPS
    assert legend(plots.plot_documents(ctm, np.arange(D) % 3)) == ["0", "1", "2"]
    by_age = plots.plot_documents(ctm, "age", metadata=METADATA)
    assert by_age.get_legend() is None
    assert_allclose(by_age.collections[1].get_array(), METADATA["age"])
    by_date = plots.plot_documents(ctm, "date", metadata=METADATA)
    days = matplotlib.dates.date2num(METADATA["date"])
    assert_allclose(by_date.collections[1].get_array(), days)


def test_documents_with_many_or_missing_classes(ctm):
    authors = [f"author {i % 12:02}" for i in range(D)]
    assert legend(plots.plot_documents(ctm, authors))[-1] == "6 others"
    shops = METADATA["shop"].where(np.arange(D) > 5)
    assert legend(plots.plot_documents(ctm, shops)) == [*SHOPS, "missing"]
    ages = METADATA["age"].where(np.arange(D) > 5)
    unknown, known = plots.plot_documents(ctm, ages).collections[:2]
    assert (len(unknown.get_offsets()), len(known.get_offsets())) == (6, D - 6)


def test_documents_of_one_or_two_topics_and_of_no_words():
    for n, share in ((1, "(0 %)"), (2, "(100 %)")):
        ax = plots.plot_documents(fitted(CTM(n)))
        places = drawn_places(ax)
        assert places.shape == (D, 2)
        assert_allclose(places[:, n - 1 :], 0.0, atol=1e-8)  # no direction, or no second one
        assert share in ax.get_xlabel()
        assert "(0 %)" in ax.get_ylabel()
    ax = plots.plot_documents(fitted(CTM(3), csr_matrix((6, 4))))
    assert drawn_places(ax).shape == (6, 2)
    assert np.isfinite(drawn_places(ax)).all()


def drawn_places(ax):
    return np.concatenate([dots.get_offsets() for dots in ax.collections])


def test_documents_ask_for_colours_that_exist(ctm):
    with pytest.raises(ValueError, match=r"'shop' names a column .* Pass metadata="):
        plots.plot_documents(ctm, "shop")
    with pytest.raises(ValueError, match="the columns are 'date', 'age', 'shop'"):
        plots.plot_documents(ctm, "author", metadata=METADATA)
    with pytest.raises(ValueError, match="one value for each of the 60 training documents; got 3"):
        plots.plot_documents(ctm, [1, 2, 3])
    with pytest.raises(ValueError, match="from 0 to 3; got 4"):
        plots.plot_documents(ctm, K)
    with pytest.raises(ValueError, match="this model has no kernel"):
        plots.plot_documents(ctm, of="means")
    with pytest.raises(ValueError, match="of must be one of"):
        plots.plot_documents(ctm, of="topics")


# Together with what models really say


def test_real_effects_are_drawn(real):
    date, shop = real.terms_
    table = real.effects(date, n_points=200)
    ax = plots.plot_topics_over_time(real, topics=[1])
    rows = table[table["topic"] == 1]
    assert_allclose(ax.lines[0].get_ydata(), rows["share"])
    assert len(plots.plot_effects(real, date).lines) >= K
    assert len(plots.plot_effects(real, shop, 0).get_yticklabels()) == len(SHOPS)
    assert len(plots.plot_variance_explained(real).patches) == 3
    assert len(plots.plot_variance_explained(real, "all").patches) == 3 * K
    with pytest.raises(ValueError, match=r"term must be one of .*'date', 'shop'.*; got 'author'"):
        plots.plot_effects(real, "author")


def test_real_differences_are_drawn_on_both_sides_of_zero(real):
    ax = plots.plot_effects(real, 1, kind="share", versus="Bio")
    assert ax.get_xlim()[0] < 0 < ax.get_xlim()[1]
    assert ax.get_xlabel() == "difference in mean share of documents"
    ax = plots.plot_effects(real, "date", kind="share", versus=METADATA["date"][20])
    assert ax.get_ylim()[0] < 0 < ax.get_ylim()[1]


# Packages that may be missing


def test_matplotlib_is_loaded_when_something_is_drawn():
    code = "import sys; from gptm import plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["False"], done.stderr


def test_without_matplotlib_it_says_what_to_install(ctm, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"matplotlib.*pip install 'gptm\[plot\]'"):
        plots.plot_bound(ctm)
