"""The Slurm connector's spool holds attempts' scripts, outputs and process stamps.

A process leaves `began.<rank>` and `ended.<rank>`: finer than Slurm's seconds, with its exit code, at no cost to the
controller. Where `began` exists, it does not run again.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.connector.script_lines import export_lines, host_file_lines, prepared_command
from cosched.connector.spool import FENCED, AttemptFolders, read_job_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cosched.connector import Launch
    from cosched_slurm.owners import OwnerAccount

__all__ = ["FENCED", "UNSTAMPED", "ProcessStamps", "SlurmAttemptFolders"]

UNSTAMPED = 75  # exit code (EX_TEMPFAIL) of a process that could not leave its stamp and did not run its program
_MOST_PROCESSES = 1 << 16  # of an attempt; Slurm's own limit of nodes
_LATEST = 32_503_680_000.0  # epoch seconds: the year 3000
_LARGEST_CODE = 255
_PROCESS_SCRIPT = """\
#!/bin/sh
PATH=/usr/local/bin:/usr/bin:/bin
folder={folder}
{rank}
# An attempt that was cancelled while its submission was under way must not run, and none runs twice.
[ -e {fence} ] && exit {fenced}
job="${{SLURM_ARRAY_JOB_ID:+${{SLURM_ARRAY_JOB_ID}}_}}${{SLURM_ARRAY_TASK_ID:-$SLURM_JOB_ID}}"
stamp="$(date +%s.%N) $job {count} $SLURMD_NODENAME"
if ! (set -C && echo "$stamp" > "$folder/began.$rank") 2>/dev/null; then
    [ -s "$folder/began.$rank" ] && exit {fenced}
    echo "cosched: this host cannot write into $folder: is its disk full, or a quota?" >&2
    exit {unstamped}
fi
{redirection}
(
export COSCHED_RANK="$rank"
cd {directory} || exit 126
{exports}
{host_file}
{command}
)
code=$?
echo "$(date +%s.%N) $code" > "$folder/ending.$rank" && mv "$folder/ending.$rank" "$folder/ended.$rank"
exit "$code"
"""
# slurmd, asked of its jobs while it takes a new one, may think the new script left over and remove it ("purging
# vestigial job script"): the job ends with what its starter says of it.
_LOST_SCRIPT = re.compile(r"slurmstepd[^\n]*: error: execve\(\): \S*/slurm_script: No such file or directory")
# On several nodes the job's script has asked Slurm for their names.
_CHOSEN_HOSTS = 'export COSCHED_HOSTS="${COSCHED_HOSTS:-$SLURMD_NODENAME}"'
_RANK_OF_HOST = """\
rank=0
for host in {hosts}; do
    [ "$host" = "$SLURMD_NODENAME" ] && break
    rank=$((rank + 1))
done"""


# Where Slurm confines a job to no processors (TaskPlugin=task/none), Open MPI thinks all of the host its own, and binds
# the first ranks of all jobs there to the same ones. A task's own variables come after.
_UNBOUND_LINES = """\
if [ "$(OMP_NUM_THREADS= OMP_THREAD_LIMIT= nproc)" -gt "${SLURM_CPUS_ON_NODE:-65536}" ]; then
    export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
