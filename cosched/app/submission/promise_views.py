"""The ends of a new elastic task for each number of hosts that it may be promised, as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import PromiseView
from cosched.coscheduler.elastic.promised_ends import promised_ends

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.planning.what_if import PredictedPlacement
    from cosched.coscheduler.task import Task

__all__ = ["promise_views"]


def promise_views(
    core: Coscheduler, task: Task, placement: PredictedPlacement | None, time: float
) -> tuple[PromiseView, ...]:
    """Return both ends for each number of hosts; none for a task that is not elastic.

    Args:
        core: the domain.
        task: the new one.
        placement: where it would run; None where that cannot be said.
        time: now, epoch seconds.
    """
    if task.spec.elastic is None or placement is None:
        return ()
    deadline = task.spec.deadline
    return tuple(
        [
            PromiseView(
                hosts=each.hosts,
                start=each.start,
                promised_end=each.promised,
                expected_end=None if task.spec.elastic.restart else each.expected,
                meets_deadline=None if deadline is None else each.promised <= deadline,
                planned=each.hosts == len(placement.hosts),
            )
            for each in promised_ends(core, task, time)
        ]
    )
