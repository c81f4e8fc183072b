"""Local searches for late tasks run beside the genetic search: each anneals one plan, again and again, ever slower.

The objective leads away from plans that nearly miss one deadline fewer; so a scout looks for these alone, with a
tolerance for lateness that shrinks to nothing. Where deadlines or lateness decide, a second plan is annealed by the
objective itself, but for idle time: to move one late task forward is a step that crossing seldom makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.bounds import fewest_missed
from cosched.scheduling.host_counts import single_class
from cosched.scheduling.kernels.search.late_jobs_kernel import (
    LatenessCosts,
    anneal,
    move_hopeless_last,
    new_annealed_plan,
    tabulate_late_jobs,
)
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables
    from cosched.scheduling.kernels.search.late_jobs_kernel import LateJobTables
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.search.initial_population import Population

__all__ = ["ALL_TURNS", "LateJobSearch", "PlanAnnealing", "late_job_search_applies"]

_PLACED = 6_000  # tasks that a generation's steps place at most: a generation of a long queue is to be short, too
_STEPS = (10, 200)  # the least and the most of a generation
_FIRST = 5_000  # steps of the first annealing
_HOT, _COLD = 0.06, 0.02  # the scout's temperatures as an annealing begins and ends, in missed deadlines
_TOLERANCE = 0.3  # at the beginning, as a share of the makespan's lower bound
_LARGEST = 500_000  # tasks times hosts: beyond that a generation takes too long
_WARM, _COOL = 0.25, 0.025  # temperatures of the other: the cost of such a share of a mean task's shortest run time
_LITTLE = 0.01  # of the weight of lateness: where all others together are no more, lateness decides
_TRACE = 1e-9  # of the weight of lateness, for a makespan that has none
_SHARED = 4  # of so many generations all but one are the scout's at first, later one
_LED = 8  # of so many others all but one are for who has found the best plan, annealing or crossing
_EAGER = 4  # annealings in which the scout has most generations
ALL_TURNS = _SHARED * _LED
"""Generations after which each of the searches has had one."""


def late_job_search_applies(problem: Problem, weights: Weights) -> bool:
    """Return whether deadlines or lateness decide, and the problem is one that the kernel reads.

    It has no dependencies or licences, and identical hosts that stay and are not shared.
    """
    if problem.packing is not None or problem.licences is not None:
        return False
    simple = single_class(problem) is not None and not problem.unavailability and not any(problem.depends_on)
    few = len(problem.tasks) * len(problem.hosts) <= _LARGEST
    due = bool(np.isfinite(problem.deadline).any()) and (weights.deadlines_first or _lateness_decides(weights))
    return few and simple and due


def _lateness_decides(weights: Weights) -> bool:
    return weights.makespan + weights.idle + weights.slowdown <= _LITTLE * weights.lateness


class PlanAnnealing:
    """One plan and its annealing.

    Attributes:
        value: of the last generation's best plan: the deadlines missed, or what it costs.
        better: whether that is the best of all generations.
        annealings: done so far.
    """

    def __init__(
        self,
        claims: LateJobTables,
        state: NDArray[np.uint64],
        order: NDArray[np.int64],
        cooling: Callable[[float], tuple[LatenessCosts, float]],
    ) -> None:
        """Start from an order of all tasks, each on the cheapest count in time.

        Args:
            claims: the problem.
            state: state of the random numbers.
            order: (m,).
            cooling: what plans cost and the temperature after each part of an annealing, 0…1.
        """
        self._claims, self._state, self._cooling = claims, state, cooling
        self._plan, self._trial, self._best = [new_annealed_plan(claims, order) for _ in range(3)]
        self._steps = int(np.clip(_PLACED // len(order), *_STEPS))
        self._generation, self._length = 0, _FIRST // self._steps
        self.value = self._least = np.inf
        self.better = False
        self.annealings = 0

    def begin(self, plan: Plan) -> None:
        """Anneal another plan from now on."""
        self._plan.order[:], self._plan.asked[:] = plan.order, plan.counts
        self._generation, self._least = 0, np.inf

    def generation(self) -> int:
        """Go on for one generation; return how many plans were judged."""
        terms, temperature = self._cooling(self._generation / self._length)
        self.value = anneal(
            self._state, self._claims, terms, temperature, self._steps, self._plan, self._trial, self._best
        )
        self.better = self.value < self._least
        self._least = min(self.value, self._least)
        self._generation += 1
        if self._generation == self._length:
            self._generation, self._length = 0, 2 * self._length
            self.annealings += 1
        return self._steps + 1

    def best(self) -> Plan:
        """Return the last generation's best plan."""
        return Plan(self._best.order.copy(), self._best.counts.copy())


