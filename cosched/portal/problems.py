"""Errors on their way out: problem documents (RFC 9457) with one clear `detail`."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi.responses import JSONResponse

from cosched.access.accounts import AccountTakenError, NoAccountError
from cosched.access.principal import ForbiddenError
from cosched.errors import CoschedError, SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request

__all__ = ["MEDIA_TYPE", "ConflictError", "NotFoundError", "QuotaError", "RequestError", "answer", "problem"]

MEDIA_TYPE = "application/problem+json"


class NotFoundError(UserError):
    """There is nothing of this name."""


class ConflictError(UserError):
    """It contradicts what was asked before."""


class QuotaError(UserError):
    """The user has as much as one user may have."""


class RequestError(UserError):
    """The request itself is malformed; `status` says how."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def problem(status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a problem document as a response."""
    document = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    if status is HTTPStatus.UNAUTHORIZED:
        headers = {"WWW-Authenticate": 'Bearer realm="cosched"'}
    return JSONResponse(document, status.value, headers, media_type=MEDIA_TYPE)


def answer(_request: Request, error: Exception) -> JSONResponse:
    """Return the response to an error that cosched raised on purpose."""
    assert isinstance(error, CoschedError)
    return problem(_status(error), str(error))


def _status(error: CoschedError) -> HTTPStatus:
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
        case SystemFault():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case _:
            return HTTPStatus.UNPROCESSABLE_ENTITY
