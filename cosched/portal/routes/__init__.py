"""API routes under /api/v1: one module a noun, each with a router.

`application.py` collects the routers.
"""

from typing import Any

from fastapi import APIRouter
from fastapi.params import Depends

from cosched.api.problems import PROBLEM_MEDIA_TYPE

__all__ = ["api_router"]

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request is at fault; `detail` says how.", "content": {PROBLEM_MEDIA_TYPE: {}}},
    "5XX": {"description": "cosched or the resource manager is at fault.", "content": {PROBLEM_MEDIA_TYPE: {}}},
}


def api_router(*tags: str, needs: Depends | None = None, **settings: Any) -> APIRouter:
    """Return a router of the API.

    Args:
        tags: tags of its routes in the OpenAPI description.
        needs: a dependency of all its routes.
        settings: others of `APIRouter`.
    """
    dependencies = [] if needs is None else [needs]
    return APIRouter(prefix="/api/v1", tags=[*tags], dependencies=dependencies, responses=_PROBLEMS, **settings)
