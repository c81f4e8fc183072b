"""Attempts that the manager has and does not start, though their hosts are free.

The manager is asked why; its answer decides whether to wait on or to call the attempt back. Start at
`UnstartedAttempts.answered`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector.interface import StartVerdict
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import DiagnoseAttempt
from cosched.coscheduler.places.hosts import needs_on_host
from cosched.coscheduler.recording.snapshot import AvoidedHosts, UnstartedAttempt, UnstartedSnapshot
from cosched.coscheduler.task import TaskState
from cosched.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from cosched.connector.interface import StartDiagnosis
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["UnstartedAttempts"]

_SLOW_STARTS = 3.0  # times the hand-over that nine in ten stay below, until an attempt is late
_DOUBTFUL = 0.25  # share of the grace
_UNEXPLAINED = 5.0  # graces that an attempt is waited for where the manager names no obstacle
_PAUSE_GROWTH = 4.0
_LONGEST_PAUSE = 3600.0  # seconds between two tries of a task whose own fault it may be
_LONGEST_CLOSED = 600.0  # seconds between two tries where what keeps it passes
_LONGEST_ASIDE = 600.0  # seconds for which a host is set aside at most
_SUSPICIOUS = 2  # tasks that began nowhere on a host, and were tried on no other


class UnstartedAttempts:
    """Attempts in the manager's queue, and the tasks and hosts where attempts did not begin.

    An attempt without hosts is never called back: it waits wherever the manager likes, and only the reason is shown.
    A task that was called back avoids its hosts, a host on which several did not begin is set aside.

    Attributes:
        calls: attempts called back since the start.
    """

    def __init__(self, settings: CoreSettings, state: CoreState) -> None:
        self.calls = 0
        self._settings = settings
        self._state = state
        self._waiting: dict[str, UnstartedAttempt] = {}
        self._tries: dict[str, int] = {}
        self._retry: dict[str, float] = {}
        self._tried: dict[str, tuple[str, ...]] = {}
        self._avoids: dict[str, AvoidedHosts] = {}
        self._accusers: dict[str, tuple[str, ...]] = {}
        self._aside: dict[str, float] = {}
        self._next = -math.inf  # nobody is asked for before

    def snapshot(self) -> UnstartedSnapshot:
        """Return all that is remembered."""
        return UnstartedSnapshot(
            dict(self._waiting),
            dict(self._tries),
            dict(self._retry),
            dict(self._tried),
            dict(self._accusers),
            dict(self._aside),
            self.calls,
            dict(self._avoids),
        )

    def load(self, snapshot: UnstartedSnapshot) -> None:
        """Go on from a snapshot."""
        self._waiting, self._tries, self._retry = dict(snapshot.waiting), dict(snapshot.tries), dict(snapshot.retry)
        self._tried, self._accusers = dict(snapshot.tried), dict(snapshot.accusers)
        self._aside, self._avoids, self.calls = dict(snapshot.aside), dict(snapshot.avoids), snapshot.calls
        self._next = -math.inf

    def restore(self, tasks: Iterable[Task]) -> None:
        """Go on from stored tasks: how often each was tried, and where it did not begin, is kept with it."""
        known = [task for task in tasks if task.status.unstarted]
        self._tries = {task.id: task.status.unstarted for task in known}
        self._avoids = {
            task.id: AvoidedHosts(max(avoids.values()), tuple(sorted(avoids)))
            for task in known
            if (avoids := task.status.avoids)
        }

    @property
    def grace(self) -> float:
        """Return the seconds after which an attempt on free hosts should have begun."""
        return max(self._settings.start_grace, _SLOW_STARTS * self._state.corrections.dispatch_latency.slow)

    def wait(self, attempt: str, time: float) -> None:
        """Note that the manager has an attempt; known ones go on waiting."""
        if attempt not in self._waiting:
            self._put(attempt, UnstartedAttempt(time, time + self.grace))

    def forget(self, attempt: str) -> None:
        """Note that an attempt no longer waits to begin."""
        self._waiting.pop(attempt, None)

    def began(self, attempt: Attempt) -> None:
        """Note that an attempt has begun: neither its task nor its hosts are to blame."""
        self.forget(attempt.uuid)
        self.forget_task(attempt.task)
        for host in attempt.hosts:
            self._accusers.pop(host, None)
            self._aside.pop(host, None)
        for task, avoided in list(self._avoids.items()):
            if self._has_as_much(attempt, self._state.tasks[task]):
                hosts = tuple([host for host in avoided.hosts if host not in attempt.hosts])
                self._avoids[task] = replace(avoided, hosts=hosts)

    def forget_task(self, task: str) -> None:
        """Forget a task that has begun or ended."""
        for known in (self._tries, self._retry, self._tried, self._avoids):
            known.pop(task, None)

    def tries(self, task: str) -> int:
        """Return how many attempts of a task in a row did not begin."""
        return self._tries.get(task, 0)

    def retry_at(self, task: str) -> float:
        """Return the epoch time before which a task is not tried again; 0 for none."""
        return self._retry.get(task, 0.0)

    def ask(self, time: float) -> None:
        """Ask why attempts have not begun that should have.

        Of those without hosts one at a time is asked for, and only where enough hosts are free for it.
        """
        for task in [task for task, avoided in self._avoids.items() if avoided.until <= time]:
            del self._avoids[task]
            self._state.replan()
        if time < self._next:
            return
        due = [uuid for uuid, waiting in self._waiting.items() if waiting.asked is None and time >= waiting.ask]
        anywhere = [uuid for uuid in due if not self._state.attempts[uuid].hosts]
        pinned = [uuid for uuid in due if self._state.attempts[uuid].hosts]
        chosen = self._on_free_hosts(pinned, time) + self._fitting(anywhere, time)
        for uuid in anywhere:
            self._waiting[uuid] = replace(self._waiting[uuid], ask=time + self.grace)
        for uuid in chosen:
            self._waiting[uuid] = replace(self._waiting[uuid], asked=time)
            self._state.decide(DiagnoseAttempt(uuid))
        self._next = min((each.ask for each in self._waiting.values() if each.asked is None), default=math.inf)

    def answered(self, attempt: Attempt, diagnosis: StartDiagnosis, time: float) -> str:
        """Take in the manager's answer.

        Return why the attempt is to be called back; empty where it is waited for.

        An answer that took longer than the grace comes from a manager that was away, and started nothing meanwhile.
        """
        waiting = self._waiting.get(attempt.uuid)
        if waiting is None or waiting.asked is None:
            return ""
        grace, age = self.grace, time - waiting.since
        if diagnosis.verdict is StartVerdict.STARTING or time > waiting.asked + grace:
            self._put(attempt.uuid, UnstartedAttempt(time, time + grace))
            return ""
        blocked = diagnosis.verdict is StartVerdict.BLOCKED
        explained = blocked or diagnosis.verdict is StartVerdict.CLOSED or age >= _UNEXPLAINED * grace
        if not attempt.hosts or not explained:
            pause = grace if attempt.hosts else 2 * age
            self._put(attempt.uuid, UnstartedAttempt(waiting.since, time + pause, None, diagnosis.reason))
            return ""
        self.forget(attempt.uuid)
        self.calls += 1
        if not attempt.worker:  # its task runs, and waits longer and longer for another worker by itself
            # What passes, or is not named, is no fault of the task's: it alone never ends the tries.
            most = self._settings.starts if blocked else max(self._settings.starts - 1, 1)
            self._tries[attempt.task] = tries = min(self.tries(attempt.task) + 1, most)
            longest = _LONGEST_CLOSED if diagnosis.verdict is StartVerdict.CLOSED else _LONGEST_PAUSE
            self._retry[attempt.task] = time + self._pause(tries, longest)
            until, known = self._retry[attempt.task] + self._pause(tries + 1, longest), self._avoids.get(attempt.task)
            hosts = {*attempt.hosts, *(() if known is None else known.hosts)}
            self._avoids[attempt.task] = AvoidedHosts(until, tuple(sorted(hosts)))
            self._blame(attempt, time)
        words = diagnosis.reason or "it names no reason"
        return f"the resource manager did not start it in {format_duration(age)}: {words}"

    def waited(self, attempt: str, time: float) -> float:
        """Return how long an attempt with hosts has waited to begin; 0: as usual."""
        waiting = self._waiting.get(attempt)
        if waiting is None or not self._state.attempts[attempt].hosts:
            return 0.0
        seconds = time - waiting.since
        return seconds if seconds >= self._doubtful else 0.0

    def late(self, time: float) -> list[str]:
        """Return the attempts with hosts whose start cannot be counted on any more."""
        before = time - self._doubtful
        attempts = self._state.attempts
        return [uuid for uuid, each in self._waiting.items() if each.since <= before and attempts[uuid].hosts]

    def refused(self) -> Collection[str]:
        """Return the tasks with attempts that did not begin, and none since that did."""
        return self._tries.keys()

    @property
    def _doubtful(self) -> float:
        """Seconds after which nothing is promised any more for the hosts of an attempt."""
        slow = _SLOW_STARTS * self._state.corrections.dispatch_latency.slow
        return max(_DOUBTFUL * self._settings.start_grace, slow)

    def reason(self, attempt: str) -> str:
        """Return the manager's last answer on an attempt; empty where there is none."""
        waiting = self._waiting.get(attempt)
        return "" if waiting is None else waiting.reason

    def set_aside(self, time: float) -> dict[str, float]:
        """Return the hosts that get no task before an epoch time.

        Where no other is left, it is rather the tasks, or the manager, and all are used.
        """
        aside = {host: until for host, until in self._aside.items() if until > time}
        return aside if aside and any(host not in aside for host in self._state.hosts.mine()) else {}

    def avoided(self) -> dict[str, frozenset[str]]:
        """Return the hosts that waiting tasks are not planned on for now, as they did not begin there.

        Only where others do as well: as many as the task had, of the same classes, with what it needs.
        """
        found = {}
        for name, avoided in self._avoids.items():
            task = self._state.tasks[name]
            if task.status.state is TaskState.QUEUED and avoided.hosts and self._others_do(task, avoided.hosts):
                found[name] = frozenset(avoided.hosts)
        return found

    def avoided_until(self, task: str) -> float:
        """Return the epoch time until which a task avoids hosts; 0 for none."""
        return self._avoids[task].until if task in self._avoids else 0.0

    def avoids(self, task: str) -> dict[str, float]:
        """Return the hosts that a task avoids, each with the epoch time until which it does; its status keeps them."""
        avoided = self._avoids.get(task)
        return {} if avoided is None else dict.fromkeys(avoided.hosts, avoided.until)

    def suspects(self) -> dict[str, int]:
        """Return the hosts on which several tasks did not begin, with their number."""
        return {host: len(tasks) for host, tasks in self._accusers.items() if len(tasks) >= _SUSPICIOUS}

    def _on_free_hosts(self, pinned: Sequence[str], time: float) -> list[str]:
        """Return the attempts with no host that another attempt has whole; the others wait anew.

        The hosts of a job that was held went to others.
        """
        if not pinned:
            return []
        shared = self._state.hosts.shared
        running = {
            host
            for attempt in self._state.attempts.values()
            if attempt.state is AttemptState.RUNNING and not (shared and attempt.share)
            for host in attempt.hosts
        }
        free = [uuid for uuid in pinned if running.isdisjoint(self._state.attempts[uuid].hosts)]
        for uuid in set(pinned) - set(free):
            self._put(uuid, UnstartedAttempt(time, time + self.grace))
        return free

    def _fitting(self, anywhere: Sequence[str], time: float) -> list[str]:
        """Return one of these attempts that the free hosts suffice for, if any."""
        attempts = self._state.attempts
        if not anywhere or any(
            each.asked is not None and not attempts[uuid].hosts for uuid, each in self._waiting.items()
        ):
            return []
        busy = self._state.hosts.occupied(attempts.values(), time)
        free = sum(host not in busy for host in self._state.hosts.mine())
        fitting = [uuid for uuid in anywhere if attempts[uuid].count <= free]
        return sorted(fitting, key=lambda uuid: bool(self._waiting[uuid].reason))[:1]  # those without an answer first

    def _pause(self, tries: int, longest: float) -> float:
        """Return the seconds until a task is tried again that did not begin so often."""
        return min(self.grace * _PAUSE_GROWTH ** min(tries - 1, 10), longest)

    def _others_do(self, task: Task, avoided: Collection[str]) -> bool:
        """Return whether there are as many other hosts like these as a task had."""
        domain = self._state.hosts
        alike = {
            (known.host_class, known.unparted) for host in avoided if (known := domain.hosts.get(host)) is not None
        }
        needs = needs_on_host(task.spec, domain.memory_per_core)
        able = set(domain.mine()).intersection(domain.offering(needs, task.spec.partition))
        others = [domain.hosts[host] for host in able.difference(avoided)]
        return sum((each.host_class, each.unparted) in alike for each in others) >= max(len(task.status.hosts), 1)

    def _has_as_much(self, attempt: Attempt, task: Task) -> bool:
        """Return whether an attempt that has begun was given as much of each host as a task asks for."""
        domain, spec = self._state.hosts, self._state.tasks[attempt.task].spec
        if domain.shared and attempt.share is not None and domain.share_of(task.spec) is None:
            return False
        asked, given = (needs_on_host(each, domain.memory_per_core) for each in (task.spec, spec))
        return all(amount <= had for amount, had in zip(asked, given, strict=True))

    def _put(self, attempt: str, waiting: UnstartedAttempt) -> None:
        self._waiting[attempt] = waiting
        self._next = min(self._next, waiting.ask)

    def _blame(self, attempt: Attempt, time: float) -> None:
        """Suspect the hosts of a task that was tried nowhere else.

        One that began on no other host either is to blame itself.
        """
        task, before = attempt.task, self._tried.get(attempt.task, ())
        self._tried[task] = tuple(sorted({*before, *attempt.hosts}))
        if set(before) - set(attempt.hosts):
            for host, tasks in list(self._accusers.items()):
                self._accusers[host] = tuple(each for each in tasks if each != task)
            return
        for host in attempt.hosts:
            tasks = self._accusers.get(host, ())
            self._accusers[host] = tasks = tasks if task in tasks else (*tasks, task)
            if len(tasks) >= _SUSPICIOUS:
                pause = self.grace * 2.0 ** min(len(tasks) - _SUSPICIOUS, 10)
                self._aside[host] = time + min(pause, _LONGEST_ASIDE)
