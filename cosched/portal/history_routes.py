"""What has been, over HTTP: runs, plans, how the search went, how right predictions were, and the log."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from cosched.access.principal import Scope
from cosched.portal.answers import UNCHANGED, Answer
from cosched.portal.documents import Accuracy, PlanPoint, RecordView, RunView, SearchPoint
from cosched.portal.identity import Asker, needs
from cosched.portal.insight import Insight
from cosched.portal.interface import Service

__all__ = ["routes"]

_RUNS, _LOG = Answer[list[RunView]](list[RunView]), Answer[list[RecordView]](list[RecordView])
_PLANS, _SEARCH = Answer[list[PlanPoint]](list[PlanPoint]), Answer[list[SearchPoint]](list[SearchPoint])
_ACCURACY = Answer[list[Accuracy]](list[Accuracy])


def routes(service: Service, insight: Insight) -> APIRouter:
    """Return the routes."""
    router = APIRouter(dependencies=[needs(Scope.READ)])

    @router.get("/tasks/{task_id}/plans", tags=["tasks"], response_model=list[PlanPoint], responses=UNCHANGED)
    def plans(request: Request, asker: Asker, task_id: str) -> Response:
        """Say where a task was planned as the plan changed, the oldest first."""
        service.task(asker, task_id)  # whoever may not see it gets no further
        return _PLANS.tagged(request, list(insight.planned(task_id)))

    @router.get("/plan/search", tags=["domain"], response_model=list[SearchPoint], responses=UNCHANGED)
    def search(request: Request) -> Response:
        """Say how the search's plan became better, the oldest first."""
        return _SEARCH.tagged(request, list(insight.search()))

    @router.get("/runs", tags=["domain"], response_model=list[RunView], responses=UNCHANGED)
    def runs(
        request: Request,
        asker: Asker,
        since: Annotated[float, Query(ge=0, le=1e11, description="Only what ended after this time.")] = 0.0,
    ) -> Response:
        """List what has run, on which hosts: the schedule's past; the last 4,000 attempts at most."""
        return _RUNS.tagged(request, list(insight.runs(asker, since)))

    @router.get("/accuracy", tags=["domain"], response_model=list[Accuracy], responses=UNCHANGED)
    def accuracy(request: Request) -> Response:
        """Say how well run times were predicted, by application and hardware."""
        return _ACCURACY.tagged(request, list(insight.accuracy()))

    @router.get("/log", tags=["domain"], response_model=list[RecordView], responses=UNCHANGED)
    def log(
        request: Request,
        asker: Asker,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    ) -> Response:
        """List what has happened, newest first; of other users' tasks only for operators."""
        return _LOG.tagged(request, list(insight.log(asker, limit, offset)))

    return router
