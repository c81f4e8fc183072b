"""The portal's pages are HTML; a small script keeps them up to date.

A page that changes while it is looked at is made of parts (blocks `part_…` of its template): on an event of the API's
stream the script asks for them anew with `?part=…`. Forms work without the script, too. A new page is a module here,
its template in templates/portal/, and its router in `_ROUTERS` of `portal/application.py`.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of dependencies when it takes them.

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.params import Depends as Dependency
from pydantic import BeforeValidator

from cosched.api.times import reader_zone
from cosched.portal.dependencies import csrf_checked
from cosched.portal.pages.rendering import zone_of

__all__ = ["PageNumber", "page_router"]

_DIGITS = 7  # of a page's number; what is longer is behind every last page


def _page_number(written: str) -> int:
    """Return the number of a list's page as an address has it; the first page for what is none."""
    digits = written.strip().lstrip("0")
    if not (digits.isascii() and digits.isdecimal()):
        return 1
    return int(digits) if len(digits) <= _DIGITS else 10**_DIGITS


PageNumber = Annotated[int, BeforeValidator(_page_number), Query()]
"""Which page of a list is shown, from 1; a list that has fewer shows its last one."""


def page_router(needs: Dependency | None = None) -> APIRouter:
    """Return a router of pages; its forms need the page's CSRF token.

    Args:
        needs: a further dependency of all its routes.
    """
    shared: list[Dependency] = [Depends(csrf_checked), Depends(_use_readers_zone)]
    return APIRouter(include_in_schema=False, dependencies=shared if needs is None else [*shared, needs])


async def _use_readers_zone(request: Request) -> None:
    """Show times in the reader's zone, those of refusals from further down too."""
    reader_zone.set(zone_of(request))
