"""Responses are JSON documents with entity tags (RFC 9110), or problem documents (RFC 9457)."""

from __future__ import annotations

import hashlib
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter

from cosched.access.accounts import AccountTakenError, NoAccountError
from cosched.access.principals import ForbiddenError
from cosched.api.problems import PROBLEM_MEDIA_TYPE, BusyError, ConflictError, NotFoundError, QuotaError, RequestError
from cosched.app.core_access import MistakeError
from cosched.errors import CoschedError, SystemFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request

__all__ = ["NOT_MODIFIED", "DocumentResponder", "error_response", "problem_response"]

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "You have it already (If-None-Match)."}}
"""What a description says of answers that are `tagged`."""

_T = TypeVar("_T")


class DocumentResponder(Generic[_T]):
    """Makes responses of one kind of document, without validating our own data again."""

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
        if _matches_tag(request.headers.get("if-none-match", ""), tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(content, media_type="application/json", headers=headers)


def _matches_tag(wanted: str, tag: str) -> bool:
    return wanted.strip() == "*" or any(each.strip().removeprefix("W/") == tag for each in wanted.split(","))


def problem_response(status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a problem document as a response."""
    document = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    if status is HTTPStatus.UNAUTHORIZED:
        headers = {"WWW-Authenticate": 'Bearer realm="cosched"'}
    return JSONResponse(document, status.value, headers, media_type=PROBLEM_MEDIA_TYPE)


def error_response(_request: Request, error: Exception) -> JSONResponse:
    """Return the response to an error that cosched raised on purpose."""
    assert isinstance(error, CoschedError)
    headers = {"Retry-After": str(math.ceil(error.pause))} if isinstance(error, BusyError) else None
    return problem_response(_status_of(error), str(error), headers)


def _status_of(error: CoschedError) -> HTTPStatus:
    match error:
        case RequestError():
            return error.status
        case ForbiddenError():
            return HTTPStatus.FORBIDDEN
        case NotFoundError() | NoAccountError():
            return HTTPStatus.NOT_FOUND
        case QuotaError():
            return HTTPStatus.TOO_MANY_REQUESTS
        case ConflictError() | AccountTakenError():
            return HTTPStatus.CONFLICT
        case MistakeError():
            return HTTPStatus.INTERNAL_SERVER_ERROR
        case SystemFault():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case _:
            return HTTPStatus.UNPROCESSABLE_ENTITY
