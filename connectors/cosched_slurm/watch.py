"""What happened to jobs: their stamps are looked at often, which costs Slurm nothing; Slurm itself is asked seldom."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.connector import JobReport, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched_slurm.attempts import Attempts
    from cosched_slurm.jobs import Record

__all__ = ["Watch"]

_LOOK = 0.05  # seconds between two looks at the stamps
_SOON = 0.25  # seconds after which Slurm is asked for a job whose end is near


@dataclass(slots=True)
class _Followed:
    """An attempt whose end has not been reported.

    Attributes:
        record: what Slurm said last.
        change: the number of its folder when its stamps were read last.
        shown: what was reported last.
    """

    record: Record
    change: int = -1
    shown: JobReport | None = None


class Watch:
    """Follows the attempts of a spool.

    Args:
        attempts: the spool.
        ask: asks Slurm for all its jobs, by attempt.
        report: makes the report of an attempt from Slurm's record; looks further where there is none.
        poll: seconds between two questions to Slurm while there is something to follow.
    """

    def __init__(
        self,
        attempts: Attempts,
        ask: Callable[[], Mapping[str, Record]],
        report: Callable[[str, Record | None], JobReport | None],
        poll: float,
    ) -> None:
        self._attempts = attempts
        self._ask = ask
        self._report = report
        self._poll = poll
        self._guard = threading.Lock()
        self._followed: dict[str, _Followed] = {}
        self._told: set[str] = set()  # attempts whose end was reported and whose job Slurm still shows
        self._asked: float | None = None
        self._pause = poll

    def follow(self, record: Record) -> None:
        """Follow a job that was just submitted."""
        with self._guard:
            self._followed.setdefault(record.attempt, _Followed(record))

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
            time.sleep(min(_LOOK, left))

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
                    self._pause = min(_SOON, self._poll)
        return news

    def _compare(self, records: Mapping[str, Record]) -> list[JobReport]:
        """Report those of whom Slurm says something new."""
        with self._guard:
            self._told.intersection_update(records)
            for attempt, record in records.items():
                if attempt not in self._told and (attempt in self._followed or self._attempts.known(attempt)):
                    seen = self._followed.setdefault(attempt, _Followed(record))
                    seen.record = record
            followed = dict(self._followed)
            self._pause = min(2 * self._pause, self._poll)  # an end that does not come is asked for ever less often
        news: list[JobReport] = []
        for attempt, seen in followed.items():
            news += self._tell(attempt, seen, self._report(attempt, records.get(attempt)))
        return news

    def _tell(self, attempt: str, seen: _Followed, report: JobReport | None) -> Iterable[JobReport]:
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

    def _ends_badly(self, seen: _Followed) -> bool:
        """Whether a job's processes are through but Slurm has not said how it ended, or it was cancelled."""
        attempt = seen.record.attempt
        if attempt not in self._followed:
            return False
        return self._attempts.fenced(attempt) or self._attempts.stamps(attempt).code is not None
