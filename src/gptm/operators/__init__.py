"""How to multiply and solve with a kernel over documents; nothing here knows of text.

A `Structure` says what the (D, D) matrix of a kernel is made of, `build_operator` picks the operator that solves with
it, and a `Placement` says where new documents stand. A new operator is a new file here and a row in the contract test.
"""

from gptm.operators.additive import APART, Additive
from gptm.operators.build import build_operator, solved_variances
from gptm.operators.cross import SpectralCross
from gptm.operators.dense_prediction import (
    covariance_of_new,
    covariance_with_training,
    variance_of_new,
)
from gptm.operators.diagonal import Diagonal
from gptm.operators.features import Block, Features, Split, pointing, stack
from gptm.operators.matrixfree import MatrixFree
from gptm.operators.operator import Cross, Operator, View
from gptm.operators.sparse import EXACT, Network, Sparse
from gptm.operators.spectral import Spectral
from gptm.operators.structure import Placement, Structure, sum_placements, sum_structures
from gptm.operators.tangent import Tangent, growth, sum_tangents

__all__ = [
    "APART",
    "EXACT",
    "Additive",
    "Block",
    "Cross",
    "Diagonal",
    "Features",
    "MatrixFree",
    "Network",
    "Operator",
    "Placement",
    "Sparse",
    "Spectral",
    "SpectralCross",
    "Split",
    "Structure",
    "Tangent",
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
