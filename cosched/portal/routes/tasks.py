"""Routes of tasks: submit, list, show, explain, cancel, and what their processes wrote."""

import re
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from cosched.access.principals import Principal, Scope
from cosched.api.documents import (
    ExplanationView,
    Forecast,
    TaskDetail,
    TaskPage,
    TaskView,
)
from cosched.api.problems import RequestError
from cosched.app.interface import DomainService
from cosched.coscheduler.task import TaskState
from cosched.portal.dependencies import Asker, needs
from cosched.portal.request_bodies import read_requests, request_schema, requests_digest
from cosched.portal.responses import NOT_MODIFIED, DocumentResponder
from cosched.store.store import TaskSelection

__all__ = ["MOST_OUTPUT_BYTES", "TaskResponses", "output_routes", "submission_routes", "task_routes"]

# ── What is asked of tasks most, answered in bytes: one task, a page of the list, a submission.
#
# Both ways to these answers use it: the described one (`api.py`) and the short one (`short_way.py`).


_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_MOST_QUERIES = 256  # whose meaning is remembered
_LONGEST_QUERY = 512  # bytes, likewise

_PAGE, _DETAIL = DocumentResponder[TaskPage](TaskPage), DocumentResponder[TaskDetail](TaskDetail)
_TASK, _TASKS = DocumentResponder[TaskView](TaskView), DocumentResponder[list[TaskView]](list[TaskView])
_FORECAST_RESPONSE, _FORECASTS = (
    DocumentResponder[Forecast](Forecast),
    DocumentResponder[list[Forecast]](list[Forecast]),
)

_Listing = tuple[TaskSelection, int, int]  # what is listed, how many at most, from which on


class TaskResponses:
    """Asks the service and writes its answers. Methods may block."""

    def __init__(self, service: DomainService) -> None:
        self._service = service
        self._listings: dict[bytes, _Listing] = {}

    def task(self, request: Request, asker: Principal, task_id: str) -> Response:
        """Return all that is known of a task."""
        return _DETAIL.tagged(request, self._service.task(asker, task_id))

    def page(self, request: Request, asker: Principal, listing: _Listing) -> Response:
        """Return a page of the list, and remember what the query that asked for it means."""
        query: bytes = request.scope["query_string"]
        if len(query) <= _LONGEST_QUERY and len(self._listings) < _MOST_QUERIES:
            self._listings[query] = listing
        return _PAGE.tagged(request, self._service.tasks(asker, *listing))

    def listing(self, query: bytes) -> _Listing | None:
        """Return what a query means; None where it has not been read and found right before."""
        return self._listings.get(query)

    def submit(self, asker: Principal, body: bytes, key: str, *, dry_run: bool = False) -> Response:
        """Read and hand over tasks; a single one is answered by itself, a list by a list."""
        if key and not _KEY.fullmatch(key):
            raise RequestError(HTTPStatus.BAD_REQUEST, "Idempotency-Key must be 1 to 255 printable ASCII characters")
        requests = read_requests(body)
        alone = not body.lstrip().startswith(b"[")
        if dry_run:
            forecasts = list(self._service.foresee(asker, requests))
            return _FORECAST_RESPONSE(forecasts[0]) if alone else _FORECASTS(forecasts)
        made = list(self._service.submit(asker, requests, key, requests_digest(requests) if key else ""))
        return _TASK(made[0], HTTPStatus.CREATED) if alone else _TASKS(made, HTTPStatus.CREATED)


# ── Submitting tasks over HTTP: one, or many of which all or none are accepted; or only asking what would come of it.


# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.


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


def submission_routes(answers: TaskResponses) -> APIRouter:
    """Return the route of submissions."""
    router = APIRouter(tags=["tasks"])

    @router.post(
        "/tasks",
        status_code=HTTPStatus.CREATED,
        response_model=None,
        dependencies=[needs(Scope.SUBMIT)],
        openapi_extra=_submission_body(),
        responses=_submission_responses(),
    )
    async def submit(
        request: Request,
        asker: Asker,
        dry_run: Annotated[bool, Query(description="Only say what would come of it.")] = False,
        idempotency_key: Annotated[
            str, Header(description="The same key and body again: the same tasks.", json_schema_extra=_KEY_SCHEMA)
        ] = "",
    ) -> Response:
        """Submit one task, or a list of tasks of which all or none are accepted."""
        body = await request.body()
        return await run_in_threadpool(answers.submit, asker, body, idempotency_key, dry_run=dry_run)

    return router


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


