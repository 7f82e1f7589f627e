"""Proportions of training documents, whose own words the topics have learnt: means over draws of the topics."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.special import softmax

from gptm import CTM, GPTM
from gptm import kernels as k
from gptm.inference.sampling import kept
from gptm.prediction.new_documents import prior_around
from gptm.prediction.proportions import training_proportions
from gptm.prediction.theta import theta_by_points


def corpus(seed, D=80, V=400, K=4, length=25):
    """Counts in which most words are rare, so that a document's own words are much of what is known about them."""
    rng = np.random.default_rng(seed)
    beta, eta = rng.dirichlet(np.full(V, 0.05), K), rng.normal(0.0, np.sqrt(2.0), (D, K))
    return np.array([rng.multinomial(length, theta @ beta) for theta in softmax(eta, axis=1)])


@pytest.mark.parametrize("seed", [0, 1])
def test_draws_of_topics_are_nearer_to_a_long_chain_than_their_mean(seed):
    theta = []

    def keep(number, state):
        if number > 600:
            theta.append(softmax(state.eta, axis=1))

    model = CTM(4, random_state=seed, max_iter=1200, callback=keep).fit(corpus(seed))
    assert model.n_iter_ == 1200
    truth = np.mean(theta, axis=0)
    of_mean = training_proportions(replace(model.fitted_, topic_draws=None), model._settings.effort)
    error = np.sqrt(((model.doc_topics_ - truth) ** 2).mean())
    assert error < 0.75 * np.sqrt(((of_mean - truth) ** 2).mean())

    def slope(found):
        return np.polyfit((truth - truth.mean(0)).ravel(), (found - found.mean(0)).ravel(), 1)[0]

    assert abs(slope(model.doc_topics_) - 1.0) < 0.06 < slope(of_mean) - 1.0


def test_they_are_the_mean_over_four_draws():
    X, t = corpus(2), np.arange(80.0)
    model = GPTM(3, kernel=k.Matern("t"), random_state=0).fit(X, metadata={"t": t})
    fitted = model.fitted_
    drawn = fitted.topic_draws
    occurs = np.flatnonzero(X.any(0))
    assert drawn.beta_T.shape == (kept.TOPICS, len(drawn.words), 3)
    assert set(occurs) <= set(drawn.words.tolist())
    assert (np.abs(drawn.beta_T.sum(1) - 0.97) < 0.031).all()  # the rest has words of no document
    counts, prior = csr_matrix(X[:, drawn.words]), prior_around(fitted, fitted.F)
    by_hand = np.mean(
        [
            theta_by_points(counts, prior, beta_T.astype(float), scramble=i, n_jobs=1)
            for i, beta_T in enumerate(drawn.beta_T)
        ],
        axis=0,
    )
    assert_allclose(model.doc_topics_, by_hand, rtol=1e-12)
    assert model.fitted_.topic_draws is None  # they have done their work


def test_words_that_no_document_has_take_no_part():
    X = corpus(3)
    wide = np.zeros((len(X), 3000), dtype=int)
    wide[:, ::7][:, : X.shape[1]] = X
    model = CTM(3, random_state=0, max_iter=40).fit(wide)
    assert set(np.flatnonzero(wide.any(0))) == set(model.fitted_.topic_draws.words.tolist())
    assert_allclose(model.doc_topics_.sum(1), 1.0, rtol=1e-12)


def test_chains_bring_their_topics_in_one_order():
    model = CTM(3, random_state=0, n_chains=2, max_iter=100).fit(corpus(4))
    draws = model.fitted_.topic_draws.beta_T
    assert len(draws) == kept.TOPICS
    for topics in draws:
        like = np.corrcoef(topics.T, model.components_[:, model.fitted_.topic_draws.words])
        assert_array_equal(like[:3, 3:].argmax(1), np.arange(3))


def test_fewer_draws_where_topics_are_large(monkeypatch):
    X = corpus(5)[:, :200]
    X = X[:, X.any(0)]
    monkeypatch.setattr(kept, "TOPIC_ENTRIES", 2 * X.shape[1] * 3)
    model = CTM(3, random_state=0, max_iter=20).fit(X)
    assert len(model.fitted_.topic_draws.beta_T) == 2
    monkeypatch.setattr(kept, "TOPIC_ENTRIES", 10)
    model = CTM(3, random_state=0, max_iter=20).fit(X)
    assert model.fitted_.topic_draws is None
    assert_allclose(model.doc_topics_.sum(1), 1.0, rtol=1e-12)
