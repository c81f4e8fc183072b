"""The schedule page: hosts upwards, time to the right, live."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Response

from cosched.access.principals import Principal
from cosched.api.documents import HostView, PlanView, SearchPoint
from cosched.app.figures.deadline_outlook import deadlines
from cosched.app.services import DomainServices
from cosched.portal.dependencies import Reader, Services
from cosched.portal.pages import page_router
from cosched.portal.pages.chart.blocks import ChartBlock
from cosched.portal.pages.chart.colours import ApplicationColours, OwnerColours, SlackColours, TaskColours
from cosched.portal.pages.chart.layout import schedule_chart
from cosched.portal.pages.chart.view import SPANS, Colouring, ScheduleView, stands_out, steps
from cosched.portal.pages.rendering import render_page, zone_of

__all__ = ["router"]

_QUEUE = 100
_RECENT = 120.0


router = page_router()


@router.get("/schedule")
def schedule(
    request: Request, services: Services, principal: Reader, view: Annotated[ScheduleView, Depends()]
) -> Response:
    plan = services.domain.plan(principal)
    hosts = sorted(services.domain.hosts(principal), key=lambda host: host.host_class)
    now = time.time()
    window = view.window(now, max((spot.until for spot in plan.placements), default=plan.time) - plan.time)
    expected = deadlines(plan)
    blocks = _blocks(services, principal, plan, window[0], frozenset(expected.at_risk)) + _others(hosts, now)
    picture = schedule_chart(
        blocks,
        [host for host in hosts if host.name == view.host] or hosts,
        window,
        now,
        _colours(view.colour, services),
        zone_of(request),
        services.reservations.reservations(principal),
        lambda block: stands_out(block, view.show, principal.name),
    )
    queue = sorted((spot for spot in plan.placements if not spot.running), key=lambda spot: spot.start)
    return render_page(
        request,
        "schedule.html",
        chart=picture,
        plan=plan,
        expected=expected,
        queue=queue[:_QUEUE],
        waiting=len(queue),
        view=view,
        steps=steps(window),
        spans=list(SPANS),
        colourings=list(Colouring),
        applications=sorted({block.application for block in blocks if block.application}),
        owners=sorted({block.owner for block in blocks if block.owner}),
        hosts=hosts,
        opened=view.host if any(host.name == view.host for host in hosts) else "",
        choice=[host.name for host in hosts] if any(host.free is not None for host in hosts) else [],
        up=sum(host.up for host in hosts),
        taken=any(block.kind == "others" for block in blocks),
        lent=any(block.lent for block in blocks),
        busy=len({name for spot in plan.placements if spot.occupies for name in spot.hosts}),
        progress=_search_progress(services.history.search(), now),
    )


def _colours(colouring: Colouring, services: DomainServices) -> TaskColours:
    match colouring:
        case Colouring.OWNER:
            return OwnerColours()
        case Colouring.SLACK:
            return SlackColours()
        case _:
            return ApplicationColours([entry.name for entry in services.models.applications()])


def _blocks(
    services: DomainServices, principal: Principal, plan: PlanView, since: float, at_risk: Collection[str]
) -> list[ChartBlock]:
    past = [
        ChartBlock(
            run.task,
            run.name,
            run.application,
            run.hosts,
            run.start,
            run.end,
            run.deadline,
            "past" if run.state == "completed" else "broken",
            run.cores,
            run.owner,
        )
        for run in services.history.runs(principal, since)
    ]
    present = [
        ChartBlock(
            spot.task,
            spot.name,
            spot.application,
            spot.hosts,
            spot.start,
            spot.until,
            spot.deadline,
            "running" if spot.running else "planned",
            spot.cores,
            spot.owner,
            spot.task in at_risk,
            known=spot.end is not None,
            lent=spot.lent,
        )
        for spot in plan.placements
    ]
    return past + present


def _others(hosts: Sequence[HostView], now: float) -> list[ChartBlock]:
    """Return what jobs hold that are not cosched's, until they are expected to end."""
    return [
        ChartBlock(
            "",
            host.reason or "other jobs",
            "",
            (host.name,),
            now,
            host.others_until,
            None,
            "others",
            host.others_cores,
            known=host.free_at is not None or bool(host.tasks or host.task),
        )
        for host in hosts
        if host.up and host.others_until is not None
    ]


@dataclass(frozen=True, slots=True)
class _SearchProgress:
    """The recent gap to the lower bound, drawn as points in 100 by 24."""

    points: str
    first: float
    last: float


def _search_progress(search: Sequence[SearchPoint], now: float) -> _SearchProgress | None:
    recent = [(point.time, point.gap) for point in search if point.gap is not None and point.time > now - _RECENT]
    if len(recent) < 2:
        return None
    start, end = recent[0][0], recent[-1][0]
    highest = max(gap for _, gap in recent) or 1.0
    points = " ".join(
        f"{(moment - start) / ((end - start) or 1.0) * 100:.1f},{23 - gap / highest * 22:.1f}" for moment, gap in recent
    )
    return _SearchProgress(points, recent[0][1], recent[-1][1])
