"""Learnt corrections collect what completed runs taught about predictions.

`cosched.prediction.calibration` and `contention` have the mathematics. Start at `LearntCorrections`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.elastic.checkpoints import whole_run
from cosched.coscheduler.places.contention import ExpectedContention, contention_key
from cosched.coscheduler.task import TaskState
from cosched.prediction.calibration import Correction, DispatchLatency
from cosched.prediction.contention import Contention, times_longer
from cosched.prediction.profile import slowest_profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["MOST_DISTURBED", "LearntCorrections", "corrected_profile"]

MOST_DISTURBED = 100.0
"""Times longer, for owners come back; a run that was expected to last longer tells nothing of its program."""

_NOTHING_STATED: Mapping[str, float] = {}
_MOST_PROGRAMS = 1024  # of which contention is remembered: a user's programs may have any number of names
_LONG = 1000.0  # seconds; no such run is too short to count in full


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


def _stated_seconds(profile: Profile, count: int) -> float:
    """Return what a model or a user says of a number of hosts; where neither does, what earlier runs say.

    What runs make of the former changes with each of them, and runs are to be compared over months.
    """
    seconds = profile.stated or profile.seconds
    return seconds[count - 1] if 0 < count <= len(seconds) else math.inf


class LearntCorrections:
    """Corrections by `Task.correction`, the hand-over, and what others beside a task cost it.

    Attributes:
        corrections: the correction of each application on each class of hosts.
        dispatch_latency: time from a decision to the start of its job.
        contentions: what runs have taught of others beside them, by `contention_key`.
        contention: what plans expect of that; another object whenever they are to expect something else.
    """

    def __init__(self, contention: Mapping[str, float] = _NOTHING_STATED) -> None:
        self.corrections: dict[str, Correction] = {}
        self.dispatch_latency = DispatchLatency()
        self.contentions: dict[str, Contention] = {}
        self.contention = ExpectedContention(stated=contention)

    def load(
        self,
        corrections: Mapping[str, Correction],
        latency: DispatchLatency,
        contentions: Mapping[str, Contention],
    ) -> None:
        """Restore the corrections of an earlier process."""
        self.corrections, self.dispatch_latency = dict(corrections), latency
        self.contentions = dict(contentions)
        known = {key: each.exponent for key, each in contentions.items() if each.exponent is not None}
        self.contention = replace(self.contention, learnt=known)

    def learn_run_time(self, task: Task) -> None:
        """Learn from a task that has completed here; others teach nothing.

        Nor does an elastic one with workers, whose hosts changed while it ran, unless it is a stage; of one that
        checkpoints all attempts count together. Of a run on hosts with owners, or beside others, the time that it would
        have taken alone on dedicated ones counts, as far as that is known; see `MOST_DISTURBED`.
        """
        status, elastic = task.status, task.spec.elastic
        if elastic is not None and not (elastic.restart or elastic.whole_chain):
            return
        if status.state is not TaskState.COMPLETED or status.actual is None or status.peer or task.profile is None:
            return
        if status.load_factor > MOST_DISTURBED:
            return
        seconds = status.actual
        if elastic is not None and elastic.restart:
            if (whole := whole_run(task, len(status.hosts), status.actual)) is None:
                return
            seconds = whole.seconds
        actual, longer = seconds / status.load_factor, status.contention
        if status.beside is not None:
            learnt = self.contention.learnt_exponent(task, task.profile.hardware)
            longer = longer if learnt is None else times_longer(learnt, status.beside)
        if task.correction:
            known = self.corrections.get(task.correction, Correction())
            predicted = task.profile.on(len(status.hosts))
            self.corrections[task.correction] = known.learn(predicted, actual / longer)
        if status.beside is not None:
            self._learn_contention(task, status.beside, actual)

    def _learn_contention(self, task: Task, beside: float, actual: float) -> None:
        """Learn from a run on shared hosts, whatever is known of contention by now."""
        assert task.profile is not None
        predicted = _stated_seconds(task.profile, len(task.status.hosts))
        if predicted == math.inf:
            return
        key, expected = contention_key(task, task.profile.hardware), self.contention.learnt
        found = self.contentions.pop(key, Contention()).learn(beside, predicted, actual)
        self.contentions[key] = found  # the program that ran last is last
        learnt = dict(expected)
        if found.exponent is not None:
            learnt[key] = found.exponent
        if len(self.contentions) > _MOST_PROGRAMS:
            oldest = next(iter(self.contentions))
            del self.contentions[oldest]
            learnt.pop(oldest, None)
        if learnt != expected:
            self.contention = replace(self.contention, learnt=learnt)
        if key not in expected and found.exponent is not None and key in self.corrections:
            self._begin_anew(key, found, found.exponent)

    def _begin_anew(self, key: str, known: Contention, exponent: float) -> None:
        """Correct a model by what runs would have taken alone, once that is known.

        What others cost was taken for the model's error before, and would count twice.
        """
        found = Correction()
        for run in known.runs:
            found = found.learn(_LONG, _LONG * run.ratio / times_longer(exponent, run.part))
        self.corrections[key] = replace(found, runs=max(found.runs, self.corrections[key].runs))

    def learn_latency(self, attempt: Attempt) -> None:
        """Learn from an attempt that has just begun on the hosts chosen for it."""
        if attempt.hosts and attempt.started is not None:
            self.dispatch_latency = self.dispatch_latency.learn(attempt.started - attempt.created)

    def ends(self, task: Task, count: int) -> tuple[float, float] | None:
        """Return the seconds that one run in twenty stays below, and exceeds; None where no range is known."""
        if task.profile is None or task.profile.on(count) == math.inf:
            return None
        found = self.corrections.get(task.correction, Correction()).ends(task.profile, count)
        return found and (task.ahead(found[0]), task.ahead(found[1]))

    def expected_run_time(self, task: Task, count: int) -> float:
        """Return a task's corrected run time in seconds on `count` hosts."""
        assert task.profile is not None
        return task.ahead(self.corrections.get(task.correction, Correction()).factor * task.profile.on(count))
