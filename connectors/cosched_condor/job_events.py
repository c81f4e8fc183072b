"""Job events from the event log, or from the queue without a log.

`LogEvents` reads logs; `QueueEvents` asks the queue when slots change; `QueuePolling` says when.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

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

__all__ = ["LONGEST_PAUSE", "SHORTEST_PAUSE", "LogEvents", "QueueEvents", "QueuePolling"]

# ── When the queue is worth a question, where there is no event log to read: a state machine without a clock.
#
# The collector shows which slots have which jobs, and is asked for that all the time. The queue is asked only when that
# picture changed or something was submitted or cancelled, and again, ever more rarely, until it agrees with the picture
# and nothing waits to start.


SHORTEST_PAUSE = 1.0  # seconds between two questions at least
LONGEST_PAUSE = 60.0  # seconds between two questions while queue and slots do not agree


class QueuePolling:
    """Says when to ask; all times are of one clock that never runs backwards, in seconds."""

    def __init__(self) -> None:
        self._jobs: frozenset[str] = frozenset()
        self._asked = -math.inf
        self._next = -math.inf
        self._pause = SHORTEST_PAUSE
        self._wish = -math.inf  # when the last change makes a question worth it

    def seen(self, jobs: frozenset[str], now: float) -> None:
        """Take in which of our jobs have slots ("12.0")."""
        if jobs != self._jobs:
            self._jobs = jobs
            self.stirred(now)

    def stirred(self, now: float, after: float = 0.0) -> None:
        """Something was submitted or cancelled: a question is worth it `after` so many seconds."""
        self._pause = SHORTEST_PAUSE
        self._wish = now + after
        self._next = min(self._next, max(self._wish, self._asked + SHORTEST_PAUSE))

    def due(self, now: float) -> bool:
        """Whether to ask now."""
        return now >= self._next

    def answered(self, running: frozenset[str], *, waiting: bool, now: float) -> None:
        """Take in what the queue said.

        Args:
            running: jobs of ours that have a host, as far as the scheduler knows.
            waiting: some of ours are still to start, or to be seen to have ended.
            now: when it was asked.
        """
        self._asked = now
        if self._wish > now:  # something changed since: this answer does not know of it
            self._next = max(self._wish, now + SHORTEST_PAUSE)
        elif running == self._jobs and not waiting:
            self._next, self._pause = math.inf, SHORTEST_PAUSE
        else:
            self._next = now + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)


# ── What happened to jobs: from the event log where there is one to read, else from the queue when it may have news.


_SECOND_STEP = 0.1  # seconds that the event of a hold or a removal may come after that of the eviction
_SLOTS_PERIOD = 1.5  # after which the slots are looked at for the news alone: whoever plans does so every second
_POLL_SECONDS = 0.05
_TIDY_PERIOD = 60.0  # between two looks for logs that are over
_MOST_MISSES = 3  # questions in a row in which neither queue nor history knew an attempt
_SLOT_ATTRIBUTES = ("JobId", "GlobalJobId", "Machine")


class LogEvents:
    """Reads the event logs, from their beginning on.

    Args:
        listen: the process that reads them.
        logs: of the spool.
        keep: seconds for which a log is kept whose jobs seem to live.
    """

    def __init__(self, listen: CondorClient, logs: EventLogFiles, keep: float) -> None:
        self._listen = listen
        self._logs = logs
        self._keep = keep
        self._log = EventLogReader()
        self._read_to = 0.0  # epoch seconds: what is older was read
        self._tidied = time.monotonic()

    def read(self, timeout: float) -> list[JobReport]:
        """Return what happened since the last call, waiting for something.

        Raises:
            ConnectorError: a log cannot be read; the next call begins at their beginnings.
        """
        self._tidy()
        try:
            reports = self._log.read(self._follow(timeout))
            if any(report.state is JobState.EVICTED for report in reports):
                reports += self._log.read(self._follow(_SECOND_STEP))
        except ConnectorError:
            self._log, self._read_to = EventLogReader(), 0.0  # the next worker begins at the beginning too
            raise
        return self._log.settled(reports)

    def _follow(self, timeout: float) -> list[dict[str, Any]]:
        logs, began = self._logs.all(), time.time()
        events: list[dict[str, Any]] = self._listen.call(
            "follow", wait=timeout, logs=[str(log) for log in logs], timeout=timeout
        )
        if not events:
            self._read_to = began
        return events

    def _tidy(self) -> None:
        if time.monotonic() < self._tidied + _TIDY_PERIOD:
            return
        self._tidied = time.monotonic()
        for log in self._logs.discard(self._lives, self._keep):
            self._log.forget(str(log))

    def _lives(self, log: Path) -> bool:
        return log.stat().st_mtime >= self._read_to or self._log.lives_in(str(log))


class QueueEvents:
    """Asks the queue when the slots show that something happened, and fetches what ended jobs wrote.

    Args:
        ask: the process that talks to HTCondor.
        jobs: queue and history.
        fetching: of what ended jobs wrote.
        attempts: the spool.
        ours: whether a slot's job is cosched's.
    """

    def __init__(
        self,
        ask: CondorClient,
        jobs: SchedulerJobs,
        fetching: OutputFetcher,
        attempts: CondorAttemptFolders,
        ours: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        self._ask = ask
        self._jobs = jobs
        self._fetching = fetching
        self._ours = ours
        self._attempts = attempts
        self._pace = QueuePolling()
        self._guard = threading.Lock()
        self._looked = -_SLOTS_PERIOD
        self._live: dict[str, int] = {}  # attempt whose end was not told → questions in a row that found nothing of it
        self._told: dict[str, tuple[JobState, str]] = {}

    def seen(self, slots: Iterable[Mapping[str, Any]]) -> None:
        """Take in ads of slots that somebody else asked for."""
        jobs = frozenset(str(slot["JobId"]) for slot in slots if "JobId" in slot and self._ours(slot))
        with self._guard:
            self._looked = time.monotonic()
            self._pace.seen(jobs, self._looked)

    def stirred(self, attempts: Iterable[str] = (), after: float = 0.0) -> None:
        """Take in that attempts were submitted, or that something was cancelled."""
        with self._guard:
            self._live.update(dict.fromkeys(attempts, 0))
            self._pace.stirred(time.monotonic(), after)

    def read(self, timeout: float) -> list[JobReport]:
        """Return what happened since the last call, waiting for something.

        Raises:
            ConnectorError: HTCondor does not answer.
        """
        end = time.monotonic() + timeout
        self._fetching.fetch_all()
        while True:
            if time.monotonic() >= self._looked + _SLOTS_PERIOD:
                self.seen(self._ask.call("slots", projection=_SLOT_ATTRIBUTES))
            if self._pace.due(time.monotonic()):
                reports = self._question()
                if reports:
                    return reports
            left = end - time.monotonic()
            if left <= 0:
                return []
            time.sleep(min(_POLL_SECONDS, left))

    def _question(self) -> list[JobReport]:
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
        news = [report for attempt in live if (report := reports.get(attempt)) and self._is_new(report)]
        for attempt in set(self._told) - shown - set(live):
            del self._told[attempt]
        with self._guard:
            self._live = self._left(live, reports)
            running = frozenset(f"{ad['ClusterId']}.{ad['ProcId']}" for ad in queue if job_ads.is_running(ad))
            self._pace.answered(running, waiting=self._waits(reports), now=asked)
        return news

    def _left(self, live: Mapping[str, int], reports: Mapping[str, JobReport]) -> dict[str, int]:
        """Return whose end is still to be told; those that were submitted meanwhile among them."""
        left = {attempt: 0 for attempt in self._live if attempt not in live}
        for attempt, misses in live.items():
            if attempt not in reports and misses + 1 < _MOST_MISSES:
                left[attempt] = misses + 1
            elif attempt in reports and not reports[attempt].state.final:
                left[attempt] = 0
        return left

    def _waits(self, reports: Mapping[str, JobReport]) -> bool:
        """Whether something is to start, or was not found: a host that is taken is not yet a program that runs."""
        return any(attempt not in reports or reports[attempt].state is JobState.QUEUED for attempt in self._live)

    def _is_over(self, attempt: str) -> bool:
        told = self._told.get(attempt)
        return told is not None and told[0].final

    def _is_new(self, report: JobReport) -> bool:
        word = (report.state, report.reason)
        if report.state is JobState.UNKNOWN or self._told.get(report.attempt) == word:
            return False
        self._told[report.attempt] = word
        return True
