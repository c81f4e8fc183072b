"""The event stream of the API (server-sent events): what happens, as it happens.

- `task`: a task that the principal may see changed; its document, as lists have it.
- `plan`: the search found a better plan; {"time", "makespan", "bound", "evaluations"}.
- `hosts`: hosts came or went; {"time", "up", "down"}.
- `ready`: the stream begins; what happened before is not told.
- `reset`: something was missed; look at everything anew.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, is_dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request
from fastapi.responses import StreamingResponse

from cosched.access.principals import Principal
from cosched.app.event_feed import EventFeed, FeedEvent, FeedFollower
from cosched.portal.dependencies import Reader, Services
from cosched.portal.routes import api_router

__all__ = ["event_stream", "router"]

_KEEP_ALIVE = 15.0  # seconds; proxies close what is silent for longer
_RECHECK = 5.0  # seconds after which the credential is looked at again
_GATHER = 0.1  # seconds during which changes are told together
_LONGEST = 3600
_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["task", "plan", "hosts", "reservation", "ready", "reset"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string"},
    },
}


router = api_router("events")


async def _follow(
    services: Services,
    principal: Reader,
    last_event_id: Annotated[str, Header(description="Where a stream that was cut off goes on.")] = "",
) -> AsyncIterator[FeedFollower]:
    """Follow the feed until the response has ended."""
    with services.feed.follow(principal.name, last_event_id) as follower:
        yield follower


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": _EVENT}}}},
)
async def events(
    request: Request,
    services: Services,
    principal: Reader,
    follower: Annotated[FeedFollower, Depends(_follow)],
    seconds: Annotated[int, Query(ge=0, le=_LONGEST, description="How long the stream lasts at most.")] = 600,
) -> StreamingResponse:
    """Follow events as server-sent events.

    Reconnect when the stream ends, as browsers do by themselves.
    """
    return StreamingResponse(
        event_stream(services.feed, follower, principal, seconds, request.state.still_identified),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def event_stream(
    feed: EventFeed,
    follower: FeedFollower,
    principal: Principal,
    seconds: float,
    still_identified: Callable[[], bool],
) -> AsyncIterator[str]:
    """Yield the frames of one stream.

    Args:
        feed: feed of the domain's events.
        follower: follower of the feed.
        principal: the user who follows; sees only events that concern them.
        seconds: how long at most.
        still_identified: returns whether the credential of the request is still good; asked every few seconds, so
            that a stream does not outlive its credential for long.
    """
    until = time.monotonic() + seconds
    check_at = seconds - _RECHECK  # seconds that are left then
    if not follower.resumed:
        yield _frame("reset" if follower.last else "ready", {}, follower.identifier)
    while not feed.closed:
        left = until - time.monotonic()
        if left <= check_at:
            if not still_identified():
                return
            check_at = left - _RECHECK
        if await follower.wait(max(min(left, _KEEP_ALIVE, _RECHECK), 0.0)):
            for frame in _frames(follower, principal):
                yield frame
        elif left > 0:
            yield ":\n\n"
        if left <= 0:
            return
        await asyncio.sleep(min(_GATHER, max(left, 0.0)))


def _frames(follower: FeedFollower, principal: Principal) -> list[str]:
    found, lost = follower.take()
    if lost:
        return [_frame("reset", {}, follower.identifier)]
    told = [happening for happening in found if _concerns(happening, principal)]
    # Only the last frame says how far this is: a stream that is cut between two of them goes on before them all.
    return [
        _frame(happening.kind, happening.document(), follower.identifier if happening is told[-1] else "")
        for happening in told
    ]


def _concerns(happening: FeedEvent, principal: Principal) -> bool:
    return happening.owner is None or principal.may_see(happening.owner)


def _frame(kind: str, document: Any, identifier: str) -> str:
    name = f"id: {identifier}\n" if identifier else ""
    plain = asdict(document) if is_dataclass(document) and not isinstance(document, type) else document
    return f"{name}event: {kind}\ndata: {json.dumps(plain, separators=(',', ':'))}\n\n"
