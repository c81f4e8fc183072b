"""What is done with several tasks of the list at once: cancel, submit again, hold, release, change (bulk actions)."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal
from cosched.api.documents import TaskChange, TaskView
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
from cosched.portal.routes.tasks import cancel_task, edit_task
from cosched.portal.state import PortalState
from cosched.portal.submitting import submitted_again

__all__ = ["router"]

_CHANGEABLE = ("deadline", "hosts", "priority", "time_limit", "best_effort")
_NAMED = 3  # tasks that could not be changed are named


router = page_router()


@dataclass(frozen=True, slots=True)
class _BulkAction:
    """Does one thing with several tasks, for a user at an address."""

    portal: PortalState
    principal: Principal
    address: str

    def cancel(self, tasks: Sequence[str]) -> None:
        for task in tasks:
            cancel_task(self.portal, self.principal, task, self.address)

    def hold(self, tasks: Sequence[str]) -> None:
        self._each(tasks, "held", self.portal.services.tasks.hold)

    def release(self, tasks: Sequence[str]) -> None:
        self._each(tasks, "released", self.portal.services.tasks.release)

    def edit(self, tasks: Sequence[str], change: TaskChange) -> None:
        """Change tasks.

        Raises:
            UserError: nothing is to be changed, or as of the others.
        """
        if change == TaskChange():
            raise UserError("nothing is to be changed: fill in a field of Change")
        _each(
            _waiting(self.portal.services, self.principal, tasks),
            "changed",
            lambda task: edit_task(self.portal, self.principal, task, change, self.address),
        )

    def _each(self, tasks: Sequence[str], done: str, act: Callable[[Principal, str], TaskView]) -> None:
        def one(task: str) -> None:
            found = act(self.principal, task)
            self.portal.access.log(self.principal, self.address, f"task {done}", found.id)

        _each(_waiting(self.portal.services, self.principal, tasks), done, one)


def _waiting(services: DomainServices, principal: Principal, tasks: Sequence[str]) -> list[str]:
    """Return the tasks that still wait.

    Raises:
        ConflictError: none does.
    """
    found = [task for task in tasks if services.tasks.state(principal, task) is TaskState.QUEUED]
    if not found:
        raise ConflictError("none of these tasks waits any more: only waiting tasks are held and released")
    return found


def _each(tasks: Sequence[str], done: str, act: Callable[[str], object]) -> None:
    """Do something with each of the tasks that can have it done.

    Raises:
        UserError: some could not be `done`: their reasons, and how many were.
    """
    refused = []
    for task in tasks:
        try:
            act(task)
        except UserError as error:
            refused.append(f"task {task}: {error}")
    if refused:
        more = f" (and {len(refused) - _NAMED} more)" if len(refused) > _NAMED else ""
        count = len(tasks) - len(refused)
        raise UserError(f"{count} of {len(tasks)} tasks were {done}; {'; '.join(refused[:_NAMED])}{more}")


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
    several, change = _BulkAction(portal, principal, sender(request)), read_change(fields, zone_of(request))
    actions: dict[str, Callable[[Sequence[str]], None]] = {
        "cancel": several.cancel,
        "hold": several.hold,
        "release": several.release,
        "edit": lambda tasks: several.edit(tasks, change),
    }
    action = actions.get(wanted)
    if (action is None and wanted != "again") or not 0 < len(tasks) <= MOST_SELECTED:
        raise UserError("choose tasks and an action")
    asks = wanted == "cancel" and not confirmed
    if asks and (matching or await run_in_threadpool(underway, services, principal, tasks)):
        return RedirectResponse(f"/cancel?{urlencode({'task': tasks}, doseq=True)}", HTTPStatus.SEE_OTHER)
    if action is None:
        await submitted_again(request, principal, tasks)
    else:
        await run_in_threadpool(action, tasks)
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
