"""Show a task's timeline, prediction, plan, output and actions."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from http import HTTPStatus
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from cosched.access.principals import Principal, Scope
from cosched.api.documents import ExplanationView, PlanPoint, ProfileView, TaskDetail
from cosched.app.elastic.loans import loans_text
from cosched.app.services import DomainServices
from cosched.drawing.axes import AxisKind
from cosched.drawing.plot import Line, line_plot
from cosched.errors import CoschedError, SystemFault
from cosched.portal.dependencies import AnyPrincipal, Portal, Services, needs, sender
from cosched.portal.pages import page_router
from cosched.portal.pages.curves import MeasuredRun, run_time_curve
from cosched.portal.pages.figures.widths import width_chart
from cosched.portal.pages.forms import local_minute, read_change
from cosched.portal.pages.rendering import render_page, zone_of
from cosched.portal.pages.wording import as_terminal
from cosched.portal.routes.tasks import edit_task
from cosched.portal.submitting import submitted_again

__all__ = ["TaskTimeline", "TimelinePhase", "router", "timeline"]


TIMELINE_WIDTH = 1000.0  # of the picture, in SVG units
_ROOM = 0.04  # of the span, to the right of the last moment
_FARTHEST = 3.0  # times the planned life: what is later is not drawn to scale


@dataclass(frozen=True, slots=True)
class TimelinePhase:
    """One phase of a task's life; times are seconds since the epoch.

    `x` and `width` are in SVG units.
    """

    kind: str
    start: float
    end: float
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class TaskTimeline:
    """Phases from left to right, with the moments to mark.

    The position of a moment is None where it is not in view; `range` has those between which nine runs in ten end.
    """

    phases: tuple[TimelinePhase, ...]
    now: float | None
    deadline: float | None
    range: tuple[float, float] | None
    first: float
    last: float


def timeline(task: TaskDetail, explained: ExplanationView, now: float) -> TaskTimeline:
    """Lay out a task's life; what is planned continues what has been."""
    spans = _timeline_spans(task, explained, now)
    first = task.submitted
    ends = [end for _, _, end in spans]
    reach = max([*ends, first + 1.0])
    farthest = first + _FARTHEST * (reach - first)
    for moment in (task.deadline, explained.end_high):
        if moment is not None:
            reach = max(reach, moment) if moment <= farthest else reach
    last = reach + _ROOM * (reach - first)

    def at(time: float) -> float:
        return (min(max(time, first), last) - first) / (last - first) * TIMELINE_WIDTH

    phases = tuple(
        TimelinePhase(kind, start, end, at(start), max(at(end) - at(start), 0.0)) for kind, start, end in spans
    )
    low, high = explained.end_low, explained.end_high
    shown = task.deadline is not None and task.deadline <= last
    return TaskTimeline(
        phases,
        at(now) if task.finished is None and now <= last else None,
        at(task.deadline) if shown and task.deadline is not None else None,
        None if low is None or high is None or task.finished is not None else (at(low), at(high)),
        first,
        last,
    )


def _timeline_spans(task: TaskDetail, explained: ExplanationView, now: float) -> list[tuple[str, float, float]]:
    over = task.finished
    left = next((time for time in (task.dispatched, task.started, over) if time is not None), now)
    spans = [("waited", task.submitted, left)]
    if task.dispatched is not None:
        began = task.started if task.started is not None else (over if over is not None else now)
        spans.append(("handed over", task.dispatched, began))
    if task.started is not None:
        spans.append(("ran", task.started, over if over is not None else now))
    if over is None and explained.planned_start is not None and explained.planned_end is not None:
        if task.dispatched is None and explained.planned_start > now:
            spans.append(("will wait", now, explained.planned_start))
        if explained.planned_end > now:
            spans.append(("will run", max(explained.planned_start, now), explained.planned_end))
    elif over is None and explained.planned_end is not None and explained.planned_end > now:
        spans.append((f"in {task.peer}", now, explained.planned_end))  # which says no more than when it ends
    return [span for span in spans if span[2] > span[1]]


_SHOWN = 32 * 1024  # bytes of each output
_LAST_LINES = 6  # of a failed task's errors
_RANKS = 4
_MOST_RUNS = 200  # that are drawn beside a curve


@dataclass(frozen=True, slots=True)
class _OutputTail:
    """The end of what one process wrote."""

    stream: str
    rank: int
    size: int
    text: str
    cut: bool

    @property
    def name(self) -> str:
        """Return its name, such as "out.0"."""
        return f"{self.stream}.{self.rank}"

    @property
    def last_lines(self) -> str:
        """Return the lines that say why a program failed: the last ones."""
        return "\n".join(self.text.rstrip().split("\n")[-_LAST_LINES:])


router = page_router(needs(Scope.READ))


