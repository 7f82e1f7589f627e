"""What all tests and examples share."""

import pytest


@pytest.fixture(autouse=True)
def short_chains(request, monkeypatch):
    """Chains and starts of few sweeps unless a test asks for the usual length: most are about something else."""
    if "full_chains" not in request.keywords:
        monkeypatch.setattr("gptm.sampler.chains.SWEEPS", (40, 40))
        monkeypatch.setattr("gptm.start.SWEEPS", (100, 200))
