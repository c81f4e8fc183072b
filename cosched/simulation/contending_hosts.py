"""Programs side by side on shared hosts in virtual time: the more cores others have there now, the slower each runs.

Start at `ContendingDomain`. The slowdown is that of plans (`cosched.prediction.contention`); but plans do not know
which tasks are side by side from moment to moment, as they are here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.prediction.contention import exponent_of, times_longer
from cosched.simulation.simulated_domain import SimulatedDomain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cosched.connector.hosts import Host
    from cosched.connector.jobs import JobReport
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.task import Task
    from cosched.simulation.simulated_domain import SimulatedPlanner

__all__ = ["ContendingDomain"]


@dataclass(slots=True)
class _Progress:
    """A job under way.

    Attributes:
        attempt: the attempt that it runs for.
        slowdown: of its program on a host that others fill.
        left: rest of its run time at `since`, in seconds as it runs alone.
        since: time of the last change of its pace.
        longer: how many times longer than alone it takes from then on.
    """

    attempt: Attempt
    slowdown: float
    left: float
    since: float
    longer: float = 1.0


class ContendingDomain(SimulatedDomain):
    """A domain of shared hosts whose tasks contend for memory and caches."""

    def __init__(
        self,
        settings: CoreSettings,
        hosts: Sequence[Host],
        seconds: Callable[[Task, int], float],
        slowdown: Callable[[Task], float],
        planner: SimulatedPlanner | None = None,
    ) -> None:
        """Build a domain at the time 0.

        Args:
            settings: settings of the core, with `share_hosts`.
            hosts: with their cores.
            seconds: (task, count) → true run time alone.
            slowdown: true slowdown of a task on a host that others fill, 0.08 for 8 %.
            planner: the search; without it the core plans by itself.
        """
        self._slowdown = slowdown
        self._progress: dict[str, _Progress] = {}
        super().__init__(settings, hosts, seconds, planner)

    def set_hosts(self, names: Iterable[str], *, up: bool) -> None:
        """Take hosts off now, with the jobs on them, or give them back."""
        super().set_hosts(names := list(names), up=up)
        self._go_on(names)

    def _start(self, attempt: Attempt, task: Task) -> None:
        super()._start(attempt, task)
        left = self._jobs[attempt.uuid].ends - self.time
        self._progress[attempt.uuid] = _Progress(attempt, self._slowdown(task), left, self.time)
        self._go_on(attempt.hosts)

    def _complete(self, report: JobReport) -> None:
        super()._complete(report)
        self._go_on(self._jobs[report.attempt].attempt.hosts)

    def _stop(self, uuid: str) -> None:
        super()._stop(uuid)
        if uuid in self._jobs:
            self._go_on(self._jobs[uuid].attempt.hosts)

    def _go_on(self, changed: Iterable[str]) -> None:
        """Let the jobs on these hosts go on at the pace that the jobs beside them allow now."""
        for uuid in [uuid for uuid in self._progress if self._jobs[uuid].over is not None]:
            del self._progress[uuid]
        for uuid, job in self._progress.items():
            if job.attempt.cores and not set(changed).isdisjoint(job.attempt.hosts):
                longer = self._times_longer(job)
                if longer != job.longer:
                    job.left -= (self.time - job.since) / job.longer
                    job.since, job.longer = self.time, longer
                    self.end_at(uuid, self.time + max(job.left, 0.0) * longer)

    def _times_longer(self, job: _Progress) -> float:
        """Return how many times longer than alone a job takes beside those that run now; its fullest host decides."""
        exponent = exponent_of(job.slowdown)
        return max(times_longer(exponent, self._part_of_others(name, job.attempt)) for name in job.attempt.hosts)

    def _part_of_others(self, name: str, attempt: Attempt) -> float:
        cores = sum(
            other.attempt.cores
            for other in self._progress.values()
            if name in other.attempt.hosts and other.attempt is not attempt
        )
        return min((cores + self._hosts[name].others.cores) / (self._hosts[name].cores or 1), 1.0)
