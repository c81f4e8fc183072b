"""The policies behind `cosched plan`: one function, from a problem to a schedule.

The three first-come-first-served ones stand for a batch system on its own, whose users say how many hosts they want
(see `baselines`): tasks start strictly in the order of arrival (release, then position), none before the one ahead.
Backfilling takes the calculated counts. The policies for independent tasks place each on one host (see `independent`
and `price_search`) and refuse any other problem. `titan-classic` is for comparison (see there). `heuristic` takes
the best of the heuristics and needs nothing compiled.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.scheduling import backfill, independent, machine_code
from cosched.scheduling.baselines import BASELINES, baseline_count
from cosched.scheduling.best_heuristic import best_heuristic
from cosched.scheduling.bounds import lower_bound, tight_bound
from cosched.scheduling.decoder import decode
from cosched.scheduling.heuristics import earliest_deadline_first, two_phase
from cosched.scheduling.problem import Plan, Weights
from cosched.scheduling.progress import Progress, difference
from cosched.scheduling.tunable_moldable import tunable_moldable
from cosched.scheduling.widths import best_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

    _Clock = Callable[[], float]

__all__ = [
    "INDEPENDENT",
    "MAPPED",
    "REPLANNED",
    "SEARCHED",
    "Objective",
    "Policy",
    "Statistics",
    "answers_at_once",
    "plan",
    "without_search",
]

_GENERATIONS = 10  # between two looks at the clock


class Policy(StrEnum):
    """How a plan is made."""

    GENETIC = "genetic"
    TITAN_CLASSIC = "titan-classic"
    HEURISTIC = "heuristic"
    TWO_PHASE = "two-phase"
    EDF = "edf"
    FCFS_ARBITRARY = "fcfs-arbitrary"
    FCFS_MAXIMUM = "fcfs-maximum"
    FCFS_CALCULATED = "fcfs-calculated"
    EASY = "easy"
    CONSERVATIVE = "conservative"
    TUNABLE = "tunable"
    MIN_MIN = "min-min"
    MAX_MIN = "max-min"
    SUFFERAGE = "sufferage"
    A_MM = "a-mm"
    A_MM_EXECUTION = "a-mm-execution"
    DUAL_PRICE = "dual-price"


INDEPENDENT = frozenset(
    (Policy.MIN_MIN, Policy.MAX_MIN, Policy.SUFFERAGE, Policy.A_MM, Policy.A_MM_EXECUTION, Policy.DUAL_PRICE)
)
"""Policies for independent tasks on one host each."""

REPLANNED = frozenset((Policy.EASY, Policy.CONSERVATIVE, Policy.EDF, Policy.TWO_PHASE, Policy.TUNABLE))
"""Policies that make a plan of whatever waits in no time, so that a domain can plan anew at every event."""


MAPPED = INDEPENDENT - {Policy.DUAL_PRICE}
"""Policies that place tasks on one host each, as soon as they know when which host becomes free."""

SEARCHED = frozenset((Policy.GENETIC, Policy.TITAN_CLASSIC))
"""Policies whose plans come from a search beside the domain."""


COMPILED = frozenset((Policy.GENETIC, Policy.TITAN_CLASSIC, Policy.DUAL_PRICE))
"""Policies that need machine code."""


class Objective(StrEnum):
    """What the genetic search minimises."""

    BALANCED = "balanced"
    DEADLINES_FIRST = "deadlines-first"
    MAKESPAN = "makespan"

    @property
    def weights(self) -> Weights:
        """The weights that an objective stands for."""
        if self is Objective.MAKESPAN:
            return Weights(makespan=1.0, idle=0.0, lateness=0.0)
        return Weights(deadlines_first=self is Objective.DEADLINES_FIRST)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the planning took.

    Attributes:
        bound: lower bound of the makespan in seconds.
        evaluations: complete plans that were compared; 1 where a policy makes just one.
        generations: of the genetic searches; rounds of annealing of the dual-price search.
        elapsed: seconds of planning; reading or compiling machine code is not counted.
        progress: the plan that the genetic search began with and each better one that it told of.
    """

    bound: float
    evaluations: int
    generations: int
    elapsed: float
    progress: tuple[Progress, ...] = ()


