"""Plan history keeps where tasks were planned and how good plans became, over restarts."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import structlog

from cosched.api.documents import PlanPoint, SearchPoint
from cosched.app.periodic_writer import PeriodicWriter
from cosched.coscheduler.events import Restored, ScheduleImproved
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event
    from cosched.store.plan_points import PlanPoints

__all__ = ["PlanHistory"]

_log = structlog.get_logger("cosched.search")
_PACE = 2.0  # seconds between two looks at the plan
_POINTS = 60  # of one task
_TASKS = 2000
_SEARCH = 900
_TELLABLE = 1.0  # seconds by which a planned end must move

_Point = tuple[float, float, float, int]  # time, start, end, hosts
_Progress = tuple[float, float, float | None, int]  # time, end, gap, evaluations


class PlanHistory(PeriodicWriter):
    """Keep the plan's history: `on_change` runs on the engine's thread, readers on any other."""

    def __init__(self, core: Coscheduler, plans: PlanPoints) -> None:
        """Set up; reads what a former process kept of the search."""
        super().__init__("plans")
        self._core = core
        self._plans = plans
        self._guard = threading.Lock()
        self._tasks: OrderedDict[str, deque[_Point]] = OrderedDict()
        self._search: deque[_Progress] = deque(map(_progress, plans.search()), maxlen=_SEARCH)
        self._changed: set[str] = set()  # what is not written down yet
        self._unwritten = False
        self._stale = False
        self._looked = float("-inf")

    def write(self) -> None:
        """Write the changes; after a failure, try again the next time."""
        with self._guard:
            changed = {name: list(map(list, self._tasks[name])) for name in self._changed if name in self._tasks}
            search, unwritten = list(map(list, self._search)), self._unwritten or bool(changed)
            self._changed, self._unwritten = set(), False
        if not unwritten:
            return
        try:
            self._plans.put(changed, search)
        except SystemFault as fault:
            _log.warning("the history of plans was not written; it is tried again", fault=str(fault))
            with self._guard:
                self._changed |= changed.keys()
                self._unwritten = True

    def on_change(self, tasks: Collection[object], events: Sequence[Event]) -> None:
        """Note changes; look at the plan now and then, where it may have changed."""
        for event in events:
            if isinstance(event, ScheduleImproved):
                self._improved(event)
            elif isinstance(event, Restored):
                self._restore([task.id for task in event.state.tasks])
        self._stale = self._stale or bool(tasks) or any(isinstance(event, ScheduleImproved) for event in events)
        time = max((event.time for event in events), default=self._looked)
        if self._stale and time >= self._looked + _PACE:
            self._stale, self._looked = False, time
            self._look(time)

    def planned(self, task: str) -> list[PlanPoint]:
        """Return where a task was planned, the oldest first."""
        with self._guard:
            points = list(self._tasks.get(task, ()))
        points = points or list(map(_point, self._plans.of(task)))
        return [PlanPoint(time=time, start=start, end=end, hosts=hosts) for time, start, end, hosts in points]

    def search(self) -> list[SearchPoint]:
        """Return how good the plans of the search were, the oldest first."""
        with self._guard:
            points = list(self._search)
        return [SearchPoint(time=time, end=end, gap=gap, evaluations=count) for time, end, gap, count in points]

    def _restore(self, tasks: Sequence[str]) -> None:
        """Take up what a former process kept of tasks that have not ended."""
        kept = self._plans.of_several(tasks[:_TASKS])
        with self._guard:
            self._tasks.update((name, deque(map(_point, points), maxlen=_POINTS)) for name, points in kept.items())

    def _improved(self, event: ScheduleImproved) -> None:
        if not self._core.plan.tasks:  # the search goes on for a queue that is empty by now: its end says nothing
            return
        with self._guard:
            self._search.append((event.time, event.since + event.makespan, event.gap, event.evaluations))
            self._unwritten = True
        if self._core.last_improvement is not None and self._core.last_improvement[0] == event.time:
            _log.info("plan", why=self._core.last_improvement[1], evaluations=event.evaluations)

    def _look(self, time: float) -> None:
        planned = self._core.planning_view.spans(time)
        if planned is None:
            return
        begin = time + self._core.planning_view.assumptions(time).handover
        with self._guard:
            for task, start, end, hosts in planned[:_TASKS]:
                self._note(task, (time, begin + start, time + end, hosts))

    def _note(self, task: str, point: _Point) -> None:
        known = self._tasks.get(task)
        if known is None:
            known = self._tasks[task] = deque(maxlen=_POINTS)
        elif known[-1][3] == point[3] and abs(known[-1][2] - point[2]) < _TELLABLE:
            return
        known.append(point)
        self._changed.add(task)
        self._tasks.move_to_end(task)
        if len(self._tasks) > _TASKS:
            self._tasks.popitem(last=False)


def _point(values: Sequence[float | None]) -> _Point:
    time, start, end, hosts = values
    return float(time or 0.0), float(start or 0.0), float(end or 0.0), int(hosts or 0)


def _progress(values: Sequence[float | None]) -> _Progress:
    time, end, gap, evaluations = values
    return float(time or 0.0), float(end or 0.0), gap, int(evaluations or 0)
