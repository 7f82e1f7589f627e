"""How to multiply and solve with the kernel matrix of documents; nothing here depends on text.

A `Structure` says what the (D, D) matrix of a kernel is made of, `build_operator` picks the operator that solves with
it, and a `Placement` says where new documents stand. A new operator is a new file here and a row in the contract test.
Begin with `operator`, which has the contract, then `spectral` and `build`.
"""

from gptm.operators.additive import Additive
from gptm.operators.build import build_operator, solved_variances
from gptm.operators.cross import SpectralCross
from gptm.operators.dense_prediction import (
    covariance_of_new,
    covariance_with_training,
    variance_of_new,
)
from gptm.operators.diagonal import Diagonal
from gptm.operators.feature_cross import FeatureCross
from gptm.operators.features import Block, Features, pointing, stack
from gptm.operators.graph_polynomials import EXACT, Network
from gptm.operators.matrixfree import MatrixFree
from gptm.operators.operator import Operator, View
from gptm.operators.placement import Placement, sum_placements
from gptm.operators.sparse import Sparse
from gptm.operators.spectral import Spectral
from gptm.operators.structure import Structure, growth, sum_structures, sum_tangents
from gptm.operators.tangent import Tangent
from gptm.operators.training_operator import Cross, TrainingOperator

__all__ = [
    "EXACT",
    "Additive",
    "Block",
    "Cross",
    "Diagonal",
    "FeatureCross",
    "Features",
    "MatrixFree",
    "Network",
    "Operator",
    "Placement",
    "Sparse",
    "Spectral",
    "SpectralCross",
    "Structure",
    "Tangent",
    "TrainingOperator",
    "View",
    "build_operator",
    "covariance_of_new",
    "covariance_with_training",
    "growth",
    "pointing",
    "solved_variances",
    "stack",
    "sum_placements",
    "sum_structures",
    "sum_tangents",
    "variance_of_new",
]
