"""The list of tasks: mine, or for those who oversee everybody's."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from cosched.access.principal import Scope
from cosched.coscheduler.task import TaskState
from cosched.portal.identity import Asker, needs
from cosched.portal.interface import Service
from cosched.portal.pages.rendering import Renderer
from cosched.store.selection import Selection

__all__ = ["routes"]

_PAGE = 50
_GROUPS: dict[str, tuple[TaskState, ...]] = {
    "waiting": (TaskState.QUEUED,),
    "running": (TaskState.DISPATCHING, TaskState.RUNNING, TaskState.CANCELLING),
    "elsewhere": (TaskState.FORWARDED,),
    "completed": (TaskState.COMPLETED,),
    "failed": (TaskState.FAILED,),
    "cancelled": (TaskState.CANCELLED,),
}


def routes(service: Service, renderer: Renderer) -> APIRouter:
    """Return the routes of the start page and the list."""
    router = APIRouter(dependencies=[needs(Scope.READ)])

    @router.get("/")
    def start(request: Request, asker: Asker) -> Response:
        if sum(service.status(asker).tasks.values()) == 0:
            return renderer.page(request, "welcome.html")
        return tasks(request, asker)

    @router.get("/tasks")
    def tasks(
        request: Request,
        asker: Asker,
        state: str = "",
        search: Annotated[str, Query(max_length=255)] = "",
        mine: bool = False,
        page: Annotated[int, Query(ge=1, le=10**7)] = 1,
    ) -> Response:
        owner = asker.name if mine else None
        selection = Selection(_GROUPS.get(state, ()), owner, search.strip())
        found = service.tasks(asker, selection, _PAGE, (page - 1) * _PAGE)
        planned = {place.task: place for place in service.plan(asker).placements if place.task}
        counts = service.status(asker).tasks
        groups = {name: sum(counts.get(str(each), 0) for each in states) for name, states in _GROUPS.items()}
        if not groups["elsewhere"] and not service.peers():
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
