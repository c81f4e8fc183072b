"""Hosts that an administrator takes off by a file of their name in a folder; its first line is the reason."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["taken_off"]


def taken_off(folder: Path) -> dict[str, str]:
    """Return the hosts that are taken off, each with its reason.

    Raises:
        OSError: the folder cannot be read.
    """
    off: dict[str, str] = {}
    for marker in folder.iterdir():
        text = ""
        with contextlib.suppress(OSError):  # given back while we look, or not a file: it is off all the same
            text = marker.read_text(errors="replace").partition("\n")[0].strip()
        off[marker.name] = text or f"taken off: remove {marker} to give it back"
    return off
