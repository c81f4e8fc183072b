"""A Python for jobs of any user: that of the tests and demonstrations may be in a folder that is closed to others.

Root's HTCondor pool runs jobs as a user of its own, who is not let into root's home.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.testbed.software.debian import PackageError

__all__ = ["is_open", "jobs_python", "open_python"]

_DEBIANS = "/usr/bin/python3"
_ROOT = Path(__file__).resolve().parents[3]


def is_open(path: Path) -> bool:
    """Return whether everybody may come to a path."""
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents))


def open_python() -> str:
    """Return a Python of this version that everybody may run: this one, else Debian's.

    Raises:
        PackageError: there is none.
    """
    if is_open(Path(sys.executable).resolve()) and is_open(Path(sys.executable).parent):
        return sys.executable
    version = "{}.{}".format(*sys.version_info)
    words = [_DEBIANS, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
    try:
        there = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise PackageError(f"{sys.executable} is closed to others, and {_DEBIANS} cannot be run: {error}") from error
    if there != version:
        raise PackageError(f"{sys.executable} is closed to others, and {_DEBIANS} is {there}, not {version}")
    return _DEBIANS


def jobs_python() -> tuple[str, dict[str, str]]:
    """Return a Python with cosched and all packages of this one, and what it needs in its environment.

    Raises:
        PackageError: other users can run none, or may not read the packages.
    """
    packages = Path(sysconfig.get_path("purelib")).resolve()
    if closed := [str(folder) for folder in (packages, _ROOT) if not is_open(folder)]:
        raise PackageError(f"{closed[0]} is closed to others")
    command = open_python()
    paths = (_ROOT, _ROOT / "connectors", packages)
    return command, {} if command == sys.executable else {"PYTHONPATH": ":".join(map(str, paths))}
