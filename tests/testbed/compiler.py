"""A C compiler, on a machine that has none: Debian's.

`python -m tests.testbed.compiler` unpacks it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.testbed.cache import cached
from tests.testbed.debian import unpack
from tests.testbed.relink import relink

__all__ = ["compiler", "coverage_reader"]

_SUITE = "bookworm"
_RECIPE = "gcc-bookworm-1"
_LIBRARY = "usr/lib/x86_64-linux-gnu"
_LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
_COMPILER = "usr/lib/gcc/x86_64-linux-gnu/12"
_PATCHED = ("usr/bin/x86_64-linux-gnu-*", f"{_COMPILER}/cc1", f"{_COMPILER}/collect2")


def compiler() -> str:
    """Return the command of a C compiler: the machine's own, or one that is unpacked on the first call.

    Raises:
        PackageError: the packages cannot be had.
    """
    if own := shutil.which("cc"):
        return own
    root = cached(_RECIPE, _install)
    return f"{root}/usr/bin/gcc --sysroot={root} -B{root}/usr/bin/ -static"


def coverage_reader() -> str:
    """Return the command that reads what programs of this compiler count, of the same version."""
    if shutil.which("cc"):
        return "gcov"
    return f"{cached(_RECIPE, _install)}/usr/bin/gcov"


def _install(target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix="cosched-testbed-"))
    try:
        unpack(_SUITE, ["gcc", "libc6-dev", "patchelf"], target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    relink(target, _PATCHED, ("lib/x86_64-linux-gnu", _LIBRARY), _LOADER)


if __name__ == "__main__":
    print(compiler())
