"""The policies behind `cosched plan`: one function, from a problem to a schedule.

The three first-come-first-served ones stand for a batch system on its own, whose users say how many hosts they want
(see `baselines`): tasks start strictly in the order of arrival (release, then position), none before the one ahead.
Backfilling takes the calculated counts. The policies for independent tasks place each on one host (see `independent`
and `price_search`) and refuse any other problem. `titan-classic` is for comparison (see there). `heuristic` takes
the best of the heuristics and needs nothing compiled.
"""

from __future__ import annotations

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
    "refuse_misfit",
    "without_search",
]

_GENERATIONS = 10  # between two looks at the clock
_A_SECOND = Limit(1.0)


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


def refuse_misfit(problem: Problem, policy: Policy) -> None:
    """Raise where a policy does not plan such a problem.

    Raises:
        UserError: tasks are not independent, or hosts come and go.
    """
    if policy in INDEPENDENT:
        independent.one_host_seconds(problem, policy)
    gone = [absence.host for absence in problem.absences] + np.flatnonzero(np.isinf(problem.free)).tolist()
    if policy is Policy.TITAN_CLASSIC and gone:
        host = problem.hosts[gone[0]]
        raise UserError(f"titan-classic knows no hosts that come and go, and {host} does: choose another policy")


def answers_at_once(policy: Policy) -> bool:
    """Whether nothing must be compiled before the policy plans."""
    return policy not in COMPILED or machine_code.ready()


def plan(
    problem: Problem,
    policy: Policy = Policy.GENETIC,
    limit: Limit = _A_SECOND,
    seed: int = 0,
    weights: Weights | None = None,
    told: _Told = None,
) -> tuple[Schedule, Statistics]:
    """Make a schedule by one of the policies.

    Args:
        problem: at least one task.
        policy: which; who plans in the end is told by `in_charge`.
        limit: when a search ends; it ends early when the objective cannot get better.
        seed: of the searches and of arbitrary host counts.
        weights: of the objective of the genetic searches. That of the dual-price search is the makespan.
        told: is given each better plan's figures as a search finds it.

    Returns:
        The schedule, and what it took.

    Raises:
        UserError: the policy does not plan such problems, see `refuse_misfit`.
    """
    refuse_misfit(problem, policy)
    policy, chosen = in_charge(problem, policy), weights or Weights()
    if policy is Policy.DUAL_PRICE:
        return _price_search(problem, seed, limit, told)
    if policy is Policy.TITAN_CLASSIC:
        return _titan_classic(problem, seed, chosen, limit, told)
    if policy is Policy.GENETIC:
        return _search(problem, seed, chosen, limit, told)
    began = limit.clock()
    if policy is Policy.HEURISTIC:
        schedule, compared = _heuristic(problem, chosen, lambda: limit.clock() - began < limit.seconds)
    elif policy in INDEPENDENT:
        machine, order, compared = _mapped(independent.one_host_seconds(problem), policy)
        schedule = independent.place(problem, machine, order)
    else:
        schedule = decode(problem, without_search(problem, policy, seed), in_order=policy in BASELINES)
        compared = 1
    elapsed = limit.clock() - began
    bound = tight_bound(problem) if machine_code.ready() else lower_bound(problem)  # the best that nobody waits for
    return schedule, Statistics(bound, compared, 0, elapsed)


def in_charge(problem: Problem, policy: Policy) -> Policy:
    """Return who plans: the genetic policy hands what is an ETC matrix in all but name to the dual-price search."""
    handed_over = policy is Policy.GENETIC and independent.one_host_only(problem)
    return Policy.DUAL_PRICE if handed_over else policy


def _heuristic(problem: Problem, weights: Weights, within: Callable[[], bool]) -> tuple[Schedule, int]:
    """Return the best schedule of the heuristics, and how many plans were compared; `within` as of `best_heuristic`."""
    if independent.one_host_only(problem):
        machine, order, compared = _best_mapping(independent.one_host_seconds(problem))
        return independent.place(problem, machine, order), compared
    found, compared = best_heuristic(problem, weights, within)
    return decode(problem, found), compared


def _best_mapping(seconds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the mapping with the shortest makespan of sufferage's and A-MM's (which is never worse than Min-Min)."""
    *adaptive, evaluations = independent.adaptive(seconds)
    machine, order = min(
        adaptive, independent.sufferage(seconds), key=lambda mapping: independent.makespan(seconds, mapping[0])
    )
    return machine, order, evaluations + 1


def _titan_classic(
    problem: Problem, seed: int, weights: Weights, limit: Limit, told: _Told
) -> tuple[Schedule, Statistics]:
    from cosched.scheduling.titan_classic import TitanClassic, warm_up  # loads numba

    warm_up()
    search, statistics = run_search(lambda: TitanClassic(problem, weights, seed), limit, told)
    return search.schedule, statistics


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


def _price_search(problem: Problem, seed: int, limit: Limit, told: _Told) -> tuple[Schedule, Statistics]:
    from cosched.scheduling.price_search import PriceSearch, warm_up  # loads numba

    seconds = independent.one_host_seconds(problem)
    warm_up()
    search, statistics = run_search(lambda: PriceSearch(seconds, seed, problem.deadline), limit, told)
    schedule = independent.place(problem, search.machine, search.order)
    return schedule, replace(statistics, bound=tight_bound(problem))  # the search's own is of one host a task


def _search(problem: Problem, seed: int, weights: Weights, limit: Limit, told: _Told) -> tuple[Schedule, Statistics]:
    from cosched.scheduling.search import Search, warm_up  # loads numba and DEAP, which no other policy needs

    warm_up()
    search, statistics = run_search(lambda: Search(problem, weights, seed), limit, told, _GENERATIONS)
    return decode(problem, search.best), statistics


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
