"""How the loops are compiled, and numbers that several of them share."""

from functools import partial

from numba import config, njit

from gptm._hot.loop_cache import keep_compiled

# Lets sums vectorise, but keeps NaN and infinity meaningful (plain fastmath=True does not).
FAST = {"reassoc", "contract", "nsz"}
TINY = 1e-300

# Other Python threads run beside a loop, and division by zero is infinity: a check of every divisor would keep loops
# from vectorising. Loops allocate nothing and hand no array back, so numba need not count who holds on to each row that
# they look at, which takes an atomic instruction every time and was a seventh of the document step.
_compiled = partial(njit, nogil=True, error_model="numpy", _nrt=False)


def loop(function=None, **options):
    """Compile a function when it is first called, or find it where it was kept."""
    if function is None:
        return partial(loop, **options)
    compiled = _compiled(function, **options)
    if not config.DISABLE_JIT:
        keep_compiled(compiled)
    return compiled


inlined = partial(loop, forceinline=True)
