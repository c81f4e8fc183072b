"""Every fault of a set of files at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cosched.language.diagnostics import Diagnostic, ModelError
from cosched.language.hardware_checker import check_config
from cosched.language.library import default_library
from cosched.language.linker import Linker
from cosched.language.parser import parse_hmcl
from cosched.language.source import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["check_files"]


def check_files(paths: Iterable[Path | str], library: Sequence[Path] | None = None) -> list[Diagnostic]:
    """Return every fault of PSL and HMCL files and of what they include, sorted by file and place.

    Args:
        paths: files that end in .psl or .hmcl.
        library: folders searched for included objects after the including file's own; the one that travels with
            cosched where None.
    """
    linker = Linker(default_library() if library is None else library)
    faults: list[Diagnostic] = []
    for path in map(Path, paths):
        if path.suffix == ".psl":
            linker.file(path)
        elif path.suffix == ".hmcl":
            faults.extend(_check_hardware(path))
        else:
            faults.append(Diagnostic(str(path), 1, 1, "is neither .psl nor .hmcl"))
    return sorted({*faults, *linker.faults})


def _check_hardware(path: Path) -> list[Diagnostic]:
    try:
        source = read(path)
        configs = parse_hmcl(source)
    except ModelError as error:
        return list(error.diagnostics)
    if not configs:
        return [source.fault((1, 1), "the file holds no config")]
    return [fault for config in configs for fault in check_config(config)]
