"""R's stm without covariates, from its spectral start. R obeys one command at a time, so that the clock is ours."""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mmwrite
from scipy.sparse import csr_matrix

from benchmarks.peers.measuring import Recorder
from benchmarks.peers.runners.tomotopy_lda import GROWTH

PACKAGE = "stm"  # R's; its version is among the facts
WARM_UP: dict[str, Any] = {"max_iter": 2}
INFERENCE = ({},)
SCRIPT = Path(__file__).with_suffix(".R")


class Session:
    """R with one model, and the words that the training documents use: stm takes no others."""

    def __init__(self, X: csr_matrix, K: int, seed: int):
        self._place = tempfile.TemporaryDirectory()
        self.folder = Path(self._place.name)
        self.K, self.n_words = K, X.shape[1]
        self.used = np.flatnonzero(np.asarray(X.sum(axis=0)).ravel())
        self.iterations, self.converged = 0, False
        self._process = subprocess.Popen(
            ["Rscript", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.ask("load", self.write_counts(X), K, seed)

    def ask(self, *command: Any) -> str:
        """R's answer to a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(str(field) for field in command) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("answer"):
                return line.split()[1]
        raise RuntimeError(f"R ended at {command[0]!r}, with {self._process.wait()}.")

    def write_counts(self, X: csr_matrix) -> Path:
        path = self.folder / "counts.mtx"
        mmwrite(path, X[:, self.used])
        return path

    def read_rows(self, what: str) -> np.ndarray:
        """A matrix with K columns or rows, as R writes it."""
        path = self.folder / what
        self.ask(what, path)
        return np.fromfile(path)


def fit(
    X: csr_matrix, K: int, seed: int, threads: int, options: dict[str, Any], recorder: Recorder
) -> Session:
    session = Session(X, K, seed)
    recorder.start()
    while session.iterations < options["max_iter"] and not session.converged:
        wanted = max(session.iterations + 1, int(GROWTH * session.iterations))
        session.iterations = min(wanted, options["max_iter"])
        session.converged = session.ask("fit", session.iterations) == "converged"
        recorder.note(lambda: topics(session))
    return session


def topics(session: Session) -> np.ndarray:
    result = np.zeros((session.K, session.n_words))
    result[:, session.used] = session.read_rows("topics").reshape(session.K, -1)
    return result


def facts(session: Session) -> dict[str, Any]:
    expression = "cat(as.character(packageVersion('stm')), R.version.string, sep = ', ')"
    printed = subprocess.run(["Rscript", "-e", expression], capture_output=True, text=True).stdout
    return {
        "iterations": session.iterations,
        "converged": session.converged,
        "stm": re.sub(r"\s+", " ", printed).strip(),
    }


def prepare_new(session: Session, X: csr_matrix) -> int:
    session.ask("new", session.write_counts(X))
    return X.shape[0]


def infer(session: Session, documents: int, threads: int, setting: dict[str, Any]) -> np.ndarray:
    session.ask("infer")
    return session.read_rows("theta").reshape(documents, -1)
