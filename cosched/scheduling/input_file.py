"""A file from a user: its text in UTF-8, bounded in size; every fault in it is reported with the file's name."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, TypeVar

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["read_file"]

_MOST_BYTES = 256 * 2**20
_Parsed = TypeVar("_Parsed")


def read_file(path: Path, parse: Callable[[str], _Parsed], most: int = _MOST_BYTES) -> _Parsed:
    """Return what `parse` makes of a file's text.

    Args:
        path: unpacked first where it ends in .gz.
        parse: may raise a UserError.
        most: bytes that the text may have.

    Raises:
        UserError: the file cannot be read, or `parse` refuses it; the message begins with the path.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(most + 1)  # a pipe, a device or a packed file does not say how much there is
        if len(data) > most:
            raise UserError(f"{path}: more than {most} bytes are too many")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path}: is no whole gzip file: fetch it again") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: byte {error.start} is not UTF-8: save the file as UTF-8") from error
    try:
        return parse(text)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
