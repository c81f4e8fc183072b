"""Recovery: a restarted daemon takes up what its former process wrote down.

`saved_state` reads it; `Engine.restore` hands it to core and agent as the event `Restored`. So does a daemon that made
a mistake, with `saved_again`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.events import SavedState
from cosched.store.handovers import HandoverTable
from cosched.store.shares import ShareTable

if TYPE_CHECKING:
    from cosched.coscheduler.planning.task_plan import TaskPlan
    from cosched.store.store import Store

__all__ = ["saved_again", "saved_state"]


def saved_state(store: Store, time: float) -> SavedState:
    """Read live tasks, their attempts, reservations, hand-overs and users' usage.

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
        forgotten=store.forgotten,
        usage=ShareTable(store).usage(),
    )


def saved_again(store: Store, time: float, plan: TaskPlan, *, has_agent: bool) -> SavedState:
    """Read what this process itself wrote down, to begin anew with it.

    Args:
        store: holds the records.
        time: now, epoch seconds.
        plan: the plan in force.
        has_agent: whether a new life of an agent begins.

    Raises:
        StoreFault: the records cannot be read or written.
    """
    life = HandoverTable(store).next_life(time) if has_agent else 0
    return replace(saved_state(store, time), plan=plan, life=life)
