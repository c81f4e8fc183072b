"""What is not as predicted, loads of hosts or a run, leads to a new plan and is said: GHS's Reschedule Trigger System.

The A-MM paper (section 2.1) compares resources with their records and reschedules; it gives no formula. Whether a load
has departed is found in `prediction/load_change.py`, whether a run has in `progress.py`. Start at `RescheduleTrigger`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.changes import LogEntry
from cosched.coscheduler.places.hosts import expected_end, overrun
from cosched.coscheduler.task import AttemptState
from cosched.durations import format_duration
from cosched.prediction.host_load import HostLoad, LoadTrigger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Attempt, Task

__all__ = ["RescheduleTrigger", "load_text", "running_ends"]

_NOTICEABLE = 1.0  # seconds by which an end must move to be said
_NO_LOAD = HostLoad()
_NAMED = 3


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

    def ends(self, time: float) -> dict[str, float]:
        """Return when each task that has a deadline and runs or is planned is expected to end, epoch seconds."""
        if self._off:
            return {}
        dated = {name for name, task in self._state.tasks.items() if task.spec.deadline is not None}
        if not dated:
            return {}
        running = [each for each in self._state.attempts.values() if not each.worker and each.takes_hosts]
        found = {each.task: expected_end(each, time) for each in running if each.predicted is not None}
        if not dated <= found.keys():
            found |= {name: time + end for name, _, end, _ in self._view.spans(time) or ()}
        return {name: end for name, end in found.items() if name in dated}

    def say_loads(
        self, earlier: Mapping[str, HostLoad], predicted: Mapping[str, float], ends: Mapping[str, float], time: float
    ) -> None:
        """Note which running tasks are expected to end at another time, and which waiting ones are late now.

        Args:
            earlier: the loads that were reckoned with so far.
            predicted: ends of the running attempts as they were expected with these, epoch seconds.
            ends: of tasks with deadlines, likewise; see `ends`.
            time: now, epoch seconds.
        """
        if self._off:
            return
        said = set()
        for uuid, before in predicted.items():
            attempt = self._state.attempts[uuid]
            task, moved = self._state.tasks[attempt.task], expected_end(attempt, time) - before
            if abs(moved) < _NOTICEABLE:
                continue
            said.add(task.id)
            whose = load_text(attempt.reckoned_hosts, self._state.hosts.loads, earlier)
            by = f"{format_duration(abs(moved))} {'later' if moved > 0 else 'sooner'}"
            self._note("load changed", task, f"{whose}: it is expected to end {by}", before + moved, time)
        for name, end in self.ends(time).items():
            task = self._state.tasks[name]
            if task.spec.deadline is not None and ends.get(name, end) <= task.spec.deadline < end and name not in said:
                self._note("will be late", task, "owners take more of hosts than was reckoned with", end, time)

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


def running_ends(state: CoreState, time: float) -> dict[str, float]:
    """Return when each running attempt is expected to end, epoch seconds, by its UUID; without workers."""
    return {
        each.uuid: expected_end(each, time)
        for each in state.attempts.values()
        if each.state is AttemptState.RUNNING and not each.worker and each.predicted is not None
    }


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
