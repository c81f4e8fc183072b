"""Job events: reports from Slurm's records and the stamps of the processes, as they change.

`merged_report` makes one report of both; `JobWatch` reads stamps often, which costs Slurm nothing, and asks it seldom.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError, JobReport, JobState
from cosched_slurm.spool import FENCED, UNSTAMPED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched_slurm.jobs import JobRecord
    from cosched_slurm.spool import ProcessStamps, SlurmAttemptFolders

__all__ = ["JobWatch", "merged_report"]

_NO_MORE_THAN_THE_CODE = ("failed", "failed: NonZeroExitCode")  # of Slurm's reasons; people want to know the code
_STAMPS_OVERDUE = 5.0  # seconds after which a running job whose stamps cannot be seen counts as running all the same
_STAMPS_LATE = 60.0  # seconds after which a host sees what others wrote into a folder (NFS: acdirmax)
_STAMP_PERIOD = 0.05  # seconds between two looks at the stamps
_SHORTEST_POLL = 0.25  # seconds after which Slurm is asked for a job whose end is near
_PROCESSES_VANISHED = (
    "some of its processes vanished without a word: their host or the job's step was lost, see slurm.log"
)
_NO_ROOM = "it did not begin: its host could not write its stamp into the spool; is the disk full, or its user's quota?"
_QUEUED_ANEW = "Slurm ended it and queued it anew (scontrol requeue): its task is started again by cosched"
_SCRIPT_LOST = "its node had lost the job's script before it began, see slurm.log"


def merged_report(
    attempt: str,
    record: JobRecord | None,
    stamps: ProcessStamps,
    *,
    fenced: bool,
    now: float,
    script_lost: Callable[[], bool] = lambda: False,
) -> JobReport | None:
    """Return the report of an attempt; None where neither Slurm nor a stamp knows it.

    Args:
        attempt: its UUID.
        record: record of its job; None where Slurm does not know the job, or has forgotten it.
        stamps: stamps of its processes.
        fenced: whether it was cancelled.
        now: seconds since the epoch.
        script_lost: tells whether a node had lost the script of the job that it was to start; asked only of a job that
            failed before its first process began.
    """
    if record is None:
        if stamps.code is None:
            return None
        state = JobState.FAILED if stamps.code else JobState.COMPLETED
        return JobReport(attempt, state, stamps.job, stamps.started, stamps.finished, stamps.code, hosts=stamps.hosts)
    state, reason = _merged_state(record, stamps, fenced=fenced, now=now)
    if state is JobState.FAILED and stamps.started is None and script_lost():
        state, reason = (JobState.REMOVED, "cancelled") if fenced else (JobState.EVICTED, _SCRIPT_LOST)
    begun = state not in (JobState.QUEUED, JobState.UNKNOWN)
    over = state.final or state is JobState.EVICTED
    started = (stamps.started or record.started) if begun else None
    finished = (stamps.finished or record.finished) if over else None
    if started is not None and finished is not None:
        finished = max(started, finished)  # Slurm cuts off its seconds
    code = _merged_exit_code(state, record, stamps)
    if state is JobState.FAILED and code and reason in _NO_MORE_THAN_THE_CODE:
        reason = ""
    hosts = _hosts(record, stamps) if begun else ()
    return JobReport(attempt, state, record.job, started, finished, code, reason, hosts)


def _hosts(record: JobRecord, stamps: ProcessStamps) -> tuple[str, ...]:
    """Return the hosts that Slurm says the job has, by the ranks that its stamps tell.

    It may claim others than it has, and keep them so; and one process alone may stamp for all of them.
    """
    return stamps.hosts if sorted(stamps.hosts) == sorted(record.hosts) else record.hosts


def _merged_state(record: JobRecord, stamps: ProcessStamps, *, fenced: bool, now: float) -> tuple[JobState, str]:
    if stamps.code == 0:
        return JobState.COMPLETED, ""  # the processes have ended, though Slurm may still clean up
    if record.restarts and stamps.started is not None and not record.has_ended:  # its processes do not run again
        again = (JobState.EVICTED, _QUEUED_ANEW) if stamps.code is None else (JobState.FAILED, "")
        return (JobState.REMOVED, "cancelled") if fenced else again
    match record.state:
        case JobState.QUEUED if stamps.started is not None:
            return JobState.RUNNING, ""
        case JobState.RUNNING if stamps.started is None and now < (record.started or now) + _STAMPS_OVERDUE:
            return JobState.QUEUED, "its processes are being started"
        case JobState.FAILED if fenced and stamps.code is None and record.exit_code == FENCED:
            return JobState.REMOVED, "cancelled before it began"
        case JobState.EVICTED if fenced:
            return JobState.REMOVED, f"cancelled after its host was lost: {record.reason}"
        case JobState.FAILED if lost := _why_lost(record, stamps):
            if fenced:
                return JobState.REMOVED, "cancelled"
            if record.finished is not None and now < record.finished + _STAMPS_LATE:
                return JobState.RUNNING, "it has failed, and the stamps of its processes may be on their way"
            return JobState.EVICTED, lost
    return record.state, record.reason


def _why_lost(record: JobRecord, stamps: ProcessStamps) -> str:
    """Say why a job that failed by Slurm's word did so by no doing of its program; empty where that may have failed."""
    if stamps.started is None and record.exit_code == UNSTAMPED:
        return _NO_ROOM
    return _PROCESSES_VANISHED if stamps.code is None and record.count > 1 else ""


