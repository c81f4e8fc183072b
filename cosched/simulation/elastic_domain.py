"""A domain in virtual time some of whose tasks are elastic: workers come and go, and the ends of their tasks with them.

Start at `ElasticDomain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.events import JobReported, Tick
from cosched.simulation.simulated_domain import SimulatedDomain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.connector.hosts import Host
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.task import Task
    from cosched.simulation.simulated_domain import SimulatedPlanner

__all__ = ["ElasticDomain"]


@dataclass(slots=True)
class _Progress:
    """An elastic task under way.

    Attributes:
        lead: the attempt that runs its command.
        task: whose it is.
        workers: attempts of its workers that take part in it, each on a host of its own.
        left: part of its work that was left at `since`.
        since: when that was.
        hosts: on how many it goes on from then.
    """

    lead: Attempt
    task: Task
    since: float
    workers: list[str] = field(default_factory=list)
    left: float = 1.0
    hosts: int = 1


class ElasticDomain(SimulatedDomain):
    """A domain whose elastic tasks go on at the pace of the hosts that they have at each moment."""

    def __init__(
        self,
        settings: CoreSettings,
        hosts: int | Iterable[str | Host],
        seconds: Callable[[Task, int], float],
        drain: float,
        planner: SimulatedPlanner | None = None,
    ) -> None:
        """Build a domain at the time 0.

        Args:
            settings: settings of the core.
            hosts: see `SimulatedDomain`.
            seconds: (task, count) → true run time; of an elastic task on so many hosts all the time, infinite on fewer
                than it can have.
            drain: seconds after which a worker that has to leave is gone.
            planner: the search; without it the core plans by itself.
        """
        self._drain = drain
        self._progress: dict[str, _Progress] = {}
        super().__init__(settings, hosts, seconds, planner)

    def set_hosts(self, names: Iterable[str], *, up: bool) -> None:
        """Take hosts off now, with the jobs on them, or give them back."""
        super().set_hosts(names, up=up)
        for task in list(self._progress):
            self._go_on(task)

    def _start(self, attempt: Attempt, task: Task) -> None:
        if attempt.worker:
            self._begin(attempt, f"sim.{attempt.task}.{attempt.worker}")
            self._progress[attempt.task].workers.append(attempt.uuid)
        elif task.spec.elastic is not None:
            self._begin(attempt, f"sim.{task.id}")
            self._progress[task.id] = _Progress(attempt, task, self.time)
        else:
            super()._start(attempt, task)
            return
        self._go_on(attempt.task)

    def _complete(self, report: JobReport) -> None:
        super()._complete(report)
        self._progress.pop(self._jobs[report.attempt].attempt.task, None)

    def _stop(self, uuid: str) -> None:
        """End a job at once; a worker whose lead goes on once it has left."""
        job = self._jobs.get(uuid)
        progress = None if job is None else self._progress.get(job.attempt.task)
        if progress is None or uuid not in progress.workers:
            super()._stop(uuid)
            if progress is not None:
                self._go_on(progress.task.id)
            return
        progress.workers.remove(uuid)  # it begins nothing more
        self._go_on(progress.task.id)
        self.calendar.at(self.time + self._drain, lambda: self._leave(uuid))

    def _leave(self, uuid: str) -> None:
        job = self._jobs[uuid]
        if job.over is None:
            job.over = JobReport(uuid, JobState.REMOVED, started=job.started, finished=self.time)
            self.post(JobReported(self.time, job.over))

    def _go_on(self, name: str) -> None:
        """Reckon how far a task has come, and when it ends on the hosts that it has now; have the core look again."""
        progress = self._progress.get(name)
        if progress is None:
            return
        if self._jobs[progress.lead.uuid].over is not None:
            del self._progress[name]
            return
        progress.left = max(progress.left - self._part_done(progress), 0.0)
        progress.since = self.time
        progress.hosts = 1 + sum(self._jobs[uuid].over is None for uuid in progress.workers)
        lasts = progress.left * self._seconds(progress.task, progress.hosts)
        if lasts < math.inf:
            self.end_at(progress.lead.uuid, self.time + lasts)
        else:
            self._jobs[progress.lead.uuid].ends = math.inf
        self.post(Tick(self.time + self.core.settings.elastic.settle))  # it may be lent hosts then

    def _part_done(self, progress: _Progress) -> float:
        return (self.time - progress.since) / self._seconds(progress.task, progress.hosts)