class LateJobSearch:
    """The scout for plans that miss fewer deadlines, and a plan that is annealed by the objective.

    Attributes:
        scout: counts missed deadlines; None where they do not come first.
        annealed: by the objective but for idle time; None where users take turns or tasks are elastic, or slowdown
            counts: then its costs would not be the objective.
    """

    def __init__(
        self,
        problem: Problem,
        tables: ProblemTables,
        weights: Weights,
        bound: float,
        state: NDArray[np.uint64],
        plan: Plan,
    ) -> None:
        """Start from a plan of all tasks, or its order.

        Args:
            problem: one to which the search applies.
            tables: tables of the problem.
            weights: of the objective.
            bound: lower bound of the makespan, in seconds.
            state: state of the random numbers.
            plan: the plan.
        """
        claims, order = tabulate_late_jobs(problem, tables), plan.order
        self._claims, self._room = claims, new_annealed_plan(claims, order)
        self._unavoidable = fewest_missed(problem)
        self._leads = True
        self.scout, self.annealed = None, None
        if weights.deadlines_first:
            alike = claims._replace(weight=np.ones(len(order)))
            self.scout = PlanAnnealing(alike, state, order, _scouting(bound))
        if problem.turns is None and not problem.elastic and not weights.slowdown:
            self.annealed = PlanAnnealing(claims, state, order, _by_objective(claims, tables.weights))
            if weights.deadlines_first:  # of lateness alone the cheapest counts are the better start
                self.annealed.begin(plan)

    def turn(self, generation: int, missed: int) -> PlanAnnealing | None:
        """Return whose turn a generation is; None for the genetic search.

        As long as more deadlines are missed than necessary most are the scout's, until it has searched for long. Of
        the others most are for whoever has found the best plan.
        """
        scout, many = self.scout, generation % _SHARED > 0
        if scout is not None and missed > self._unavoidable and many == (scout.annealings < _EAGER):
            return scout
        return self.annealed if (generation // _SHARED % _LED > 0) == self._leads else None

    def tell(self, plan: Plan, finder: object | None) -> None:
        """Tell of the best plan so far, and whose generation found it; None for the genetic search."""
        self._leads = finder is not None
        if self.annealed is not None and finder is not None and finder is self.scout:
            self.annealed.begin(plan)

    @property
    def rescues(self) -> bool:
        """Whether children are to be rescued: where a plan is annealed, that would take more time than it is worth."""
        return self.annealed is None

    def rescue(self, people: Population) -> None:
        """Rewrite plans so that feasible deadlines are met and hopeless tasks come last."""
        move_hopeless_last(self._claims, self._room, people.orders, people.counts)


def _scouting(bound: float) -> Callable[[float], tuple[LatenessCosts, float]]:
    def cooled(part: float) -> tuple[LatenessCosts, float]:
        tolerance = _TOLERANCE * bound * (1 - part) ** 2
        a_second = 1.0 / tolerance if tolerance > 0 else 0.0
        return LatenessCosts(tolerance, 1.0, a_second, 0.0), _HOT * (_COLD / _HOT) ** part

    return cooled


def _by_objective(
    claims: LateJobTables, weights: NDArray[np.float64]
) -> Callable[[float], tuple[LatenessCosts, float]]:
    """Return the costs of the objective, with (5,) weights as of `term_weights`."""
    makespan, _, late, missed, _ = weights.tolist()
    terms = LatenessCosts(0.0 if missed else np.inf, missed, late, max(makespan, _TRACE * late))
    unit = float(claims.shortest.mean()) * max(terms.makespan, late * float(claims.weight.mean()))

    def cooled(part: float) -> tuple[LatenessCosts, float]:
        return terms, unit * _WARM * (_COOL / _WARM) ** part

    return cooled
