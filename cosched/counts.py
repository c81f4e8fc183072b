"""Counts of things as people write them."""

from __future__ import annotations

__all__ = ["plural"]


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: 1 host, 2 hosts."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
