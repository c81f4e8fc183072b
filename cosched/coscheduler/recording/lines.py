"""A recording is lines of JSON: a head, the core's state, and each event.

    {"recording": 1, "cosched": "0.1.0", "redacted": false, "settings": {...}}
    {"snapshot": {...}, "time": 1700000000.0}
    {"event": {"type": "Tick", "time": 1700000000.2}, "digest": "3f…", "decided": ["dispatch task 7 on node01"]}

A head in the middle begins anew: files are joined by appending them. Start at `RecordingWriter`, `read_recording`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from cosched.coscheduler.attempts.attempt import Attempt
from cosched.coscheduler.changes import (
    AskPeers,
    AskStart,
    CancelAttempt,
    DiagnoseAttempt,
    DispatchAttempt,
    LocateAttempt,
    Replan,
)
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import Event
from cosched.coscheduler.recording.codec import Codec, RecordError
from cosched.coscheduler.recording.redaction import DIGESTED, SECRETS, redaction
from cosched.coscheduler.recording.snapshot import CoreSnapshot
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.task import Task
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cosched.coscheduler.changes import Decision, Outcome

__all__ = [
    "CutLine",
    "RecordedEvent",
    "RecordedStart",
    "RecordingWriter",
    "decision_texts",
    "outcome_digest",
    "read_recording",
]

_FORMAT = 1
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_digested, _plain, _whole = Codec(DIGESTED), Codec(), Codec(defaults=True)


@dataclass(frozen=True, slots=True)
class RecordedStart:
    """The beginning of a recording: settings and state of the core.

    Attributes:
        cosched: version that recorded.
        redacted: whether names and texts were replaced.
        time: time of the state, epoch seconds.
    """

    cosched: str
    redacted: bool
    settings: CoreSettings
    time: float
    snapshot: CoreSnapshot


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event that the core handled.

    Attributes:
        digest: digest of its outcome; empty where the core failed on it.
        decided: one line for each decision but `Replan`.
    """

    event: Event
    digest: str
    decided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CutLine:
    """A line was cut short: its writer was killed, or its file was being copied."""

    number: int


class RecordingWriter:
    """Makes the lines of a recording, without secrets."""

    def __init__(self, *, redacted: bool = False) -> None:
        self._redacted = redacted
        self._codec = Codec(redaction() if redacted else SECRETS)

    def start(self, settings: CoreSettings, time: float, snapshot: CoreSnapshot, recorder: str = "") -> str:
        """Return the lines that a recording begins with.

        Args:
            settings: settings of the core.
            time: epoch seconds.
            snapshot: snapshot of its state.
            recorder: version of cosched that recorded; empty for this one.
        """
        head = {
            "recording": _FORMAT,
            "cosched": recorder or version("cosched"),
            "redacted": self._redacted,
            "settings": _whole.write(settings, CoreSettings),
        }
        state = {"snapshot": self._codec.write(snapshot, CoreSnapshot), "time": time}
        return f"{_encode(head)}\n{_encode(state)}\n"

    def handled(self, event: Event, outcome: Outcome | None) -> str:
        """Return the line of an event and its outcome, None where the core failed."""
        if outcome is None:
            return self.recorded(RecordedEvent(event, ""))
        return self.recorded(RecordedEvent(event, outcome_digest(outcome), decision_texts(outcome.decisions)))

    def recorded(self, recorded: RecordedEvent) -> str:
        """Return the line of an event that was recorded before."""
        line = {"event": self._codec.write(recorded.event, Event), "digest": recorded.digest}
        if recorded.decided:
            line["decided"] = recorded.decided
        return f"{_encode(line)}\n"

    def again(self, entry: RecordedStart | RecordedEvent | CutLine) -> str:
        """Return the lines that an entry was read from, empty for a cut line."""
        match entry:
            case RecordedStart():
                return self.start(entry.settings, entry.time, entry.snapshot, entry.cosched)
            case RecordedEvent():
                return self.recorded(entry)
            case CutLine():
                return ""


