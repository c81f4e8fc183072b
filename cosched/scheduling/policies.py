"""The policies behind `cosched plan`: one function, from a problem to a schedule.

The three first-come-first-served ones stand for a batch system on its own, whose users say how many hosts they want
(see `baselines`): tasks start strictly in the order of arrival (release, then position), none before the one ahead.
Backfilling takes the calculated counts. The policies for independent tasks place each on one host (see `independent`
and `dual_price`) and refuse any other problem. `titan-classic` is for comparison (see there). `heuristic` takes
the best of the heuristics and needs nothing compiled.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.scheduling import kernel_cache
from cosched.scheduling.bounds import lower_bound, tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics import batch_queue
from cosched.scheduling.heuristics.batch_queue import USER_COUNT_POLICIES, user_host_count
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic, earliest_deadline_first, two_phase
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.mapping import etc_mapping
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.search.run import Limit, SearchStatistics, run_search
from cosched.scheduling.tunable.planning import plan_moldable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cosched.scheduling.objective.comparison import SearchProgress
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

    _Told = Callable[[SearchProgress], None] | None

__all__ = [
    "COMPILED",
    "INDEPENDENT",
    "MAPPED",
    "REPLANNED",
    "SEARCHED",
    "PolicyName",
    "answers_at_once",
    "in_charge",
    "plan",
    "refuse_misfit",
    "without_search",
]

_GENERATIONS = 10  # between two looks at the clock
_A_SECOND = Limit(1.0)


class PolicyName(StrEnum):
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
    (
        PolicyName.MIN_MIN,
        PolicyName.MAX_MIN,
        PolicyName.SUFFERAGE,
        PolicyName.A_MM,
        PolicyName.A_MM_EXECUTION,
        PolicyName.DUAL_PRICE,
    )
)
"""Policies for independent tasks on one host each."""

REPLANNED = frozenset(
    (PolicyName.EASY, PolicyName.CONSERVATIVE, PolicyName.EDF, PolicyName.TWO_PHASE, PolicyName.TUNABLE)
)
"""Policies that make a plan of whatever waits in no time, so that a domain can plan anew at every event."""


MAPPED = INDEPENDENT - {PolicyName.DUAL_PRICE}
"""Policies that place tasks on one host each, as soon as they know when which host becomes free."""

SEARCHED = frozenset((PolicyName.GENETIC, PolicyName.TITAN_CLASSIC))
"""Policies whose plans come from a search beside the domain."""


COMPILED = frozenset((PolicyName.GENETIC, PolicyName.TITAN_CLASSIC, PolicyName.DUAL_PRICE))
"""Policies that need machine code."""


def refuse_misfit(problem: Problem, policy: PolicyName) -> None:
    """Raise where a policy does not plan such a problem.

    Raises:
        UserError: tasks are not independent, or hosts come and go.
    """
    if policy in INDEPENDENT:
        etc_mapping.single_host_seconds(problem, policy)
    gone = [absence.host for absence in problem.absences] + np.flatnonzero(np.isinf(problem.free)).tolist()
    if policy is PolicyName.TITAN_CLASSIC and gone:
        host = problem.hosts[gone[0]]
        raise UserError(f"titan-classic knows no hosts that come and go, and {host} does: choose another policy")


def answers_at_once(policy: PolicyName) -> bool:
    """Whether nothing must be compiled before the policy plans."""
    return policy not in COMPILED or kernel_cache.ready()


def plan(
    problem: Problem,
    policy: PolicyName = PolicyName.GENETIC,
    limit: Limit = _A_SECOND,
    seed: int = 0,
    weights: Weights | None = None,
    told: _Told = None,
) -> tuple[Schedule, SearchStatistics]:
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
    if policy is PolicyName.DUAL_PRICE:
        return _price_search(problem, seed, limit, told)
    if policy is PolicyName.TITAN_CLASSIC:
        return _titan_classic(problem, seed, chosen, limit, told)
    if policy is PolicyName.GENETIC:
        return _search(problem, seed, chosen, limit, told)
    began = limit.clock()
    if policy is PolicyName.HEURISTIC:
        schedule, compared = _heuristic(problem, chosen, lambda: limit.clock() - began < limit.seconds)
    elif policy in INDEPENDENT:
        machine, order, compared = _mapped(etc_mapping.single_host_seconds(problem), policy)
        schedule = etc_mapping.mapped_schedule(problem, machine, order)
    else:
        schedule = decode(problem, without_search(problem, policy, seed), in_order=policy in USER_COUNT_POLICIES)
        compared = 1
    elapsed = limit.clock() - began
    bound = tight_bound(problem) if kernel_cache.ready() else lower_bound(problem)  # the best that nobody waits for
    return schedule, SearchStatistics(bound, compared, 0, elapsed)


def in_charge(problem: Problem, policy: PolicyName) -> PolicyName:
    """Return who plans: the genetic policy hands what is an ETC matrix in all but name to the dual-price search."""
    handed_over = policy is PolicyName.GENETIC and etc_mapping.is_etc_matrix(problem)
    return PolicyName.DUAL_PRICE if handed_over else policy


def _heuristic(problem: Problem, weights: Weights, within: Callable[[], bool]) -> tuple[Schedule, int]:
    """Return the best schedule of the heuristics, and how many plans were compared; `within` as of `best_heuristic`."""
    if etc_mapping.is_etc_matrix(problem):
        machine, order, compared = _best_mapping(etc_mapping.single_host_seconds(problem))
        return etc_mapping.mapped_schedule(problem, machine, order), compared
    found, compared = best_heuristic(problem, weights, within)
    return decode(problem, found), compared


def _best_mapping(seconds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the mapping with the shortest makespan of sufferage's and A-MM's (which is never worse than Min-Min)."""
    *adaptive, evaluations = etc_mapping.a_mm(seconds)
    machine, order = min(
        adaptive, etc_mapping.sufferage(seconds), key=lambda mapping: etc_mapping.mapping_makespan(seconds, mapping[0])
    )
    return machine, order, evaluations + 1


