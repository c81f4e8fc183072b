"""Programs of another Debian in a folder, made to load that folder's libraries and C library wherever they run."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["relink"]

_BATCH = 20


def relink(prefix: Path, files: Sequence[str], libraries: Sequence[str], loader: str) -> None:
    """Make programs and libraries load all else from the prefix.

    A search path in the programs and not in the environment: jobs, which run the machine's own programs, inherit none.

    Args:
        prefix: the folder; carries Debian's package patchelf.
        files: patterns of the programs and libraries, relative to the prefix.
        libraries: folders of libraries, relative to the prefix; the first is patchelf's own.
        loader: the dynamic loader, relative to the prefix.
    """
    found = {path.resolve() for pattern in files for path in prefix.glob(pattern) if path.is_file()}
    objects = sorted(path for path in found if prefix in path.parents and _is_elf(path))
    programs = [path for path in objects if ".so" not in path.name]
    search = ":".join(str(prefix / folder) for folder in libraries)
    patchelf = [str(prefix / loader), "--library-path", search, str(prefix / "usr/bin/patchelf")]
    _patch([*patchelf, "--force-rpath", "--set-rpath", search], objects)
    _patch([*patchelf, "--set-interpreter", str(prefix / loader)], programs)


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _patch(command: list[str], files: list[Path]) -> None:
    for first in range(0, len(files), _BATCH):
        subprocess.run([*command, *files[first : first + _BATCH]], check=True, env=dict(os.environ))
