"""Where libraries run: gptm in the interpreter of the harness, the peers in an environment of their own."""

import subprocess
import sys
from pathlib import Path

from benchmarks.peers.cases import OURS

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".venv-peers"
REQUIREMENTS = ("tomotopy>=0.13", "topica>=0.62", "scikit-learn>=1.6", "gensim>=4.3", "psutil>=5.9")


def python_for(library: str) -> Path:
    """The interpreter that has the library."""
    if library == OURS:
        return Path(sys.executable)
    return PEERS / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def install_peers() -> None:
    """Make the environment of the peers, unless it holds what is asked for."""
    stamp = PEERS / "requirements.txt"
    wanted = "\n".join(REQUIREMENTS) + "\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing {', '.join(REQUIREMENTS)} in {PEERS.name} ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(PEERS)], check=True)
    pip = [str(python_for("tomotopy")), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *REQUIREMENTS], check=True)
    stamp.write_text(wanted)


def stm_is_there() -> bool:
    """Whether R and its package stm can be loaded."""
    try:
        done = subprocess.run(["Rscript", "-e", "library(stm)"], capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0
