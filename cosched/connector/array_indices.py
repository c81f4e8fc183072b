"""Arrays of tasks as people write them: `0-9`, `1,3,5`, `0-20:5`, `1-100%5`."""

from __future__ import annotations

import re

from cosched.errors import UserError

__all__ = ["LARGEST_INDEX", "parse_array"]

_INDEX_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?", re.ASCII)
_BOUND = re.compile(r"\d{1,9}", re.ASCII)
_MOST_TASKS = 10_000
LARGEST_INDEX = 4_000_000
"""Slurm's own limit (MaxArraySize) is at most this."""


def parse_array(text: str) -> tuple[list[int], int]:
    """Return the indices of an array and its limit of running tasks; 0: none.

    Raises:
        UserError: not an array, an empty or reversed range, or more than cosched takes at once.
    """
    written, percent, bound = text.partition("%")
    if percent and (not _BOUND.fullmatch(bound) or not int(bound)):
        raise UserError(f"--array={text}: %{bound} does not say how many may run at once: write a number from 1, as %5")
    found: set[int] = set()
    for part in written.split(","):
        match = _INDEX_RANGE.fullmatch(part)
        if match is None:
            raise UserError(f"--array={text} is not a list of indices: write 0-9, 1,3,5, 0-20:5 or 1-100%5")
        first, last = int(match[1]), int(match[2] or match[1])
        step = int(match[3] or 1)
        if last < first or step < 1:
            raise UserError(f"--array={text}: {part} is no range: write the smaller index first, and a step from 1 on")
        if last > LARGEST_INDEX or (last - first) // step >= _MOST_TASKS:
            raise UserError(
                f"--array={text}: {part} is too large: at most {_MOST_TASKS} tasks, with indices up to {LARGEST_INDEX}"
            )
        found.update(range(first, last + 1, step))
    if len(found) > _MOST_TASKS:
        raise UserError(f"--array={text} has {len(found)} tasks: at most {_MOST_TASKS} are taken at once")
    return sorted(found), int(bound) if percent else 0
