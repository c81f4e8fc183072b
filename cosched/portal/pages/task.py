"""A task's page: its life, its prediction, its plan, its output, and what can be done with it."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from cosched.access.principal import Principal, Scope
from cosched.errors import CoschedError, SystemFault
from cosched.plot import Line, line_plot
from cosched.portal.documents import Explanation, PlanPoint, ProfileView, TaskDetail
from cosched.portal.identity import Asker, csrf_checked, needs
from cosched.portal.insight import Insight
from cosched.portal.interface import Service
from cosched.portal.outputs import MOST_BYTES
from cosched.portal.pages.foreseen import curve
from cosched.portal.pages.forms import request_like
from cosched.portal.pages.lifeline import lifeline
from cosched.portal.pages.rendering import Renderer
from cosched.portal.reading import digest

__all__ = ["routes"]

_SHOWN = 32 * 1024  # bytes of each output
_RANKS = 4


@dataclass(frozen=True, slots=True)
class _Written:
    """The end of what one process wrote."""

    name: str
    size: int
    text: str
    cut: bool
    address: str  # where all of it is; empty where that is more than is sent at once


def routes(service: Service, insight: Insight, renderer: Renderer) -> APIRouter:
    """Return the routes of a task's page."""
    router = APIRouter(dependencies=[Depends(csrf_checked), needs(Scope.READ)])

    @router.get("/tasks/{task_id}")
    def show(request: Request, asker: Asker, task_id: str) -> Response:
        task = service.task(asker, task_id)
        explained = service.explain(asker, task_id)
        points = insight.planned(task_id)
        return renderer.page(
            request,
            "task.html",
            task=task,
            explained=explained,
            life=lifeline(task, explained, time.time()),
            curve=None if task.profile is None else _curve(task, explained),
            points=points,
            history=_history(task, points),
            written=_written(service, asker, task),
            ranks=_RANKS,
        )

    @router.post("/tasks/{task_id}/cancel", dependencies=[needs(Scope.SUBMIT)])
    def cancel(asker: Asker, task_id: str) -> Response:
        service.cancel(asker, task_id)
        return RedirectResponse(f"/tasks/{task_id}", HTTPStatus.SEE_OTHER)

    @router.post("/tasks/{task_id}/again", dependencies=[needs(Scope.SUBMIT)])
    def again(asker: Asker, task_id: str) -> Response:
        task = service.task(asker, task_id)
        known = {entry.name for entry in insight.applications()}
        wanted = [request_like(task, time.time(), catalogued=task.application in known)]
        made = service.submit(asker, wanted, "", digest(wanted))
        return RedirectResponse(f"/tasks/{made[0].id}", HTTPStatus.SEE_OTHER)

    return router


def _curve(task: TaskDetail, explained: Explanation) -> Markup:
    """Draw the prediction as it is now, or as it was when the task left, and what came of it."""
    assert task.profile is not None
    hosts = task.hosts or explained.planned_hosts
    profile = explained.profile or _as_it_left(task.profile, len(hosts), task.predicted)
    return curve(profile, len(hosts), task.actual)


def _as_it_left(profile: ProfileView, hosts: int, predicted: float | None) -> ProfileView:
    """Return the profile with the correction that the prediction on so many hosts had."""
    stated = profile.seconds[hosts - 1] if 1 <= hosts <= len(profile.seconds) else None
    if stated is None or predicted is None:
        return profile
    by = predicted / stated

    def scaled(times: tuple[float | None, ...]) -> tuple[float | None, ...]:
        return tuple(None if value is None else value * by for value in times)

    return replace(
        profile,
        seconds=scaled(profile.seconds),
        low=None if profile.low is None else scaled(profile.low),
        high=None if profile.high is None else scaled(profile.high),
    )


def _history(task: TaskDetail, points: Sequence[PlanPoint]) -> Markup | None:
    """Draw how the planned end moved; None where it was planned but once."""
    if len(points) < 2:
        return None
    first = points[0].time
    lines = [
        Line("planned end", [point.time - first for point in points], [point.end - task.submitted for point in points])
    ]
    if task.deadline is not None:
        lines.append(
            Line("deadline", [0.0, points[-1].time - first], [task.deadline - task.submitted] * 2, dashed=True)
        )
    return Markup(  # noqa: S704  it escapes
        line_plot(
            lines,
            "Planned end as the plan changed",
            "seconds since it was first planned",
            "seconds after submission",
            styled=False,
        )
    )


def _written(service: Service, asker: Principal, task: TaskDetail) -> list[_Written]:
    if not task.tries and not task.peer:
        return []
    found: list[_Written] = []
    for rank in range(min(task.count, _RANKS)):
        for stream in ("out", "err"):
            try:
                part = service.output(asker, task.id, stream, rank, 0, -_SHOWN, _SHOWN)
            except SystemFault:
                return found  # another domain has it and does not answer: to ask on would make the page wait
            except CoschedError:
                continue  # what cannot be read now is not there; the rest of the page is
            if part is not None and part.size:
                text = part.data.decode(errors="replace")
                address = f"/api/v1/tasks/{task.id}/output/{stream}?rank={rank}&limit={MOST_BYTES}"
                whole = part.size <= MOST_BYTES
                found.append(_Written(f"{stream}.{rank}", part.size, text, part.offset > 0, address if whole else ""))
    return found