def outcome_digest(outcome: Outcome) -> str:
    """Return a short digest of an outcome, the same for a redacted core."""
    changes, write = outcome.changes, _digested.write
    document = (
        [write(task, Task) for task in changes.tasks.values()],
        [write(attempt, Attempt) for attempt in changes.attempts.values()],
        [write(reservation, Reservation) for reservation in changes.reservations.values()],
        decision_texts(outcome.decisions),
        Replan() in outcome.decisions,
    )
    return blake2b(_encode(document).encode(), digest_size=8).hexdigest()


def decision_texts(decisions: Iterable[Decision]) -> tuple[str, ...]:
    """Return one line for each decision, those for a new search left out."""
    return tuple(_decision_text(one) for one in decisions if not isinstance(one, Replan))


def _decision_text(decision: Decision) -> str:
    match decision:
        case DispatchAttempt(attempt, task):
            where = ",".join(attempt.hosts) or f"any {attempt.count}"
            return f"dispatch task {task.id} on {where}"
        case CancelAttempt(uuid):
            return f"cancel attempt {uuid}"
        case LocateAttempt(uuid, fence):
            return f"locate attempt {uuid}{', fenced' if fence else ''}"
        case DiagnoseAttempt(uuid):
            return f"ask why attempt {uuid} has not begun"
        case AskStart(task):
            return f"ask the origin of task {task}"
        case AskPeers(task, end):
            return f"offer task {task} to other domains, here it would end at {end!r}"
        case _:
            return type(decision).__name__


def read_recording(lines: Iterable[bytes], name: str) -> Iterator[RecordedStart | RecordedEvent | CutLine]:
    """Read a recording, line by line.

    Args:
        lines: lines of the file, each with its line end.
        name: name of the file, for errors.

    Yields:
        A start, its events, perhaps another start …; a `CutLine` only at the end or before a start.

    Raises:
        UserError: that is no recording, or one of another version; says which line.
    """
    head: dict[str, Any] | None = None
    begun, cut = False, 0
    for number, line in enumerate(lines, start=1):
        document = _parsed(line)
        starts = document is not None and "recording" in document
        if not (begun or starts):
            break
        if cut and not starts:
            raise _damaged(name, cut)
        if cut:
            yield CutLine(cut)
        begun, cut = True, 0 if document is not None else number
        if starts:
            head = _checked_head(document or {}, name)
        elif document is not None:
            yield _entry(head, document, f"{name}:{number}")
            head = None
    if not begun:
        raise UserError(f"{name} is not a recording: give a file that `cosched domain record` has saved")
    if cut:
        yield CutLine(cut)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _damaged(name: str, number: int) -> UserError:
    return UserError(f"{name}:{number}: this line cannot be read: the file was changed; save the recording again")


def _checked_head(document: dict[str, Any], name: str) -> dict[str, Any]:
    if document["recording"] != _FORMAT:
        raise UserError(
            f"{name} is a recording of format {document['recording']!r}, by cosched {document.get('cosched')}; "
            f"this is cosched {version('cosched')}, which reads format {_FORMAT}: replay it with that version"
        )
    return document


def _entry(head: dict[str, Any] | None, document: dict[str, Any], where: str) -> RecordedStart | RecordedEvent:
    try:
        return _event(document) if head is None else _start(head, document)
    except (RecordError, KeyError) as error:
        raise UserError(f"{where}: this line is not what a recording has here ({error})") from error


def _start(head: dict[str, Any], document: dict[str, Any]) -> RecordedStart:
    return RecordedStart(
        str(head["cosched"]),
        bool(head["redacted"]),
        _plain.read(head["settings"], CoreSettings),
        _plain.read(document["time"], float),
        _plain.read(document["snapshot"], CoreSnapshot),
    )


def _event(document: dict[str, Any]) -> RecordedEvent:
    event, digest = _plain.read(document["event"], Event), _plain.read(document["digest"], str)
    return RecordedEvent(event, digest, _plain.read(document.get("decided", []), tuple[str, ...]))
