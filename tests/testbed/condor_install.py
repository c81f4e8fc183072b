"""HTCondor's daemons on a machine that has none: Debian's packages in a prefix, linked against their own libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.testbed.cache import cached
from tests.testbed.debian import unpack

__all__ = ["SUITE", "prefix"]

# The suite whose HTCondor is of the series of the Python package `htcondor`; the version is the one it carries today.
SUITE = "forky"
_RECIPE = "htcondor-1"
_LOADER = "usr/lib64/ld-linux-x86-64.so.2"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib")
_PATCHED = ("usr/bin/c*_*", "usr/sbin/*", "usr/libexec/condor/*", "usr/lib/*.so*")
_UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")
_BATCH = 20


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
    _relink(target)


def _relink(target: Path) -> None:
    """Make HTCondor's programs load the prefix's C library and all else from it.

    A search path in the programs and not in the environment: jobs, which run the machine's own programs, inherit none.
    """
    files = {path.resolve() for pattern in _PATCHED for path in target.glob(pattern) if path.is_file()}
    objects = sorted(path for path in files if target in path.parents and _is_elf(path))
    programs = [path for path in objects if ".so" not in path.name]
    libraries = ":".join(str(target / folder) for folder in _LIBRARIES)
    _patchelf(target, ["--force-rpath", "--set-rpath", libraries], objects)
    _patchelf(target, ["--set-interpreter", str(target / _LOADER)], programs)


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _patchelf(target: Path, options: list[str], files: list[Path]) -> None:
    loader = [str(target / _LOADER), "--library-path", str(target / _LIBRARIES[0]), str(target / "usr/bin/patchelf")]
    for first in range(0, len(files), _BATCH):
        subprocess.run([*loader, *options, *files[first : first + _BATCH]], check=True, env=dict(os.environ))
