"""Words that no document has are one word to a fit."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from gptm import CTM
from gptm.inference.present_words import PresentWords
from gptm.inference.problem import FitProblem
from gptm.kernels.identity import NothingBound


def make_problem(X, seeds=None):
    problem = FitProblem.of(
        csr_matrix(X, dtype=float),
        NothingBound(len(X)),
        inference="sampling",
        coregionalization="free",
        topic_covariance="full",
        learn_kernel=True,
        fit_mean=True,
        smoothing=0.02,
        n_jobs=1,
    )
    problem.seeds = seeds
    return problem


def sparse_counts(n_words=12, kept=(1, 4, 9)):
    X = np.zeros((5, n_words))
    X[:, kept] = np.random.default_rng(0).integers(1, 5, (5, len(kept)))
    return X


def test_a_narrow_problem_has_one_column_for_all_absent_words():
    X = sparse_counts()
    present = PresentWords(make_problem(X), all_of_them=False)
    narrow = present.narrowed(make_problem(X))
    assert narrow.absent == 9
    assert_array_equal(narrow.counts.toarray(), np.c_[X[:, [1, 4, 9]], np.zeros(5)])
    assert_array_equal(narrow.occurs, [True, True, True, False])
    given = np.random.default_rng(1).dirichlet(np.ones(12), 2)
    topics = present.topics(given)
    assert_allclose(topics.sum(1), 1.0)
    assert_array_equal(topics[:, :3], given[:, [1, 4, 9]])
    assert present.topics("gibbs") == "gibbs"


def test_words_with_seeds_are_kept():
    X, seeds = sparse_counts(), np.zeros((12, 2))
    seeds[6, 1] = 3.0
    problem = make_problem(X, seeds)
    narrow = PresentWords(problem, all_of_them=False).narrowed(problem)
    assert narrow.absent == 8
    assert_array_equal(narrow.seeds, np.vstack([seeds[[1, 4, 6, 9]], np.zeros(2)]))


@pytest.mark.parametrize(("kept", "all_of_them"), [(range(7), False), ([1, 2], True)])
def test_problems_that_stay_as_they_are(kept, all_of_them):
    problem = make_problem(sparse_counts(kept=list(kept)))
    present = PresentWords(problem, all_of_them=all_of_them)
    assert present.narrowed(problem) is problem
    fitted = object()
    assert present.widened(fitted) is fitted


@pytest.fixture(scope="module")
def fits():
    """The same documents with two words in three absent, and with one in three."""
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(20, 0.2), 2)
    shares = rng.dirichlet([0.5, 0.5], 60)
    X = np.array([rng.multinomial(40, share @ topics) for share in shares])
    wide = np.zeros((60, 60))
    wide[:, 2::3] = X
    return wide, CTM(2, max_iter=200, random_state=0).fit(wide)


def test_a_fit_has_all_words(fits):
    X, model = fits
    assert model.components_.shape == (2, 60)
    assert_allclose(model.components_.sum(1), 1.0)
    absent = model.components_[:, X.sum(0) == 0]
    assert_allclose(absent, absent[:, :1] * np.ones(absent.shape[1]), rtol=1e-12)
    assert np.all(absent > 0)
    assert absent.sum(1).max() < 0.2
    assert model.transform(X).shape == (60, 2)


def test_absent_words_change_little(fits, monkeypatch):
    """Against a fit with a row for every word: the same posterior, by other random numbers."""
    X, narrow = fits
    monkeypatch.setattr("gptm.inference.present_words.MOST", 0.0)
    wide = CTM(2, max_iter=200, random_state=0).fit(X)
    for a, b in pairwise([narrow, wide]):
        overlap = np.minimum(a.components_[:, None], b.components_[None]).sum(-1)
        assert np.all(overlap.max(1) > 0.9)
        mass = [m.components_[:, X.sum(0) == 0].sum() for m in (a, b)]
        assert_allclose(mass[0], mass[1], rtol=0.5, atol=0.01)
