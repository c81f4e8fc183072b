"""A local search for fewer late tasks runs beside the genetic search.

The objective leads away from plans that nearly miss one deadline fewer; this search anneals one plan for that alone,
again and again, each time half as fast, with a tolerance for lateness that shrinks to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import single_class
from cosched.scheduling.kernels.search.late_jobs_kernel import (
    anneal,
    move_hopeless_last,
    new_annealed_plan,
    tabulate_late_jobs,
)
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.search.initial_population import Population

__all__ = ["LateJobSearch", "late_job_search_applies"]

_PLACED = 6_000  # tasks that a generation's steps place at most: a generation of a long queue is to be short, too
_STEPS = (10, 200)  # the least and the most of a generation
_FIRST = 5_000  # steps of the first annealing
_HOT, _COLD = 0.06, 0.02  # temperatures at the beginning and at the end of an annealing
_TOLERANCE = 0.3  # at the beginning, as a share of the makespan's lower bound
_LARGEST = 500_000  # tasks times hosts: beyond that a generation takes too long


def late_job_search_applies(problem: Problem) -> bool:
    """Return whether there are deadlines, no dependencies or licences, and identical hosts that stay, not shared."""
    if problem.packing is not None or problem.licences is not None:
        return False
    simple = single_class(problem) is not None and not problem.unavailability and not any(problem.depends_on)
    few = len(problem.tasks) * len(problem.hosts) <= _LARGEST
    return few and simple and bool(np.isfinite(problem.deadline).any())


class LateJobSearch:
    """One plan and its annealing.

    Attributes:
        missed: the fewest deadlines missed by a plan of the last generation.
        annealings: done so far.
    """

    def __init__(
        self, problem: Problem, tables: ProblemTables, bound: float, state: NDArray[np.uint64], order: NDArray[np.int64]
    ) -> None:
        """Start from an order of all tasks.

        Args:
            problem: a problem of identical hosts that stay, without dependencies.
            tables: tables of the problem.
            bound: lower bound of the makespan, in seconds.
            state: state of the random numbers.
            order: (m,).
        """
        self._state = state
        self._claims = tabulate_late_jobs(problem, tables)
        self._plan, self._trial, self._best = [new_annealed_plan(self._claims, order) for _ in range(3)]
        self._full_tolerance = _TOLERANCE * bound
        self._steps = int(np.clip(_PLACED // len(order), *_STEPS))
        self._generation, self._length = 0, _FIRST // self._steps
        self.missed = len(order)
        self.annealings = 0

    def generation(self) -> int:
        """Go on for one generation; return how many plans were judged."""
        part = self._generation / self._length
        tolerance = self._full_tolerance * (1 - part) ** 2
        temperature = _HOT * (_COLD / _HOT) ** part
        self.missed = anneal(
            self._state, self._claims, tolerance, temperature, self._steps, self._plan, self._trial, self._best
        )
        self._generation += 1
        if self._generation == self._length:
            self._generation, self._length = 0, 2 * self._length
            self.annealings += 1
        return self._steps + 1

    def best(self) -> Plan:
        """Return the last generation's plan with the fewest missed deadlines."""
        return Plan(self._best.order.copy(), self._best.counts.copy())

    def rescue(self, people: Population) -> None:
        """Rewrite plans so that feasible deadlines are met and hopeless tasks come last."""
        move_hopeless_last(self._claims, self._trial, people.orders, people.counts)
