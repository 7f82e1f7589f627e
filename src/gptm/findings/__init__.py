"""Whether findings survive: other seeds, other documents, shuffled columns, residuals, and human readers."""

from gptm.findings.residuals import ResidualCheck, check_residuals

__all__ = ["ResidualCheck", "check_residuals"]
