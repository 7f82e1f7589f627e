"""Kernel parameters by evidence: gradients against finite differences, and what fitting makes of them."""

import warnings
from itertools import groupby

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from gptm import GPTM
from gptm import kernels as k
from gptm.inference import kernel_evidence as learning
from gptm.inference.em import loop as em
from gptm.inference.mean_solve import diagonalise, solve_means, view_logits
from gptm.inference.sampling.chains import stages
from gptm.kernels import Documents
from gptm.kernels import pointwise as points
from gptm.kernels.weighted_terms import Terms
from gptm.operators import Network, Sparse, build_operator, factor

RNG = np.random.default_rng(0)
N, K = 60, 3
FRAME = pd.DataFrame(
    {
        "t": np.r_[RNG.normal(size=N - 12), np.repeat(0.3, 12)] * 100,
        "u": RNG.normal(size=N),
        "g": RNG.choice(list("abcd"), size=N),
        "links": [[int(j) for j in RNG.integers(0, N, size=2)] for _ in range(N)],
        "other": [[int(j) for j in RNG.integers(0, N, size=2)] for _ in range(N)],
    }
)
HOLES = FRAME.assign(t=FRAME["t"].where(RNG.random(N) > 0.2))

KERNELS = {
    "rbf": (k.RBF("t"), FRAME),
    "matern-1/2": (k.Matern("t", nu=0.5), FRAME),
    "matern": (k.Matern("t", "u"), FRAME),
    "matern-5/2": (k.Matern("t", nu=2.5), FRAME),
    "matern-odd": (k.Matern("t", nu=0.8), FRAME),
    "periodic": (k.Periodic("t", period=70.0), FRAME),
    "categories and numbers": (k.Categorical("g") + k.Linear("u"), FRAME),
    "sum": (k.Matern("t") + k.Categorical("g") + k.Linear("u"), FRAME),
    "fixed": (2.0 * k.RBF("t") + k.Categorical("g") + 1.0 * k.Linear("u"), FRAME),
    "product": (k.RBF("t") * k.Categorical("g") + k.Matern("u"), FRAME),
    "product with noise": (k.RBF("t") * k.MustLink("g") + k.Matern("u"), FRAME),
    "missing": (k.RBF("t") + k.Categorical("g"), HOLES),
    "noise": (k.RBF("t") + k.Identity(), FRAME),
    "graph": (k.Graph("links"), FRAME),
    "graph and more": (k.Graph("links") + k.Matern("t") + k.Categorical("g"), FRAME),
    "graphs": (k.Graph("links") + k.Graph("other"), FRAME),
}


def terms_of(name):
    kernel, frame = KERNELS[name]
    return Terms.of(kernel.bind(Documents(N, frame, y=None)))


def problem(terms, seed=0, operator=None):
    """Logits with something of the kernel in them, and any Sigma and B."""
    rng = np.random.default_rng(seed)
    lam = rng.normal(size=(N, K)) + np.outer(np.sin(FRAME["t"] / 80), rng.normal(size=K))
    A, C = rng.normal(size=(2, K, 5))
    basis = diagonalise(A @ A.T / 5, C @ C.T / 5)
    operator = operator or terms.operator()
    return lam, operator, view_logits(operator, lam), basis


def evidence_at(terms, x, lam, basis, exact=2000):
    moved = terms.moved(np.exp(x).tolist())
    operator = build_operator(moved.bound.structure, exact=exact)
    means = solve_means(operator, view_logits(operator, lam), None, basis)
    return learning.evidence(operator, means)


def logs(terms):
    return np.log([one.value for one in terms.learnables()])


@pytest.mark.parametrize("name", KERNELS)
def test_slopes_of_the_evidence_are_its_differences(name):
    terms = terms_of(name)
    lam, operator, view, basis = problem(terms)
    means = solve_means(operator, view, None, basis)
    found = learning.evidence_slopes(terms, operator, view, means)
    x, h = logs(terms), 1e-5
    assert len(found) == len(x)
    for j in range(len(x)):
        step = h * np.eye(len(x))[j]
        ahead, behind = (evidence_at(terms, x + s * step, lam, basis) for s in (1, -1))
        assert found[j] == pytest.approx((ahead - behind) / (2 * h), rel=2e-4, abs=2e-4)


