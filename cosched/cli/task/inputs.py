"""The files of a command tell how long it runs.

Those that it reads and those that it is are looked at where a task is submitted; `with_files` adds what was seen to its
request.
"""

from __future__ import annotations

import array
import fcntl
import hashlib
import os
import termios
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from stat import S_ISFIFO, S_ISREG
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.prediction.run_features import possible_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.api.documents import TaskRequest

__all__ = ["unread_input", "unread_note", "with_files"]

_MOST_FILES = 64
_MOST_BYTES = 64 << 20  # of one file that are read; its size counts as well
_SCRIPTS = frozenset((".jl", ".lua", ".m", ".pl", ".py", ".r", ".rb", ".sh"))


def with_files(request: TaskRequest, read: Sequence[str] = ()) -> TaskRequest:
    """Return a request with the sizes of its files and a digest of its program.

    Args:
        request: as it will be sent.
        read: more files that its program reads, absolute or seen from here.

    Raises:
        UserError: one of these is not there.
    """
    sizes: dict[str, int] = {}
    programs = [Path(request.command[0])] if request.command else []
    words = [*request.command[1:], *(str(value) for value in request.parameters.values())]
    for word in possible_files(words):
        path = Path(request.directory, word)
        status = _regular(path) if path.is_absolute() else None
        if status is None:
            continue
        if status.st_mode & 0o111 or path.suffix.lower() in _SCRIPTS:
            programs.append(path)
        elif len(sizes) < _MOST_FILES:
            sizes[word] = status.st_size
    for name in (*filter(None, (request.stdin,)), *read):
        path = Path(name).absolute()
        status = _regular(path)
        if status is None and name in read:
            raise UserError(f"--input {name}: there is no such file: give one that the program will read")
        if status is not None and len(sizes) < _MOST_FILES:
            sizes[str(path)] = status.st_size
    script = "" if request.native is None else request.native.script
    return replace(request, file_sizes=sizes, program_digest=_digest(programs, script))


def unread_note(stdin: str, lines: str) -> str:
    """Return a remark about input that neither the task nor `--from -` reads; empty where there is none."""
    if stdin or lines == "-" or not unread_input():
        return ""
    return "the task does not read what is piped or redirected here: --stdin FILE names what it reads"


def unread_input(descriptor: int = 0) -> bool:
    """Return whether something was piped in, or redirected from the beginning of a file, that nobody reads.

    A loop that reads a file line by line has moved on in it.
    """
    try:
        status = os.fstat(descriptor)
        if S_ISREG(status.st_mode):
            return status.st_size > 0 and os.lseek(descriptor, 0, os.SEEK_CUR) == 0
        if not S_ISFIFO(status.st_mode):
            return False
        waiting = array.array("i", [0])
        fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
    except OSError:  # it is closed
        return False
    return waiting[0] > 0


def _regular(path: Path) -> os.stat_result | None:
    """Return the status of a file that has a size."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status if S_ISREG(status.st_mode) else None


def _digest(paths: Iterable[Path], script: str) -> str:
    """Return a digest of files and a script; empty where nothing can be read."""
    files = ((path, status) for path in paths if (status := _regular(path)))
    parts = [digest for path, status in files if (digest := _file_digest(path, status.st_mtime_ns, status.st_size))]
    lines = [line for line in script.splitlines() if not line.startswith("#")]
    if any(lines):
        parts.append("\n".join(lines))
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:32] if parts else ""


@lru_cache(maxsize=256)  # of thousands of tasks in one submission most have the same program
def _file_digest(path: Path, _changed: int, size: int) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except OSError:
        return ""
    return f"{hashlib.sha256(content).hexdigest()} {size}"
