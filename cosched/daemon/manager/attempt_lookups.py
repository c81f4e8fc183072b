"""Attempts are looked for at the manager, many by one question."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cosched.connector.jobs import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.connector.jobs import JobReport
    from cosched.daemon.manager.connector_guard import GuardedConnector

__all__ = ["AttemptLookups"]

_BULK_FROM = 10  # attempts from which on all are asked for together
_ANSWER_HOLDS = 5.0  # seconds for which an answer holds


class AttemptLookups:
    """Finds attempts, many by one question; used by one thread.

    A manager with ten thousand jobs takes as long to list one of them as to list all.

    Args:
        connector: the domain's resource manager.
        pending: returns the UUIDs of all attempts that are looked for now.
    """

    def __init__(self, connector: GuardedConnector, pending: Callable[[], Sequence[str]]) -> None:
        self._connector = connector
        self._pending = pending
        self._known: dict[str, JobReport | None] = {}  # of the last question for all, those not yet told
        self._until = 0.0

    def find(self, uuid: str) -> JobReport | None:
        """Return a report on an attempt; None where the manager does not know it.

        Raises:
            CoschedError: the manager does not answer.
        """
        if uuid not in self._known or time.monotonic() > self._until:
            self._ask()
        # What `status` does not know may be absent, or in a state without a meaning: `find` tells these apart.
        return self._known.pop(uuid, None) or self._connector.find(uuid)

    def forget(self, uuid: str) -> None:
        """Forget an attempt's reports: a command for it has just been sent."""
        if uuid in self._known:
            self._known[uuid] = None

    def _ask(self) -> None:
        self._known = {}
        pending = self._pending()
        if len(pending) < _BULK_FROM:
            return
        reports = {report.attempt: report for report in self._connector.status(pending)}
        self._known = {
            uuid: report if (report := reports.get(uuid)) and report.state is not JobState.UNKNOWN else None
            for uuid in pending
        }
        self._until = time.monotonic() + _ANSWER_HOLDS
