"""Internal errors are counted, and their sources held back ever longer, against endless loops.

Start at `Mistakes`; `source_of` says where an event comes from.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents.events import LetterFailed, LetterReceived
from cosched.api.times import format_time
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptBegun,
    AttemptDiagnosed,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    EditRequested,
    HoldRequested,
    HostsObserved,
    JobReported,
    PredictionPassed,
    ReleaseRequested,
    SubmitFailed,
)

if TYPE_CHECKING:
    from cosched.daemon.inbox import InboxItem

__all__ = ["HOSTS", "EventSource", "Mistakes", "source_of"]

_SHORTEST = 1.0  # seconds for which a source is held back after its first mistake
_LONGEST = 60.0
_FORGIVEN = 600.0  # seconds without another mistake after which a source begins anew
_MOST_SOURCES = 10_000
_REMEMBERED = 20
_TOLD = 86400.0  # seconds for which the last mistake is shown as a fault
_USER = "user"


@dataclass(frozen=True, slots=True)
class EventSource:
    """The origin of events; it is held back when one of them fails.

    Attributes:
        kind: "attempt", "neighbour", "user", "changing" or "cancelling" a task, or else the event's name.
        name: UUID of the attempt, name of the neighbour or the user, identifier of the task; may be empty.
    """

    kind: str
    name: str = ""

    def __str__(self) -> str:
        # Every user reads it among the faults, and whose request it was is nothing to them.
        return "a user's tasks" if self.kind == _USER else f"{self.kind} {self.name}".rstrip()


HOSTS = EventSource(HostsObserved.__name__)
"""The connector's list of hosts."""


@dataclass(slots=True)
class _Held:
    until: float
    pause: float


class Mistakes:
    """Counts internal errors, and says which sources of events are held back for them.

    The engine's thread alone uses it; any thread may read its attributes and `fault`.

    Attributes:
        count: mistakes since the start.
    """

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[tuple[float, str]] = deque(maxlen=_REMEMBERED)
        self._held: dict[EventSource, _Held] = {}
        self._waiting: set[EventSource] = set()  # sources that were held back and have not been released yet

    def note(self, what: str, error: BaseException, time: float) -> None:
        """Count a mistake.

        Args:
            what: what cosched could not handle, in words.
            error: the exception that it raised.
            time: now, epoch seconds.
        """
        self.count += 1
        self._last.append(
            (time, f"{what} ({type(error).__name__})")
        )  # its text may be somebody's: the log alone has it

    def hold(self, source: EventSource, time: float) -> None:
        """Hold a source back, twice as long as the last time."""
        for old in [each for each, held in self._held.items() if time >= held.until + _FORGIVEN]:
            del self._held[old]
        former = self._held.pop(source, None)
        pause = _SHORTEST if former is None else min(2 * former.pause, _LONGEST)
        self._held[source] = _Held(time + pause, pause)
        self._waiting.add(source)
        if len(self._held) > _MOST_SOURCES:
            del self._held[next(iter(self._held))]

    def held_for(self, source: EventSource, time: float) -> float:
        """Return the seconds for which a source is still held back, 0 for none."""
        held = self._held.get(source)
        return 0.0 if held is None else max(held.until - time, 0.0)

    @property
    def none(self) -> bool:
        """Return whether no source has been held back lately."""
        return not self._held

    @property
    def holding(self) -> bool:
        """Return whether a source is held back that has not been released yet."""
        return bool(self._waiting)

    def release(self, time: float) -> list[EventSource]:
        """Return the sources that are no longer held back, each once."""
        over = [source for source in self._waiting if not self.held_for(source, time)]
        self._waiting.difference_update(over)
        return over

    def recent(self) -> list[tuple[float, str]]:
        """Return when and with what the last mistakes were made, newest first."""
        return list(reversed(self._last.copy()))

    def fault(self, time: float) -> str:
        """Return the last mistake in a sentence, for a day; empty for none."""
        then, what = self._last[-1] if self._last else (-_TOLD, "")
        if not what or time > then + _TOLD:
            return ""
        return (
            f"cosched could not handle {what} at {format_time(then)}, mistake {self.count} since its "
            "start; it was refused or is tried again, and all else goes on: report it with the log and the file that "
            "`cosched domain record` saves"
        )


def source_of(item: InboxItem) -> EventSource:
    """Return where an item of the inbox comes from."""
    if item.tasks:
        return EventSource(_USER, item.tasks[0].owner)
    match item.event:
        case JobReported(report=report):
            return EventSource("attempt", report.attempt)
        case AttemptSubmitted() | SubmitFailed() | AttemptDiagnosed() as event:
            return EventSource("attempt", event.attempt)
        case AttemptMissing() | AttemptAbsent() | AttemptBegun() | PredictionPassed() as event:
            return EventSource("attempt", event.attempt)
        case LetterReceived(letter=letter) | LetterFailed(letter=letter):
            return EventSource("neighbour", letter.sender)
        case EditRequested(task=task) | HoldRequested(task=task) | ReleaseRequested(task=task):
            return EventSource("changing", task)
        case CancelRequested(task=task):
            return EventSource("cancelling", task)
        case event:
            return EventSource(type(event).__name__)
