"""HTCondor's job event logs become reports on attempts; log files are begun and deleted here.

A submit event's note holds the attempt, its number of processes and the rank: read from its beginning, a log tells all
after a restart. HTCondor writes a job's events into the log named at its submission, so none is renamed or cut.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

import structlog

from cosched.connector import JobReport, JobState
from cosched_condor.job_ads import SUBMITTED_ON_HOLD, CondorProcess, attempt_report, host_of_slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = ["EventLogFiles", "EventLogReader", "submit_note"]

_log = structlog.get_logger("cosched.condor")

# Numbers of events, as HTCondor's manual lists them under "Job Event Log Codes".
_SUBMIT, _EXECUTE, _EVICTED, _TERMINATED = 0, 1, 4, 5
_SHADOW_EXCEPTION, _ABORTED, _HELD, _RELEASED, _NODE_EXECUTE = 7, 9, 12, 13, 14
_DISCONNECTED, _RECONNECTED, _RECONNECT_FAILED = 22, 23, 24
_LOST = (_EVICTED, _SHADOW_EXCEPTION, _DISCONNECTED, _RECONNECT_FAILED)
# The job went on while the scheduler was away; if it cannot be reached again, another event tells.
_SCHEDULER_CAME_BACK = "Local schedd"
_REASONS = ("Reason", "HoldReason", "DisconnectReason", "Message", "StartdName")
_LOG_NAME = re.compile(r"events(?:\.([1-9]\d*))?\.log\Z")
_LARGEST_LOG = 4 * 2**20  # bytes: some 1,500 jobs, read in three seconds after a restart
_DISORDER = 60.0  # seconds by which events of one log may be out of their order, or of age when they are read at once
_QUIET_SECONDS = 600.0  # seconds without an event, after which no submission that was cut off can write into an old log


def submit_note(attempt: str, count: int, rank: int, *, slot_hosts: bool = False) -> str:
    """Return the note of a process's submit event; with `slot_hosts` it may run on a static slot that is a host."""
    return f"cosched {attempt} {count} {rank}{' slots' if slot_hosts else ''}"


@dataclass(slots=True)
class _LoggedJob:
    attempt: str
    count: int
    first: int  # number of its first process in the cluster
    log: str = ""
    slot_hosts: bool = False
    processes: dict[int, CondorProcess] = field(default_factory=dict)
    reported: JobReport | None = None


