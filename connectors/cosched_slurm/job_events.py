"""Job events: reports from Slurm's word and the stamps of the processes, as they change.

`merged_report` makes one report of both; `JobWatch` looks at stamps often and asks Slurm seldom.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.connector import JobReport, JobState
from cosched_slurm.spool import FENCED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched_slurm.jobs import JobRecord
    from cosched_slurm.spool import ProcessStamps, SlurmAttemptFolders

__all__ = ["JobWatch", "merged_report"]

# ── One report from the two witnesses of a job: Slurm, and the stamps of its processes.


_STAMPS_OVERDUE = 5.0  # seconds after which a running job whose stamps cannot be seen counts as running all the same
_PROCESSES_VANISHED = (
    "some of its processes vanished without a word: their host or the job's step was lost, see slurm.log"
)


def merged_report(
    attempt: str, record: JobRecord | None, stamps: ProcessStamps, *, fenced: bool, now: float
) -> JobReport | None:
    """Return what is known of an attempt; None where neither witness knows it.

    Args:
        attempt: its UUID.
        record: what Slurm says; None where Slurm does not know the job, or not any more.
        stamps: what its processes said.
        fenced: whether it was cancelled.
        now: seconds since the epoch.
    """
    if record is None:
        if stamps.code is None:
            return None
        state = JobState.FAILED if stamps.code else JobState.COMPLETED
        return JobReport(attempt, state, stamps.job, stamps.started, stamps.finished, stamps.code, hosts=stamps.hosts)
    state, reason = _merged_state(record, stamps, fenced=fenced, now=now)
    begun = state not in (JobState.QUEUED, JobState.UNKNOWN)
    over = state.final or state is JobState.EVICTED
    started = (stamps.started or record.started) if begun else None
    finished = (stamps.finished or record.finished) if over else None
    if started is not None and finished is not None:
        finished = max(started, finished)  # Slurm cuts off its seconds
    code = _merged_exit_code(state, record, stamps)
    return JobReport(
        attempt, state, record.job, started, finished, code, reason, (stamps.hosts or record.hosts) if begun else ()
    )


def _merged_state(record: JobRecord, stamps: ProcessStamps, *, fenced: bool, now: float) -> tuple[JobState, str]:
    if stamps.code == 0:
        return JobState.COMPLETED, ""  # they are through, whatever Slurm still does about the job
    match record.state:
        case JobState.QUEUED if stamps.started is not None:
            return JobState.RUNNING, ""
        case JobState.RUNNING if stamps.started is None and now < (record.started or now) + _STAMPS_OVERDUE:
            return JobState.QUEUED, "its processes are being started"
        case JobState.FAILED if fenced and stamps.code is None and record.exit_code == FENCED:
            return JobState.REMOVED, "cancelled before it began"
        case JobState.EVICTED if fenced:
            return JobState.REMOVED, f"cancelled after its host was lost: {record.reason}"
        case JobState.FAILED if stamps.code is None and record.count > 1:
            return (JobState.REMOVED, "cancelled") if fenced else (JobState.EVICTED, _PROCESSES_VANISHED)
    return record.state, record.reason


def _merged_exit_code(state: JobState, record: JobRecord, stamps: ProcessStamps) -> int | None:
    if state is JobState.COMPLETED:
        return 0
    if state is not JobState.FAILED:
        return None
    return stamps.code or record.exit_code or None


# ── What happened to jobs: their stamps are looked at often, which costs Slurm nothing; Slurm itself is asked seldom.


_STAMP_PERIOD = 0.05  # seconds between two looks at the stamps
_SHORTEST_POLL = 0.25  # seconds after which Slurm is asked for a job whose end is near


@dataclass(slots=True)
class _FollowedJob:
    """An attempt whose end has not been reported.

    Attributes:
        record: what Slurm said last.
        change: the number of its folder when its stamps were read last.
        shown: what was reported last.
    """

    record: JobRecord
    change: int = -1
    shown: JobReport | None = None


class JobWatch:
    """Follows the attempts of a spool.

    Args:
        attempts: the spool.
        ask: asks Slurm for all its jobs, by attempt.
        report: makes the report of an attempt from Slurm's record; looks further where there is none.
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
        self._told: set[str] = set()  # attempts whose end was reported and whose job Slurm still shows
        self._asked: float | None = None
        self._pause = poll

    def follow(self, record: JobRecord) -> None:
        """Follow a job that was just submitted."""
        with self._guard:
            self._followed.setdefault(record.attempt, _FollowedJob(record))

    def hosts(self) -> set[str]:
        """Return the hosts of the jobs that are followed."""
        with self._guard:
            return {host for seen in self._followed.values() for host in seen.record.hosts}

    def wait(self, timeout: float) -> list[JobReport]:
        """Return what is new, waiting up to `timeout` seconds for it.

        Raises:
            ConnectorError: Slurm does not answer, or the spool cannot be read.
        """
        end = time.monotonic() + timeout
        while True:
            news = self._news()
            left = end - time.monotonic()
            if news or left <= 0:
                return news
            time.sleep(min(_STAMP_PERIOD, left))

    def _news(self) -> list[JobReport]:
        news = self._look()
        if self._due():
            records = self._ask()
            self._asked = time.monotonic()
            news += self._compare(records)
        return news

    def _due(self) -> bool:
        """Whether Slurm shall be asked; the first time in any case, for what ended while nobody listened."""
        with self._guard:
            if self._asked is None:
                return True
            return bool(self._followed) and time.monotonic() >= self._asked + self._pause

    def _look(self) -> list[JobReport]:
        """Report those whose processes left new stamps."""
        with self._guard:
            followed = dict(self._followed)
        news: list[JobReport] = []
        for attempt, seen in followed.items():
            change = self._attempts.changed(attempt)
            if change != seen.change:
                seen.change = change
                news += self._tell(attempt, seen, self._report(attempt, seen.record))
                if self._ends_badly(seen):
                    self._pause = min(_SHORTEST_POLL, self._poll)
        return news

    def _compare(self, records: Mapping[str, JobRecord]) -> list[JobReport]:
        """Report those of whom Slurm says something new."""
        with self._guard:
            self._told.intersection_update(records)
            for attempt, record in records.items():
                if attempt not in self._told and (attempt in self._followed or self._attempts.known(attempt)):
                    seen = self._followed.setdefault(attempt, _FollowedJob(record))
                    seen.record = record
            followed = dict(self._followed)
            self._pause = min(2 * self._pause, self._poll)  # an end that does not come is asked for ever less often
        news: list[JobReport] = []
        for attempt, seen in followed.items():
            news += self._tell(attempt, seen, self._report(attempt, records.get(attempt)))
        return news

    def _tell(self, attempt: str, seen: _FollowedJob, report: JobReport | None) -> Iterable[JobReport]:
        if report is None:  # Slurm has not shown the job yet, or has forgotten it: whoever needs to know asks `find`
            if self._attempts.fenced(attempt):
                with self._guard:
                    self._followed.pop(attempt, None)
            return []
        if report.state.final:
            with self._guard:
                self._followed.pop(attempt, None)
                self._told.add(attempt)
        if seen.shown is not None and replace(report, reason="") == replace(seen.shown, reason=""):
            return []
        seen.shown = report
        return [report] if report.state is not JobState.UNKNOWN else []

    def _ends_badly(self, seen: _FollowedJob) -> bool:
        """Whether a job's processes are through but Slurm has not said how it ended, or it was cancelled."""
        attempt = seen.record.attempt
        if attempt not in self._followed:
            return False
        return self._attempts.fenced(attempt) or self._attempts.stamps(attempt).code is not None
