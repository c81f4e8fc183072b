"""The policies that map independent tasks to one host each, without a search."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.mapping import etc_mapping
from cosched.scheduling.plan import Plan
from cosched.scheduling.policies.policy import ImmediatePolicy, Planned, PolicyName, planned_at_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.mapping.etc_mapping import ComparedMapping
    from cosched.scheduling.policies.policy import PlanOptions
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["AMm", "AMmExecution", "MaxMin", "MinMin", "Sufferage"]


class MappingPolicy(ImmediatePolicy):
    """A mapping heuristic for independent tasks on one host each.

    A domain takes only its order, for each task goes where it ends first.
    """

    one_host = True

    @abstractmethod
    def map(self, seconds: NDArray[np.float64], ready: NDArray[np.float64] | None = None) -> ComparedMapping:
        """Return machine and order of each task, and how many mappings were compared.

        Arguments are those of `min_min`.
        """

    def refuses(self, problem: Problem) -> str | None:
        """Return why the problem is refused; None where it is not."""
        return etc_mapping.misfit(problem, self.name)

    def plan_at_once(self, problem: Problem) -> Plan:
        """Return the heuristic's plan."""
        order = self.map(etc_mapping.single_host_seconds_when_busy(problem), problem.free)[1]
        return Plan(order, np.ones(len(order), dtype=np.int64))

    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Make the schedule of the mapping itself."""

        def make() -> tuple[Schedule, int]:
            machine, order, compared = self.map(etc_mapping.single_host_seconds(problem))
            return etc_mapping.mapped_schedule(problem, machine, order), compared

        return planned_at_once(problem, options.limit, make)


class MinMin(MappingPolicy):
    """Min-Min."""

    name = PolicyName.MIN_MIN
    summary = "independent tasks: next is the task whose earliest end is the earliest"

    def map(self, seconds: NDArray[np.float64], ready: NDArray[np.float64] | None = None) -> ComparedMapping:
        """Return the mapping; see `MappingPolicy.map`."""
        return *etc_mapping.min_min(seconds, ready), 1


class MaxMin(MappingPolicy):
    """Max-Min."""

    name = PolicyName.MAX_MIN
    summary = "independent tasks: next is the task whose earliest end is the latest"

    def map(self, seconds: NDArray[np.float64], ready: NDArray[np.float64] | None = None) -> ComparedMapping:
        """Return the mapping; see `MappingPolicy.map`."""
        return *etc_mapping.max_min(seconds, ready), 1


class Sufferage(MappingPolicy):
    """Sufferage."""

    name = PolicyName.SUFFERAGE
    summary = "independent tasks: next is the one that would lose most on its second-best machine"

    def map(self, seconds: NDArray[np.float64], ready: NDArray[np.float64] | None = None) -> ComparedMapping:
        """Return the mapping; see `MappingPolicy.map`."""
        return *etc_mapping.sufferage(seconds, ready), 1


class AMm(MappingPolicy):
    """A-MM, by its pseudo-code."""

    name = PolicyName.A_MM
    summary = "independent tasks: as max-min while their earliest ends differ much, else as min-min"

    def map(self, seconds: NDArray[np.float64], ready: NDArray[np.float64] | None = None) -> ComparedMapping:
        """Return the mapping; see `MappingPolicy.map`."""
        return etc_mapping.a_mm(seconds, ready)


class AMmExecution(MappingPolicy):
    """A-MM, by its first definition."""

    name = PolicyName.A_MM_EXECUTION
    summary = "independent tasks: as a-mm, judging by their shortest run times"

    def map(self, seconds: NDArray[np.float64], ready: NDArray[np.float64] | None = None) -> ComparedMapping:
        """Return the mapping; see `MappingPolicy.map`."""
        return etc_mapping.a_mm(seconds, ready, execution=True)
