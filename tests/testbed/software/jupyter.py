"""Jupyter for the jobs of any user: Python and the packages, where everybody may read them.

Start at `python`. The Python of the tests may be in a folder that is closed to others, such as root's home.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.testbed.software.cache import cached
from tests.testbed.software.jobs_python import is_open, open_python

__all__ = ["python"]

_PACKAGES = ("ipykernel", "jupyter-client", "nbclient")


def python() -> tuple[str, dict[str, str]]:
    """Return a Python that has Jupyter, and what it needs in its environment.

    Raises:
        PackageError: no Python of this version can be run by everybody.
    """
    packages = Path(sysconfig.get_path("purelib")).resolve()
    command = open_python()
    if command == sys.executable and is_open(packages):
        return command, {}
    names = _with_dependencies()
    stamp = hashlib.sha256("".join(f"{name} {distribution(name).version}\n" for name in names).encode()).hexdigest()
    version = "{}.{}".format(*sys.version_info)
    folder = cached(f"jupyter-{version}-{stamp[:12]}", lambda target: _copy(names, packages, target))
    return command, {"PYTHONPATH": str(folder)}


def _with_dependencies() -> list[str]:
    found, waiting = set[str](), [*_PACKAGES]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        needs = (Requirement(text) for text in distribution(name).requires or ())
        waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return sorted(found)


def _copy(names: list[str], packages: Path, target: Path) -> None:
    for name in names:
        for file in distribution(name).files or ():
            source = Path(str(file.locate())).resolve()
            if source.is_relative_to(packages) and source.is_file():
                (target / source.relative_to(packages)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target / source.relative_to(packages))
