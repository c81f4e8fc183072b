from __future__ import annotations

import asyncio
import threading

import pytest

from cosched.api.problems import QuotaError
from cosched.app.event_feed import EventFeed, FeedEvent, feed_events
from cosched.connector.hosts import Host
from cosched.coscheduler.events import HostsObserved, HostsReserved, ReservationReleased, ScheduleImproved, Tick
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.reservations import Reservation
from cosched.errors import SystemFault
from tests.tasks import make_task


def task(name: str, word: str = "") -> FeedEvent:
    return FeedEvent("task", name, lambda: word, "me")


def words(found: list[FeedEvent]) -> list[str]:
    return [happening.document() for happening in found]


def test_followers_hear_the_last_word_of_each() -> None:
    async def follow() -> None:
        feed = EventFeed()
        feed.publish([task("0", "before")])
        with feed.follow("me") as follower:
            assert follower.take() == ([], False)
            feed.publish([task("1", "a"), task("2", "b")])
            feed.publish([task("1", "c")])
            assert await follower.wait(60)
            found, lost = follower.take()
            assert (words(found), lost) == (["c", "b"], False)
            assert not await follower.wait(0.0)

    asyncio.run(follow())


def test_another_thread_wakes_followers() -> None:
    async def follow() -> None:
        feed = EventFeed()
        with feed.follow("me") as follower:
            follower.take()
            other = threading.Thread(target=feed.publish, args=([task("1", "a")],))
            other.start()
            assert await follower.wait(60)
            assert words(follower.take()[0]) == ["a"]
            other.join()

    asyncio.run(follow())


def test_a_follower_that_was_cut_off_goes_on_where_it_was() -> None:
    async def follow() -> None:
        feed = EventFeed(kept=3)
        with feed.follow("me") as follower:
            last = follower.identifier
        feed.publish([task("1", "a"), task("2", "b")])
        with feed.follow("me", last) as again:
            found, lost = again.take()
            assert (again.resumed, words(found), lost) == (True, ["a", "b"], False)
        feed.publish([task("3"), task("4")])
        with feed.follow("me", last) as late:
            assert late.take()[1]
        for wrong in ("", "x-1", last.partition("-")[0] + "-99", last + "x"):
            with feed.follow("me", wrong) as new:
                assert not new.resumed

    asyncio.run(follow())


def test_a_feed_has_an_end() -> None:
    async def follow() -> None:
        feed = EventFeed()
        with feed.follow("me") as follower:
            follower.take()
            feed.close()
            assert await follower.wait(60)
            assert feed.closed

    asyncio.run(follow())


def test_a_user_has_so_many_followers_and_all_together_have_so_many() -> None:
    async def follow() -> None:
        feed = EventFeed(places=3, places_each=2)
        with feed.follow("ann"), feed.follow("ann") as second:
            with pytest.raises(QuotaError, match="you follow the events 2 times already: close a page"):
                feed.follow("ann")
            feed.follow("bob")
            with pytest.raises(SystemFault, match="3 pages and programs follow the events already: try again"):
                feed.follow("carol")
            feed.leave(second)
            feed.follow("ann")

    asyncio.run(follow())


def test_tasks_plans_and_hosts_are_news() -> None:
    task = make_task(7, name="n", submitted=1.0, owner="me")
    plan = ScheduleImproved(2.0, TaskPlan(("7",), (1,)), makespan=9.0, bound=8.0, evaluations=50)
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
