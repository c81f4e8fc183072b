"""Documents of why a task waits, and of how one came to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import (
    ExplanationView,
    RescueView,
)
from cosched.app.elastic.loans import hosts_sentences
from cosched.app.submission.chain_views import chain_view
from cosched.app.views.task_views import profile_view
from cosched.coscheduler.learnt_corrections import corrected_profile
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.explanation.rescue import Rescue
    from cosched.coscheduler.explanation.task_explanation import TaskExplanation
    from cosched.coscheduler.task import Task

__all__ = ["ended_explanation", "explanation_view"]


_HOW_ENDED = {
    TaskState.COMPLETED: "it has completed",
    TaskState.FAILED: "it failed",
    TaskState.CANCELLED: "it was cancelled",
}


def explanation_view(found: TaskExplanation, core: Coscheduler) -> ExplanationView:
    """Return the core's explanation of a live task; on the core's thread."""
    task = core.tasks[found.task]
    shape = task.shaped(found.planned_cores, ()) if found.planned_cores else task
    profile = corrected_profile(shape, core.corrections())
    if profile is not None and found.planned_hosts:
        profile = profile.among(core.domain.classes_of(found.planned_hosts))
    return ExplanationView(
        task=found.task,
        state=str(found.state),
        waits_for=found.waits_for,
        planned_start=found.planned_start,
        planned_end=found.planned_end,
        end_low=found.end_low,
        end_high=found.end_high,
        planned_hosts=found.planned_hosts,
        planned_cores=found.planned_cores,
        slack=found.slack,
        would_change=found.would_change,
        profile=None if profile is None else profile_view(profile),
        rescues=tuple(rescue_view(each, task, core) for each in found.rescues),
    )


def rescue_view(rescue: Rescue, asked: Task, core: Coscheduler) -> RescueView:
    """Return what would help a late task; on the core's thread."""
    other = core.tasks.get(rescue.task)
    return RescueView(
        kind=str(rescue.kind),
        task=rescue.task,
        name=other.spec.name if other is not None and other.owner == asked.owner else "",
        end=rescue.end,
        saves=rescue.saves,
        made_late=rescue.made_late,
        hosts=rescue.hosts,
    )


def ended_explanation(task: Task, attempts: Iterable[Attempt] = (), errors: Sequence[str] = ()) -> ExplanationView:
    """Return the explanation of a task that has ended.

    Args:
        task: with its end.
        attempts: of an elastic one all of them, for what it was lent.
        errors: of one that failed the last lines of its standard error.
    """
    sentence = _HOW_ENDED.get(task.status.state, f"it is {task.status.state}")
    if task.status.reason:
        sentence += f": {task.status.reason}"
    deadline, finished = task.spec.deadline, task.status.finished
    slack = None  # a task that failed has met no deadline
    if task.status.state is TaskState.COMPLETED and deadline is not None and finished is not None:
        slack = deadline - finished
    return ExplanationView(
        task=task.id,
        state=str(task.status.state),
        waits_for=(sentence, *hosts_sentences(task, attempts)),
        planned_start=task.status.started,
        planned_end=task.status.finished,
        planned_hosts=task.status.hosts,
        slack=slack,
        would_change=(),
        chain=chain_view(None, task, 0.0),
        errors=tuple(errors),
    )
