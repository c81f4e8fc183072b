"""Cancel tasks: what waits at once, what runs only after a page that says what would be lost."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal, Scope
from cosched.app.services import DomainServices
from cosched.coscheduler.task import TaskState
from cosched.portal.dependencies import AnyPrincipal, Portal, Services, needs, sender
from cosched.portal.pages import page_router
from cosched.portal.pages.rendering import render_page
from cosched.portal.routes.tasks import cancel_task

__all__ = ["MOST_SELECTED", "router", "underway"]

MOST_SELECTED = 1000
_UNDERWAY = (TaskState.DISPATCHING, TaskState.RUNNING, TaskState.FORWARDED)

router = page_router(needs(Scope.SUBMIT))


def underway(services: DomainServices, principal: Principal, tasks: Sequence[str]) -> bool:
    """Return whether some of these tasks have left the queue and not ended: cancelling them loses what they did.

    Raises:
        NotFoundError: there is none of such a number.
    """
    return not {*_UNDERWAY}.isdisjoint([services.tasks.state(principal, task) for task in tasks])


@router.get("/cancel")
def ask_for_several(
    request: Request,
    services: Services,
    principal: AnyPrincipal,
    task: Annotated[list[str], Query(min_length=1, max_length=MOST_SELECTED)],
) -> Response:
    shown = [services.tasks.task(principal, name) for name in task]
    losing = [each for each in shown if each.state in _UNDERWAY]
    return render_page(request, "cancel.html", tasks=shown, losing=losing, action="/tasks/chosen", back="/tasks")


@router.get("/tasks/{task_id}/cancel")
def ask(request: Request, services: Services, principal: AnyPrincipal, task_id: str) -> Response:
    task, here = services.tasks.task(principal, task_id), f"/tasks/{task_id}"
    losing = [task] if task.state in _UNDERWAY else []
    return render_page(request, "cancel.html", tasks=[task], losing=losing, action=f"{here}/cancel", back=here)


@router.post("/tasks/{task_id}/cancel")
def cancel(
    request: Request, portal: Portal, principal: AnyPrincipal, task_id: str, confirmed: Annotated[str, Form()] = ""
) -> Response:
    if not confirmed and underway(portal.services, principal, [task_id]):
        return RedirectResponse(f"/tasks/{task_id}/cancel", HTTPStatus.SEE_OTHER)
    cancel_task(portal, principal, task_id, sender(request))
    return RedirectResponse(f"/tasks/{task_id}", HTTPStatus.SEE_OTHER)
