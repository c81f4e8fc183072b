"""Checkpoints of tasks that are run again on other hosts: what they cost, and how much is left after one.

What is left is reckoned by the time that attempts ran, so that programs need say nothing of their progress; those that
do are believed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cosched.coscheduler.elastic.values import RestartRecord
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.elastic.values import WorkRecord
    from cosched.coscheduler.task import Task

__all__ = [
    "CHECKPOINTED",
    "LEAST_TOLD",
    "MOST_BREAKS",
    "Reported",
    "RestartCost",
    "WholeRun",
    "after_checkpoint",
    "by_report",
    "has_checkpointed",
    "restart_cost",
    "whole_run",
]

CHECKPOINTED = 85
"""Exit code of a program that has checkpointed and wants to be run again; HTCondor's convention."""
MOST_BREAKS = 5
"""Checkpoints in a row, unasked and soon after the start, by which a task has failed."""
LEAST_TOLD = 0.01
"""Part of the work by which a program's word of it must have grown to be looked at."""
_LEAST_FOR_PACE = 0.05  # part of the work after the first report that tells how quick a program is
_SOON = 60.0  # seconds from its start in which a program that stops unasked has hardly gone on
_FIRST_STOP = 15.0  # seconds for a first checkpoint, and for its reading, where the user says nothing
_LEAST_LEFT = 0.02  # of the work of an attempt: it would have ended otherwise


class RestartCost(NamedTuple):
    """Seconds of a restart: from the request until the program has stopped, and from its start until it goes on."""

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
    part = 1.0 - went_on / work
    if attempt.lead.told > 0:
        part = (1.0 - attempt.lead.told) / before.left
    left = before.left * min(max(part, _LEAST_LEFT), 1.0)
    spent = _with_spent(before, task, len(attempt.reckoned_hosts) or attempt.count, went_on)
    pace = attempt.lead.told_pace or before.pace
    found = replace(before, count=before.count + 1, left=left, stop=stop, spent=spent, pace=pace)
    if asked is None:
        found = replace(found, breaks=before.breaks + 1 if ended - began < _SOON else 0, why="")
    else:
        found = replace(found, breaks=0, why=attempt.lead.why)
    again = task.with_status(restarts=found)
    return replace(found, reading=restart_cost(again).reading)


def _with_spent(before: RestartRecord, task: Task, hosts: int, seconds: float) -> float | None:
    """Return `RestartRecord.spent` with one attempt more."""
    whole = math.inf if task.profile is None else task.profile.on(hosts)
    if before.spent is None or not 0 < whole < math.inf:
        return None
    return before.spent + max(seconds, 0.0) / whole


class Reported(NamedTuple):
    """Progress of a task that checkpoints, by its program's report.

    Attributes:
        work: how far its attempt has come.
        pace: how many times longer than predicted all its work takes; None where too little is told.
    """

    work: WorkRecord
    pace: float | None


def by_report(task: Task, work: WorkRecord, fraction: float) -> Reported:
    """Return how far an attempt at a task that checkpoints has come, as its program tells.

    The part is of all the work, of which earlier attempts did some, and programs take a while to begin. So how quick
    one is counts from its first report on; until it has told of so much more (`_LEAST_FOR_PACE`), the rest is reckoned
    to take as long as predicted.

    Args:
        task: as it runs.
        work: brought up to date.
        fraction: part of all the work that is done.
    """
    known, predicted = task.status.restarts or RestartRecord(), task.status.predicted or 0.0
    expected = max(predicted - known.reading, 0.0) / known.left  # seconds of all the work on these hosts
    if work.first_done is None:
        work = replace(work, first_told=fraction, first_done=work.done)
        return Reported(replace(work, total=work.done + (1.0 - fraction) * expected), None)
    if fraction < work.first_told + _LEAST_FOR_PACE or work.done <= work.first_done:
        return Reported(work, None)
    whole = (work.done - work.first_done) / (fraction - work.first_told)
    pace = known.pace * whole / expected if expected else None
    return Reported(replace(work, total=work.done + (1.0 - fraction) * whole), pace)


class WholeRun(NamedTuple):
    """All of a task's work, in seconds on the hosts that it ended on: as it took, and as predicted (None: was not)."""

    seconds: float
    predicted: float | None


def whole_run(task: Task, hosts: int, seconds: float) -> WholeRun | None:
    """Return what all the work of a task that checkpoints took; None where its attempts do not tell.

    Of one that ran at once this is its run. Of others each attempt did what its time is of that whole run's, if all
    were off by one factor; what a lost or forced attempt did is not known.

    Args:
        task: with all attempts before the last one.
        hosts: of the last one.
        seconds: that the last one ran.
    """
    known, predicted = task.status.restarts, task.status.predicted
    if known is None or not known.count:
        return WholeRun(seconds, predicted) if task.status.attempts <= 1 else None
    whole = math.inf if task.profile is None else task.profile.on(hosts)
    told = task.status.attempts == known.count + 1 and task.status.load_factor == 1 and task.status.contention == 1
    if known.spent is None or not told or not 0 < whole < math.inf:
        return None
    before = None if predicted is None else max(predicted - known.reading, 0.0) / (known.left * known.pace)
    return WholeRun(known.spent * whole + max(seconds - known.reading, 0.0), before)
