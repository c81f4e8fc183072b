"""The policies behind `cosched plan`: one function, from a problem to a schedule.

The three first-come-first-served ones stand for a batch system on its own, whose users say how many hosts they want
(see `baselines`): tasks start strictly in the order of arrival (release, then position), none before the one ahead.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.baselines import BASELINES, baseline_count
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoder import decode
from cosched.scheduling.heuristics import earliest_deadline_first, two_phase
from cosched.scheduling.problem import Plan, Weights
from cosched.scheduling.widths import best_seconds

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["Policy", "Statistics", "plan"]

_GENERATIONS = 10  # between two looks at the clock


class Policy(StrEnum):
    """How a plan is made."""

    GENETIC = "genetic"
    TWO_PHASE = "two-phase"
    EDF = "edf"
    FCFS_ARBITRARY = "fcfs-arbitrary"
    FCFS_MAXIMUM = "fcfs-maximum"
    FCFS_CALCULATED = "fcfs-calculated"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the planning took.

    Attributes:
        bound: lower bound of the makespan in seconds.
        evaluations: complete plans that were compared; 1 where a policy makes just one.
        generations: of the genetic search.
        elapsed: seconds of planning; reading or compiling machine code is not counted.
    """

    bound: float
    evaluations: int
    generations: int
    elapsed: float


def plan(
    problem: Problem,
    policy: Policy = Policy.GENETIC,
    budget: float = 1.0,
    seed: int = 0,
    weights: Weights | None = None,
) -> tuple[Schedule, Plan, Statistics]:
    """Make a schedule by one of the policies.

    Args:
        problem: at least one task.
        policy: which.
        budget: seconds that the genetic search may take; it ends early when the objective cannot get better.
        seed: of the genetic search and of arbitrary host counts.
        weights: of the objective of the genetic search.

    Returns:
        The schedule, the plan that it was decoded from, and statistics. The schedules of the first-come-first-served
        policies are decoded with `in_order`.
    """
    if policy is Policy.GENETIC:
        found, statistics = _search(problem, budget, seed, weights or Weights())
        return decode(problem, found), found, statistics
    began = time.perf_counter()
    found = _without_search(problem, policy, seed)
    schedule = decode(problem, found, in_order=policy in BASELINES)
    elapsed = time.perf_counter() - began
    return schedule, found, Statistics(lower_bound(problem), 1, 0, elapsed)


def _search(problem: Problem, budget: float, seed: int, weights: Weights) -> tuple[Plan, Statistics]:
    from cosched.scheduling.search import Search, warm_up  # loads numba and DEAP, which no other policy needs

    warm_up()
    began = time.perf_counter()
    search = Search(problem, weights, seed)
    while time.perf_counter() - began < budget and not search.optimal:
        search.step(_GENERATIONS)
    elapsed = time.perf_counter() - began
    return search.best, Statistics(search.bound, search.evaluations, search.generations, elapsed)


def _without_search(problem: Problem, policy: Policy, seed: int) -> Plan:
    if policy is Policy.TWO_PHASE:
        return two_phase(problem)
    if policy is Policy.EDF:
        return earliest_deadline_first(problem)
    seconds = best_seconds(problem)
    counts = [baseline_count(policy, row, f"{seed} {task}") for task, row in enumerate(seconds)]
    return Plan(np.argsort(problem.release, kind="stable").astype(np.int64), np.array(counts, dtype=np.int64))