def answers_at_once(problem: Problem, policy: Policy) -> bool:
    """Whether nothing must be compiled before the policy plans the problem.

    Raises:
        UserError: it does not plan such problems.
    """
    if policy is Policy.DUAL_PRICE:
        independent.one_host_seconds(problem)
    if policy is Policy.TITAN_CLASSIC and problem.absences:
        host = problem.hosts[problem.absences[0].host]
        raise UserError(f"titan-classic knows no hosts that come and go, and {host} does: choose another policy")
    return policy not in COMPILED or machine_code.ready()


def plan(
    problem: Problem,
    policy: Policy = Policy.GENETIC,
    budget: float = 1.0,
    seed: int = 0,
    weights: Weights | None = None,
    clock: _Clock = time.perf_counter,
    told: Callable[[Progress], None] | None = None,
) -> tuple[Schedule, Plan, Statistics]:
    """Make a schedule by one of the policies.

    Args:
        problem: at least one task.
        policy: which.
        budget: seconds that a search may take; it ends early when the objective cannot get better.
        seed: of the searches and of arbitrary host counts.
        weights: of the objective of the genetic searches. That of the dual-price search is the makespan.
        clock: what the budget is measured with, in seconds; `time.thread_time` where others keep the machine busy.
        told: is given each better plan's figures as the genetic search finds it.

    Returns:
        The schedule, the plan that it was decoded from, and statistics. The schedules of the first-come-first-served
        policies are decoded with `in_order`. Those of independent tasks and of titan-classic are not decoded: such a
        plan does not say which hosts a task takes. The genetic policy hands what is an ETC matrix in all but name to
        the dual-price search.

    Raises:
        UserError: the policy does not plan such problems: the tasks are not independent, or hosts come and go.
    """
    answers_at_once(problem, policy)
    if policy is Policy.GENETIC and independent.one_host_only(problem):
        policy = Policy.DUAL_PRICE
    if policy is Policy.HEURISTIC:
        return _heuristic(problem, budget, weights or Weights(), clock)
    if policy in INDEPENDENT:
        return _independent(problem, policy, budget, seed, clock)
    if policy is Policy.TITAN_CLASSIC:
        return _titan_classic(problem, budget, seed, weights or Weights(), clock)
    if policy is Policy.GENETIC:
        found, statistics = _search(problem, budget, seed, weights or Weights(), clock, told)
        return decode(problem, found), found, statistics
    began = clock()
    found = without_search(problem, policy, seed)
    schedule = decode(problem, found, in_order=policy in BASELINES)
    elapsed = clock() - began
    return schedule, found, Statistics(_bound(problem), 1, 0, elapsed)


def _bound(problem: Problem) -> float:
    """Return the best bound that nobody has to wait for."""
    return tight_bound(problem) if machine_code.ready() else lower_bound(problem)


def _heuristic(problem: Problem, budget: float, weights: Weights, clock: _Clock) -> tuple[Schedule, Plan, Statistics]:
    began = clock()
    if independent.one_host_only(problem):
        machine, order, evaluations = _best_mapping(independent.one_host_seconds(problem))
        found = Plan(order, np.ones(len(order), dtype=np.int64))
        schedule = independent.place(problem, machine, order)
    else:
        found, evaluations = best_heuristic(problem, weights, lambda: clock() - began < budget)
        schedule = decode(problem, found)
    return schedule, found, Statistics(_bound(problem), evaluations, 0, clock() - began)


