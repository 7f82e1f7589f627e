"""What tests share: finite-difference checks along random directions, EM step by step, and HTML that is safe."""

from html.parser import HTMLParser

import numpy as np

from gptm.fitted import Fitted
from gptm.inference.em import loop as em
from gptm.kernels.identity import NothingBound


def fitted_value(components, *, D=1, **known):
    """A `Fitted` of which only some fields matter to a test."""
    K = len(components)
    zeros = np.zeros((D, K))
    fields = {
        "mu": np.zeros(K),
        "Sigma": np.eye(K),
        "B": np.zeros((K, K)),
        "lam": zeros,
        "nu2": zeros + 1.0,
        "F": zeros,
        "alpha": zeros,
        "lengths": np.zeros(D),
        "counts": None,
        "bound": NothingBound(D),
        "joint": False,
        "trace": np.zeros(0),
        "reason": "max_iter",
    }
    return Fitted(components=components, **fields | known)


def iterate(problem, state):
    """The states after each iteration of EM, without end."""
    while True:
        state = em.advance(problem, state)
        yield state


def random_directions(shape, directions, seed):
    """Yield unit vectors of the given shape (unit in the Frobenius norm)."""
    rng = np.random.default_rng(seed)
    for _ in range(directions):
        direction = rng.standard_normal(shape)
        yield direction / np.linalg.norm(direction)


def central_slope(function, x, direction, step):
    """Slope of `function` at `x` along `direction`, by a central difference."""
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


def check_gradient(function, gradient, x, seed=0, directions=5, rtol=1e-5):
    """Assert that `gradient` is the gradient of the scalar `function` at `x`.

    `gradient` is a function of `x`, or its value at `x`, with the shape of `x`. The error allowed
    is `rtol` times the length of the gradient, plus what rounding does to a difference of f.
    """
    x = np.asarray(x, dtype=float)
    g = np.asarray(gradient(x) if callable(gradient) else gradient, dtype=float)
    assert g.shape == x.shape, f"gradient has shape {g.shape}, x has shape {x.shape}"
    step = 1e-5 * max(1.0, np.abs(x).max())
    rounding = 10 * np.finfo(float).eps * abs(function(x)) / step
    allowed = rtol * np.linalg.norm(g) + rounding
    for direction in random_directions(x.shape, directions, seed):
        slope = central_slope(function, x, direction, step)
        claimed = np.sum(g * direction)
        error = abs(slope - claimed)
        assert error <= allowed, f"slope {slope:.10g}, gradient says {claimed:.10g}"


def check_stationary(function, x, scale=1e-4, tol=1e-6, seed=0, directions=5):
    """Assert that the scalar `function` is flat at `x`: no slope along a unit vector exceeds `tol`.

    `scale` is the step of the central difference. `tol` is absolute: raise it for a function with
    large values or strong third derivatives.
    """
    x = np.asarray(x, dtype=float)
    for direction in random_directions(x.shape, directions, seed):
        slope = central_slope(function, x, direction, scale)
        assert abs(slope) <= tol, f"slope {slope:.3e} at a point that should be stationary"


def check_maximum(function, x, steps=(1e-3, 1e-1), seed=0, directions=10):
    """Assert that no step away from `x` along a random direction makes `function` larger."""
    x = np.asarray(x, dtype=float)
    top = function(x)
    rounding = 1e-12 * (1 + abs(top))
    for direction in random_directions(x.shape, directions, seed):
        for step in steps:
            moved = function(x + step * direction)
            assert moved <= top + rounding, f"{moved - top:.3e} higher after a step of {step}"


class Tags(HTMLParser):
    """Checks that tags are balanced, and keeps their names and the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def assert_safe(html):
    """That no text of a card became a tag; the texts of the card."""
    found = Tags(html)
    allowed = {"style", "div", "h4", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td"}
    assert found.seen <= allowed | {"p", "b", "span"}
    assert "<script" not in html
    return " ".join(found.text)
