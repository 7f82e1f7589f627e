"""The dispersion of residuals, against a loop over cells and on documents simulated from the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.stats import chi2

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.findings import residuals

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def simulated(n=250, V=60, K=4, m=120, seed=0):
    """Documents of a correlated topic model, and their truth."""
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(V, 0.2), K)
    eta = rng.normal(0.0, 1.5, (n, K))
    theta = np.exp(eta) / np.exp(eta).sum(1, keepdims=True)
    return np.array([rng.multinomial(m, p) for p in theta @ beta]), theta, beta


def by_hand(theta, beta, X, tol):
    """The same cell by cell: the sum of the squares, the cells that count, the dispersion."""
    n, K = theta.shape
    total, cells = 0.0, 0
    for d in range(n):
        m = X[d].sum()
        for w in range(X.shape[1]):
            q = sum(theta[d, i] * beta[i, w] for i in range(K))
            if m > 0:
                total += (X[d, w] - m * q) ** 2 / (m * q * (1 - q))
                cells += m * q > tol
    df = cells - X.shape[1] - n * (K - 1) - K * (X.shape[1] - 1)
    return total, df


def test_a_loop_over_cells_gives_the_same(monkeypatch):
    X, theta, beta = simulated(40, 12, 2, 30)
    X[3] = 0
    for tol in (0.01, 0.5):
        total, df = by_hand(theta, beta, X, tol)
        for cells in (10**6, 50):  # in one piece, and in many
            monkeypatch.setattr(residuals, "_CELLS", cells)
            found = residuals.dispersion(theta, beta, csr_matrix(X), tol)
            assert_allclose(found.statistic, total, rtol=1e-12)
            assert found.df == df
    model = CTM(2, random_state=0, max_iter=20).fit(X)
    check = gptm.check_residuals(model, X)
    total, df = by_hand(model.doc_topics_, model.components_, X, 0.01)
    assert_allclose([check.statistic, check.dispersion], [total, total / df], rtol=1e-12)
    assert check.df == df
    assert check.p_value == chi2.sf(check.statistic, df)
    assert_allclose(check.words["excess"].sum(), total - (df + 12 + 40 + 2 * 11))


def test_the_truth_has_a_dispersion_of_one():
    """Each cell has expectation one, so the sum over all of them is their number."""
    X, theta, beta = simulated(500, 40, 4, 200)
    found = residuals.dispersion(theta, beta, csr_matrix(X), 0.0)
    assert_allclose(found.statistic / X.size, 1.0, atol=0.03)


def test_too_few_topics_have_a_larger_dispersion():
    X, _, _ = simulated()
    fits = [CTM(K, random_state=0, max_iter=150).fit(X) for K in (1, 2, 4)]
    one, two, four = (gptm.check_residuals(model, X) for model in fits)
    assert one.dispersion > two.dispersion > 1.2
    assert_allclose(four.dispersion, 1.0, atol=0.08)
    assert two.p_value < 1e-6


def test_simulations_from_the_model_tell_what_to_expect(tmp_path):
    X, _, _ = simulated(100, 40, 3, 80)
    # Other processes know nothing of the tests' short starts.
    right, wrong = (CTM(K, random_state=0, max_iter=60, init="random").fit(X) for K in (3, 1))
    check = gptm.check_residuals(right, X, simulations=9)
    assert len(check.simulated) == 9
    assert check.p_simulated > 0.1
    assert_allclose(check.simulated.mean(), check.dispersion, atol=0.1)
    found = gptm.check_residuals(wrong, X, simulations=9)
    assert found.p_simulated == 0.1  # the least that nine can give
    assert "9 corpora simulated from the model" in repr(found)
    again = gptm.check_residuals(right, X, simulations=9, n_jobs=2, checkpoint=tmp_path / "work")
    assert_array_equal(again.simulated, check.simulated)
    assert not (tmp_path / "work").exists()


def test_a_kernel_and_other_documents():
    X, _, _ = simulated(60, 30, 2, 40)
    years = np.arange(60.0) % 20
    corpus = Corpus(X, [f"w{i}" for i in range(30)], metadata={"year": years})
    model = GPTM(2, kernel=k.RBF("year"), random_state=0, max_iter=20).fit(corpus[:40])
    check = gptm.check_residuals(model, corpus[:40], simulations=2)
    assert len(check.simulated) == 2
    assert set(check.words["word"]) == set(corpus.vocabulary)
    other = gptm.check_residuals(model, corpus[40:])
    theta = model.transform(corpus[40:])
    expected = residuals.dispersion(theta, model.components_, csr_matrix(X[40:]), 0.01)
    assert other.statistic == expected.statistic


def test_bursts_of_words_are_named():
    X, _, _ = simulated(150, 40, 2, 60)
    X[::10, 7] += 30  # in some documents for no reason that topics know
    check = gptm.check_residuals(CTM(2, random_state=0, max_iter=40).fit(X), X)
    assert check.words["word"][0] == 7
    assert check.words["dispersion"][0] > 5
    assert "words that vary more than the model says: 7" in repr(check)
    assert "<td" in check._repr_html_()
    assert "residual dispersion" in check._repr_html_()


def test_more_parameters_than_cells():
    check = gptm.check_residuals(
        CTM(3, random_state=0, max_iter=5).fit([[1, 2, 0], [0, 1, 1]]), [[1, 2, 0], [0, 1, 1]]
    )
    assert check.df <= 0
    assert np.isnan(check.dispersion)
    assert np.isnan(check.p_value)
    assert "more parameters" in repr(check)
    assert "more parameters" in check._repr_html_()


@pytest.mark.parametrize(
    ("options", "said"),
    [({"tol": -1}, "tol must be"), ({"simulations": 0.5}, "simulations must be an integer")],
)
def test_what_is_wrong_is_said(options, said):
    X = [[3, 2, 0, 0], [0, 0, 3, 3]] * 5
    model = CTM(2, random_state=0, max_iter=5).fit(X)
    with pytest.raises(ValueError, match=said):
        gptm.check_residuals(model, X, **options)
