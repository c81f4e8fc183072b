"""Debian's Open MPI and MPICH on a machine that has neither, and a parallel program for the tests."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.testbed.software.cache import cached
from tests.testbed.software.debian import unpack
from tests.testbed.software.relink import relink

__all__ = ["KINDS", "PYTHON", "environment", "prefix", "program"]

KINDS = ("openmpi", "mpich")
PYTHON = "/usr/bin/python3"  # readable by the user that a pool of root runs as
_SUITE = "bookworm"
_RECIPE = "mpi-bookworm-1"
_LIBRARY = "usr/lib/x86_64-linux-gnu"
_LIBRARIES = ("lib/x86_64-linux-gnu", _LIBRARY, f"{_LIBRARY}/openmpi/lib", f"{_LIBRARY}/pmix2/lib")
_LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
_PATCHED = (
    "usr/bin/orte*",
    "usr/bin/mpiexec.hydra",
    "usr/bin/hydra_pmi_proxy",
    *(f"{_LIBRARY}/lib{name}*.so*" for name in ("mpi", "open-", "pmix", "uc", "fabric")),
    f"{_LIBRARY}/openmpi/lib/**/*.so*",
    f"{_LIBRARY}/pmix2/**/*.so*",
    f"{_LIBRARY}/ucx/*.so*",
)
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/lib/llvm-14")
_C_LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}
# For networks that no test machine has; each complains in every job that its libraries are missing.
_NETWORKS = ("btl_ofi", "mtl_ofi", "mtl_psm", "mtl_psm2", "btl_openib", "reachable_netlink")


def prefix() -> Path:
    """Return the folder with both; build it on the first call.

    Raises:
        PackageError: the packages cannot be had.
    """
    return cached(_RECIPE, _install)


def environment(kind: str, sessions: Path) -> dict[str, str]:
    """Return what a task needs in its environment to find this MPI, and to let root run it.

    Args:
        kind: "openmpi" or "mpich".
        sessions: folder of the test's own for the folders that runs leave behind; whoever runs them may write there.
    """
    root = prefix()
    own = {
        "OPAL_PREFIX": str(root / "usr"),
        "PMIX_INSTALL_PREFIX": str(root / _LIBRARY / "pmix2"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",  # more ranks than processors: who waits lets the others go on
    }
    path = f"{root}/usr/bin:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "TMPDIR": str(sessions), **(own if kind == "openmpi" else {})}


def program(kind: str, folder: Path, *arguments: str) -> tuple[str, ...]:
    """Return the command of the parallel program, which is copied into a folder that jobs can read."""
    file = shutil.copy(Path(__file__).with_name("allreduce.py"), folder)
    return (PYTHON, "-IS", str(file), str(prefix() / _LIBRARY / _C_LIBRARIES[kind]), *arguments)


def _install(target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="cosched-testbed-"))
    try:
        unpack(_SUITE, ["openmpi-bin", "mpich", "patchelf"], target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for folder in _UNUSED:
        shutil.rmtree(target / folder, ignore_errors=True)
    for network in _NETWORKS:
        for plugin in target.glob(f"{_LIBRARY}/openmpi/lib/**/mca_{network}.so"):
            plugin.unlink()
    relink(target, _PATCHED, _LIBRARIES, _LOADER)
