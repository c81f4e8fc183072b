"""The batch policies run first come, first served with users' host counts, and backfill."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics import batch_queue
from cosched.scheduling.heuristics.batch_queue import arbitrary_count, calculated_counts, maximum_count
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.plan import Plan
from cosched.scheduling.policies.policy import ImmediatePolicy, Planned, Policy, PolicyName, planned_at_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.policies.policy import PlanOptions
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = [
    "Conservative",
    "Easy",
    "EasyShortestFirst",
    "FcfsArbitrary",
    "FcfsCalculated",
    "FcfsMaximum",
    "UserCountPolicy",
]


class UserCountPolicy(Policy):
    """Start tasks strictly in order of arrival, on the host counts that users ask for."""

    online = served = True

    @abstractmethod
    def host_count(self, seconds: NDArray[np.float64], seed: str) -> int:
        """Return how many hosts the user of a task asks for.

        Args:
            seconds: (N,) run time by host count, infinite where impossible; at least one is finite.
            seed: different for each task and the same in each run.
        """

    def plan(self, problem: Problem, options: PlanOptions) -> Planned:
        """Make the schedule in which no task starts before the one ahead of it."""

        def make() -> tuple[Schedule, int]:
            rows = enumerate(best_seconds(problem))
            counts = np.array([self.host_count(row, f"{options.seed} {task}") for task, row in rows], dtype=np.int64)
            order = np.argsort(problem.release, kind="stable").astype(np.int64)
            return decode(problem, Plan(order, counts), in_order=True), 1

        return planned_at_once(problem, options.limit, make)


class FcfsArbitrary(UserCountPolicy):
    """First come, first served with any count that the task can use."""

    name = PolicyName.FCFS_ARBITRARY
    summary = "strictly in order of arrival, host counts at random among those that the profile allows"

    def host_count(self, seconds: NDArray[np.float64], seed: str) -> int:
        """Return the count of such a user."""
        return arbitrary_count(seconds, seed)


class FcfsMaximum(UserCountPolicy):
    """First come, first served with the largest count that the task can use."""

    name = PolicyName.FCFS_MAXIMUM
    summary = "strictly in order of arrival, with the largest count that the profile allows"

    def host_count(self, seconds: NDArray[np.float64], seed: str) -> int:  # noqa: ARG002  nothing is drawn
        """Return the count of such a user."""
        return maximum_count(seconds)


class FcfsCalculated(UserCountPolicy):
    """First come, first served with the count of a user who wastes nothing."""

    name = PolicyName.FCFS_CALCULATED
    summary = "strictly in order of arrival, with the count of fewest host-seconds (of equals the fastest)"

    def host_count(self, seconds: NDArray[np.float64], seed: str) -> int:  # noqa: ARG002  nothing is drawn
        """Return the count of such a user."""
        return int(calculated_counts(seconds[None])[0])


class Easy(ImmediatePolicy):
    """EASY backfilling with calculated counts."""

    name = PolicyName.EASY
    summary = "EASY backfilling: a task may overtake if the head of the queue does not start later for it"

    def plan_at_once(self, problem: Problem) -> Plan:
        """Return the heuristic's plan."""
        return batch_queue.easy(problem, calculated_counts(best_seconds(problem)))


class EasyShortestFirst(ImmediatePolicy):
    """EASY backfilling with calculated counts, in which the shortest task overtakes first."""

    name = PolicyName.EASY_SJBF
    summary = "EASY backfilling in which the shortest of the tasks behind the head overtakes first"

    def plan_at_once(self, problem: Problem) -> Plan:
        """Return the heuristic's plan."""
        return batch_queue.easy(problem, calculated_counts(best_seconds(problem)), shortest_first=True)


class Conservative(ImmediatePolicy):
    """Conservative backfilling with calculated counts."""

    name = PolicyName.CONSERVATIVE
    summary = "conservative backfilling: each task takes the earliest hole that it fits into, in order of arrival"

    def plan_at_once(self, problem: Problem) -> Plan:
        """Return the heuristic's plan."""
        return batch_queue.conservative(problem, calculated_counts(best_seconds(problem)))
