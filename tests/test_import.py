"""`import gptm` is light, every public name is there when it is asked for, and imports inside go one way."""

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Self, get_type_hints

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


def test_type_checkers_know_what_fit_returns():
    for model in (gptm.GPTM, gptm.CTM):
        hints = get_type_hints(model.fit, localns={"Client": object})  # dask is optional
        assert hints["return"] is Self


# Who may import whom

SOURCE = Path(gptm.__file__).parent
MODULES = {
    ".".join(["gptm", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(
        ".__init__"
    ): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def imported(module):
    """The modules of gptm that a module imports, anywhere in its code."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            parts = [*(above if node.level else ()), *([node.module] if node.module else ())]
            source = ".".join(parts)
            inner = {f"{source}.{name.name}" for name in node.names} & MODULES.keys()
            found.update(inner or {source})
    return {name for name in found if name == "gptm" or name.startswith("gptm.")}


# From the ground up: a room may import those of the rows above it, and of no other.
LAYERS = (
    ("_basics", "_hot"),
    ("operators", "metrics", "views"),
    ("corpus",),
    ("kernels", "files"),
    ("fitted",),
    ("inference",),
    ("starts", "prediction"),
    ("streaming",),
    ("tables",),
    ("effects",),
    ("surgery",),
    ("interop", "storage", "summary"),
    ("model",),
    ("questions",),
    ("plots",),
    ("selection",),
    ("findings",),
    ("report",),
    ("demo",),
    ("cli",),
    ("__main__", "__init__"),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def room(module):
    """The package or module at the top level that a module is in."""
    return module.split(".")[1] if "." in module else "__init__"


def upward(modules=MODULES):
    """Imports that do not go down."""
    return [
        f"{module} imports {other}"
        for module in modules
        for other in sorted(imported(module))
        if room(other) != room(module) and LEVEL[room(other)] >= LEVEL[room(module)]
    ]


def test_imports_are_found_in_all_their_spellings():
    assert "gptm.operators.operator" in imported("gptm.operators.additive")
    assert "gptm._hot" in imported("gptm.inference.sampling.draw_topics")  # from gptm import
    assert "gptm.demo" in imported("gptm.cli.demo_command")  # inside a function


def test_every_room_has_a_layer():
    assert {room(module) for module in MODULES} == LEVEL.keys()


def test_imports_go_down():
    assert upward() == []


def test_inside_of_a_room_imports_go_one_way():
    for name in LEVEL:
        graph = {
            module: imported(module) & MODULES.keys() - {module}
            for module in MODULES
            if room(module) == name and module.count(".") > 1
        }
        TopologicalSorter(
            {module: others & graph.keys() for module, others in graph.items()}
        ).prepare()  # raises CycleError


def test_module_names_are_unique():
    names = [module.rpartition(".")[2] for module in MODULES if MODULES[module].stem != "__init__"]
    assert [name for name, times in Counter(names).items() if times > 1] == []


# Private classes that share the name of a public one in `_basics.errors`.
SAME_CLASS_NAMES = {"Argument", "Value"}


def test_class_names_are_unique():
    """Private classes and classes inside of functions too; `_Part` and `Part` count as the same name."""
    places = defaultdict(list)
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(f"{module}.{node.name}")
    shared = {name: classes for name, classes in places.items() if len(classes) > 1}
    assert {name: shared[name] for name in shared.keys() - SAME_CLASS_NAMES} == {}