def _best_mapping(seconds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the mapping with the shortest makespan of sufferage's and A-MM's (which is never worse than Min-Min)."""
    *adaptive, evaluations = independent.adaptive(seconds)
    machine, order = min(adaptive, independent.sufferage(seconds),
                         key=lambda mapping: independent.makespan(seconds, mapping[0]))  # fmt: skip
    return machine, order, evaluations + 1


def _titan_classic(
    problem: Problem, budget: float, seed: int, weights: Weights, clock: _Clock
) -> tuple[Schedule, Plan, Statistics]:
    from cosched.scheduling.titan_classic import TitanClassic, warm_up  # loads numba

    warm_up()
    began = clock()
    search = TitanClassic(problem, weights, seed)
    while clock() - began < budget:
        search.step()
    elapsed = clock() - began
    statistics = Statistics(tight_bound(problem), search.evaluations, search.generations, elapsed)
    return search.schedule, search.plan, statistics


def _independent(
    problem: Problem, policy: Policy, budget: float, seed: int, clock: _Clock
) -> tuple[Schedule, Plan, Statistics]:
    seconds = independent.one_host_seconds(problem)
    if policy is Policy.DUAL_PRICE:
        machine, order, statistics = _price_search(problem, seconds, budget, seed, clock)
    else:
        began = clock()
        machine, order, evaluations = _mapped(seconds, policy)
        elapsed = clock() - began
        statistics = Statistics(_bound(problem), evaluations, 0, elapsed)
    found = Plan(order, np.ones(len(order), dtype=np.int64))
    return independent.place(problem, machine, order), found, statistics


def _mapped(
    seconds: NDArray[np.float64], policy: Policy, ready: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    if policy in (Policy.A_MM, Policy.A_MM_EXECUTION):
        return independent.adaptive(seconds, ready, execution=policy is Policy.A_MM_EXECUTION)
    mappings = {
        Policy.MIN_MIN: independent.min_min,
        Policy.MAX_MIN: independent.max_min,
        Policy.SUFFERAGE: independent.sufferage,
    }
    return *mappings[policy](seconds, ready), 1


def _price_search(
    problem: Problem, seconds: NDArray[np.float64], budget: float, seed: int, clock: _Clock
) -> tuple[NDArray[np.int64], NDArray[np.int64], Statistics]:
    from cosched.scheduling.price_search import PriceSearch, warm_up  # loads numba

    warm_up()
    began = clock()
    search = PriceSearch(seconds, seed)
    while clock() - began < budget and not search.finished:
        search.step()
    elapsed = clock() - began
    shortest_first = np.argsort(seconds[np.arange(len(seconds)), search.machine], kind="stable")
    bound = max(search.bound, lower_bound(problem))
    return search.machine, shortest_first, Statistics(bound, search.evaluations, search.rounds, elapsed)


def _search(
    problem: Problem, budget: float, seed: int, weights: Weights, clock: _Clock, told: Callable[[Progress], None] | None
) -> tuple[Plan, Statistics]:
    from cosched.scheduling.search import Search, warm_up  # loads numba and DEAP, which no other policy needs

    warm_up()
    began = clock()
    search = Search(problem, weights, seed)
    progress: list[Progress] = []
    better = True
    while True:
        if better:
            figures = search.figures()
            why = difference(progress[-1].figures, figures) if progress else ""
            progress.append(Progress(clock() - began, search.generations, search.evaluations, figures, why))
            if told is not None:
                told(progress[-1])
        if clock() - began >= budget or search.optimal:
            break
        better = search.step(_GENERATIONS)
    elapsed = clock() - began
    statistics = Statistics(search.bound, search.evaluations, search.generations, elapsed, tuple(progress))
    return search.best, statistics


def without_search(problem: Problem, policy: Policy, seed: int = 0) -> Plan:
    """Return the plan of one of `REPLANNED` or `MAPPED`, or of a first-come-first-served policy.

    On identical hosts, and where each task takes the host that ends it first, the order says all of a mapping.

    Args:
        problem: tasks in order of arrival where they are released together.
        policy: which.
        seed: of arbitrary host counts.

    Raises:
        UserError: one of `MAPPED` is asked for and a task cannot run on one host.
    """
    if policy in MAPPED:
        order = _mapped(independent.waiting_seconds(problem), policy, problem.free)[1]
        return Plan(order, np.ones(len(order), dtype=np.int64))
    if policy is Policy.TWO_PHASE:
        return two_phase(problem)
    if policy is Policy.TUNABLE:
        return tunable_moldable(problem)
    if policy is Policy.EDF:
        return earliest_deadline_first(problem)
    seconds = best_seconds(problem)
    users = str(policy) if policy in BASELINES else "fcfs-calculated"
    counts = np.array(
        [baseline_count(users, row, f"{seed} {task}") for task, row in enumerate(seconds)], dtype=np.int64
    )
    if policy is Policy.EASY:
        return backfill.easy(problem, counts)
    if policy is Policy.CONSERVATIVE:
        return backfill.conservative(problem, counts)
    return Plan(np.argsort(problem.release, kind="stable").astype(np.int64), counts)
