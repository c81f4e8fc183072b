"""A domain in virtual time runs the daemon's core with simulated hosts, jobs and search.

Start at `SimulatedDomain`.

`Calendar` is the clock. `SimulatedPlanner` answers at the moment of a change, after a fixed number of generations
instead of a share of a processor, so that a seed gives the same plans on any machine.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
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
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.policies import PolicyName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Decision
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Task
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.search.genetic_search import GeneticSearch
    from cosched.scheduling.search.titan_classic import TitanClassicSearch

__all__ = ["Calendar", "SimulatedDomain", "SimulatedPlanner", "SimulatedRun"]


class Calendar:
    """Runs actions by time; actions of one moment in the order of their entry.

    Attributes:
        time: now, seconds.
    """

    def __init__(self) -> None:
        self.time = 0.0
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._at_end: list[Callable[[], None]] = []
        self._turn = itertools.count()

    @property
    def pending(self) -> bool:
        """Return whether any action is left."""
        return bool(self._entries)

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Enter an action at a time; one of the past is run now."""
        heapq.heappush(self._entries, (time, next(self._turn), action))

    def at_end_of_moment(self, action: Callable[[], None]) -> None:
        """Run an action once all others of this moment have run."""
        self._at_end.append(action)

    def step(self, until: float) -> bool:
        """Run the next action that is due by a time; return whether there was one."""
        if not self._entries or self._entries[0][0] > until:
            return False
        when, _, action = heapq.heappop(self._entries)
        self.time = max(self.time, when)
        action()
        while self._at_end and not (self._entries and self._entries[0][0] <= self.time):
            self._at_end.pop(0)()
        return True

    def advance_to(self, time: float) -> None:
        """Let the clock show at least this time."""
        self.time = max(self.time, time)


class SimulatedPlanner:
    """Searches a plan when the core asks for one.

    Attributes:
        searches: number of snapshots that were searched.
    """

    def __init__(self, generations: int = 100, seed: int = 0) -> None:
        """Build a planner.

        Args:
            generations: generations of each search; 0: the best of the heuristics' plans and the last plan.
            seed: seed of the random numbers; each search derives its own.
        """
        self.searches = 0
        self._generations = generations
        self._seed = seed

    def answer(self, core: Coscheduler, time: float) -> ScheduleImproved | None:
        """Return the best plan found for the waiting tasks; None where none waits."""
        snapshot = core.planning_view.snapshot(time)
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
        return ScheduleImproved(
            time=time,
            plan=TaskPlan.of(problem, best),
            since=time,
            bound=lower_bound(problem),
            makespan=max(spans(problem, best)[1]),
            evaluations=search.evaluations,
        )


def _new_search(problem: Problem, plan: Plan, settings: CoreSettings, seed: int) -> GeneticSearch | TitanClassicSearch:
    """Return the search of a domain's policy; Titan's ignores the plan so far.

    It begins at random.
    """
    if settings.policy == PolicyName.TITAN_CLASSIC:
        from cosched.scheduling.search.titan_classic import TitanClassicSearch  # loads numba

        return TitanClassicSearch(problem, settings.weights, seed)
    from cosched.scheduling.search.genetic_search import GeneticSearch  # loads numba and DEAP

    return GeneticSearch(problem, settings.weights, seed, plan)


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """One completed run of a task; times are seconds of virtual time."""

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
    """Drives one core with simulated hosts, jobs and time.

    Attributes:
        core: the co-scheduler under simulation.
        calendar: its time; several domains may share it.
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
            settings: settings of the core.
            hosts: their number, their names, or the hosts as a resource manager describes them.
            seconds: (task, count) → true run time; the task comes as predicted on the hosts' classes.
            planner: the search; without it the core plans by itself.
            calendar: shared with other domains; None: its own.
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

    @property
    def busy(self) -> bool:
        """Return whether a job runs that will end."""
        return any(job.over is None and job.ends < math.inf for job in self._jobs.values())

    def post(self, event: Event) -> None:
        """Enter an event at its time."""
        self.calendar.at(event.time, partial(self._handle_event, event))

    def set_hosts(self, names: Iterable[str], *, up: bool) -> None:
        """Take hosts off now, with the jobs on them, or give them back."""
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
        """Go on until no action is left, or until a time."""
        while self.calendar.step(until):
            if not self.calendar.pending and self.core.tasks and self.time < until:
                self._tick_if_stuck()
        if until != float("inf"):
            self.calendar.advance_to(until)

    def _search(self) -> None:
        """Search once for all changes of this moment."""
        self._stale = False
        answer = None if self._planner is None else self._planner.answer(self.core, self.time)
        if answer is not None:
            self.post(answer)

    def _tick_if_stuck(self) -> None:
        """Enter a tick where tasks wait for time alone, if one can change anything."""
        if self.core.attempts or self.time < self._longest_wait():
            self.post(Tick(self.time + 1.0))

    def _longest_wait(self) -> float:
        latest = max(task.submitted for task in self.core.tasks.values())
        return latest + self.core.settings.staging + self.core.settings.retry_longest + 1.0

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, JobReported) and event.report.state is JobState.COMPLETED:
            job = self._jobs[event.report.attempt]
            if job.over is not None or job.ends != event.report.finished:
                return  # the job was stopped before its end, or ends at another time
            self._complete(event.report)
        self.carry_out(self.handle(event))

    def handle(self, event: Event) -> Iterable[Decision]:
        """Return the core's decisions on an event."""
        return self.core.handle(event).decisions

    def carry_out(self, decisions: Iterable[Decision]) -> None:
        """Carry out decisions in virtual time as the daemon does for real."""
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
                    self.calendar.at_end_of_moment(self._search)
                case _:
                    pass

    def run_time(self, attempt: Attempt, task: Task) -> float:
        """Return for how many seconds an attempt that begins now will run."""
        return self._seconds(task, attempt.count)

    def _start(self, attempt: Attempt, task: Task) -> None:
        seconds = self.run_time(attempt, task)
        self._begin(attempt, f"sim.{task.id}")
        self.end_at(attempt.uuid, self.time + seconds)

    def _begin(self, attempt: Attempt, key: str) -> None:
        """Have the job of an attempt run; nothing says yet when it ends."""
        self._jobs[attempt.uuid] = _RunningJob(attempt, self.time, math.inf)
        running = JobReport(attempt.uuid, JobState.RUNNING, started=self.time)
        self.post(AttemptSubmitted(self.time, attempt.uuid, key))
        self.post(JobReported(self.time, running))

    def end_at(self, uuid: str, time: float) -> None:
        """Have the job of an attempt end at a time, in place of any earlier one."""
        job = self._jobs[uuid]
        job.ends = time
        done = JobReport(uuid, JobState.COMPLETED, started=job.started, finished=time, exit_code=0)
        self.post(JobReported(time, done))

    def _complete(self, report: JobReport) -> None:
        job = self._jobs[report.attempt]
        job.over = report
        task = self.core.tasks[job.attempt.task]
        self.completed(
            SimulatedRun(task.id, task.spec.name, task.spec.application, job.attempt.hosts, job.started, job.ends)
        )

    def completed(self, run: SimulatedRun) -> None:
        """Note a run that has ended."""
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
