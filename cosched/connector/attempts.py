"""A folder for each attempt below a spool: its scripts, its output and its fence. Connectors add what is theirs."""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector.interface import JobReport, JobState
from cosched.connector.launches import environment
from cosched.connector.outputs import read_output
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.interface import Launch, Output

__all__ = ["FENCED", "AttemptFolders", "explained", "exports", "prepared_command"]

FENCED = 143  # what a program gives that ends at SIGTERM


_UNPREPARED = "unprepared"  # name of the mark that a failed preparation leaves, before its rank
_PREPARED = """\
{prepare}
prepared=$?
if [ "$prepared" -ne 0 ]; then
    echo "cosched: the preparation ended with exit code $prepared" >&2
    (echo "$prepared" > {mark}"$COSCHED_RANK") 2> /dev/null
    exit "$prepared"
fi
exec {command}"""


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
        _write(self.folder(attempt) / "cancelled", "", 0o666)
        _sync(self.folder(attempt))

    def fenced(self, attempt: str) -> bool:
        """Whether the attempt was cancelled."""
        return (self.folder(attempt) / "cancelled").exists()

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process wrote into `out.<rank>` or `err.<rank>`; see `Connector.output`."""
        return read_output(self.folder(attempt) / f"{stream}.{rank}", offset, limit)

    def write(self, attempt: str, name: str, text: str) -> Path:
        """Write a script into the attempt's folder, as open to others as the folder."""
        script = self.folder(attempt) / name
        _write(script, text, self.mode() & 0o755)
        return script

    def mode(self) -> int:
        """Return the mode of attempts' folders: as open to others as the spool is."""
        return stat.S_IMODE(self.root.stat().st_mode)


def _command_line(launch: Launch) -> str:
    """Return the launch's command as a shell's `exec` takes it, every word as it is.

    Raises:
        UserError: the program's name begins with a dash, which `exec` takes for an option.
    """
    if launch.command[0].startswith("-"):
        raise UserError(f"program {launch.command[0]!r} starts with '-': give its path")
    return shlex.join(launch.command)


def prepared_command(launch: Launch, folder: str) -> str:
    """Return the lines of a shell script that run the launch's preparation, where it has one, and then its command.

    Args:
        launch: the attempt.
        folder: where a preparation that fails leaves its mark, as a word of the shell's (quoted).

    Raises:
        UserError: the program's name begins with a dash.
    """
    if not launch.prepare:
        return f"exec {_command_line(launch)}"
    return _PREPARED.format(
        prepare=shlex.join(launch.prepare), command=_command_line(launch), mark=f"{folder}/{_UNPREPARED}."
    )


def explained(report: JobReport, folder: Path) -> JobReport:
    """Return the report of a failed attempt with the words for a preparation that failed, if one did.

    Args:
        report: of the attempt.
        folder: of the attempt, in which the mark is, or in a folder of the process's own.
    """
    if report.state is not JobState.FAILED:
        return report
    marks = sorted([*folder.glob(f"{_UNPREPARED}.*"), *folder.glob(f"*/{_UNPREPARED}.*")])
    if not marks:
        return report
    rank = marks[0].name.rpartition(".")[2]
    return replace(report, reason=f"the preparation on rank {rank} ended with exit code {report.exit_code}")


def exports(launch: Launch) -> str:
    """Return the lines of a shell script that set the launch's variables; a process's rank is not among them."""
    return "\n".join(
        f"export {name}={shlex.quote(value)}" for name, value in environment(launch).items() if name != "COSCHED_RANK"
    )


def _write(file: Path, text: str, mode: int) -> None:
    """Write a file of ours into a folder that may be another user's: never through a link that he put there."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as written:
        written.write(text)
        os.fchmod(handle, mode)


def _sync(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
