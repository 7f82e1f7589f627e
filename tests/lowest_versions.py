"""Check that the lower bounds of pyproject.toml are the versions installed; `make test-lowest` runs it.

An installer may quietly choose a newer version where a bound cannot be met together with the
others. Then the bound promises something that nobody has tried.
"""

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def requirements() -> Iterator[Requirement]:
    """Every dependency that the project declares, those of its extras included."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    for group in [project["dependencies"], *project["optional-dependencies"].values()]:
        yield from (Requirement(line) for line in group if not line.startswith(project["name"]))


def lower_bound(requirement: Requirement) -> Version:
    (bound,) = (part for part in requirement.specifier if part.operator == ">=")
    return Version(bound.version)


def differences() -> list[str]:
    return [
        f"{requirement.name}: {lower_bound(requirement)} is declared, {installed} is installed"
        for requirement in requirements()
        if (installed := Version(version(requirement.name))) != lower_bound(requirement)
    ]


if __name__ == "__main__":
    sys.exit("\n".join(differences()) or None)
