"""Machines where nothing can be written: the package starts and fits, only more slowly, and says so once."""

import errno
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import pytest
from numba.core.caching import FunctionCache

import gptm
from gptm._hot import loop_cache
from gptm._hot.compile_options import loop

SLOWER = "no folder in which it can keep compiled code"
FIT = """
    import numpy as np, gptm
    counts = np.random.default_rng(0).poisson(1.0, (20, 6))
    model = gptm.CTM(2, inference="variational", random_state=0, max_iter=2, doc_points=0, tol=0.9)
    print(model.fit(counts).components_.tobytes().hex())
"""


def without_rights():
    """What runs a command that obeys permissions: root may write anywhere, unless it gives that up."""
    if os.name == "nt":
        pytest.skip("no such permissions there")
    if os.geteuid() != 0:
        return []
    command = ["setpriv", "--bounding-set=-dac_override"]
    if shutil.which("setpriv") is None or subprocess.run([*command, "true"]).returncode:
        pytest.skip("root may write anywhere here, and setpriv cannot take that away")
    return command


def started(command, source, home, code=FIT, **environment):
    # XDG_CACHE_HOME would be one more place for a cache.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment = kept | {"PYTHONPATH": str(source), "HOME": str(home)} | environment
    return subprocess.Popen(
        [*command, sys.executable, "-W", "default", "-c", textwrap.dedent(code)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_fit_where_nothing_can_be_written(tmp_path):
    command = without_rights()
    package, home = tmp_path / "site" / "gptm", tmp_path / "home"
    ignored = shutil.ignore_patterns("__pycache__", "assets")
    shutil.copytree(Path(gptm.__file__).parent, package, ignore=ignored)
    home.mkdir()
    folders = [home, package.parent, package, *(one for one in package.rglob("*") if one.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        fit = started(command, package.parent, home, NUMBA_CACHE_DIR=str(home / "cache"))
        output, errors = fit.communicate(timeout=600)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert fit.returncode == 0, errors
    assert errors.count(SLOWER) == 1
    assert not list(home.iterdir())
    elsewhere = started([], Path(gptm.__file__).parent.parent, tmp_path)
    assert output == elsewhere.communicate(timeout=600)[0]


DOUBLE = """
from gptm._hot.compile_options import loop

@loop()
def double(x):
    return 2 * x
"""
COMPILE = """
    import sys, numpy as np
    from doubling import double
    kinds = sys.stdin.read().split()
    print(sorted(float(double(np.dtype(kind).type(3))) for kind in kinds))
"""


def test_processes_that_compile_at_once(tmp_path):
    """They compile signatures of one loop in different orders, and all begin at the same moment."""
    (tmp_path / "doubling.py").write_text(DOUBLE)
    source = f"{Path(gptm.__file__).parent.parent}{os.pathsep}{tmp_path}"
    where = {"code": COMPILE, "NUMBA_CACHE_DIR": str(tmp_path)}
    orders = ["i4 i8 f4 f8", "f8 f4 i8 i4", "f4 i4 f8 i8"]
    processes = [started([], source, tmp_path, **where) for _ in orders]
    for process, kinds in zip(processes, orders, strict=True):
        process.stdin.write(kinds)
        process.stdin.close()
    for process in processes:
        assert process.wait(timeout=600) == 0, process.stderr.read()
        assert process.stdout.read() == "[6.0, 6.0, 6.0, 6.0]\n"
    assert list(tmp_path.rglob("*.nbi"))


# The cache of one function


def double(x):
    return 2 * x


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Compiles `double` as loops are, with a cache in a folder of its own."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    loop_cache._warn_of_slow_start.cache_clear()
    yield lambda: loop(double)
    loop_cache._warn_of_slow_start.cache_clear()


def files(folder, suffix):
    return sorted(folder.rglob(f"*.{suffix}"))


def test_what_was_compiled_is_found_again(cached, tmp_path):
    assert cached()(2) == 4
    assert len(files(tmp_path, "nbc")) == 1
    again = cached()
    assert again(2) == 4
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"garbage", b"\x80\x05."])
def test_a_damaged_cache_is_compiled_anew(suffix, content, cached, tmp_path):
    assert cached()(2) == 4
    for file in files(tmp_path, suffix):
        file.write_bytes(content)
    assert cached()(2) == 4


def test_a_full_disk_is_no_reason_to_fail(cached, monkeypatch):
    def full(self, *arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FunctionCache, "_save_overload", full)
    function = cached()
    with pytest.warns(UserWarning, match=SLOWER) as told:
        answers = [function(2), function(2.5)]
    assert answers == [4, 5.0]
    assert len(told) == 1


def test_another_signature_in_the_file_is_not_believed(cached, tmp_path):
    """Two processes that compile two signatures at once may both call the file number one."""
    first = cached()
    first(2)
    [data] = files(tmp_path, "nbc")
    whole = data.read_bytes()
    first(2.5)
    of_float = next(file for file in files(tmp_path, "nbc") if file != data)
    of_float.write_bytes(whole)
    assert cached()(2.5) == 5.0


def test_no_folder_is_told_once(cached, monkeypatch):
    monkeypatch.setattr(loop_cache._Files, "_locator_classes", [])
    with pytest.warns(UserWarning, match=SLOWER) as told:
        functions = [cached() for _ in range(3)]
    assert len(told) == 1
    assert [function(2) for function in functions] == [4, 4, 4]


def test_users_without_a_home_get_no_folder_of_that_name(monkeypatch):
    names = [one.__name__ for one in loop_cache._locators()]
    assert any("UserWide" in name for name in names)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    names = [one.__name__ for one in loop_cache._locators()]
    assert names
    assert not any("UserWide" in name for name in names)


def test_a_package_that_needs_a_cache_gets_one(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    (tmp_path / "needy_package.py").write_text(
        "import numba\n"
        "if not numba.config.CACHE_DIR:\n"
        "    raise RuntimeError('cannot cache function f: no locator available')\n"
    )
    (tmp_path / "broken_package.py").write_text("raise RuntimeError('something else')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert loop_cache.import_with_cache("needy_package").__name__ == "needy_package"
    assert Path(numba.config.CACHE_DIR).is_dir()
    with pytest.raises(RuntimeError, match="something else"):
        loop_cache.import_with_cache("broken_package")
