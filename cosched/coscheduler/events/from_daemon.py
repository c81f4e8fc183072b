"""Events of the daemon itself: time, the search's plans, and records of a former process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.handovers import Guest, Handover
    from cosched.coscheduler.planning.task_plan import TaskPlan
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.sharing.shares import UserUsage
    from cosched.coscheduler.task import Task


__all__ = ["Restored", "SavedState", "ScheduleImproved", "SearchAwaited", "Tick"]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time went by."""

    time: float


@dataclass(frozen=True, slots=True)
class ScheduleImproved:
    """The search found a better plan.

    Attributes:
        plan: tasks that no longer wait are ignored, those missing are kept behind.
        since: time of the snapshot that was planned, epoch seconds; bound and makespan count from here.
        bound: lower bound of the makespan in seconds.
        makespan: predicted makespan in seconds.
        evaluations: how many schedules the search has looked at for this snapshot.
        generations: how many generations that took.
        searched: seconds that the search has worked for this snapshot.
        settled: False for a first answer that the search has not worked on: no reason yet to end a task's staging.
    """

    time: float
    plan: TaskPlan
    since: float = 0.0
    bound: float = 0.0
    makespan: float = 0.0
    evaluations: int = 0
    generations: int = 0
    searched: float = 0.0
    settled: bool = True

    @property
    def gap(self) -> float | None:
        """(makespan - bound) / bound, 0 where rounding puts the one below the other; None without a bound."""
        return max(self.makespan / self.bound - 1, 0.0) if self.bound > 0 else None


@dataclass(frozen=True, slots=True)
class SearchAwaited:
    """The search starts, for the first time or after it ended by itself; its next settled answer ends that.

    Nothing leaves by this.
    """

    time: float


@dataclass(frozen=True, slots=True)
class SavedState:
    """Records of a former process, as its database kept them.

    Attributes:
        tasks: all tasks that have not ended.
        attempts: their live attempts.
        completed: tasks that ended well, oldest first: their run times taught corrections.
        reservations: all reservations that have not ended.
        handovers: all hand-overs of live tasks, ended ones too.
        guests: unsettled ones.
        ended: tasks of guests that have ended, by identifier.
        last_number: the highest that a task was ever given.
        plan: in force before a mistake of cosched; None after a restart.
        life: number of the agent's life that begins now; 0 for the one that it was made with.
        forgotten: tasks up to this number may have attempts, and cancels of these, that the database has forgotten.
        usage: hosts that users have had and claim.
    """

    tasks: tuple[Task, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    completed: tuple[Task, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    handovers: tuple[Handover, ...] = ()
    guests: tuple[Guest, ...] = ()
    ended: Mapping[str, Task] = field(default_factory=dict)
    last_number: int = 0
    plan: TaskPlan | None = None
    life: int = 0
    forgotten: int = 0
    usage: tuple[UserUsage, ...] = ()


@dataclass(frozen=True, slots=True)
class Restored:
    """Core and agent forget their state and load the stored one.

    It happens at a start, and after an internal error.

    Nothing leaves by this alone.
    """

    time: float
    state: SavedState
