"""Compilers of C, C++ and Fortran, on a machine that has none: Debian's."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.testbed.software.cache import cached
from tests.testbed.software.debian import unpack
from tests.testbed.software.relink import relink

__all__ = ["compiler", "coverage_reader"]

_SUITE = "bookworm"
_COMMANDS = {"c": "cc", "c++": "c++", "fortran": "gfortran"}
_PROGRAMS = {"c": "gcc", "c++": "g++", "fortran": "gfortran"}
_RECIPES = {language: f"{program}-bookworm-1" for language, program in _PROGRAMS.items()}
_LIBRARY = "usr/lib/x86_64-linux-gnu"
_LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
_COMPILER = "usr/lib/gcc/x86_64-linux-gnu/12"
_PATCHED = ("usr/bin/x86_64-linux-gnu-*", *(f"{_COMPILER}/{part}" for part in ("cc1", "cc1plus", "f951", "collect2")))


def compiler(language: str = "c") -> str:
    """Return the command of a compiler: the machine's own, or one that is unpacked on the first call.

    Args:
        language: c, c++ or fortran.

    Raises:
        PackageError: the packages cannot be had.
    """
    if own := shutil.which(_COMMANDS[language]):
        return own
    root = cached(_RECIPES[language], lambda target: _install(target, language))
    return f"{root}/usr/bin/{_PROGRAMS[language]} --sysroot={root} -B{root}/usr/bin/ -static"


def coverage_reader(language: str = "c") -> str:
    """Return the command that reads the counts of a compiler's programs; of the same version."""
    if shutil.which(_COMMANDS[language]):
        return "gcov"
    return f"{cached(_RECIPES[language], lambda target: _install(target, language))}/usr/bin/gcov"


def _install(target: Path, language: str) -> None:
    work = Path(tempfile.mkdtemp(prefix="cosched-testbed-"))
    try:
        unpack(_SUITE, ["gcc", *{_PROGRAMS[language]} - {"gcc"}, "libc6-dev", "patchelf"], target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    relink(target, _PATCHED, ("lib/x86_64-linux-gnu", _LIBRARY), _LOADER)
