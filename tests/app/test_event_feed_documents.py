from __future__ import annotations

from cosched.app.event_feed import feed_events
from cosched.connector.interface import Host
from cosched.coscheduler.events import HostsObserved, HostsReserved, ReservationReleased, ScheduleImproved, Tick
from cosched.coscheduler.reservations import Reservation
from tests.tasks import make_task


def test_tasks_plans_and_hosts_are_news() -> None:
    task = make_task(7, name="n", submitted=1.0, owner="me")
    plan = ScheduleImproved(2.0, ("7",), (1,), makespan=9.0, bound=8.0, evaluations=50)
    hosts = HostsObserved(3.0, (Host("h1"), Host("h2", up=False)))
    told = feed_events([task], [Tick(1.0), plan, hosts])
    assert [(each.kind, each.key, each.owner) for each in told] == [
        ("task", "7", "me"),
        ("plan", "", None),
        ("hosts", "", None),
    ]
    assert told[0].document().owner == "me"
    assert told[1].document() == {"time": 2.0, "makespan": 9.0, "bound": 8.0, "evaluations": 50}
    assert told[2].document() == {"time": 3.0, "up": 1, "down": 1}


def test_reservations_are_news_for_everybody() -> None:
    each = Reservation("r1", ("h1",), 1.0, 2.0)
    told = feed_events([], [HostsReserved(0.5, each), ReservationReleased(0.7, "r1")])
    assert [(one.kind, one.owner, one.document()) for one in told] == [
        ("reservation", None, {"time": 0.5, "id": "r1", "kept": True}),
        ("reservation", None, {"time": 0.7, "id": "r1", "kept": False}),
    ]
