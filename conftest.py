"""What all tests and examples share."""

import signal
import sys

import pytest
from hypothesis import settings

# A shell that starts the tests in the background lets them, and every program that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("busy machine", deadline=None)  # how long an example takes is not tested
settings.load_profile("busy machine")

SHORT = {
    "gptm.inference.sampling.chains.SWEEPS": (40, 40),
    "gptm.starts.start.SWEEPS": (100, 200),
    "gptm.report.layout.N_LANDMARKS": 200,
}


@pytest.fixture(autouse=True, scope="session")
def short_chains():
    """Chains and starts of few sweeps, and maps of few documents: most tests are about something else."""
    with pytest.MonkeyPatch.context() as patch:
        for name, sweeps in SHORT.items():
            patch.setattr(name, sweeps)
        yield


@pytest.fixture(autouse=True)
def full_chains(request, monkeypatch):
    """The usual lengths for a test that asks for them."""
    if "full_chains" in request.keywords:
        monkeypatch.setattr("gptm.inference.sampling.chains.SWEEPS", (200, 2000))
        monkeypatch.setattr("gptm.starts.start.SWEEPS", (200, 1200))


@pytest.fixture(autouse=True)
def closed_figures():
    """No test finds figures of others, about whose number matplotlib warns."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
