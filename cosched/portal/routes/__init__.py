"""API routes under /api/v1: one module a noun, each with a router.

`application.py` collects the routers.
"""

import difflib
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, get_args, get_origin

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.params import Depends
from fastapi.routing import APIRoute

from cosched.api.problems import PROBLEM_MEDIA_TYPE, RequestError

__all__ = ["api_router"]

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is at fault; `detail` says how.", "content": {PROBLEM_MEDIA_TYPE: {}}},
    "5XX": {"description": "cosched or the resource manager is at fault.", "content": {PROBLEM_MEDIA_TYPE: {}}},
}


class _CheckedRoute(APIRoute):
    """A route that refuses query parameters which it does not have, and a second value of one that has one.

    Left out, a misspelt `dry_run` would submit, and a misspelt filter would list everything; of two values one would.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()
        known = dict(_parameters(self.dependant))

        async def checked(request: Request) -> Response:
            if request.scope["query_string"]:  # seldom there: the parameters are not even read
                _check_names(request, known)
            return await answer(request)

        return checked


def _parameters(dependant: Dependant) -> list[tuple[str, bool]]:
    """Return the query parameters of a route and of its dependencies, and whether each may have several values."""
    own = [(field.alias, _is_list(field.field_info.annotation)) for field in dependant.query_params]
    return own + [one for each in dependant.dependencies for one in _parameters(each)]


def _is_list(annotation: Any) -> bool:
    return list in {get_origin(kind) for kind in (annotation, *get_args(annotation))}


def _check_names(request: Request, known: Mapping[str, bool]) -> None:
    """Refuse what a route does not know.

    Args:
        request: to the route.
        known: its query parameters, and whether each may have several values.
    """
    for name in request.query_params:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            there = f"there are {', '.join(known)}" if known else "it takes none"
            raise RequestError(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"unknown parameter {name[:80]!r} of {request.method} {request.url.path}{meant}: {there}",
            )
        if len(request.query_params.getlist(name)) > 1 and not known[name]:
            raise RequestError(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"parameter {name} of {request.method} {request.url.path} has several values: give one",
            )


def api_router(*tags: str, needs: Depends | None = None, **settings: Any) -> APIRouter:
    """Return a router of the API.

    Args:
        tags: tags of its routes in the OpenAPI description.
        needs: a dependency of all its routes.
        settings: others of `APIRouter`.
    """
    dependencies = [] if needs is None else [needs]
    return APIRouter(
        prefix="/api/v1",
        tags=[*tags],
        dependencies=dependencies,
        responses=_PROBLEMS,
        route_class=_CheckedRoute,
        **settings,
    )
