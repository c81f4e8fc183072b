"""What the plan was, as long as the daemon lives: where each task was planned, and how good the plan became."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import structlog

from cosched.coscheduler.events import ScheduleImproved
from cosched.portal.documents import PlanPoint, SearchPoint

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event

__all__ = ["PlanMemory"]

_log = structlog.get_logger("cosched.search")
_PACE = 2.0  # seconds between two looks at the plan
_POINTS = 60  # of one task
_TASKS = 2000
_SEARCH = 900
_TELLABLE = 1.0  # seconds by which a planned end must move


class PlanMemory:
    """Listens on the engine's thread (`heard`), is read from any other."""

    def __init__(self, core: Coscheduler) -> None:
        self._core = core
        self._guard = threading.Lock()
        self._tasks: OrderedDict[str, deque[PlanPoint]] = OrderedDict()
        self._search: deque[SearchPoint] = deque(maxlen=_SEARCH)
        self._stale = False
        self._looked = float("-inf")

    def heard(self, tasks: Collection[object], events: Sequence[Event]) -> None:
        """Take notice of what has been done; looks at the plan now and then, where it may have changed."""
        for event in events:
            if isinstance(event, ScheduleImproved):
                self._improved(event)
        self._stale = self._stale or bool(tasks) or any(isinstance(event, ScheduleImproved) for event in events)
        time = max((event.time for event in events), default=self._looked)
        if self._stale and time >= self._looked + _PACE:
            self._stale, self._looked = False, time
            self._look(time)

    def planned(self, task: str) -> list[PlanPoint]:
        """Return where a task was planned, the oldest first."""
        with self._guard:
            return list(self._tasks.get(task, ()))

    def search(self) -> list[SearchPoint]:
        """Return how good the plans of the search were, the oldest first."""
        with self._guard:
            return list(self._search)

    def _improved(self, event: ScheduleImproved) -> None:
        gap = event.makespan / event.bound - 1 if event.bound > 0 else None
        point = SearchPoint(time=event.time, end=event.since + event.makespan, gap=gap, evaluations=event.evaluations)
        with self._guard:
            self._search.append(point)
        if self._core.changed is not None and self._core.changed[0] == event.time:
            _log.info("plan", why=self._core.changed[1], evaluations=event.evaluations)

    def _look(self, time: float) -> None:
        forecast = self._core.forecast(time)
        if forecast is None:
            return
        with self._guard:
            for spot in forecast[1].assignments:
                self._note(spot.task, PlanPoint(time=time, start=time + spot.start, end=time + spot.end,
                                                hosts=len(spot.hosts)))  # fmt: skip

    def _note(self, task: str, point: PlanPoint) -> None:
        known = self._tasks.setdefault(task, deque(maxlen=_POINTS))
        if known and known[-1].hosts == point.hosts and abs(known[-1].end - point.end) < _TELLABLE:
            return
        known.append(point)
        self._tasks.move_to_end(task)
        while len(self._tasks) > _TASKS:
            self._tasks.popitem(last=False)
