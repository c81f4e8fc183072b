"""Tell every follower at once about new events.

Threads publish, followers read on the server's event loop; the last events are kept for those who reconnect. Start at
`EventFeed`.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from cosched.api.problems import QuotaError
from cosched.app.views.task_views import task_view
from cosched.coscheduler.events import HostsObserved, HostsReserved, ReservationReleased, ScheduleImproved
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Task

__all__ = ["EventFeed", "FeedEvent", "FeedFollower", "feed_events"]


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event for followers of the feed.

    Attributes:
        kind: "task", "plan", "hosts" or "reservation".
        key: identifier of its subject; of several events with one kind and key only the last one matters.
        document: makes the event's document, called only when a follower is told of it.
        owner: the user who may know of it, beside operators; None for everybody.
    """

    kind: str
    key: str
    document: Callable[[], Any]
    owner: str | None = None


class EventFeed:
    """The events of one daemon, numbered; `publish` and `close` may be called from any thread."""

    def __init__(self, kept: int = 4096, places: int = 200, places_each: int = 20) -> None:
        """Set up.

        Args:
            kept: how many of the last events a follower that comes again may still get.
            places: how many followers there may be; each holds a connection.
            places_each: how many followers of one user.
        """
        self._places = places
        self._places_each = places_each
        self._life = secrets.token_hex(4)  # numbers begin anew with every daemon
        self._guard = threading.Lock()
        self._number = 0
        self._kept: deque[tuple[int, FeedEvent]] = deque(maxlen=kept)
        self._followers: set[FeedFollower] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        """True when no event will come any more."""
        return self._closed

    def publish(self, events: Sequence[FeedEvent]) -> None:
        """Tell all followers."""
        with self._guard:
            for event in events:
                self._number += 1
                self._kept.append((self._number, event))
        self._wake()

    def on_change(self, tasks: Iterable[Task], events: Iterable[Event]) -> None:
        """Publish stored changes to all followers; it listens to the core."""
        self.publish(feed_events(tasks, events))

    def close(self) -> None:
        """Let all followers go."""
        self._closed = True
        self._wake()

    def follow(self, user: str, last: str = "") -> FeedFollower:
        """Begin to follow for a user, after the event with the identifier `last`.

        It runs on the event loop.

        Raises:
            QuotaError: the user has as many followers as one may have.
            SystemFault: all of them together are as many as may be.
        """
        if sum(each.user == user for each in self._followers) >= self._places_each:
            raise QuotaError(
                f"you follow the events {self._places_each} times already: close a page or a program that follows them"
            )
        if len(self._followers) >= self._places:
            raise SystemFault(
                f"{self._places} pages and programs follow the events already: try again in a while, or ask for what "
                "you want to know every few seconds"
            )
        life, _, number = last.partition("-")
        known = life == self._life and number.isdecimal() and len(number) < 20 and int(number) <= self._number
        follower = FeedFollower(self, user, int(number) if known else self._number, last=last, resumed=known)
        self._followers.add(follower)
        return follower

    def since(self, number: int) -> tuple[list[FeedEvent], int, bool]:
        """Return the events after a number, the next number, and whether some were forgotten."""
        with self._guard:
            found = [event for place, event in self._kept if place > number]
            return found, self._number, len(found) < self._number - number

    def identifier(self, number: int) -> str:
        """Return the identifier that clients have of a number."""
        return f"{self._life}-{number}"

    def leave(self, follower: FeedFollower) -> None:
        """Stop telling a follower."""
        self._followers.discard(follower)

    def _wake(self) -> None:
        for follower in tuple(self._followers):
            follower.wake()


class FeedFollower:
    """A follower of the feed; a context manager, used on one event loop.

    Attributes:
        user: the user who follows.
        last: identifier of the last event of an earlier stream, as its client has it; empty without one.
        resumed: whether it goes on from there.
    """

    def __init__(self, feed: EventFeed, user: str, number: int, *, last: str, resumed: bool) -> None:
        self._feed = feed
        self.user = user
        self.last = last
        self._number = number
        self._loop = asyncio.get_running_loop()
        self._fresh = asyncio.Event()
        self._fresh.set()
        self.resumed = resumed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.leave(self)

    @property
    def identifier(self) -> str:
        """The identifier of the last event it was given."""
        return self._feed.identifier(self._number)

    def wake(self) -> None:
        """Tell the follower that there is something new; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended before its followers left
            self._loop.call_soon_threadsafe(self._fresh.set)

    async def wait(self, timeout: float) -> bool:
        """Return whether there is something new, after at most `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._fresh.wait(), timeout)
        return self._fresh.is_set()

    def take(self) -> tuple[list[FeedEvent], bool]:
        """Return the new events, and whether earlier ones were forgotten.

        Of several events with one key, only the last is returned.
        """
        self._fresh.clear()
        found, self._number, lost = self._feed.since(self._number)
        last = {(event.kind, event.key): event for event in found}
        return list(last.values()), lost


def feed_events(tasks: Iterable[Task], events: Iterable[Event]) -> list[FeedEvent]:
    """Return the events of changed tasks, and of changes to plan or hosts."""
    told = [FeedEvent("task", task.id, partial(task_view, task), task.owner) for task in tasks]
    for event in events:
        match event:
            case ScheduleImproved():
                told.append(FeedEvent("plan", "", partial(_plan, event)))
            case HostsObserved():
                told.append(FeedEvent("hosts", "", partial(_hosts, event)))
            case HostsReserved() | ReservationReleased():
                told.append(FeedEvent("reservation", "", partial(_reservation, event)))
    return told


def _plan(event: ScheduleImproved) -> dict[str, float]:
    return {"time": event.time, "makespan": event.makespan, "bound": event.bound, "evaluations": event.evaluations}


def _reservation(event: HostsReserved | ReservationReleased) -> dict[str, float | str]:
    if isinstance(event, HostsReserved):
        return {"time": event.time, "id": event.reservation.id, "kept": True}
    return {"time": event.time, "id": event.reservation, "kept": False}


def _hosts(event: HostsObserved) -> dict[str, float]:
    up = sum(host.up for host in event.hosts)
    return {"time": event.time, "up": up, "down": len(event.hosts) - up}
