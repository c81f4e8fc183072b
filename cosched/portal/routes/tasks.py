"""Routes of tasks: submit, list, show, explain, change, cancel, and what their processes wrote.

Those asked for most stand first, for a router tries them in this order; they have worker threads of their own, so that
slow pages do not delay them, and take the daemon's values without a dependency, which costs 4 % of a request.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Header, Query, Request, Response

from cosched.access.principals import Principal, Scope
from cosched.api.documents import (
    ExplanationView,
    Forecast,
    TaskChange,
    TaskDetail,
    TaskPage,
    TaskRequest,
    TaskView,
)
from cosched.api.problems import RequestError
from cosched.app.services import DomainServices
from cosched.app.submission.resubmission import requests_again
from cosched.coscheduler.task import TaskState
from cosched.portal.dependencies import Portal, Reader, Services, Submitter, needs, sender
from cosched.portal.request_bodies import RequestBody, read_requests, request_schema, requests_digest
from cosched.portal.responses import NOT_MODIFIED, DocumentResponder
from cosched.portal.routes import api_router
from cosched.portal.state import PortalState, portal_of
from cosched.portal.submitting import MANY_TASKS, run_submission
from cosched.store.selection import TaskColumn, TaskOrder, TaskSelection

__all__ = ["MOST_OUTPUT_BYTES", "cancel_task", "edit_task", "foresee_body", "router", "submit_requests"]

MOST_OUTPUT_BYTES = 1 << 20
"""Of output in one answer."""

_DEFAULT_OUTPUT_BYTES = 64 * 1024
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_KEY_SCHEMA = {"pattern": "^[!-~]{0,255}$"}
_EXAMPLES = {
    "a command with its own figures": {"command": ["/bin/sleep", "10"], "profile": [10.0, 5.0], "deadline": "now+1h"},
    "an application of the catalogue": {"application": "sweep3d", "parameters": {"Scale": 0.5}, "hosts": "2-8"},
}
_LEADS_TO = {
    "show": "get /tasks/{task_id}",
    "explain": "get /tasks/{task_id}/explain",
    "output": "get /tasks/{task_id}/output/{stream}",
    "plans": "get /tasks/{task_id}/plans",
    "cancel": "post /tasks/{task_id}/cancel",
}

_PAGE, _DETAIL = DocumentResponder[TaskPage](TaskPage), DocumentResponder[TaskDetail](TaskDetail)
_TASK, _TASKS = DocumentResponder[TaskView](TaskView), DocumentResponder[list[TaskView]](list[TaskView])
_FORECAST, _FORECASTS = DocumentResponder[Forecast](Forecast), DocumentResponder[list[Forecast]](list[Forecast])
_CHANGE = RequestBody(TaskChange, "a change")
_EXPLANATION = DocumentResponder[ExplanationView](ExplanationView)


class Stream(StrEnum):
    """Which of the two a process wrote to."""

    OUT = "out"
    ERR = "err"


router = api_router("tasks")


def _submission_body() -> dict[str, Any]:
    one = request_schema()
    schema = {"oneOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    examples = {name: {"value": value} for name, value in _EXAMPLES.items()}
    content = {"application/json": {"schema": schema, "examples": examples}}
    return {"requestBody": {"required": True, "content": content}}


def _submission_responses() -> dict[int | str, dict[str, Any]]:
    """Say what comes back, and which routes the identifier in it leads to."""
    links = {}
    for name, route in _LEADS_TO.items():
        method, path = route.split()
        place = f"/api/v1{path}".replace("/", "~1")
        links[name] = {"operationRef": f"#/paths/{place}/{method}", "parameters": {"task_id": "$response.body#/id"}}
    return {
        200: {"model": Forecast | list[Forecast], "description": "What would come of it; nothing was stored."},
        201: {"model": TaskView | list[TaskView], "description": "They are on disk.", "links": links},
    }


@router.get("/tasks/{task_id}", response_model=TaskDetail, responses=NOT_MODIFIED)
async def task(request: Request, principal: Reader, task_id: str) -> Response:
    """Show all that is known of a task."""
    portal = portal_of(request)
    return await to_thread.run_sync(
        lambda: _DETAIL.tagged(request, portal.services.tasks.task(principal, task_id)), limiter=portal.readers
    )


@router.get("/tasks", response_model=TaskPage, responses=NOT_MODIFIED)
async def tasks(
    request: Request,
    principal: Reader,
    state: Annotated[list[TaskState] | None, Query(description="Only tasks in these states.")] = None,
    owner: Annotated[str | None, Query(description="Only this user's.", max_length=255)] = None,
    application: Annotated[str | None, Query(description="Only of this application.", max_length=255)] = None,
    search: Annotated[
        str, Query(description="Only with this in name or application, or as id or owner.", max_length=255)
    ] = "",
    name: Annotated[str, Query(description="Only with such a name: * and ? stand for anything.", max_length=255)] = "",
    late: Annotated[bool, Query(description="Only those that missed their deadline, or will.")] = False,
    array: Annotated[str, Query(description="Only of the array with this identifier.", max_length=64)] = "",
    sort: Annotated[
        str, Query(description=f"By one of {', '.join(TaskColumn)}; with - before it the highest first.", max_length=32)
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> Response:
    """List tasks, newest first unless another order is asked for."""
    portal = portal_of(request)
    selection = TaskSelection(tuple(state or ()), owner, search, name, array=array, application=application)
    order = TaskOrder.read(sort) if sort else None

    def page() -> TaskPage:
        return portal.services.tasks.tasks(principal, selection, limit, offset, late=late, order=order)

    return await to_thread.run_sync(lambda: _PAGE.tagged(request, page()), limiter=portal.readers)


@router.post(
    "/tasks",
    status_code=HTTPStatus.CREATED,
    response_model=None,
    openapi_extra=_submission_body(),
    responses=_submission_responses(),
)
async def submit(
    request: Request,
    principal: Submitter,
    dry_run: Annotated[bool, Query(description="Only say what would come of it.")] = False,
    idempotency_key: Annotated[
        str, Header(description="The same key and body again: the same tasks.", json_schema_extra=_KEY_SCHEMA)
    ] = "",
) -> Response:
    """Submit one task or a list of tasks; all or none are accepted."""
    portal, body = portal_of(request), await request.body()
    _check_key(idempotency_key)
    if dry_run:
        return await portal.computations.run(
            request, principal, lambda check: foresee_body(portal.services, principal, body, check)
        )
    return await run_submission(
        request,
        principal,
        lambda: read_requests(body),
        lambda wanted, check: submit_requests(
            portal.services, principal, wanted, idempotency_key, check, alone=_alone(body)
        ),
        many=body.count(b"{") > MANY_TASKS,  # each of which may begin a task
    )


@router.get(
    "/tasks/{task_id}/output/{stream}",
    response_class=Response,
    responses={
        "200": {"content": {"application/octet-stream": {}}},
        "204": {"description": "Nothing was written yet."},
    },
)
def output(
    services: Services,
    principal: Reader,
    task_id: str,
    stream: Stream,
    rank: Annotated[int, Query(ge=0, le=10**6, description="Of the process.")] = 0,
    attempt: Annotated[int, Query(ge=0, le=10**6, description="Which try; 0: the last.")] = 0,
    offset: Annotated[int, Query(ge=-(2**62), le=2**62, description="First byte; negative: from the end.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_OUTPUT_BYTES, description="Most bytes to send.")] = _DEFAULT_OUTPUT_BYTES,
) -> Response:
    """Send part of a process's output.

    The headers `Cosched-Offset` and `Cosched-Size` say which part of how many bytes.
    """
    found = services.tasks.output(principal, task_id, str(stream), rank, attempt, offset, limit)
    if found is None:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    headers = {"Cosched-Offset": str(found.offset), "Cosched-Size": str(found.size), "Cache-Control": "no-store"}
    # Never a page: a browser must not interpret a job's output.
    return Response(found.data, media_type="application/octet-stream", headers=headers)


@router.get("/tasks/{task_id}/explain", response_model=ExplanationView, responses=NOT_MODIFIED)
def explain(request: Request, services: Services, principal: Reader, task_id: str) -> Response:
    """Say why a task is where it is, and what would change it."""
    return _EXPLANATION.tagged(request, services.tasks.explain(principal, task_id))


@router.post("/tasks/{task_id}/cancel", status_code=HTTPStatus.ACCEPTED)
def cancel(request: Request, portal: Portal, principal: Submitter, task_id: str) -> TaskView:
    """Cancel a task; its job is ended if there is one."""
    return cancel_task(portal, principal, task_id, sender(request))


@router.patch("/tasks/{task_id}", openapi_extra=_CHANGE.description)
async def edit(request: Request, portal: Portal, principal: Submitter, task_id: str) -> TaskView:
    """Give a waiting task another deadline, begin, number of hosts, run time, priority or name.

    A task that has left the queue is refused.
    """
    change = _CHANGE.read(await request.body())
    return await to_thread.run_sync(lambda: edit_task(portal, principal, task_id, change, sender(request)))


@router.post(
    "/tasks/{task_id}/resubmit",
    status_code=HTTPStatus.CREATED,
    response_model=TaskView,
    openapi_extra=_CHANGE.description,
    dependencies=[needs(Scope.READ)],  # the new task is made of the earlier one's command and environment
)
async def resubmit_task(
    request: Request,
    portal: Portal,
    principal: Submitter,
    task_id: str,
    idempotency_key: Annotated[
        str, Header(description="The same key and body again: the same task.", json_schema_extra=_KEY_SCHEMA)
    ] = "",
) -> Response:
    """Submit a task once more, changed, with as much time as it had."""
    body = await request.body()
    change = _CHANGE.read(body)
    _check_key(idempotency_key)
    digest = hashlib.sha256(f"resubmit {task_id} ".encode() + body).hexdigest() if idempotency_key else ""
    services = portal.services
    accepted = await run_submission(
        request,
        principal,
        lambda: requests_again(services, principal, [task_id], change),
        lambda wanted, check: services.submissions.submit(principal, wanted, idempotency_key, digest, check),
        many=False,
    )
    return _TASK(accepted[0], HTTPStatus.CREATED)


@router.post("/tasks/{task_id}/hold")
def hold(request: Request, portal: Portal, principal: Submitter, task_id: str) -> TaskView:
    """Keep a waiting task from being planned and started until it is released."""
    held = portal.services.tasks.hold(principal, task_id)
    portal.access.log(principal, sender(request), "task held", held.id)
    return held


@router.post("/tasks/{task_id}/release")
def release(request: Request, portal: Portal, principal: Submitter, task_id: str) -> TaskView:
    """Have a held task planned again."""
    released = portal.services.tasks.release(principal, task_id)
    portal.access.log(principal, sender(request), "task released", released.id)
    return released


def cancel_task(portal: PortalState, principal: Principal, task_id: str, address: str) -> TaskView:
    """Cancel a task for a user at an address, and write that down; one that has ended stays as it is."""
    ended = portal.services.tasks.state(principal, task_id).final
    cancelled = portal.services.tasks.cancel(principal, task_id)
    if not ended:
        portal.access.log(principal, address, "task cancelled", cancelled.id)
    return cancelled


def edit_task(portal: PortalState, principal: Principal, task_id: str, change: TaskChange, address: str) -> TaskView:
    """Change a waiting task, and write down who did and from where."""
    changed = portal.services.tasks.edit(principal, task_id, change)
    given = ", ".join(f"{key} {value}" for key, value in asdict(change).items() if value is not None)
    portal.access.log(principal, address, "task edited", f"{changed.id}: {given}")
    return changed


def submit_requests(
    services: DomainServices,
    principal: Principal,
    requests: Sequence[TaskRequest],
    key: str,
    check: Callable[[], None] = lambda: None,
    *,
    alone: bool,
) -> Response:
    """Submit tasks; a single one is answered by itself (`alone`), a list by a list."""
    digest = requests_digest(requests) if key else ""
    accepted = list(services.submissions.submit(principal, requests, key, digest, check))
    return _TASK(accepted[0], HTTPStatus.CREATED) if alone else _TASKS(accepted, HTTPStatus.CREATED)


def foresee_body(
    services: DomainServices, principal: Principal, body: bytes, check: Callable[[], None] = lambda: None
) -> Response:
    """Foresee the tasks of a request's body.

    A single task is answered by itself, a list by a list.

    Args:
        services: services of the domain.
        principal: the user who asks.
        body: body of the request.
        check: called between tasks; raises when the answer is not wanted any more.

    Raises:
        RequestError: the body is no task and no list of tasks.
    """
    forecasts = list(services.submissions.foresee(principal, read_requests(body), check))
    return _FORECAST(forecasts[0]) if _alone(body) else _FORECASTS(forecasts)


def _check_key(key: str) -> None:
    if key and not _KEY.fullmatch(key):
        raise RequestError(HTTPStatus.BAD_REQUEST, "Idempotency-Key must be 1 to 255 printable ASCII characters")


def _alone(body: bytes) -> bool:
    return not body.lstrip().startswith(b"[")
