"""The task list page shows tasks, and cancels or resubmits several at once (bulk actions)."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal
from cosched.api.problems import ConflictError
from cosched.app.services import DomainServices
from cosched.app.submission.resubmission import resubmit
from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from cosched.portal.dependencies import Reader, Services, Submitter
from cosched.portal.pages import page_router
from cosched.portal.pages.cancel import MOST_SELECTED, underway
from cosched.portal.pages.figures.deadlines import Deadlines, deadlines
from cosched.portal.pages.rendering import render_page
from cosched.portal.pages.tasks_table import tasks_table
from cosched.store.selection import TaskOrder, TaskSelection

__all__ = ["router"]


_PAGE = 50
_MOST_ROWS = 10_000  # of a table that is downloaded
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
        state: a group of states, "late" or "at risk"; empty for all.
        search: words in name or application, or identifier or owner.
        owner: the user whose tasks they are; empty for everybody's.
        application: their application; empty for any.
        mine: only the tasks of whoever asks.
        sort: the column, with `-` before it the highest first.
    """

    state: str = ""
    search: Annotated[str, Query(max_length=255)] = ""
    owner: Annotated[str, Query(max_length=255)] = ""
    application: Annotated[str, Query(max_length=255)] = ""
    mine: bool = False
    sort: Annotated[str, Query(max_length=32)] = ""

    def selection(self, principal: Principal, expected: Deadlines) -> TaskSelection:
        return TaskSelection(
            _GROUPS.get(self.state, ()),
            principal.name if self.mine else self.owner.strip() or None,
            self.search.strip(),
            ids={"late": expected.late, "at risk": expected.at_risk}.get(self.state),
            application=self.application.strip() or None,
        )

    def order(self, ends: Mapping[str, float]) -> TaskOrder | None:
        """Return the order; `ends` are those of the plan that is shown, epoch seconds."""
        return replace(TaskOrder.read(self.sort), expected=tuple(ends.items())) if self.sort else None

    def __bool__(self) -> bool:
        return bool(self.state or self.search or self.owner or self.application or self.mine)


@router.get("/tasks")
def tasks(
    request: Request,
    services: Services,
    principal: Reader,
    filters: Annotated[Filters, Depends()],
    page: Annotated[int, Query(ge=1, le=10**7)] = 1,
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
        page=page,
        pages=pages,
    )


@router.get("/tasks.csv")
def table(services: Services, principal: Reader, filters: Annotated[Filters, Depends()]) -> Response:
    plan = services.domain.plan(principal)
    selection, ends = filters.selection(principal, deadlines(plan)), plan.expected_ends()
    found = services.tasks.tasks(principal, selection, _MOST_ROWS, 0, order=filters.order(ends))
    text = tasks_table(found.tasks, ends)
    return Response(
        text, media_type="text/csv; charset=utf-8", headers={"Content-Disposition": 'attachment; filename="tasks.csv"'}
    )


def _cancel(services: DomainServices, principal: Principal, tasks: Sequence[str]) -> None:
    for task in tasks:
        services.tasks.cancel(principal, task)


def _hold(services: DomainServices, principal: Principal, tasks: Sequence[str]) -> None:
    for task in _waiting(services, principal, tasks):
        services.tasks.hold(principal, task)


def _release(services: DomainServices, principal: Principal, tasks: Sequence[str]) -> None:
    for task in _waiting(services, principal, tasks):
        services.tasks.release(principal, task)


def _waiting(services: DomainServices, principal: Principal, tasks: Sequence[str]) -> list[str]:
    """Return the tasks that still wait.

    Raises:
        ConflictError: none does.
    """
    found = [task for task in tasks if services.tasks.task(principal, task).state == TaskState.QUEUED]
    if not found:
        raise ConflictError("none of these tasks waits any more: only waiting tasks are held and released")
    return found


_ACTIONS: dict[str, Callable[[DomainServices, Principal, Sequence[str]], object]] = {
    "cancel": _cancel,
    "again": resubmit,
    "hold": _hold,
    "release": _release,
}


@router.post("/tasks/chosen")
async def chosen(
    request: Request, services: Services, principal: Submitter, filters: Annotated[Filters, Depends()]
) -> Response:
    async with request.form() as form:
        tasks = [str(value) for value in form.getlist("task")]
        wanted, confirmed, matching = str(form.get("do", "")), bool(form.get("confirmed")), bool(form.get("matching"))
    if matching:
        tasks = await run_in_threadpool(_matching, services, principal, filters)
    action = _ACTIONS.get(wanted)
    if action is None or not 0 < len(tasks) <= MOST_SELECTED:
        raise UserError("choose tasks and an action")
    asks = wanted == "cancel" and not confirmed
    if asks and (matching or len(await run_in_threadpool(underway, services, principal, tasks))):
        return RedirectResponse(f"/cancel?{urlencode({'task': tasks}, doseq=True)}", HTTPStatus.SEE_OTHER)
    await run_in_threadpool(action, services, principal, tasks)
    return RedirectResponse(f"/tasks?{request.url.query}".rstrip("?"), HTTPStatus.SEE_OTHER)


def _matching(services: DomainServices, principal: Principal, filters: Filters) -> list[str]:
    """Return the tasks of a whole list, not of its page alone."""
    selection = filters.selection(principal, deadlines(services.domain.plan(principal)))
    found = services.tasks.tasks(principal, selection, MOST_SELECTED, 0)
    if found.total > MOST_SELECTED:
        raise UserError(
            f"these are {found.total} tasks, and {MOST_SELECTED} at most are changed at once: filter the list"
        )
    return [task.id for task in found.tasks]
