"""A schedule: which task runs on which hosts from when to when."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Assignment", "Schedule"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One task's place in a schedule.

    Attributes:
        task: name of the task.
        hosts: names of the hosts that it holds from `start` to `end`, in the order of the problem's hosts.
        start: seconds after the problem's origin.
        end: likewise.
    """

    task: str
    hosts: tuple[str, ...]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """Assignments in the order of the plan they were decoded from."""

    assignments: tuple[Assignment, ...]

    @property
    def makespan(self) -> float:
        """When the last task ends, in seconds after the problem's origin; 0 for an empty schedule."""
        return max((assignment.end for assignment in self.assignments), default=0.0)
