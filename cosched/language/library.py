"""Find models: beside the including file, then in the folders of a library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from cosched import resources
from cosched.errors import UserError
from cosched.language.diagnostics import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["default_library", "find", "is_path", "locate", "names", "overlay_files"]

_FOLDERS = {".psl": ("applications", "templates"), ".hmcl": ("hardware",)}


def default_library() -> tuple[Path, ...]:
    """Return the library that travels with cosched."""
    return (resources.models(),)


def is_path(name_or_path: str) -> bool:
    """Return whether the user means a file and not a name in the library."""
    return "/" in name_or_path or Path(name_or_path).suffix in _FOLDERS


def find(name: str, suffix: str, library: Sequence[Path], beside: Path | None = None) -> Path | None:
    """Return the file that holds the object or configuration `name`, if any.

    Case, `_` and `-` do not count for hardware: the papers write SgiOrigin2000 for sgi_origin2000.hmcl.
    """
    folders = ([beside] if beside else []) + list(_folders(suffix, library))
    exact = next((path for folder in folders if _is_file(path := folder / f"{name}{suffix}")), None)
    if exact or suffix != ".hmcl":
        return exact
    wanted = _plain(name)
    return next((path for folder in folders for path in _files(folder, suffix) if _plain(path.stem) == wanted), None)


def names(suffix: str, library: Sequence[Path], beside: Path | None = None) -> list[str]:
    """Return the names of the models that can be found."""
    folders = ([beside] if beside else []) + list(_folders(suffix, library))
    return sorted({path.stem for folder in folders for path in _files(folder, suffix)})


def locate(name_or_path: str, suffix: str, what: str, library: Sequence[Path], beside: Path | None = None) -> Path:
    """Return the file of a model, given its path or its library name.

    Args:
        name_or_path: a path, or a name.
        suffix: `.psl` or `.hmcl`.
        what: what is looked for, for people.
        library: folders to search.
        beside: a folder that is searched first.

    Raises:
        UserError: there is none; the message names near matches.
    """
    if is_path(name_or_path):
        return Path(name_or_path)
    path = find(name_or_path, suffix, library, beside)
    if path is None:
        known = names(suffix, library, beside)
        near = suggestion(name_or_path, known) or f": known are {', '.join(known) or 'none'}"
        place = "in the library" if beside is None else "beside the model or in the library"
        raise UserError(f"no {what} {name_or_path!r} {place}{near}")
    return path


def overlay_files(hardware: Path, library: Sequence[Path], beside: Path | None = None) -> list[Path]:
    """Return the files CLASS.d/*.hmcl of a hardware file CLASS.hmcl, by name.

    Where names meet, the first folder's counts: `beside`, those of the library, the file's own.
    """
    found: dict[str, Path] = {}
    for folder in (*([beside] if beside else []), *_folders(".hmcl", library), hardware.parent):
        for path in _files(folder / f"{hardware.stem}.d", ".hmcl"):
            found.setdefault(path.name, path)
    return [found[name] for name in sorted(found)]


def _folders(suffix: str, library: Sequence[Path]) -> Iterator[Path]:
    for root in library:
        for folder in _FOLDERS[suffix]:
            yield root / folder
        yield root


def _files(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.glob(f"*{suffix}")) if folder.is_dir() else []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is longer than any file's
        return False


def _plain(name: str) -> str:
    return re.sub(r"[-_]", "", name).casefold()
