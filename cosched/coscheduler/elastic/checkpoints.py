"""Checkpoints of tasks that are run again on other hosts: what they cost, and how much is left after one.

All of it is reckoned by the time that attempts ran, so that programs need say nothing of their progress.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cosched.coscheduler.elastic.values import RestartRecord
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from cosched.coscheduler.task import Attempt, Task

__all__ = ["CHECKPOINTED", "MOST_BREAKS", "RestartCost", "after_checkpoint", "has_checkpointed", "restart_cost"]

CHECKPOINTED = 85
"""Exit code of a program that has checkpointed and wants to be run again; HTCondor's convention."""
MOST_BREAKS = 5
"""Checkpoints in a row, unasked and soon after the start, by which a task has failed."""
_SOON = 60.0  # seconds from its start in which a program that stops unasked has hardly gone on
_FIRST_STOP = 15.0  # seconds for a first checkpoint, and for its reading, where the user says nothing
_LEAST_LEFT = 0.02  # of the work of an attempt: it would have ended otherwise


class RestartCost(NamedTuple):
    """Seconds from being asked until a program has stopped, and from its start until it goes on where it was."""

    stop: float
    reading: float

    @property
    def seconds(self) -> float:
        """Return both together."""
        return self.stop + self.reading


def restart_cost(task: Task) -> RestartCost:
    """Return what the next restart of a task costs: as measured, or else as its user says.

    Where the user says nothing, a checkpoint is read as long as it is written.
    """
    assert task.spec.elastic is not None
    whole, known = task.spec.elastic.cost, task.status.restarts
    stop = None if known is None else known.stop
    if stop is None:
        stop = _FIRST_STOP if whole is None else whole / 2
    return RestartCost(stop, stop if whole is None else max(whole - stop, 0.0))


def has_checkpointed(task: Task, attempt: Attempt) -> bool:
    """Return whether an attempt that failed has checkpointed, and its task is to be run again."""
    restarts = task.spec.elastic is not None and task.spec.elastic.restart
    return restarts and attempt.exit_code == CHECKPOINTED and task.status.state is not TaskState.CANCELLING


def after_checkpoint(task: Task, attempt: Attempt, time: float) -> RestartRecord:
    """Return the record of a task whose attempt has checkpointed, or would do so now.

    Args:
        task: as it runs.
        attempt: its lead, with its end where it has one.
        time: now, epoch seconds.
    """
    assert task.spec.elastic is not None
    assert attempt.lead is not None
    before, ended = task.status.restarts or RestartRecord(), time if attempt.finished is None else attempt.finished
    began = ended if attempt.started is None else attempt.started
    asked = None if attempt.leave_by is None else attempt.leave_by - task.spec.elastic.grace
    stop = before.stop if asked is None else max(ended - asked, 0.0)
    until = ended if asked is None else asked
    went_on = until - began - attempt.lead.slowed_until(until) - before.reading
    work = max((task.status.predicted or 0.0) - before.reading, 1e-3)
    left = before.left * min(max(1.0 - went_on / work, _LEAST_LEFT), 1.0)
    found = replace(before, count=before.count + 1, left=left, stop=stop)
    if asked is None:
        found = replace(found, breaks=before.breaks + 1 if ended - began < _SOON else 0, why="")
    else:
        found = replace(found, breaks=0, why=attempt.lead.why)
    again = task.with_status(restarts=found)
    return replace(found, reading=restart_cost(again).reading)
