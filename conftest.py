"""What all tests and examples share."""

import pytest


@pytest.fixture(autouse=True)
def short_chains(request, monkeypatch):
    """Chains of few sweeps unless a test asks for the usual length: most tests are about something else."""
    if "full_chains" not in request.keywords:
        monkeypatch.setattr("gptm.sampler.chains.SWEEPS", (40, 40))
