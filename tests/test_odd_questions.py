"""Questions to a model that cannot be answered: the error says what was expected, what arrived and what to try."""

import numpy as np
import pandas as pd
import pytest

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
N = 40
QUICK = {"max_iter": 8, "init": "random", "random_state": 0}
FRAME = pd.DataFrame(
    {
        "party": np.tile(["left", "right"], N // 2),
        "year": 2000.0 + np.arange(N),
        "one": "same",
        "five": 5.0,
        "empty": np.nan,
    }
)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, (N, 12)) + 1
    return Corpus(X, vocabulary=[f"w{i}" for i in range(12)], metadata=FRAME)


@pytest.fixture(scope="module")
def model(corpus):
    return GPTM(3, kernel=k.Categorical("party"), **QUICK).fit(corpus)


def cross_validate(corpus, **keywords):
    return gptm.cross_validate(CTM(2, **QUICK), corpus, cv=3, **keywords)


CASES = {
    "no model": (lambda m, c: gptm.align(m, "x"), ["b must be a fitted GPTM", "str"]),
    "a model of another kind": (
        lambda m, c: gptm.permutation_test({}, c),
        ["model must be a fitted GPTM or CTM", "dict", "gptm.load"],
    ),
    "a model that is not fitted": (lambda m, c: gptm.stability(CTM(2), c), ["not fitted yet"]),
    "stability on other documents": (
        lambda m, c: gptm.stability(m, c[:10]),
        ["corpus must hold the 40 training documents; got 10", "that the model was fitted to"],
    ),
    "permutations of other documents": (
        lambda m, c: gptm.permutation_test(m, c[:10]),
        ["corpus must hold the 40 training documents; got 10"],
    ),
    "resamples of one group": (
        lambda m, c: gptm.stability(m, c, groups="one"),
        ["groups must have at least two values", "got one"],
    ),
    "shuffles of a constant": (
        lambda m, c: gptm.permutation_test(m, c, k.Categorical("one")),
        ["'one' has the same value in all documents. Test a column that varies"],
    ),
    "shuffles of nothing": (
        lambda m, c: gptm.permutation_test(m, c, k.RBF("empty")),
        ["'empty' has the same value in all documents"],
    ),
    "folds of one group": (
        lambda m, c: cross_validate(c, groups="one"),
        ["groups must have at least two values", "Use another column"],
    ),
    "a split of one group": (
        lambda m, c: gptm.compare([CTM(2)], c, groups="one"),
        ["groups must have at least two values"],
    ),
    "folds of one time": (
        lambda m, c: cross_validate(c, by_time="five"),
        ["by_time must have at least 4 different values for 3 folds; got 1. Use another column"],
    ),
    "folds of three times": (
        lambda m, c: cross_validate(c, by_time=[1, 2, 3, 3] * (N // 4)),
        ["at least 4 different values for 3 folds; got 3. Use fewer folds: cv=2"],
    ),
    "no held-out documents": (
        lambda m, c: gptm.compare([CTM(2)], c, test=0),
        ["test must be a share between 0 and 1", "a number from 1 to 39", "got 0"],
    ),
    "all documents held out": (
        lambda m, c: gptm.compare([CTM(2)], c, test=40),
        ["a number from 1 to 39", "got 40"],
    ),
    "a share of all documents": (
        lambda m, c: gptm.compare([CTM(2)], c, test=1.0, groups="party"),
        ["test must be a share between 0 and 1", "got 1.0"],
    ),
    "a constant name": (
        lambda m, c: m.estimate_effects("~ one", c),
        ["'one' has the same value in all 40 documents", "Leave it out"],
    ),
    "a curve over a constant": (
        lambda m, c: m.estimate_effects("~ s(five)", c),
        ["'five' has the same value in all 40 documents"],
    ),
    "a curve over names": (
        lambda m, c: m.estimate_effects("~ s(party)", c),
        ["s(party): s() needs numbers or dates", "'left'"],
    ),
    "a curve that is too fine": (
        lambda m, c: m.estimate_effects("~ s(year, df=90)", c),
        ["s(year, df=90): s() makes a curve of 90 columns", "there are 40"],
    ),
    "a formula of nothing": (
        lambda m, c: m.estimate_effects(" ~ ", c),
        ["formula must name a column of the metadata", 'For example "~ party'],
    ),
    "a formula without a table": (
        lambda m, c: m.estimate_effects("~ party"),
        ["there are none", "Pass metadata="],
    ),
    "a namer that gives no names": (
        lambda m, c: m.label_topics(lambda words, texts: 3),
        ["function must return a text, or None for no name; got 3"],
    ),
    "a map of no model": (
        lambda m, c: gptm.plots.plot_documents("x"),
        ["model must be a fitted GPTM or CTM"],
    ),
    "a page of no model": (
        lambda m, c: gptm.report.report_data("x"),
        ["model must be a fitted GPTM or CTM"],
    ),
    "the name of dates": (
        lambda m, c: gptm.topics_over_time(m, "year"),
        ["dates must be the dates themselves", "got 'year'", "corpus.metadata['year']"],
    ),
    "a curve over one date": (
        lambda m, c: gptm.topics_over_time(m, ["2001-01-01"] * N),
        ["dates must have two different values for a curve; got one"],
    ),
    "no dates": (
        lambda m, c: gptm.topics_over_time(m, [None] * N),
        ["dates must be known for some documents; got none"],
    ),
    "text that holds no dates": (
        lambda m, c: gptm.topics_over_time(m, [None, *(["in spring"] * (N - 1))]),
        ["dates must be dates, text that holds dates, or numbers", "'in spring'", "pd.to_datetime"],
    ),
    "bins of a curve": (
        lambda m, c: gptm.topics_over_time(m, FRAME["year"], bins=3, df=2),
        ["df is for a curve, which bins do not have; got 2"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_says_what_to_do(name, model, corpus):
    ask, words = CASES[name]
    with pytest.raises(ValueError, match=r"\w") as caught:
        ask(model, corpus)
    for word in words:
        assert word in str(caught.value)


def test_a_treatment_of_one_value_is_refused_before_the_fit(corpus, monkeypatch):
    monkeypatch.setattr(CTM, "fit", lambda *given, **named: pytest.fail("fitted first"))
    with pytest.raises(ValueError, match="'one' has the same value in all 40 documents"):
        gptm.split_sample_effects(CTM(2), corpus, "~ one")


def test_one_bin_is_a_mean_over_all_documents(model):
    table = gptm.topics_over_time(model, FRAME["year"], bins=1)
    assert table["documents"].tolist() == [N] * 3
    assert table["share"].sum() == pytest.approx(1.0)


def test_one_group_may_be_asked_about_without_an_intercept(model, corpus):
    shares = model.estimate_effects("~ 0 + one", corpus).table["estimate"]
    assert shares.sum() == pytest.approx(1.0)


def test_more_topics_than_documents_work(corpus):
    few = corpus[:4]
    search = gptm.search_components(CTM(**QUICK), few, [1, 9], cv=2)
    assert np.isfinite(search.table["perplexity"]).all()
    many = CTM(9, **QUICK).fit(few)
    assert many.transform(few).shape == (4, 9)
    assert len(gptm.align(many, CTM(2, **QUICK).fit(few)).pairs) <= 2
