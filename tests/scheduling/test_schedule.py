from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.schedule import Assignment, Schedule, check_schedule
from tests.scheduling.problems import a_problem


def test_the_makespan_is_the_last_end() -> None:
    schedule = Schedule((Assignment("a", ("h0",), 0.0, 9.0), Assignment("b", ("h1",), 1.0, 4.0)))
    assert schedule.makespan == 9.0
    assert Schedule(()).makespan == 0.0


GOOD = {"a": (("h0",), 0.0, 4.0), "b": (("h0", "h1"), 4.0, 7.0)}


def faults(**changes: tuple[tuple[str, ...], float, float]) -> list[str]:
    problem = a_problem([[4.0], [5.0, 3.0]], free=[0.0, 2.0], release=[0.0, 1.0], depends_on=((), (0,)))
    items = {**GOOD, **changes}
    return check_schedule(problem, Schedule(tuple(Assignment(task, *place) for task, place in items.items())))


def test_a_feasible_schedule_has_no_faults() -> None:
    assert faults() == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"a": (("h0",), 0.0, 3.0)}, "a takes 3.0 s, predicted are 4.0 s"),
        ({"a": (("h1",), 0.0, 4.0)}, "a starts before host h1 is free"),
        ({"b": (("h1",), 0.5, 5.5)}, "b starts before its release"),
        ({"b": (("h1",), 2.0, 7.0)}, "b starts before a ends"),
        ({"b": (("h0",), 3.0, 8.0)}, "a and b are on h0 at the same time"),
        ({"a": (("h0", "h1"), 2.0, 6.0)}, "a cannot run on 2 of these hosts"),
        ({"a": (("h0", "h0"), 0.0, 4.0)}, "a: unknown or repeated host"),
        ({"a": (("h9",), 0.0, 4.0)}, "a: unknown or repeated host"),
        ({"a": ((), 0.0, 4.0)}, "a: unknown or repeated host"),
        ({"z": (("h1",), 0.0, 4.0)}, "z is not a task of the problem"),
    ],
)
def test_each_fault_is_named(change: dict[str, tuple[tuple[str, ...], float, float]], fault: str) -> None:
    assert fault in faults(**change)


def test_a_task_left_out_or_scheduled_twice_is_a_fault() -> None:
    problem = a_problem([[4.0], [5.0]])
    twice = Assignment("a", ("h0",), 0.0, 4.0)
    assert check_schedule(problem, Schedule((twice, twice))) == ["a is scheduled 2 times", "b is scheduled 0 times"]


def test_a_task_on_a_host_that_is_not_there_is_a_fault() -> None:
    problem = replace(a_problem([[4.0]], hosts=1), unavailability=(Unavailability(0, 3.0, 5.0),))
    assert check_schedule(problem, Schedule((Assignment("a", ("h0",), 5.0, 9.0),))) == []
    [fault] = check_schedule(problem, Schedule((Assignment("a", ("h0",), 0.0, 4.0),)))
    assert fault == "a runs on h0, which is not there from 3.0 to 5.0 s"
