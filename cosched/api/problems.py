"""The API's errors say which problem document (RFC 9457) answers a request."""

from __future__ import annotations

from http import HTTPStatus

from cosched.errors import UserError

__all__ = ["PROBLEM_MEDIA_TYPE", "BusyError", "ConflictError", "NotFoundError", "QuotaError", "RequestError"]

PROBLEM_MEDIA_TYPE = "application/problem+json"


class NotFoundError(UserError):
    """There is nothing of this name."""


class ConflictError(UserError):
    """The request contradicts an earlier one."""


class QuotaError(UserError):
    """The user has as much as one user may have."""


class BusyError(QuotaError):
    """A resource that the request needs is in use; retry after `pause` seconds."""

    def __init__(self, message: str, pause: float) -> None:
        super().__init__(message)
        self.pause = pause


class RequestError(UserError):
    """The request itself is malformed; `status` says how."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
