"""Files of the same name and text are parsed once in a process: hundreds of tests read the library's few."""

from __future__ import annotations

from functools import lru_cache

from cosched.language.parser import parse

__all__ = ["parse_once"]


def parse_once() -> None:
    """Let all readers share the trees of equal files, which nobody changes."""
    parse._salvage = lru_cache(maxsize=200)(parse._salvage)
