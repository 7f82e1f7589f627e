"""Whether findings survive: other seeds, other documents, shuffled columns, residuals, and human readers.

Each question has a public function and a result that prints: `stability` and `Stability`, `permutation_test` and
`PermutationTest`, `check_residuals` and `ResidualCheck`. Where models are fitted again, they are `Refit`s, which
`run_refits` runs, both in `gptm.selection`. Begin with `residuals`.
"""

from gptm.findings.intrusion import IntrusionSheet, document_intrusion, word_intrusion
from gptm.findings.intrusion_scores import IntrusionScores, score_intrusion
from gptm.findings.permutation import permutation_test
from gptm.findings.permutation_result import PermutationTest
from gptm.findings.refit_stability import stability
from gptm.findings.residuals import ResidualCheck, check_residuals
from gptm.findings.stability_result import Stability

__all__ = [
    "IntrusionScores",
    "IntrusionSheet",
    "PermutationTest",
    "ResidualCheck",
    "Stability",
    "check_residuals",
    "document_intrusion",
    "permutation_test",
    "score_intrusion",
    "stability",
    "word_intrusion",
]
