"""What similarity between documents is: which columns, which form, which parameters.

A `Kernel` is a description; `bind` ties it to the training documents. The `BoundKernel` has a `Structure`, with which
`gptm.operators` multiplies and solves, and it places new documents. A kernel's file has both. `auto` chooses terms for
a table, and `formula` reads kernels from text. Begin with `kernel`, then `identity` and `categorical`.

Examples
--------
>>> from gptm import kernels as k
>>> 2.0 * k.Matern("date", nu=2.5) + k.Identity()
2.0 * Matern('date', nu=2.5) + Identity()
"""

from typing import TYPE_CHECKING, Any

from gptm.kernels.auto import auto_kernel, auto_table, is_automatic, resolve_kernel
from gptm.kernels.bound import BoundKernel, Documents
from gptm.kernels.catalogue import kernel_classes
from gptm.kernels.kernel import Kernel

if TYPE_CHECKING:  # editors and type checkers cannot see what is found below
    from gptm.kernels.categorical import Categorical as Categorical
    from gptm.kernels.embedding import Embedding as Embedding
    from gptm.kernels.function import Function as Function
    from gptm.kernels.graph import Graph as Graph
    from gptm.kernels.identity import Identity as Identity
    from gptm.kernels.kernel import Product as Product
    from gptm.kernels.kernel import Scaled as Scaled
    from gptm.kernels.kernel import Sum as Sum
    from gptm.kernels.linear import Linear as Linear
    from gptm.kernels.mustlink import MustLink as MustLink
    from gptm.kernels.nearest_neighbors import NearestNeighbors as NearestNeighbors
    from gptm.kernels.precomputed import Precomputed as Precomputed
    from gptm.kernels.smooth import RBF as RBF
    from gptm.kernels.smooth import Matern as Matern
    from gptm.kernels.smooth import OnColumns as OnColumns
    from gptm.kernels.smooth import Periodic as Periodic

    def __getattr__(name: str) -> Any:
        """A kernel that is not in this list is public all the same."""


globals().update(kernel_classes())

__all__ = [
    "BoundKernel",
    "Documents",
    "Kernel",
    "auto_kernel",
    "auto_table",
    "is_automatic",
    "resolve_kernel",
]
__all__ += kernel_classes()
