"""A domain in virtual time: the very core of the daemon, with simulated hosts and jobs for a resource manager."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from cosched.connector.interface import Host, JobReport, JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.decisions import Cancel, Dispatch, Locate, Replan
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptSubmitted,
    HostsObserved,
    JobReported,
    Tick,
)
from cosched.simulation.calendar import Calendar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.coscheduler.decisions import Decision
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.settings import Settings
    from cosched.coscheduler.task import Attempt, Task
    from cosched.simulation.planner import Planner

__all__ = ["Run", "SimulatedDomain"]


@dataclass(frozen=True, slots=True)
class Run:
    """What one task did. Times are seconds of virtual time."""

    task: str
    name: str
    application: str
    hosts: tuple[str, ...]
    started: float
    finished: float


@dataclass(slots=True)
class _Job:
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
        settings: Settings,
        hosts: int | Iterable[str | Host],
        seconds: Callable[[Task, int], float],
        planner: Planner | None = None,
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
        self.runs: list[Run] = []
        self._seconds = seconds
        self._planner = planner
        self._stale = False
        known = (host if isinstance(host, Host) else Host(host) for host in names)
        self._hosts = {host.name: host for host in known}
        self._jobs: dict[str, _Job] = {}
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
                case Dispatch(attempt, task):
                    self._start(attempt, task)
                case Cancel(uuid):
                    self._stop(uuid)
                case Locate(uuid):
                    self._answer(uuid)
                case Replan() if not self._stale:
                    self._stale = True
                    self.calendar.put_off(self._search)
                case _:
                    pass

    def _start(self, attempt: Attempt, task: Task) -> None:
        seconds = self._seconds(task, attempt.count)
        job = _Job(attempt, self.time, self.time + seconds)
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
        self.completed(Run(task.id, task.name, task.application, job.attempt.hosts, job.started, job.ends))

    def completed(self, run: Run) -> None:
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
