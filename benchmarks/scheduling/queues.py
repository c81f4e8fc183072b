"""Queues of the seven kernels under every policy: makespan ÷ lower bound, and what becomes of deadlines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.kernels import mixed, queue
from benchmarks.scheduling.peers.stock_deap import stock_deap
from benchmarks.scheduling.speed import rate
from cosched.scheduling.bounds import lower_bound, tight_bound
from cosched.scheduling.objective.objective import Metrics, measure
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from cosched.scheduling.policies import POLICIES, PolicyName, plan
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.genetic_search import GeneticSearch
from cosched.scheduling.search.run import Limit

if TYPE_CHECKING:
    from benchmarks.figures import Figures
    from cosched.scheduling.problem import Problem

__all__ = ["BUDGETS", "MAKESPAN", "MIXES", "SEEDS", "long_queues", "planned", "quality", "several_classes"]

SEEDS = range(1, 6)
BUDGETS = (0.01, 0.1, 1.0)
MAKESPAN = ObjectiveName.MAKESPAN.weights
_SIZES = ((30, 16), (200, 16))
MIXES = ((1.0, 1.6), (1.0, 1.6, 2.2, 3.0))  # how many times as long each class takes
_SEARCHES = (PolicyName.GENETIC, PolicyName.TITAN_CLASSIC)


def planned(
    figures: Figures, problem: Problem, policy: PolicyName, budget: float, weights: Weights
) -> tuple[Metrics, float]:
    """Return the metrics of a checked plan, and the lower bound."""
    schedule, _ = plan(problem, policy, Limit(budget, clock=figures.clock), seed=1, weights=weights)
    faults = check_schedule(problem, schedule)
    if faults:
        sys.exit(f"{policy} made an impossible schedule: {faults[0]}")
    return measure(problem, schedule), tight_bound(problem)


def quality(figures: Figures) -> None:
    """Print makespan ÷ lower bound of every policy, and with deadlines also tasks on time and lateness."""
    for tasks, hosts in _SIZES:
        _quality(figures, tasks, hosts)


def _quality(figures: Figures, tasks: int, hosts: int) -> None:
    figures.section(
        f"{tasks} tasks on {hosts} hosts",
        f"{tasks} tasks on {hosts} hosts".ljust(36) + "÷ bound   with deadlines: ÷ bound  on time  mean lateness (s)",
    )
    rows = [
        (str(name), name, 1.0)
        for name, policy in POLICIES.items()
        if not (name in _SEARCHES or policy.one_host or policy.reshapes)
    ]
    rows += [("titan-classic 1000 ms", PolicyName.TITAN_CLASSIC, 1.0)]
    rows += [(f"genetic {budget * 1000:.0f} ms", PolicyName.GENETIC, budget) for budget in BUDGETS]
    plain = [queue(tasks, hosts, seed) for seed in SEEDS]
    due = [queue(tasks, hosts, seed, deadlines=True) for seed in SEEDS]

    def row(name: str, policy: PolicyName, budget: float, weights: Weights) -> None:
        ratio, shown = None, " " * 9
        if not weights.deadlines_first:
            ratio = _ratio([planned(figures, problem, policy, budget, MAKESPAN) for problem in plain])
            shown = f"{ratio:9.4f}"
        with_due = [planned(figures, problem, policy, budget, weights) for problem in due]
        on_time = float(np.mean([metrics.on_time / metrics.with_deadline for metrics, _ in with_due]))
        late = float(np.mean([metrics.lateness / metrics.with_deadline for metrics, _ in with_due]))
        figures.row(
            name,
            f"{name:34} {shown} {_ratio(with_due):25.4f} {on_time:8.1%} {late:18.2f}",
            over_bound=ratio,
            due_over_bound=_ratio(with_due),
            on_time=on_time,
            lateness=late,
        )

    for name, policy, budget in rows:
        row(name, policy, budget, Weights())
    for budget in BUDGETS:
        name = f"  deadlines first {budget * 1000:.0f} ms"
        row(name, PolicyName.GENETIC, budget, ObjectiveName.DEADLINES_FIRST.weights)
    for seeded in (False, True):
        ratios = [
            stock_deap(problem, BUDGETS[-1], seed, figures.clock, from_heuristic=seeded)[0] / lower_bound(problem)
            for seed, problem in zip(SEEDS, plain, strict=True)
        ]
        name = f"DEAP 1000 ms, {'from two-phase' if seeded else 'as its examples'}"
        figures.row(name, f"{name:34} {np.mean(ratios):9.4f}", over_bound=float(np.mean(ratios)))


def long_queues(figures: Figures) -> None:
    """Print makespan ÷ lower bound of long queues, and how long the heuristics take."""
    for tasks, hosts in ((1000, 64), (5000, 256)):
        name = f"{tasks} tasks on {hosts} hosts"
        figures.section(name, name.ljust(28) + "÷ bound")
        rows = [("two-phase", PolicyName.TWO_PHASE, 0.0)]
        rows += [(f"genetic {budget * 1000:.0f} ms", PolicyName.GENETIC, budget) for budget in BUDGETS]
        problems = [queue(tasks, hosts, seed) for seed in SEEDS]
        for row, policy, budget in rows:
            ratio = _ratio([planned(figures, problem, policy, budget, MAKESPAN) for problem in problems])
            figures.row(row, f"{row:26} {ratio:9.4f}", over_bound=ratio)
        took = []
        for problem in problems:
            began = figures.clock()
            GeneticSearch(problem, MAKESPAN)
            took.append(figures.clock() - began)
        median = float(np.median(took))
        row = "all heuristics for the search to start from"
        figures.row(row, f"{row}: {1e3 * median:.0f} ms", seconds=median)


def several_classes(figures: Figures) -> None:
    """Print makespan ÷ lower bound on hosts of several classes."""
    figures.section(
        "several classes",
        "hosts of several classes".ljust(34) + "best heuristic  genetic 100 ms  ÷ bound without prices  generations/s",
    )
    for tasks, hosts in (*_SIZES, (1000, 64)):
        for slowdowns in MIXES:
            problems = [mixed(tasks, hosts, seed, slowdowns) for seed in SEEDS]
            heuristic = _ratio([planned(figures, each, PolicyName.HEURISTIC, 1.0, MAKESPAN) for each in problems])
            searched = [planned(figures, each, PolicyName.GENETIC, 0.1, MAKESPAN) for each in problems]
            without = [
                metrics.makespan / lower_bound(each) for (metrics, _), each in zip(searched, problems, strict=True)
            ]
            plain, generations = float(np.mean(without)), rate(figures, problems[0])
            name = f"{tasks:5} tasks on {hosts} hosts, {len(slowdowns)} classes"
            figures.row(
                name.strip(),
                f"{name:34} {heuristic:13.4f} {_ratio(searched):15.4f} {plain:23.4f} {generations:14.0f}",
                heuristic=heuristic,
                genetic=_ratio(searched),
                without_prices=plain,
                generations=generations,
            )


def _ratio(plans: list[tuple[Metrics, float]]) -> float:
    return float(np.mean([metrics.makespan / bound for metrics, bound in plans]))
