"""What a database's error means to an administrator."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RefusedError", "StoreFault", "explained"]


class StoreFault(SystemFault):
    """The database could not do what was asked, and may later; nothing of the step was written."""


class RefusedError(SystemFault):
    """The database does not take what is to be written, however often it is tried; nothing of the step was written."""


# A part of the driver's message (lower case) → what to do about it.
_ADVICE = (
    ("database is locked", "is locked by another program: end what holds it open, then try again"),
    ("disk is full", "cannot grow, the disk is full: free some space on it"),
    ("readonly database", "is read-only: give the user of the daemon the right to write the file and its folder"),
    ("unable to open database", "cannot be opened: create its folder and let the daemon's user write it"),
    ("not a database", "is not an SQLite database: move the file away or name another in [database] url"),
    ("malformed", "is damaged: restore it from a backup"),
    ("disk i/o error", "cannot be read or written: look at the disk and the system's log"),
)


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn database errors inside the block into one line about the database `name`.

    Raises:
        RefusedError: what is written contradicts what is there, or is no value of its column.
        StoreFault: in place of any other error of the database or its driver.
    """
    try:
        yield
    except (IntegrityError, DataError) as error:
        raise RefusedError(
            f"the database {name} refuses a change ({str(error.orig).splitlines()[0]}): "
            "see to it that no other cosched uses it"
        ) from error
    except SQLAlchemyError as error:
        raise StoreFault(f"the database {name} {_advice(error)}") from error


def _advice(error: SQLAlchemyError) -> str:
    cause = str(error.orig if isinstance(error, DBAPIError) else error).splitlines()[0]
    for part, advice in _ADVICE:
        if part in cause.lower():
            return advice
    return f"failed ({cause}): look at the daemon's log and at [database] url"
