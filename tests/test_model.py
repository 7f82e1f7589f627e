"""The estimators as a whole: numbers against the naive reference, recovery, and manners."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.linalg import eigvalsh, inv
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

import naive
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.kernels import Documents
from gptm.prediction import new_documents as predict
from gptm.prediction.simulate import sample_documents
from gptm.starts.lda import LdaRun

PAPER = {"inference": "map", "coregionalization": "identity", "fit_mean": False}


def smooth(t, length_scale):
    """RBF Gram matrix, written out."""
    return np.exp(-0.5 * ((t[:, None] - t[None, :]) / length_scale) ** 2)


def small_corpus(D=14, V=11, seed=0):
    """Counts of two drifting topics, an empty document and a word that never occurs; and the time."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 10.0, D)
    beta = rng.dirichlet(np.full(V - 1, 0.4), 2)
    early = 1 / (1 + np.exp(t - 5))
    X = np.array([rng.multinomial(25, p * beta[0] + (1 - p) * beta[1]) for p in early])
    X[3] = 0
    return np.column_stack([X, np.zeros(D, dtype=int)]), pd.DataFrame({"t": t})


def large_counts(D=700, V=400, words=80, seed=0):
    """Enough tokens that the work is cut into several shards."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(V, 0.05), 6)
    theta = rng.dirichlet(np.full(6, 0.3), D)
    return csr_matrix(np.array([rng.multinomial(words, p) for p in theta @ topics]))


def fit_quietly(model, X, **data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **data)


def assert_never_falls(bound):
    assert len(bound) > 3
    assert np.isfinite(bound).all()
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all(), np.diff(bound).min()


BOTH = ["sampling", "variational"]
ALL = [*BOTH, "map"]
FITTED = ["components_", "topic_covariance_", "mean_", "doc_topics_", "doc_logits_", "bound_"]


def assert_same_model(a, b, names=FITTED):
    for name in names:
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


# Without a kernel the model is CTM


@pytest.mark.parametrize("options", [{}, {"fit_mean": False}, {"topic_covariance": "identity"}])
@pytest.mark.parametrize("inference", BOTH)
@pytest.mark.parametrize("kernel", [None, "auto"])
def test_gptm_without_a_kernel_is_ctm(kernel, inference, options):
    options = {"inference": inference, **options}
    X, metadata = small_corpus()
    ctm = fit_quietly(CTM(3, random_state=1, **options), X)
    gptm = fit_quietly(GPTM(3, kernel=kernel, random_state=1, **options), X)
    assert_same_model(gptm, ctm)
    assert_array_equal(gptm.doc_variance_, ctm.doc_variance_)
    assert_array_equal(gptm.transform(X[::-1]), ctm.transform(X[::-1]))
    assert gptm.score(X) == ctm.score(X)
    assert gptm.kernel_ is None
    assert not gptm.doc_means_.any()
    assert not gptm.coregionalization_.any()
    ignoring = fit_quietly(CTM(3, random_state=1, **options), X, metadata=metadata)
    assert_same_model(ignoring, ctm)


@pytest.mark.parametrize("inference", ALL)
@pytest.mark.parametrize("coregionalization", ["free", "shared", "identity"])
def test_no_kernel_is_ctm_whatever_the_kernel_would_do(inference, coregionalization):
    X, _ = small_corpus()
    without = "sampling" if inference == "sampling" else "variational"
    ctm = fit_quietly(CTM(3, inference=without, random_state=1), X)
    choices = {"inference": inference, "coregionalization": coregionalization}
    gptm = fit_quietly(GPTM(3, kernel=None, random_state=1, **choices), X)
    assert_same_model(gptm, ctm)
    assert_allclose(gptm.transform(X), ctm.transform(X), rtol=1e-10)


def test_a_kernel_makes_a_difference():
    X, metadata = small_corpus()
    ctm = fit_quietly(CTM(3, random_state=1), X)
    gptm = fit_quietly(GPTM(3, kernel=k.RBF("t"), random_state=1), X, metadata=metadata)
    assert np.abs(gptm.components_ - ctm.components_).max() > 1e-6
    assert np.abs(gptm.doc_means_).max() > 1e-3


def test_auto_kernel_takes_the_usable_columns_and_says_so(caplog):
    X, metadata = small_corpus()
    metadata["when"] = pd.date_range("2020-01-01", periods=len(X))
    metadata["who"] = ["ann", "bob"] * 7
    metadata["same"] = 1.0
    with caplog.at_level("INFO", logger="gptm"):
        model = fit_quietly(GPTM(2, random_state=0), X, metadata=metadata)
    assert "Matern('t')" in caplog.text
    assert "Matern('when')" in caplog.text
    assert "'who'" in caplog.text
    assert "'same'" in caplog.text
    kernel = k.Matern("t") + k.Matern("when") + k.Categorical("who")
    given = GPTM(2, kernel=kernel, random_state=0)
    assert_same_model(model, fit_quietly(given, X, metadata=metadata))


def test_auto_kernel_without_a_usable_column_is_no_kernel():
    X, _ = small_corpus()
    all_different = {"who": [f"author {i}" for i in range(14)], "list": [[i] for i in range(14)]}
    model = fit_quietly(GPTM(2, random_state=0), X, metadata=all_different)
    assert model.kernel_ is None
    assert_same_model(model, fit_quietly(CTM(2, random_state=0), X))


def test_auto_kernel_takes_columns_whose_names_are_numbers():
    X, metadata = small_corpus()
    unnamed = pd.DataFrame(metadata.to_numpy())
    model = fit_quietly(GPTM(2, random_state=0), X, metadata=unnamed)
    assert model.kernel_ is not None


# The paper's four variants


VARIANTS = {
    "SI-KI": {"kernel": k.Identity(), "topic_covariance": "identity"},
    "KI": {"kernel": k.Identity()},
    "SI": {"kernel": k.RBF("t", length_scale=2.0), "topic_covariance": "identity"},
    "full": {"kernel": k.RBF("t", length_scale=2.0)},
}


def variant_gram(name, t):
    return np.eye(len(t)) if name.endswith("KI") else smooth(t, 2.0)


@pytest.fixture(scope="module")
def variants():
    X, metadata = small_corpus()
    made = {name: GPTM(3, **PAPER, **v, random_state=0) for name, v in VARIANTS.items()}
    return {name: fit_quietly(model, X, metadata=metadata) for name, model in made.items()}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_of_the_paper_never_lower_their_bound(name, variants):
    model = variants[name]
    assert_never_falls(model.bound_)
    assert_array_equal(model.mean_, np.zeros(3))
    assert_array_equal(model.coregionalization_, np.eye(3))
    assert (name.startswith("SI")) == np.array_equal(model.topic_covariance_, np.eye(3))


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_of_the_paper_leave_F_at_the_solution_of_equation_14(name, variants):
    model = variants[name]
    _, metadata = small_corpus()
    Kxx = variant_gram(name, metadata["t"].to_numpy())
    F, Sigma, lam = model.doc_means_, model.topic_covariance_, model.doc_logits_
    assert np.abs(F).max() > 0.01
    assert_allclose(Kxx @ F + F @ Sigma, Kxx @ lam, rtol=0, atol=1e-8)
    assert_allclose(F, naive.sylvester_F(lam, model.mean_, Sigma, Kxx), rtol=0, atol=1e-7)
    assert_allclose(model.dual_coef_, (lam - F) @ inv(Sigma), rtol=1e-7, atol=1e-8)
    assert_allclose(Kxx @ model.dual_coef_, F, rtol=0, atol=1e-8)


def test_map_takes_the_kernel_as_given():
    X, metadata = small_corpus()
    kernel = 3.0 * k.RBF("t", length_scale=2.0)
    model = fit_quietly(GPTM(2, kernel=kernel, **PAPER, random_state=0), X, metadata=metadata)
    assert model.kernel_ == kernel
    Kxx = 3.0 * smooth(metadata["t"].to_numpy(), 2.0)
    F, Sigma, lam = model.doc_means_, model.topic_covariance_, model.doc_logits_
    assert_allclose(Kxx @ F + F @ Sigma, Kxx @ lam, rtol=0, atol=1e-8)


# The bound


MODES = [
    (coregionalization, covariance, mean)
    for coregionalization in ("identity", "shared", "free")
    for covariance, mean in (("full", True), ("identity", True), ("full", False))
]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(map(str, mode)))
@pytest.mark.parametrize("learn_kernel", [True, False], ids=["learnt", "given"])
@pytest.mark.parametrize("smoothing", [0.01, 0.5])
def test_variational_bound_is_that_of_the_fitted_attributes(mode, learn_kernel, smoothing):
    coregionalization, covariance, fit_mean = mode
    X, metadata = small_corpus()
    model = GPTM(
        3,
        kernel=k.RBF("t", length_scale=2.0) + k.Identity(),
        inference="variational",
        coregionalization=coregionalization,
        topic_covariance=covariance,
        fit_mean=fit_mean,
        learn_kernel=learn_kernel,
        smoothing=smoothing,
        max_iter=12,
        tol=0.0,
        random_state=0,
    )
    fit_quietly(model, X, metadata=metadata)
    weights = np.ones(2)
    if learn_kernel:
        weights = np.array([term.scale for term in model.kernel_.terms])
        assert_allclose(weights.sum(), 1.0)  # strength is defined once: B holds the rest
    Kxx = weights[0] * smooth(metadata["t"].to_numpy(), 2.0) + weights[1] * np.eye(len(X))
    expected = naive.bound_collapsed(
        X,
        model.components_,
        model.doc_logits_,
        model.doc_variance_,
        model.mean_,
        model.topic_covariance_,
        model.coregionalization_,
        Kxx,
        smoothing=smoothing,
    )
    assert_allclose(model.bound_[-1], expected, rtol=1e-10)
    assert_never_falls(model.bound_)
    mean, _ = naive.posterior_F(
        model.doc_logits_, model.mean_, model.topic_covariance_, model.coregionalization_, Kxx
    )
    assert_allclose(model.doc_means_, mean, rtol=1e-7, atol=1e-9)
    assert_allclose(Kxx @ model.dual_coef_, model.doc_means_, rtol=1e-7, atol=1e-9)
    if coregionalization == "identity":
        b = model.coregionalization_[0, 0]
        assert_allclose(model.coregionalization_, b * np.eye(3), atol=1e-12)
    elif coregionalization == "shared":
        ratio = model.coregionalization_[0, 0] / model.topic_covariance_[0, 0]
        assert_allclose(model.coregionalization_, ratio * model.topic_covariance_, atol=1e-12)
    if not learn_kernel and coregionalization != "shared":
        assert_array_equal(model.coregionalization_, np.eye(3))


@pytest.mark.parametrize("coregionalization", ["identity", "shared", "free"])
@pytest.mark.parametrize("covariance", ["full", "identity"])
@pytest.mark.parametrize("fit_mean", [True, False])
def test_map_bound_is_that_of_the_fitted_attributes(coregionalization, covariance, fit_mean):
    X, metadata = small_corpus()
    model = GPTM(
        3,
        kernel=k.RBF("t", length_scale=2.0) + k.Identity(),
        inference="map",
        coregionalization=coregionalization,
        topic_covariance=covariance,
        fit_mean=fit_mean,
        max_iter=12,
        tol=0.0,
        random_state=0,
    )
    fit_quietly(model, X, metadata=metadata)
    Kxx = smooth(metadata["t"].to_numpy(), 2.0) + np.eye(len(X))
    expected = naive.bound_map(
        X,
        model.components_,
        model.doc_logits_,
        model.doc_variance_,
        model.mean_,
        model.topic_covariance_,
        model.coregionalization_,
        Kxx,
        model.doc_means_,
        smoothing=0.01,
    )
    assert_allclose(model.bound_[-1], expected, rtol=1e-10)
    assert_never_falls(model.bound_)
    residual = model.doc_logits_ - model.mean_ - model.doc_means_
    alpha = residual @ inv(model.topic_covariance_) @ model.coregionalization_
    assert_allclose(Kxx @ alpha, model.doc_means_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("smoothing", [0.0, 0.01])
def test_ctm_bound_is_that_of_the_fitted_attributes(smoothing):
    X, _ = small_corpus()
    X = X[:, :-1]  # without smoothing a word that never occurs has probability zero
    options = {"inference": "variational", "max_iter": 12, "tol": 0.0, "random_state": 0}
    model = fit_quietly(CTM(3, smoothing=smoothing, **options), X)
    expected = naive.bound_collapsed(
        X,
        model.components_,
        model.doc_logits_,
        model.doc_variance_,
        model.mean_,
        model.topic_covariance_,
        np.zeros((3, 3)),
        np.zeros((len(X), len(X))),
        smoothing=smoothing,
    )
    assert_allclose(model.bound_[-1], expected, rtol=1e-10)
    assert_never_falls(model.bound_)


# What a fitted model looks like


@pytest.mark.parametrize("inference", ALL)
@pytest.mark.parametrize("coregionalization", ["free", "shared", "identity"])
def test_shapes_and_invariants(inference, coregionalization):
    X, metadata = small_corpus()
    D, V, K = *X.shape, 3
    model = GPTM(
        K,
        kernel=k.RBF("t"),
        inference=inference,
        coregionalization=coregionalization,
        random_state=0,
    )
    assert fit_quietly(model, X, metadata=metadata) is model
    assert model.components_.shape == (K, V)
    assert model.topic_covariance_.shape == model.coregionalization_.shape == (K, K)
    assert model.mean_.shape == (K,)
    for name in ("doc_topics_", "doc_means_", "doc_logits_", "doc_variance_", "dual_coef_"):
        assert getattr(model, name).shape == (D, K), name
    assert model.bound_.shape == (model.n_iter_,)
    assert isinstance(model.converged_, bool)
    assert model.n_features_in_ == V
    theta = model.transform(X, metadata=metadata)
    for rows in (model.components_, model.doc_topics_, theta):
        assert (rows >= 0).all()
        assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-12)
    assert (model.components_ > 0).all()
    assert (model.doc_variance_ > 0).all()
    assert_array_equal(model.topic_covariance_, model.topic_covariance_.T)
    assert eigvalsh(model.topic_covariance_).min() > 0
    assert_allclose(model.coregionalization_, model.coregionalization_.T, atol=1e-14)
    assert eigvalsh(model.coregionalization_).min() > -1e-12


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(map(str, mode)))
def test_means_of_draws_go_together_as_the_model_says(mode):
    """F is what the kernel says of the mean logits, under the mean covariances."""
    coregionalization, covariance, fit_mean = mode
    X, metadata = small_corpus()
    model = GPTM(
        3,
        kernel=k.RBF("t", length_scale=2.0) + k.Identity(),
        coregionalization=coregionalization,
        topic_covariance=covariance,
        fit_mean=fit_mean,
        random_state=0,
    )
    fit_quietly(model, X, metadata=metadata)
    weights = np.array([term.scale for term in model.kernel_.terms])
    assert_allclose(weights.sum(), 1.0)  # strength is defined once: B holds the rest
    Kxx = weights[0] * smooth(metadata["t"].to_numpy(), 2.0) + weights[1] * np.eye(len(X))
    mean, _ = naive.posterior_F(
        model.doc_logits_, model.mean_, model.topic_covariance_, model.coregionalization_, Kxx
    )
    assert_allclose(model.doc_means_, mean, rtol=1e-7, atol=1e-9)
    assert_allclose(Kxx @ model.dual_coef_, model.doc_means_, rtol=1e-7, atol=1e-9)
    assert_allclose(model.doc_logits_.sum(1), 0.0, atol=1e-10)
    B = model.coregionalization_
    if coregionalization == "identity":
        assert_allclose(B, B[0, 0] * np.eye(3), atol=1e-12)
    if covariance == "identity":
        assert_allclose(model.topic_covariance_, np.eye(3), atol=1e-12)
    if not fit_mean:
        assert_array_equal(model.mean_, np.zeros(3))


def theta_on_a_grid(x, beta, mean, Sigma):
    """Mean, spread and quantiles of the three proportions of a document: its prior times its words, point by point."""
    H = np.linalg.svd(np.eye(3) - 1 / 3)[0][:, :2]  # a shift common to all topics changes nothing
    axis = np.linspace(-7.0, 7.0, 301)
    white = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    theta = softmax((H.T @ mean + white @ np.linalg.cholesky(H.T @ Sigma @ H).T) @ H.T, axis=1)
    log_weights = np.log(theta @ beta[:, x > 0]) @ x[x > 0] - 0.5 * (white**2).sum(1)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    expected, quantiles = weights @ theta, []
    for topic in theta.T:
        order = np.argsort(topic)
        quantiles.append(np.interp([0.05, 0.95], np.cumsum(weights[order]), topic[order]))
    spread = np.sqrt(weights @ (theta - expected) ** 2)
    return expected, spread, np.array(quantiles).T


def test_documents_own_topics_are_expected_given_their_words():
    X, metadata = small_corpus()
    model = GPTM(3, kernel=k.RBF("t"), doc_points=1024, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    prior, draws = model.mean_ + model.doc_means_, model.fitted_.topic_draws.beta_T
    for d in (0, 3):
        found = [
            theta_on_a_grid(X[d], beta_T.T, prior[d], model.topic_covariance_)[0]
            for beta_T in draws
        ]
        assert_allclose(model.doc_topics_[d], np.mean(found, axis=0), atol=1e-3)


def test_documents_own_topics_are_the_expected_softmax():
    X, metadata = small_corpus()
    model = GPTM(3, kernel=k.RBF("t"), inference="variational", random_state=0)
    fit_quietly(model, X, metadata=metadata)
    for d in (0, 3):
        lam, nu2 = model.doc_logits_[d], model.doc_variance_[d]
        assert_allclose(model.doc_topics_[d], naive.expected_softmax(lam, nu2), atol=3e-3)


# New documents


@pytest.mark.parametrize("doc_points", [64, 0])
@pytest.mark.parametrize("model", [CTM(3), GPTM(3, kernel=k.RBF("t"))], ids=["CTM", "GPTM"])
def test_each_new_document_is_taken_on_its_own(model, doc_points):
    X, metadata = small_corpus()
    new, later = small_corpus(seed=1)
    model.set_params(doc_points=doc_points, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    together = model.transform(new, metadata=later)
    assert_allclose(together[:2], model.transform(new[:2], metadata=later[:2]), rtol=1e-10)
    order = np.random.default_rng(0).permutation(len(new))
    shuffled = model.transform(new[order], metadata=later.iloc[order])
    assert_allclose(shuffled, together[order], rtol=1e-10)


@pytest.mark.parametrize("inference", BOTH)
def test_new_documents_follow_the_naive_prediction(inference):
    X, metadata = small_corpus()
    kernel = k.RBF("t", length_scale=2.0)
    model = GPTM(3, kernel=kernel, inference=inference, doc_points=1024, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    t, new = metadata["t"].to_numpy(), np.array([0.5, 4.0, 9.5])
    Ktx = np.exp(-0.5 * ((new[:, None] - t[None, :]) / 2.0) ** 2)
    mean, cov = naive.predict_eta(
        model.doc_logits_,
        model.mean_,
        model.topic_covariance_,
        model.coregionalization_,
        smooth(t, 2.0),
        Ktx,
        np.ones(3),
    )
    nothing, words = np.zeros((3, X.shape[1])), X[[0, 5, 9]]
    for counts in (nothing, words):
        theta, std, quantiles = model.transform(
            counts, metadata={"t": new}, return_std=True, quantiles=(0.05, 0.95)
        )
        assert_array_equal(theta, model.transform(counts, metadata={"t": new}))
        for d in range(3):
            expected = theta_on_a_grid(counts[d], model.components_, mean[d], cov[d])
            assert_allclose(theta[d], expected[0], atol=3e-3)
            assert_allclose(std[d], expected[1], rtol=0.05)
            assert_allclose(quantiles[:, d], expected[2], atol=0.03)
    theta = model.set_params(doc_points=0).transform(nothing, metadata={"t": new})
    for d in range(3):  # q(eta) of a document without words: the mean, and 1 / diag(precision)
        nu2 = 1 / np.diag(inv(cov[d]))
        assert_allclose(theta[d], naive.expected_softmax(mean[d], nu2), atol=3e-3)


@pytest.mark.parametrize("model", [CTM(3), GPTM(3, kernel=k.RBF("t"))], ids=["CTM", "GPTM"])
def test_how_far_proportions_may_be_off(model):
    X, metadata = small_corpus()
    fit_quietly(model.set_params(random_state=0), X, metadata=metadata)
    theta = model.transform(X, metadata=metadata)
    with_std = model.transform(X, metadata=metadata, return_std=True)
    middle = model.transform(X, metadata=metadata, quantiles=0.5)
    levels = (0.95, 0.05, 0.5)
    both = model.transform(X, metadata=metadata, return_std=True, quantiles=levels)
    assert [len(one) for one in (with_std, middle, both)] == [2, 2, 3]
    for found in (with_std, middle, both):
        assert_array_equal(found[0], theta)
    std, (high, low, median) = both[1:]
    assert_array_equal(std, with_std[1])
    assert_array_equal(median, middle[1][0])
    assert (std > 0).all()
    assert ((low >= 0) & (low < median) & (median < high) & (high <= 1)).all()
    without_words = model.transform(0 * X, metadata=metadata, return_std=True)[1]
    assert without_words.mean() > 1.1 * std.mean()
    for wrong in ((), 1.5, (0.05, 1.0), ("low",)):
        with pytest.raises(ValueError, match="quantiles must be probabilities"):
            model.transform(X, metadata=metadata, quantiles=wrong)


def test_more_points_come_nearer():
    X, metadata = small_corpus(D=40)
    model = fit_quietly(GPTM(3, kernel=k.RBF("t"), random_state=0), X, metadata=metadata)
    best, *others = (
        model.set_params(doc_points=n).transform(X, metadata=metadata) for n in (4096, 512, 64, 8)
    )
    off = [np.sqrt(np.mean((one - best) ** 2)) for one in others]
    assert off[0] < off[1] < off[2]
    assert off[1] < 0.02
    for wrong in (-1, 2.5, "many"):
        with pytest.raises((ValueError, TypeError), match="doc_points"):
            model.set_params(doc_points=wrong).transform(X, metadata=metadata)


@pytest.mark.parametrize("inference", ALL)
def test_documents_without_words_follow_their_metadata(inference):
    X, metadata = small_corpus(D=40)
    kernel = k.RBF("t", length_scale=2.0)
    model = GPTM(2, kernel=kernel, inference=inference, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    nothing = np.zeros((3, X.shape[1]))
    early, late, again = model.transform(nothing, metadata={"t": [0.5, 9.5, 0.5]})
    assert np.abs(early - late).max() > 0.2
    assert_allclose(early, again, atol=1e-8)
    topic = model.transform(X, metadata=metadata)[np.argmin(metadata["t"])].argmax()
    assert early[topic] > late[topic]


@pytest.mark.parametrize("inference", ALL)
def test_documents_without_words_and_metadata_share_one_prior(inference):
    X, metadata = small_corpus()
    model = GPTM(3, kernel=k.RBF("t"), inference=inference, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    with pytest.warns(UserWarning, match="falls back to the prior"):
        theta = model.transform(np.zeros((4, X.shape[1])))
    assert_allclose(theta, np.tile(theta[0], (4, 1)), rtol=1e-12)
    missing = {"t": [np.nan] * 4}
    assert_allclose(model.transform(np.zeros((4, X.shape[1])), metadata=missing), theta, rtol=1e-12)
    far = model.transform(np.zeros((1, X.shape[1])), metadata={"t": [1e6]})
    assert_allclose(far[0], theta[0], rtol=1e-9)


def test_map_solves_new_documents_jointly_as_the_paper_does():
    X, metadata = small_corpus(D=20)
    kernel = k.Matern("t", nu=0.5, length_scale=2.0)  # rough: training leaves much open
    model = fit_quietly(GPTM(2, kernel=kernel, **PAPER, random_state=0), X, metadata=metadata)
    new, later = small_corpus(D=6, seed=1)
    together = model.transform(new, metadata=later)
    alone = np.vstack(
        [model.transform(new[d : d + 1], metadata=later.iloc[d : d + 1]) for d in range(6)]
    )
    assert np.abs(together - alone).max() > 1e-5
    assert_allclose(together.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    "make", [csr_matrix, np.asarray, np.float32, pd.DataFrame, np.ndarray.tolist]
)
def test_counts_may_come_in_any_container(make):
    X, metadata = small_corpus()
    reference = fit_quietly(GPTM(2, kernel=k.RBF("t"), random_state=0), X, metadata=metadata)
    data = pd.DataFrame(X, columns=list("abcdefghijk")) if make is pd.DataFrame else make(X)
    model = fit_quietly(GPTM(2, kernel=k.RBF("t"), random_state=0), data, metadata=metadata)
    assert_same_model(model, reference)
    assert_array_equal(
        model.transform(data, metadata=metadata), reference.transform(X, metadata=metadata)
    )


def test_metadata_may_be_a_dict_and_its_index_does_not_matter():
    X, metadata = small_corpus()
    reference = fit_quietly(GPTM(2, kernel=k.RBF("t"), random_state=0), X, metadata=metadata)
    shuffled_index = metadata.set_index(np.arange(len(X))[::-1])
    for same in (shuffled_index, {"t": list(metadata["t"])}, {"t": metadata["t"].to_numpy()}):
        model = fit_quietly(GPTM(2, kernel=k.RBF("t"), random_state=0), X, metadata=same)
        assert_same_model(model, reference)


def test_fit_leaves_the_data_alone():
    X, metadata = small_corpus()
    counts, copy, frame = csr_matrix(X.astype(float)), csr_matrix(X.astype(float)), metadata.copy()
    counts.data.flags.writeable = False
    model = fit_quietly(GPTM(2, kernel=k.RBF("t"), random_state=0), counts, metadata=metadata)
    model.score(counts, metadata=metadata)
    model.transform(counts, metadata=metadata)
    assert_array_equal(counts.toarray(), copy.toarray())
    pd.testing.assert_frame_equal(metadata, frame)


# Recovery


@pytest.mark.parametrize("seed", [2, 4])
@pytest.mark.parametrize(("inference", "max_iter"), [("sampling", 600), ("variational", 1000)])
def test_recovers_topics_covariance_and_means_of_a_sampled_corpus(inference, max_iter, seed):
    D, V, K = 300, 60, 3
    rng = np.random.RandomState(seed)
    t = np.sort(rng.uniform(0.0, 10.0, D))
    beta = rng.dirichlet(np.full(V, 0.1), K)
    mu = np.array([0.3, 0.0, -0.3])
    Sigma = np.array([[0.5, 0.3, -0.2], [0.3, 0.5, -0.2], [-0.2, -0.2, 0.4]])
    B = np.array([[1.5, -0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 0.8]])
    counts, latent = sample_documents(
        beta, mu, Sigma, lengths=np.full(D, 150), B=B, Kxx=smooth(t, 1.5), rng=rng
    )
    options = {"inference": inference, "max_iter": max_iter, "tol": 1e-6, "random_state": 0}
    model = GPTM(K, kernel=k.RBF("t", length_scale=1.5), **options)
    fit_quietly(model, counts, metadata={"t": t})
    assert model.converged_ or inference == "sampling"

    distance = 0.5 * np.abs(beta[:, None, :] - model.components_[None, :, :]).sum(axis=2)
    _, order = linear_sum_assignment(distance)
    assert distance[np.arange(K), order].max() < 0.06

    # Words cannot see a shift common to all topics: compare contrasts.
    centre = np.eye(K) - 1 / K
    F = (model.doc_means_ + model.mean_)[:, order] @ centre
    true_F = (latent.F + mu) @ centre
    spread, true_spread = F - F.mean(axis=0), true_F - true_F.mean(axis=0)
    assert np.corrcoef(spread.ravel(), true_spread.ravel())[0, 1] > 0.95
    assert np.sqrt(np.mean((F - true_F) ** 2)) < 0.3

    found = centre @ model.topic_covariance_[np.ix_(order, order)] @ centre
    residual = (latent.eta - latent.F - mu) @ centre
    truth = residual.T @ residual / D  # of this very draw
    assert np.linalg.norm(found - truth) < 0.2 * np.linalg.norm(truth)

    assert np.abs(model.doc_topics_[:, order] - latent.theta).mean() < 0.04


# Sampling


def test_doc_tol_trades_accuracy_for_time():
    X, metadata = small_corpus(D=40)
    model = GPTM(3, kernel=k.RBF("t"), inference="variational", doc_points=0, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    exact = model.set_params(doc_tol=0.0).transform(X, metadata=metadata)
    fine, coarse = (
        np.abs(model.set_params(doc_tol=tol).transform(X, metadata=metadata) - exact).max()
        for tol in (1e-7, 10.0)
    )
    assert fine < 1e-3
    assert fine < coarse < 0.1
    for wrong in (-1.0, np.nan, "fast"):
        with pytest.raises((ValueError, TypeError), match="doc_tol"):
            model.set_params(doc_tol=wrong).transform(X, metadata=metadata)


@pytest.fixture(scope="module")
def sampled_from():
    X, metadata = small_corpus(D=30)
    corpus = Corpus(X, [f"word{w}" for w in range(X.shape[1])], metadata=metadata)
    kernel = k.RBF("t", length_scale=2.0)
    return fit_quietly(GPTM(2, kernel=kernel, random_state=0), corpus)


def test_sample_draws_a_corpus(sampled_from):
    metadata = pd.DataFrame({"t": np.linspace(0, 10, 20)})
    corpus = sampled_from.sample(20, metadata=metadata, n_words=35, random_state=3)
    assert isinstance(corpus, Corpus)
    assert corpus.shape == (20, 11)
    assert_array_equal(np.asarray(corpus.counts.sum(axis=1)).ravel(), 35)
    assert list(corpus.vocabulary) == [f"word{w}" for w in range(11)]
    pd.testing.assert_frame_equal(corpus.metadata, metadata)
    refitted = fit_quietly(GPTM(2, kernel=k.RBF("t"), random_state=0), corpus)  # closes the circle
    assert refitted.doc_topics_.shape == (20, 2)


def test_sample_takes_lengths_per_document(sampled_from):
    corpus = sampled_from.sample(3, metadata={"t": [0, 1, 2]}, n_words=[0, 5, 9], random_state=0)
    assert np.asarray(corpus.counts.sum(axis=1)).ravel().tolist() == [0, 5, 9]


def test_sample_is_seeded(sampled_from):
    metadata = {"t": np.linspace(0, 10, 20)}
    draws = [
        sampled_from.sample(20, metadata=metadata, random_state=seed).counts.toarray()
        for seed in (0, 0, 1)
    ]
    assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


def test_sample_returns_what_was_drawn_on_the_way(sampled_from):
    t = np.linspace(0.0, 10.0, 400)
    corpus, latent = sampled_from.sample(
        400, metadata={"t": t}, n_words=400, random_state=0, return_latent=True
    )
    assert latent.F.shape == latent.eta.shape == latent.theta.shape == (400, 2)
    assert_allclose(latent.theta.sum(axis=1), 1.0, rtol=1e-12)
    # Neighbours in time have nearly the same F, and eta scatters around mean + F with Sigma.
    assert np.abs(np.diff(latent.F, axis=0)).max() < 0.1 * (1 + np.abs(latent.F).max())
    noise = latent.eta - latent.F - sampled_from.mean_
    Sigma = sampled_from.topic_covariance_
    assert_allclose(noise.T @ noise / 400, Sigma, atol=0.25 * np.trace(Sigma))
    expected = latent.theta @ sampled_from.components_ * 400
    assert np.corrcoef(corpus.counts.toarray().ravel(), expected.ravel())[0, 1] > 0.98


def test_sample_needs_the_metadata_of_the_kernel(sampled_from):
    with pytest.raises(ValueError, match="metadata") as error:
        sampled_from.sample(5)
    assert "RBF('t'" in str(error.value)
    assert "5" in str(error.value)


def test_sample_names_what_is_wrong(sampled_from):
    metadata = {"t": [0.0, 1.0, 2.0]}
    with pytest.raises(ValueError, match=r"(?s)n_documents.*0"):
        sampled_from.sample(0, metadata=metadata)
    with pytest.raises(ValueError, match=r"(?s)expected 5.*got 3"):
        sampled_from.sample(5, metadata=metadata)
    with pytest.raises(ValueError, match="n_words"):
        sampled_from.sample(3, metadata=metadata, n_words=-1)
    with pytest.raises(ValueError, match=r"(?s)n_words.*3.*2"):
        sampled_from.sample(3, metadata=metadata, n_words=[4, 5])


@pytest.mark.parametrize("model", [CTM(2), GPTM(2, kernel=None), GPTM(2, kernel=k.Identity())])
def test_sample_without_side_information_needs_none(model):
    X, _ = small_corpus()
    corpus = fit_quietly(model.set_params(random_state=0), X).sample(7, n_words=3, random_state=0)
    assert corpus.shape == (7, 11)
    assert corpus.vocabulary is None


# Starts


@pytest.mark.parametrize("init", ["gibbs", "spectral", "random"])
@pytest.mark.parametrize("model", [CTM(3), GPTM(3, kernel=k.RBF("t"))], ids=["CTM", "GPTM"])
def test_every_start_is_seeded_and_never_lowers_the_bound(init, model):
    X, metadata = small_corpus(D=40, V=20)
    model.set_params(init=init, inference="variational", tol=1e-5, random_state=0)
    first = fit_quietly(model, X, metadata=metadata)
    assert_never_falls(first.bound_)
    bound = first.bound_.copy()
    again = fit_quietly(model, X, metadata=metadata)
    assert_array_equal(again.bound_, bound)


@pytest.mark.parametrize("init", ["gibbs", "spectral", "random"])
@pytest.mark.parametrize("model", [CTM(3), GPTM(3, kernel=k.RBF("t"))], ids=["CTM", "GPTM"])
def test_chains_are_seeded_whatever_their_start(init, model):
    X, metadata = small_corpus(D=40, V=20)
    model.set_params(init=init, random_state=0)
    bound = fit_quietly(model, X, metadata=metadata).bound_.copy()
    assert np.isfinite(bound).all()
    assert len(bound) == model.n_iter_ == 40
    assert_array_equal(fit_quietly(model, X, metadata=metadata).bound_, bound)
    other = fit_quietly(model.set_params(random_state=1), X, metadata=metadata)
    assert (other.bound_ != bound).any()


def test_spectral_start_does_not_depend_on_the_seed():
    X, _ = small_corpus(D=40, V=20)
    options = {"init": "spectral", "inference": "variational"}
    models = [fit_quietly(CTM(3, random_state=s, **options), X) for s in (0, 1)]
    assert_same_model(*models)


def test_topics_can_be_given_as_the_start():
    X, _ = small_corpus(D=40, V=20)
    topics = np.random.default_rng(0).gamma(1.0, size=(3, 20))
    before = topics.copy()
    em = {"inference": "variational"}
    model = fit_quietly(CTM(3, init=topics, random_state=0, **em), X)
    other_seed = fit_quietly(CTM(3, init=topics, random_state=1, **em), X)
    scaled = fit_quietly(CTM(3, init=topics * 7.0, **em), X)
    permuted = fit_quietly(CTM(3, init=topics[[2, 0, 1]], **em), X)
    assert_array_equal(topics, before)
    assert_same_model(model, other_seed)  # nothing is random any more
    assert_allclose(scaled.components_, model.components_, rtol=1e-6)
    assert_allclose(permuted.components_, model.components_[[2, 0, 1]], rtol=1e-6)
    assert_allclose(permuted.bound_, model.bound_, rtol=1e-9)


def test_a_chain_keeps_the_order_of_the_topics_it_was_given():
    X, _ = small_corpus(D=60, V=20)
    topics = fit_quietly(CTM(2, random_state=0), X).components_
    before = topics.copy()
    for order in ([0, 1], [1, 0]):
        model = fit_quietly(CTM(2, init=topics[order], random_state=1), X)
        distance = np.abs(model.components_[:, None] - topics[None]).sum(2)
        assert distance.argmin(1).tolist() == order
    assert_array_equal(topics, before)


def test_a_fitted_models_topics_are_a_good_start():
    X, _ = small_corpus(D=40, V=20)
    options = {"inference": "variational", "tol": 1e-6}
    first = fit_quietly(CTM(3, random_state=0, **options), X)
    second = fit_quietly(CTM(3, init=first.components_, **options), X)
    assert second.bound_[-1] == pytest.approx(first.bound_[-1], rel=5e-3)
    fresh = fit_quietly(CTM(3, init="random", random_state=0, **options), X)
    assert second.bound_[0] > fresh.bound_[0]


# Going on


def test_warm_start_goes_on_where_the_last_fit_stopped():
    X, metadata = small_corpus(D=60, V=20)
    options = {"kernel": k.RBF("t"), "tol": 1e-5, "random_state": 0, "inference": "variational"}
    model = fit_quietly(GPTM(3, max_iter=6, warm_start=True, **options), X, metadata=metadata)
    stopped_at = model.bound_[-1]
    assert not model.converged_
    model.set_params(max_iter=500).fit(X, metadata=metadata)
    assert model.converged_
    assert model.bound_[0] >= stopped_at - 1e-9 * abs(stopped_at)
    assert_never_falls(model.bound_)
    scratch = GPTM(3, max_iter=500, **options).fit(X, metadata=metadata)
    assert model.n_iter_ < scratch.n_iter_
    assert model.bound_[-1] == pytest.approx(scratch.bound_[-1], rel=1e-3)


@pytest.mark.parametrize("coregionalization", ["free", "shared", "identity"])
@pytest.mark.parametrize("inference", ["variational", "map"])
def test_warm_start_never_steps_back(inference, coregionalization):
    X, metadata = small_corpus(D=30)
    model = GPTM(
        2,
        kernel=2.0 * k.RBF("t"),
        inference=inference,
        coregionalization=coregionalization,
        max_iter=4,
        tol=0.0,
        warm_start=True,
        random_state=0,
    )
    fit_quietly(model, X, metadata=metadata)
    bounds = [model.bound_]
    for _ in range(3):
        bounds.append(fit_quietly(model, X, metadata=metadata).bound_)
    assert_never_falls(np.concatenate(bounds))


def test_warm_start_converged_stays_converged():
    X, metadata = small_corpus(D=60)
    options = {"inference": "variational", "tol": 1e-5, "max_iter": 500, "warm_start": True}
    model = GPTM(2, kernel=k.RBF("t"), random_state=0, **options)
    first = model.fit(X, metadata=metadata).components_.copy()
    model.fit(X, metadata=metadata)
    assert model.n_iter_ <= 5
    assert_allclose(model.components_, first, atol=5e-3)


@pytest.mark.parametrize("inference", ALL)
def test_warm_start_goes_on_from_another_inference(inference):
    X, metadata = small_corpus(D=60, V=20)
    model = GPTM(2, kernel=k.RBF("t"), inference=inference, warm_start=True, random_state=0)
    topics = fit_quietly(model, X, metadata=metadata).components_.copy()
    for other in ALL:
        fit_quietly(model.set_params(inference=other), X, metadata=metadata)
        moved = 0.5 * np.abs(model.components_ - topics).sum(axis=1)
        assert moved.max() < 0.25  # the topics keep their places
        assert (
            (model.fitted_.draws is None) == (model.diagnostics_ is None) == (other != "sampling")
        )


@pytest.mark.parametrize("inference", BOTH)
@pytest.mark.parametrize("model", [CTM(3), GPTM(3, kernel=k.RBF("t"))], ids=["CTM", "GPTM"])
def test_warm_start_takes_another_number_of_documents(model, inference):
    X, metadata = small_corpus(D=60, V=20)
    model.set_params(warm_start=True, random_state=0, tol=1e-6, inference=inference)
    fit_quietly(model, X[:40], metadata=metadata[:40])
    topics = model.components_.copy()
    fit_quietly(model, X, metadata=metadata)
    assert model.doc_topics_.shape == (60, 3)
    if inference == "variational":
        assert_never_falls(model.bound_)
    moved = 0.5 * np.abs(model.components_ - topics).sum(axis=1)
    fresh = fit_quietly(CTM(3, inference=inference, random_state=1), X)
    anew = 0.5 * np.abs(fresh.components_ - topics).sum(axis=1)
    assert moved.max() < anew.max()  # the topics keep their places


def test_warm_start_with_another_number_of_topics_or_words_is_refused():
    X, _ = small_corpus()
    model = fit_quietly(CTM(3, warm_start=True, random_state=0), X)
    with pytest.raises(ValueError, match=r"(?s)3 topics.*n_components.*4.*warm_start=False"):
        model.set_params(n_components=4).fit(X)
    with pytest.raises(ValueError, match="features"):
        model.set_params(n_components=3).fit(X[:, 1:])
    model.set_params(n_components=4, warm_start=False)
    assert fit_quietly(model, X[:, 1:]).components_.shape == (4, 10)


@pytest.mark.parametrize("inference", BOTH)
def test_warm_start_obeys_changed_parameters(inference):
    X, metadata = small_corpus()
    options = {"inference": inference, "warm_start": True, "max_iter": 5, "tol": 0.0}
    model = GPTM(3, kernel=k.RBF("t"), random_state=0, **options)
    fit_quietly(model, X, metadata=metadata)
    fit_quietly(model.set_params(topic_covariance="identity"), X, metadata=metadata)
    assert_allclose(model.topic_covariance_, np.eye(3), rtol=0, atol=1e-14)


# Manners


def test_callback_sees_every_iteration_and_can_stop():
    X, _ = small_corpus()
    seen = []

    def callback(iteration, state):
        seen.append((iteration, state.bound, state.components.shape))
        return iteration == 3

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # it was the user's own wish
        model = CTM(3, inference="variational", tol=0.0, callback=callback, random_state=0).fit(X)
    assert [iteration for iteration, _, _ in seen] == [1, 2, 3]
    assert_array_equal([bound for _, bound, _ in seen], model.bound_)
    assert seen[0][2] == (3, X.shape[1])
    assert model.n_iter_ == 3
    assert not model.converged_
    assert model.doc_topics_.shape == (len(X), 3)


@pytest.mark.parametrize("n_chains", [1, 3])
@pytest.mark.parametrize("last", [1, 3, 10, 24])
def test_callback_sees_every_sweep_and_can_stop(last, n_chains):
    X, metadata = small_corpus()
    seen = []

    def callback(sweep, state):
        seen.append((sweep, state.log_density, state.limit))
        return sweep == last

    model = GPTM(3, kernel=k.RBF("t"), n_chains=n_chains, callback=callback, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # it was the user's own wish
        model.fit(X, metadata=metadata)
    assert [sweep for sweep, _, _ in seen] == list(range(1, last + 1))
    assert_array_equal([density for _, density, _ in seen], model.bound_)
    assert {limit for _, _, limit in seen} == {40}
    assert model.n_iter_ == last
    assert model.stop_reason_ == "callback"
    assert model.converged_ is False
    assert model.doc_topics_.shape == (len(X), 3)
    assert_allclose(model.components_.sum(1), 1.0)
    assert len(model.effects("t", n_points=3)) == 9
    assert list(model.diagnostics_["quantity"]) == ["log_density", "share", "effect"]


@pytest.mark.parametrize("inference", BOTH)
def test_callback_that_returns_nothing_changes_nothing(inference):
    X, _ = small_corpus()
    options = {"inference": inference, "random_state": 0}
    silent = fit_quietly(CTM(3, **options), X)
    watched = fit_quietly(CTM(3, callback=lambda i, state: None, **options), X)
    assert_same_model(watched, silent)


@pytest.mark.parametrize("n_chains", [1, 2])
@pytest.mark.parametrize("inference", BOTH)
def test_an_error_in_the_callback_comes_through(inference, n_chains):
    X, _ = small_corpus()

    def callback(iteration, state):
        raise ZeroDivisionError("mine")

    model = CTM(3, inference=inference, n_chains=n_chains, callback=callback, random_state=0)
    with pytest.raises(ZeroDivisionError, match="mine"):
        model.fit(X)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("inference", BOTH)
def test_verbose_shows_iteration_bound_change_and_time(inference, capsys):
    X, _ = small_corpus()
    options = {"inference": inference, "verbose": True}
    model = fit_quietly(CTM(3, max_iter=4, tol=0.0, random_state=0, **options), X)
    lines = [line for line in capsys.readouterr().out.splitlines() if "iteration " in line]
    assert len(lines) == model.n_iter_ == 4
    for number, line in enumerate(lines, start=1):
        match = re.search(r"iteration +(\d+) +bound +(\S+) +change +(\S*) +([\d.]+) s", line)
        assert match, line
        assert int(match[1]) == number
        assert float(match[2]) == pytest.approx(model.bound_[number - 1], abs=1e-3)
        if number > 1:
            change = model.bound_[number - 1] / model.bound_[number - 2] - 1
            sign = 1 if model.bound_[number - 1] > 0 else -1
            assert float(match[3]) == pytest.approx(sign * change, rel=0.02)
    assert "max_iter" in fit_output(capsys, CTM(3, max_iter=2, tol=0.0, **options), X)
    if inference == "variational":
        assert "converged" in fit_output(capsys, CTM(3, tol=0.1, **options), X)


def fit_output(capsys, model, X):
    fit_quietly(model.set_params(random_state=0), X)
    return capsys.readouterr().out


def test_quiet_by_default(capfd):
    X, metadata = small_corpus()
    fit_quietly(GPTM(3, kernel=k.RBF("t"), random_state=0), X, metadata=metadata)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("model", [CTM(3), GPTM(3, kernel=k.RBF("t"))], ids=["CTM", "GPTM"])
def test_stopping_early_warns_and_says_what_to_do(model):
    X, metadata = small_corpus()
    model.set_params(inference="variational", max_iter=2, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, metadata=metadata)
    (warning,) = caught
    for words in ("in 2 iterations", "Increase max_iter", "tol"):
        assert words in str(warning.message)
    assert warning.filename == __file__
    assert not model.converged_
    assert model.n_iter_ == 2


def test_converged_fit_does_not_warn():
    X, _ = small_corpus()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CTM(3, inference="variational", random_state=0, max_iter=1000).fit(X)
    assert model.converged_
    assert model.stop_reason_ == "converged"
    assert model.diagnostics_ is None
    change = abs(model.bound_[-1] - model.bound_[-2])
    assert change <= model.tol * abs(model.bound_[-2])
    assert model.n_iter_ < 1000


@pytest.mark.parametrize("max_iter", [2, 8])
def test_a_short_chain_warns_and_says_what_to_do(max_iter):
    X, metadata = small_corpus()
    model = GPTM(3, kernel=k.RBF("t"), max_iter=max_iter, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, metadata=metadata)
    (warning,) = caught
    for words in (f"{max_iter} sweeps", f"max_iter={4 * max_iter}", "diagnostics_"):
        assert words in str(warning.message)
    assert "nan" not in str(warning.message)
    assert warning.filename == __file__
    assert model.stop_reason_ == "max_iter"
    assert not model.converged_
    assert model.n_iter_ == max_iter


def plain_corpus(D=60):
    """Two groups that differ, and words that say at once which of two topics they are about."""
    rng = np.random.default_rng(0)
    group = np.arange(D) % 2
    share = 1 / (1 + np.exp(-(4 * group - 2 + 2 * rng.normal(size=D))))
    topics = np.kron(np.eye(2), np.full((1, 4), 1 / 4))
    X = np.array([rng.multinomial(100, [p, 1 - p] @ topics) for p in share])
    return X, pd.DataFrame({"g": np.array(["a", "b"])[group]})


@pytest.mark.full_chains
def test_chains_end_when_they_have_enough_draws():
    X, metadata = plain_corpus()
    model = GPTM(2, kernel=k.Categorical("g"), n_chains=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, metadata=metadata)
    assert model.converged_
    assert model.stop_reason_ == "converged"
    assert model.n_iter_ < 2000
    table = model.diagnostics_
    assert list(table.columns) == ["quantity", "ess", "rhat", "ess_worst", "rhat_worst"]
    assert (table["ess_worst"] <= table["ess"]).all()
    assert (table["rhat_worst"] >= table["rhat"]).all()
    assert table["quantity"].tolist() == ["log_density", "share", "effect"]
    assert (table["ess"] >= 100).all()
    assert (table["rhat"] <= 1.05).all()


def test_draws_are_those_of_the_second_half():
    X, metadata = small_corpus()
    model = GPTM(3, kernel=k.RBF("t"), max_iter=60, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    assert model.fitted_.draws.n == 30
    assert model.n_iter_ == 60
    assert_array_equal(model.fitted_.watched["log_density"][0], model.bound_[30:])
    assert model.fitted_.watched["share"].shape == (1, 30, 3)
    assert_allclose(model.fitted_.watched["share"].sum(2), 1.0)
    assert_allclose(model.components_.sum(1), 1.0)


# Several chains


def test_chains_agree_on_what_is_plain():
    X, metadata = plain_corpus()
    model = GPTM(2, kernel=k.Categorical("g"), n_chains=4, max_iter=200, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    assert model.n_iter_ == len(model.bound_)
    assert sorted(set(model.fitted_.draws.chain)) == [0, 1, 2, 3]
    for values in model.fitted_.watched.values():
        assert len(values) == 4
    by_chain = model.fitted_.watched["share"].mean(1)
    assert_allclose(by_chain, np.tile(by_chain[0], (4, 1)), atol=0.01)  # topics in one order
    assert (model.diagnostics_["rhat"] < 1.2).all()
    effects = model.effects("g", at="a", versus="b")["contrast"]
    assert np.abs(effects).min() > 1.0  # chains of another order would cancel each other


def test_the_first_of_several_chains_is_the_one_alone():
    """The same draws, of which fewer are kept."""
    X, metadata = small_corpus()
    alone, first = (
        fit_quietly(
            GPTM(
                3, kernel=k.RBF("t", length_scale=2.0), n_chains=n, init="spectral", random_state=0
            ),
            X,
            metadata=metadata,
        )
        for n in (1, 3)
    )
    assert_array_equal(first.bound_, alone.bound_)
    assert_array_equal(first.fitted_.watched["share"][0], alone.fitted_.watched["share"][0])
    others = first.fitted_.watched["share"][1:]
    assert all((one != first.fitted_.watched["share"][0]).any() for one in others)


@pytest.mark.parametrize(
    "model",
    [
        CTM(6),
        CTM(6, inference="variational"),
        GPTM(6, kernel=k.RBF("t")),
        GPTM(6, kernel=k.RBF("t"), n_chains=3),
        GPTM(6, kernel=k.RBF("t"), inference="variational"),
        GPTM(6, kernel=k.RBF("t"), inference="map"),
    ],
    ids=["CTM", "CTM-variational", "sampling", "chains", "variational", "map"],
)
def test_same_seed_same_bits_for_any_number_of_threads(model, monkeypatch):
    sweep_to = LdaRun.sweep_to  # few in the start: it has tests of its own
    monkeypatch.setattr(LdaRun, "sweep_to", lambda self, n, *rest: sweep_to(self, min(n, 4), *rest))
    X = large_counts()
    metadata = {"t": np.random.default_rng(0).uniform(0, 10, X.shape[0])}
    assert X.nnz > 20_000 < X.sum()
    results = []
    for n_jobs in (1, 2, 4):
        model.set_params(n_jobs=n_jobs, max_iter=3, tol=0.0, random_state=0)
        fit_quietly(model, X, metadata=metadata)
        theta = model.transform(X, metadata=metadata)
        results.append([model.components_, model.doc_topics_, model.bound_, theta])
        results[-1].append(model.score(X, metadata=metadata))
        if model.kernel_ is not None and model.inference == "sampling":
            results[-1].append(model.effects("t", n_points=3).to_numpy())
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize("inference", BOTH)
@pytest.mark.parametrize("init", ["gibbs", "random"])
def test_seeds_matter(init, inference):
    X, _ = small_corpus()
    options = {"init": init, "inference": inference}
    first, second = (fit_quietly(CTM(3, random_state=seed, **options), X) for seed in (0, 1))
    assert (first.components_ != second.components_).any()


@pytest.mark.parametrize("inference", BOTH)
def test_a_random_state_object_is_used_up(inference):
    X, _ = small_corpus()
    rng, how = np.random.RandomState(0), {"inference": inference}
    first = fit_quietly(CTM(3, random_state=rng, **how), X)
    second = fit_quietly(CTM(3, random_state=rng, **how), X)
    assert_same_model(first, fit_quietly(CTM(3, random_state=np.random.RandomState(0), **how), X))
    assert (first.components_ != second.components_).any()


# Ctrl-C, in a process of its own


CHILD = """
    import sys, time, warnings
    import numpy as np, scipy.sparse as sp
    from gptm import CTM, GPTM, kernels as k

    rng = np.random.default_rng(0)
    D, V, words = {shape}
    X = sp.csr_matrix(
        (np.ones(D * words), (np.repeat(np.arange(D), words), rng.integers(V, size=D * words))),
        shape=(D, V),
    )
    t = {{"t": rng.uniform(0, 10, D)}}
    small = X[:20]
    GPTM(2, kernel=k.RBF("t"), max_iter=1, tol=1.0, random_state=0).fit(small, metadata={{"t": t["t"][:20]}})
    model = {model}
    print("go", flush=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, metadata=t)
    print("answered", flush=True)
    assert model.converged_ is False
    assert model.components_.shape == (model.n_components, V)
    assert model.doc_topics_.shape == (D, model.n_components)
    assert np.isfinite(model.components_).all() and np.isfinite(model.doc_topics_).all()
    assert np.allclose(model.components_.sum(1), 1) and np.allclose(model.doc_topics_.sum(1), 1)
    assert len(model.bound_) == model.n_iter_
    messages = [str(w.message) for w in caught if "interrupted" in str(w.message)]
    assert len(messages) == 1 and "warm_start=True" in messages[0], messages
    assert np.allclose(model.transform(X[:5], metadata={{"t": t["t"][:5]}}).sum(1), 1)
    print("iterations", model.n_iter_, flush=True)
