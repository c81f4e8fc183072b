"""The domain as GLUE 2.0, over HTTP."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response

from cosched.access.principals import Scope
from cosched.app.services import DomainServices
from cosched.errors import UserError
from cosched.portal.dependencies import AnyPrincipal, needs
from cosched.portal.information import glue_formats
from cosched.portal.information.glue import glue_entities

__all__ = ["glue_routes"]

_XML, _LDIF = "application/xml", "text/ldif"
_FRESH = {"Cache-Control": "private, no-cache"}


def glue_routes(services: DomainServices, portal: Callable[[], str]) -> APIRouter:
    """Return the routes.

    Args:
        services: of the domain.
        portal: returns the address on which the API is reached; raises `UserError` where there is none.
    """
    router = APIRouter(tags=["domain"], dependencies=[needs(Scope.READ)], default_response_class=Response)

    @router.get("/glue2", responses=_answered(_XML))
    def xml(principal: AnyPrincipal) -> Response:
        """Describe the domain in GLUE 2.0, as XML."""
        published = services.domain.description(principal)
        content = glue_formats.glue_xml(glue_entities(published, _address(portal)), published.time)
        return Response(content, media_type=_XML, headers=_FRESH)

    @router.get("/glue2/ldif", responses=_answered(_LDIF))
    def ldif(principal: AnyPrincipal) -> Response:
        """Describe the domain in GLUE 2.0, as LDIF for a directory."""
        published = services.domain.description(principal)
        content = glue_formats.glue_ldif(glue_entities(published, _address(portal)), published.time)
        return Response(content, media_type=_LDIF, headers=_FRESH)

    return router


def _answered(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {}}}}


def _address(portal: Callable[[], str]) -> str:
    try:
        base = portal()
    except UserError:  # it is reached at a socket alone, which nobody elsewhere could use
        return ""
    return f"{base}/api/v1" if base else ""
