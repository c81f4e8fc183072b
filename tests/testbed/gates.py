"""Programs that wait for a file: what has to be at work when a test looks is so however busy the machine is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["behind"]

_WAITS = 'until [ -e "$0" ]; do sleep 0.1; done; exec "$@"'


def behind(gate: Path, command: Sequence[str] = ("true",)) -> tuple[str, ...]:
    """Return a command that waits until a file is there, and then is the one given."""
    return ("/bin/sh", "-c", _WAITS, str(gate), *command)
