"""Events that the leads of elastic tasks cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.coscheduler.elastic.values import WorkerOverhead


__all__ = [
    "HostsWished",
    "LeadAnnounced",
    "LeadEvent",
    "OverheadsMeasured",
    "ResizeWished",
    "SpeedsMeasured",
    "StageDone",
    "WorkReported",
    "WorkerDrained",
    "WorkerRefused",
]


@dataclass(frozen=True, slots=True)
class LeadAnnounced:
    """The lead of an elastic task has told where its workers find it.

    Attributes:
        attempt: UUID of the lead's attempt, as in the other events of leads: word of an earlier one is ignored.
        drains: whether it will say of each worker that leaves when that may go.
    """

    time: float
    attempt: str
    address: str
    drains: bool = False


@dataclass(frozen=True, slots=True)
class WorkerDrained:
    """A lead says that a worker which leaves may go: nothing on it will be missed."""

    time: float
    attempt: str
    worker: int


@dataclass(frozen=True, slots=True)
class WorkerRefused:
    """A lead says why it would rather keep a worker; the order to leave stands."""

    time: float
    attempt: str
    worker: int
    reason: str


@dataclass(frozen=True, slots=True)
class HostsWished:
    """A lead says for how many hosts it has a use, its own among them; None: for as many as it can get."""

    time: float
    attempt: str
    most: int | None


@dataclass(frozen=True, slots=True)
class ResizeWished:
    """The user of a running elastic task wishes for other numbers of hosts, the lead's own among them.

    Attributes:
        least: also where its program has a use for fewer.
        most: promised hosts beyond these are given up; None for any number.
    """

    time: float
    attempt: str
    least: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True)
class WorkReported:
    """A lead says which part of its work is done, above 0 and at most 1."""

    time: float
    attempt: str
    fraction: float


@dataclass(frozen=True, slots=True)
class SpeedsMeasured:
    """A lead says how quick its workers are.

    Attributes:
        speeds: number of each worker, 0 for the one on the lead's own host, and its speed, above 0; only ratios count.
    """

    time: float
    attempt: str
    speeds: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class OverheadsMeasured:
    """A lead says how its workers spent their time in a period; the rest of it they worked.

    Attributes:
        overheads: of each worker, the one on the lead's own host among them.
    """

    time: float
    attempt: str
    overheads: tuple[WorkerOverhead, ...]


@dataclass(frozen=True, slots=True)
class StageDone:
    """The lead of a whole chain is done with a stage, and asks for the next one.

    Attributes:
        stage: the task of the stage: said again of one that is over, it changes nothing.
    """

    time: float
    attempt: str
    stage: str


LeadEvent = (
    LeadAnnounced
    | HostsWished
    | ResizeWished
    | WorkerDrained
    | WorkerRefused
    | WorkReported
    | SpeedsMeasured
    | OverheadsMeasured
    | StageDone
)
"""The word of an elastic task's lead."""
