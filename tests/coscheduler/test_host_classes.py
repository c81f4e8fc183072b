from __future__ import annotations

from typing import Any

import pytest

from cosched.connector.hosts import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import (
    HostsObserved,
    ScheduleImproved,
)
from cosched.coscheduler.planning.task_plan import TaskPlan
from tests.coscheduler.makers import (
    complete,
    dispatched,
    in_order,
    mixed_hosts,
    on_both,
    settings,
    start,
    submit,
)


def test_where_hosts_differ_a_new_task_that_is_in_a_hurry_is_first_on_the_fast_one() -> None:
    core = a_mixed_core(staging=100.0)
    submit(core, on_both(1, [10.0], [20.0]))
    submit(core, on_both(2, [3.0], [9.0], deadline=4.0), 1.0)
    assert in_order(core) == ["2", "1"]
    forecast = core.planning_view.forecast(1.0)
    assert forecast is not None
    assert [spot.hosts for spot in forecast[1].assignments if spot.task == "2"] == [("node01",)]


def a_mixed_core(**changes: Any) -> Coscheduler:
    core = Coscheduler(settings(**changes))
    core.handle(HostsObserved(0.0, mixed_hosts()))
    return core


def test_a_task_is_predicted_on_the_class_of_hosts_that_it_gets() -> None:
    """It was planned as if every host were of the slowest class."""
    core = a_mixed_core()
    (first,) = dispatched(submit(core, on_both(1, [4.0], [9.0])))
    (second,) = dispatched(submit(core, on_both(2, [4.0], [7.0])))
    assert (first.hosts, first.predicted) == (("node01",), 4.0)
    assert (second.predicted, core.tasks["2"].correction) == (7.0, "app/slow")


def test_waiting_for_a_fast_host_can_be_better_than_a_slow_one_that_is_idle() -> None:
    core = a_mixed_core()
    submit(core, on_both(1, [4.0], [9.0]))
    assert not dispatched(submit(core, on_both(2, [2.0], [20.0])))
    forecast = core.planning_view.forecast(0.0)
    assert forecast is not None
    assert [(item.hosts, item.end) for item in forecast[1].assignments] == [(("node01",), 6.0)]


def test_the_search_says_whose_hosts_a_task_takes() -> None:
    core = a_mixed_core(staging=100.0)
    submit(core, on_both(1, [5.0], [6.0]))
    submit(core, on_both(2, [5.0], [30.0]))
    outcome = core.handle(ScheduleImproved(0.1, TaskPlan(("1", "2"), (1, 1), ("slow", ""))))
    assert {attempt.task: attempt.hosts for attempt in dispatched(outcome)} == {"1": ("node02",), "2": ("node01",)}


def test_hosts_of_several_classes_together_are_as_slow_as_the_slowest() -> None:
    core = a_mixed_core()
    (attempt,) = dispatched(submit(core, on_both(1, [9.0, 6.0, 2.0], [20.0, 18.0, 2.5])))
    assert (len(attempt.hosts), attempt.predicted) == (3, 2.5)
    assert core.tasks["1"].correction == "app/fast+slow"


def test_what_a_class_teaches_holds_for_that_class() -> None:
    core = a_mixed_core()
    (attempt,) = dispatched(submit(core, on_both(1, [4.0], [9.0])))
    start(core, attempt, 0.0)
    complete(core, attempt, 0.0, 8.0)
    assert {key: learned.factor for key, learned in core.corrections().items()} == {"app/fast": pytest.approx(2.0)}
    (attempt,) = dispatched(submit(core, on_both(2, [4.0], [9.5]), 10.0))
    assert attempt.predicted == pytest.approx(8.0)


def test_a_class_that_was_not_known_when_the_task_came_counts_as_the_slowest() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, (Host("new", "newest"),)))
    (attempt,) = dispatched(submit(core, on_both(1, [4.0], [9.0])))
    assert attempt.predicted == 9.0


@pytest.mark.parametrize("policy", ["fcfs-maximum", "fcfs-calculated", "fcfs-arbitrary", "easy", "edf"])
def test_other_policies_know_the_classes_too(policy: str) -> None:
    core = a_mixed_core(policy=policy)
    (attempt,) = dispatched(submit(core, on_both(1, [4.0], [9.0])))
    assert (attempt.hosts, attempt.predicted) == (("node01",), 4.0)