def _titan_classic(
    problem: Problem, seed: int, weights: Weights, limit: Limit, told: _Told
) -> tuple[Schedule, SearchStatistics]:
    from cosched.scheduling.search.titan_classic import (
        TitanClassic,
        warm_up,  # loads numba
    )

    warm_up()
    search, statistics = run_search(lambda: TitanClassic(problem, weights, seed), limit, told)
    return search.schedule, statistics


def _mapped(
    seconds: NDArray[np.float64], policy: PolicyName, ready: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    if policy in (PolicyName.A_MM, PolicyName.A_MM_EXECUTION):
        return etc_mapping.a_mm(seconds, ready, execution=policy is PolicyName.A_MM_EXECUTION)
    mappings = {
        PolicyName.MIN_MIN: etc_mapping.min_min,
        PolicyName.MAX_MIN: etc_mapping.max_min,
        PolicyName.SUFFERAGE: etc_mapping.sufferage,
    }
    return *mappings[policy](seconds, ready), 1


def _price_search(problem: Problem, seed: int, limit: Limit, told: _Told) -> tuple[Schedule, SearchStatistics]:
    from cosched.scheduling.mapping.dual_price import (
        DualPriceSearch,
        warm_up,  # loads numba
    )

    seconds = etc_mapping.single_host_seconds(problem)
    warm_up()
    search, statistics = run_search(lambda: DualPriceSearch(seconds, seed, problem.deadline), limit, told)
    schedule = etc_mapping.mapped_schedule(problem, search.machine, search.order)
    return schedule, replace(statistics, bound=tight_bound(problem))  # the search's own is of one host a task


def _search(
    problem: Problem, seed: int, weights: Weights, limit: Limit, told: _Told
) -> tuple[Schedule, SearchStatistics]:
    from cosched.scheduling.search.genetic_search import (
        GeneticSearch,
        warm_up,  # loads numba and DEAP, which no other policy needs
    )

    warm_up()
    search, statistics = run_search(lambda: GeneticSearch(problem, weights, seed), limit, told, _GENERATIONS)
    return decode(problem, search.best), statistics


def without_search(problem: Problem, policy: PolicyName, seed: int = 0) -> Plan:
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
        order = _mapped(etc_mapping.single_host_seconds_when_busy(problem), policy, problem.free)[1]
        return Plan(order, np.ones(len(order), dtype=np.int64))
    if policy is PolicyName.TWO_PHASE:
        return two_phase(problem)
    if policy is PolicyName.TUNABLE:
        return plan_moldable(problem)
    if policy is PolicyName.EDF:
        return earliest_deadline_first(problem)
    seconds = best_seconds(problem)
    users = str(policy) if policy in USER_COUNT_POLICIES else "fcfs-calculated"
    counts = np.array(
        [user_host_count(users, row, f"{seed} {task}") for task, row in enumerate(seconds)], dtype=np.int64
    )
    if policy is PolicyName.EASY:
        return batch_queue.easy(problem, counts)
    if policy is PolicyName.CONSERVATIVE:
        return batch_queue.conservative(problem, counts)
    return Plan(np.argsort(problem.release, kind="stable").astype(np.int64), counts)
