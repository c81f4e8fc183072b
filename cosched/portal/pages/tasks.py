"""The task list page; what is done with several tasks at once is in `bulk_actions.py`."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Query, Request, Response

from cosched.access.principals import Principal
from cosched.api.documents import TaskPage, TaskView
from cosched.app.figures.deadline_outlook import Deadlines, deadlines
from cosched.coscheduler.task import TaskState
from cosched.portal.dependencies import Reader, Services
from cosched.portal.pages import PageNumber, page_router
from cosched.portal.pages.rendering import render_page
from cosched.portal.pages.tasks_table import tasks_table
from cosched.store.selection import TaskOrder, TaskSelection

__all__ = ["SINCE", "Filters", "router"]


SINCE = {"1h": 3600.0, "1d": 86400.0, "7d": 7 * 86400.0, "30d": 30 * 86400.0}
"""Seconds of the times to which the list can be held."""
_PAGE = 50
_ROWS = 10_000  # of a table that is downloaded, in one look at the database
_GROUPS: dict[str, tuple[TaskState, ...]] = {
    "waiting": (TaskState.QUEUED,),
    "running": (TaskState.DISPATCHING, TaskState.RUNNING, TaskState.CANCELLING),
    "elsewhere": (TaskState.FORWARDED,),
    "completed": (TaskState.COMPLETED,),
    "failed": (TaskState.FAILED,),
    "cancelled": (TaskState.CANCELLED,),
}


router = page_router()


@router.get("/")
def start(request: Request, services: Services, principal: Reader) -> Response:
    if sum(services.domain.status(principal).tasks.values()) == 0:
        return render_page(request, "welcome.html")
    return tasks(request, services, principal, Filters())


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions and order of the list, as its address has them.

    Attributes:
        state: a group of states, "on time", "late" or "at risk"; empty for all.
        search: words in name or application, or identifier or owner.
        owner: the user whose tasks they are; empty for everybody's.
        application: their application; empty for any.
        mine: only the tasks of whoever asks.
        since: a word of `SINCE`: only those submitted in that time; empty for all.
        sort: the column, with `-` before it the highest first.
    """

    state: str = ""
    search: Annotated[str, Query(max_length=255)] = ""
    owner: Annotated[str, Query(max_length=255)] = ""
    application: Annotated[str, Query(max_length=255)] = ""
    mine: bool = False
    since: Annotated[str, Query(max_length=32)] = ""
    sort: Annotated[str, Query(max_length=32)] = ""

    def selection(self, principal: Principal, expected: Deadlines) -> TaskSelection:
        """Return the conditions for whoever asks; `expected` says what becomes of which deadlines."""
        return TaskSelection(
            _GROUPS.get(self.state, ()),
            principal.name if self.mine else self.owner.strip() or None,
            self.search.strip(),
            ids={"on time": expected.on_time, "late": expected.late, "at risk": expected.at_risk}.get(self.state),
            application=self.application.strip() or None,
            since=time.time() - SINCE[self.since] if self.since in SINCE else None,
        )

    def order(self, ends: Mapping[str, float]) -> TaskOrder | None:
        """Return the order; `ends` are those of the plan that is shown, epoch seconds."""
        return replace(TaskOrder.read(self.sort), expected=tuple(ends.items())) if self.sort else None

    def __bool__(self) -> bool:
        return bool(self.state or self.search or self.owner or self.application or self.mine or self.since in SINCE)


@router.get("/tasks")
def tasks(
    request: Request,
    services: Services,
    principal: Reader,
    filters: Annotated[Filters, Depends()],
    page: PageNumber = 1,
) -> Response:
    plan = services.domain.plan(principal)
    expected, ends = deadlines(plan), plan.expected_ends()
    selection, order = filters.selection(principal, expected), filters.order(ends)
    found = services.tasks.tasks(principal, selection, _PAGE, (page - 1) * _PAGE, order=order)
    pages = max(1, -(-found.total // _PAGE))
    if page > pages:  # fewer than when the link was made
        page, found = pages, services.tasks.tasks(principal, selection, _PAGE, (pages - 1) * _PAGE, order=order)
    counts = services.domain.status(principal).tasks
    groups = {name: sum(counts.get(str(each), 0) for each in states) for name, states in _GROUPS.items()}
    if not groups["elsewhere"] and not services.neighbours.peers():
        del groups["elsewhere"]
    return render_page(
        request,
        "tasks.html",
        found=found,
        planned={place.task: place for place in plan.placements if place.task},
        ends=ends,
        expected=expected,
        groups=groups,
        filters=filters,
        since=SINCE,
        page=page,
        pages=pages,
    )


@router.get("/tasks.csv")
def table(services: Services, principal: Reader, filters: Annotated[Filters, Depends()]) -> Response:
    plan = services.domain.plan(principal)
    selection, ends = filters.selection(principal, deadlines(plan)), plan.expected_ends()
    order = filters.order(ends)
    every = _every(lambda offset: services.tasks.tasks(principal, selection, _ROWS, offset, order=order))
    text = tasks_table(every, ends)
    return Response(
        text, media_type="text/csv; charset=utf-8", headers={"Content-Disposition": 'attachment; filename="tasks.csv"'}
    )


def _every(part: Callable[[int], TaskPage]) -> Iterator[TaskView]:
    """Yield the tasks of a list, part by part from an offset on; none twice that new ones have moved on."""
    told = set[str]()
    while (found := part(len(told))).tasks:
        new = [task for task in found.tasks if task.id not in told]
        yield from new
        told.update(task.id for task in new)
        if not new or len(told) >= found.total:
            return
