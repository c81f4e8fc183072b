from __future__ import annotations

import pytest

from cosched.connector.hosts import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved, HostsReserved, TaskSubmitted, Tick
from cosched.coscheduler.reservations import Reservation
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from cosched.simulation.simulated_domain import SimulatedPlanner
from tests.coscheduler.makers import a_task as a_submitted_task
from tests.coscheduler.planning.test_what_if import INSTANCE, NOW, a_core, a_task


def test_where_nothing_waits_there_is_nothing_to_look_at() -> None:
    prospect = a_core(2).planning_view
    assert prospect.problem(NOW) is None
    assert prospect.forecast(NOW) is None
    assert prospect.unreserved(NOW) is None
    assert prospect.spans(NOW) is None
    assert prospect.snapshot(NOW) is None


def test_spans_are_those_of_the_forecast() -> None:
    prospect = a_core(3, a_task(1, (9.0, 5.0)), a_task(2, (4.0,)), a_task(3, (8.0, 7.0, 2.0))).planning_view
    _, schedule = prospect.forecast(NOW) or pytest.fail("nothing waits")
    spots = sorted((spot.task, spot.start, spot.end, len(spot.hosts)) for spot in schedule.assignments)
    assert sorted(prospect.spans(NOW) or []) == spots


def test_a_forecast_is_made_once_for_a_moment_and_anew_after_each_event() -> None:
    core = a_core(2, a_task(1, (9.0, 5.0)))
    first = core.planning_view.forecast(NOW)
    assert core.planning_view.forecast(NOW) is first
    assert core.planning_view.forecast(NOW + 1) is not first
    again = core.planning_view.forecast(NOW)
    core.handle(Tick(NOW))
    assert core.planning_view.forecast(NOW) is not again


def test_kept_hosts_are_taken_but_not_busy() -> None:
    core = a_core(2, a_task(1, (9.0, 5.0)))
    core.handle(HostsReserved(NOW, Reservation("r", ("h0", "h1"), NOW, NOW + 30)))
    assert core.planning_view.taken(NOW) == {"h0": NOW + 30, "h1": NOW + 30}
    assert core.planning_view.busy(NOW) == {}
    _, kept = core.planning_view.forecast(NOW) or pytest.fail("nothing waits")
    _, free = core.planning_view.unreserved(NOW) or pytest.fail("nothing waits")
    assert (kept.assignments[0].start, free.assignments[0].start) == (30.0, 0.0)


def test_a_baseline_policy_has_nothing_to_search_and_a_forecast_all_the_same() -> None:
    core = Coscheduler(CoreSettings(INSTANCE, policy="fcfs-maximum"))
    core.handle(HostsObserved(NOW, (Host("h0"),)))
    for number in (1, 2):  # the first leaves, the second waits
        core.handle(TaskSubmitted(NOW, a_task(number, (4.0,))))
    assert core.planning_view.snapshot(NOW) is None
    _, schedule = core.planning_view.forecast(NOW) or pytest.fail("nothing waits")
    assert [(spot.task, spot.end - spot.start) for spot in schedule.assignments] == [("2", 4.0)]


def test_waits_count_from_submission_or_the_begin_that_was_asked_for_where_slowdown_matters() -> None:
    for slowdown, waited in ((2.0, [40.0, -60.0]), (0.0, None)):
        core = Coscheduler(CoreSettings(INSTANCE, weights=Weights(slowdown=slowdown)))
        core.handle(HostsObserved(NOW, (Host("h0"),)))
        for number, begin in ((1, None), (2, NOW + 100.0)):
            task = a_submitted_task(number, (4.0,), submitted=NOW, begin=begin)
            core.handle(TaskSubmitted(NOW, task))
        problem = core.planning_view.problem(NOW + 40.0) or pytest.fail("nothing waits")
        assert (None if problem.waited is None else problem.waited.tolist()) == waited


def test_where_slowdown_is_the_aim_the_search_lets_the_short_task_go_first() -> None:
    core = Coscheduler(CoreSettings(INSTANCE, weights=ObjectiveName.SLOWDOWN.weights, staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h0"),)))
    for number, seconds in enumerate((50.0, 5000.0, 20.0), 1):  # the first leaves at once
        core.handle(TaskSubmitted(NOW, a_task(number, (seconds,))))
    better = SimulatedPlanner(generations=5).answer(core, NOW) or pytest.fail("nothing waits")
    core.handle(better)
    assert core.plan.tasks == ("3", "2")
    assert core.last_improvement is not None
    assert "mean slowdown" in core.last_improvement[1]
