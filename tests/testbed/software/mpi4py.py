"""mpi4py, which loads the MPI that is in `LD_LIBRARY_PATH` for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.testbed.software.cache import cached
from tests.testbed.software.wheels import install_wheel

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["prefix"]

_WHEEL = "mpi4py==4.1.2 --hash=sha256:de484475b80f9e1ffe98cb85e1b776eb9f42bb73ae4d79449d42953f80025bf4"
_RECIPE = "mpi4py-4.1.2-1"


def prefix() -> Path:
    """Return the folder that goes into `PYTHONPATH`; install it on the first call."""
    return cached(_RECIPE, _install)


def _install(target: Path) -> None:
    install_wheel(_WHEEL, target)
