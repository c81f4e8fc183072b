"""When tasks are expected to end, here or in other domains, and which are late by that: told, and counted by owner."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NoAnswerError
from typing import TYPE_CHECKING

from cosched.coscheduler.places.hosts import expected_end
from cosched.errors import CoschedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.app.core_access import CoreClient
    from cosched.app.neighbours.neighbour_access import NeighbourAccess
    from cosched.coscheduler.core import Coscheduler

__all__ = ["LateCounts", "expected_ends", "late_tasks"]

_OLD = 3.0  # seconds after which counts are asked for anew, at the earliest
_SHARE = 0.01  # of a processor: thousands that share hosts take half a second, in which the core does nothing else
_PATIENCE, _SHORT = 0.3, 0.05  # seconds to wait for the first ones, and for those that are asked for anew


def expected_ends(core: Coscheduler, neighbours: NeighbourAccess, now: float) -> dict[str, float]:
    """Return when tasks are expected to end, epoch seconds; on the core's thread."""
    ends = {attempt.task: expected_end(attempt, now) for attempt in core.attempts.values() if not attempt.worker}
    ends |= {name: now + end for name, _, end, _ in core.planning_view.spans(now) or ()}
    return ends | neighbours.forwarded_ends(core)


def late_tasks(core: Coscheduler, neighbours: NeighbourAccess, now: float) -> list[str]:
    """Return the tasks that are expected to end after their deadlines; on the core's thread."""
    tasks = ((core.tasks.get(name), end) for name, end in expected_ends(core, neighbours, now).items())
    return [task.id for task, end in tasks if task is not None and end > (task.spec.deadline or math.inf)]


class LateCounts:
    """Counts the late tasks of each owner for those who look often.

    The core is asked now and then, the more seldom the longer it takes, and hardly waited for, so that a page's head is
    there though the core is busy. Any thread may call it.
    """

    def __init__(
        self,
        core: CoreClient,
        neighbours: NeighbourAccess,
        processor_time: Callable[[], float] = time.thread_time,
    ) -> None:
        """Set up.

        Args:
            core: of the domain.
            neighbours: where its tasks may be.
            processor_time: returns seconds of the calling thread.
        """
        self._core = core
        self._neighbours = neighbours
        self._processor_time = processor_time
        self._guard = threading.Lock()
        self._known: Mapping[str, int] | None = None
        self._asked = -math.inf
        self._rest = _OLD  # seconds from one question to the next
        self._answer: Future[tuple[Counter[str], float]] | None = None

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
            if self._answer is None and now - self._asked >= self._rest:
                self._asked, self._answer = now, self._core.begin(self._count)
                wait = _PATIENCE if self._known is None else _SHORT
            if self._answer is None:
                return self._known
            found, took = self._answer.result(wait)
        except NoAnswerError:
            return self._known
        except (CoschedError, CancelledError):  # it ends
            self._answer = None
            return self._known
        self._answer, self._rest = None, max(_OLD, took / _SHARE)
        return found

    def _count(self, core: Coscheduler, now: float) -> tuple[Counter[str], float]:
        """Return how many tasks of each owner are late, and the processor time that it took; on the core's thread."""
        begun = self._processor_time()
        counted = Counter(core.tasks[name].owner for name in late_tasks(core, self._neighbours, now))
        return counted, self._processor_time() - begun
