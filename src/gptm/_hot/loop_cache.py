"""Compiled loops are kept for the next process where a folder can be written, and compiled anew where none can."""

import atexit
import contextlib
import importlib
import os
import shutil
import tempfile
import warnings
from functools import cache

from numba import config
from numba.core import sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache

_SLOW = (
    "gptm found no folder in which it can keep compiled code, so every start takes longer, up to a minute. Set the "
    "environment variable NUMBA_CACHE_DIR to a folder that you can write to."
)


def keep_compiled(dispatcher):
    """Keep what numba compiles for a function, if that can be; with a warning, once, if not."""
    try:
        dispatcher._cache = LoopCache(dispatcher.py_func)
    except (RuntimeError, OSError):  # numba's own cache would fail here, and so would the import
        _warn_of_slow_start()


def import_with_cache(name):
    """Import a package that fails where numba finds no folder for a cache: it gets one for as long as the process."""
    try:
        return importlib.import_module(name)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    config.CACHE_DIR = tempfile.mkdtemp(prefix="gptm-")
    atexit.register(shutil.rmtree, config.CACHE_DIR, ignore_errors=True)
    return importlib.import_module(name)


@cache
def _warn_of_slow_start():
    warnings.warn(_SLOW, stacklevel=2)


def _locators():
    """Where numba looks for a folder. Users without a home would get a new folder of the name ~ wherever they are."""
    at_home = os.path.isabs(os.path.expanduser("~"))
    known = CompileResultCacheImpl._locator_classes
    return [one for one in known if at_home or "UserWide" not in one.__name__]


class _Files(CompileResultCacheImpl):
    _locator_classes = _locators()


class LoopCache(FunctionCache):
    """Numba's cache of a function, without errors: what it does not have is compiled."""

    _impl_class = _Files

    def load_overload(self, sig, target_context):
        try:
            compiled = super().load_overload(sig, target_context)
        except Exception:  # cut short by a full disk, say, or by a process that was killed
            self._forget()
            return None
        if compiled is None or compiled.signature.args != sigutils.normalize_signature(sig)[0]:
            return None  # two processes that compile at once may give two signatures one file
        return compiled

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError:
            _warn_of_slow_start()

    def _forget(self):
        """Begin again with an empty list of what is there."""
        with contextlib.suppress(OSError):
            self.flush()
