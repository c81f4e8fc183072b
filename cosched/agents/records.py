"""Records of both sides of a hand-over, written down before anyone acts on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.agents.protocol.messages import TaskDocument

__all__ = ["Guest", "GuestState", "Handover", "HandoverState"]


class HandoverState(StrEnum):
    """Where a task is that we hand to another domain."""

    COMMITTING = "committing"  # the task is on its way; whether it has arrived is not known
    HELD = "held"  # it has arrived; we may still take it back
    GRANTED = "granted"  # it may start there; it is no longer ours to take back
    ENDED = "ended"
    REFUSED = "refused"
    RETURNED = "returned"  # the other domain gave it back unstarted
    RECLAIMED = "reclaimed"  # we took it back; the other domain finds the fence when it asks to start it

    @property
    def live(self) -> bool:
        """True while the other domain has the task, or may have."""
        return self in (HandoverState.COMMITTING, HandoverState.HELD, HandoverState.GRANTED)


@dataclass(frozen=True, slots=True)
class Handover:
    """One hand-over of a task to a neighbour. Times are epoch seconds.

    Attributes:
        uuid: of the task, the same wherever it goes.
        epoch: grows with each hand-over of the task; the fence: nothing is permitted under an older one.
        task: its identifier here.
        why: the reason for the choice, one line for people.
        outcome: how it ended, one line; empty while it lives.
    """

    uuid: str
    epoch: int
    task: str
    peer: str
    state: HandoverState
    why: str
    created: float
    closed: float | None = None
    outcome: str = ""


class GuestState(StrEnum):
    """Where a task is that another domain has handed to us."""

    HELD = "held"  # it must not start before its origin permits it
    PERMITTED = "permitted"
    ENDED = "ended"  # its origin has to be told, until it confirms
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Guest:
    """A task of a neighbour here.

    Attributes:
        uuid: of the task; together with `peer` it names the guest.
        epoch: of the hand-over that brought it.
        peer: the neighbour that handed it over.
        task: its identifier here.
        hops: how many more domains it may pass.
        visited: domains that have had it, this one not counted.
        document: as it came: by this it can be handed on.
        created: epoch seconds.
    """

    uuid: str
    epoch: int
    peer: str
    task: str
    state: GuestState
    hops: int
    visited: tuple[str, ...]
    document: TaskDocument
    created: float
