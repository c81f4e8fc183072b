"""HTCondor's daemons on a machine that has none: Debian's packages in a prefix, linked against their own libraries."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.testbed.software.cache import cached
from tests.testbed.software.debian import unpack
from tests.testbed.software.relink import relink

__all__ = ["SUITE", "prefix"]

# The suite whose HTCondor is of the series of the Python package `htcondor`; the version is the one it carries today.
SUITE = "forky"
_RECIPE = "htcondor-1"
_LOADER = "usr/lib64/ld-linux-x86-64.so.2"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib")
_PATCHED = ("usr/bin/c*_*", "usr/sbin/*", "usr/libexec/condor/*", "usr/lib/*.so*")
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")


def prefix() -> Path:
    """Return the folder with HTCondor's usr/sbin, usr/bin and usr/libexec; build it on the first call.

    Raises:
        PackageError: the packages cannot be had.
    """
    return cached(_RECIPE, _install)


def _install(target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="cosched-testbed-"))
    try:
        unpack(SUITE, ["condor", "patchelf"], target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for folder in _UNUSED:
        shutil.rmtree(target / folder, ignore_errors=True)
    relink(target, _PATCHED, _LIBRARIES, _LOADER)
