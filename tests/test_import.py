"""`import gptm` is light, and every public name is there when it is asked for."""

import subprocess
import sys

import pytest

import gptm

HEAVY = ["numpy", "scipy", "sklearn", "numba", "pandas", "safetensors", "joblib"]


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_loads_nothing_heavy():
    code = f"import sys, gptm; print(*[name for name in {HEAVY} if name in sys.modules])"
    assert run(code) == []


def test_looking_around_loads_nothing_heavy():
    code = (
        "import sys, gptm; gptm.__version__; dir(gptm); hasattr(gptm, 'nothing');"
        f"print(*[name for name in {HEAVY} if name in sys.modules])"
    )
    assert run(code) == []


def test_import_takes_less_than_a_third_of_a_second():
    code = (
        "import time; start = time.perf_counter(); import gptm; print(time.perf_counter() - start)"
    )
    assert min(float(run(code)[0]) for _ in range(3)) < 0.3


def test_every_public_name_resolves():
    code = "import gptm; print(*[getattr(gptm, n) is getattr(gptm, n) for n in gptm.__all__])"
    assert run(code) == ["True"] * len(gptm.__all__)


def test_the_promised_names_are_public():
    assert {"GPTM", "CTM", "Corpus", "kernels", "load", "metrics"} <= set(gptm.__all__)
    assert set(gptm.__all__) <= set(dir(gptm))
    assert len(dir(gptm)) == len(set(dir(gptm)))
    assert gptm.__version__[0].isdigit()


def test_every_way_to_import():
    code = """
import gptm.kernels
print(gptm.kernels.Identity())
from gptm import GPTM, CTM, Corpus, kernels as k, load
print(k.RBF('t'))
from gptm import *
print(GPTM.__name__, callable(load))
from gptm.metrics import perplexity
print(callable(perplexity))
"""
    assert run(code) == ["Identity()", "RBF('t')", "GPTM", "True", "True"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'gptm'.*'LDA'"):
        _ = gptm.LDA
    with pytest.raises(ImportError):
        exec("from gptm import LDA")
