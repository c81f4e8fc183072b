"""Slurm's daemons on a machine that has none: Debian's packages in a prefix, linked against their own libraries."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path

from tests.testbed.cache import cached
from tests.testbed.debian import unpack
from tests.testbed.relink import relink

__all__ = ["PLUGINS", "SUITE", "prefix"]

SUITE = "bookworm"
PLUGINS = "usr/lib/x86_64-linux-gnu/slurm-wlm"
# Suite → what is kept of it; bookworm carries Slurm 22.05, trixie 24.11, forky 26.05.
_RECIPES = {"bookworm": "slurm-22.05-1", "trixie": "slurm-trixie-1", "forky": "slurm-forky-1"}
_PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "patchelf")
_LOADERS = ("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
_LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", PLUGINS)
_PATCHED = ("usr/bin/s*", "usr/sbin/*-wlm", "usr/sbin/munge*", f"{PLUGINS}/*.so*")
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/perl")


def prefix(suite: str = SUITE) -> Path:
    """Return the folder with a suite's Slurm, its usr/sbin and usr/bin; build it on the first call.

    Raises:
        PackageError: the packages cannot be had.
    """
    return cached(_RECIPES[suite], partial(_install, suite))


def _install(suite: str, target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="cosched-testbed-"))
    try:
        unpack(suite, _PACKAGES, target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for folder in _UNUSED:
        shutil.rmtree(target / folder, ignore_errors=True)
    loader = next(loader for loader in _LOADERS if (target / loader).exists())
    relink(target, _PATCHED, _LIBRARIES, loader)
