from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.hosts import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved, HostsReserved, TaskSubmitted
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.reservations import Reservation
from cosched.prediction.profile import PredictionSource, Profile
from tests.tasks import make_task

if TYPE_CHECKING:
    from cosched.coscheduler.task import Task

NOW = 1_750_000_000.0
INSTANCE = "1b671a64-40d5-491e-99b0-da01ff1f3341"


def a_task(number: int, seconds: tuple[float, ...] | None, deadline: float | None = None) -> Task:
    profile = None if seconds is None else Profile(seconds, PredictionSource.USER)
    return make_task(number, submitted=NOW, profile=profile, deadline=deadline)


def a_core(hosts: int, *tasks: Task) -> Coscheduler:
    """A core whose tasks all wait: their staging has not passed."""
    core = Coscheduler(CoreSettings(INSTANCE, staging=1e6))
    core.handle(HostsObserved(NOW, tuple(Host(f"h{number}") for number in range(hosts))))
    for task in tasks:
        core.handle(TaskSubmitted(NOW, task))
    return core


def test_alone_it_takes_the_count_that_ends_first() -> None:
    spot = predict_placement(a_core(4), a_task(9, (10.0, 6.0, 6.0, 8.0)), NOW)
    assert spot is not None
    assert (spot.start, spot.end, len(spot.hosts)) == (NOW, NOW + 6, 2)


@pytest.mark.parametrize("waiting", [False, True])
def test_it_goes_where_it_ends_before_a_reservation_or_behind_it(waiting: bool) -> None:
    core = a_core(2, *([a_task(1, (5.0,))] if waiting else []))
    core.handle(HostsReserved(NOW, Reservation("r", ("h0", "h1"), NOW + 20, NOW + 30)))
    before = predict_placement(core, a_task(8, (12.0,)), NOW)
    behind = predict_placement(core, a_task(9, (21.0,)), NOW)
    wide = predict_placement(core, a_task(9, (math.inf, 16.0)), NOW)
    assert before is not None
    assert behind is not None
    assert wide is not None
    assert (before.end, behind.start, wide.start) == (NOW + 12, NOW + 30, NOW + (30 if waiting else 0))


def test_it_goes_behind_the_queue() -> None:
    spot = predict_placement(a_core(2, a_task(1, (math.inf, 100.0))), a_task(9, (10.0,)), NOW)
    assert spot is not None
    assert spot.start == NOW + 100


def test_a_deadline_takes_it_before_those_that_have_time() -> None:
    waiting = a_task(1, (math.inf, 100.0), deadline=NOW + 1000)
    spot = predict_placement(a_core(2, waiting), a_task(9, (10.0,), deadline=NOW + 50), NOW)
    assert spot is not None
    assert (spot.start, spot.end) == (NOW, NOW + 10)
    behind = predict_placement(a_core(2, waiting), a_task(9, (10.0,), deadline=NOW + 1000), NOW)
    assert behind is not None
    assert behind.start == NOW + 100


def test_a_new_task_is_forecast_where_it_is_then_inserted() -> None:
    core = a_core(2, *(a_task(number, (10.0,) * 2, NOW + 30 * number) for number in range(1, 6)), a_task(6, (10.0,)))
    new = a_task(9, (math.inf, 10.0), NOW + 75)
    spot = predict_placement(core, new, NOW)
    core.handle(TaskSubmitted(NOW, new))
    forecast = core.planning_view.forecast(NOW)
    assert spot is not None
    assert forecast is not None
    (assignment,) = [item for item in forecast[1].assignments if item.task == "9"]
    assert (spot.start, spot.end, spot.hosts) == (NOW + assignment.start, NOW + assignment.end, assignment.hosts)


@pytest.mark.parametrize("seconds", [None, (math.inf, math.inf, 5.0)])
def test_what_cannot_be_placed_has_no_place(seconds: tuple[float, ...] | None) -> None:
    assert predict_placement(a_core(2), a_task(9, seconds), NOW) is None
    assert predict_placement(a_core(0), a_task(9, (5.0,)), NOW) is None


PROFILES = st.lists(st.floats(1.0, 1000.0), min_size=1, max_size=4).map(tuple)
DEADLINES = st.none() | st.floats(NOW + 1, NOW + 5000)


@given(st.lists(st.tuples(PROFILES, DEADLINES), max_size=6), PROFILES, DEADLINES)
def test_a_forecast_is_possible_and_changes_nothing(
    queue: list[tuple[tuple[float, ...], float | None]], seconds: tuple[float, ...], deadline: float | None
) -> None:
    core = a_core(4, *(a_task(number, *item) for number, item in enumerate(queue, start=1)))
    before = core.planning_view.forecast(NOW)
    spot = predict_placement(core, a_task(99, seconds, deadline), NOW)
    assert spot is not None
    assert NOW <= spot.start < spot.end
    assert spot.end - spot.start == pytest.approx(seconds[len(spot.hosts) - 1])
    after = core.planning_view.forecast(NOW)
    assert (before is None) == (after is None) == (not queue)
    if before is not None and after is not None:
        assert before[1] == after[1]
    assert "99" not in core.tasks


@given(st.lists(PROFILES, max_size=6), PROFILES)
def test_no_other_number_of_hosts_would_end_sooner_behind_the_queue(
    queue: list[tuple[float, ...]], seconds: tuple[float, ...]
) -> None:
    core = a_core(4, *(a_task(number, profile) for number, profile in enumerate(queue, start=1)))
    spot = predict_placement(core, a_task(99, seconds), NOW)
    assert spot is not None
    for count in range(1, len(seconds) + 1):
        other = predict_placement(core, a_task(99, (math.inf,) * (count - 1) + (seconds[count - 1],)), NOW)
        assert other is not None
        assert spot.end <= other.end
