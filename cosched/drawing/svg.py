"""Pictures share escaped templates and round numbers for axes."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from cosched.markup import environment

if TYPE_CHECKING:
    from jinja2 import Environment, Template

__all__ = ["template", "ticks"]


def template(name: str) -> Template:
    """Return a template of templates/ for SVG, with all values escaped.

    Filters are `n` (a coordinate) and `xml` (any text).
    """
    return _environment().get_template(name)


def ticks(first: float, last: float, most: int = 10) -> list[float]:
    """Return at most `most` + 1 round values from `first` to `last`, evenly spaced."""
    span = last - first
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * digit for digit in (1, 2, 5, 10) if span / (power * digit) <= most)
    lowest, highest = math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9)
    return [number * step for number in range(lowest, highest + 1)]


@cache
def _environment() -> Environment:
    """Return the templates; they are compiled once in a process."""
    made = environment()
    made.filters["xml"] = _xml
    return made


def _xml(text: str) -> str:
    """Replace what XML has no way to write (control characters, lone surrogates)."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
