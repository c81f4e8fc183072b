"""Names of tasks that were given none."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["command_name"]

_INTERPRETER = re.compile(r"(?:ba|da|k|z)?sh|python[\d.]*|perl|ruby|Rscript|julia|octave|node")


def command_name(command: Sequence[str]) -> str:
    """Return what people call a command: its program, or the script that an interpreter runs."""
    program, script = PurePath(command[0]).name, "".join(command[1:2])
    named = _INTERPRETER.fullmatch(program) and script and not script.startswith("-")
    return PurePath(script).name or program if named else program
