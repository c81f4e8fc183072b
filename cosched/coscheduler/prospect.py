"""What waits, as a problem to be scheduled, and where it is planned to run. Looks only: what events do is in `core`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cosched.coscheduler.dependencies import foreseen_end, linked
from cosched.coscheduler.reservations import around, clear
from cosched.coscheduler.waiting import Outlook
from cosched.scheduling.decoder import decode, spans
from cosched.scheduling.policies import MAPPED, REPLANNED, SEARCHED, Policy, without_search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.domain import Domain
    from cosched.coscheduler.experience import Experience
    from cosched.coscheduler.ledger import Ledger
    from cosched.coscheduler.lifecycle import Lifecycle
    from cosched.coscheduler.queue import Queue
    from cosched.coscheduler.reservations import Reservations
    from cosched.coscheduler.settings import Settings
    from cosched.scheduling.problem import Plan, Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["Prospect"]


class Prospect:
    """Looks at the tasks, the hosts and the plan that the core keeps; remembers the last forecast, and nothing else."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        queue: Queue,
        domain: Domain,
        reservations: Reservations,
        experience: Experience,
        lifecycle: Lifecycle,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._queue = queue
        self._domain = domain
        self._reservations = reservations
        self._experience = experience
        self._lifecycle = lifecycle
        self._forecast: tuple[float, tuple[Problem, Schedule] | None] | None = None  # since the last event

    def forget(self) -> None:
        """Remember no forecast: an event changes things."""
        self._forecast = None

    def foreseen_end(self, task: str, time: float) -> float | None:
        """Return when a task that does not wait will have completed, epoch seconds; None where nobody can say."""
        return foreseen_end(self._ledger.attempt_of(task), time, self._experience.handover.seconds)

    def taken(self, time: float) -> dict[str, float]:
        """Return when each taken host is expected to be free, epoch seconds: it is at work, or kept for others."""
        busy = self.busy(time)
        return busy | {host: max(end, busy.get(host, end)) for host, end in self._reservations.kept(time).items()}

    def busy(self, time: float) -> dict[str, float]:
        """Return when each host that is at work, for us or others, is expected to be free, epoch seconds."""
        own = self._domain.occupied(self._ledger.attempts.values(), time, self._experience.handover.seconds)
        return {**self._domain.claims(time), **own}

    def outlook(self) -> Outlook:
        """Return what a plan must reckon with beside the tasks' profiles."""
        experience, settings = self._experience, self._settings
        return Outlook(
            dict(experience.corrections),
            settings.quantile,
            experience.handover.seconds,
            settings.margin,
            self._held_back(),
        )

    def snapshot(self, time: float) -> tuple[Problem, Plan] | None:
        """Return the problem that waits to be planned and the current plan of it; None where nothing does.

        The problem's origin is `time`. Under a baseline policy there is nothing to search.
        """
        if self._settings.policy not in SEARCHED:
            return None
        problem = self.problem(time)
        if problem is None:
            return None
        plan = self._queue.waiting.plan(problem)
        return clear(problem, plan), plan

    def forecast(self, time: float) -> tuple[Problem, Schedule] | None:
        """Return where the waiting tasks are planned to run, in seconds from `time`; None where none waits.

        Until the next event, who asks again for the same time is given the same answer: an agent asks many times.
        """
        if self._forecast is None or self._forecast[0] != time:
            self._forecast = (time, self._decoded(self.problem(time)))
        return self._forecast[1]

    def unreserved(self, time: float) -> tuple[Problem, Schedule] | None:
        """Return what `forecast` would if no hosts were reserved."""
        return self._decoded(self.problem(time, reserved=False))

    def spans(self, time: float) -> list[tuple[str, float, float, int]] | None:
        """Return what `forecast` does but for the hosts' names, several times quicker.

        Returns:
            Each waiting task with its start, its end and its number of hosts, in planned order.
        """
        problem = self.problem(time)
        if problem is None:
            return None
        plan = self.plan(problem)
        starts, ends = spans(clear(problem, plan), plan)
        counts = plan.counts.tolist()
        return [(problem.tasks[task], starts[task], ends[task], counts[task]) for task in plan.order.tolist()]

    def problem(self, time: float, *, reserved: bool = True) -> Problem | None:
        """Return what waits to be planned, in seconds from `time`; None where nothing is."""
        up, classes = self._domain.up(), self._domain.classes()
        taken = self.taken(time) if reserved else self.busy(time)
        problem = self._queue.waiting.problem(self._ledger.tasks, up, taken, time, self.outlook(), classes)
        if problem is not None and self._ledger.linked:
            problem = linked(problem, self._ledger.tasks, partial(self.foreseen_end, time=time), time)
        return around(problem, self._reservations, time) if problem is not None and reserved else problem

    def plan(self, problem: Problem) -> Plan:
        """Return the plan in force of a problem of what waits."""
        if self._settings.policy in REPLANNED | MAPPED:  # what waits is in order of arrival: no search has changed it
            return without_search(problem, Policy(self._settings.policy), self._settings.seed)
        return self._queue.waiting.plan(problem)

    def _decoded(self, problem: Problem | None) -> tuple[Problem, Schedule] | None:
        if problem is None:
            return None
        plan = self.plan(problem)
        problem = clear(problem, plan)
        return problem, decode(problem, plan)

    def _held_back(self) -> Mapping[str, float]:
        """Return before which epoch time waiting tasks are not tried: their hosts are others' until then."""
        shut = self._lifecycle.shut()
        refused = (
            {
                name: shut[self._ledger.tasks[name].owner]
                for name in self._queue.waiting.counts
                if self._ledger.tasks[name].owner in shut
            }
            if shut
            else {}
        )
        return {**refused, **self._queue.held_back} if refused else self._queue.held_back
