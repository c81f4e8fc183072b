"""A plan of the search is taken over if it is better than the current one now, and breaks no guarantee.

Start at `PlanAdoption.consider`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.reservations import without_distant_reservations
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.objective.comparison import PlanFigures, describe_difference
from cosched.scheduling.objective.objective import measure_plan, objective
from cosched.scheduling.policies import PolicyName
from cosched.scheduling.ways import plan_along_ways

if TYPE_CHECKING:
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.events import ScheduleImproved
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.stages.chains import Chains
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["PlanAdoption"]


class PlanAdoption:
    """Takes plans of the search over.

    Attributes:
        last_search: the last answer of the search; None before the first.
        last_improvement: when an answer last made the plan better, epoch seconds, and what became better.
    """

    def __init__(self, settings: CoreSettings, queue: TaskQueue, view: PlanningView, chains: Chains) -> None:
        self.last_search: ScheduleImproved | None = None
        self.last_improvement: tuple[float, str] | None = None
        self._settings = settings
        self._queue = queue
        self._view = view
        self._chains = chains

    def load(self, last_search: ScheduleImproved | None, last_improvement: tuple[float, str] | None) -> None:
        """Go on from a snapshot."""
        self.last_search, self.last_improvement = last_search, last_improvement

    def consider(self, event: ScheduleImproved) -> None:
        """Take a plan over unless the current one has become better meanwhile."""
        problem = self._view.problem(event.time)
        if problem is None:
            return
        current = self._queue.plan
        wanted = current.replanned(event.plan)
        if wanted != current:  # else the search only says that it goes on
            problem = self._view.with_ways(problem, event.time)
            proposed = plan_along_ways(problem.ways, wanted.for_problem(problem))
            self._compare(problem, current.for_problem(problem), proposed, event.time)
        if event.settled:
            self._queue.searched(event.plan.tasks)
        self.last_search = event

    def _compare(self, problem: Problem, current: Plan, proposed: Plan, time: float) -> None:
        current = self._view.arranged(problem, current, time)
        proposed = self._view.arranged(problem, proposed, time)
        problem = without_distant_reservations(problem, current, proposed)
        led = self._chains.led(problem, proposed)
        if not self._chains.keeps_guarantees(problem, current, proposed, time, led):
            return
        before, after = (measure_plan(problem, plan) for plan in (current, proposed))
        bound, weights = lower_bound(problem), self._settings.weights
        # For comparison, Titan's own search is followed wherever it leads: what is here may be better than it would do.
        classic = self._settings.policy == PolicyName.TITAN_CLASSIC
        if classic or objective(after, weights, bound) <= objective(before, weights, bound):
            self._chains.lead(led, time)
            self._queue.adopt(TaskPlan.of(problem, proposed))
            why = describe_difference(PlanFigures.of(before), PlanFigures.of(after))
            self.last_improvement = (time, why) if why else self.last_improvement
