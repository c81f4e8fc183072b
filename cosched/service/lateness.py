"""Which live tasks will probably miss their deadlines, as the plan in force has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.domain import expected_end
from cosched.store.outbox import Notice

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler

__all__ = ["late_notices"]


def late_notices(core: Coscheduler, time: float) -> list[Notice]:
    """Return what is to be told of tasks that are planned to end after their deadlines, or run past them already."""
    deadlines = {name: task.deadline for name, task in core.tasks.items() if task.notify and task.deadline is not None}
    if not deadlines:
        return []
    ends = {attempt.task: expected_end(attempt, time) for attempt in core.attempts.values() if attempt.hosts}
    if not deadlines.keys() <= ends.keys():
        forecast = core.prospect.forecast(time)
        planned = () if forecast is None else forecast[1].assignments
        ends |= {place.task: time + place.end for place in planned if place.task not in ends}
    late = [name for name, deadline in deadlines.items() if max(ends.get(name, time), time) > deadline]
    return [Notice(name, "late", target, time, time) for name in late for target in core.tasks[name].notify]
