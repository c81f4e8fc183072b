"""The domain as GLUE 2.0, over HTTP."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from typing import Any

from fastapi import Response

from cosched.access.principals import Principal
from cosched.app.domain_status import DomainDescription
from cosched.errors import UserError
from cosched.portal.dependencies import Portal, Reader
from cosched.portal.information import glue_formats
from cosched.portal.information.glue import glue_entities
from cosched.portal.routes import api_router
from cosched.portal.state import PortalState

__all__ = ["router"]

_XML, _LDIF = "application/xml", "text/ldif"
_FRESH = {"Cache-Control": "private, no-cache"}


router = api_router("domain", default_response_class=Response)


def _answered(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {}}}}


@router.get("/glue2", responses=_answered(_XML))
def xml(portal: Portal, principal: Reader) -> Response:
    """Describe the domain in GLUE 2.0, as XML."""
    published = _described(portal, principal)
    content = glue_formats.glue_xml(glue_entities(published, _address(portal)), published.time)
    return Response(content, media_type=_XML, headers=_FRESH)


@router.get("/glue2/ldif", responses=_answered(_LDIF))
def ldif(portal: Portal, principal: Reader) -> Response:
    """Describe the domain in GLUE 2.0, as LDIF for a directory."""
    published = _described(portal, principal)
    content = glue_formats.glue_ldif(glue_entities(published, _address(portal)), published.time)
    return Response(content, media_type=_LDIF, headers=_FRESH)


def _described(portal: PortalState, principal: Principal) -> DomainDescription:
    return portal.services.domain.description(principal, portal.services.models.applications())


def _address(portal: PortalState) -> str:
    try:
        base = portal.pages_address()
    except UserError:  # it is reached at a socket alone, which no other machine could use
        return ""
    return f"{base}/api/v1" if base else ""
