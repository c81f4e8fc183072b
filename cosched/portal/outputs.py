"""What a task's processes wrote, over HTTP: bytes as they are, a part at a time."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from enum import StrEnum
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response

from cosched.access.principal import Scope
from cosched.portal.identity import Asker, needs
from cosched.portal.interface import Service

__all__ = ["MOST_BYTES", "routes"]

_USUAL = 64 * 1024
MOST_BYTES = 1 << 20
"""Of output in one answer."""


class Stream(StrEnum):
    """Which of the two a process wrote to."""

    OUT = "out"
    ERR = "err"


def routes(service: Service) -> APIRouter:
    """Return the routes for what tasks wrote."""
    router = APIRouter(tags=["tasks"])

    @router.get(
        "/tasks/{task_id}/output/{stream}",
        dependencies=[needs(Scope.READ)],
        response_class=Response,
        responses={
            "200": {"content": {"application/octet-stream": {}}},
            "204": {"description": "Nothing was written yet."},
        },
    )
    def output(
        asker: Asker,
        task_id: str,
        stream: Stream,
        rank: Annotated[int, Query(ge=0, le=10**6, description="Of the process.")] = 0,
        attempt: Annotated[int, Query(ge=0, le=10**6, description="Which try; 0: the last.")] = 0,
        offset: Annotated[int, Query(ge=-(2**62), le=2**62, description="First byte; negative: from the end.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_BYTES, description="Most bytes to send.")] = _USUAL,
    ) -> Response:
        """Send part of what a process wrote; `Cosched-Offset` and `Cosched-Size` say which part of how much."""
        found = service.output(asker, task_id, str(stream), rank, attempt, offset, limit)
        if found is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        headers = {"Cosched-Offset": str(found.offset), "Cosched-Size": str(found.size), "Cache-Control": "no-store"}
        # Never a page: whatever a job wrote is not for a browser to interpret.
        return Response(found.data, media_type="application/octet-stream", headers=headers)

    return router