fi"""


@dataclass(frozen=True, slots=True)
class ProcessStamps:
    """Stamps of an attempt's processes.

    Attributes:
        started: begin of the last process; None while some have not begun.
        finished: end of the last process; None while some have not ended.
        code: the first code that is not 0 in rank order; None while some have not ended.
        job: Slurm's number of the job, once all have begun.
        hosts: hosts of the processes, in rank order, once all have begun and stamped them.
        count: their number, once all have begun.
    """

    started: float | None = None
    finished: float | None = None
    code: int | None = None
    job: str = ""
    hosts: tuple[str, ...] = ()
    count: int = 0


class SlurmAttemptFolders(AttemptFolders):
    """Folders of attempts, closed to other users in a spool of any mode."""

    def mode(self) -> int:
        """Return the mode of attempts' folders."""
        return 0o700

    def file_mode(self) -> int:
        """Return the mode of files in the folders.

        Where a folder is another user's, its files stay ours, and the user may read them.
        """
        return 0o755

    def change_owner(self, attempt: str, user: OwnerAccount) -> None:
        """Give an attempt's folder to another user, who must be able to reach it.

        The files stay root's, open to him to read: nothing in a folder that is his is ever touched by its name.

        Raises:
            OSError: it cannot be done.
        """
        os.chown(self.folder(attempt), user.uid, user.gid, follow_symlinks=False)

    def owner(self, attempt: str) -> int | None:
        """Return the user ID that owns the folder of an attempt or array; None where there is no folder."""
        try:
            return self.folder(attempt).lstat().st_uid
        except OSError:
            return None

    def created(self, attempt: str) -> float:
        """Return when the attempt's script was written, or the present where there is none.

        That is before any job of it.
        """
        try:
            return (self.folder(attempt) / "run.sh").stat().st_mtime
        except OSError:
            return time.time()

    def changed(self, attempt: str) -> int:
        """Return a number that changes when a process leaves a stamp; 0 without a folder."""
        try:
            return self.folder(attempt).stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def script_lost(self, attempt: str) -> bool:
        """Return whether Slurm's log says that a node had lost the script when it was to start it."""
        return _LOST_SCRIPT.search(read_job_file(self.folder(attempt) / "slurm.log") or "") is not None

    def stamps(self, attempt: str, most: int = _MOST_PROCESSES) -> ProcessStamps:
        """Return the stamps of the attempt's processes; empty ones where they make no sense.

        Args:
            attempt: its UUID.
            most: processes that it has at most. A job may claim any number, and make as many files.
        """
        try:
            return self._read_stamps(self.folder(attempt), most)
        except (ValueError, IndexError):  # a job may write any text there
            return ProcessStamps()

    @staticmethod
    def _read_stamps(folder: Path, most: int) -> ProcessStamps:
        first = _stamp_words(folder / "began.0")
        if len(first) not in (3, 4):
            return ProcessStamps()
        count, job = int(first[2]), first[1]
        if not 1 <= count <= most:
            return ProcessStamps()
        began = [first]
        for rank in range(1, count):
            began.append(_stamp_words(folder / f"began.{rank}"))
            if not began[-1]:
                return ProcessStamps()
        hosts = tuple(stamp[3] for stamp in began) if all(len(stamp) == 4 for stamp in began) else ()
        started = max(_stamped_time(stamp) for stamp in began)
        ended = [_stamp_words(folder / f"ended.{rank}") for rank in range(count)]
        if not all(ended):
            return ProcessStamps(started, job=job, hosts=hosts, count=count)
        codes = [_stamped_code(stamp) for stamp in ended]
        finished = max(started, *(_stamped_time(stamp) for stamp in ended))
        return ProcessStamps(started, finished, next((code for code in codes if code), 0), job, hosts, count)

    def write_script(self, launch: Launch, commands: Path | None = None) -> Path:
        """Write the script that each process runs.

        Args:
            launch: the attempt.
            commands: folder of Slurm's commands, which MPI's launchers call; None where it is in PATH.

        Raises:
            UserError: the program's name begins with a dash.
        """
        directory = shlex.quote(launch.directory or str(self.folder(launch.attempt)))
        folder = shlex.quote(str(self.folder(launch.attempt)))
        once = launch.native is None and launch.launch.once
        if once and launch.count > 1:  # their order is Slurm's, which says where the first one is
            alike = len(set(launch.classes)) == 1
            launch = replace(launch, hosts=(), classes=launch.classes if alike else ())
        variables, count = export_lines(launch), launch.count
        if not launch.hosts:
            variables = f"{_CHOSEN_HOSTS}\n{variables}"
        if launch.mailbox:
            variables += f"\nexport COSCHED_MAILBOX={shlex.quote(str(self.mailbox(launch.attempt)))}"
        files: tuple[str, ...] = ("out", "err")
        rank = _RANK_OF_HOST.format(hosts=shlex.join(launch.hosts)) if launch.hosts else 'rank="${SLURM_PROCID:-0}"'
        if once:
            rank, count = "rank=0", 1
            variables = f"{_UNBOUND_LINES}\n{variables}"
            if commands is not None:
                variables += f'\nexport PATH="$PATH":{shlex.quote(str(commands))}'
        native = launch.native
        if native is not None:  # the user's own script runs once, on the first host, as sbatch would run it
            script = self.write(launch.attempt, "user.sh", native.script)
            launch = replace(launch, command=(str(script),))
            variables += f"\nexport SLURM_SUBMIT_DIR={directory}"
            rank, count, files = "rank=0", 1, _streams_kept(native.settings)
        streams = {"out": '> "$folder/out.$rank"', "err": '2> "$folder/err.$rank"'}
        return self.write(
            launch.attempt,
            "run.sh",
            _PROCESS_SCRIPT.format(
                folder=folder,
                fence=shlex.quote(str(self.fence_file(launch.attempt))),
                rank=rank,
                fenced=FENCED,
                unstamped=UNSTAMPED,
                count=count,
                redirection=" ".join(("exec", *(streams[file] for file in files))),
                directory=directory,
                exports=variables,
                host_file=host_file_lines(folder),
                command=prepared_command(launch, folder),
            ),
        )


def _streams_kept(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the streams that go into the attempt's folder.

    The user's script may send the others elsewhere.
    """
    if "output" in settings:  # as for sbatch, errors go with it
        return ()
    return ("out",) if "error" in settings else ("out", "err")


def _stamp_words(file: Path) -> list[str]:
    """Return the words of a stamp; [] where it is missing, not yet whole, or closed by its job."""
    try:
        text = read_job_file(file) or ""
    except PermissionError:  # a file server may know our root by another name
        return []
    return text.split() if text.endswith("\n") else []


def _stamped_time(stamp: Sequence[str]) -> float:
    """Return the epoch seconds of a stamp.

    Raises:
        ValueError: no clock shows that.
    """
    found = float(stamp[0])
    if not 0 <= found <= _LATEST:  # nor what is no number
        raise ValueError(f"the stamp {stamp[0]!r} is no time")
    return found


def _stamped_code(stamp: Sequence[str]) -> int:
    """Return the exit code of an end's stamp.

    Raises:
        ValueError: no process ends with that.
    """
    found = int(stamp[1])
    if not 0 <= found <= _LARGEST_CODE:
        raise ValueError(f"the stamp has {stamp[1]!r}, which is no exit code")
    return found
