"""Whether findings survive: other seeds, other documents, shuffled columns, residuals, and human readers."""

from gptm.findings.refit_stability import stability
from gptm.findings.residuals import ResidualCheck, check_residuals
from gptm.findings.stability_result import Stability

__all__ = ["ResidualCheck", "Stability", "check_residuals", "stability"]
