"""Damage a stopped daemon's database as failing disks and careless copies do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from pathlib import Path

__all__ = ["damage"]

_PAGE = 4096  # SQLite's, where nothing else is said
_WAL_HEADER = 32


def damage(database: Path, chance: random.Random) -> str:
    """Damage a database at random, and return what was done."""
    wal = database.with_name(f"{database.name}-wal")
    ways = ["pages", "first page", "cut"]
    if wal.exists() and wal.stat().st_size > _WAL_HEADER:
        ways += ["WAL", "WAL gone"]
    way = chance.choice(ways)
    if way == "WAL gone":
        wal.unlink()
    elif way == "cut":
        with database.open("r+b") as file:
            file.truncate(chance.randrange(database.stat().st_size // _PAGE) * _PAGE)
    elif way == "WAL":
        _scramble(wal, chance, [chance.randrange(wal.stat().st_size - _WAL_HEADER)], _WAL_HEADER)
    else:
        pages = database.stat().st_size // _PAGE
        struck = [0] if way == "first page" else sorted(chance.sample(range(pages), min(3, pages)))
        _scramble(database, chance, [page * _PAGE for page in struck], _PAGE)
    return f"damaged: {way}"


def _scramble(file: Path, chance: random.Random, places: list[int], length: int) -> None:
    with file.open("r+b") as opened:
        for place in places:
            opened.seek(place)
            opened.write(chance.randbytes(length))