def _merged_exit_code(state: JobState, record: JobRecord, stamps: ProcessStamps) -> int | None:
    if state is JobState.COMPLETED:
        return 0
    if state is not JobState.FAILED:
        return None
    return stamps.code or record.exit_code or None


@dataclass(slots=True)
class _FollowedJob:
    """A live attempt, until its end is reported.

    Attributes:
        record: Slurm's last.
        change: number of its folder's last change when its stamps were read.
        reported: the last report.
    """

    record: JobRecord
    change: int = -1
    reported: JobReport | None = None

    @property
    def runs(self) -> bool:
        """Return whether Slurm has begun it, as far as is known."""
        running = JobState.RUNNING
        return self.record.state is running or (self.reported is not None and self.reported.state is running)

    @property
    def halted(self) -> bool:
        """Return whether it has begun and was suspended; a job that is held before its begin has no nodes."""
        return self.record.state is JobState.HELD and bool(self.record.hosts)


class JobWatch:
    """Follows the attempts of a spool.

    Args:
        attempts: the spool.
        ask: returns Slurm's record of each attempt.
        report: makes the report of an attempt from its record; looks further where there is none.
        poll: seconds between two questions to Slurm while there is something to follow.
    """

    def __init__(
        self,
        attempts: SlurmAttemptFolders,
        ask: Callable[[], Mapping[str, JobRecord]],
        report: Callable[[str, JobRecord | None], JobReport | None],
        poll: float,
    ) -> None:
        self._attempts = attempts
        self._ask = ask
        self._report = report
        self._poll = poll
        self._guard = threading.Lock()
        self._followed: dict[str, _FollowedJob] = {}
        self._reported: set[str] = set()  # attempts whose end was reported and whose job Slurm still shows
        self._found: list[JobReport] = []  # what `wait` has not returned yet
        self._asked: float | None = None
        self._pause = poll

    def follow(self, record: JobRecord) -> None:
        """Follow a job that was just submitted."""
        with self._guard:
            self._followed.setdefault(record.attempt, _FollowedJob(record))

    def unexplained(self, allocated: Mapping[str, int | None]) -> set[str]:
        """Return the busy nodes on which foreign jobs may run, and those of jobs that were suspended.

        Args:
            allocated: processors that jobs hold of each busy node; None where Slurm does not say.
        """
        whole: set[str] = set()
        held: Counter[str] = Counter()
        halted: set[str] = set()
        with self._guard:
            for job in self._followed.values():
                if job.halted:
                    halted.update(job.record.hosts)
                elif job.record.processors is None:
                    whole.update(job.record.hosts)
                elif job.runs:
                    held.update(job.record.processors)
        return {
            name
            for name, count in allocated.items()
            if name in halted or (name not in whole and (not count or count != held[name]))
        }

    def halted(self) -> set[str]:
        """Return the jobs that were suspended: they will go on on their nodes, and hold them meanwhile."""
        with self._guard:
            return {job.record.job for job in self._followed.values() if job.halted}

    def wait(self, timeout: float) -> list[JobReport]:
        """Return new reports, waiting up to `timeout` seconds for one.

        Raises:
            ConnectorError: Slurm does not answer, or the spool cannot be read; what was found before is returned first.
        """
        end = time.monotonic() + timeout
        while True:
            try:
                self._look()
            except ConnectorError:
                if not self._found:
                    raise
            left = end - time.monotonic()
            if self._found or left <= 0:
                reports, self._found = self._found, []
                return reports
            time.sleep(min(_STAMP_PERIOD, left))

    def _look(self) -> None:
        self._read_stamps()
        if self._due():
            records = self._ask()
            self._asked = time.monotonic()
            self._compare_records(records)

    def _due(self) -> bool:
        """Return whether to ask Slurm now.

        The first call always asks, for jobs that ended while no process listened.
        """
        with self._guard:
            if self._asked is None:
                return True
            return bool(self._followed) and time.monotonic() >= self._asked + self._pause

    def _read_stamps(self) -> None:
        """Note reports of attempts with new stamps."""
        with self._guard:
            followed = dict(self._followed)
        for attempt, job in followed.items():
            change = self._attempts.changed(attempt)
            if change != job.change:
                if self._hosts_unknown(job):
                    self._pause = min(_SHORTEST_POLL, self._poll)  # told with the hosts that Slurm names then
                else:
                    self._note_change(attempt, job, self._report(attempt, job.record))
                    if self._ends_badly(job):
                        self._pause = min(_SHORTEST_POLL, self._poll)
                job.change = change

    def _compare_records(self, records: Mapping[str, JobRecord]) -> None:
        """Note reports of attempts with a changed record."""
        with self._guard:
            self._reported.intersection_update(records)
            for attempt, record in records.items():
                if attempt not in self._reported and (attempt in self._followed or self._attempts.known(attempt)):
                    job = self._followed.setdefault(attempt, _FollowedJob(record))
                    job.record = record
            followed = dict(self._followed)
            self._pause = min(2 * self._pause, self._poll)  # an end that does not come is asked for ever less often
        for attempt, job in followed.items():
            self._note_change(attempt, job, self._report(attempt, records.get(attempt)))

    def _note_change(self, attempt: str, job: _FollowedJob, report: JobReport | None) -> None:
        if report is None:  # Slurm has not shown the job yet, or has forgotten it: `find` looks further
            if self._attempts.fenced(attempt):
                with self._guard:
                    self._followed.pop(attempt, None)
            return
        if report.state.final:
            with self._guard:
                self._followed.pop(attempt, None)
                self._reported.add(attempt)
        if job.reported is not None and replace(report, reason="") == replace(job.reported, reason=""):
            return
        job.reported = report
        if report.state is not JobState.UNKNOWN:
            self._found.append(report)

    def _hosts_unknown(self, job: _FollowedJob) -> bool:
        """Return whether a job has begun whose hosts Slurm chose and has not told yet."""
        record = job.record
        return not record.hosts and self._attempts.stamps(record.attempt, record.count).started is not None

    def _ends_badly(self, job: _FollowedJob) -> bool:
        """Return whether a job was cancelled, or has ended by its stamps alone.

        Slurm does not show that end yet.
        """
        attempt = job.record.attempt
        if attempt not in self._followed:
            return False
        return self._attempts.fenced(attempt) or self._attempts.stamps(attempt, job.record.count).code is not None
