"""Units on literals. Inside a model times are microseconds, sizes bytes and rates bytes a microsecond."""

from __future__ import annotations

import re

__all__ = ["PLAIN", "RATE", "SIZE", "TIME", "TIME_A_BYTE", "UNITS", "Dimension", "dimension", "quantity"]

Dimension = tuple[int, int]
"""Powers of time and of size."""

PLAIN: Dimension = (0, 0)
TIME: Dimension = (1, 0)
SIZE: Dimension = (0, 1)
RATE: Dimension = (-1, 1)
TIME_A_BYTE: Dimension = (1, -1)

_TIMES = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6}
_SIZES = {
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "bit": 0.125,
    "kbit": 125.0,
    "Mbit": 125e3,
    "Gbit": 125e6,
}

UNITS = {**_TIMES, **_SIZES, **{f"{size}/s": factor / 1e6 for size, factor in _SIZES.items()}}
"""Factor by which a number with the unit is multiplied."""

_QUANTITY = re.compile(r"(.*?)[ \t]*([A-Za-z]+(?:/s)?)")


def dimension(unit: str) -> Dimension:
    """Return the dimension of a unit; plain for none."""
    if not unit:
        return PLAIN
    return RATE if unit.endswith("/s") else TIME if unit in _TIMES else SIZE


def quantity(literal: str) -> tuple[float, str]:
    """Return a literal such as `12.5 us` in base units, and its unit."""
    match = _QUANTITY.fullmatch(literal)
    assert match, "the grammar lets only a number and a known unit through"
    return float(match[1]) * UNITS[match[2]], match[2]
