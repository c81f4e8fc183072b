"""Letters between agents. Times are durations from the moment of sending: no clock is shared.

`letter_xml.py` writes and reads them; agent.xsd is the published form.
Names of classes in `Body` and of all fields are the wire format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from cosched.agents.protocol.advertisement import AdvertisedService
from cosched.coscheduler.handovers import TaskDocument

__all__ = [
    "Accepted",
    "Advertisement",
    "Body",
    "Cancel",
    "Commit",
    "Decline",
    "Fenced",
    "Granted",
    "Inquiry",
    "Letter",
    "Noted",
    "Offer",
    "Refused",
    "RemoteTaskState",
    "RemoteTaskStatus",
    "Report",
    "Request",
    "Reserve",
    "Reserved",
    "Start",
    "StatusReceipt",
]


@dataclass(frozen=True, slots=True)
class Advertisement:
    """The sender's services: its own first, then others within its scope."""

    services: tuple[AdvertisedService, ...] = ()


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Asks for an advertisement (pull)."""


@dataclass(frozen=True, slots=True)
class Request:
    """Asks when the receiver could have ended a task; it is not binding.

    Attributes:
        task: UUID of the task; the same wherever it goes.
        epoch: number of the hand-over that would follow; grows with each.
        hops: how many more domains it may pass.
        visited: domains that have had it.
    """

    task: str
    epoch: int
    hops: int
    visited: tuple[str, ...]
    document: TaskDocument


@dataclass(frozen=True, slots=True)
class Offer:
    """Offers an end in `end` seconds in the domain `where`; it is not binding."""

    task: str
    epoch: int
    end: float
    where: str


@dataclass(frozen=True, slots=True)
class Decline:
    """The receiver of a request will not run the task, and why."""

    task: str
    epoch: int
    reason: str


@dataclass(frozen=True, slots=True)
class Reserve:
    """Asks to keep the offered place."""

    task: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Reserved:
    """The place is kept for `hold` seconds."""

    task: str
    epoch: int
    end: float
    hold: float


@dataclass(frozen=True, slots=True)
class Refused:
    """A place or task was refused: the sender never had it under this epoch."""

    task: str
    epoch: int
    reason: str


@dataclass(frozen=True, slots=True)
class Commit:
    """Hands the task over. Repeated until answered."""

    task: str
    epoch: int
    hops: int
    visited: tuple[str, ...]
    document: TaskDocument


@dataclass(frozen=True, slots=True)
class Accepted:
    """The task is written down here; it starts when its sender permits that."""

    task: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Start:
    """Asks whether the task may start; the answer repeats `ask`.

    So it is not taken for the answer to another question.
    """

    task: str
    epoch: int
    ask: int


@dataclass(frozen=True, slots=True)
class Granted:
    """The task may start; the sender has stored that it will not take it back."""

    task: str
    epoch: int
    ask: int


@dataclass(frozen=True, slots=True)
class Fenced:
    """The receiver has the task no longer: it must not start it."""

    task: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """The task shall not run (any more). Repeated until its end is reported."""

    task: str
    epoch: int
    reason: str


class RemoteTaskState(StrEnum):
    """Place of a forwarded task."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETURNED = "returned"  # it has not started here and never will

    @property
    def final(self) -> bool:
        """True when nothing more will happen to the task there."""
        return self not in (RemoteTaskState.WAITING, RemoteTaskState.RUNNING)


@dataclass(frozen=True, slots=True)
class RemoteTaskStatus:
    """State of a forwarded task.

    Attributes:
        end: expected, seconds from sending; None where unknown.
        started: seconds before sending.
        finished: seconds before sending.
        actual: measured run time.
        where: the domain that has it.
    """

    task: str
    epoch: int
    state: RemoteTaskState
    where: str
    reason: str = ""
    hosts: tuple[str, ...] = ()
    end: float | None = None
    started: float | None = None
    finished: float | None = None
    actual: float | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """States of the tasks that the receiver forwarded to us; it renews their leases.

    Final states are repeated until the receiver confirms them.
    """

    statuses: tuple[RemoteTaskStatus, ...]


@dataclass(frozen=True, slots=True)
class StatusReceipt:
    """One status was taken in; `final`: it was the last one, and is written down."""

    task: str
    epoch: int
    final: bool


@dataclass(frozen=True, slots=True)
class Noted:
    """The statuses were taken in: final ones are written down and need no repeating."""

    notes: tuple[StatusReceipt, ...]


Body = (
    Advertisement
    | Inquiry
    | Request
    | Offer
    | Decline
    | Reserve
    | Reserved
    | Refused
    | Commit
    | Accepted
    | Start
    | Granted
    | Fenced
    | Cancel
    | Report
    | Noted
)


@dataclass(frozen=True, slots=True)
class Letter:
    """One letter on its way.

    Attributes:
        sender: name of the domain.
        receiver: name of the domain.
        life: the sender's number of this life of its agent; grows with each start.
        known: the receiver's life as the sender knows it; 0: not yet.
        number: number of this letter in the sender's life, to this receiver.
    """

    sender: str
    receiver: str
    life: int
    known: int
    number: int
    body: Body = field(default_factory=Inquiry)
