"""Events of tasks that go to other domains or come from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.coscheduler.task import TaskState


__all__ = ["NeighboursChanged", "OfferEnded", "PeerReported", "StartPermitted", "TaskForwarded", "TaskReturned"]


@dataclass(frozen=True, slots=True)
class TaskForwarded:
    """A waiting task is handed to another domain; from now on it cannot start here.

    Attributes:
        peer: the domain.
        reason: why there, one line.
    """

    time: float
    task: str
    peer: str
    reason: str


@dataclass(frozen=True, slots=True)
class TaskReturned:
    """A forwarded task is ours again; it has not started anywhere and never will there."""

    time: float
    task: str
    reason: str


@dataclass(frozen=True, slots=True)
class PeerReported:
    """A forwarded task's state in its domain; times are of our clock, epoch seconds.

    Attributes:
        where: the domain, which may be beyond the one that it was handed to; empty if unknown.
    """

    time: float
    task: str
    state: TaskState
    reason: str = ""
    hosts: tuple[str, ...] = ()
    started: float | None = None
    finished: float | None = None
    actual: float | None = None
    exit_code: int | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class OfferEnded:
    """No domain has taken an offered task: it may leave here."""

    time: float
    task: str


@dataclass(frozen=True, slots=True)
class StartPermitted:
    """The origin of a task that was forwarded to us lets it start."""

    time: float
    task: str


@dataclass(frozen=True, slots=True)
class NeighboursChanged:
    """Neighbours that could take a task have come or gone; no task leaves by this.

    Attributes:
        available: whether there are any.
        offer_on_time: whether they are asked also for tasks of ours that would be in time here.
    """

    time: float
    available: bool
    offer_on_time: bool = False
