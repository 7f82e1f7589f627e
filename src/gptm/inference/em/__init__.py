"""Expectation maximisation: variational, or the paper's; one file for each kind of step."""
