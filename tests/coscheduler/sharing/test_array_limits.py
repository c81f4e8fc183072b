from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.connector.jobs import JobState
from cosched.coscheduler.events import CancelRequested, HostsObserved
from cosched.coscheduler.explanation.explain import explain
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, hosts, report, restore, start, submit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task


def of_array(number: int, at_most: int, seconds: Sequence[float] | None = (10.0,), **changes: Any) -> Task:
    return a_task(number, seconds, array="1", array_index=number - 1, array_at_most=at_most, **changes)


def submitted(core: Coscheduler, tasks: Sequence[Task]) -> list[Attempt]:
    return [attempt for task in tasks for attempt in dispatched(submit(core, task))]


def most_at_once(core: Coscheduler, time: float) -> int:
    """Return how many tasks of arrays run at once at most, by the plan and what runs."""
    forecast = core.planning_view.forecast(time)
    planned = [] if forecast is None else forecast[1].assignments
    spans = [(each.start, each.end) for each in planned if core.tasks[each.task].spec.array]
    handover = core.planning_view.assumptions(time).handover
    for attempt in core.attempts.values():
        if core.tasks[attempt.task].spec.array:
            begun = attempt.created + handover if attempt.started is None else attempt.started
            spans.append((0.0, begun + (attempt.predicted or 0.0) - time))
    return max((sum(start <= begin < end for start, end in spans) for begin, _ in spans), default=0)


@given(
    st.lists(st.floats(1.0, 50.0), min_size=1, max_size=9),
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from(["genetic", "fcfs-calculated", "easy"]),
)
@settings(deadline=None)
def test_no_more_run_or_are_planned_at_once_than_may(seconds: list[float], most: int, count: int, policy: str) -> None:
    core = a_core(count, policy=policy)
    live = submitted(core, [of_array(number, most, [each]) for number, each in enumerate(seconds, 1)])
    clock, done = 0.0, 0
    while live:
        assert len(live) == min(most, count, len(seconds) - done)
        assert most_at_once(core, clock) <= most
        for attempt in live:
            if attempt.uuid in core.attempts and core.attempts[attempt.uuid].started is None:
                start(core, attempt, clock)
        first = min(live, key=lambda each: seconds[int(each.task) - 1] + each.created)
        clock = max(clock, first.created + seconds[int(first.task) - 1])
        live.remove(first)
        live += dispatched(complete(core, first, first.created, clock))
        done += 1
    assert done == len(seconds)


def test_a_task_that_may_not_run_yet_says_so_and_blocks_nobody() -> None:
    core = a_core(4)
    first, second = submitted(core, [of_array(number, 2) for number in range(1, 5)])
    found = explain(core, "3", 1.0)
    assert found is not None
    assert found.waits_for[0] == "its array, 1: 2 of its tasks have left, and at most 2 may"
    assert found.planned_start == pytest.approx(10.0, abs=1.0)
    last = explain(core, "4", 1.0)
    assert last is not None
    assert last.planned_start == found.planned_start
    assert [attempt.task for attempt in submitted(core, [a_task(9, [10.0])])] == ["9"]
    start(core, first, 1.0)
    (third,) = dispatched(complete(core, first, 1.0, 5.0))
    assert third.task == "3"
    assert [each.task for each in dispatched(report(core, second, JobState.FAILED, 6.0, exit_code=1))] == ["4"]


def test_the_one_with_the_highest_priority_is_next() -> None:
    core = a_core(4)
    (first,) = submitted(core, [of_array(1, 1), of_array(2, 1), of_array(3, 1, priority=5)])
    assert [each.task for each in dispatched(complete(core, first, 0.0, 5.0))] == ["3"]


@pytest.mark.parametrize("policy", ["genetic", "fcfs-calculated"])
def test_tasks_without_a_prediction_heed_the_limit(policy: str) -> None:
    core = a_core(4, policy=policy)
    (first,) = submitted(core, [of_array(number, 1, None) for number in (1, 2, 3)])
    core.handle(CancelRequested(1.0, "2"))
    assert [each.task for each in dispatched(complete(core, first, 0.0, 5.0))] == ["3"]


def test_what_runs_is_counted_after_a_restart() -> None:
    core = a_core(4)
    (first,) = submitted(core, [of_array(number, 1) for number in (1, 2)])
    restore(core, 1.0, tasks=list(core.tasks.values()), attempts=list(core.attempts.values()))
    assert not dispatched(core.handle(HostsObserved(2.0, hosts(4))))
    start(core, first, 2.0)
    assert [each.task for each in dispatched(complete(core, first, 2.0, 5.0))] == ["2"]
