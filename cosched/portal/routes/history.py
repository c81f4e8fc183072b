"""Routes of the past: plans, runs, accuracy, the log and the recording."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from cosched.access.principals import Scope
from cosched.api.documents import (
    Accuracy,
    DeadlineOutcome,
    ExchangeView,
    LearntRunView,
    PlanPoint,
    RecordView,
    RunView,
    SearchPoint,
    UsageView,
    UtilisationView,
)
from cosched.app.figures.utilisation import UseGrouping, utilisation
from cosched.portal.dependencies import Manager, Portal, Reader, Services, Submitter, needs, sender
from cosched.portal.responses import NOT_MODIFIED, DocumentResponder
from cosched.portal.routes import api_router

__all__ = ["router"]

_RUNS, _LOG = DocumentResponder[list[RunView]](list[RunView]), DocumentResponder[list[RecordView]](list[RecordView])
_PLANS, _SEARCH = (
    DocumentResponder[list[PlanPoint]](list[PlanPoint]),
    DocumentResponder[list[SearchPoint]](list[SearchPoint]),
)
_ACCURACY = DocumentResponder[list[Accuracy]](list[Accuracy])
_OUTCOMES = DocumentResponder[list[DeadlineOutcome]](list[DeadlineOutcome])
_EXCHANGES = DocumentResponder[list[ExchangeView]](list[ExchangeView])
_LEARNT = DocumentResponder[list[LearntRunView]](list[LearntRunView])
_UTILISATION = DocumentResponder[UtilisationView](UtilisationView)
_USAGE = DocumentResponder[list[UsageView]](list[UsageView])
_JSON_LINES = "application/jsonl"
router = api_router()


@router.get("/tasks/{task_id}/plans", tags=["tasks"], response_model=list[PlanPoint], responses=NOT_MODIFIED)
def plans(request: Request, services: Services, principal: Reader, task_id: str) -> Response:
    """Say where a task was planned as the plan changed, the oldest first."""
    found = services.tasks.task(principal, task_id)  # refuses a user who may not see it
    return _PLANS.tagged(request, list(services.history.planned(found.id)))


@router.get(
    "/plan/search",
    tags=["domain"],
    dependencies=[needs(Scope.READ)],
    response_model=list[SearchPoint],
    responses=NOT_MODIFIED,
)
def search(request: Request, services: Services) -> Response:
    """Say how the search's plan became better, the oldest first."""
    return _SEARCH.tagged(request, list(services.history.search()))


@router.get("/exchanges", tags=["domain"], response_model=list[ExchangeView], responses=NOT_MODIFIED)
def exchanges(
    request: Request,
    services: Services,
    principal: Reader,
    since: Annotated[float, Query(ge=0, le=1e11, description="Only what went or came after this time.")] = 0.0,
) -> Response:
    """List the tasks that went to neighbouring domains or came from them, the newest first, 1,000 at most."""
    return _EXCHANGES.tagged(request, services.history.exchanges(principal, since))


@router.get("/runs", tags=["domain"], response_model=list[RunView], responses=NOT_MODIFIED)
def runs(
    request: Request,
    services: Services,
    principal: Reader,
    since: Annotated[float, Query(ge=0, le=1e11, description="Only what ended after this time.")] = 0.0,
) -> Response:
    """List the attempts that have ended, with their hosts, 4,000 at most.

    They are the schedule's past.
    """
    return _RUNS.tagged(request, list(services.history.runs(principal, since)))


@router.get("/usage", tags=["domain"], response_model=list[UsageView], responses=NOT_MODIFIED)
def usage(
    request: Request,
    services: Services,
    principal: Reader,
    by: Annotated[Literal["user", "group", "application"], Query(description="What is told apart.")] = "user",
    since: Annotated[float, Query(ge=0, le=1e11, description="From this time on.")] = 0.0,
) -> Response:
    """Say who has had the hosts, the largest use first; only operators see others."""
    return _USAGE.tagged(request, services.history.usage(principal, by, since))


@router.get("/utilisation", tags=["domain"], response_model=UtilisationView)
def utilised(
    services: Services,
    principal: Reader,
    last: Annotated[float, Query(ge=60, le=1e9, description="How many seconds of the past.")] = 86400.0,
    by: Annotated[UseGrouping, Query(description="What is told apart.")] = UseGrouping.CLASS,
) -> Response:
    """Say how much of hosts, or of shared ones' cores, memory and GPUs, tasks had, have and are to have."""
    return _UTILISATION(utilisation(services, principal, last, by, time.time()))


@router.get("/deadlines", tags=["domain"], response_model=list[DeadlineOutcome], responses=NOT_MODIFIED)
def deadline_outcomes(
    request: Request,
    services: Services,
    principal: Reader,
    since: Annotated[float, Query(ge=0, le=1e11, description="Only what ended after this time.")] = 0.0,
) -> Response:
    """List the tasks with deadlines that completed or failed, the last to end first, 4,000 at most.

    Only operators see others'.
    """
    return _OUTCOMES.tagged(request, services.history.deadline_outcomes(principal, since))


@router.get("/applications/{name}/runs", tags=["domain"], response_model=list[LearntRunView], responses=NOT_MODIFIED)
def learnt_runs(
    request: Request,
    services: Services,
    principal: Reader,
    name: str,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List an application's learnt runs, newest first; only operators see others'."""
    return _LEARNT.tagged(request, services.history.learnt_runs(principal, name, limit))


@router.delete("/applications/{name}/runs", tags=["domain"], status_code=HTTPStatus.NO_CONTENT)
def forget_runs(request: Request, portal: Portal, principal: Submitter, name: str) -> None:
    """Forget what was learnt of an application; only operators forget others' runs with their own."""
    portal.services.history.forget_runs(principal, name)
    portal.access.log(principal, sender(request), "runs forgotten", name)


@router.get(
    "/accuracy",
    tags=["domain"],
    dependencies=[needs(Scope.READ)],
    response_model=list[Accuracy],
    responses=NOT_MODIFIED,
)
def accuracy(request: Request, services: Services) -> Response:
    """Say how well run times were predicted, by application and hardware."""
    return _ACCURACY.tagged(request, list(services.history.accuracy()))


@router.get("/log", tags=["domain"], response_model=list[RecordView], responses=NOT_MODIFIED)
def log(
    request: Request,
    services: Services,
    principal: Reader,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> Response:
    """List log entries, newest first; only operators see those of other users' tasks."""
    return _LOG.tagged(request, list(services.history.log(principal, limit, offset)))


@router.get(
    "/recording",
    tags=["domain"],
    response_class=StreamingResponse,
    responses={200: {"content": {_JSON_LINES: {"schema": {"type": "string"}}}}},
)
def recording(request: Request, portal: Portal, principal: Manager) -> Response:
    """Return the core's last events, one JSON object a line, with all names; for administrators."""
    blocks = portal.services.recordings.blocks(principal)
    portal.access.log(principal, sender(request), "recording saved", "")
    return StreamingResponse(blocks, media_type=_JSON_LINES)
