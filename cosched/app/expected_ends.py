"""Expected ends of tasks, here or in other domains, and the tasks that are late by them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.coscheduler.places.hosts import predicted_end

if TYPE_CHECKING:
    from cosched.app.neighbours.neighbour_access import NeighbourAccess
    from cosched.coscheduler.core import Coscheduler

__all__ = ["expected_ends", "late_tasks"]


def expected_ends(core: Coscheduler, neighbours: NeighbourAccess, now: float) -> dict[str, float]:
    """Return the expected ends of tasks with a prediction, epoch seconds.

    To be called on the core's thread.
    """
    own = {attempt.task: predicted_end(attempt, now) for attempt in core.attempts.values() if not attempt.worker}
    ends = {task: end for task, end in own.items() if end is not None}
    ends |= {name: now + end for name, _, end, _ in core.planning_view.spans(now) or ()}
    return ends | neighbours.forwarded_ends(core)


def late_tasks(core: Coscheduler, neighbours: NeighbourAccess, now: float) -> list[str]:
    """Return the tasks that are, or are expected to be, late for their deadlines; on the core's thread."""
    ends = dict.fromkeys(core.tasks, now) | expected_ends(core, neighbours, now)  # whatever ends, ends later
    tasks = ((core.tasks.get(name), end) for name, end in ends.items())
    return [task.id for task, end in tasks if task is not None and end > (task.spec.deadline or math.inf)]
