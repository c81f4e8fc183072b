"""The task list page shows tasks, and cancels or resubmits several at once (bulk actions)."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal, Scope
from cosched.api.documents import TaskView
from cosched.app.services import DomainServices
from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from cosched.portal.dependencies import AnyPrincipal, needs
from cosched.portal.pages.forms import request_like_task
from cosched.portal.pages.rendering import Renderer
from cosched.store.store import TaskSelection

__all__ = ["bulk_action_routes", "resubmit", "routes"]


_PAGE = 50
_GROUPS: dict[str, tuple[TaskState, ...]] = {
    "waiting": (TaskState.QUEUED,),
    "running": (TaskState.DISPATCHING, TaskState.RUNNING, TaskState.CANCELLING),
    "elsewhere": (TaskState.FORWARDED,),
    "completed": (TaskState.COMPLETED,),
    "failed": (TaskState.FAILED,),
    "cancelled": (TaskState.CANCELLED,),
}


def routes(services: DomainServices, renderer: Renderer) -> APIRouter:
    """Return the routes of the start page and the list."""
    router = APIRouter(dependencies=[needs(Scope.READ)])

    @router.get("/")
    def start(request: Request, principal: AnyPrincipal) -> Response:
        if sum(services.domain.status(principal).tasks.values()) == 0:
            return renderer.page(request, "welcome.html")
        return tasks(request, principal)

    @router.get("/tasks")
    def tasks(
        request: Request,
        principal: AnyPrincipal,
        state: str = "",
        search: Annotated[str, Query(max_length=255)] = "",
        mine: bool = False,
        page: Annotated[int, Query(ge=1, le=10**7)] = 1,
    ) -> Response:
        owner = principal.name if mine else None
        selection = TaskSelection(_GROUPS.get(state, ()), owner, search.strip())
        found = services.tasks.tasks(principal, selection, _PAGE, (page - 1) * _PAGE)
        planned = {place.task: place for place in services.domain.plan(principal).placements if place.task}
        counts = services.domain.status(principal).tasks
        groups = {name: sum(counts.get(str(each), 0) for each in states) for name, states in _GROUPS.items()}
        if not groups["elsewhere"] and not services.neighbours.peers():
            del groups["elsewhere"]
        return renderer.page(
            request,
            "tasks.html",
            found=found,
            planned=planned,
            groups=groups,
            state=state,
            search=search,
            mine=mine,
            page=page,
            pages=max(1, -(-found.total // _PAGE)),
        )

    return router


_MOST_SELECTED = 1000


def resubmit(services: DomainServices, principal: Principal, tasks: Sequence[str]) -> Sequence[TaskView]:
    """Submit tasks once more, each with as much time, and return the new ones."""
    known = {entry.name for entry in services.models.applications()}
    earlier = [services.tasks.task(principal, task) for task in tasks]
    now = time.time()
    requests = [request_like_task(task, now, catalogued=task.application in known) for task in earlier]
    return services.submissions.submit(principal, requests, "", "")


def bulk_action_routes(services: DomainServices) -> APIRouter:
    """Return the route."""
    router = APIRouter(dependencies=[needs(Scope.SUBMIT)])

    def cancel(principal: Principal, tasks: list[str]) -> None:
        for task in tasks:
            services.tasks.cancel(principal, task)

    def again(principal: Principal, tasks: list[str]) -> None:
        resubmit(services, principal, tasks)

    actions = {"cancel": cancel, "again": again}

    @router.post("/tasks/chosen")
    async def chosen(request: Request, principal: AnyPrincipal) -> Response:
        async with request.form() as form:
            tasks = [str(value) for value in form.getlist("task")]
            action = actions.get(str(form.get("do", "")))
        if action is None or not 0 < len(tasks) <= _MOST_SELECTED:
            raise UserError("choose tasks, and what is to be done with them")
        await run_in_threadpool(action, principal, tasks)
        return RedirectResponse(f"/tasks?{request.url.query}".rstrip("?"), HTTPStatus.SEE_OTHER)

    return router
