"""mpi4py, which loads the MPI that is in `LD_LIBRARY_PATH` for itself.

`python -m tests.testbed.software.mpi4py` installs it into the testbed's folder.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from tests.testbed.software.cache import cached

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["prefix"]

_WHEEL = "mpi4py==4.1.2 --hash=sha256:de484475b80f9e1ffe98cb85e1b776eb9f42bb73ae4d79449d42953f80025bf4"
_RECIPE = "mpi4py-4.1.2-1"


def prefix() -> Path:
    """Return the folder that goes into `PYTHONPATH`; install it on the first call."""
    return cached(_RECIPE, _install)


def _install(target: Path) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(_WHEEL)
        file.flush()
        words = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*words, "--target", str(target), "--require-hashes", "-r", file.name], check=True)


if __name__ == "__main__":
    print(prefix())
