"""Slurm's daemons on a machine that has none: Debian 12's packages in a prefix, linked against their own libraries."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.testbed.cache import cached
from tests.testbed.debian import unpack
from tests.testbed.relink import relink

__all__ = ["PLUGINS", "SUITE", "prefix"]

SUITE = "bookworm"  # Slurm 22.05
PLUGINS = "usr/lib/x86_64-linux-gnu/slurm-wlm"
_RECIPE = "slurm-22.05-1"
_PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "patchelf")
_LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
_LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", PLUGINS)
_PATCHED = ("usr/bin/s*", "usr/sbin/*-wlm", "usr/sbin/munge*", f"{PLUGINS}/*.so*")
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/perl")


def prefix() -> Path:
    """Return the folder with Slurm's usr/sbin and usr/bin; build it on the first call.

    Raises:
        PackageError: the packages cannot be had.
    """
    return cached(_RECIPE, _install)


def _install(target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="cosched-testbed-"))
    try:
        unpack(SUITE, _PACKAGES, target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for folder in _UNUSED:
        shutil.rmtree(target / folder, ignore_errors=True)
    relink(target, _PATCHED, _LIBRARIES, _LOADER)