class EventLogReader:
    """Turns events into reports; knows the jobs that have not ended yet.

    A cluster may hold several attempts, the processes of each side by side.
    """

    def __init__(self) -> None:
        self._jobs: dict[tuple[int, int], _LoggedJob] = {}  # by cluster and process
        self._latest: dict[str, float] = {}  # log → time of its latest event

    def read(self, events: Iterable[Mapping[str, Any]]) -> list[JobReport]:
        """Handle events, oldest first, and return a report for each change of an attempt."""
        reports = []
        for event in events:
            try:
                report = self._apply(event)
            except (KeyError, ValueError, TypeError, IndexError):
                # One that was not written whole, as on a full disk, may lack what it should have.
                _log.warning("event cannot be read", log=event.get("Log"), cluster=event.get("Cluster"), exc_info=True)
                continue
            if report is not None:
                reports.append(report)
        return reports

    def has_live_jobs(self, log: str) -> bool:
        """Return whether a job that has not ended writes into this log."""
        return any(job.log == log for job in self._jobs.values())

    def forget(self, log: str) -> None:
        """Count the jobs of a log that was deleted as ended."""
        self._jobs = {place: job for place, job in self._jobs.items() if job.log != log}
        self._latest.pop(log, None)

    @staticmethod
    def without_transient_evictions(reports: list[JobReport]) -> list[JobReport]:
        """Leave out evictions that a hold or a removal followed, and the reports between them.

        Of a group, some of which run on, the hold is the reason.
        """
        kept: list[JobReport] = []
        for report in reports:
            held = report.state is JobState.RUNNING and report.reason
            if held or report.state in (JobState.HELD, JobState.REMOVED):
                own = [r for r in kept if r.attempt == report.attempt]
                steps = list(dropwhile(lambda r: r.state is not JobState.EVICTED, own))
                kept = [r for r in kept if not any(r is step for step in steps)]
            kept.append(report)
        return kept

    def _apply(self, event: Mapping[str, Any]) -> JobReport | None:
        cluster, number = int(event.get("Cluster", -1)), int(event.get("Proc", -1))
        if event["EventTypeNumber"] == _SUBMIT:
            self._begin(cluster, number, str(event.get("LogNotes", "")).split(), str(event.get("Log", "")))
        job = self._jobs.get((cluster, number))
        if job is None:
            return None
        rank, event = number - job.first, {**event, "Time": self._time(event)}
        job.processes[rank] = _after_event(job.processes.get(rank, CondorProcess()), event, slot_hosts=job.slot_hosts)
        report = attempt_report(job.attempt, f"{cluster}.{job.first}", job.count, job.processes)
        if report.state.final:
            for place in range(job.first, job.first + job.count):
                self._jobs.pop((cluster, place), None)
        if report == job.reported or report.state is JobState.UNKNOWN:
            return None
        changed = job.reported is None or (report.state, report.reason) != (job.reported.state, job.reported.reason)
        job.reported = report
        return report if changed else None

    def _time(self, event: Mapping[str, Any]) -> float:
        """Return an event's time, seconds since the epoch.

        Of an hour that comes twice, as clocks go back, it is the second one where the log was past the first, or where
        the event has just been written. UTC has none (`DEFAULT_USERLOG_FORMAT_OPTIONS`).
        """
        moment = datetime.fromisoformat(str(event["EventTime"]).removesuffix("Z"))
        if event.get("Utc"):
            return moment.replace(tzinfo=UTC).timestamp()
        log, found, second = str(event.get("Log", "")), moment.timestamp(), moment.replace(fold=1).timestamp()
        if found < second and (found < self._latest.get(log, 0.0) - _DISORDER or 0 <= time.time() - second < _DISORDER):
            found = second
        self._latest[log] = max(found, self._latest.get(log, 0.0))
        return found

    def _begin(self, cluster: int, number: int, words: list[str], log: str) -> None:
        if words[:1] != ["cosched"]:
            return
        count, rank = int(words[2]), int(words[3]) if len(words) > 3 else number
        first = number - rank
        job = self._jobs.get((cluster, first)) if rank else None
        self._jobs[cluster, number] = job or _LoggedJob(words[1], count, first, log, "slots" in words[4:])


def _after_event(process: CondorProcess, event: Mapping[str, Any], *, slot_hosts: bool = False) -> CondorProcess:
    """Return the process as it is after the event."""
    number = event["EventTypeNumber"]
    if process.state.final:
        return process
    if number in (_TERMINATED, _ABORTED):
        return _after_end(process, event)
    if number == _EXECUTE:
        host = host_of_slot(str(event.get("SlotName", "")), slot_hosts=slot_hosts)
        return CondorProcess(JobState.RUNNING, started=event["Time"], host=host)
    if number == _NODE_EXECUTE and process.state is JobState.QUEUED:
        # A parallel job executes when all of its nodes do at once: of a quick one nothing but this may tell.
        return replace(process, started=event["Time"])
    if number == _SUBMIT or (number == _HELD and event.get("HoldReasonCode") == SUBMITTED_ON_HOLD):
        return CondorProcess(JobState.QUEUED)
    if number == _RELEASED:
        # The scheduler writes this, the shadow writes the start: on a claimed host the start may well come first.
        return _after_release(process) if process.state is JobState.HELD else process
    if number == _HELD:
        return replace(process, state=JobState.HELD, reason=_event_reason(event))
    if number == _RECONNECTED:
        return replace(process, state=JobState.RUNNING, reason="")
    if number in _LOST and not _event_reason(event).startswith(_SCHEDULER_CAME_BACK):
        return replace(process, state=JobState.EVICTED, reason=_event_reason(event) or "it lost its host")
    return process


