"""Documents as answers: JSON, with an entity tag by which a client that has it already is told so (RFC 9110)."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fastapi import Response
from pydantic import TypeAdapter

if TYPE_CHECKING:
    from fastapi import Request

__all__ = ["UNCHANGED", "Answer"]

UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "You have it already (If-None-Match)."}}
"""What a description says of answers that are `tagged`."""

_T = TypeVar("_T")


class Answer(Generic[_T]):
    """Makes answers of one kind of document. What we made ourselves is written, not checked once more."""

    def __init__(self, kind: Any) -> None:
        """Set up for a dataclass, or a list of one."""
        self._adapter: TypeAdapter[_T] = TypeAdapter(kind)

    def __call__(self, document: _T, status: HTTPStatus = HTTPStatus.OK) -> Response:
        """Return the answer with a document."""
        return Response(self._adapter.dump_json(document), status, media_type="application/json")

    def tagged(self, request: Request, document: _T) -> Response:
        """Return the answer to a question, without the document where the client has it (If-None-Match)."""
        content = self._adapter.dump_json(document)
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
        if _matches(request.headers.get("if-none-match", ""), tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(content, media_type="application/json", headers=headers)


def _matches(wanted: str, tag: str) -> bool:
    return wanted.strip() == "*" or any(each.strip().removeprefix("W/") == tag for each in wanted.split(","))