def test_a_lone_term_without_parameters_leaves_its_weight_to_B():
    bound = k.Categorical("g").bind(Documents(N, FRAME, y=None))
    assert Terms.of(bound).learnables() == []


@pytest.mark.parametrize("name", ["graph", "graph and more"])
def test_slopes_over_a_graph_that_is_not_decomposed(name):
    terms = terms_of(name)
    operator = build_operator(terms.bound.structure, exact=0)
    lam, _, view, basis = problem(terms, operator=operator)
    means = solve_means(operator, view, None, basis)
    found = learning.evidence_slopes(terms, operator, view, means)
    x, h = logs(terms), 1e-4
    for j in range(len(x)):
        step = h * np.eye(len(x))[j]
        ahead, behind = (evidence_at(terms, x + s * step, lam, basis) for s in (1, -1))
        assert found[j] == pytest.approx((ahead - behind) / (2 * h), rel=1e-3, abs=2e-3)


@pytest.mark.parametrize("name", ["graph", "graph and more"])
def test_what_other_parameters_take_over_is_what_they_would_find(name):
    terms = terms_of(name)
    operator = build_operator(terms.bound.structure, exact=0)
    _, _, view, basis = problem(terms, operator=operator)
    values = [one.value for one in terms.learnables()]
    n_free = int(terms.free.sum())
    changed = [*(1.7 * v for v in values[:n_free]), 2.0 * values[n_free], *values[n_free + 1 :]]
    moved = terms.moved(changed)
    anew = build_operator(moved.bound.structure, exact=0)
    reused = build_operator(moved.bound.structure, operator, exact=0)
    b, U = basis.b, np.vstack([basis.T, np.zeros(K)])
    np.testing.assert_allclose(reused.logdet(b), anew.logdet(b), rtol=1e-8)
    fresh, taken = anew.view(view.Y), reused.view(view.Y, view)
    for one, other in zip(fresh.forms(b, U), taken.forms(b, U), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-8 * np.abs(one).max())
    np.testing.assert_allclose(taken.residuals(b, U), fresh.residuals(b, U), atol=1e-8)


def test_evidence_is_that_of_a_gaussian():
    terms = terms_of("sum")
    lam, operator, view, basis = problem(terms)
    mu = np.array([0.3, -0.2, 0.1])
    means = solve_means(operator, view, mu, basis)
    rotated = (lam - mu) @ basis.T
    dense = terms.bound.gram()
    expected = sum(
        multivariate_normal(np.zeros(N), b * dense + np.eye(N)).logpdf(column)
        for b, column in zip(basis.b, rotated.T, strict=True)
    )
    found = learning.evidence(operator, means) - 0.5 * N * K * np.log(2 * np.pi)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["sum", "missing", "graph and more", "periodic"])
def test_learning_raises_the_evidence_and_stays_within_bounds(name):
    terms = terms_of(name)
    lam, operator, view, basis = problem(terms)
    before = learning.evidence(operator, solve_means(operator, view, None, basis))
    found = learning.learn_parameters(terms, operator, view, None, basis, logs(terms))
    assert learning.evidence(found.operator, found.means) > before
    for one in found.terms.learnables():
        assert one.low <= one.value <= one.high
    dense = build_operator(found.terms.bound.structure)
    means = solve_means(dense, view_logits(dense, lam), None, basis)
    assert learning.evidence(found.operator, found.means) == pytest.approx(
        learning.evidence(dense, means), rel=1e-6
    )


def test_weights_given_by_numbers_stay_and_others_move():
    terms = terms_of("fixed")
    assert [one.name for one in terms.learnables()] == ["weight", "length_scale"]
    assert terms.weights[0] / terms.weights[2] == pytest.approx(2.0)
    moved = terms.moved([0.1, 33.0])
    assert moved.weights[0] == terms.weights[0]
    assert moved.bound.kernel.terms[0].kernel.length_scale == 33.0


@pytest.mark.parametrize("factor", [2.0, 1.0])
def test_a_number_in_front_of_all_terms_changes_nothing(factor):
    plain = k.RBF("t") + k.Categorical("g")
    terms = Terms.of((3.0 * (factor * plain)).bind(Documents(N, FRAME)))
    expected = Terms.of(plain.bind(Documents(N, FRAME)))
    assert [one.name for one in terms.learnables()] == ["weight", "weight", "length_scale"]
    np.testing.assert_allclose(terms.weights, expected.weights)
    assert terms.bound.kernel == expected.bound.kernel


