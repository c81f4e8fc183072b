"""Records say what a run of a program took and did: a line of JSON each.

Start at `ObservedRun` and `read_records`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["DISTURBED", "LARGEST", "MOST_RECORDS", "Block", "Message", "ObservedRun", "read_records", "record_line"]

MOST_RECORDS = 100_000
"""More lines are refused."""

DISTURBED = 0.005
"""Part of the run time that its ranks together waited for a processor, from which a run is disturbed."""

LARGEST = 1e18
"""Numbers that are no times are not larger."""

_SCHEMA = 1
_LONGEST_TEXT = 100_000
_LONGEST_TIME = 10 * 365 * 86400.0
_LATEST = 1e11  # seconds since the epoch


@dataclass(frozen=True, slots=True)
class Block:
    """Work of a rank between two calls of the message library.

    Attributes:
        id: the calls at its ends.
        rank: whose.
        visits: how often.
        quantiles: seconds of processor time of a visit: 25, 50 and 75 %.
    """

    id: str
    rank: int
    visits: int
    quantiles: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Message:
    """Messages of a rank from one place of its program.

    Attributes:
        site: the call.
        kind: such as `exchange`.
        rank: who sends.
        peer: to whom, relative to it: `+1`; of collectives `all` or `root`.
        bytes: mean size.
        count: how many.
    """

    site: str
    kind: str
    rank: int
    peer: str
    bytes: float
    count: int


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """A run of a program.

    Attributes:
        application: its name.
        digest: of its file.
        parameters: numbers that decide how long it runs, by name.
        hosts: how many it had.
        processors: ranks in all; one without MPI.
        hardware: class of the hosts; empty where nobody says.
        started: seconds since the epoch.
        wall: seconds.
        cpu: seconds of processor time of each rank.
        delay: seconds that its ranks waited for a processor.
        rss: bytes of memory that a rank took at most.
        shim: whether its calls were watched, which takes time.
        calls: how many calls each rank made.
        blocks: work between calls.
        messages: what was sent.
        loops: the order of calls, such as `2*(10*(irecv isend wait) allreduce)`.
        startup: seconds that launchers and the beginning of processes took beside; 0 where nobody says.
        by_task: whether a resource manager started it, as it does any task; else it was run from a terminal.
    """

    application: str
    digest: str
    parameters: Mapping[str, float]
    hosts: int
    processors: int
    hardware: str
    started: float
    wall: float
    cpu: tuple[float, ...]
    delay: float
    rss: int
    shim: bool
    calls: int
    blocks: tuple[Block, ...] = ()
    messages: tuple[Message, ...] = ()
    loops: str = ""
    startup: float = 0.0
    by_task: bool = False

    @property
    def waited(self) -> float:
        """Return the part of the run time that its ranks together waited for processors that others had."""
        return self.delay / self.wall

    @property
    def undisturbed(self) -> bool:
        """Return whether its ranks hardly waited."""
        return self.waited < DISTURBED


def read_records(text: str, file: str) -> list[ObservedRun]:
    """Return the records of a file, a line each; empty lines count for nothing.

    Raises:
        UserError: what is wrong, with its line.
    """
    found: list[ObservedRun] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if len(found) == MOST_RECORDS:
            raise UserError(f"{file} has more than {MOST_RECORDS:,} records: keep the newest")
        try:
            found.append(_record(json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            said = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise UserError(f"{file}:{number}: this is no record of a run: {said}: leave this line out") from error
    return found


def record_line(record: ObservedRun) -> str:
    """Return a record as a line of JSON, with its end."""
    document: dict[str, Any] = {"schema": _SCHEMA}
    for name, (key, _) in _FIELDS.items():
        value = getattr(record, name)
        if name == "blocks":
            value = [{key: getattr(each, key) for key in _BLOCK} for each in value]
        elif name == "messages":
            value = [{key: getattr(each, key) for key in _MESSAGE} for each in value]
        document[key] = dict(value) if name == "parameters" else value
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def _record(document: Any) -> ObservedRun:
    given = _object(document, "the line", {"schema", *(key for key, _ in _FIELDS.values())})
    if given["schema"] != _SCHEMA:
        raise ValueError(f"its schema is {given['schema']!r}, and this cosched knows {_SCHEMA}")
    given = {**_LATER, **given}
    return ObservedRun(**{name: read(given[key], key) for name, (key, read) in _FIELDS.items()})


def _object(value: Any, key: str, known: Iterable[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{key} is no object")
    for name in value:
        if name not in known:
            raise ValueError(f"{name[:80]!r} is not known")
    return value


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.isprintable():
        raise ValueError(f"{key} is no plain text")
    return value


def _number(least: float, most: float) -> Callable[[Any, str], float]:
    def read(value: Any, key: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{key} is {str(value)[:80]!r}, no number")
        if not (least <= value <= most and math.isfinite(value)):
            raise ValueError(f"{key} is {value:g}: it must be {least:g} to {most:g}")
        return float(value)

    return read


def _whole(least: int, most: float) -> Callable[[Any, str], int]:
    read_number = _number(least, most)

    def read(value: Any, key: str) -> int:
        if read_number(value, key) != value or not isinstance(value, int):
            raise ValueError(f"{key} is {value!r}: it must be a whole number")
        return value

    return read


def _yes_or_no(value: Any, key: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{key} is {str(value)[:80]!r}: it must be true or false")
    return value


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{key} is no list")
    return value


def _parameters(value: Any, key: str) -> dict[str, float]:
    read = _number(-LARGEST, LARGEST)
    if not isinstance(value, dict):
        raise TypeError(f"{key} is no object")
    return {_text(name, key): read(each, name) for name, each in value.items()}


def _times(value: Any, key: str) -> tuple[float, ...]:
    return tuple(_seconds(each, key) for each in _list(value, key))


def _quantiles(value: Any, key: str) -> tuple[float, float, float]:
    found = _times(value, key)
    if len(found) != len(("25 %", "50 %", "75 %")) or list(found) != sorted(found):
        raise ValueError(f"{key} are not three ascending times")
    return found[0], found[1], found[2]


_seconds = _number(0.0, _LONGEST_TIME)
_BLOCK: dict[str, Callable[[Any, str], Any]] = {
    "id": _text,
    "rank": _whole(0, 1e6),
    "visits": _whole(0, LARGEST),
    "quantiles": _quantiles,
}
_MESSAGE: dict[str, Callable[[Any, str], Any]] = {
    "site": _text,
    "kind": _text,
    "rank": _whole(0, 1e6),
    "peer": _text,
    "bytes": _number(0.0, LARGEST),
    "count": _whole(0, LARGEST),
}


def _blocks(value: Any, key: str) -> tuple[Block, ...]:
    documents = [_object(each, key, _BLOCK) for each in _list(value, key)]
    return tuple(Block(**{name: read(each[name], name) for name, read in _BLOCK.items()}) for each in documents)


def _messages(value: Any, key: str) -> tuple[Message, ...]:
    documents = [_object(each, key, _MESSAGE) for each in _list(value, key)]
    return tuple(Message(**{name: read(each[name], name) for name, read in _MESSAGE.items()}) for each in documents)


_FIELDS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "application": ("application", _text),
    "digest": ("digest", _text),
    "parameters": ("parameters", _parameters),
    "hosts": ("hosts", _whole(1, 1e6)),
    "processors": ("processors", _whole(1, 1e6)),
    "hardware": ("class", _text),
    "started": ("started", _number(0.0, _LATEST)),
    "wall": ("wall", _number(1e-9, _LONGEST_TIME)),
    "cpu": ("cpu", _times),
    "delay": ("delay", _seconds),
    "rss": ("rss", _whole(0, LARGEST)),
    "shim": ("shim", _yes_or_no),
    "calls": ("calls", _whole(0, LARGEST)),
    "blocks": ("blocks", _blocks),
    "messages": ("messages", _messages),
    "loops": ("loops", _text),
    "startup": ("startup", _seconds),
    "by_task": ("task", _yes_or_no),
}
"""Name of each attribute, with its key in JSON and how it is read."""
_LATER = {"startup": 0.0, "task": False}
"""Values of keys that the first records of this schema did not have."""
