from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from cosched.app import plan_history
from cosched.app.plan_history import PlanHistory
from cosched.connector.hosts import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import (
    CancelRequested,
    HostsObserved,
    Restored,
    SavedState,
    ScheduleImproved,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import Store
from cosched.store.database import StoreFault
from cosched.store.plan_points import PlanPoints
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.coscheduler.task import Task

NOW = 1_750_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(new_database(tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def plans(store: Store) -> PlanPoints:
    return PlanPoints(store)


def a_task(number: int, seconds: float) -> Task:
    profile = Profile((seconds,), PredictionSource.USER)
    return make_task(number, submitted=NOW, profile=profile)


def a_core() -> Coscheduler:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=1e6))
    core.handle(HostsObserved(NOW, (Host("h1"),)))
    return core


def submit(core: Coscheduler, remembered: PlanHistory, task: Task, time: float) -> None:
    event = TaskSubmitted(time, task)
    core.handle(event)
    remembered.on_change([task], [event])


def test_a_task_is_noted_where_it_is_planned_and_again_where_that_changes(plans: PlanPoints) -> None:
    core = a_core()
    remembered = PlanHistory(core, plans)
    submit(core, remembered, a_task(1, 100.0), NOW)
    (point,) = remembered.planned("1")
    assert (point.time, point.start, point.end, point.hosts) == (NOW, NOW, NOW + 100, 1)
    remembered.on_change([], [Tick(NOW + 10)])  # nothing has changed: not looked at
    assert len(remembered.planned("1")) == 1
    event = ScheduleImproved(NOW + 20, TaskPlan(("1",), (1,)), NOW + 20, 100.0, 100.0)
    remembered.on_change([], [event])
    assert [point.end for point in remembered.planned("1")] == [NOW + 100, NOW + 120]
    assert remembered.planned("99") == []


def test_it_looks_now_and_then_only_and_at_last_at_what_it_passed_over(plans: PlanPoints) -> None:
    core = a_core()
    remembered = PlanHistory(core, plans)
    submit(core, remembered, a_task(1, 10.0), NOW)
    submit(core, remembered, a_task(2, 10.0), NOW + 0.1)
    assert remembered.planned("2") == []
    remembered.on_change([], [Tick(NOW + 5)])
    assert len(remembered.planned("2")) == 1


def test_how_the_search_went_is_kept(plans: PlanPoints) -> None:
    core = a_core()
    remembered = PlanHistory(core, plans)
    submit(core, remembered, a_task(1, 110.0), NOW)
    events = [ScheduleImproved(NOW + n, TaskPlan(), NOW, 100.0, 110.0 - n, 1000 * n) for n in range(3)]
    remembered.on_change([], events)
    assert [(point.end - NOW, round(point.gap or 0, 3)) for point in remembered.search()] == [
        (110.0, 0.1),
        (109.0, 0.09),
        (108.0, 0.08),
    ]
    remembered.on_change([], [ScheduleImproved(NOW + 9, TaskPlan(), NOW)])
    assert remembered.search()[-1].gap is None  # there was nothing to do


def test_a_makespan_that_rounding_puts_below_its_bound_has_no_gap_below_0(plans: PlanPoints) -> None:
    core = a_core()
    remembered = PlanHistory(core, plans)
    submit(core, remembered, a_task(1, 110.0), NOW)
    remembered.on_change([], [ScheduleImproved(NOW, TaskPlan(), NOW, 110.0, math.nextafter(110.0, 0.0))])
    assert [f"{point.gap:.2%}" for point in remembered.search()] == ["0.00%"]


def test_a_search_that_outlasts_its_queue_adds_no_end_of_all(plans: PlanPoints) -> None:
    core = a_core()
    remembered = PlanHistory(core, plans)
    submit(core, remembered, a_task(1, 110.0), NOW)
    late = ScheduleImproved(NOW + 150, TaskPlan(("1",), (1,)), NOW, 100.0, 110.0, 2_500_000)
    cancelled = CancelRequested(NOW + 120, "1")
    core.handle(cancelled)
    remembered.on_change([], [cancelled, late])
    assert remembered.search() == []


def test_what_is_remembered_is_bounded(plans: PlanPoints) -> None:
    remembered = PlanHistory(a_core(), plans)
    for number in range(plan_history._TASKS + 5):
        remembered._note(str(number), (NOW, NOW, NOW + number, 1))
    assert remembered.planned("0") == []
    assert len(remembered._tasks) == plan_history._TASKS
    for end in range(200):
        remembered._note("x", (NOW, NOW, NOW + 10 * end, 1))
    assert len(remembered.planned("x")) == plan_history._POINTS


def test_a_restart_forgets_nothing(plans: PlanPoints) -> None:
    core = a_core()
    before = PlanHistory(core, plans)
    for number in range(1, 451):  # more than are written in one piece
        submit(core, before, a_task(number, 100.0), NOW)
    before.on_change([], [ScheduleImproved(NOW + 20, TaskPlan(("1",), (1,)), NOW, 100.0, 110.0, 7)])
    before.stop()
    after = PlanHistory(core, plans)
    after.on_change([], [Restored(NOW, SavedState(tasks=(a_task(1, 100.0), a_task(450, 100.0))))])
    assert after.search() == before.search() != []
    for name in ("1", "2", "450"):  # "2" is not asked for at the restart: it has ended
        assert after.planned(name) == before.planned(name) != []
    after.on_change([], [ScheduleImproved(NOW + 40, TaskPlan(("2", "1"), (1, 1)), NOW, 100.0, 110.0, 8)])
    assert [point.end - NOW for point in after.planned("1")] == [100.0, 120.0, 140.0]
    after.stop()
    assert len(PlanHistory(core, plans).search()) == 2


class _Broken(PlanPoints):
    broken = True

    def put(self, *what: Any) -> None:
        if self.broken:
            raise StoreFault("the disk is full")
        super().put(*what)


def test_what_cannot_be_written_is_written_later(store: Store) -> None:
    core, plans = a_core(), _Broken(store)
    remembered = PlanHistory(core, plans)
    submit(core, remembered, a_task(1, 100.0), NOW)
    remembered.write()
    assert plans.of("1") == []
    plans.broken = False
    remembered.write()
    assert plans.of("1") == [[NOW, NOW, NOW + 100.0, 1]]
