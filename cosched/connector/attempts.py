"""A folder for each attempt below a spool: its scripts, its output and its fence. Connectors add what is theirs."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

from cosched.connector.launches import environment
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.interface import Launch

__all__ = ["FENCED", "AttemptFolders", "command_line", "exports"]

FENCED = 143  # what a program gives that ends at SIGTERM


class AttemptFolders:
    """The folders of attempts; a spool that is made here is its owner's alone, for scripts hold users' environments.

    Args:
        spool: where the folders are; every host reaches them under this path.
    """

    def __init__(self, spool: Path) -> None:
        self.root = spool

    def folder(self, attempt: str) -> Path:
        """Return the folder of an attempt."""
        return self.root / attempt

    def known(self, attempt: str) -> bool:
        """Whether the attempt belongs to this spool."""
        return self.folder(attempt).is_dir()

    def create(self, attempt: str) -> bool:
        """Make the attempt's folder, durably; False where it was there before."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self.folder(attempt)
        try:
            folder.mkdir()
        except FileExistsError:
            return False
        folder.chmod(self.mode())
        _sync(self.root)
        return True

    def fence(self, attempt: str) -> None:
        """Mark the attempt as cancelled, durably: its processes end before they begin."""
        self.create(attempt)
        (self.folder(attempt) / "cancelled").touch()
        _sync(self.folder(attempt))

    def fenced(self, attempt: str) -> bool:
        """Whether the attempt was cancelled."""
        return (self.folder(attempt) / "cancelled").exists()

    def write(self, attempt: str, name: str, text: str) -> Path:
        """Write a script into the attempt's folder, as open to others as the folder."""
        script = self.folder(attempt) / name
        script.write_text(text, encoding="utf-8")
        script.chmod(self.mode() & 0o755)
        return script

    def mode(self) -> int:
        """Return the mode of attempts' folders: as open to others as the spool is."""
        return stat.S_IMODE(self.root.stat().st_mode)


def command_line(launch: Launch) -> str:
    """Return the launch's command as a shell's `exec` takes it, every word as it is.

    Raises:
        UserError: the program's name begins with a dash, which `exec` takes for an option.
    """
    if launch.command[0].startswith("-"):
        raise UserError(f"program {launch.command[0]!r} starts with '-': give its path")
    return shlex.join(launch.command)


def exports(launch: Launch) -> str:
    """Return the lines of a shell script that set the launch's variables; a process's rank is not among them."""
    return "\n".join(
        f"export {name}={shlex.quote(value)}" for name, value in environment(launch).items() if name != "COSCHED_RANK"
    )


def _sync(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
