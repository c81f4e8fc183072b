from __future__ import annotations

from cosched.connector.interface import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import HostsObserved, ScheduleImproved, TaskSubmitted, Tick
from cosched.coscheduler.settings import Settings
from cosched.coscheduler.task import Task
from cosched.portal.documents import PlanPoint
from cosched.prediction.profile import Profile, Source
from cosched.service import memory
from cosched.service.memory import PlanMemory

NOW = 1_750_000_000.0


def a_task(number: int, seconds: float) -> Task:
    profile = Profile((seconds,), Source.USER)
    return Task(str(number), number, "t", "a", ("/x",), NOW, profile=profile)


def a_core() -> Coscheduler:
    core = Coscheduler(Settings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=1e6))
    core.handle(HostsObserved(NOW, (Host("h1"),)))
    return core


def submit(core: Coscheduler, remembered: PlanMemory, task: Task, time: float) -> None:
    event = TaskSubmitted(time, task)
    core.handle(event)
    remembered.heard([task], [event])


def test_a_task_is_noted_where_it_is_planned_and_again_where_that_changes() -> None:
    core = a_core()
    remembered = PlanMemory(core)
    submit(core, remembered, a_task(1, 100.0), NOW)
    (point,) = remembered.planned("1")
    assert (point.time, point.start, point.end, point.hosts) == (NOW, NOW, NOW + 100, 1)
    remembered.heard([], [Tick(NOW + 10)])  # nothing has changed: not looked at
    assert len(remembered.planned("1")) == 1
    event = ScheduleImproved(NOW + 20, ("1",), (1,), NOW + 20, 100.0, 100.0)
    remembered.heard([], [event])
    assert [point.end for point in remembered.planned("1")] == [NOW + 100, NOW + 120]
    assert remembered.planned("99") == []


def test_it_looks_now_and_then_only_and_at_last_at_what_it_passed_over() -> None:
    core = a_core()
    remembered = PlanMemory(core)
    submit(core, remembered, a_task(1, 10.0), NOW)
    submit(core, remembered, a_task(2, 10.0), NOW + 0.1)
    assert remembered.planned("2") == []
    remembered.heard([], [Tick(NOW + 5)])
    assert len(remembered.planned("2")) == 1


def test_how_the_search_went_is_kept() -> None:
    remembered = PlanMemory(a_core())
    events = [ScheduleImproved(NOW + n, (), (), NOW, 100.0, 110.0 - n, 1000 * n) for n in range(3)]
    remembered.heard([], events)
    assert [(point.end - NOW, round(point.gap or 0, 3)) for point in remembered.search()] == [
        (110.0, 0.1), (109.0, 0.09), (108.0, 0.08),
    ]  # fmt: skip
    remembered.heard([], [ScheduleImproved(NOW + 9, (), (), NOW)])
    assert remembered.search()[-1].gap is None  # there was nothing to do


def test_what_is_remembered_is_bounded() -> None:
    remembered = PlanMemory(a_core())
    for number in range(memory._TASKS + 5):
        remembered._note(str(number), PlanPoint(time=NOW, start=NOW, end=NOW + number, hosts=1))
    assert remembered.planned("0") == []
    assert len(remembered._tasks) == memory._TASKS
    for end in range(200):
        remembered._note("x", PlanPoint(time=NOW, start=NOW, end=NOW + 10 * end, hosts=1))
    assert len(remembered.planned("x")) == memory._POINTS
