from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import HostsObserved, ScheduleImproved, SearchAwaited, Tick
from cosched.coscheduler.planning.task_plan import TaskPlan
from tests.coscheduler.makers import a_core, a_task, dispatched, hosts, restore, settings, submit

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome


def awaiting(**changes: float) -> Coscheduler:
    """Return a core with four hosts whose search starts at the time 0."""
    core = Coscheduler(settings(**{"staging": 1.0, "search_start": 10.0, **changes}))
    core.handle(SearchAwaited(0.0))
    core.handle(HostsObserved(0.0, hosts(4)))
    return core


def answer(core: Coscheduler, time: float, *tasks: str, settled: bool = True) -> Outcome:
    return core.handle(ScheduleImproved(time, TaskPlan(tasks, (4,) * len(tasks)), settled=settled))


def test_nothing_leaves_before_a_search_that_starts_has_answered() -> None:
    """Regression: tasks of a daemon's first second left by a heuristic's plan while the search read its code."""
    core = awaiting()
    assert not dispatched(submit(core, a_task(1)))
    assert not dispatched(core.handle(Tick(5.0)))
    assert not dispatched(answer(core, 6.0, "1", settled=False))
    assert not dispatched(core.handle(Tick(8.0)))
    assert [attempt.task for attempt in dispatched(answer(core, 9.0, "1"))] == ["1"]


def test_what_waited_over_a_restart_leaves_by_no_plan_of_before_the_searchs_answer() -> None:
    core = Coscheduler(settings(staging=1.0, search_start=10.0))
    core.handle(SearchAwaited(1000.0))
    restore(core, 1000.0, tasks=[a_task(number) for number in (1, 2)])
    assert not dispatched(core.handle(HostsObserved(1001.0, hosts(4))))
    assert not dispatched(core.handle(Tick(1005.0)))
    (first,) = dispatched(answer(core, 1006.0, "2", "1"))
    assert (first.task, first.count) == ("2", 4)


def test_staging_of_a_task_that_the_first_answer_leaves_out_counts_from_then() -> None:
    core = awaiting()
    submit(core, a_task(1))
    assert not dispatched(answer(core, 6.0))
    assert not dispatched(core.handle(Tick(6.9)))
    assert dispatched(core.handle(Tick(7.0)))


def test_a_search_that_never_answers_is_waited_for_until_its_bound_and_no_longer() -> None:
    core = awaiting()
    submit(core, a_task(1))
    for time in (2.0, 4.0, 6.0, 8.0):  # it ends and is started again: that lengthens nothing
        assert not dispatched(core.handle(SearchAwaited(time)))
    assert not dispatched(core.handle(Tick(9.9)))
    assert dispatched(core.handle(Tick(10.0)))
    assert not dispatched(submit(core, a_task(2, submitted=20.0), 20.0))
    assert dispatched(core.handle(Tick(21.0)))


def test_the_bound_counts_from_when_hosts_are_up() -> None:
    """A resource manager may take longer to answer than a search that has nothing to look at is waited for."""
    core = Coscheduler(settings(staging=1.0, search_start=10.0))
    core.handle(SearchAwaited(0.0))
    submit(core, a_task(1))
    core.handle(HostsObserved(20.0, hosts(4, down=range(1, 5))))
    assert not dispatched(core.handle(HostsObserved(30.0, hosts(4))))
    assert not dispatched(core.handle(HostsObserved(35.0, hosts(4))))
    assert not dispatched(core.handle(Tick(39.9)))
    assert dispatched(core.handle(Tick(40.0)))


def test_a_search_that_ends_is_waited_for_once_more() -> None:
    core = awaiting()
    answer(core, 1.0)
    core.handle(SearchAwaited(100.0))
    submit(core, a_task(1, submitted=101.0), 101.0)
    assert not dispatched(core.handle(Tick(109.9)))
    assert dispatched(core.handle(Tick(110.0)))


def test_a_mistake_of_the_core_makes_nobody_wait_for_a_search_that_is_at_work() -> None:
    core = awaiting()
    answer(core, 1.0)
    restore(core, 50.0, tasks=[a_task(1)])
    assert dispatched(core.handle(HostsObserved(50.1, hosts(4))))


def test_a_mistake_of_the_core_is_no_answer_of_the_search() -> None:
    core = awaiting()
    restore(core, 5.0, tasks=[a_task(1)])
    assert not dispatched(core.handle(HostsObserved(5.1, hosts(4))))
    assert dispatched(core.handle(Tick(10.0)))


@pytest.mark.parametrize(("changes", "waits"), [({"staging": 0.0}, 0.0), ({"search_start": 0.0}, 1.0)])
def test_whoever_does_not_want_to_wait_for_a_start_does_not(changes: dict[str, float], waits: float) -> None:
    core = awaiting(**changes)
    left = [bool(dispatched(submit(core, a_task(1)))), bool(dispatched(core.handle(Tick(waits))))]
    assert left == ([True, False] if not waits else [False, True])


def test_tasks_without_a_model_and_policies_without_a_search_wait_for_none() -> None:
    assert dispatched(submit(awaiting(), a_task(1, None)))
    core = a_core(4, staging=1.0, policy="fcfs-maximum")
    assert dispatched(submit(core, a_task(1)))
