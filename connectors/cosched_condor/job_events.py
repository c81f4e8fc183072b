"""Job events from the event log, or from the queue without a log.

A connector has one `JobEventSource`: `LogEvents` reads logs, `QueueEvents` asks the queue. `QueuePolling` says when to
ask: the collector, asked all the time, shows the jobs of slots, and the queue is asked only when these changed.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from cosched.connector import ConnectorError, JobReport, JobState
from cosched_condor import job_ads
from cosched_condor.event_log import EventLogReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from cosched_condor.event_log import EventLogFiles
    from cosched_condor.htcondor_client import CondorClient
    from cosched_condor.jobs import OutputFetcher, SchedulerJobs
    from cosched_condor.spool import CondorAttemptFolders

__all__ = ["LONGEST_PAUSE", "SHORTEST_PAUSE", "JobEventSource", "LogEvents", "QueueEvents", "QueuePolling"]

SHORTEST_PAUSE = 1.0  # seconds between two questions at least
LONGEST_PAUSE = 60.0  # seconds between two questions while queue and slots do not agree
_SECOND_STEP = 0.1  # seconds that the event of a hold or a removal may come after that of the eviction
_SLOTS_PERIOD = 1.5  # after which the slots are asked for here; a daemon that plans asks for them every second
_POLL_SECONDS = 0.05
_LOG_CHECK_PERIOD = 60.0  # between two looks for logs that can be deleted
_MOST_MISSES = 3  # questions in a row in which neither queue nor history knew an attempt
_SLOT_ATTRIBUTES = ("JobId", "GlobalJobId", "Machine")


class JobEventSource(Protocol):
    """Tells what happened to jobs."""

    def read(self, timeout: float) -> list[JobReport]:
        """Return what happened since the last call, waiting for something.

        Raises:
            ConnectorError: HTCondor does not answer, or a log cannot be read.
        """
        ...

    def slots_seen(self, slots: Iterable[Mapping[str, Any]]) -> None:
        """Take in ads of slots that the connector asked for anyway."""
        ...

    def changed(self, attempts: Iterable[str] = (), after: float = 0.0) -> None:
        """Note submitted attempts, to be seen `after` seconds, or a cancelled one."""
        ...


class QueuePolling:
    """Says when the queue is worth a question.

    It is when the slots' jobs changed or something was submitted or cancelled, and again, ever more rarely, until the
    queue agrees with the slots and nothing waits to start. All times are seconds of one monotonic clock.
    """

    def __init__(self) -> None:
        self._jobs: frozenset[str] = frozenset()
        self._asked = -math.inf
        self._next = -math.inf
        self._pause = SHORTEST_PAUSE
        self._wanted_at = -math.inf  # when the last change makes a question worth it

    def slots_seen(self, jobs: frozenset[str], now: float) -> None:
        """Take in the jobs of ours that have slots ("12.0")."""
        if jobs != self._jobs:
            self._jobs = jobs
            self.changed(now)

    def changed(self, now: float, after: float = 0.0) -> None:
        """Take in that something was submitted or cancelled, to be seen `after` seconds."""
        self._pause = SHORTEST_PAUSE
        self._wanted_at = now + after
        self._next = min(self._next, max(self._wanted_at, self._asked + SHORTEST_PAUSE))

    def is_due(self, now: float) -> bool:
        """Return whether to ask now."""
        return now >= self._next

    def answered(self, running: frozenset[str], *, waiting: bool, now: float) -> None:
        """Take in an answer of the queue.

        Args:
            running: jobs of ours that have a host, as far as the scheduler knows.
            waiting: some of ours are still to start, or to be seen to have ended.
            now: when it was asked.
        """
        self._asked = now
        if self._wanted_at > now:  # something changed since: this answer does not know of it
            self._next = max(self._wanted_at, now + SHORTEST_PAUSE)
        elif running == self._jobs and not waiting:
            self._next, self._pause = math.inf, SHORTEST_PAUSE
        else:
            self._next = now + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)


class LogEvents:
    """Reads the event logs, from their beginning on.

    Args:
        client: the process that reads them.
        logs: logs of the spool.
        keep: seconds for which a log is kept whose jobs seem to live.
    """

    def __init__(self, client: CondorClient, logs: EventLogFiles, keep: float) -> None:
        self._client = client
        self._logs = logs
        self._keep = keep
        self._reader = EventLogReader()
        self._read_to = 0.0  # epoch seconds: what is older was read
        self._logs_checked = time.monotonic()

    def read(self, timeout: float) -> list[JobReport]:
        """Return what happened since the last call, waiting for something.

        Raises:
            ConnectorError: a log cannot be read; the next call begins at their beginnings.
        """
        self._delete_ended_logs()
        try:
            reports = self._reader.read(self._follow(timeout))
            if any(report.state is JobState.EVICTED for report in reports):
                reports += self._reader.read(self._follow(_SECOND_STEP))
        except ConnectorError:
            self._reader, self._read_to = EventLogReader(), 0.0  # the next worker begins at the beginning too
            raise
        return self._reader.without_transient_evictions(reports)

    def slots_seen(self, slots: Iterable[Mapping[str, Any]]) -> None:
        """Do nothing: the logs tell all."""

    def changed(self, attempts: Iterable[str] = (), after: float = 0.0) -> None:
        """Do nothing: the logs tell all."""

    def _follow(self, timeout: float) -> list[dict[str, Any]]:
        logs, began = self._logs.all(), time.time()
        events: list[dict[str, Any]] = self._client.call(
            "follow", wait=timeout, logs=[str(log) for log in logs], timeout=timeout
        )
        if not events:
            self._read_to = began
        return events

    def _delete_ended_logs(self) -> None:
        if time.monotonic() < self._logs_checked + _LOG_CHECK_PERIOD:
            return
        self._logs_checked = time.monotonic()
        for log in self._logs.delete_ended(self._has_live_jobs, self._keep):
            self._reader.forget(str(log))

    def _has_live_jobs(self, log: Path) -> bool:
        return log.stat().st_mtime >= self._read_to or self._reader.has_live_jobs(str(log))


class QueueEvents:
    """Asks the queue when the slots show a change, and fetches output of ended jobs.

    Args:
        client: the process that talks to HTCondor.
        jobs: queue and history.
        output_fetcher: fetches what ended jobs wrote.
        attempts: the spool.
        ours: returns whether a slot's job is cosched's.
    """

    def __init__(
        self,
        client: CondorClient,
        jobs: SchedulerJobs,
        output_fetcher: OutputFetcher,
        attempts: CondorAttemptFolders,
        ours: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        self._client = client
        self._jobs = jobs
        self._output_fetcher = output_fetcher
        self._ours = ours
        self._attempts = attempts
        self._polling = QueuePolling()
        self._guard = threading.Lock()
        self._looked = -_SLOTS_PERIOD
        self._live: dict[
            str, int
        ] = {}  # attempt whose end was not reported → questions in a row that found nothing of it
        self._reported: dict[str, tuple[JobState, str]] = {}

    def slots_seen(self, slots: Iterable[Mapping[str, Any]]) -> None:
        """Take in ads of slots that the connector asked for anyway."""
        jobs = frozenset(str(slot["JobId"]) for slot in slots if "JobId" in slot and self._ours(slot))
        with self._guard:
            self._looked = time.monotonic()
            self._polling.slots_seen(jobs, self._looked)

    def changed(self, attempts: Iterable[str] = (), after: float = 0.0) -> None:
        """Note submitted attempts, to be seen `after` seconds, or a cancelled one."""
        with self._guard:
            self._live.update(dict.fromkeys(attempts, 0))
            self._polling.changed(time.monotonic(), after)

    def read(self, timeout: float) -> list[JobReport]:
        """Return what happened since the last call, waiting for something.

        Raises:
            ConnectorError: HTCondor does not answer.
        """
        end = time.monotonic() + timeout
        self._output_fetcher.begin()
        while True:
            if time.monotonic() >= self._looked + _SLOTS_PERIOD:
                self.slots_seen(self._client.call("slots", projection=_SLOT_ATTRIBUTES))
            if self._polling.is_due(time.monotonic()):
                reports = self._ask_queue()
                if reports:
                    return reports
            left = end - time.monotonic()
            if left <= 0:
                return []
            time.sleep(min(_POLL_SECONDS, left))

    def _ask_queue(self) -> list[JobReport]:
        asked = time.monotonic()
        queue = [
            ad
            for ad in self._jobs.queue("CoschedAttempt =!= undefined")
            if self._attempts.known(str(ad.get("CoschedAttempt", "")))
        ]
        shown = {str(ad["CoschedAttempt"]) for ad in queue}
        with self._guard:
            live = {**self._live, **{attempt: 0 for attempt in shown if not self._is_over(attempt)}}
        reports = self._jobs.reports(queue, sorted(live))
        changes = [report for attempt in live if (report := reports.get(attempt)) and self._is_new(report)]
        for attempt in set(self._reported) - shown - set(live):
            del self._reported[attempt]
        with self._guard:
            self._live = self._still_live(live, reports)
            running = frozenset(f"{ad['ClusterId']}.{ad['ProcId']}" for ad in queue if job_ads.is_running(ad))
            self._polling.answered(running, waiting=self._is_waiting(reports), now=asked)
        return changes

    def _still_live(self, live: Mapping[str, int], reports: Mapping[str, JobReport]) -> dict[str, int]:
        """Return the attempts without a reported end, and those submitted meanwhile."""
        left = {attempt: 0 for attempt in self._live if attempt not in live}
        for attempt, misses in live.items():
            if attempt not in reports and misses + 1 < _MOST_MISSES:
                left[attempt] = misses + 1
            elif attempt in reports and not reports[attempt].state.final:
                left[attempt] = 0
        return left

    def _is_waiting(self, reports: Mapping[str, JobReport]) -> bool:
        """Return whether an attempt waits to start or was not found."""
        return any(attempt not in reports or reports[attempt].state is JobState.QUEUED for attempt in self._live)

    def _is_over(self, attempt: str) -> bool:
        last = self._reported.get(attempt)
        return last is not None and last[0].final

    def _is_new(self, report: JobReport) -> bool:
        word = (report.state, report.reason)
        if report.state is JobState.UNKNOWN or self._reported.get(report.attempt) == word:
            return False
        self._reported[report.attempt] = word
        return True
