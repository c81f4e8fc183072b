"""The explanation of one task, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.coscheduler.explanation.rescue import Rescue
    from cosched.coscheduler.task import TaskState


__all__ = ["TaskExplanation"]


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """The answer for one task. Times are epoch seconds, durations seconds.

    Attributes:
        waits_for: obstacles to a waiting task's start, the nearest first; what one does that has left; a sentence each.
        planned_start: when it is planned to run, its job handed over; None where nothing is planned (not possible now,
            no profile).
        planned_end: when it is predicted to end.
        end_low: before when a run in twenty ends that starts as planned; None where no uncertainty is known.
        end_high: after when one ends, likewise.
        planned_hosts: its hosts in the plan.
        planned_cores: of a task with alternatives: cores of each host in the one that is planned; 0 for others.
        slack: deadline minus planned end, or what has passed since; negative when late; None where neither is known.
        would_change: changes that would make it end earlier, one sentence each.
        rescues: what would save one that is planned to be late, the best first.
    """

    task: str
    state: TaskState
    waits_for: tuple[str, ...] = ()
    planned_start: float | None = None
    planned_end: float | None = None
    end_low: float | None = None
    end_high: float | None = None
    planned_hosts: tuple[str, ...] = ()
    slack: float | None = None
    would_change: tuple[str, ...] = ()
    rescues: tuple[Rescue, ...] = ()
    planned_cores: int = 0
