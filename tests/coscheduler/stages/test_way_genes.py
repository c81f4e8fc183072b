"""The search chooses ways of waiting chains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.events import HostsObserved, ScheduleImproved
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.simulation.simulated_domain import SimulatedPlanner
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, hosts, mixed_hosts, shared, start, submit
from tests.coscheduler.stages.makers import a_chain, submit_chain

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler
    from tests.coscheduler.stages.makers import Way

THRIFTY: Way = (1.0, [("sample", 1, 30.0), ("examine", 2, 10.0)])
QUICK: Way = (1.0, [("sample", 4, 9.0), ("examine", 3, 8.0)])
ROUGH: Way = (0.9, [("sample", 3, 2.0), ("examine", 4, 3.0)])
SHORT: Way = (1.0, [("sample", 4, 20.0)])


def behind_a_run(*ways: Way, deadline: float | None = 100.0, count: int = 4) -> Coscheduler:
    """Return a core whose hosts are taken for 5 s, with a chain behind that."""
    core = a_core(count)
    (busy,) = dispatched(submit(core, a_task(1, [math.inf] * 3 + [5.0])))
    start(core, busy, 0.0)
    submit_chain(core, a_chain(2, *ways, deadline=deadline))
    return core


def searched(core: Coscheduler, time: float = 1.0) -> Outcome:
    answer = SimulatedPlanner(generations=100).answer(core, time)
    assert answer is not None
    return core.handle(answer)


def ways(core: Coscheduler) -> set[int]:
    return {task.stage.way for task in core.tasks.values() if task.stage is not None}


def test_the_search_leads_a_chain_along_the_way_with_the_better_plan() -> None:
    """Alone it was admitted in the way that takes least of the hosts, as others might come."""
    core = behind_a_run(THRIFTY, QUICK)
    assert ways(core) == {0}
    outcome = searched(core)
    assert ways(core) == {1}
    assert dict(zip(core.plan.tasks, core.plan.counts, strict=True)) == {"2": 4, "3": 3}
    assert all(task.stage.guaranteed for task in core.tasks.values() if task.stage is not None)
    assert [(entry.kind, entry.task) for entry in outcome.changes.log] == [("other way", "2")]
    (first,) = dispatched(complete(core, next(iter(core.attempts.values())), 0.0, 5.0))
    assert (first.task, first.count) == ("2", 4)


@pytest.mark.parametrize("other", [ROUGH, SHORT, (1.0, [("sample", 5, 1.0), ("examine", 5, 1.0)])])
def test_ways_of_less_quality_of_fewer_stages_or_for_more_hosts_are_not_proposed(other: Way) -> None:
    core = behind_a_run(THRIFTY, other)
    searched(core)
    assert ways(core) == {0}


def test_a_way_is_changed_only_where_stages_that_wait_differ() -> None:
    core = behind_a_run(THRIFTY, (1.0, [("sample", 1, 30.0), ("examine", 4, 4.0)]), QUICK)
    (first,) = dispatched(complete(core, next(iter(core.attempts.values())), 0.0, 5.0))
    start(core, first, 5.0)
    searched(core, 6.0)
    stage = core.tasks["3"].stage
    assert stage is not None
    assert stage.way == 1  # the third way's sample would have had four hosts


def test_stages_of_a_proposal_that_belong_to_two_ways_are_led_along_one() -> None:
    core = behind_a_run(THRIFTY, QUICK)
    core.handle(ScheduleImproved(1.0, TaskPlan(("2", "3"), (4, 2))))
    assert ways(core) == {1}
    assert core.plan.counts == (4, 3)


def test_a_proposal_with_host_counts_of_no_way_changes_none() -> None:
    core = behind_a_run(THRIFTY, QUICK)
    before = core.plan
    core.handle(ScheduleImproved(1.0, TaskPlan(("2", "3"), (2, 1))))
    assert ways(core) == {0}
    assert core.plan == before


def test_no_way_is_taken_over_that_makes_another_guaranteed_chain_late() -> None:
    core = behind_a_run(THRIFTY, QUICK)
    submit_chain(core, a_chain(4, (1.0, [("mark", 3, 30.0)]), deadline=36.0))
    assert core.tasks["4"].stage is not None
    assert core.tasks["4"].stage.guaranteed
    core.handle(ScheduleImproved(1.0, TaskPlan(("2", "3", "4"), (4, 3, 3))))
    assert ways(core) == {0}


def test_no_way_is_taken_over_in_which_the_chain_itself_is_late() -> None:
    """As its stages do no work at once, how late each may end is the way's to say."""
    core = behind_a_run(THRIFTY, (1.0, [("sample", 4, 9.0), ("examine", 1, 40.0)]), deadline=46.0)
    core.handle(ScheduleImproved(1.0, TaskPlan(("2", "3"), (4, 1))))
    assert ways(core) == {0}


def test_a_late_chain_comes_to_be_in_time() -> None:
    """Behind two runs both ways are late; the first to end is better for the second way."""
    core = behind_a_run(THRIFTY, QUICK, deadline=40.0)
    (busy,) = core.attempts.values()
    assert ways(core) == {1}  # the thrifty one would end at 45 s
    complete(core, busy, 0.0, 5.0)
    assert core.attempt_of("2") is not None


@pytest.mark.parametrize("mixed", [True, False])
def test_ways_stay_on_hosts_of_several_classes(mixed: bool) -> None:
    core = behind_a_run(THRIFTY, QUICK)
    core.handle(HostsObserved(0.5, mixed_hosts(4) if mixed else hosts(4)))
    snapshot = core.planning_view.snapshot(1.0)
    assert snapshot is not None
    assert len(snapshot[0].ways) == (0 if mixed else 1)


def test_ways_are_chosen_where_users_share_the_domain() -> None:
    core = shared(behind_a_run(THRIFTY, QUICK, deadline=None))
    searched(core)
    assert ways(core) == {1}
