"""Whether findings survive: other seeds, other documents, shuffled columns, residuals, and human readers."""

from gptm.findings.permutation import PermutationTest, permutation_test
from gptm.findings.refit_stability import stability
from gptm.findings.residuals import ResidualCheck, check_residuals
from gptm.findings.stability_result import Stability

__all__ = [
    "PermutationTest",
    "ResidualCheck",
    "Stability",
    "check_residuals",
    "permutation_test",
    "stability",
]