def sampled(kernel, frame, seed=0, n_words=80, K=4, strength=2.0):
    """A corpus drawn from the model with that kernel."""
    rng = np.random.default_rng(seed)
    n, V = len(frame), 60
    Kxx = kernel.bind(Documents(n, frame)).gram()
    root = np.linalg.cholesky(Kxx + 1e-8 * np.eye(n))
    F = np.sqrt(strength) * root @ rng.normal(size=(n, K))
    eta = F + 0.4 * rng.normal(size=(n, K))
    theta = np.exp(eta) / np.exp(eta).sum(1, keepdims=True)
    beta = rng.dirichlet(np.full(V, 0.08), size=K)
    return np.array([rng.multinomial(n_words, p) for p in theta @ beta])


BOTH = ["sampling", "variational"]


def fitted(X, frame, K=4, **choices):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GPTM(K, random_state=0, **choices).fit(X, metadata=frame)


@pytest.mark.parametrize("inference", BOTH)
def test_a_length_scale_is_found_again(inference):
    frame = pd.DataFrame({"t": np.linspace(0.0, 100.0, 250)})
    found = []
    for true in (4.0, 40.0):
        X = sampled(k.RBF("t", length_scale=true), frame)
        model = fitted(X, frame, kernel=k.RBF("t"), inference=inference, tol=1e-5)
        if inference == "variational":
            assert (np.diff(model.bound_) > -1e-6 * np.abs(model.bound_[:-1])).all()
        inner = getattr(model.kernel_, "kernel", model.kernel_)
        found.append(inner.length_scale)
        assert 0.5 * true < found[-1] < 2.0 * true
    given = fitted(X, frame, kernel=k.RBF("t", length_scale=7.0), inference=inference)
    assert given.kernel_ == k.RBF("t", length_scale=7.0)


@pytest.mark.parametrize("inference", BOTH)
def test_of_two_terms_the_one_that_says_nothing_loses_its_weight(inference):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"t": np.linspace(0.0, 100.0, 250), "g": rng.integers(0, 12, size=250)})
    frame["g"] = frame["g"].astype(str)
    X = sampled(k.RBF("t", length_scale=15.0), frame)
    model = fitted(X, frame, kernel=k.RBF("t") + k.Categorical("g"), inference=inference)
    time, group = model.kernel_.terms
    assert group.scale < 0.05 * time.scale
    assert time.scale + group.scale == pytest.approx(1.0)


def test_nothing_is_learnt_where_it_must_not_be():
    frame = pd.DataFrame({"t": np.linspace(0.0, 100.0, 40)})
    X = sampled(k.RBF("t", length_scale=20.0), frame)
    start = k.RBF("t").bind(Documents(40, frame)).kernel
    for choices in (
        {"inference": "map"},
        {"inference": "variational", "learn_kernel": False},
        {"learn_kernel": False},
    ):
        model = fitted(X, frame, K=3, kernel=k.RBF("t"), max_iter=10, tol=0, **choices)
        assert model.stop_reason_ == "max_iter"
        assert model.kernel_ == start


def test_the_kernel_is_learnt_before_each_stage_of_a_chain():
    """So that all draws that are kept have the same kernel."""
    frame = pd.DataFrame({"t": np.linspace(0.0, 100.0, 40)})
    X, seen = sampled(k.RBF("t", length_scale=20.0), frame), []

    def note(number, state):
        seen.append(state.terms.learnables()[-1].value)

    model = fitted(X, frame, K=3, kernel=k.RBF("t"), n_chains=2, max_iter=40, callback=note)
    assert [len(list(group)) for _, group in groupby(seen)] == stages(40)
    assert model.kernel_.length_scale == pytest.approx(seen[-1])
    assert model.fitted_.draws.n == 2 * stages(40)[-1]


