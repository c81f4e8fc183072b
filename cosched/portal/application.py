"""The web application is assembled here: middleware, routes, pages and error handlers.

Start at `build_application`; a new API route is a function in `routes/`, included here.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from cosched.access.authentication import COOKIE, Authenticator
from cosched.api.problems import PROBLEM_MEDIA_TYPE
from cosched.app.credential_service import CredentialService
from cosched.app.services import DomainServices
from cosched.errors import CoschedError
from cosched.portal import pages
from cosched.portal.middleware.guard import RequestGuard
from cosched.portal.middleware.headers import SecureHeaders
from cosched.portal.middleware.identity import IdentityMiddleware
from cosched.portal.middleware.metering import MeterMiddleware, RequestMetrics
from cosched.portal.pages.error_pages import with_error_pages
from cosched.portal.pages.rendering import Renderer
from cosched.portal.responses import error_response, problem_response
from cosched.portal.routes import credentials, domain, events, glue, library, login, metrics
from cosched.portal.routes.domain import domain_routes
from cosched.portal.routes.tasks import task_routes
from cosched.version import __version__

__all__ = ["DescribedApplication", "build_application"]


_SCHEMES: dict[str, dict[str, str]] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "From `cosched token create`. The unix socket needs none: its other end says who you are.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": f"From logging in on the pages; over TLS it is named __Host-{COOKIE}.",
    },
    "csrf": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRF-Token",
        "description": "From the page, beside the session's cookie, for what changes something.",
    },
}
_ASKING: list[dict[str, list[str]]] = [{"token": []}, {"session": []}]
_CHANGING: list[dict[str, list[str]]] = [{"token": []}, {"session": [], "csrf": []}]


class DescribedApplication(FastAPI):
    """An application with credentials in its OpenAPI description."""

    def openapi(self) -> dict[str, Any]:
        """Return the description, made at the first call."""
        if self.openapi_schema is None:
            found = super().openapi()
            found.setdefault("components", {})["securitySchemes"] = _SCHEMES
            for path, operations in found["paths"].items():
                if path.startswith("/api/"):  # the others are for those who only ask whether we live
                    for method, operation in operations.items():
                        operation["security"] = _ASKING if method == "get" else _CHANGING
        return super().openapi()


_LARGEST_BODY = 16 << 20
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is at fault; `detail` says how.", "content": {PROBLEM_MEDIA_TYPE: {}}},
    "5XX": {"description": "cosched or the resource manager is at fault.", "content": {PROBLEM_MEDIA_TYPE: {}}},
}


def build_application(
    services: DomainServices,
    access: Authenticator,
    host_names: Collection[str] | None = None,
    portal: Callable[[], str] = lambda: "",
) -> FastAPI:
    """Make the API and the pages.

    Args:
        services: of the domain.
        access: says who asks.
        host_names: names by which a client may call us on a port; None for any.
        portal: returns the address of the pages; raises `UserError` where there is none.
    """
    app = DescribedApplication(
        title="cosched", version=__version__, openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None
    )
    # The last one added sees a request first: headers go on every answer, those of the guard among them.
    app.add_middleware(IdentityMiddleware, gate=access)
    app.add_middleware(RequestGuard, largest_body=_LARGEST_BODY, host_names=host_names)
    app.add_middleware(SecureHeaders)
    registry = CollectorRegistry()
    app.add_middleware(MeterMiddleware, requests=RequestMetrics(registry))
    handlers = {CoschedError: error_response, RequestValidationError: _validation_problem, HTTPException: _http_problem}
    routers = [
        task_routes(services),  # first: a router tries its routes in order, and these are asked for most
        domain_routes(services),
        domain.reservation_routes(services, access),
        glue.glue_routes(services, portal),
        events.event_routes(services.feed),
        credentials.credential_routes(CredentialService(access), portal),
        domain.history_routes(services),
        domain.recording_routes(services, access),
        library.library_routes(services),
    ]
    for router in routers:
        app.include_router(router, prefix="/api/v1", responses=_PROBLEMS)
    app.get("/healthz", response_class=PlainTextResponse)(_health)
    app.include_router(metrics.metric_routes(services, registry))
    renderer = Renderer(services)
    app.include_router(login.login_routes(access, renderer))
    app.include_router(pages.routes(services, renderer, CredentialService(access)))
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, with_error_pages(renderer, handler))
    return app


async def _health() -> str:
    """Answer while the server lives."""
    return "ok\n"


def _validation_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fault = error.errors()[0]  # its place is ("query" or "path", name, …)
    wanted = fault["msg"].replace("Input should be", "it must be")
    return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, f"{fault['loc'][1]} is {fault.get('input')!r}: {wanted}")


def _allow_header(request: Request) -> Mapping[str, str] | None:
    """Return the header that names all methods of a path: the router knows only those of the first route that fits."""
    paths: dict[str, Any] = request.app.openapi()["paths"]
    found = {
        method.upper()
        for path, methods in paths.items()
        if compile_path(path)[0].match(request.url.path)
        for method in methods
    }
    return {"Allow": ", ".join(sorted(found))} if found else None


def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    details = {
        HTTPStatus.NOT_FOUND: f"there is no {request.url.path}: /api/v1/openapi.json says what there is",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.method} cannot be used on {request.url.path}",
    }
    headers = _allow_header(request) if status is HTTPStatus.METHOD_NOT_ALLOWED else None
    return problem_response(status, details.get(status, str(error.detail)), headers or error.headers)
