"""The policies behind `cosched plan`: one function, from a problem to a schedule.

The three first-come-first-served ones stand for a batch system on its own, whose users say how many hosts they want
(see `baselines`): tasks start strictly in the order of arrival (release, then position), none before the one ahead.
Backfilling takes the calculated counts. The policies for independent tasks place each on one host (see `independent`
and `price_search`) and refuse any other problem. `titan-classic` is for comparison (see there). `heuristic` takes
the best of the heuristics and needs nothing compiled.
"""

from __future__ import annotations

import time
from dataclasses import replace
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
from cosched.scheduling.search_run import Limit, Statistics, run_search
from cosched.scheduling.tunable_moldable import tunable_moldable
from cosched.scheduling.widths import best_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.progress import Progress
    from cosched.scheduling.schedule import Schedule

    _Clock = Callable[[], float]
    _Told = Callable[[Progress], None] | None

__all__ = [
    "COMPILED",
    "INDEPENDENT",
    "MAPPED",
    "REPLANNED",
    "SEARCHED",
    "Objective",
    "Policy",
    "answers_at_once",
    "in_charge",
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


def answers_at_once(problem: Problem, policy: Policy) -> bool:
    """Whether nothing must be compiled before the policy plans the problem.

    Raises:
        UserError: it does not plan such problems.
    """
    if policy is Policy.DUAL_PRICE:
        independent.one_host_seconds(problem, policy)
    gone = [absence.host for absence in problem.absences] + np.flatnonzero(np.isinf(problem.free)).tolist()
    if policy is Policy.TITAN_CLASSIC and gone:
        host = problem.hosts[gone[0]]
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
    generations: int | None = None,
) -> tuple[Schedule, Plan, Statistics]:
    """Make a schedule by one of the policies.

    Args:
        problem: at least one task.
        policy: which.
        budget: seconds that a search may take; it ends early when the objective cannot get better.
        seed: of the searches and of arbitrary host counts.
        weights: of the objective of the genetic searches. That of the dual-price search is the makespan.
        clock: what the budget is measured with, in seconds; `time.thread_time` where others keep the machine busy.
        told: is given each better plan's figures as a search finds it.
        generations: after which a search ends even before its budget does; with the seed they decide the plan.

    Returns:
        The schedule, the plan that it was decoded from, and statistics. The schedules of the first-come-first-served
        policies are decoded with `in_order`. Those of independent tasks and of titan-classic are not decoded: such a
        plan does not say which hosts a task takes. The policy is that of `in_charge`.

    Raises:
        UserError: the policy does not plan such problems: the tasks are not independent, or hosts come and go.
    """
    answers_at_once(problem, policy)
    policy, chosen = in_charge(problem, policy), weights or Weights()
    limit = Limit(budget, generations, clock)
    if policy is Policy.HEURISTIC:
        return _heuristic(problem, budget, chosen, clock)
    if policy is Policy.DUAL_PRICE:
        return _price_search(problem, seed, limit, told)
    if policy in INDEPENDENT:
        return _independent(problem, policy, clock)
    if policy is Policy.TITAN_CLASSIC:
        return _titan_classic(problem, seed, chosen, limit, told)
    if policy is Policy.GENETIC:
        return _search(problem, seed, chosen, limit, told)
    began = clock()
    found = without_search(problem, policy, seed)
    schedule = decode(problem, found, in_order=policy in BASELINES)
    elapsed = clock() - began
    return schedule, found, Statistics(_bound(problem), 1, 0, elapsed)


def in_charge(problem: Problem, policy: Policy) -> Policy:
    """Return who plans: the genetic policy hands what is an ETC matrix in all but name to the dual-price search."""
    handed_over = policy is Policy.GENETIC and independent.one_host_only(problem)
    return Policy.DUAL_PRICE if handed_over else policy


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
    problem: Problem, seed: int, weights: Weights, limit: Limit, told: _Told
) -> tuple[Schedule, Plan, Statistics]:
    from cosched.scheduling.titan_classic import TitanClassic, warm_up  # loads numba

    warm_up()
    search, statistics = run_search(lambda: TitanClassic(problem, weights, seed), limit, told)
    return search.schedule, search.plan, replace(statistics, bound=tight_bound(problem))


def _independent(problem: Problem, policy: Policy, clock: _Clock) -> tuple[Schedule, Plan, Statistics]:
    seconds = independent.one_host_seconds(problem, policy)
    began = clock()
    machine, order, evaluations = _mapped(seconds, policy)
    elapsed = clock() - began
    found = Plan(order, np.ones(len(order), dtype=np.int64))
    return independent.place(problem, machine, order), found, Statistics(_bound(problem), evaluations, 0, elapsed)


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


def _price_search(problem: Problem, seed: int, limit: Limit, told: _Told) -> tuple[Schedule, Plan, Statistics]:
    from cosched.scheduling.price_search import PriceSearch, warm_up  # loads numba

    seconds = independent.one_host_seconds(problem)
    warm_up()
    search, statistics = run_search(lambda: PriceSearch(seconds, seed, problem.deadline), limit, told)
    found = Plan(search.order, np.ones(len(seconds), dtype=np.int64))
    schedule = independent.place(problem, search.machine, search.order)
    return schedule, found, replace(statistics, bound=max(search.bound, lower_bound(problem)))


def _search(
    problem: Problem, seed: int, weights: Weights, limit: Limit, told: _Told
) -> tuple[Schedule, Plan, Statistics]:
    from cosched.scheduling.search import Search, warm_up  # loads numba and DEAP, which no other policy needs

    warm_up()
    search, statistics = run_search(lambda: Search(problem, weights, seed), limit, told, _GENERATIONS)
    return decode(problem, search.best), search.best, statistics


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
