"""What became of attempts, as the manager tells: where many are looked for, as after a restart, one question for all.

A manager with ten thousand jobs takes seconds to list them, for one attempt as for all.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cosched.connector.interface import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.connector.interface import JobReport
    from cosched.service.guarded import GuardedConnector

__all__ = ["Lookups"]

_MANY = 10  # attempts from which on all are asked for together
_FRESH = 5.0  # seconds for which an answer holds


class Lookups:
    """Finds attempts; used by one thread.

    Args:
        connector: the domain's resource manager.
        wanted: returns the UUIDs of all attempts that are looked for now.
    """

    def __init__(self, connector: GuardedConnector, wanted: Callable[[], Sequence[str]]) -> None:
        self._connector = connector
        self._wanted = wanted
        self._known: dict[str, JobReport | None] = {}  # of the last question for all, those not yet told
        self._until = 0.0

    def find(self, uuid: str) -> JobReport | None:
        """Return a report on an attempt that is looked for; None where the manager does not know it.

        Raises:
            CoschedError: the manager does not answer.
        """
        if uuid not in self._known or time.monotonic() > self._until:
            self._ask()
        # What `status` does not know may be absent, or in a state without a meaning: `find` tells these apart.
        return self._known.pop(uuid, None) or self._connector.find(uuid)

    def forget(self, uuid: str) -> None:
        """Forget what is known of an attempt: something has just been done to it."""
        if uuid in self._known:
            self._known[uuid] = None

    def _ask(self) -> None:
        self._known = {}
        wanted = self._wanted()
        if len(wanted) < _MANY:
            return
        reports = {report.attempt: report for report in self._connector.status(wanted)}
        self._known = {
            uuid: report if (report := reports.get(uuid)) and report.state is not JobState.UNKNOWN else None
            for uuid in wanted
        }
        self._until = time.monotonic() + _FRESH
