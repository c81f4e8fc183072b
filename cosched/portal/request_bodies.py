"""Request bodies become documents here; every mistake is answered with one clear sentence.

`RequestBody` checks one document; `read_requests` reads one task or a list.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import fields
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, cast

from pydantic import ConfigDict, FailFast, TypeAdapter, ValidationError, with_config
from pydantic_core import from_json

from cosched.api.documents import TaskRequest
from cosched.api.problems import RequestError
from cosched.errors import UserError, expected_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "MOST_TASKS",
    "RequestBody",
    "read_parameter_values",
    "read_requests",
    "request_schema",
    "requests_digest",
    "validation_refusal",
]


MOST_TASKS = 10_000
"""Tasks in one request."""

_T = TypeVar("_T")
_MOST_FAULTS = 3
_MOST_KEYS = 200  # of a document; each that is not known would be a fault of its own
_MOST_ELEMENTS = 65_536  # of a list or an object in a document
_TYPE_NAMES = frozenset({"int", "float", "str", "bool"})  # parts of a fault's place that name a type, not a key


class RequestBody(Generic[_T]):
    """A document that a request carries.

    Types are those of JSON: a number in quotes is text. Unknown keys are refused by name.
    """

    def __init__(self, kind: type[_T], name: str, bounds: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Set up.

        Args:
            kind: a dataclass of `cosched.api.documents`.
            name: its name for people, with an article ("a task").
            bounds: JSON schema keywords by key, for what is refused later and cannot be said by a type.
        """
        self._bounds = bounds or {}
        self._adapter: TypeAdapter[_T] = TypeAdapter(
            with_config(ConfigDict(extra="forbid", allow_inf_nan=False, strict=True))(kind)
        )
        self._name = name
        self._keys = [item.name for item in fields(kind)]  # type: ignore[arg-type]  # a dataclass

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema, for the API's description: whole in itself, without references."""
        schema = self._adapter.json_schema()
        parts = schema.pop("$defs", {})
        for key, words in self._bounds.items():
            schema["properties"][key] |= words
        return cast("dict[str, Any]", _inlined(schema, parts))

    @property
    def description(self) -> dict[str, Any]:
        """Describe a request's body for a route's `openapi_extra`."""
        return {"requestBody": {"required": True, "content": {"application/json": {"schema": self.schema}}}}

    def read(self, body: bytes) -> _T:
        """Read a body.

        Raises:
            RequestError: not JSON, or not of this form.
        """
        _check_size([_json(body)])
        try:
            return self._adapter.validate_json(body)
        except ValidationError as error:
            raise validation_refusal(error, self._name, self._keys) from error


