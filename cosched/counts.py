"""Counts of things as people write them, and numbers as programs read them."""

from __future__ import annotations

__all__ = ["number_text", "plural"]

_WHOLE = float(1 << 53)  # from which on not every whole number is one of these


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: 1 host, 2 hosts."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number_text(value: float | str) -> str:
    """Return a value as a program is told it: with all its digits, and whole numbers without a point or an exponent."""
    if not isinstance(value, float):
        return str(value)
    if value.is_integer() and abs(value) < _WHOLE:
        return f"{value:.0f}"
    short = f"{value:.12g}"
    return short if float(short) == value else repr(value)