@router.get("/tasks/{task_id}")
def show(request: Request, services: Services, principal: AnyPrincipal, task_id: str) -> Response:
    task = services.tasks.task(principal, task_id)
    explained = services.tasks.explain(principal, task_id)
    points = services.history.planned(task.id)
    has_workers = task.elastic is not None and task.elastic.kind == "workers"
    workers = services.elastic.workers(principal, task.id) if has_workers else None
    return render_page(
        request,
        "task.html",
        task=task,
        explained=explained,
        life=timeline(task, explained, time.time()),
        curve=None if task.profile is None else _curve(task, explained, _earlier_runs(services, principal, task)),
        points=points,
        history=_history(task, points, zone_of(request)),
        later=next(
            (local_minute(each.end, zone_of(request)) for each in explained.rescues if each.kind == "deadline"), ""
        ),
        workers=workers,
        loans=""
        if workers is None
        else loans_text([(each.since, each.finished) for each in workers.workers if not each.promised]),
        widths=None
        if workers is None
        else width_chart(workers, task.started, task.finished, time.time(), zone_of(request)),
        written=_output_tails(services, principal, task),
        ranks=_RANKS,
    )


@router.post("/tasks/{task_id}/hold", dependencies=[needs(Scope.SUBMIT)])
def hold(request: Request, portal: Portal, principal: AnyPrincipal, task_id: str, back: str = "") -> Response:
    """Hold a task; `back` is another one, for whose sake it is done and to whose page it leads."""
    held = portal.services.tasks.hold(principal, task_id)
    portal.access.log(principal, sender(request), "task held", held.id)
    return RedirectResponse(f"/tasks/{quote(back or task_id, safe='')}", HTTPStatus.SEE_OTHER)


@router.post("/tasks/{task_id}/release", dependencies=[needs(Scope.SUBMIT)])
def release(request: Request, portal: Portal, principal: AnyPrincipal, task_id: str) -> Response:
    released = portal.services.tasks.release(principal, task_id)
    portal.access.log(principal, sender(request), "task released", released.id)
    return RedirectResponse(f"/tasks/{task_id}", HTTPStatus.SEE_OTHER)


@router.post("/tasks/{task_id}/edit", dependencies=[needs(Scope.SUBMIT)])
async def edit(request: Request, portal: Portal, principal: AnyPrincipal, task_id: str) -> Response:
    async with request.form() as form:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
    change = read_change(fields, zone_of(request))
    await run_in_threadpool(edit_task, portal, principal, task_id, change, sender(request))
    return RedirectResponse(f"/tasks/{task_id}", HTTPStatus.SEE_OTHER)


@router.post("/tasks/{task_id}/again", dependencies=[needs(Scope.SUBMIT)])
async def again(request: Request, principal: AnyPrincipal, task_id: str) -> Response:
    accepted = await submitted_again(request, principal, [task_id])
    return RedirectResponse(f"/tasks/{accepted[0].id}", HTTPStatus.SEE_OTHER)


def _earlier_runs(services: DomainServices, principal: Principal, task: TaskDetail) -> list[MeasuredRun]:
    """Return runs of the same before it, or none where they cannot be read."""
    try:
        found = services.history.runs_like(principal, task.id, _MOST_RUNS)
    except CoschedError:
        return []
    return [MeasuredRun(run.hardware, run.hosts, run.seconds) for run in found if run.task != task.id]


def _curve(task: TaskDetail, explained: ExplanationView, runs: Sequence[MeasuredRun]) -> Markup:
    """Draw the prediction, now or as of the dispatch, the actual run and earlier ones."""
    assert task.profile is not None
    hosts = task.hosts or explained.planned_hosts
    profile = explained.profile or _as_it_left(task.profile, len(hosts), task.predicted)
    return run_time_curve(profile, len(hosts), task.actual, runs)


def _as_it_left(profile: ProfileView, hosts: int, predicted: float | None) -> ProfileView:
    """Return the profile with the correction of the task's own prediction."""
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
        classes=(),  # what held for other hosts then is not kept
    )


def _history(task: TaskDetail, points: Sequence[PlanPoint], zone: tzinfo | None) -> Markup | None:
    """Draw how the planned end moved; None where it was planned but once."""
    if len(points) < 2:
        return None
    lines = [Line("planned end", [point.time for point in points], [point.end for point in points])]
    if task.deadline is not None:
        lines.append(
            Line("deadline", [points[0].time, points[-1].time], [task.deadline] * 2, dashed=True, marked=False)
        )
    clock = AxisKind.CLOCK
    title, labels = "Planned end as the plan changed", ("planned at", "planned end")
    return Markup(line_plot(lines, title, *labels, across=clock, upwards=clock, zone=zone, styled=False))  # noqa: S704  it escapes


def _output_tails(services: DomainServices, principal: Principal, task: TaskDetail) -> list[_OutputTail]:
    if not task.tries and not task.peer:
        return []
    found: list[_OutputTail] = []
    for rank in range(1 if task.launch != "each" else min(task.count, _RANKS)):
        for stream in ("out", "err"):
            try:
                part = services.tasks.output(principal, task.id, stream, rank, 0, -_SHOWN, _SHOWN)
            except SystemFault:
                return found  # another domain has it and does not answer: to ask on would make the page wait
            except CoschedError:
                continue  # what cannot be read now is not there; the rest of the page is
            if part is not None and part.size:
                text = as_terminal(part.data.decode(errors="replace"))
                found.append(_OutputTail(stream, rank, part.size, text, part.offset > 0))
    return found
