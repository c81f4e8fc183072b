"""What is not as predicted, loads of hosts or a run, leads to a new plan and is said: GHS's Reschedule Trigger System.

The A-MM paper (section 2.1) compares resources with their records and reschedules; it gives no formula. Whether a load
has departed is found in `prediction/loads/load_change.py`, whether a run has in `progress.py`. Start at
`RescheduleTrigger`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import LogEntry
from cosched.coscheduler.places.hosts import expected_end, overrun
from cosched.durations import format_duration
from cosched.prediction.loads.host_load import HostLoad, LoadTrigger
from cosched.scheduling.decoding.decoder import spans

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["ExpectedEnds", "RescheduleTrigger", "load_text"]

_NOTICEABLE = 1.0  # seconds by which an end must move to be said
_NO_LOAD = HostLoad()
_NAMED = 3


@dataclass(frozen=True, slots=True)
class ExpectedEnds:
    """Expected ends of tasks, as of one moment. Times are epoch seconds.

    The plan is kept undecoded: on many hosts, with thousands of tasks, that takes half a second.

    Attributes:
        time: the moment.
        attempts: ends of the running attempts, without workers.
        tasks: ends of the tasks that have an attempt.
        planned: what waits, with the plan in force; None where nothing does or no task that waits has a deadline.
    """

    time: float
    attempts: Mapping[str, float]
    tasks: Mapping[str, float]
    planned: tuple[Problem, Plan] | None

    def ends(self) -> dict[str, float]:
        """Return the ends of all tasks; decodes the plan."""
        if self.planned is None:
            return dict(self.tasks)
        problem, plan = self.planned
        waiting = zip(problem.tasks, spans(problem, plan)[1], strict=True)
        return {**self.tasks, **{name: self.time + end for name, end in waiting}}

    def soonest(self, name: str) -> float:
        """Return when a task ends at the soonest, whatever the plan; -inf where nothing is known of it."""
        if self.planned is None or name not in self.planned[0].tasks:
            return self.tasks.get(name, -math.inf)
        problem, _ = self.planned
        row = problem.tasks.index(name)
        return self.time + float(problem.release[row] + problem.seconds[:, row].min())


class RescheduleTrigger:
    """Has the search plan anew, and notes in the log what will be late by it."""

    def __init__(self, settings: CoreSettings, state: CoreState, planning_view: PlanningView) -> None:
        self._off = settings.trigger is LoadTrigger.OFF
        self._state = state
        self._view = planning_view
        self._reckoned: dict[str, float] = {}  # attempt that runs on → end that plans reckon with, epoch seconds

    def snapshot(self) -> dict[str, float]:
        """Return the ends that plans reckon with of runs that last too long, epoch seconds, by attempt."""
        return dict(self._reckoned)

    def load(self, reckoned: Mapping[str, float]) -> None:
        """Go on from a snapshot."""
        self._reckoned = dict(reckoned)

    def look(self, time: float) -> None:
        """Have the plan made anew for each run that has passed its expected end, ever more rarely for the same one."""
        for uuid in self._reckoned.keys() - self._state.attempts.keys():
            del self._reckoned[uuid]
        if self._off:
            return
        late: list[Attempt] = []
        for attempt in self._state.attempts.values():
            known = self._reckoned.get(attempt.uuid)
            if attempt.worker or not overrun(attempt, time) or (known is not None and time < known):
                continue
            self._reckoned[attempt.uuid] = expected_end(attempt, time)
            self._state.replan()
            if known is None:
                late.append(attempt)
        if late:
            self._say_overrun(late, time)

    def expected(self, time: float) -> ExpectedEnds | None:
        """Return when tasks are expected to end as things are; None where nothing is to be said of a change."""
        if self._off:
            return None
        attempts = {
            each.uuid: expected_end(each, time)
            for each in self._state.attempts.values()
            if each.takes_hosts and not each.worker and each.predicted is not None
        }
        running = {
            uuid: end for uuid, end in attempts.items() if self._state.attempts[uuid].state is AttemptState.RUNNING
        }
        tasks = {self._state.attempts[uuid].task: end for uuid, end in attempts.items()}
        dated = {name for name, task in self._state.tasks.items() if task.spec.deadline is not None}
        return ExpectedEnds(time, running, tasks, None if dated <= tasks.keys() else self._view.planned(time))

    def say_loads(self, earlier: Mapping[str, HostLoad], expected: ExpectedEnds, time: float) -> None:
        """Note which running tasks are expected to end at another time, and which waiting ones are late now.

        Args:
            earlier: the loads that were reckoned with so far.
            expected: ends as they were expected with these.
            time: now, epoch seconds.
        """
        said, now = set(), self.expected(time)
        for uuid, before in expected.attempts.items():
            attempt = self._state.attempts[uuid]
            task, moved = self._state.tasks[attempt.task], expected_end(attempt, time) - before
            if abs(moved) < _NOTICEABLE:
                continue
            said.add(task.id)
            whose = load_text(attempt.reckoned_hosts, self._state.hosts.loads, earlier)
            by = f"{format_duration(abs(moved))} {'later' if moved > 0 else 'sooner'}"
            self._note("load changed", task, f"{whose}: it is expected to end {by}", before + moved, time)
        late = [] if now is None else [*self._late(now.ends(), said)]
        # Most changes make nobody late, or those who are late anyway: then the plan of before need not be decoded.
        if all(expected.soonest(task.id) > due for task, due, _ in late):
            return
        ends = expected.ends()
        for task, due, end in late:
            if ends.get(task.id, end) <= due:
                self._note("will be late", task, "owners take more of hosts than was reckoned with", end, time)

    def _late(self, ends: Mapping[str, float], said: Collection[str]) -> Iterator[tuple[Task, float, float]]:
        """Yield the tasks that end after their deadlines, with these and their ends, but for those that were said."""
        for name, end in ends.items():
            task = self._state.tasks[name]
            if name not in said and task.spec.deadline is not None and task.spec.deadline < end:
                yield task, task.spec.deadline, end

    def _say_overrun(self, late: Iterable[Attempt], time: float) -> None:
        forecast = self._view.forecast(time)
        for attempt in late:
            task, end = self._state.tasks[attempt.task], expected_end(attempt, time)
            more = f"it is expected to run for another {format_duration(end - time)}"
            self._note("longer than predicted", task, more, end, time)
            hosts = set(attempt.reckoned_hosts)
            for place in () if forecast is None else forecast[1].assignments:
                other = self._state.tasks[place.task]
                if other.spec.deadline is None or hosts.isdisjoint(place.hosts):
                    continue
                if time + place.end > other.spec.deadline:
                    why = f"task {task.id} runs longer than predicted on hosts that it will use"
                    self._note("will be late", other, why, time + place.end, time)

    def _note(self, kind: str, task: Task, detail: str, end: float, time: float) -> None:
        deadline = task.spec.deadline
        missed = 0.0 if deadline is None else end - deadline
        late = f", {format_duration(missed)} after its deadline" if missed > 0 else ""
        if kind == "will be late":
            detail += f": it is expected to end {late.removeprefix(', ')}"
            late = ""
        self._state.note(LogEntry(time, kind, task.id, detail + late))


def load_text(
    hosts: Iterable[str], loads: Mapping[str, HostLoad], earlier: Mapping[str, HostLoad] | None = None
) -> str:
    """Say what owners take of those of some hosts that have a load, or had another."""
    earlier = loads if earlier is None else earlier
    parts = []
    for host in hosts:
        now, before = (each.get(host, _NO_LOAD).lost for each in (loads, earlier))
        if now != before:
            parts.append(f"{now:.0%} of {host} in place of {before:.0%}")
        elif now and loads is earlier:
            parts.append(f"{now:.0%} of {host}")
    named = ", ".join(parts[:_NAMED]) + (f" and more of {len(parts) - _NAMED} others" if len(parts) > _NAMED else "")
    return f"owners take {named}"
