"""What ended jobs wrote, fetched from a scheduler that shares no folder with cosched."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError
from cosched_condor import ads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched_condor.attempts import Attempts
    from cosched_condor.client import Worker

__all__ = ["Fetching"]

_SECONDS = 600.0  # that the output of jobs may take
_AGAIN = 60.0  # seconds until what could not be fetched is tried again


class Fetching:
    """The attempts whose output the scheduler still keeps; it lets go of a job when its output was fetched.

    Args:
        fetch: a process of its own, for this may take long.
        attempts: the spool.
    """

    def __init__(self, fetch: Worker, attempts: Attempts) -> None:
        self._fetch = fetch
        self._attempts = attempts
        self._kept: dict[str, float] = {}  # attempt → when to try, seconds of the monotonic clock
        self._guard = threading.Lock()

    def note(self, queue: Iterable[Mapping[str, Any]]) -> None:
        """Take in which attempts' output the queue shows to be kept."""
        ended = {str(ad.get("CoschedAttempt", "")) for ad in queue if ads.keeps_output(ad)}
        for attempt in ended:
            if attempt and self._attempts.known(attempt):
                self._kept.setdefault(attempt, 0.0)

    def fetch(self, attempt: str) -> None:
        """Fetch what an attempt wrote, if it is kept.

        Raises:
            ConnectorError: it cannot be had now.
        """
        with self._guard:
            if attempt in self._kept:
                self._retrieve([attempt])

    def fetch_all(self) -> None:
        """Fetch all that is kept; what cannot be had is tried again later, and keeps nothing else from coming."""
        with self._guard:
            now = time.monotonic()
            due = [attempt for attempt, when in list(self._kept.items()) if when <= now]
            for first in range(0, len(due), ads.NAMED):
                self._try(due[first : first + ads.NAMED])

    def _try(self, attempts: Sequence[str]) -> None:
        try:
            self._retrieve(attempts)
        except ConnectorError:
            if len(attempts) == 1:
                self._kept[attempts[0]] = time.monotonic() + _AGAIN
                return
            middle = len(attempts) // 2
            self._try(attempts[:middle])
            self._try(attempts[middle:])

    def _retrieve(self, attempts: Sequence[str]) -> None:
        constraint = f"{ads.constraint(attempts)} && JobStatus == {ads.COMPLETED}"
        self._fetch.call("retrieve", wait=_SECONDS, constraint=constraint)
        for attempt in attempts:
            self._kept.pop(attempt, None)
