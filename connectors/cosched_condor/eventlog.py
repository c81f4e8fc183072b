"""What the job event log says of attempts: events to reports.

The logs are the connector's own: every event in them belongs to a process of an attempt. The attempt's UUID, its
number of processes and which of them this is stand in the note of the submit event; so a reader that begins at the
beginning knows all after a restart. A job's events are all in one log. A cluster may hold several attempts, the
processes of each side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from cosched.connector import JobReport, JobState
from cosched_condor.ads import SUBMITTED_ON_HOLD
from cosched_condor.process import Process, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["EventLog", "note"]

# Numbers of events, as HTCondor's manual lists them under "Job Event Log Codes".
_SUBMIT, _EXECUTE, _EVICTED, _TERMINATED = 0, 1, 4, 5
_SHADOW_EXCEPTION, _ABORTED, _HELD, _RELEASED, _NODE_EXECUTE = 7, 9, 12, 13, 14
_DISCONNECTED, _RECONNECTED, _RECONNECT_FAILED = 22, 23, 24
_LOST = (_EVICTED, _SHADOW_EXCEPTION, _DISCONNECTED, _RECONNECT_FAILED)
# The job went on while the scheduler was away; if it cannot be reached again, another event tells.
_SCHEDULER_CAME_BACK = "Local schedd"
_REASONS = ("Reason", "HoldReason", "DisconnectReason", "Message", "StartdName")


def note(attempt: str, count: int, rank: int) -> str:
    """Return the note of a process's submit event."""
    return f"cosched {attempt} {count} {rank}"


@dataclass(slots=True)
class _Job:
    attempt: str
    count: int
    first: int  # number of its first process in the cluster
    log: str = ""
    processes: dict[int, Process] = field(default_factory=dict)
    told: JobReport | None = None


class EventLog:
    """The jobs that the event logs tell of and that have not ended yet."""

    def __init__(self) -> None:
        self._jobs: dict[tuple[int, int], _Job] = {}  # by cluster and process

    def read(self, events: Iterable[Mapping[str, Any]]) -> list[JobReport]:
        """Take in events, oldest first, and return a report for each change that they make to an attempt."""
        news = []
        for event in events:
            report = self._take(event)
            if report is not None:
                news.append(report)
        return news

    def lives_in(self, log: str) -> bool:
        """Whether a job that has not ended writes into this log."""
        return any(job.log == log for job in self._jobs.values())

    def forget(self, log: str) -> None:
        """Take jobs whose log is gone for ended."""
        self._jobs = {place: job for place, job in self._jobs.items() if job.log != log}

    @staticmethod
    def settled(reports: list[JobReport]) -> list[JobReport]:
        """Leave out evictions that were but the first step of a hold or a removal, with what lies between."""
        kept: list[JobReport] = []
        for report in reports:
            if report.state in (JobState.HELD, JobState.REMOVED):
                own = [r for r in kept if r.attempt == report.attempt]
                steps = list(dropwhile(lambda r: r.state is not JobState.EVICTED, own))
                kept = [r for r in kept if not any(r is step for step in steps)]
            kept.append(report)
        return kept

    def _take(self, event: Mapping[str, Any]) -> JobReport | None:
        cluster, number = int(event.get("Cluster", -1)), int(event.get("Proc", -1))
        if event["EventTypeNumber"] == _SUBMIT:
            self._begin(cluster, number, str(event.get("LogNotes", "")).split(), str(event.get("Log", "")))
        job = self._jobs.get((cluster, number))
        if job is None:
            return None
        rank = number - job.first
        job.processes[rank] = _after(job.processes.get(rank, Process()), event)
        report = together(job.attempt, f"{cluster}.{job.first}", job.count, job.processes)
        if report.state.final:
            for place in range(job.first, job.first + job.count):
                self._jobs.pop((cluster, place), None)
        if report == job.told or report.state is JobState.UNKNOWN:
            return None
        changed = job.told is None or (report.state, report.reason) != (job.told.state, job.told.reason)
        job.told = report
        return report if changed else None

    def _begin(self, cluster: int, number: int, words: list[str], log: str) -> None:
        if words[:1] != ["cosched"]:
            return
        count, rank = int(words[2]), int(words[3]) if len(words) > 3 else number
        first = number - rank
        job = self._jobs.get((cluster, first)) if rank else None
        self._jobs[cluster, number] = job or _Job(words[1], count, first, log)


def _after(process: Process, event: Mapping[str, Any]) -> Process:
    """Return the process as it is after the event."""
    number = event["EventTypeNumber"]
    if process.state.final:
        return process
    if number in (_TERMINATED, _ABORTED):
        return _ended(process, event)
    if number == _EXECUTE:
        return Process(JobState.RUNNING, started=_time(event), host=str(event.get("SlotName", "")).rpartition("@")[2])
    if number == _NODE_EXECUTE and process.state is JobState.QUEUED:
        # A parallel job executes when all of its nodes do at once: of a quick one nothing but this may tell.
        return replace(process, started=_time(event))
    if number == _SUBMIT or (number == _HELD and event.get("HoldReasonCode") == SUBMITTED_ON_HOLD):
        return Process(JobState.QUEUED)
    if number == _RELEASED:
        # The scheduler writes this, the shadow writes the start: on a claimed host the start may well come first.
        return Process(JobState.QUEUED) if process.state is JobState.HELD else process
    if number == _HELD:
        return Process(JobState.HELD, reason=_words(event))
    if number == _RECONNECTED:
        return replace(process, state=JobState.RUNNING, reason="")
    if number in _LOST and not _words(event).startswith(_SCHEDULER_CAME_BACK):
        return replace(process, state=JobState.EVICTED, reason=_words(event) or "it lost its host")
    return process


def _ended(process: Process, event: Mapping[str, Any]) -> Process:
    if event["EventTypeNumber"] == _ABORTED:
        return replace(process, state=JobState.REMOVED, finished=_time(event), reason=_words(event))
    code = int(event["ReturnValue"]) if event.get("TerminatedNormally") else 128 + int(event["TerminatedBySignal"])
    state = JobState.FAILED if code else JobState.COMPLETED
    return replace(process, state=state, finished=_time(event), code=code, reason="")


def _words(event: Mapping[str, Any]) -> str:
    return next((" ".join(str(event[key]).split()) for key in _REASONS if event.get(key)), "")


def _time(event: Mapping[str, Any]) -> float:
    moment = datetime.fromisoformat(str(event["EventTime"]).removesuffix("Z"))
    return moment.replace(tzinfo=UTC).timestamp() if event.get("Utc") else moment.timestamp()