"""


def interrupt(model, until, delay=0.0, shape=(4000, 1500, 100)):
    """Interrupt the fit `delay` seconds after a line that holds `until`: (seconds to answer, iterations)."""
    script = textwrap.dedent(CHILD).format(model=model, shape=shape)
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    watchdog = threading.Timer(60, child.kill)
    watchdog.start()
    try:
        seconds = iterations = None
        for line in child.stdout:
            if until in line and seconds is None:
                time.sleep(delay)
                sent = time.perf_counter()
                child.send_signal(signal.SIGINT)
                until = "\0"
            elif line.startswith("answered"):
                seconds = time.perf_counter() - sent
            elif line.startswith("iterations"):
                iterations = int(line.split()[1])
        errors = child.stderr.read()
        assert child.wait() == 0, errors
    finally:
        watchdog.cancel()
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
    return seconds, iterations


needs_signals = pytest.mark.skipif(os.name == "nt", reason="SIGINT reaches the whole group there")


@needs_signals
@pytest.mark.parametrize(
    ("n_jobs", "choices"),
    [
        (1, "kernel=None"),
        (2, "kernel=k.RBF('t')"),
        (2, "kernel=k.RBF('t'), n_chains=3"),
        (1, "kernel=None, inference='variational'"),
        (2, "kernel=k.Identity(), inference='map'"),
    ],
    ids=["sampling-1", "sampling-2", "chains-2", "variational-1", "map-2"],
)
def test_interrupt_during_iterations_keeps_the_model(n_jobs, choices):
    options = f"init='random', tol=0.0, n_jobs={n_jobs}, verbose=True, random_state=0"
    model = f"GPTM(20, {choices}, {options})"
    seconds, iterations = interrupt(model, until="iteration    2", delay=0.05)
    assert iterations >= 2
    assert seconds < 1.0


@needs_signals
@pytest.mark.parametrize("inference", BOTH)
def test_interrupt_is_answered_in_time_with_many_documents(inference):
    how = f"inference='{inference}', init='random', tol=0.0"
    model = f"CTM(50, {how}, verbose=True, random_state=0)"
    seconds, _ = interrupt(model, until="iteration    1", delay=0.05, shape=(20_000, 300, 10))
    assert seconds < 1.0


@needs_signals
@pytest.mark.parametrize(("n_jobs", "inference"), [(1, "sampling"), (2, "variational")])
def test_interrupt_during_the_gibbs_start_keeps_a_model(n_jobs, inference):
    how = f"inference='{inference}', tol=0.0, n_jobs={n_jobs}"
    model = f"CTM(20, {how}, verbose=True, random_state=0)"
    seconds, iterations = interrupt(model, until="go", delay=0.3)
    assert iterations == 0
    assert seconds < 1.0


def test_interrupted_fit_can_go_on():
    X, metadata = small_corpus(D=40)

    def impatient(iteration, state):
        if iteration == 3:
            raise KeyboardInterrupt

    options = {"kernel": k.RBF("t"), "warm_start": True, "tol": 1e-5, "max_iter": 500}
    model = GPTM(3, inference="variational", callback=impatient, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match=r"(?s)interrupted after 3.*warm_start=True"):
        model.fit(X, metadata=metadata)
    assert model.n_iter_ == 3
    assert not model.converged_
    stopped_at = model.bound_[-1]
    model.set_params(callback=None).fit(X, metadata=metadata)
    assert model.converged_
    assert model.bound_[0] >= stopped_at


@pytest.mark.parametrize("n_chains", [1, 2])
@pytest.mark.parametrize("last", [1, 9, 25, 40])
def test_interrupted_chain_can_go_on(last, n_chains):
    X, metadata = small_corpus(D=40)

    def impatient(sweep, state):
        if sweep == last:
            raise KeyboardInterrupt

    options = {"n_chains": n_chains, "warm_start": True, "random_state": 0}
    model = GPTM(3, kernel=k.RBF("t"), callback=impatient, **options)
    with pytest.warns(ConvergenceWarning, match=rf"(?s)interrupted after {last}.*warm_start=True"):
        model.fit(X, metadata=metadata)
    assert model.n_iter_ == last
    assert model.stop_reason_ == "interrupt"
    assert not model.converged_
    assert np.isfinite(model.components_).all()
    assert len(model.effects("t", n_points=3)) == 9
    topics = model.components_.copy()
    fit_quietly(model.set_params(callback=None), X, metadata=metadata)
    assert model.stop_reason_ in ("max_iter", "converged")
    assert (0.5 * np.abs(model.components_ - topics).sum(1) < 0.4).all()


# Topics as a table


TEXTS = [
    "green tea and black tea",
    "coffee beans, roasted coffee",
    "tea leaves",
    "coffee, black",
] * 5


def test_topics_of_a_corpus_show_words():
    corpus = Corpus.from_texts(TEXTS)
    model = fit_quietly(GPTM(2, random_state=0), corpus)
    table = model.topics(n_words=3)
    assert len(table) == 2
    assert table["share"].sum() == pytest.approx(1.0)
    words = [row.split(", ") for row in table["probable"]]
    assert all(len(row) == 3 for row in words)
    assert sorted(row[0] for row in words) == ["coffee", "tea"]
    printed = table.to_string()
    assert "coffee" in printed
    assert "tea" in printed


def test_topics_list_the_most_probable_words_first():
    X, _ = small_corpus()
    model = fit_quietly(CTM(2, random_state=0), X)
    for row, topic in zip(model.topics(n_words=11)["probable"], model.components_, strict=True):
        order = [int(w) for w in row.split(", ")]
        assert sorted(order) == list(range(11))
        assert (np.diff(topic[order]) <= 0).all()


def test_topics_show_the_most_prominent_words_first():
    X, _ = small_corpus()
    model = fit_quietly(CTM(2, random_state=0), X)
    rates = model.fitted_.word_rates
    assert_allclose(rates.sum(), X.sum() / len(X), rtol=1e-10)  # tokens of a document
    assert np.abs(rates - X.mean(0)).max() < 0.1 * X.mean(0).max()
    for row, topic in zip(model.topics(n_words=11)["words"], model.components_, strict=True):
        order = [int(w) for w in row.split(", ")]
        assert sorted(order) == list(range(11))
        assert (np.diff((topic / (rates + 0.1) ** 0.6)[order]) <= 1e-15).all()


def test_topics_take_names_for_the_words():
    X, _ = small_corpus()
    model = fit_quietly(CTM(2, random_state=0), X)
    names = [f"word{w}" for w in range(11)]
    named, numbered = model.topics(feature_names=names), model.topics()
    assert len(named["words"][0].split(", ")) == 10
    assert named["words"].str.replace("word", "").tolist() == numbered["words"].tolist()
    pd.testing.assert_series_equal(named["share"], numbered["share"])
    array = model.topics(feature_names=np.array(names))
    pd.testing.assert_frame_equal(array, named)


def test_topics_know_the_columns_of_a_data_frame():
    X, _ = small_corpus()
    frame = pd.DataFrame(X, columns=[f"word{w}" for w in range(11)])
    model = fit_quietly(CTM(2, random_state=0), frame)
    assert model.topics()["words"].str.startswith("word").all()


def test_topic_shares_are_mean_proportions_of_documents():
    X, _ = small_corpus()
    model = fit_quietly(CTM(3, random_state=0), X)
    expected = [sum(model.doc_topics_[:, i]) / len(X) for i in range(3)]
    assert_allclose(model.topics()["share"], expected, rtol=1e-12)


def test_topics_name_what_is_wrong():
    X, _ = small_corpus()
    model = fit_quietly(CTM(2, random_state=0), X)
    with pytest.raises(ValueError, match=r"(?s)feature_names.*11.*2"):
        model.topics(feature_names=["one", "two"])
    with pytest.raises(ValueError, match=r"(?s)n_words.*0"):
        model.topics(n_words=0)
    assert len(model.topics(n_words=1000)["words"][0].split(", ")) == 11


# What users get wrong without noticing


def test_a_table_in_the_place_of_y_is_noticed():
    X, metadata = small_corpus()
    with pytest.warns(UserWarning, match="metadata="):
        GPTM(2, random_state=0).fit(X, pd.DataFrame(metadata))


def test_dates_in_fit_and_numbers_later_are_refused():
    X, _ = small_corpus()
    dates = pd.DataFrame({"t": pd.date_range("2000-01-01", periods=X.shape[0], freq="D")})
    model = GPTM(2, kernel=k.RBF("t"), random_state=0, tol=1e-3).fit(X, metadata=dates)
    with pytest.raises(ValueError, match=r"(?s)'t' held dates.*holds numbers"):
        model.transform(X[:1], metadata={"t": [2000]})
    without = model.transform(X[:1], metadata={"t": [None]})
    assert_allclose(without.sum(), 1.0)


def test_joint_inference_with_the_identity_makes_no_matrix(monkeypatch):
    """The paper's KI: new documents are independent, so nothing of size n x n is decomposed."""
    from gptm.operators import Spectral

    X, _ = small_corpus()
    model = GPTM(2, kernel=k.Identity(), inference="map", random_state=0, tol=1e-3).fit(X)

    def refuse(*args, **kwargs):
        raise AssertionError("a dense decomposition")

    monkeypatch.setattr(Spectral, "from_dense", refuse)
    assert model.transform(X).shape == (X.shape[0], 2)


