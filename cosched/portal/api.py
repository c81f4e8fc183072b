"""The HTTP API under /api/v1. It knows JSON and HTTP; what is asked is done by the `Service` behind it."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from cosched import __version__
from cosched.access.access import Access
from cosched.access.grants import Grants
from cosched.access.principal import Scope
from cosched.coscheduler.task import TaskState
from cosched.errors import CoschedError
from cosched.portal import (
    credentials,
    events,
    glue_routes,
    history_routes,
    library_routes,
    login,
    metrics,
    outputs,
    pages,
    reservation_routes,
    submission,
)
from cosched.portal.answers import UNCHANGED, Answer
from cosched.portal.description import DescribedAPI
from cosched.portal.documents import (
    Explanation,
    HostView,
    NetworkView,
    PeerView,
    PlanView,
    Status,
    TaskDetail,
    TaskPage,
    TaskView,
)
from cosched.portal.guard import Guard
from cosched.portal.headers import SecureHeaders
from cosched.portal.identity import Asker, Identify, needs
from cosched.portal.insight import Insight
from cosched.portal.interface import Service
from cosched.portal.metrics import Meter, Requests
from cosched.portal.pages.faults import on_pages
from cosched.portal.pages.rendering import Renderer
from cosched.portal.problems import MEDIA_TYPE, answer, problem
from cosched.portal.short_way import ShortWay
from cosched.portal.task_answers import TaskAnswers
from cosched.store.selection import Selection

__all__ = ["build"]

_LARGEST_BODY = 16 << 20
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is at fault; `detail` says how.", "content": {MEDIA_TYPE: {}}},
    "5XX": {"description": "cosched or the resource manager is at fault.", "content": {MEDIA_TYPE: {}}},
}
_EXPLANATION = Answer[Explanation](Explanation)
_HOSTS, _PLAN, _STATUS = Answer[list[HostView]](list[HostView]), Answer[PlanView](PlanView), Answer[Status](Status)


def build(
    service: Service,
    access: Access,
    host_names: Collection[str] | None = None,
    portal: Callable[[], str] = lambda: "",
    insight: Insight | None = None,
) -> FastAPI:
    """Make the API and the pages.

    Args:
        service: does what is asked.
        access: says who asks.
        host_names: names by which a client may call us on a port; None for any.
        portal: returns the address of the pages; raises `UserError` where there is none.
        insight: what is told beside; None for a service without history, library and pages.
    """
    app = DescribedAPI(
        title="cosched", version=__version__, openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None
    )
    # The last one added sees a request first: headers go on every answer, those of the guard among them.
    answers = TaskAnswers(service)
    app.add_middleware(ShortWay, answers=answers)
    app.add_middleware(Identify, gate=access)
    app.add_middleware(Guard, largest_body=_LARGEST_BODY, host_names=host_names)
    app.add_middleware(SecureHeaders)
    registry = CollectorRegistry()
    app.add_middleware(Meter, requests=Requests(registry))
    handlers = {CoschedError: answer, RequestValidationError: _invalid, HTTPException: _http}
    routers = [
        submission.routes(answers),
        _tasks(service, answers),
        outputs.routes(service),
        _domain(service),
        reservation_routes.routes(service, access),
        glue_routes.routes(service, portal),
        events.routes(service.feed),
        credentials.routes(Grants(access), portal),
    ]
    if insight is not None:
        routers += (history_routes.routes(service, insight), library_routes.routes(insight))
    for router in routers:
        app.include_router(router, prefix="/api/v1", responses=_PROBLEMS)
    app.get("/healthz", response_class=PlainTextResponse)(_health)
    app.include_router(metrics.routes(service, registry))
    renderer = Renderer(service)
    app.include_router(login.routes(access, renderer))
    if insight is not None:
        app.include_router(pages.routes(service, insight, renderer, Grants(access)))
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, on_pages(renderer, handler))
    return app


def _tasks(service: Service, answers: TaskAnswers) -> APIRouter:
    router = APIRouter(tags=["tasks"])

    @router.get("/tasks", dependencies=[needs(Scope.READ)], response_model=TaskPage, responses=UNCHANGED)
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
        return answers.page(request, asker, (Selection(tuple(state or ()), owner, search), limit, offset))

    @router.get("/tasks/{task_id}", dependencies=[needs(Scope.READ)], response_model=TaskDetail, responses=UNCHANGED)
    def task(request: Request, asker: Asker, task_id: str) -> Response:
        """Show all that is known of a task."""
        return answers.task(request, asker, task_id)

    @router.get(
        "/tasks/{task_id}/explain", dependencies=[needs(Scope.READ)], response_model=Explanation, responses=UNCHANGED
    )
    def explain(request: Request, asker: Asker, task_id: str) -> Response:
        """Say why a task is where it is, and what would change it."""
        return _EXPLANATION.tagged(request, service.explain(asker, task_id))

    @router.post("/tasks/{task_id}/cancel", status_code=HTTPStatus.ACCEPTED, dependencies=[needs(Scope.SUBMIT)])
    def cancel(asker: Asker, task_id: str) -> TaskView:
        """Take the wish that a task does not run; its job is ended if there is one."""
        return service.cancel(asker, task_id)

    return router


def _domain(service: Service) -> APIRouter:
    router = APIRouter(tags=["domain"], dependencies=[needs(Scope.READ)])

    @router.get("/hosts", response_model=list[HostView], responses=UNCHANGED)
    def hosts(request: Request, asker: Asker) -> Response:
        """List the hosts of the domain."""
        return _HOSTS.tagged(request, list(service.hosts(asker)))

    @router.get("/peers")
    def peers() -> list[PeerView]:
        """List the neighbouring domains: what they offer, and what is exchanged with them."""
        return list(service.peers())

    @router.get("/network")
    def network() -> NetworkView | None:
        """Say what this domain's agent has done, and what its adviser found; null where there is no agent."""
        return service.network()

    @router.get("/plan", response_model=PlanView, responses=UNCHANGED)
    def plan(request: Request, asker: Asker) -> Response:
        """Show the schedule in force: what runs and what is planned."""
        return _PLAN.tagged(request, service.plan(asker))

    @router.get("/status", response_model=Status, responses=UNCHANGED)
    def status(request: Request, asker: Asker) -> Response:
        """Show the daemon's state in short."""
        return _STATUS.tagged(request, service.status(asker))

    return router


async def _health() -> str:
    """Answer while the server lives."""
    return "ok\n"


def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fault = error.errors()[0]  # its place is ("query" or "path", name, …)
    wanted = fault["msg"].replace("Input should be", "it must be")
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{fault['loc'][1]} is {fault.get('input')!r}: {wanted}")


def _allowed(request: Request) -> Mapping[str, str] | None:
    """Return the header that names all methods of a path: the router knows only those of the first route that fits."""
    paths: dict[str, Any] = request.app.openapi()["paths"]
    found = {
        method.upper()
        for path, methods in paths.items()
        if compile_path(path)[0].match(request.url.path)
        for method in methods
    }
    return {"Allow": ", ".join(sorted(found))} if found else None


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    details = {
        HTTPStatus.NOT_FOUND: f"there is no {request.url.path}: /api/v1/openapi.json says what there is",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.method} cannot be used on {request.url.path}",
    }
    headers = _allowed(request) if status is HTTPStatus.METHOD_NOT_ALLOWED else None
    return problem(status, details.get(status, str(error.detail)), headers or error.headers)
