"""Submitting tasks over HTTP: one, or many of which all or none are accepted; or only asking what would come of it."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from cosched.access.principal import Scope
from cosched.portal.documents import Forecast, TaskView
from cosched.portal.identity import Asker, needs
from cosched.portal.reading import request_schema
from cosched.portal.task_answers import TaskAnswers

__all__ = ["routes"]

_KEYS = {"pattern": "^[!-~]{0,255}$"}
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


def routes(answers: TaskAnswers) -> APIRouter:
    """Return the route of submissions."""
    router = APIRouter(tags=["tasks"])

    @router.post(
        "/tasks",
        status_code=HTTPStatus.CREATED,
        response_model=None,
        dependencies=[needs(Scope.SUBMIT)],
        openapi_extra=_request(),
        responses=_answers(),
    )
    async def submit(
        request: Request,
        asker: Asker,
        dry_run: Annotated[bool, Query(description="Only say what would come of it.")] = False,
        idempotency_key: Annotated[
            str, Header(description="The same key and body again: the same tasks.", json_schema_extra=_KEYS)
        ] = "",
    ) -> Response:
        """Submit one task, or a list of tasks of which all or none are accepted."""
        body = await request.body()
        return await run_in_threadpool(answers.submit, asker, body, idempotency_key, dry_run=dry_run)

    return router


def _request() -> dict[str, Any]:
    one = request_schema()
    schema = {"oneOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    examples = {name: {"value": value} for name, value in _EXAMPLES.items()}
    content = {"application/json": {"schema": schema, "examples": examples}}
    return {"requestBody": {"required": True, "content": content}}


def _answers() -> dict[int | str, dict[str, Any]]:
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
