"""Statements are compiled once in a process: all databases of tests are new, and their statements the same."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine

from cosched.store import database

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["compile_once"]


def compile_once() -> None:
    """Let all databases that are opened from now on share what SQLAlchemy compiles; it does so for each by itself."""
    database.create_engine = _engine  # type: ignore[attr-defined,assignment]


def _engine(url: str, **options: Any) -> Engine:
    engine, first = create_engine(url, **options), _first()
    engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache
    return engine


@cache
def _first() -> Engine:
    engine = create_engine("sqlite://", query_cache_size=5000)
    engine.connect().close()  # its dialect learns what this SQLite can do
    engine.dispose()
    return engine
