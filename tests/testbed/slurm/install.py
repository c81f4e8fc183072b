"""Slurm's daemons on a machine that has none: Debian's packages in a prefix, linked against their own libraries."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.testbed.software.cache import cached
from tests.testbed.software.debian import PackageError, unpack
from tests.testbed.software.relink import relink

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SUITE", "Slurm", "check_release", "installed", "prefix"]

SUITE = "bookworm"
_PLUGINS = "usr/lib/x86_64-linux-gnu/slurm-wlm"
# Suite → what is kept of it; bookworm carries Slurm 22.05, trixie 24.11, forky 26.05.
_RECIPES = {"bookworm": "slurm-22.05-1", "trixie": "slurm-trixie-1", "forky": "slurm-forky-1"}
_PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "patchelf")
_LOADERS = ("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
_LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", _PLUGINS)
_PATCHED = ("usr/bin/s*", "usr/sbin/*-wlm", "usr/sbin/munge*", f"{_PLUGINS}/*.so*")
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/perl")


@dataclass(frozen=True, slots=True)
class Slurm:
    """Where the parts of a Slurm are.

    Attributes:
        bin: folder of its commands.
        plugins: folder of its plugins.
        daemons: usual name of each daemon → its program; munge's is among them.
        is_old: it is 22.05, which needs nothing said about control groups.
    """

    bin: Path
    plugins: Path
    daemons: Mapping[str, Path]
    is_old: bool = False


def installed(which: str = SUITE) -> Slurm:
    """Return a Slurm: that of a Debian suite, or the one installed below an absolute path (`./configure --prefix`).

    Raises:
        PackageError: it cannot be had, or was built without munge.
    """
    names = ("slurmctld", "slurmd", "slurmstepd")
    if not which.startswith("/"):
        root = prefix(which)
        daemons = {name: root / "usr/sbin" / f"{name}-wlm" for name in names} | {"munged": root / "usr/sbin/munged"}
        return Slurm(root / "usr/bin", root / _PLUGINS, daemons, which == SUITE)
    root = Path(which)
    plugins = root / "lib" / "slurm"
    missing = [
        path for path in (root / "bin/sbatch", root / "sbin/slurmctld", plugins / "auth_munge.so") if not path.exists()
    ]
    if missing:
        raise PackageError(f"there is no {missing[0]}: name the prefix of a Slurm that was built with munge")
    daemons = {name: root / "sbin" / name for name in names} | {"munged": prefix() / "usr/sbin/munged"}
    return Slurm(root / "bin", plugins, daemons)


def check_release(root: Path, release: str) -> None:
    """See to it that programs can be built against a Slurm of this release below a folder.

    Raises:
        PackageError: there is none, it is another one, or its headers are missing.
    """
    controller = installed(str(root.absolute())).daemons["slurmctld"]
    try:
        # 25.11's commands tell their version only where there is a slurm.conf.
        shown = subprocess.run([controller, "-V"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise PackageError(f"{controller} does not run here: {error}") from error
    version = shown.strip().removeprefix("slurm").strip()
    if not version.startswith(f"{release}."):
        raise PackageError(
            f"the Slurm below {root} is {version or 'of no known version'} and pyslurm's is {release}: "
            f'name the prefix of a Slurm {release}; for others there is interface = "cli"'
        )
    header = root / "include" / "slurm" / "slurm.h"
    if not header.exists():
        raise PackageError(f"there is no {header}, which pyslurm is built against: install Slurm's headers too")


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