def test_a_failed_refit_leaves_the_fitted_model_as_it_was():
    X, metadata = small_corpus()
    model = fit_quietly(GPTM(2, kernel=k.RBF("t"), random_state=0), X, metadata=metadata)
    before = model.transform(X, metadata=metadata)
    wider = np.ones((4, 50))
    with pytest.raises(ValueError, match="'t'"):
        model.fit(wider, metadata={"other": range(4)})
    assert model.n_features_in_ == X.shape[1]
    assert_array_equal(model.transform(X, metadata=metadata), before)
    with pytest.raises(ValueError, match="features"):
        model.transform(wider)


def test_kernel_that_was_learnt_does_not_change_with_the_parameter():
    X, metadata = small_corpus()
    kernel = k.RBF("t", length_scale=2.0)
    model = fit_quietly(GPTM(2, kernel=kernel, random_state=0), X, metadata=metadata)
    model.set_params(kernel__length_scale=50.0)
    assert model.kernel_ == k.RBF("t", length_scale=2.0)


def test_warm_start_keeps_a_kernel_without_strength():
    """Where the metadata say nothing, b ends at or near zero and must not start again from one."""
    X, metadata = small_corpus()
    options = {"inference": "variational", "coregionalization": "identity", "warm_start": True}
    model = GPTM(2, kernel=k.RBF("t"), random_state=0, tol=0.0, max_iter=3, **options)
    fit_quietly(model, X, metadata=metadata)
    model.fitted_ = replace(model.fitted_, B=np.zeros((2, 2)))
    fit_quietly(model, X, metadata=metadata)
    assert not model.coregionalization_.any()


