"""An outcome holds what one event changed and what is to be done.

The caller writes the changes down first and carries the decisions out second. Start at `Outcome`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.task import Attempt, Task

__all__ = ["AskPeers", "AskStart", "CancelAttempt", "Decision", "DispatchAttempt", "LocateAttempt", "Outcome", "Replan"]


@dataclass(frozen=True, slots=True)
class DispatchAttempt:
    """Submit this attempt now. Pinned to its hosts, or passed through where it names none."""

    attempt: Attempt
    task: Task


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """Tell the manager that this attempt must not run, now or later."""

    attempt: str


@dataclass(frozen=True, slots=True)
class LocateAttempt:
    """Find out whether the manager has this attempt.

    The answer is JobReported; after a grace without any trace of it AttemptMissing, or AttemptAbsent where the attempt
    may be fenced and has been.

    Attributes:
        fence: it is written down that this attempt must not run.
    """

    attempt: str
    fence: bool = False


@dataclass(frozen=True, slots=True)
class Replan:
    """What waits, what runs or the hosts have changed: give the search a new snapshot."""


@dataclass(frozen=True, slots=True)
class AskStart:
    """This task would leave now, and its origin must permit that; asked again, less and less often, until it has."""

    task: str


@dataclass(frozen=True, slots=True)
class AskPeers:
    """This task would leave now and miss its deadline here: offer it around first. Once, and not for long.

    Attributes:
        task: its identifier.
        end: when it would end here, epoch seconds.
    """

    task: str
    end: float


Decision = DispatchAttempt | CancelAttempt | LocateAttempt | Replan | AskStart | AskPeers


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one event: state to write down, then decisions to carry out in order."""

    tasks: tuple[Task, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    decisions: tuple[Decision, ...] = field(default=())
    reservations: tuple[Reservation, ...] = ()
