"""Read the output of forwarded tasks from the neighbour that holds it.

GET /output?task=UUID&stream=out&rank=0&attempt=0&offset=-1000&limit=1000
200 with `Cosched-Offset`, `Cosched-Size` and the bytes; 204: nothing is kept; 4xx, 5xx: the reason, in one line
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from cosched.connector.jobs import Output
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MAX_OUTPUT_BYTES",
    "OUTPUT_PATH",
    "OutputQuery",
    "PeerReply",
    "output_reply",
    "read_output_reply",
    "read_query",
]

MAX_OUTPUT_BYTES = 1 << 20
"""Bytes in one answer."""
OUTPUT_PATH = "/output"

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_MAX_PATH = 2000  # characters of a path


class PeerReply(NamedTuple):
    """The answer of a neighbour's agent to a request."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OutputQuery:
    """A part of one output.

    Attributes:
        task: UUID of the task, the same in every domain.
        stream: "out" or "err".
        rank: rank of the process.
        attempt: its number in the domain that ran the task, from 1; 0 for the last.
        offset: first byte; negative counts from the end.
        limit: most bytes, up to `MAX_OUTPUT_BYTES`.
    """

    task: str
    stream: str
    rank: int = 0
    attempt: int = 0
    offset: int = 0
    limit: int = MAX_OUTPUT_BYTES

    @property
    def path(self) -> str:
        """The path that asks for it."""
        return f"{OUTPUT_PATH}?{urlencode(asdict(self))}"


def read_query(path: str) -> OutputQuery:
    """Return the query that a path holds.

    Raises:
        UserError: it holds none; says what is wrong with it.
    """
    parts = urlsplit(path[:_MAX_PATH])
    given = dict(parse_qsl(parts.query))
    unknown = given.keys() - {item.name for item in fields(OutputQuery)}
    if len(path) > _MAX_PATH or parts.path != OUTPUT_PATH or unknown or not given.keys() >= {"task", "stream"}:
        raise UserError(f"{path[:80]!r} is no question for output: GET {OutputQuery('UUID', 'out').path}")
    query = OutputQuery(given.pop("task"), given.pop("stream"), **{name: _number(name, given[name]) for name in given})
    if not _UUID.fullmatch(query.task) or query.stream not in ("out", "err"):
        raise UserError("task is a UUID in small letters, and stream out or err")
    if query.rank < 0 or query.attempt < 0 or not 1 <= query.limit <= MAX_OUTPUT_BYTES:
        raise UserError(f"rank and attempt are at least 0, and limit is from 1 to {MAX_OUTPUT_BYTES}")
    return query


def read_output_reply(reply: PeerReply, query: OutputQuery) -> Output | None:
    """Return the output in a neighbour's answer; None where none is kept there.

    Raises:
        SystemFault: it refused, or its answer does not fit the query.
    """
    if reply.status == HTTPStatus.NO_CONTENT:
        return None
    if reply.status != HTTPStatus.OK:
        raise SystemFault(f"it answers {reply.status}: {reply.body.decode(errors='replace')[:300]}")
    try:
        offset, size = (int(reply.headers[name]) for name in ("Cosched-Offset", "Cosched-Size"))
    except (KeyError, ValueError, TypeError) as error:
        raise SystemFault("its answer does not say which part of the output it is") from error
    if len(reply.body) > query.limit or offset < 0 or offset + len(reply.body) > size:
        raise SystemFault("its answer is larger than the requested part, or contradicts itself")
    return Output(reply.body, offset, size)


def output_reply(found: Output | None) -> PeerReply:
    """Return the answer that `read_output_reply` reads."""
    if found is None:
        return PeerReply(HTTPStatus.NO_CONTENT, b"", {})
    return PeerReply(HTTPStatus.OK, found.data, {"Cosched-Offset": str(found.offset), "Cosched-Size": str(found.size)})


def _number(name: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise UserError(f"{name} is {text[:40]!r}: give a whole number")
    return int(text)
