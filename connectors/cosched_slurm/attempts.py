"""The spool: a folder for each attempt with its scripts, its output, its fence, and the stamps of its processes.

Each process of a job leaves `began.<rank>` and `ended.<rank>`: times finer than Slurm's whole seconds, exit codes of
each process, and news without a question to the controller. A process whose `began` is there already does not run.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.connector.launches import environment
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector import Launch

__all__ = ["FENCED", "Attempts", "Stamps"]

FENCED = 143  # what a program gives that ends at SIGTERM

_SCRIPT = """\
#!/bin/sh
PATH=/usr/local/bin:/usr/bin:/bin
folder={folder}
{rank}
# An attempt that was cancelled while its submission was under way must not run, and none runs twice.
[ -e "$folder/cancelled" ] && exit {fenced}
(set -C && echo "$(date +%s.%N) $SLURM_JOB_ID {count}" > "$folder/began.$rank") 2>/dev/null || exit {fenced}
exec > "$folder/out.$rank" 2> "$folder/err.$rank"
(
export COSCHED_RANK="$rank"
cd {directory} || exit 126
{exports}
exec {command}
)
code=$?
echo "$(date +%s.%N) $code" > "$folder/ending.$rank" && mv "$folder/ending.$rank" "$folder/ended.$rank"
exit "$code"
"""
_RANK_OF_HOST = """\
rank=0
for host in {hosts}; do
    [ "$host" = "$SLURMD_NODENAME" ] && break
    rank=$((rank + 1))
done"""


@dataclass(frozen=True, slots=True)
class Stamps:
    """What the processes of an attempt have said of themselves.

    Attributes:
        started: when the last of all began; None while some have not.
        finished: when the last of all ended; None while some have not.
        code: the first code that is not 0 in rank order; None while some have not ended.
        job: Slurm's number of the job, once all have begun.
    """

    started: float | None = None
    finished: float | None = None
    code: int | None = None
    job: str = ""


class Attempts:
    """The folders of attempts; closed to other users, for scripts hold environments and jobs run as cosched's user."""

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
        try:
            self.folder(attempt).mkdir(mode=0o700)
        except FileExistsError:
            return False
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

    def changed(self, attempt: str) -> int:
        """Return a number that changes when a process leaves a stamp; 0 where there is no folder."""
        try:
            return self.folder(attempt).stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def stamps(self, attempt: str) -> Stamps:
        """Return what the attempt's processes have said."""
        folder = self.folder(attempt)
        first = _words(folder / "began.0")
        if len(first) != 3:
            return Stamps()
        count, job = int(first[2]), first[1]
        began = [first, *(_words(folder / f"began.{rank}") for rank in range(1, count))]
        if not all(began):
            return Stamps()
        started = max(float(stamp[0]) for stamp in began)
        ended = [_words(folder / f"ended.{rank}") for rank in range(count)]
        if not all(ended):
            return Stamps(started, job=job)
        codes = [int(stamp[1]) for stamp in ended]
        finished = max(started, *(float(stamp[0]) for stamp in ended))
        return Stamps(started, finished, next((code for code in codes if code), 0), job)

    def write_script(self, launch: Launch) -> Path:
        """Write what each process runs.

        Raises:
            UserError: the program's name begins with a dash, which `exec` takes for an option.
        """
        if launch.command[0].startswith("-"):
            raise UserError(f"program {launch.command[0]!r} starts with '-': give its path")
        folder = self.folder(launch.attempt)
        exports = [f"export {name}={shlex.quote(value)}" for name, value in environment(launch).items()
                   if name != "COSCHED_RANK"]  # fmt: skip
        rank = _RANK_OF_HOST.format(hosts=shlex.join(launch.hosts)) if launch.hosts else 'rank="${SLURM_PROCID:-0}"'
        return self.write(launch.attempt, "run.sh", _SCRIPT.format(
            folder=shlex.quote(str(folder)),
            rank=rank,
            fenced=FENCED,
            count=launch.count,
            directory=shlex.quote(launch.directory or str(folder)),
            exports="\n".join(exports),
            command=shlex.join(launch.command),
        ))  # fmt: skip

    def write(self, attempt: str, name: str, text: str) -> Path:
        """Write a script into the attempt's folder."""
        script = self.folder(attempt) / name
        script.write_text(text, encoding="utf-8")
        script.chmod(0o700)
        return script


def _words(file: Path) -> list[str]:
    """Return the words of a stamp; none where it is not there or not yet written."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        return []
    return text.split() if text.endswith("\n") else []


def _sync(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
