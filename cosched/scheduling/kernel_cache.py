"""Is the searches' machine code on the disk? Told without loading the compiler.

Compiling takes a minute of processor time, reading the code a second. `keep` does either, on two processors where there
are as many, and leaves a stamp that `ready` looks for; `python -m cosched.scheduling.kernel_cache` is `keep` as a
process, which waits for another that is at it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["keep", "keep_in_background", "ready"]

_SOURCES = Path(__file__).parent
_STAMP, _LOCK = "cosched-machine-code", "cosched-machine-code.lock"
_BACKGROUND, _SHARED_HOSTS = "--background", "--shared-hosts"
_QUIET = subprocess.DEVNULL


def ready() -> bool:
    """Return whether this source's machine code for this processor is kept."""
    return any(_read(folder / _STAMP) == _fingerprint() for folder in _folders())


def keep() -> None:
    """Compile all kernels of the searches, or load them, and note that they are kept."""
    from cosched.scheduling.mapping import dual_price
    from cosched.scheduling.search import genetic_search, titan_classic  # they load the compiler

    if not ready() and _can_be_kept() and len(os.sched_getaffinity(0)) > 1:
        beside = _start(_SHARED_HOSTS)
        try:
            genetic_search.warm_up(shared=False)
        finally:
            beside.wait()
    for module in (genetic_search, dual_price, titan_classic):
        module.warm_up()
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _STAMP).write_text(_fingerprint(), encoding="ascii")
            return


def keep_in_background() -> bool:
    """Start a process that runs `keep` and outlives this one, unless such a process runs.

    Returns:
        False if there is no folder that can be written: nothing is started then, as nothing could be kept.
    """
    if not _can_be_kept():
        return False
    _start(_BACKGROUND, alone=True)
    return True


def _start(part: str, *, alone: bool = False) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cosched.scheduling.kernel_cache", part]
    return subprocess.Popen(command, stdin=_QUIET, stdout=_QUIET, stderr=_QUIET, start_new_session=alone)


def _compile_for_shared_hosts() -> None:
    """Compile what `keep` needs not do itself while a process does this.

    Both may write down the code of one function: that is the same code in each, as none has other types of arguments
    here.
    """
    from cosched.scheduling.search import genetic_search, titan_classic  # they load the compiler

    genetic_search.warm_up(whole=False, elastic=False)
    titan_classic.warm_up()


def _can_be_kept() -> bool:
    """Return whether machine code can be kept for other processes."""
    return any(_can_be_written(folder) for folder in _folders())


def _can_be_written(folder: Path) -> bool:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK)


def _folders() -> list[Path]:
    """Return where the stamp may stand, beside the machine code that numba keeps, the likeliest first.

    In the source's own folders each module's code is in its own `__pycache__` (see `jit.compiled`).
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [_SOURCES / "kernels" / "__pycache__", users / "cosched"]


def _fingerprint() -> str:
    """Return what changes whenever numba would compile anew."""
    digest = hashlib.sha256("\n".join((*_machine(), str(_SOURCES), *sorted(_sources()))).encode())
    return digest.hexdigest()


@cache
def _machine() -> tuple[str, ...]:
    """Return the versions and the processor, which a process keeps."""
    flags: set[str] = set()
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as lines:
        flags = {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
    return platform.python_version(), version("numba"), *sorted(flags)


def _sources() -> Iterator[str]:
    """Yield each source file with its time and size.

    Every plan asks for them, and `scandir` is quicker than paths.
    """
    folders = [str(_SOURCES)]
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    yield f"{entry.path} {status.st_mtime_ns} {status.st_size}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""


def _keep_alone(*, wait: bool) -> None:
    """Do `keep` while no other process is at it for the same folder; without `wait`, leave it to that one."""
    with suppress(OSError, StopIteration):  # no folder to lock in: nothing could be kept either
        folder = next(folder for folder in _folders() if _can_be_written(folder))
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            keep()


if __name__ == "__main__":
    if _SHARED_HOSTS in sys.argv:
        _compile_for_shared_hosts()
    else:
        in_background = _BACKGROUND in sys.argv
        if in_background:
            os.nice(10)  # as a good neighbour
        _keep_alone(wait=not in_background)
