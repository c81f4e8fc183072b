"""From the body of a request to `TaskRequest`s; every mistake is answered with one clear line."""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic_core import from_json

from cosched.portal.documents import TaskRequest
from cosched.portal.problems import RequestError

__all__ = ["MOST_TASKS", "digest", "read_requests", "request_schema"]

MOST_TASKS = 10_000
"""Tasks in one request."""

_REQUEST: TypeAdapter[TaskRequest] = TypeAdapter(
    with_config(ConfigDict(extra="forbid", allow_inf_nan=False))(TaskRequest)
)
_KEYS = ", ".join(_REQUEST.json_schema()["properties"])
_MULTIPLE_ERRORS_SHOWN = 3


def request_schema() -> dict[str, Any]:
    """Return the JSON schema of one task in a request, for the API's description."""
    return _REQUEST.json_schema()


def read_requests(body: bytes) -> list[TaskRequest]:
    """Read one task or a list of tasks.

    Raises:
        RequestError: not JSON, or not of the form of tasks; says which task and which key.
    """
    try:
        document = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from error
    if isinstance(document, dict):
        return [_read(document, "")]
    if not isinstance(document, list) or not document:
        raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "send one task as a JSON object, or several as a list")
    if len(document) > MOST_TASKS:
        raise RequestError(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"{len(document)} tasks are too many at once: send at most {MOST_TASKS}"
        )
    return [_read(item, f"task {place} of the list: ") for place, item in enumerate(document, start=1)]


def digest(requests: list[TaskRequest]) -> str:
    """Return what tells requests of different content apart, whatever the spelling of their JSON."""
    content = json.dumps(_LIST.dump_python(requests, mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


_LIST: TypeAdapter[list[TaskRequest]] = TypeAdapter(list[TaskRequest])


def _read(document: Any, place: str) -> TaskRequest:
    try:
        return _REQUEST.validate_python(document)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        # A value that fits none of a key's types has one fault for each type; the key is named once.
        sentences = {str(fault["loc"][0]) if fault["loc"] else "": _sentence(fault) for fault in reversed(faults)}
        shown = [*reversed(sentences.values())][:_MULTIPLE_ERRORS_SHOWN]
        raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, place + "; ".join(shown)) from error


def _sentence(fault: Any) -> str:
    key = ".".join(str(part) for part in fault["loc"] if str(part) not in ("int", "float", "str"))
    match fault["type"]:
        case "unexpected_keyword_argument":
            return f"unknown key {key!r}: a task has {_KEYS}"
        case "dataclass_type":
            return "a task is a JSON object"
        case _:
            return f"{key} is {str(fault['input'])[:80]!r}: {fault['msg'].replace('Input should be', 'it must be')}"