def _inlined(schema: Any, parts: dict[str, Any]) -> Any:
    """Return a schema with each reference replaced by what it refers to."""
    if isinstance(schema, list):
        return [_inlined(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {key: _inlined(value, parts) for key, value in schema.items()}


def validation_refusal(
    error: ValidationError, name: str, keys: Sequence[str], item: int | str | None = None, *, alone: bool = False
) -> RequestError:
    """Return the refusal of a body without the form of its route.

    Args:
        error: the faults of the document.
        name: the expected document, with an article.
        keys: that this has.
        item: place in a list of which only the faults there are named; None where there is no list.
        alone: whether nothing else is in the list, so that the place is not named.
    """
    faults: list[dict[str, Any]] = [dict(fault) for fault in error.errors(include_url=False)]
    place = ""
    if item is not None:
        faults = [{**fault, "loc": fault["loc"][1:]} for fault in faults if fault["loc"][:1] == (item,)]
        place = "" if alone else f"{name.partition(' ')[2]} {int(item) + 1} of the list: "
    if faults[0]["type"] == "json_invalid":
        return RequestError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {faults[0]['ctx']['error']}")
    # A value that fits none of a key's types has one fault for each type; the key is named once.
    sentences = {
        str(fault["loc"][0]) if fault["loc"] else "": _sentence(fault, name, keys) for fault in reversed(faults)
    }
    shown = [*reversed(sentences.values())][:_MOST_FAULTS]
    return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, place + "; ".join(shown))


def _sentence(fault: Any, name: str, keys: Sequence[str]) -> str:
    key = ".".join(str(part) for part in fault["loc"] if str(part) not in _TYPE_NAMES)
    match fault["type"]:
        case "unexpected_keyword_argument":
            return f"unknown key {key!r}: {name} has {', '.join(keys)}"
        case "dataclass_type":
            return f"{name} is a JSON object"
        case "missing":
            return f"{key} is missing"
        case _:
            wanted = expected_text(fault["msg"]).replace("array", "list")
            return f"{key} is {str(fault['input'])[:80]!r}: {wanted}"


def _json(body: bytes) -> Any:
    """Return the JSON of a body, or None; validation then names the fault."""
    try:
        return from_json(body)
    except ValueError:
        return None


def _check_size(documents: Sequence[Any]) -> None:
    """Refuse documents that would cause too many validation faults, as each takes memory.

    Raises:
        RequestError: one has too many keys, or a list or an object in it too many elements.
    """
    for document in documents:
        if not isinstance(document, dict):
            continue
        if len(document) > _MOST_KEYS:
            raise _too_many(f"{len(document)} keys in one object", _MOST_KEYS)
        parts = [part for part in document.values() if isinstance(part, dict | list)]
        parts += [
            each for part in parts if isinstance(part, dict) for each in part.values() if isinstance(each, dict | list)
        ]
        largest = max(map(len, parts), default=0)
        if largest > _MOST_ELEMENTS:
            raise _too_many(f"{largest} elements in one list or object", _MOST_ELEMENTS)


def _too_many(what: str, most: int) -> RequestError:
    return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{what} are too many at once: send at most {most}")


_TASK = RequestBody(TaskRequest, "a task")  # makes the type strict, in lists too
_TASK_LIST: TypeAdapter[list[TaskRequest]] = TypeAdapter(Annotated[list[TaskRequest], FailFast()])
_LATER_FIELDS = (
    "launch",
    "processes_per_host",
    "begin",
    "stdin",
    "retries",
    "requeue",
    "priority",
    "array_index",
    "array_at_most",
    "memory",
    "cores",
    "processes",
    "shapes",
    "gpus",
    "memory_per_process",
    "cores_per_process",
    "gpus_per_process",
    "exclusive",
    "licences",
    "file_sizes",
    "program_digest",
    "elastic",
    "least_quality",
)
_PLAIN: dict[str, Any] = _TASK_LIST.dump_python([TaskRequest()], mode="json")[0]
_DEFAULTS = {name: _PLAIN[name] for name in _LATER_FIELDS}
_TASK_KEYS = list(_TASK.schema["properties"])


def request_schema() -> dict[str, Any]:
    """Return the JSON schema of one task in a request, for the API's description."""
    return _TASK.schema


def read_requests(body: bytes) -> list[TaskRequest]:
    """Read one task or a list of tasks.

    Raises:
        RequestError: not JSON, or not of the form of tasks; says which task and which key.
    """
    if body.lstrip().startswith(b"{"):
        return [_TASK.read(body)]
    documents = _json(body)
    if isinstance(documents, list):
        if len(documents) > MOST_TASKS:
            raise _too_many(f"{len(documents)} tasks", MOST_TASKS)
        _check_size(documents)
    try:
        requests = _TASK_LIST.validate_json(body)
    except ValidationError as error:
        raise _refusal(error, alone=isinstance(documents, list) and len(documents) == 1) from error
    if not requests:
        raise _not_a_task()
    return requests


def requests_digest(requests: Sequence[TaskRequest]) -> str:
    """Return a digest of a request's content, the same for any spelling of its JSON."""
    documents = _TASK_LIST.dump_python(list(requests), mode="json")
    for document in documents:  # a key that was given before there were these fields is known again
        for name, default in _DEFAULTS.items():
            if document[name] == default:
                del document[name]
    content = json.dumps(documents, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def _not_a_task() -> RequestError:
    return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "send one task as a JSON object, or several as a list")


def _refusal(error: ValidationError, *, alone: bool) -> RequestError:
    """Return the refusal of a list of tasks; of one task (`alone`) without its place."""
    first = error.errors(include_url=False, include_input=False)[0]["loc"]
    if not first:
        return (
            validation_refusal(error, "a task", _TASK_KEYS)
            if error.errors()[0]["type"] == "json_invalid"
            else _not_a_task()
        )
    return validation_refusal(error, "a task", _TASK_KEYS, first[0], alone=alone)


def read_parameter_values(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
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
