from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING

import httpx2

from cosched.access import Principal, Role
from cosched.app.event_feed import EventFeed, FeedEvent
from cosched.portal.routes import events
from cosched.portal.routes.events import event_stream
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

ME = Principal("me", Role.USER)
CHIEF = Principal("chief", Role.OPERATOR)


def happening(owner: str | None, name: str) -> FeedEvent:
    return FeedEvent("task" if owner else "plan", name, lambda: {"id": name}, owner)


def heard(
    principal: Principal, say: Callable[[EventFeed], None], feed: EventFeed | None = None, last: str = ""
) -> list[str]:
    """Return the frames of a stream that begins before something is said and ends with the feed."""

    async def follow() -> list[str]:
        told = feed or EventFeed()
        frames = []
        with told.follow(principal.name, last) as follower:
            async for frame in event_stream(told, follower, principal, 60, lambda: True):
                frames.append(frame)
                if frame.startswith("id") and ("ready" in frame or "reset" in frame):
                    say(told)
                elif "last" in frame:
                    told.close()
        return frames

    return asyncio.run(follow())


def kinds(frames: list[str]) -> list[str]:
    return [line.removeprefix("event: ") for frame in frames for line in frame.splitlines() if line.startswith("event")]


def test_users_hear_of_their_own_tasks_and_of_the_plan() -> None:
    said = [happening("you", "1"), happening("me", "2"), happening(None, "last")]
    frames = heard(ME, lambda feed: feed.publish(said))
    assert kinds(frames) == ["ready", "task", "plan"]
    assert [json.loads(line[6:]) for line in frames[1].splitlines() if line.startswith("data: ")] == [{"id": "2"}]
    assert kinds(heard(CHIEF, lambda feed: feed.publish(said))) == ["ready", "task", "task", "plan"]


def test_only_the_last_frame_says_how_far_it_is() -> None:
    frames = heard(ME, lambda feed: feed.publish([happening("me", "1"), happening(None, "last")]))
    assert [frame.startswith("id: ") for frame in frames] == [True, False, True]


def test_who_knows_another_daemon_looks_anew() -> None:
    frames = heard(ME, lambda feed: feed.publish([happening(None, "last")]), last="abc-7")
    assert kinds(frames) == ["reset", "plan"]


def test_a_stream_ends_by_itself_and_is_never_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(100))
    monkeypatch.setattr(events, "_KEEP_ALIVE", 0.01)
    monkeypatch.setattr(events, "time", SimpleNamespace(monotonic=lambda: 0.05 * next(looks)))

    async def follow() -> list[str]:
        feed = EventFeed()
        with feed.follow("me") as follower:
            return [frame async for frame in event_stream(feed, follower, ME, 0.2, lambda: True)]

    frames = asyncio.run(follow())
    assert kinds(frames) == ["ready"]
    assert frames[1:] == [":\n\n"] * 2  # 0.1 and 0.05 s before its end


def test_a_stream_ends_with_its_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who had opened one with a token went on hearing of its user's tasks for an hour after it was revoked."""
    monkeypatch.setattr(events, "_RECHECK", 0.01)
    with serving(tmp_path) as (_, address), ExitStack() as stack:
        transport = httpx2.HTTPTransport(uds=address.removeprefix("unix:"))
        client = stack.enter_context(httpx2.Client(transport=transport, base_url="http://x/api/v1", timeout=240))
        made = client.post("/tokens", json={}).json()
        proof = {"Authorization": f"Bearer {made['token']}"}
        stream = stack.enter_context(client.stream("GET", "/events", params={"seconds": 3600}, headers=proof))
        lines = (line for line in stream.iter_lines() if line == ":")
        assert next(lines) == ":"  # it goes on while the token is good
        assert client.delete(f"/tokens/{made['id']}").status_code == 204
        assert sum(1 for _ in islice(lines, 300)) < 300


def test_streams_of_a_user_are_counted_and_give_their_places_back(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, address), ExitStack() as stack:
        transport = httpx2.HTTPTransport(uds=address.removeprefix("unix:"), limits=httpx2.Limits())
        client = stack.enter_context(httpx2.Client(transport=transport, base_url="http://x/api/v1", timeout=240))
        streams = ExitStack()
        answers = [streams.enter_context(client.stream("GET", "/events")) for _ in range(21)]
        answer = answers[-1]
        assert [each.status_code for each in answers] == [200] * 20 + [429]
        assert "close a page or a program" in json.loads(answer.read())["detail"]
        streams.close()
        while client.get("/events", params={"seconds": 0}).status_code == 429:
            pass