def _after_release(process: CondorProcess) -> CondorProcess:
    if process.started is None:
        return CondorProcess(JobState.QUEUED)
    return replace(process, state=JobState.EVICTED, reason="it had begun when it was held, and begins only once")


def _after_end(process: CondorProcess, event: Mapping[str, Any]) -> CondorProcess:
    if event["EventTypeNumber"] == _ABORTED:
        return replace(process, state=JobState.REMOVED, finished=event["Time"], reason=_event_reason(event))
    code = int(event["ReturnValue"]) if event.get("TerminatedNormally") else 128 + int(event["TerminatedBySignal"])
    state = JobState.FAILED if code else JobState.COMPLETED
    return replace(process, state=state, finished=event["Time"], code=code, reason="")


def _event_reason(event: Mapping[str, Any]) -> str:
    return next((" ".join(str(event[key]).split()) for key in _REASONS if event.get(key)), "")


class EventLogFiles:
    """The event logs of a spool; methods may be called from different threads.

    A new log is begun when the last is large, an old one is deleted when its jobs have ended.

    Args:
        root: the spool.
        mode: returns the mode of new logs.
        largest: bytes after which a new one is begun.
    """

    def __init__(self, root: Path, mode: Callable[[], int], largest: int = _LARGEST_LOG) -> None:
        self._root = root
        self._mode = mode
        self._largest = largest
        self._guard = threading.Lock()
        self._numbers: list[int] = []  # of the logs there are, oldest first; empty before the first look

    @property
    def current(self) -> Path:
        """Return the log for new submissions; `prepare` makes it."""
        with self._guard:
            return self._path(self._found_numbers()[-1])

    def prepare(self) -> None:
        """Make the current log, and begin another where it is large.

        Raises:
            OSError: it cannot be made.
        """
        with self._guard:
            numbers = self._found_numbers()
            if self._size(numbers[-1]) > self._largest:
                numbers.append(numbers[-1] + 1)
            log = self._path(numbers[-1])
            if not log.exists():
                log.touch(exist_ok=True)
                log.chmod(self._mode() & 0o666)

    def all(self) -> list[Path]:
        """Return the logs there are, oldest first."""
        with self._guard:
            return [log for log in map(self._path, self._found_numbers()) if log.exists()]

    def delete_ended(self, live: Callable[[Path], bool], keep: float) -> list[Path]:
        """Delete the logs of ended jobs, and return them.

        Args:
            live: returns whether a log has jobs that have not ended; all of it but the last minutes was read.
            keep: seconds after its last event for which a log is kept whose jobs seem to live.
        """
        gone = []
        for log in self.all()[:-1]:
            age = time.time() - log.stat().st_mtime
            if age > _QUIET_SECONDS and (age > keep or not live(log)):
                with self._guard:
                    log.unlink(missing_ok=True)
                    self._numbers.remove(self._number(log))
                gone.append(log)
        return gone

    def _found_numbers(self) -> list[int]:
        if not self._numbers and self._root.is_dir():
            found = {self._number(path) for path in self._root.iterdir() if _LOG_NAME.match(path.name)}
            self._numbers = sorted(found) or [0]
        return self._numbers or [0]

    def _size(self, number: int) -> int:
        log = self._path(number)
        return log.stat().st_size if log.exists() else 0

    def _path(self, number: int) -> Path:
        return self._root / (f"events.{number}.log" if number else "events.log")

    @staticmethod
    def _number(log: Path) -> int:
        match = _LOG_NAME.match(log.name)
        assert match is not None
        return int(match.group(1) or 0)