def test_the_kernel_step_waits_for_its_turn():
    frame = pd.DataFrame({"t": np.linspace(0.0, 100.0, 40)})
    seen = []
    X = sampled(k.RBF("t", length_scale=20.0), frame)

    def note(number, state):
        seen.append(state.terms.learnables()[-1].value)

    choices = {"inference": "variational", "init": "random", "max_iter": 4, "tol": 0}
    model = GPTM(3, kernel=k.RBF("t"), random_state=0, callback=note, **choices)
    with pytest.warns(match="did not converge"):
        model.fit(X, metadata=frame)
    assert seen[0] != seen[1]
    assert seen[1] == seen[2]
    assert seen[2] != seen[3]


def test_a_large_graph_learns_kappa_without_more_products():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"links": [list(map(int, rng.integers(0, N, size=2))) for _ in range(N)]})
    terms = Terms.of(k.Graph("links").bind(Documents(N, frame)))
    operator = build_operator(terms.bound.structure, exact=0)
    view = operator.view(rng.normal(size=(N, K + 1)))
    moved = terms.moved([1.0, 0.4])
    other = build_operator(moved.bound.structure, operator, exact=0)
    assert isinstance(other, Sparse)
    steps, step = [], Network.step
    Network.step = lambda *a: steps.append(1) or step(*a)
    try:
        other.view(view.Y, view)
    finally:
        Network.step = step
    assert not steps


def test_em_reaches_the_kernel_through_its_steps():
    assert em.update_kernel in em.STEPS


@pytest.mark.parametrize("inference", BOTH)
def test_a_trial_that_cannot_be_afforded_ends_the_search(inference, monkeypatch):
    """Of many points a shorter length-scale may need more features than there is time for."""
    monkeypatch.setattr(points, "_LARGE", 20)
    monkeypatch.setattr(factor, "DENSE", 20)
    rng = np.random.default_rng(0)
    X, frame = rng.poisson(1.0, (60, 12)), pd.DataFrame({"t": rng.random(60)})
    choices = {"inference": inference, "max_iter": 10, "tol": 0.0}
    model = fitted(X, frame, K=2, kernel=k.Matern("t", nu=0.5), **choices)
    assert model.kernel_.length_scale == pytest.approx(0.5 * frame["t"].std(ddof=0))
    assert model.effects("t", n_points=3).notna().all(axis=None)


def test_a_warm_start_takes_nothing_over_from_another_kernel():
    X = np.random.default_rng(0).poisson(1.0, (60, 12))
    frame = {"t": np.arange(60.0), "u": np.linspace(0, 0.004, 60), "g": list("abc") * 20}
    two = 2.0 * k.RBF("t", length_scale=3.0) + 1.0 * k.Categorical("g")
    model = GPTM(2, kernel=two, warm_start=True, max_iter=3, random_state=0)

    def learnt(kernel):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.set_params(kernel=kernel).fit(X, metadata=frame).kernel_

    learnt(two)
    changed = learnt(50.0 * k.RBF("t", length_scale=3.0) + 1.0 * k.Categorical("g"))
    assert changed.terms[0].scale == pytest.approx(50 * changed.terms[1].scale)
    learnt(k.RBF("t", "u", length_scale=[2.0, 3.0]))
    assert learnt(k.RBF("t", "u")).length_scale > 0
    assert learnt(k.RBF("t")).length_scale > 0.1
    assert learnt(k.RBF("u")).length_scale < 0.1


def test_an_earlier_fit_to_other_documents_may_be_out_of_reach():
    """The length-scale of a thousand days is taken back to what one day can tell."""
    X = np.random.default_rng(0).poisson(1.0, (60, 12))
    model = GPTM(2, kernel=k.RBF("t"), warm_start=True, max_iter=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, metadata={"t": np.linspace(0, 1000, 60)})
        model.fit(X, metadata={"t": np.linspace(0, 1, 60)})
    assert 0 < model.kernel_.length_scale < 100


def test_a_product_of_which_every_row_misses_a_factor_has_nothing_to_learn():
    D = 40
    X, n = np.random.default_rng(0).poisson(1.0, (D, 9)), np.arange(D) * 1.0
    frame = pd.DataFrame(
        {"a": np.where(n < 20, n, np.nan), "b": np.where(n < 20, np.nan, n), "c": [*"xy"] * 20}
    )
    kernel = k.RBF("a") * k.RBF("b") + k.Categorical("c")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GPTM(2, kernel=kernel, random_state=0).fit(X, metadata=frame)
    assert np.isfinite(model.bound_).all()
