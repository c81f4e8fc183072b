from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.explanation.rescue import Rescue, RescueKind, other_hosts
from cosched.coscheduler.planning.task_plan import TaskPlan
from tests.coscheduler.makers import a_core, a_task, dispatched, start, submit, under_plan

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler


def _queue(*tasks: tuple[float, float | None]) -> Coscheduler:
    """Return a core in which tasks of these run times and deadlines wait for one host that is free from 10 on."""
    core = a_core(1)
    (running,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, running, 0.0)
    for number, (seconds, deadline) in enumerate(tasks, start=2):
        submit(core, a_task(number, [seconds], deadline=deadline, best_effort=True))
    names = tuple(str(number + 2) for number in range(len(tasks)))
    return under_plan(core, TaskPlan(names, (1,) * len(names)))


def _rescues(core: Coscheduler, task: str) -> tuple[Rescue, ...]:
    found = explain(core, task, 0.0)
    assert found is not None
    return found.rescues


def test_who_is_in_the_way_of_a_late_task_is_named() -> None:
    core = _queue((4.0, None), (5.0, 16.0))
    held, first, later = _rescues(core, "3")
    assert held == Rescue(RescueKind.HOLD, 15.0, saves=True, task="2")
    assert first == Rescue(RescueKind.FIRST, 15.0, saves=True)
    assert (later.kind, later.saves, later.end > 19.0) == (RescueKind.DEADLINE, True, True)


def test_who_would_be_late_instead_is_counted_but_for_the_one_that_is_held() -> None:
    core = _queue((4.0, 14.5), (5.0, 16.0))
    held, first, _ = _rescues(core, "3")
    assert (held.kind, held.made_late) == (RescueKind.HOLD, 0)
    assert (first.kind, first.made_late) == (RescueKind.FIRST, 1)


def test_what_helps_and_does_not_save_comes_after_what_saves() -> None:
    core = _queue((1.0, None), (4.0, None), (5.0, 16.5))
    found = _rescues(core, "4")
    assert [(each.kind, each.task, each.saves) for each in found] == [
        (RescueKind.HOLD, "3", True),
        (RescueKind.FIRST, "", True),
        (RescueKind.HOLD, "2", False),
        (RescueKind.DEADLINE, "", True),
    ]


def test_what_hardly_helps_is_left_out() -> None:
    core = _queue((1.0, None), (20.0, None), (5.0, 16.0))
    assert [(each.kind, each.task) for each in _rescues(core, "4")] == [
        (RescueKind.HOLD, "3"),
        (RescueKind.FIRST, ""),
        (RescueKind.DEADLINE, ""),
    ]


def test_a_task_in_time_needs_no_rescue() -> None:
    core = _queue((4.0, None), (5.0, 30.0))
    assert _rescues(core, "3") == ()
    assert _rescues(core, "2") == ()


def test_only_what_can_be_held_here_is_named() -> None:
    """Regression: it was told to hold tasks of other domains, and stages, which was refused."""
    core = a_core(1)
    (running,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, running, 0.0)
    submit(core, a_task(2, [4.0], origin="north"))
    submit(core, a_task(3, [5.0], deadline=16.0, best_effort=True))
    core = under_plan(core, TaskPlan(("2", "3"), (1, 1)))
    assert [each.kind for each in _rescues(core, "3")] == [RescueKind.FIRST, RescueKind.DEADLINE]


def test_a_task_of_another_domain_is_given_no_advice_that_is_followed_there() -> None:
    core = a_core(1)
    (running,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, running, 0.0)
    submit(core, a_task(2, [4.0]))
    submit(core, a_task(3, [5.0], deadline=16.0, best_effort=True, origin="north"))
    core = under_plan(core, TaskPlan(("2", "3"), (1, 1)))
    assert [each.kind for each in _rescues(core, "3")] == [RescueKind.HOLD, RescueKind.FIRST]
    assert other_hosts(core, core.tasks["3"], 0.0) is None


def test_what_a_task_comes_after_is_not_held() -> None:
    core = a_core(1)
    (running,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, running, 0.0)
    submit(core, a_task(2, [4.0]))
    submit(core, a_task(3, [5.0], deadline=16.0, after=("2",), best_effort=True))
    core = under_plan(core, TaskPlan(("2", "3"), (1, 1)))
    assert [each.kind for each in _rescues(core, "3")] == [RescueKind.DEADLINE]


def _narrow(deadline: float, *others: tuple[float, float | None]) -> Coscheduler:
    """Return a core in which a task of 30 s on one host, the second, waits first for two hosts, free from 10 on."""
    core = a_core(2)
    (running,) = dispatched(submit(core, a_task(1, [math.inf, 10.0])))
    start(core, running, 0.0)
    submit(core, a_task(2, [30.0], deadline=deadline, best_effort=True))
    for number, (seconds, due) in enumerate(others, start=3):
        submit(core, a_task(number, [seconds], deadline=due, best_effort=True))
    names = tuple(str(number + 2) for number in range(1 + len(others)))
    return under_plan(core, TaskPlan(names, (1,) * len(names)))


def _on_other_hosts(core: Coscheduler, seconds: list[float]) -> Rescue | None:
    """Return the advice for the second task where it would take so long on 1, 2, … hosts."""
    return other_hosts(core, replace(core.tasks["2"], profile=a_task(2, seconds).profile), 0.0)


def test_a_late_task_is_told_the_number_of_hosts_on_which_it_would_be_in_time() -> None:
    core = _narrow(35.0)
    assert _on_other_hosts(core, [30.0, 16.0]) == Rescue(RescueKind.HOSTS, 26.0, saves=True, hosts=2)
    helped = _on_other_hosts(core, [30.0, 28.0])
    assert helped == Rescue(RescueKind.HOSTS, 38.0, saves=False, hosts=2)


def test_who_would_be_late_for_its_other_hosts_is_counted() -> None:
    found = _on_other_hosts(_narrow(35.0, (5.0, 16.0)), [30.0, 16.0])
    assert found is not None
    assert found.made_late == 1


@pytest.mark.parametrize("seconds", [[30.0], [30.0, 29.5], [30.0, 60.0]])
def test_hosts_that_hardly_help_are_not_named(seconds: list[float]) -> None:
    assert _on_other_hosts(_narrow(35.0), seconds) is None


def test_a_task_in_time_or_behind_another_is_told_no_other_hosts() -> None:
    assert _on_other_hosts(_narrow(60.0), [30.0, 16.0]) is None
    core = a_core(2)
    (running,) = dispatched(submit(core, a_task(1, [math.inf, 10.0])))
    start(core, running, 0.0)
    submit(core, a_task(3, [4.0]))
    submit(core, a_task(2, [30.0], deadline=16.0, after=("3",), best_effort=True))
    core = under_plan(core, TaskPlan(("3", "2"), (1, 1)))
    assert _on_other_hosts(core, [30.0, 2.0]) is None


@given(st.lists(st.tuples(st.floats(1, 9), st.none() | st.floats(11, 40)), min_size=1, max_size=7))
def test_what_is_said_to_save_a_task_does(tasks: list[tuple[float, float | None]]) -> None:
    core = _queue(*tasks)
    for number, (_, deadline) in enumerate(tasks, start=2):
        for each in _rescues(core, str(number)):
            assert deadline is not None
            assert each.kind is RescueKind.DEADLINE or each.saves == (each.end <= deadline + 1e-9)