# The paper's scores


@pytest.mark.parametrize("inference", ALL)
@pytest.mark.parametrize("coregionalization", ["free", "shared", "identity"])
def test_conditional_and_joint_perplexity_are_eqs_24_and_23(inference, coregionalization):
    X, metadata = small_corpus()
    kernel = k.Matern("t", nu=0.5, length_scale=2.0)
    choices = {"inference": inference, "coregionalization": coregionalization}
    # Few iterations: in "map" Sigma shrinks on and on, and rounding would be all that is left.
    model = GPTM(2, kernel=kernel, learn_kernel=False, random_state=0, max_iter=5, **choices)
    fit_quietly(model, X, metadata=metadata)
    new, times = X[:3] + 1, {"t": [0.5, 1.7, 9.3]}

    parameters = model.fitted_
    read = model.fitted_.bound.read(Documents(3, pd.DataFrame(times)))
    cross = model.fitted_.bound.cross(read, joint=True)
    posterior, F = predict.infer_new_jointly(csr_matrix(new.astype(float)), parameters, cross, 1)
    words = sum(
        naive.document_bound(x, model.components_, *row, model.mean_ + f, model.topic_covariance_)
        for x, f, *row in zip(new, F, posterior.lam, posterior.nu2, strict=True)
    )
    Kxx = model.fitted_.bound.gram()
    Ktx = model.fitted_.bound.cross_gram(read)
    Kbar = naive.conditional_kernel(Kxx, Ktx, model.fitted_.bound.own_gram(read, joint=True))
    gap = (F - naive.conditional_mean(model.doc_means_, Kxx, Ktx)).ravel()
    density = naive.log_normal(gap, np.kron(Kbar, model.coregionalization_))

    conditional = model.perplexity(new, metadata=times, kind="conditional")
    joint = model.perplexity(new, metadata=times, kind="joint")
    assert_allclose(np.log(conditional), -words / new.sum(), rtol=1e-5)
    assert_allclose(np.log(joint), -(words + density) / new.sum(), rtol=1e-5)


