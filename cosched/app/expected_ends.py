"""When tasks are expected to end, here or in other domains, and which are late by that: told, and counted by owner."""

from __future__ import annotations

import math
import threading
from collections import Counter
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NoAnswerError
from typing import TYPE_CHECKING

from cosched.coscheduler.places.hosts import expected_end
from cosched.errors import CoschedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.app.core_access import CoreClient
    from cosched.app.neighbours.neighbour_access import NeighbourAccess
    from cosched.coscheduler.core import Coscheduler

__all__ = ["LateCounts", "expected_ends", "late_tasks"]

_OLD = 3.0  # seconds after which counts are asked for anew
_PATIENCE, _SHORT = 0.3, 0.05  # seconds to wait for the first ones, and for those that are asked for anew


def expected_ends(core: Coscheduler, neighbours: NeighbourAccess, time: float) -> dict[str, float]:
    """Return when tasks are expected to end, epoch seconds; on the core's thread."""
    ends = {attempt.task: expected_end(attempt, time) for attempt in core.attempts.values() if not attempt.worker}
    ends |= {name: time + end for name, _, end, _ in core.planning_view.spans(time) or ()}
    return ends | neighbours.forwarded_ends(core)


def late_tasks(core: Coscheduler, neighbours: NeighbourAccess, time: float) -> list[str]:
    """Return the tasks that are expected to end after their deadlines; on the core's thread."""
    tasks = ((core.tasks.get(name), end) for name, end in expected_ends(core, neighbours, time).items())
    return [task.id for task, end in tasks if task is not None and end > (task.spec.deadline or math.inf)]


class LateCounts:
    """Counts the late tasks of each owner for those who look often.

    The core is asked now and then and hardly waited for, so that a page's head is there though the core is busy. Any
    thread may call it.
    """

    def __init__(self, core: CoreClient, neighbours: NeighbourAccess) -> None:
        self._core = core
        self._neighbours = neighbours
        self._guard = threading.Lock()
        self._known: Mapping[str, int] | None = None
        self._asked = -math.inf
        self._answer: Future[Counter[str]] | None = None

    def counted(self, owner: str | None) -> int | None:
        """Return how many tasks of an owner (None: of all) are late; None where that is not known yet."""
        with self._guard:
            known = self._known = self._latest()
        if known is None:
            return None
        return sum(known.values()) if owner is None else known.get(owner, 0)

    def _latest(self) -> Mapping[str, int] | None:
        now, wait = self._core.now(), 0.0
        try:
            if self._answer is None and now - self._asked >= _OLD:
                self._asked, self._answer = now, self._core.begin(self._count)
                wait = _PATIENCE if self._known is None else _SHORT
            if self._answer is None:
                return self._known
            found: Mapping[str, int] | None = self._answer.result(wait)
        except NoAnswerError:
            return self._known
        except (CoschedError, CancelledError):  # it ends
            found = self._known
        self._answer = None
        return found

    def _count(self, core: Coscheduler, time: float) -> Counter[str]:
        return Counter(core.tasks[name].owner for name in late_tasks(core, self._neighbours, time))
