"""Replay a recording and compare each event's outcome with the recorded one.

Start at `replay`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.recording.lines import CutLine, RecordedEvent, RecordedStart, decision_texts, outcome_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cosched.coscheduler.changes import Outcome

__all__ = ["ReplayedEvent", "replay"]


@dataclass(frozen=True, slots=True)
class ReplayedEvent:
    """An event with what came of it, now and when it was recorded.

    Attributes:
        number: number of the event in the recording, from 1.
        recorded: the event as it was recorded.
        recorder: version of cosched that recorded it.
        core: the core after the event, until the next one.
        outcome: its outcome in this replay; None if the core failed.
        failure: exception that the core raised on this event; None where it raised none.
    """

    number: int
    recorded: RecordedEvent
    recorder: str
    core: Coscheduler
    outcome: Outcome | None
    failure: Exception | None = None

    @property
    def same(self) -> bool:
        """Return whether the outcome is the recorded one."""
        return self.recorded.digest == ("" if self.outcome is None else outcome_digest(self.outcome))

    @property
    def decided(self) -> tuple[str, ...]:
        """Return one line for each decision of now."""
        return () if self.outcome is None else decision_texts(self.outcome.decisions)


def replay(
    entries: Iterable[RecordedStart | RecordedEvent | CutLine],
) -> Iterator[ReplayedEvent | RecordedStart | CutLine]:
    """Run a recording through the core.

    Yields:
        Each event after it was handled; starts and cut lines as they are.
    """
    core, recorder, number = None, "", 0
    for entry in entries:
        if not isinstance(entry, RecordedEvent):
            yield entry
            if isinstance(entry, RecordedStart):
                core, recorder = Coscheduler.from_snapshot(entry.settings, entry.snapshot), entry.cosched
            continue
        assert core is not None, "a recording begins with a start"
        number += 1
        outcome, failure = None, None
        try:
            outcome = core.handle(entry.event)
        except Exception as error:  # what such a recording is there to show
            failure = error
        yield ReplayedEvent(number, entry, recorder, core, outcome, failure)