def test_conditional_perplexity_of_ctm_is_its_bound():
    X, _ = small_corpus()
    model = fit_quietly(CTM(2, random_state=0), X)
    new = X[:4]
    words = 0.0
    for x in new:
        lam, nu2 = naive.optimise_document(
            x, model.components_, model.mean_, model.topic_covariance_
        )
        args = (model.components_, lam, nu2, model.mean_, model.topic_covariance_)
        words += naive.document_bound(x, *args)
    expected = np.exp(-words / new.sum())
    for kind in ("conditional", "joint"):
        assert_allclose(model.perplexity(new, kind=kind), expected, rtol=1e-6)


def test_perplexity_kinds_are_checked():
    X, _ = small_corpus()
    model = fit_quietly(CTM(2, random_state=0), X)
    with pytest.raises(ValueError, match=r"kind must be one of .*'honest'"):
        model.perplexity(X, kind="honest")
    with pytest.raises(ValueError, match="no word"):
        model.perplexity(0 * X, kind="conditional")


def test_parameters_set_after_the_fit_wait_for_the_next_one():
    X, metadata = small_corpus()
    model = fit_quietly(GPTM(2, kernel=k.RBF("t"), random_state=0), X, metadata=metadata)
    before = model.transform(X, metadata=metadata)
    model.set_params(inference="map", coregionalization="identity", kernel=None)
    assert_array_equal(model.transform(X, metadata=metadata), before)


