"""Numbers of hosts as people write them: `8`, `1-16`, `1,2,4`, `1-4,8`."""

from __future__ import annotations

import re

from cosched.errors import UserError

__all__ = ["parse_counts"]

_MOST = 4096
_PART = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


def parse_counts(text: str) -> list[int]:
    """Return numbers of hosts, ascending, each once.

    Raises:
        UserError: not such a list, 0, a range that runs backwards, or more than 4096 numbers.
    """
    counts: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise UserError(f"hosts {text!r}: write a number, a range or a list, such as 8, 1-16 or 1,2,4")
        first, last = int(match[1]), int(match[2] or match[1])
        if first < 1 or last < first:
            raise UserError(f"hosts {text!r}: {part.strip()} is no range of numbers from 1 up")
        if len(counts) + last - first + 1 > _MOST:
            raise UserError(f"hosts {text!r}: more than {_MOST} numbers")
        counts.update(range(first, last + 1))
    return sorted(counts)
