"""Templates for HTML and SVG, in which values are always escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cosched import resources

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["environment"]


def environment(finalize: Callable[[Any], Any] | None = None) -> Environment:
    """Return an environment over templates/ that escapes all values.

    A missing value is an error; filter `n` formats a coordinate.

    Args:
        finalize: converts each value before it is escaped.
    """
    made = Environment(
        loader=FileSystemLoader(resources.templates()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    made.filters["n"] = _coordinate
    return made


def _coordinate(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
