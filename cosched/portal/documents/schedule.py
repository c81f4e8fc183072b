"""The schedule: what has run, runs and is planned, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Placement",
    "PlanView",
    "RunView",
    "SearchPoint",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A task's place in the plan; `running` where it is there already. Another user's task has no name and deadline."""

    task: str
    name: str = ""
    application: str = ""
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None
    running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """The schedule in force.

    Attributes:
        makespan: seconds from `time` to the end of the last task that runs or waits.
        bound: no schedule of the waiting tasks is shorter, seconds from `time`; null before the search has said it.
        gap: (planned makespan of the waiting tasks - bound) / bound; null likewise.
        evaluations: schedules the search has looked at for this queue.
        rate: generations of the search in each second that it worked on this queue; null before it has begun.
        changed: when the search last made the plan better; null before it has.
        why: what became better then, such as "1 more task on time, makespan 61 → 58 s".
    """

    time: float
    placements: tuple[Placement, ...]
    makespan: float
    bound: float | None
    gap: float | None
    evaluations: int
    rate: float | None = None
    changed: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One attempt that has ended, on its hosts. Another user's task has no name and deadline."""

    task: str
    name: str
    application: str
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPoint:
    """How good the search's plan was at one time: planned end of all waiting tasks, and the gap to the bound."""

    time: float
    end: float
    gap: float | None
    evaluations: int
