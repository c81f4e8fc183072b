"""Events that users and administrators cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.coscheduler.edits import TaskEdit
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.sharing.shares import Shares
    from cosched.coscheduler.task import Task


__all__ = [
    "CancelRequested",
    "EditRequested",
    "HoldRequested",
    "HostsReserved",
    "ReleaseRequested",
    "ReservationReleased",
    "SharesChanged",
    "TaskSubmitted",
]


@dataclass(frozen=True, slots=True)
class TaskSubmitted:
    """A task was accepted (state QUEUED, prediction done)."""

    time: float
    task: Task


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A user has cancelled a task."""

    time: float
    task: str
    reason: str = "cancelled by the user"


@dataclass(frozen=True, slots=True)
class EditRequested:
    """A user wants a waiting task to have other values.

    A task that has left the queue stays as it is.

    Attributes:
        by: name of the user.
    """

    time: float
    task: str
    edit: TaskEdit
    by: str


@dataclass(frozen=True, slots=True)
class HoldRequested:
    """Somebody wants a waiting task to stay, neither planned nor dispatched, until it is released.

    Attributes:
        by: name of the user.
    """

    time: float
    task: str
    by: str


@dataclass(frozen=True, slots=True)
class ReleaseRequested:
    """Somebody wants a held task to be planned again.

    Attributes:
        by: name of the user.
    """

    time: float
    task: str
    by: str


@dataclass(frozen=True, slots=True)
class HostsReserved:
    """Hosts are to be kept for others for a while."""

    time: float
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class ReservationReleased:
    """A reservation is given up; one that is not known is over already."""

    time: float
    reservation: str


@dataclass(frozen=True, slots=True)
class SharesChanged:
    """The administrator has divided the domain between groups and users.

    Attributes:
        shares: the whole tree; None: shares are not in force.
    """

    time: float
    shares: Shares | None
