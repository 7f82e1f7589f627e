"""What similarity between documents is: which columns, which form, which parameters.

A kernel is a description; `bind` ties it to the training documents. How to multiply and solve
with it is the business of `gptm.operators`.

Examples
--------
>>> from gptm import kernels as k
>>> 2.0 * k.Matern("date", nu=2.5) + k.Identity()
2.0 * Matern('date', nu=2.5) + Identity()
"""

from gptm.kernels.auto import auto_kernel, resolve_kernel
from gptm.kernels.bound import BoundKernel, Documents
from gptm.kernels.categorical import Categorical
from gptm.kernels.function import Function
from gptm.kernels.graph import Graph
from gptm.kernels.identity import Identity
from gptm.kernels.kernel import Kernel, Product, Scaled, Sum
from gptm.kernels.linear import Embedding, Linear
from gptm.kernels.mustlink import MustLink
from gptm.kernels.nearest_neighbors import NearestNeighbors
from gptm.kernels.precomputed import Precomputed
from gptm.kernels.smooth import RBF, Matern, OnColumns, Periodic

__all__ = [
    "RBF",
    "BoundKernel",
    "Categorical",
    "Documents",
    "Embedding",
    "Function",
    "Graph",
    "Identity",
    "Kernel",
    "Linear",
    "Matern",
    "MustLink",
    "NearestNeighbors",
    "OnColumns",
    "Periodic",
    "Precomputed",
    "Product",
    "Scaled",
    "Sum",
    "auto_kernel",
    "resolve_kernel",
]