# What goes wrong at the end


@pytest.mark.parametrize("inference", BOTH)
def test_a_fit_that_fails_at_its_end_leaves_the_model_as_it_was(inference):
    X, metadata = np.random.default_rng(0).poisson(1.0, (30, 50)), {"t": np.arange(30.0)}
    model = GPTM(2, kernel=k.RBF("t"), inference=inference, random_state=0)
    fit_quietly(model, X, metadata=metadata)
    before = model.components_.copy()
    model.set_params(max_iter=8, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            model.fit(X[:, :20], metadata=metadata)
    assert_array_equal(model.components_, before)
    assert model.n_features_in_ == 50
    assert model.transform(X, metadata=metadata).shape == (30, 2)


def test_a_document_without_words_under_a_very_wide_prior():
    X = np.random.default_rng(0).poisson(2.0, (20, 4))
    kernel = k.Precomputed(2000.0 * np.eye(20))
    model = fit_quietly(GPTM(2, kernel=kernel, learn_kernel=False, max_iter=5, random_state=0), X)
    with pytest.warns(UserWarning, match="no row in the precomputed kernel"):
        theta = model.transform(np.zeros((1, 4)))
    assert_allclose(theta, 0.5, atol=0.02)


def test_verbose_is_a_line_a_second_after_the_first_iterations(capsys, monkeypatch):
    from gptm._basics import progress

    now = iter(np.arange(0.0, 1000.0, 0.05))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(now)))
    X, _ = small_corpus()
    shown = {}
    for verbose in (1, 2):
        lines = fit_output(capsys, CTM(3, max_iter=60, tol=0.0, verbose=verbose), X).splitlines()
        shown[verbose] = [int(line.split()[2]) for line in lines if "iteration " in line]
    assert shown[2] == list(range(1, 61))
    assert shown[1][:10] == list(range(1, 11))
    assert shown[1][-1] == 60
    assert 12 <= len(shown[1]) < 40
