"""Recovery: a restarted daemon takes up what its former process wrote down.

`saved_state` reads it; `Engine.restore` hands it to core and agent as the event `Restored`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.events import SavedState
from cosched.store.handovers import HandoverTable

if TYPE_CHECKING:
    from cosched.store.store import Store

__all__ = ["saved_state"]


def saved_state(store: Store, time: float) -> SavedState:
    """Read live tasks, their attempts, reservations and hand-overs.

    Args:
        store: holds the records of the former process.
        time: now, epoch seconds; reservations that ended before are left out.

    Raises:
        StoreFault: the records cannot be read.
    """
    tasks, attempts = store.load()
    # A task that has ended may still have an attempt to get rid of; the core wants only those that live on.
    waiting = [task for task in tasks if not task.status.state.final]
    names = {task.id for task in waiting}
    handovers = HandoverTable(store)
    guests, ended = handovers.guests()
    return SavedState(
        tasks=tuple(waiting),
        attempts=tuple(attempt for attempt in attempts if attempt.state.live and attempt.task in names),
        completed=store.completed(),
        reservations=store.reservations(time),
        handovers=handovers.handovers(),
        guests=guests,
        ended=ended,
        last_number=store.last_number(),
    )
