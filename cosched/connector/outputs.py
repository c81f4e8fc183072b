"""What processes wrote: a part of a file, with what it is a part of."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from cosched.connector.interface import Output

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["part_of", "read_output"]


def read_output(file: Path, offset: int, limit: int) -> Output | None:
    """Return at most `limit` bytes from `offset` on (from the end where negative); None where there is no such file.

    A job's own user may have put something else in the file's place: only a plain file that is no link is read.

    Raises:
        OSError: it cannot be read.
    """
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return None
        raise
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
            return None
        start = max(state.st_size + offset, 0) if offset < 0 else min(offset, state.st_size)
        return Output(os.pread(handle, limit, start), start, state.st_size)
    finally:
        os.close(handle)


def part_of(data: bytes, offset: int, limit: int) -> Output:
    """Return at most `limit` bytes of what was written from `offset` on, from the end where negative."""
    start = max(len(data) + offset, 0) if offset < 0 else min(offset, len(data))
    return Output(data[start : start + limit], start, len(data))
