"""Plan by the elastic policies, which decide again and again how many hosts each task has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.elastic.reshaping import of_the_rest, reshaped_schedule
from cosched.scheduling.elastic.tasks import ElasticParameters
from cosched.scheduling.host_counts import single_class
from cosched.scheduling.policies.policy import Planned, Policy, PolicyName, planned_at_once

if TYPE_CHECKING:
    from cosched.scheduling.elastic.policy import ElasticPolicy
    from cosched.scheduling.policies.policy import PlanOptions
    from cosched.scheduling.problem import Problem

__all__ = ["ReshapingPolicy"]


class ReshapingPolicy(Policy):
    """Divide the hosts by an elastic policy at each arrival and end; tasks may start ahead of others that must wait.

    Attributes:
        elastic: the policy.
    """

    reshapes = True

    def __init__(self, elastic: ElasticPolicy) -> None:
        self.elastic = elastic
        self.name = PolicyName(elastic.name)
        self.summary = f"at each event: {elastic.summary}"

    def refuses(self, problem: Problem) -> str | None:
        """Refuse hosts of several classes, hosts that are not always there, and licences."""
        if single_class(problem) is None:
            first, second, *_ = dict.fromkeys(problem.classes[each] for each in problem.host_class.tolist())
            obstacle = f"hosts that are alike, and here are classes, as {first} and {second}, that differ"
        elif problem.unavailability or problem.free.any():
            away = [period.host for period in problem.unavailability] + np.flatnonzero(problem.free).tolist()
            obstacle = f"hosts that are always there, and {problem.hosts[away[0]]} comes and goes or is reserved"
        elif problem.licences is not None:
            obstacle = "tasks without licences, and some ask for them"
        else:
            return None
        return f"{self.name} plans {obstacle}; choose another policy"

    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Make the schedule, with its pieces."""
        parameters = ElasticParameters(backfill=True, seed=options.seed)
        return planned_at_once(
            of_the_rest(problem), options.limit, lambda: (reshaped_schedule(problem, self.elastic, parameters), 1)
        )
