"""Slurm's short form for lists of nodes: `rack1n[01-03,07],login`."""

from __future__ import annotations

import re
from itertools import product

__all__ = ["node_names"]

_PART = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")
_PIECE = re.compile(r"\[([^\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_MOST = 100_000  # names: what has more is no list of nodes


def node_names(text: str) -> tuple[str, ...]:
    """Return the names that a list stands for, in its order; none where it is not such a list."""
    names: list[str] = []
    for part in _PART.findall(text):
        pieces = [_choices(inside) if inside else [plain] for inside, plain in _PIECE.findall(part)]
        size = 1
        for piece in pieces:
            size *= len(piece)
        if len(names) + size > _MOST:
            return ()
        names += ["".join(words) for words in product(*pieces)]
    return tuple(name for name in names if name and name != "None assigned" and not name.startswith("("))


def _choices(inside: str) -> list[str]:
    found: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            found.append(part)
        elif int(match[2]) - int(match[1]) < _MOST:
            found += [f"{number:0{len(match[1])}}" for number in range(int(match[1]), int(match[2]) + 1)]
    return found
