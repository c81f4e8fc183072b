"""The task list page shows tasks, and cancels or resubmits several at once (bulk actions)."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal
from cosched.app.services import DomainServices
from cosched.app.submission.resubmission import resubmit
from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from cosched.portal.dependencies import Reader, Services, Submitter
from cosched.portal.pages import page_router
from cosched.portal.pages.cancel import MOST_SELECTED, underway
from cosched.portal.pages.deadlines import deadlines
from cosched.portal.pages.rendering import render_page
from cosched.store.store import TaskSelection

__all__ = ["router"]


_PAGE = 50
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
    return tasks(request, services, principal)


@router.get("/tasks")
def tasks(
    request: Request,
    services: Services,
    principal: Reader,
    state: str = "",
    search: Annotated[str, Query(max_length=255)] = "",
    mine: bool = False,
    page: Annotated[int, Query(ge=1, le=10**7)] = 1,
) -> Response:
    owner = principal.name if mine else None
    placements = services.domain.plan(principal).placements
    expected = deadlines(placements)
    chosen_ids = {"late": expected.late, "at risk": expected.at_risk}.get(state)
    selection = TaskSelection(_GROUPS.get(state, ()), owner, search.strip(), ids=chosen_ids)
    found = services.tasks.tasks(principal, selection, _PAGE, (page - 1) * _PAGE)
    pages = max(1, -(-found.total // _PAGE))
    if page > pages:  # fewer than when the link was made
        page, found = pages, services.tasks.tasks(principal, selection, _PAGE, (pages - 1) * _PAGE)
    planned = {place.task: place for place in placements if place.task}
    counts = services.domain.status(principal).tasks
    groups = {name: sum(counts.get(str(each), 0) for each in states) for name, states in _GROUPS.items()}
    if not groups["elsewhere"] and not services.neighbours.peers():
        del groups["elsewhere"]
    return render_page(
        request,
        "tasks.html",
        found=found,
        planned=planned,
        expected=expected,
        groups=groups,
        state=state,
        search=search,
        mine=mine,
        page=page,
        pages=pages,
    )


def _cancel(services: DomainServices, principal: Principal, tasks: Sequence[str]) -> None:
    for task in tasks:
        services.tasks.cancel(principal, task)


_ACTIONS: dict[str, Callable[[DomainServices, Principal, Sequence[str]], object]] = {
    "cancel": _cancel,
    "again": resubmit,
}


@router.post("/tasks/chosen")
async def chosen(request: Request, services: Services, principal: Submitter) -> Response:
    async with request.form() as form:
        tasks = [str(value) for value in form.getlist("task")]
        wanted, confirmed = str(form.get("do", "")), bool(form.get("confirmed"))
    action = _ACTIONS.get(wanted)
    if action is None or not 0 < len(tasks) <= MOST_SELECTED:
        raise UserError("choose tasks and an action")
    asks = wanted == "cancel" and not confirmed
    if asks and len(await run_in_threadpool(underway, services, principal, tasks)):
        return RedirectResponse(f"/cancel?{urlencode({'task': tasks}, doseq=True)}", HTTPStatus.SEE_OTHER)
    await run_in_threadpool(action, services, principal, tasks)
    return RedirectResponse(f"/tasks?{request.url.query}".rstrip("?"), HTTPStatus.SEE_OTHER)
