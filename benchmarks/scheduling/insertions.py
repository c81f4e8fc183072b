"""One more task in a plan that is there: how long it takes, and how near its place is to the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.kernels import mixed, queue
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.heuristics.insertion import insert
from cosched.scheduling.heuristics.moldable_tasks import earliest_deadline_first, two_phase
from cosched.scheduling.host_counts import encoded_choices, with_encoded_classes
from cosched.scheduling.kernels import objective_kernel
from cosched.scheduling.objective.metrics import MISSED
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.search.genetic_search import GeneticSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cosched.scheduling.problem import Problem

__all__ = ["places", "times"]

_POOLS = ((1.0,), (1.0, 2.0))  # by class, how many times as long tasks run as on the quickest
_TIMED = range(1, 21)
_JUDGED = range(700, 704)  # seeds that had no part in finding the method
_GENERATIONS = 200  # of the search that makes a plan
_PLACES = 16
_FIRST = Weights(deadlines_first=True)


def times(clock: Callable[[], float]) -> None:
    """Print how long one more task takes, with deadlines apart for those on time behind all others and those not."""
    print("one more task behind 1000, ms each: median and longest")
    for slowdowns, hosts in product(_POOLS, (16, 64, 256)):
        plain = [_inserted(_queue(1001, hosts, seed, slowdowns, deadlines=False), clock)[0] for seed in _TIMED]
        due = [_inserted(_queue(1001, hosts, seed, slowdowns, deadlines=True), clock) for seed in _TIMED]
        kinds = {
            "without deadlines": plain,
            "on time at the end": [took for took, behind in due if behind],
            "put ahead of others": [took for took, behind in due if not behind],
        }
        row = [f"{name} {1e3 * np.median(took):5.2f} {1e3 * max(took):5.2f}" for name, took in kinds.items() if took]
        print(f"{hosts:5} hosts {_classes(slowdowns):15}" + "   ".join(row))
    print()


def _inserted(problem: Problem, clock: Callable[[], float]) -> tuple[float, bool]:
    """Return seconds, the least of five runs, and whether the last task is behind all others."""
    known = earliest_deadline_first(problem)
    before, took = Plan(known.order[known.order != 1000], known.counts), []
    for _ in range(5):
        began = clock()
        after = insert(problem, before, 1000, Weights())
        took.append(clock() - began)
    assert after is not None
    return min(took), bool(after.order[-1] == 1000)


def places() -> None:
    """Print what one more task costs above the best of 17 places on all host counts: at the end, and where it is put.

    Queues of 100 to 1,000 tasks on 16 to 256 hosts that become free within 20 s, with tight to loose deadlines, as much
    longer as the hosts are slower; half of the new tasks are urgent. The plans are those of earliest deadline first, of
    two-phase, and of the search.
    """
    print("one more task, objective above the best of 17 places".ljust(60) + "at the end    as it is put")
    for slowdowns, (name, weights) in product(_POOLS, (("weighted", Weights()), ("deadlines first", _FIRST))):
        queues = _queues(slowdowns)
        cases = [_Case.of(problem, plan, weights) for problem in queues for plan in _plans(problem, weights)]
        ends, found = (np.array(costs) for costs in zip(*[(case.end, case.found) for case in cases], strict=True))
        for costs in (ends, found):
            costs -= [case.best for case in cases]
        missed = [np.round(costs / MISSED) for costs in (ends, found)]
        row = [
            f"{float(np.mean(costs - MISSED * late)):14.4f}" for costs, late in zip((ends, found), missed, strict=True)
        ]
        print(f"{name}, {len(cases)} queues {_classes(slowdowns)}".ljust(56) + "".join(row))
        if weights.deadlines_first:
            print("  deadlines missed more than there".ljust(56) + "".join(f"{late.mean():14.4f}" for late in missed))
    print()


@dataclass(frozen=True, slots=True)
class _Case:
    """Objectives of a plan with one more task: at the best of all places, at the end, and where it is put."""

    best: float
    end: float
    found: float

    @classmethod
    def of(cls, problem: Problem, plan: Plan, weights: Weights) -> _Case:
        new, known = len(problem.tasks) - 1, with_encoded_classes(problem, plan)
        every, first = encoded_choices(problem)
        widths = every[first[new] : first[new + 1]].tolist()
        tried = [_put(known, new, new * step // _PLACES, width) for step, width in product(range(_PLACES + 1), widths)]
        put = insert(problem, plan, new, weights)
        assert put is not None
        tried.append(with_encoded_classes(problem, put))
        table = objective_kernel.tabulate(problem, weights, lower_bound(problem))
        orders, rows = np.array([one.order for one in tried]), np.array([one.counts for one in tried])
        costs = objective_kernel.evaluate_population(table, orders, rows)
        return cls(float(costs[:-1].min()), float(costs[-1 - len(widths) : -1].min()), float(costs[-1]))


def _put(plan: Plan, task: int, place: int, width: int) -> Plan:
    widths = plan.counts.copy()
    widths[task] = width
    return Plan(np.insert(plan.order, place, task), widths)


def _queue(
    tasks: int, hosts: int, seed: int, slowdowns: Sequence[float], *, deadlines: bool, stretch: float = 1.0
) -> Problem:
    problem = mixed(tasks, hosts, seed, slowdowns) if len(slowdowns) > 1 else queue(tasks, hosts, seed)
    mean = len(slowdowns) / sum(1 / slowdown for slowdown in slowdowns)
    due = queue(tasks, hosts, seed, deadlines=deadlines, stretch=stretch * mean).deadline
    return replace(problem, deadline=due)


def _classes(slowdowns: Sequence[float]) -> str:
    return f"in {len(slowdowns)} classes" if len(slowdowns) > 1 else ""


def _queues(slowdowns: Sequence[float]) -> Iterator[Problem]:
    seeds = _JUDGED if len(slowdowns) == 1 else _JUDGED[:1]  # of several classes there are more ways to be tried
    for tasks, hosts, stretch, seed in product((100, 300, 1000), (16, 64, 256), (0.5, 1.0, 2.0), seeds):
        draw = np.random.default_rng(seed)
        problem = _queue(tasks + 1, hosts, seed, slowdowns, deadlines=True, stretch=stretch)
        problem = replace(problem, free=draw.uniform(0, 20, hosts))
        deadline = problem.deadline.copy()
        deadline[-1] = problem.seconds[0, -1].min() * draw.uniform(1.1, 4) + draw.uniform(0, 20)
        yield from (problem, replace(problem, deadline=deadline))


def _plans(problem: Problem, weights: Weights) -> list[Plan]:
    """Return plans of all tasks but the last."""
    known = replace(
        problem,
        tasks=problem.tasks[:-1],
        seconds=problem.seconds[:, :-1],
        release=problem.release[:-1],
        deadline=problem.deadline[:-1],
    )
    search = GeneticSearch(known, weights)
    search.step(_GENERATIONS if len(known.tasks) <= 300 else _GENERATIONS // 10)
    plans = [earliest_deadline_first(known), two_phase(known), search.best]
    return [
        Plan(plan.order, np.append(plan.counts, 1), None if plan.classes is None else np.append(plan.classes, -1))
        for plan in plans
    ]
