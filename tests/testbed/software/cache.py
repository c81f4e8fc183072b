"""A folder for what the testbeds build once: complete or absent, shared by all checkouts of a user."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cache_folder", "cached"]


def cache_folder() -> Path:
    """Return the folder: below /var/cache as root, whose daemons run as another user; else the user's own cache."""
    if os.geteuid() == 0:
        return Path("/var/cache/cosched/testbed")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cosched" / "testbed"


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """Return the folder that `build` filled, now or earlier.

    What is built knows its own path and cannot be moved: it is built in a folder of a name never used before, and a
    link of the given name, set when it is complete, decides which one counts. An interrupted build leaves no link.

    Args:
        name: name of the thing and of the recipe's version.
        build: fills the empty folder that it is given.
    """
    folder = cache_folder()
    link = folder / name
    if link.is_dir():
        return link.resolve()
    previous_mask = os.umask(0o022)  # readable by the user that a pool of root runs as
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not link.is_dir():
                _build(folder, name, build)
    finally:
        os.umask(previous_mask)
    return link.resolve()


def _build(folder: Path, name: str, build: Callable[[Path], None]) -> None:
    for leftover in folder.glob(f"{name}.part-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    target = Path(tempfile.mkdtemp(prefix=f"{name}.part-", dir=folder))
    target.chmod(0o755)
    try:
        build(target)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    pointer = folder / f"{name}.next"
    pointer.unlink(missing_ok=True)
    pointer.symlink_to(target.name)
    pointer.replace(folder / name)
