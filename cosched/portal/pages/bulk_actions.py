"""What is done with several tasks of the list at once: cancel, submit again, hold, release, change (bulk actions)."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal
from cosched.api.documents import TaskChange
from cosched.api.problems import ConflictError
from cosched.app.figures.deadline_outlook import deadlines
from cosched.app.services import DomainServices
from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from cosched.portal.dependencies import Portal, Services, Submitter, sender
from cosched.portal.pages import page_router
from cosched.portal.pages.cancel import MOST_SELECTED, underway
from cosched.portal.pages.forms import read_change
from cosched.portal.pages.rendering import zone_of
from cosched.portal.pages.tasks import Filters
from cosched.portal.routes.tasks import edit_task
from cosched.portal.state import PortalState
from cosched.portal.submitting import submitted_again

__all__ = ["router"]

_CHANGEABLE = ("deadline", "hosts", "priority", "time_limit", "best_effort")
_NAMED = 3  # tasks that could not be changed are named


router = page_router()


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


def _edit(
    portal: PortalState,
    change: TaskChange,
    address: str,
    services: DomainServices,
    principal: Principal,
    tasks: Sequence[str],
) -> None:
    """Change the tasks that still wait, each as far as it goes.

    Raises:
        UserError: nothing is to be changed, or some could not be: their reasons, and how many were changed.
    """
    if change == TaskChange():
        raise UserError("nothing is to be changed: fill in a field of Change")
    refused, waiting = [], _waiting(services, principal, tasks)
    for task in waiting:
        try:
            edit_task(portal, principal, task, change, address)
        except UserError as error:
            refused.append(f"task {task}: {error}")
    if refused:
        more = f" (and {len(refused) - _NAMED} more)" if len(refused) > _NAMED else ""
        done = len(waiting) - len(refused)
        raise UserError(f"{done} of {len(waiting)} tasks were changed; {'; '.join(refused[:_NAMED])}{more}")


_ACTIONS: dict[str, Callable[[DomainServices, Principal, Sequence[str]], object]] = {
    "cancel": _cancel,
    "hold": _hold,
    "release": _release,
}


@router.post("/tasks/chosen")
async def chosen(
    request: Request, portal: Portal, services: Services, principal: Submitter, filters: Annotated[Filters, Depends()]
) -> Response:
    async with request.form() as form:
        tasks = [str(value) for value in form.getlist("task")]
        wanted, confirmed, matching = str(form.get("do", "")), bool(form.get("confirmed")), bool(form.get("matching"))
        fields = {name: str(form.get(name, "")) for name in _CHANGEABLE}
    if matching:
        tasks = await run_in_threadpool(_matching, services, principal, filters)
    edit = partial(_edit, portal, read_change(fields, zone_of(request)), sender(request))
    action = edit if wanted == "edit" else _ACTIONS.get(wanted)
    if (action is None and wanted != "again") or not 0 < len(tasks) <= MOST_SELECTED:
        raise UserError("choose tasks and an action")
    asks = wanted == "cancel" and not confirmed
    if asks and (matching or len(await run_in_threadpool(underway, services, principal, tasks))):
        return RedirectResponse(f"/cancel?{urlencode({'task': tasks}, doseq=True)}", HTTPStatus.SEE_OTHER)
    if action is None:
        await submitted_again(request, principal, tasks)
    else:
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
