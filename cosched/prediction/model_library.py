"""List the model files in a library's folders, and the objects in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["MODEL_KINDS", "LibraryFile", "ModelLibrary"]

MODEL_KINDS = {"applications": ".psl", "templates": ".psl", "hardware": ".hmcl"}
"""Folders of the library, and how their files' names end."""


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """One file.

    Attributes:
        kind: "applications", "templates" or "hardware".
        name: the name that models refer to it by.
        path: its file.
        title: the first line of its first comment; empty without one.
    """

    kind: str
    name: str
    path: Path
    title: str


class ModelLibrary:
    """The models in some folders; where names meet, the first folder's counts."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)

    def files(self) -> list[LibraryFile]:
        """Return all files as they are now, by kind and name."""
        found: dict[tuple[str, str], LibraryFile] = {}
        for folder in self._folders:
            for kind, suffix in MODEL_KINDS.items():
                for path in sorted((folder / kind).glob(f"*{suffix}")):
                    found.setdefault((kind, path.stem), LibraryFile(kind, path.stem, path, _title(path)))
        return [found[key] for key in sorted(found)]

    def source(self, kind: str, name: str) -> str:
        """Return the text of a file.

        Raises:
            UserError: there is none of this kind and name.
        """
        for file in self.files():
            if (file.kind, file.name) == (kind, name):
                return file.path.read_text(encoding="utf-8", errors="replace")
        raise UserError(f"there is no model {name[:80]!r} among the {kind[:40]}")


def _title(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            head = file.read(2000)
    except OSError:
        return ""
    comment = head.partition("(*")[2].partition("*)")[0]
    return next((line.strip(" *") for line in comment.splitlines() if line.strip(" *")), "")
