"""Jobs that users submit to Slurm themselves, which etc/slurm/job_submit.lua makes to wait.

A job waits while its begin time is a lease: Slurm itself starts it afterwards. Letting it go is `StartTime=now` with
its hosts; a mark in the spool, written before, says for which attempt. Start at `SlurmAdoptedJobs.release`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError, JobState
from cosched.connector.spool import spool_faults, write_durably
from cosched_slurm.adoption.adoptable_jobs import NotedJob, adoptable_job, noted_job, waits_for_lease
from cosched_slurm.jobs import JobRecord, plain_number, record_of_row
from cosched_slurm.past_jobs import numbered_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from cosched.connector.interface import AdoptableJob
    from cosched.connector.jobs import JobReport, Launch
    from cosched_slurm.commands import SlurmCommands

__all__ = ["SlurmAdoptedJobs"]

_LEASES = "leases"  # file of the last leases that were given
_KEPT_LEASES = 20
_LEASE = 300  # seconds, where none was given yet
_AT_ONCE = 200  # jobs in one call
_ANY_COUNT = 65533  # nodes: as Slurm has it, no limit


@dataclass(frozen=True, slots=True)
class _Mark:
    key: str
    restarts: int


class SlurmAdoptedJobs:
    """The users' own jobs of one cluster; cosched is its operator.

    Args:
        commands: Slurm's.
        spool: folder of the attempts, where the marks are in a folder of their own.
        completions: Slurm's completion file, if there is one.
    """

    def __init__(self, commands: SlurmCommands, spool: Path, completions: Path | None = None) -> None:
        self._commands = commands
        self._completions = completions
        self._folder = spool / "adopted"
        self._guard = threading.RLock()  # between a look at the queue and what follows from it
        self._read: dict[str, _Mark] | None = None

    def attempts(self) -> set[str]:
        """Return the attempts for which jobs were let go."""
        return set(self._marks())

    def listed(self, report: Callable[[str, JobRecord | None], JobReport | None]) -> list[AdoptableJob]:
        """Return the jobs with a note that live, or ran without an attempt.

        Args:
            report: makes the report of an attempt from its record.
        """
        with self._guard:
            jobs = self._jobs()
            self._forget_ended(jobs)
            leases = self._leases()
            records = self._records(jobs)
        found = []
        for key, job in jobs.items():
            marked = next((name for name, mark in self._marks().items() if mark.key == key), None)
            if job.live or (job.hosts and not marked):
                shown = records.get(marked) if marked else None
                found.append(adoptable_job(job, leases, report(marked, shown) if marked and shown else None))
        return found

    def records(self) -> dict[str, JobRecord]:
        """Return the job of each attempt for which one was let go.

        Slurm is not asked where there is none.
        """
        if not self._marks():
            return {}
        with self._guard:
            return self._records(self._jobs())

    def release(self, launch: Launch) -> str:
        """Mark a job with its attempt and let it begin on the attempt's hosts.

        A try that is cut off leaves the job waiting, or one that is found by its mark.
        """
        with self._guard:
            job = self._jobs().get(launch.adopted)
            if job is None and self.ran_alone(launch.adopted):
                self._mark(launch.attempt, _Mark(launch.adopted, 0))
                return launch.adopted.split("#")[1]
            if job is None or not (job.live or job.hosts):
                raise _refused("the job is no longer in Slurm's queue")
            if job.state is JobState.HELD:
                raise _refused("the job is held by its user")
            others = [n for n, mark in self._marks().items() if mark.key == job.key and n != launch.attempt]
            if others and not job.closed and job.restarts == self._marks()[others[0]].restarts:
                raise _refused("the job was let go for another attempt")
            if job.closed and not waits_for_lease(job, self._leases()):
                raise _refused("its user, or Slurm after a host was lost, has it begin later")
            if not job.pending and launch.hosts and set(job.hosts) != set(launch.hosts):
                raise _refused(f"the job runs on {', '.join(job.hosts)} by itself")
            for other in others:
                self._unmark(other)
            self._mark(launch.attempt, _Mark(job.key, job.restarts))
            if job.pending:
                count = max(launch.count, 1)
                each = int(plain_number(job.row.get("tasks_per_node")) or 1)
                pinned = [f"ReqNodeList={','.join(launch.hosts)}"] if launch.hosts else []
                tasks = max(count * each, int(job.note[6] or 0))
                self._let_go(
                    launch.attempt, job, [f"NumNodes={count}-{count}", f"NumTasks={tasks}", *pinned, "StartTime=now"]
                )
            return job.number

    def _let_go(self, attempt: str, job: NotedJob, changes: Sequence[str]) -> None:
        """Let a waiting job begin; one that Slurm leaves as it is has no attempt."""
        try:
            self._commands.update([job.number], *changes)
        except ConnectorError as error:
            now = self._jobs().get(job.key)  # raises where Slurm is away: then nothing is known
            if now is None or (now.pending and now.closed):
                self._unmark(attempt)
                if now is not None:
                    with contextlib.suppress(ConnectorError):  # what was changed before it refused
                        self._commands.update([job.number], *_as_asked(job))
                raise _refused(f"job {job.number} was not let go: {error}") from error
            raise

    def ran_alone(self, key: str) -> bool:
        """Return whether a job ran to its end for no attempt, as the controller has it, or the past."""
        if any(mark.key == key for mark in self._marks().values()):
            return False
        if (job := self._jobs().get(key)) is not None:
            return not job.live and bool(job.hosts)
        past = self._past(key, "")
        if past is None or not past.state.final or past.started is None:
            return False
        # Slurm writes the end for the start, too, where a job was cancelled before it began.
        return past.state is not JobState.REMOVED or past.started != past.finished

    def past_record(self, attempt: str) -> JobRecord | None:
        """Return the record of an attempt whose job Slurm's controller has forgotten."""
        mark = self._marks().get(attempt)
        found = None if mark is None else self._past(mark.key, attempt)
        return found if found is not None and found.state.final else None

    def _past(self, key: str, attempt: str) -> JobRecord | None:
        _, number, submitted = key.rsplit("#", 2)
        lines = self._commands.accounted_job(number, int(submitted)) or []
        return numbered_record(number, int(submitted), attempt, lines, self._completions)

    def retract(self, attempt: str, key: str) -> bool:
        """Have the job wait again; return whether it does, and is no attempt's."""
        with self._guard:
            mark = self._marks().get(attempt)
            job = self._jobs().get(key)
            if mark is None or mark.key != key:
                return True
            if job is None or not job.pending or not job.live:
                return False
            later = job.closed and not waits_for_lease(job, self._leases())
            try:
                self._commands.update(
                    [job.number], *_as_asked(job), *([] if later else [f"StartTime={_clock(self._lease())}"])
                )
            except ConnectorError:
                if (now := self._jobs().get(key)) is None or not now.pending:
                    return False  # it began meanwhile
                raise
            job = self._jobs().get(key)
            if job is None or not job.closed:
                return False
            self._unmark(attempt)
            return True

    def renew(self, until: float) -> None:
        """Move the end of all leases; a begin that a user chose stays."""
        with self._guard:
            jobs, leases = self._jobs(), self._leases()
            given = {mark.key for mark in self._marks().values()}
            waiting = [
                job.number
                for job in jobs.values()
                if job.pending
                and job.begin < int(until)
                and waits_for_lease(job, leases)
                and (job.key not in given or job.closed)
            ]
            if waiting:
                self._give_lease(int(until))
            for first in range(0, len(waiting), _AT_ONCE):
                part = waiting[first : first + _AT_ONCE]
                try:
                    self._commands.update(part, f"StartTime={_clock(until)}")
                except ConnectorError as error:
                    if not _has_begun(error):
                        raise

    def abandon(self, key: str, reason: str) -> None:
        """Let a job begin as its user asked, and note why."""
        with self._guard:
            job = self._jobs().get(key)
            if job is None or not job.pending or not job.live:
                return
            self._tell(job, reason)
            if waits_for_lease(job, self._leases()):
                begin = float(job.note[3])
                self._commands.update([job.number], f"StartTime={_clock(begin) if begin > time.time() else 'now'}")

    def remove(self, key: str, reason: str) -> None:
        """Cancel a job."""
        job = self._jobs().get(key)
        if job is not None and job.live:
            self._tell(job, reason)
            self._commands.cancel([job.number])

    def _tell(self, job: NotedJob, reason: str) -> None:
        note = job.note.string.partition(" # ")[0]
        with contextlib.suppress(ConnectorError):  # an operator may not write there
            self._commands.update([job.number], f"AdminComment={note} # {_plain(reason)}")

    def _jobs(self) -> dict[str, NotedJob]:
        found = (noted_job(row) for row in self._commands.every_job())
        return {job.key: job for job in found if job is not None}

    def _records(self, jobs: Mapping[str, NotedJob]) -> dict[str, JobRecord]:
        found = {}
        for attempt, mark in self._marks().items():
            job = jobs.get(mark.key)
            if job is None:
                continue
            record = replace(record_of_row(job.row, attempt, 1, job.number), restarts=0)  # Slurm may run it again
            if job.pending and job.restarts > mark.restarts:
                record = replace(
                    record, state=JobState.EVICTED, reason="its host was lost, and Slurm runs the job again"
                )
            elif job.closed:  # its mark was written, and nothing after that was done
                continue
            found[attempt] = record
        return found

    def _forget_ended(self, jobs: Mapping[str, NotedJob]) -> None:
        """Drop marks whose attempts' folders are deleted."""
        for attempt, mark in list(self._marks().items()):
            if mark.key not in jobs and not (self._folder.parent / attempt).is_dir():
                self._unmark(attempt)

    def _marks(self) -> dict[str, _Mark]:
        if self._read is None:
            with self._guard, self._faults():
                self._read = dict(_read_marks(self._folder))
        return self._read

    def _mark(self, attempt: str, mark: _Mark) -> None:
        marks = self._marks()
        with self._faults():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_durably(self._folder / attempt, f"{mark.key} {mark.restarts}\n")
        self._read = {**marks, attempt: mark}

    def _unmark(self, attempt: str) -> None:
        marks = self._marks()
        with self._faults():
            (self._folder / attempt).unlink(missing_ok=True)
        self._read = {name: mark for name, mark in marks.items() if name != attempt}

    def _leases(self) -> list[int]:
        with self._faults():
            try:
                return [int(word) for word in (self._folder / _LEASES).read_text().split()]
            except (FileNotFoundError, ValueError):
                return []

    def _give_lease(self, until: int) -> None:
        """Note a lease before any job has it."""
        leases = [*self._leases(), until][-_KEPT_LEASES:]
        with self._faults():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_durably(self._folder / _LEASES, " ".join(map(str, leases)))

    def _lease(self) -> int:
        """Return the end of the present lease."""
        leases = self._leases()
        if not leases or leases[-1] <= time.time():
            self._give_lease(int(time.time()) + _LEASE)
        return self._leases()[-1]

    def _faults(self) -> contextlib.AbstractContextManager[None]:
        return spool_faults("slurm", self._folder)


def _read_marks(folder: Path) -> Iterable[tuple[str, _Mark]]:
    if not folder.is_dir():
        return
    for file in folder.iterdir():
        words = file.read_text().split()
        if file.name != _LEASES and not file.name.startswith(".") and len(words) == 2:
            yield file.name, _Mark(words[0], int(words[1]))


def _refused(why: str) -> ConnectorError:
    """Return the error of a job that was certainly not let go."""
    return ConnectorError(why, transient=True, refused=True)


def _has_begun(error: ConnectorError) -> bool:
    return "pending" in str(error).lower()  # "Job is no longer pending execution"


def _clock(at: float) -> str:
    """Return a time as Slurm's commands take it: not a local one, some of which come twice as clocks go back."""
    return f"uts{int(at)}"


def _plain(reason: str) -> str:
    return " ".join(reason.split())[:500]


def _as_asked(job: NotedJob) -> list[str]:
    least, most, tasks = job.note[4] or "1", job.note[5] or job.note[4] or str(_ANY_COUNT), job.note[6] or "1"
    return ["ReqNodeList=", f"NumTasks={tasks}", f"NumNodes={least}-{most}"]