# ── What a task's processes wrote, over HTTP: bytes as they are, a part at a time.


# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.


_DEFAULT_BYTES = 64 * 1024
MOST_OUTPUT_BYTES = 1 << 20
"""Of output in one answer."""


class Stream(StrEnum):
    """Which of the two a process wrote to."""

    OUT = "out"
    ERR = "err"


def output_routes(service: DomainService) -> APIRouter:
    """Return the routes for what tasks wrote."""
    router = APIRouter(tags=["tasks"])

    @router.get(
        "/tasks/{task_id}/output/{stream}",
        dependencies=[needs(Scope.READ)],
        response_class=Response,
        responses={
            "200": {"content": {"application/octet-stream": {}}},
            "204": {"description": "Nothing was written yet."},
        },
    )
    def output(
        asker: Asker,
        task_id: str,
        stream: Stream,
        rank: Annotated[int, Query(ge=0, le=10**6, description="Of the process.")] = 0,
        attempt: Annotated[int, Query(ge=0, le=10**6, description="Which try; 0: the last.")] = 0,
        offset: Annotated[int, Query(ge=-(2**62), le=2**62, description="First byte; negative: from the end.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_OUTPUT_BYTES, description="Most bytes to send.")] = _DEFAULT_BYTES,
    ) -> Response:
        """Send part of what a process wrote; `Cosched-Offset` and `Cosched-Size` say which part of how much."""
        found = service.output(asker, task_id, str(stream), rank, attempt, offset, limit)
        if found is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        headers = {"Cosched-Offset": str(found.offset), "Cosched-Size": str(found.size), "Cache-Control": "no-store"}
        # Never a page: whatever a job wrote is not for a browser to interpret.
        return Response(found.data, media_type="application/octet-stream", headers=headers)

    return router


_EXPLANATION = DocumentResponder[ExplanationView](ExplanationView)


def task_routes(service: DomainService, answers: TaskResponses) -> APIRouter:
    """Make the routes of tasks: list, show, explain, output, cancel."""
    router = APIRouter(tags=["tasks"])

    @router.get("/tasks", dependencies=[needs(Scope.READ)], response_model=TaskPage, responses=NOT_MODIFIED)
    def tasks(
        request: Request,
        asker: Asker,
        state: Annotated[list[TaskState] | None, Query(description="Only tasks in these states.")] = None,
        owner: Annotated[str | None, Query(description="Only this user's.", max_length=255)] = None,
        search: Annotated[str, Query(description="Only with this in name, application or id.", max_length=255)] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    ) -> Response:
        """List tasks, newest first."""
        return answers.page(request, asker, (TaskSelection(tuple(state or ()), owner, search), limit, offset))

    @router.get("/tasks/{task_id}", dependencies=[needs(Scope.READ)], response_model=TaskDetail, responses=NOT_MODIFIED)
    def task(request: Request, asker: Asker, task_id: str) -> Response:
        """Show all that is known of a task."""
        return answers.task(request, asker, task_id)

    @router.get(
        "/tasks/{task_id}/explain",
        dependencies=[needs(Scope.READ)],
        response_model=ExplanationView,
        responses=NOT_MODIFIED,
    )
    def explain(request: Request, asker: Asker, task_id: str) -> Response:
        """Say why a task is where it is, and what would change it."""
        return _EXPLANATION.tagged(request, service.explain(asker, task_id))

    @router.post("/tasks/{task_id}/cancel", status_code=HTTPStatus.ACCEPTED, dependencies=[needs(Scope.SUBMIT)])
    def cancel(asker: Asker, task_id: str) -> TaskView:
        """Take the wish that a task does not run; its job is ended if there is one."""
        return service.cancel(asker, task_id)

    return router
