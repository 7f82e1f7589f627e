"""The kernels there are: a kernel is known everywhere as soon as its file lies in this folder."""

import inspect
import pkgutil
import sys
from functools import cache
from importlib import import_module

from gptm.kernels.kernel import Kernel


@cache
def kernel_classes() -> dict[str, type[Kernel]]:
    """Every kernel that can be made, by the name of its class.

    Examples
    --------
    >>> from gptm.kernels.catalogue import kernel_classes
    >>> kernel_classes()["RBF"]("date")
    RBF('date')
    """
    package = sys.modules[__package__]
    modules = [f"{__package__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    members = [kind for module in modules for kind in vars(import_module(module)).values()]
    kernels = {kind.__name__: kind for kind in members if _is_public_kernel(kind)}
    return dict(sorted(kernels.items()))


def _is_public_kernel(member: object) -> bool:
    return (
        isinstance(member, type)
        and issubclass(member, Kernel)
        and not inspect.isabstract(member)
        and not member.__name__.startswith("_")
    )
