"""Learnt corrections collect what completed runs taught about predictions.

`cosched.prediction.calibration` has the mathematics. Start at `LearntCorrections`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.coscheduler.task import TaskState
from cosched.prediction.calibration import Correction, DispatchLatency
from cosched.prediction.profile import slowest_profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.task import Attempt, Task
    from cosched.prediction.profile import Profile

__all__ = ["LearntCorrections", "corrected_profile"]


def corrected_profile(task: Task, corrections: Mapping[str, Correction]) -> Profile | None:
    """Return a task's prediction corrected by the runs on each class.

    Of a task that has been given hosts, the times are those of their classes.
    """
    if task.profile is None:
        return None
    if not task.profile.classes:
        return corrections.get(task.correction, Correction()).corrected(task.profile)
    keys = ((task.correction_on(each.hardware), each) for each in task.profile.classes)
    hardware = task.profile.hardware
    whole = slowest_profile([corrections.get(key, Correction()).corrected(each) for key, each in keys], hardware)
    return whole.among(hardware.split("+"))


class LearntCorrections:
    """Corrections by `Task.correction`, and the hand-over.

    Attributes:
        corrections: the correction of each application on each class of hosts.
        handover: time from a decision to the start of its job.
    """

    def __init__(self) -> None:
        self.corrections: dict[str, Correction] = {}
        self.dispatch_latency = DispatchLatency()

    def load(self, corrections: Mapping[str, Correction], latency: DispatchLatency) -> None:
        """Restore the corrections of an earlier process."""
        self.corrections, self.dispatch_latency = dict(corrections), latency

    def learn_run_time(self, task: Task) -> None:
        """Learn from a task that has completed here; others teach nothing.

        Nor does an elastic one, whose hosts changed while it ran. Of a run on hosts with owners, the time that it would
        have taken on dedicated ones counts, as far as that is known.
        """
        if task.spec.elastic is not None:
            return
        completed = task.status.state is TaskState.COMPLETED and task.status.actual is not None and not task.status.peer
        if completed and task.status.actual is not None and task.profile is not None and task.correction:
            known = self.corrections.get(task.correction, Correction())
            actual = task.status.actual / task.status.load_factor
            self.corrections[task.correction] = known.learn(task.profile.on(len(task.status.hosts)), actual)

    def learn_latency(self, attempt: Attempt) -> None:
        """Learn from an attempt that has just begun on the hosts chosen for it."""
        if attempt.hosts and attempt.started is not None:
            self.dispatch_latency = self.dispatch_latency.learn(attempt.started - attempt.created)

    def ends(self, task: Task, count: int) -> tuple[float, float] | None:
        """Return the seconds that one run in twenty stays below, and exceeds; None where no range is known."""
        if task.profile is None or task.profile.on(count) == math.inf:
            return None
        return self.corrections.get(task.correction, Correction()).ends(task.profile, count)

    def expected_run_time(self, task: Task, count: int) -> float:
        """Return a task's corrected run time in seconds on `count` hosts."""
        assert task.profile is not None
        return self.corrections.get(task.correction, Correction()).factor * task.profile.on(count)
