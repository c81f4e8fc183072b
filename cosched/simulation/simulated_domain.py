"""A domain in virtual time: the daemon's core, with simulated hosts, jobs and search.

Start at `SimulatedDomain`; `Calendar` is the clock; `SimulatedPlanner` searches a fixed number of generations, so that
a seed gives the same plans on any machine.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from cosched.connector.interface import Host, JobReport, JobState
from cosched.coscheduler.changes import CancelAttempt, DispatchAttempt, LocateAttempt, Replan
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptSubmitted,
    HostsObserved,
    JobReported,
    ScheduleImproved,
    Tick,
)
from cosched.coscheduler.plan import named_plan
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.policies import PolicyName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.coscheduler.changes import Decision
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Attempt, Task
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.search.genetic_search import GeneticSearch
    from cosched.scheduling.search.titan_classic import TitanClassic

__all__ = ["Calendar", "SimulatedDomain", "SimulatedPlanner", "SimulatedRun"]

# ── Virtual time: what happens when, in order; at the end of a moment, what was put off until then.


class Calendar:
    """Actions by time; those of one moment in the order in which they were entered.

    Attributes:
        time: now, seconds.
    """

    def __init__(self) -> None:
        self.time = 0.0
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._put_off: list[Callable[[], None]] = []
        self._turn = itertools.count()

    @property
    def pending(self) -> bool:
        """Whether anything is still to happen."""
        return bool(self._entries)

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Let something happen at a time; what is past by then happens now."""
        heapq.heappush(self._entries, (time, next(self._turn), action))

    def put_off(self, action: Callable[[], None]) -> None:
        """Let something happen once nothing else is left to happen at this moment."""
        self._put_off.append(action)

    def step(self, until: float) -> bool:
        """Let the next thing happen, if that is by a time; return whether there was one."""
        if not self._entries or self._entries[0][0] > until:
            return False
        when, _, action = heapq.heappop(self._entries)
        self.time = max(self.time, when)
        action()
        while self._put_off and not (self._entries and self._entries[0][0] <= self.time):
            self._put_off.pop(0)()
        return True


# ── The search in virtual time: it answers at the very moment of the change, after a fixed number of generations.
#
# The daemon's search has a share of one processor for as long as tasks wait; here its effort is counted in generations,
# so that the same seed gives the same plans on any machine. Virtual time stands still meanwhile.


class SimulatedPlanner:
    """Answers a core that asks to be replanned.

    Attributes:
        searches: how many snapshots were searched.
    """

    def __init__(self, generations: int = 100, seed: int = 0) -> None:
        """Build a planner.

        Args:
            generations: of each search; with 0 its seeds alone, the heuristics' plans and the last one, compete.
            seed: of the random numbers; each search has its own, derived from it.
        """
        self.searches = 0
        self._generations = generations
        self._seed = seed

    def answer(self, core: Coscheduler, time: float) -> ScheduleImproved | None:
        """Return the best plan found for what waits now; None where nothing is to be searched."""
        snapshot = core.prospect.snapshot(time)
        if snapshot is None:
            return None
        problem, plan = snapshot
        search = _new_search(problem, plan, core.settings, self._seed + self.searches)
        self.searches += 1
        for _ in range(self._generations):
            if search.finished:
                break
            search.step()
        best = search.best
        order, counts, classes = named_plan(problem, best)
        return ScheduleImproved(
            time=time,
            order=order,
            counts=counts,
            classes=classes,
            since=time,
            bound=lower_bound(problem),
            makespan=max(spans(problem, best)[1]),
            evaluations=search.evaluations,
        )


def _new_search(problem: Problem, plan: Plan, settings: CoreSettings, seed: int) -> GeneticSearch | TitanClassic:
    """Return the search that a domain's policy stands for; Titan's begins at random, whatever the plan so far."""
    if settings.policy == PolicyName.TITAN_CLASSIC:
        from cosched.scheduling.search.titan_classic import TitanClassic  # loads numba

        return TitanClassic(problem, settings.weights, seed)
    from cosched.scheduling.search.genetic_search import GeneticSearch  # loads numba and DEAP

    return GeneticSearch(problem, settings.weights, seed, plan)


# ── A domain in virtual time: the very core of the daemon, with simulated hosts and jobs for a resource manager.


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """What one task did. Times are seconds of virtual time."""

    task: str
    name: str
    application: str
    hosts: tuple[str, ...]
    started: float
    finished: float


@dataclass(slots=True)
class _RunningJob:
    attempt: Attempt
    started: float
    ends: float
    over: JobReport | None = field(default=None)


