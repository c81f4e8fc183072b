"""The spool: a folder for each attempt with its script, its output and its fence, and the event log of all."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

from cosched.connector.launches import environment
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector import Launch

__all__ = ["FENCED", "Attempts"]

FENCED = 143  # what a program gives that ends at SIGTERM

_SCRIPT = """\
#!/bin/sh
# An attempt that was cancelled while its submission was under way must not run.
[ -e {fence} ] && exit {fenced}
export PATH="${{PATH:-/usr/local/bin:/usr/bin:/bin}}"
{exports}
exec {command}
"""


class Attempts:
    """The folders of attempts.

    They and what is in them are open to others as far as the spool itself is; a spool that is made here is its owner's
    alone, for scripts hold users' environments. A pool whose jobs do not run as cosched's own user needs a spool that
    this user may write to (mode 1777 or a common group).
    """

    def __init__(self, spool: Path) -> None:
        self.root = spool
        self.log = spool / "events.log"

    def prepare(self) -> None:
        """Make the spool and the event log where they are missing."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.log.exists():
            self.log.touch(exist_ok=True)
            self.log.chmod(self._mode() & 0o666)

    def folder(self, attempt: str) -> Path:
        """Return the folder of an attempt: run.sh, out.<rank>, err.<rank>, cancelled."""
        return self.root / attempt

    def create(self, attempt: str) -> bool:
        """Make the attempt's folder, durably; False where it was there before."""
        folder = self.folder(attempt)
        try:
            folder.mkdir()
        except FileExistsError:
            return False
        folder.chmod(self._mode())
        _sync(self.root)
        return True

    def created(self, attempt: str) -> float | None:
        """Return when the attempt's script was written: nothing of it is older; None where there is none."""
        try:
            return (self.folder(attempt) / "run.sh").stat().st_mtime
        except FileNotFoundError:
            return None

    def fence(self, attempt: str) -> None:
        """Mark the attempt as cancelled, durably: its processes end before they begin."""
        self.create(attempt)
        (self.folder(attempt) / "cancelled").touch()
        _sync(self.folder(attempt))

    def fenced(self, attempt: str) -> bool:
        """Whether the attempt was cancelled."""
        return (self.folder(attempt) / "cancelled").exists()

    def write_script(self, launch: Launch) -> Path:
        """Write what each process runs.

        Raises:
            UserError: the program's name begins with a dash, which `exec` takes for an option.
        """
        if launch.command[0].startswith("-"):
            raise UserError(f"program {launch.command[0]!r} starts with '-': give its path")
        exports = [f"export {name}={shlex.quote(value)}" for name, value in environment(launch).items()
                   if name != "COSCHED_RANK"]  # fmt: skip
        script = self.folder(launch.attempt) / "run.sh"
        script.write_text(
            _SCRIPT.format(
                fence=shlex.quote(str(self.folder(launch.attempt) / "cancelled")),
                fenced=FENCED,
                exports="\n".join(exports),
                command=shlex.join(launch.command),
            ),
            encoding="utf-8",
        )
        script.chmod(self._mode() & 0o755)
        return script

    def _mode(self) -> int:
        return stat.S_IMODE(self.root.stat().st_mode)


def _sync(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
