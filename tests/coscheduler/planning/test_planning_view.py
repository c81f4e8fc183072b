from __future__ import annotations

import pytest

from cosched.connector.hosts import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved, HostsReserved, TaskSubmitted, Tick
from cosched.coscheduler.reservations import Reservation
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
