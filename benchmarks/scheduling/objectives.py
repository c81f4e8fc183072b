"""Objectives beside the makespan: slowdown, weighted tardiness, and what deadlines first costs, each beside CP-SAT.

Queues of 30 tasks on 16 hosts; the seeds 1 to 5, and five held out. CP-SAT has 10 s of two cores for each queue.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.scheduling import references
from benchmarks.scheduling.queues import BUDGETS, SEEDS, planned
from cosched.scheduling.objective.objective import measure_plan
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import PolicyName
from cosched.scheduling.search.genetic_search import GeneticSearch
from cosched.scheduling.search.run import Limit, run_search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.figures import Figures
    from benchmarks.scheduling.peers.cp_sat_objectives import Found
    from cosched.scheduling.objective.objective import Metrics
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["deadlines_cost", "slowdown", "tardiness"]

_SEEDS = {"tuned on": SEEDS, "held out": references.HELD_OUT[:5]}
_ROWS = (PolicyName.HEURISTIC, PolicyName.EASY, PolicyName.EASY_SJBF, PolicyName.EDF)
_SOLVER = 10.0  # seconds of two cores
_MOST_WEIGHT = 3
_PEER = "CP-SAT 10 s of two cores"


def slowdown(figures: Figures) -> None:
    """Print mean bounded slowdowns; the bound is what CP-SAT proves, or that of idle hosts for each task."""
    if not _solver_there():
        return
    from benchmarks.scheduling.peers.cp_sat_objectives import least_slowdown  # loads OR-Tools

    def mean(metrics: Metrics) -> float:
        assert metrics.slowdown is not None, "the problem says how long tasks have waited"
        return metrics.slowdown

    for name, seeds in _SEEDS.items():
        queues = [references.makespan_queue(seed) for seed in seeds]
        problems = [replace(queue, waited=np.zeros(len(queue.tasks))) for queue in queues]
        _compared(
            figures,
            f"slowdown, {name}",
            problems,
            ObjectiveName.SLOWDOWN,
            lambda it: it.slowdown or 0.0,
            least_slowdown,
        )


def tardiness(figures: Figures) -> None:
    """Print mean weighted tardiness in seconds under medium deadlines, weights of 1 to 3 drawn for the tasks."""
    if not _solver_there():
        return
    from benchmarks.scheduling.peers.cp_sat_objectives import least_tardiness  # loads OR-Tools

    def mean(metrics: Metrics) -> float:
        return (metrics.weighted_lateness or 0.0) / references.TASKS

    def solved(problem: Problem, seconds: float) -> Found:
        found = least_tardiness(problem, seconds)
        return found._replace(value=found.value / references.TASKS, bound=found.bound / references.TASKS)

    for name, seeds in _SEEDS.items():
        problems = []
        for seed in seeds:
            queue = references.deadline_queue(seed, "medium")
            weight = np.random.default_rng(seed).integers(1, _MOST_WEIGHT, len(queue.tasks), endpoint=True)
            problems.append(replace(queue, weight=weight.astype(np.float64)))
        _compared(figures, f"weighted tardiness, {name}", problems, ObjectiveName.TARDINESS, mean, solved)


def _compared(
    figures: Figures,
    section: str,
    problems: Sequence[Problem],
    objective: ObjectiveName,
    value: Callable[[Metrics], float],
    solve: Callable[[Problem, float], Found],
) -> None:
    """Print the mean value of each policy, over the solver's and over what it proves to be the least."""
    what = section.split(",", maxsplit=1)[0]
    title = f"{references.TASKS} tasks on {references.HOSTS} hosts, {len(problems)} queues, {section}"
    figures.section(section, f"{title:64} {what}: mean  ÷ CP-SAT  ÷ bound")
    found = [solve(problem, _SOLVER) for problem in problems]
    peer, bound = (float(np.mean(each)) for each in zip(*found, strict=True))

    def row(name: str, mean: float) -> None:
        over_bound = mean / bound if bound > 0 else None
        shown = "        -" if over_bound is None else f"{over_bound:9.4f}"
        figures.row(
            name,
            f"{name:64} {mean:18.4f} {mean / peer:9.4f} {shown}",
            mean=mean,
            over_peer=mean / peer,
            over_bound=over_bound,
        )

    for policy in _ROWS:
        row(str(policy), _mean(figures, problems, policy, 1.0, objective.weights, value))
    for budget in BUDGETS:
        name = f"genetic {budget * 1000:.0f} ms"
        row(name, _mean(figures, problems, PolicyName.GENETIC, budget, objective.weights, value))
    row(_PEER, peer)
    row("no plan can have less (CP-SAT)", bound)


def _mean(
    figures: Figures,
    problems: Sequence[Problem],
    policy: PolicyName,
    budget: float,
    weights: Weights,
    value: Callable[[Metrics], float],
) -> float:
    return float(np.mean([value(planned(figures, each, policy, budget, weights)[0]) for each in problems]))


def deadlines_cost(figures: Figures) -> None:
    """Print how much longer plans with deadlines first are than the shortest found with as many tasks on time."""
    if not _solver_there():
        return
    from benchmarks.scheduling.peers.cp_sat_objectives import shortest_with_as_many_on_time  # loads OR-Tools

    for name, seeds in _SEEDS.items():
        title = f"{references.TASKS} tasks on {references.HOSTS} hosts, {len(seeds)} queues, {name}, medium deadlines"
        figures.section(f"cost of deadlines, {name}", f"{title:64} on time  makespan ÷ CP-SAT's: mean, worst  ÷ bound")
        problems = [references.deadline_queue(seed, "medium") for seed in seeds]
        shortest: dict[tuple[int, int], Found] = {}  # by queue, and by how many are on time
        for budget in reversed(BUDGETS):  # the best plan is CP-SAT's first
            over_peer, over_bound, on_time = [], [], []
            for number, problem in enumerate(problems):
                best = _with_deadlines_first(figures, problem, budget)
                metrics = measure_plan(problem, best)
                key = number, metrics.on_time
                if key not in shortest:
                    shortest[key] = shortest_with_as_many_on_time(problem, best, _SOLVER)
                over_peer.append(metrics.makespan / shortest[key].value)
                over_bound.append(metrics.makespan / shortest[key].bound)
                on_time.append(metrics.on_time / references.TASKS)
            row = f"genetic {budget * 1000:.0f} ms, deadlines first"
            means = [float(np.mean(each)) for each in (on_time, over_peer, over_bound)]
            figures.row(
                row,
                f"{row:64} {means[0]:7.1%} {means[1]:27.4f} {max(over_peer):6.4f} {means[2]:8.4f}",
                on_time=means[0],
                over_peer=means[1],
                worst_over_peer=max(over_peer),
                over_bound=means[2],
            )


def _with_deadlines_first(figures: Figures, problem: Problem, budget: float) -> Plan:
    def begin() -> GeneticSearch:
        return GeneticSearch(problem, ObjectiveName.DEADLINES_FIRST.weights, seed=1)

    return run_search(begin, Limit(budget, clock=figures.clock))[0].best


def _solver_there() -> bool:
    if find_spec("ortools") is not None:
        return True
    print("(ortools is not installed: `make peers`)")
    return False
