"""The web application is assembled here: middleware, routes, pages and error handlers.

Start at `build_application`. Routes are made once in a process, when their modules are imported; they find a daemon's
own values in `app.state.portal`. A new API route is a function in `routes/`; the router of a new module is listed here.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from cosched.access.authentication import COOKIE
from cosched.errors import CoschedError, expected_text
from cosched.portal.computations import Computations
from cosched.portal.middleware.guard import RequestGuard
from cosched.portal.middleware.headers import SecureHeaders
from cosched.portal.middleware.identity import IdentityMiddleware
from cosched.portal.middleware.metering import MeterMiddleware, RequestMetrics
from cosched.portal.pages import (
    account,
    api_docs,
    bulk_actions,
    cancel,
    models,
    output,
    schedule,
    static_files,
    submit,
    task,
)
from cosched.portal.pages import domain as domain_page
from cosched.portal.pages import tasks as tasks_page
from cosched.portal.pages.administration import people, system
from cosched.portal.pages.error_pages import with_error_pages
from cosched.portal.pages.figures import accuracy, deadlines, utilisation
from cosched.portal.responses import error_response, problem_response
from cosched.portal.routes import (
    administration as administration_routes,
)
from cosched.portal.routes import (
    credentials,
    domain,
    elastic,
    events,
    glue,
    history,
    library,
    login,
    metrics,
    reservations,
    shares,
    tasks,
)
from cosched.portal.state import PortalState
from cosched.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fastapi import Request, Response

    from cosched.access.authentication import Authenticator
    from cosched.app.services import DomainServices

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
                if path.startswith("/api/"):  # the others answer checks whether the daemon lives
                    for method, operation in operations.items():
                        operation["security"] = _ASKING if method == "get" else _CHANGING
        return super().openapi()


_LARGEST_BODY = 16 << 20
# In this order: a router tries its routes one after the other, and tasks are asked for most.
_ROUTERS = (
    tasks.router,
    domain.router,
    elastic.router,
    reservations.router,
    shares.router,
    glue.router,
    events.router,
    credentials.router,
    history.router,
    library.router,
    metrics.router,
    login.router,
    administration_routes.router,
    static_files.router,
    submit.router,
    tasks_page.router,
    bulk_actions.router,
    task.router,
    output.router,
    cancel.router,
    schedule.router,
    deadlines.router,
    accuracy.router,
    utilisation.router,
    domain_page.router,
    account.router,
    people.router,
    system.router,
    models.router,
    api_docs.router,
)


def build_application(
    services: DomainServices,
    access: Authenticator,
    host_names: Collection[str] | None = None,
    pages_address: Callable[[], str] = lambda: "",
) -> FastAPI:
    """Make the API and the pages of one daemon.

    Args:
        services: services of the domain.
        access: authenticates each request.
        host_names: names by which a client may call us on a port; None for any.
        pages_address: returns the address of the pages; raises `UserError` where there is none.
    """
    app = DescribedApplication(
        title="cosched", version=__version__, openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None
    )
    computations = Computations(lambda: services.feed.closed)
    app.state.portal = portal = PortalState(services, access, pages_address, computations)
    # The last one added sees a request first: headers go on every answer, those of the guard among them.
    app.add_middleware(IdentityMiddleware, gate=access)
    app.add_middleware(RequestGuard, largest_body=_LARGEST_BODY, host_names=host_names)
    app.add_middleware(SecureHeaders)
    app.add_middleware(MeterMiddleware, requests=RequestMetrics(portal.registry))
    metrics.register_metrics(portal.registry, services)
    for router in _ROUTERS:
        # `include_router` would make every route once more for each application, and match it twice for each request.
        app.router.routes.extend(router.routes)
    handlers = {CoschedError: error_response, RequestValidationError: _validation_problem, HTTPException: _http_problem}
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, with_error_pages(handler))
    return app


def _validation_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fault = error.errors()[0]  # its place is ("query" or "path", name, …)
    wanted = expected_text(fault["msg"])
    return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, f"{fault['loc'][1]} is {fault.get('input')!r}: {wanted}")


def _allow_header(request: Request) -> Mapping[str, str] | None:
    """Return the Allow header with all methods of a path.

    The router knows only those of the first route that fits.
    """
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
    status, path = HTTPStatus(error.status_code), request.url.path
    guide = "/docs says what there is" if path.startswith("/api/") else "the menu leads to all pages"
    details = {
        HTTPStatus.NOT_FOUND: f"there is no {path}: {guide}",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.method} cannot be used on {path}",
    }
    headers = _allow_header(request) if status is HTTPStatus.METHOD_NOT_ALLOWED else None
    return problem_response(status, details.get(status, str(error.detail)), headers or error.headers)
