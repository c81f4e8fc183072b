from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.changes import Replan
from cosched.coscheduler.events import (
    CancelRequested,
    HostsReserved,
    ReservationReleased,
    Tick,
)
from cosched.coscheduler.reservations import Reservation
from tests.coscheduler.makers import (
    a_core,
    a_task,
    complete,
    dispatched,
    restore,
    start,
    submit,
)

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler


def reserve(core: Coscheduler, host: int, begin: float, end: float, time: float = 0.0) -> Reservation:
    each = Reservation(f"r{host}", (f"node{host:02d}",), begin, end, "course")
    core.handle(HostsReserved(time, each))
    return each


POLICIES = ["genetic", "edf", "two-phase", "easy", "conservative", "fcfs-calculated", "fcfs-maximum"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_task_starts_only_where_it_ends_before_a_reservation(policy: str) -> None:
    core = a_core(2, policy=policy)
    reserve(core, 1, 8.0, 20.0)
    (long,) = dispatched(submit(core, a_task(1, [10.0])))
    assert long.hosts == ("node02",)
    assert not dispatched(submit(core, a_task(2, [9.0]), 1.0))
    core.handle(CancelRequested(1.0, "2"))
    (short,) = dispatched(submit(core, a_task(3, [7.0]), 1.0))
    assert short.hosts == ("node01",)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_task_starts_on_a_host_while_it_is_reserved(policy: str) -> None:
    core = a_core(1, policy=policy)
    reserve(core, 1, 0.0, 20.0)
    assert not dispatched(submit(core, a_task(1, [1.0])))
    assert not dispatched(core.handle(Tick(19.0)))
    assert [attempt.hosts for attempt in dispatched(core.handle(Tick(20.5)))] == [("node01",)]


def test_a_released_reservation_is_nobodys() -> None:
    core = a_core(1)
    each = reserve(core, 1, 0.0, 20.0)
    submit(core, a_task(1, [1.0]))
    outcome = core.handle(ReservationReleased(3.0, each.id))
    assert outcome.changes.reservations == {each.id: replace(each, released=3.0)}
    assert len(dispatched(outcome)) == 1
    assert not core.handle(ReservationReleased(4.0, each.id)).changes


def test_a_reservation_is_written_down_once_and_searched_around() -> None:
    core = a_core(1)
    each = Reservation("r1", ("node01",), 5.0, 20.0)
    outcome = core.handle(HostsReserved(0.0, each))
    assert (outcome.changes.reservations, outcome.decisions) == ({each.id: each}, (Replan(),))
    assert not core.handle(HostsReserved(0.0, each)).changes
    over = replace(each, id="r2", begin=-9.0, end=0.0)
    assert not core.handle(HostsReserved(0.0, over)).changes  # over before it was told
    submit(core, a_task(1, [10.0]))
    snapshot = core.planning_view.snapshot(0.0)
    assert snapshot is not None
    assert [tuple(period) for period in snapshot[0].unavailability] == [(0, 5.0, 20.0)]


def test_a_task_that_runs_into_a_reservation_is_left_to_run_and_its_host_is_kept_after_it() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, attempt, 0.0)
    assert core.handle(HostsReserved(1.0, Reservation("r1", ("node01",), 5.0, 20.0))).decisions == (Replan(),)
    assert core.planning_view.taken(6.0) == {"node01": 20.0}
    submit(core, a_task(2, [1.0]), 6.0)
    assert not dispatched(complete(core, attempt, 0.0, 12.0))
    assert len(dispatched(core.handle(Tick(20.0)))) == 1


def test_a_restart_keeps_reservations() -> None:
    core = a_core(1)
    restore(core, 0.0, reservations=[Reservation("r1", ("node01",), 0.0, 20.0)])
    assert not dispatched(submit(core, a_task(1, [1.0]), 1.0))


def test_a_reservation_far_ahead_does_not_make_planning_slow() -> None:
    """Where holes are filled decoding takes ten times as long: only where a task could run into the reservation."""
    core = a_core(2, staging=100.0)
    submit(core, a_task(1, [10.0]))
    reserve(core, 1, 50.0, 60.0)
    snapshot = core.planning_view.snapshot(0.0)
    assert snapshot is not None
    assert snapshot[0].unavailability == ()
    submit(core, a_task(2, [45.0]))
    submit(core, a_task(3, [45.0]))
    snapshot = core.planning_view.snapshot(0.0)
    assert snapshot is not None
    assert len(snapshot[0].unavailability) == 1
