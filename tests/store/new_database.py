"""New databases for tests: copies of one that was migrated once in this process."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from uuid import uuid4

from cosched.store.store import Store

__all__ = ["new_database"]


def new_database(folder: Path) -> str:
    """Return the URL of the database in a folder, which is made with this version's tables if it is not there."""
    path = folder / "cosched.db"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_migrated())
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("UPDATE instance SET uuid = ?", (str(uuid4()),))
    return f"sqlite:///{path}"


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cosched.db"
        Store(f"sqlite:///{path}").close()
        return path.read_bytes()
