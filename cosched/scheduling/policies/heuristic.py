"""Plan moldable tasks by one heuristic, or by the best of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic, earliest_deadline_first, two_phase
from cosched.scheduling.mapping import etc_mapping
from cosched.scheduling.policies.policy import ImmediatePolicy, Planned, Policy, PolicyName, planned_at_once
from cosched.scheduling.tunable.planning import plan_moldable

if TYPE_CHECKING:
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.policies.policy import PlanOptions
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["EarliestDeadlineFirst", "Heuristic", "Tunable", "TwoPhase"]


class Heuristic(Policy):
    """The best plan of the heuristics, as many of them as there is time for."""

    name = PolicyName.HEURISTIC
    summary = "the best plan of the heuristics, as many of them as the budget has time for; nothing is compiled"
    packs = True

    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Make the best schedule; of an ETC matrix that of the mapping heuristics."""
        limit = options.limit
        began = limit.clock()

        def make() -> tuple[Schedule, int]:
            if etc_mapping.is_etc_matrix(problem):
                machine, order, compared = _best_mapping(problem)
                return etc_mapping.mapped_schedule(problem, machine, order), compared
            found, compared = best_heuristic(problem, options.weights, lambda: limit.clock() - began < limit.seconds)
            return decode(problem, found), compared

        return planned_at_once(problem, options.limit, make)


def _best_mapping(problem: Problem) -> etc_mapping.ComparedMapping:
    """Return the shorter mapping of sufferage's and A-MM's (never worse than Min-Min)."""
    seconds = etc_mapping.single_host_seconds(problem)
    *adaptive, evaluations = etc_mapping.a_mm(seconds)
    machine, order = min(
        adaptive, etc_mapping.sufferage(seconds), key=lambda mapping: etc_mapping.mapping_makespan(seconds, mapping[0])
    )
    return machine, order, evaluations + 1


class TwoPhase(ImmediatePolicy):
    """The two-phase method."""

    name = PolicyName.TWO_PHASE
    summary = "host counts by a run-time threshold, list-scheduled; the best over all thresholds"

    def plan_at_once(self, problem: Problem) -> Plan:
        """Return the heuristic's plan."""
        return two_phase(problem)


class EarliestDeadlineFirst(ImmediatePolicy):
    """Earliest deadline first."""

    name = PolicyName.EDF
    summary = "earliest deadline first, each task as cheap in host-seconds as its deadline allows"

    def plan_at_once(self, problem: Problem) -> Plan:
        """Return the heuristic's plan."""
        return earliest_deadline_first(problem)


class Tunable(ImmediatePolicy):
    """The heuristic for tunable tasks, on moldable ones."""

    name = PolicyName.TUNABLE
    summary = "the heuristic for tunable tasks: each takes the host count and the hole in which it ends first"

    def plan_at_once(self, problem: Problem) -> Plan:
        """Return the heuristic's plan."""
        return plan_moldable(problem)
