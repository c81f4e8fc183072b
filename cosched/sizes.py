"""Sizes of memory as text: "4G", "512M", or MiB as HTCondor and Slurm have them."""

from __future__ import annotations

import math
import re

from cosched.errors import UserError

__all__ = ["format_memory", "parse_memory"]

_MEMORY = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_MEBIBYTES = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024**2}
_MOST = 1 << 30  # a pebibyte


def parse_memory(text: str | int) -> int:
    """Return a size of memory in MiB, rounded up.

    Raises:
        UserError: it is something else.
    """
    match = _MEMORY.fullmatch(str(text).strip())
    size = math.ceil(float(match[1]) * _MEBIBYTES[match[2].upper()]) if match else -1
    if not 0 <= size <= _MOST:
        raise UserError(f"the memory is {str(text)[:80]!r}: write 4G, 512M, or a number of MiB")
    return size


def format_memory(size: int) -> str:
    """Return a size of memory in MiB as text."""
    if size >= 1024 and size * 10 % 1024 == 0:
        return f"{size / 1024:g}G"
    return f"{size}M"