class SimulatedDomain:
    """Hosts, jobs and a clock of its own around one core.

    Attributes:
        core: the co-scheduler under simulation.
        calendar: its time; several domains may share one.
        runs: every run that completed, in order of completion.
    """

    def __init__(
        self,
        settings: CoreSettings,
        hosts: int | Iterable[str | Host],
        seconds: Callable[[Task, int], float],
        planner: SimulatedPlanner | None = None,
        calendar: Calendar | None = None,
    ) -> None:
        """Build a domain.

        Args:
            settings: of the core.
            hosts: how many, or their names, or what the resource manager says of them.
            seconds: what a task really takes on that many hosts; it is given the task as predicted on their classes.
            planner: the search; without one tasks leave in the simpler order that the core knows by itself.
            calendar: that of a larger world; None: a world of its own.
        """
        names = [f"node{number:02d}" for number in range(1, hosts + 1)] if isinstance(hosts, int) else hosts
        self.core = Coscheduler(settings)
        self.calendar = Calendar() if calendar is None else calendar
        self.runs: list[SimulatedRun] = []
        self._seconds = seconds
        self._planner = planner
        self._stale = False
        known = (host if isinstance(host, Host) else Host(host) for host in names)
        self._hosts = {host.name: host for host in known}
        self._jobs: dict[str, _RunningJob] = {}
        self.post(HostsObserved(0.0, tuple(self._hosts.values())))

    @property
    def time(self) -> float:
        """Virtual time in seconds."""
        return self.calendar.time

    def post(self, event: Event) -> None:
        """Let an event happen at its time."""
        self.calendar.at(event.time, partial(self._happen, event))

    def set_hosts(self, names: Iterable[str], *, up: bool) -> None:
        """Take hosts off now, with what runs on them, or give them back."""
        for name in names:
            self._hosts[name] = replace(self._hosts[name], up=up, reason="" if up else "taken off")
        for job in self._jobs.values():
            off = [name for name in job.attempt.hosts if not self._hosts[name].up]
            if off and job.over is None:
                report = JobReport(job.attempt.uuid, JobState.EVICTED, reason=f"{off[0]} was taken off")
                self.post(JobReported(self.time, report))
                job.over = JobReport(job.attempt.uuid, JobState.REMOVED)
        self.post(HostsObserved(self.time, tuple(self._hosts.values())))

    def run(self, until: float = float("inf")) -> None:
        """Go on until nothing is left to happen, or until a time."""
        while self.calendar.step(until):
            if not self.calendar.pending and self.core.tasks and self.time < until:
                self._nudge()
        if until != float("inf"):
            self.calendar.time = max(self.time, until)

    def _search(self) -> None:
        """Search once for all that has changed at this moment."""
        self._stale = False
        answer = None if self._planner is None else self._planner.answer(self.core, self.time)
        if answer is not None:
            self.post(answer)

    def _nudge(self) -> None:
        """Let time go by where tasks wait for nothing but that; stop where nothing would ever change."""
        if self.core.attempts or self.time < self._patience():
            self.post(Tick(self.time + 1.0))

    def _patience(self) -> float:
        latest = max(task.submitted for task in self.core.tasks.values())
        return latest + self.core.settings.staging + self.core.settings.retry_longest + 1.0

    def _happen(self, event: Event) -> None:
        if isinstance(event, JobReported) and event.report.state is JobState.COMPLETED:
            if self._jobs[event.report.attempt].over is not None:
                return  # it was stopped before its time
            self._complete(event.report)
        self.carry_out(self.handle(event))

    def handle(self, event: Event) -> Iterable[Decision]:
        """Return what is decided on an event."""
        return self.core.handle(event).decisions

    def carry_out(self, decisions: Iterable[Decision]) -> None:
        """Do in virtual time what the daemon does for real."""
        for decision in decisions:
            match decision:
                case DispatchAttempt(attempt, task):
                    self._start(attempt, task)
                case CancelAttempt(uuid):
                    self._stop(uuid)
                case LocateAttempt(uuid):
                    self._answer(uuid)
                case Replan() if not self._stale:
                    self._stale = True
                    self.calendar.put_off(self._search)
                case _:
                    pass

    def _start(self, attempt: Attempt, task: Task) -> None:
        seconds = self._seconds(task, attempt.count)
        job = _RunningJob(attempt, self.time, self.time + seconds)
        self._jobs[attempt.uuid] = job
        running = JobReport(attempt.uuid, JobState.RUNNING, started=self.time)
        done = JobReport(attempt.uuid, JobState.COMPLETED, started=self.time, finished=job.ends, exit_code=0)
        self.post(AttemptSubmitted(self.time, attempt.uuid, f"sim.{task.id}"))
        self.post(JobReported(self.time, running))
        self.post(JobReported(job.ends, done))

    def _complete(self, report: JobReport) -> None:
        job = self._jobs[report.attempt]
        job.over = report
        task = self.core.tasks[job.attempt.task]
        self.completed(SimulatedRun(task.id, task.name, task.application, job.attempt.hosts, job.started, job.ends))

    def completed(self, run: SimulatedRun) -> None:
        """Take note of a run that has come to its end."""
        self.runs.append(run)

    def _stop(self, uuid: str) -> None:
        job = self._jobs.get(uuid)
        if job is not None and job.over is None:
            job.over = JobReport(uuid, JobState.REMOVED)

    def _answer(self, uuid: str) -> None:
        job = self._jobs.get(uuid)
        if job is None:
            self.post(AttemptAbsent(self.time, uuid))
        elif job.over is not None:
            self.post(JobReported(self.time, job.over))
