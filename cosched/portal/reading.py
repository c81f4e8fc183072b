"""From the body of a request to `TaskRequest`s; every mistake is answered with one clear line."""

from __future__ import annotations

import hashlib
import json
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from cosched.errors import UserError
from cosched.portal.bodies import Form, explained
from cosched.portal.documents import TaskRequest
from cosched.portal.problems import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MOST_TASKS", "digest", "read_requests", "read_values", "request_schema"]

MOST_TASKS = 10_000
"""Tasks in one request."""

_REQUEST = Form(TaskRequest, "a task")  # makes the type strict, in lists too
_LIST: TypeAdapter[list[TaskRequest]] = TypeAdapter(list[TaskRequest])
_KEYS = list(_REQUEST.schema["properties"])


def request_schema() -> dict[str, Any]:
    """Return the JSON schema of one task in a request, for the API's description."""
    return _REQUEST.schema


def read_requests(body: bytes) -> list[TaskRequest]:
    """Read one task or a list of tasks.

    Raises:
        RequestError: not JSON, or not of the form of tasks; says which task and which key.
    """
    if body.lstrip().startswith(b"{"):
        return [_REQUEST.read(body)]
    try:
        requests = _LIST.validate_json(body)
    except ValidationError as error:
        raise _refusal(error) from error
    if not requests:
        raise _neither()
    if len(requests) > MOST_TASKS:
        raise RequestError(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"{len(requests)} tasks are too many at once: send at most {MOST_TASKS}"
        )
    return requests


def digest(requests: list[TaskRequest]) -> str:
    """Return what tells requests of different content apart, whatever the spelling of their JSON."""
    content = json.dumps(_LIST.dump_python(requests, mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def _neither() -> RequestError:
    return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "send one task as a JSON object, or several as a list")


def _refusal(error: ValidationError) -> RequestError:
    first = error.errors(include_url=False, include_input=False)[0]["loc"]
    if not first:
        return explained(error, "a task", _KEYS) if error.errors()[0]["type"] == "json_invalid" else _neither()
    return explained(error, "a task", _KEYS, first[0])


def read_values(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return the parameters of a model that are written as text.

    Raises:
        UserError: one is no finite number.
    """
    values = {}
    for name, text in pairs:
        try:
            values[name] = float(text)
        except ValueError:
            values[name] = math.nan
        if not math.isfinite(values[name]):
            raise UserError(f"{name[:40]} is {text[:40]!r}: give a number")
    return values
