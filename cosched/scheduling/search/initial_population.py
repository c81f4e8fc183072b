"""The genetic search starts from the heuristics' plans, here built in machine code.

Tasks with dependencies or release dates get their plans from `heuristics` itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.heuristics import batch_queue, moldable_tasks
from cosched.scheduling.heuristics.batch_queue import calculated_counts
from cosched.scheduling.heuristics.list_scheduling import list_order
from cosched.scheduling.heuristics.short_waits import short_wait_plans
from cosched.scheduling.host_counts import best_seconds, narrowed, single_class, useful_count_seconds
from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.kernels.search.backfill_kernel import easy_order
from cosched.scheduling.kernels.search.load_balancing import balanced_load
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["Population", "compiled_list_order", "initial_plans"]


@dataclass
class Population:
    """P plans with orders (P, m), encoded counts (P, m) and costs (P,).

    The counts are choices, see `encoded_choices`.
    """

    orders: NDArray[np.int64]
    counts: NDArray[np.int64]
    costs: NDArray[np.float64]

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> Population:
        """Return the plans in this order, not judged yet."""
        orders, counts = np.array([plan.order for plan in plans]), np.array([plan.counts for plan in plans])
        return cls(orders, counts, np.full(len(plans), np.inf))

    def plan(self, index: int) -> Plan:
        """Return one of the plans."""
        return Plan(self.orders[index].copy(), self.counts[index].copy())

    def copy(self) -> Population:
        """Return a population that shares nothing with this one."""
        return Population(self.orders.copy(), self.counts.copy(), self.costs.copy())


# These plans equal those of `heuristics`, much sooner.


_LEVELLED = 3  # of the likeliest two-phase plans: those of one threshold


def initial_plans(problem: Problem, thresholds: int) -> list[Plan]:
    """Return the plans of every heuristic, those of the two-phase method first.

    Args:
        problem: the problem to schedule.
        thresholds: how many of the two-phase method; the plans of the likeliest are there also with their ends level,
            where hosts are identical and no task has a release or predecessors.
    """
    plans = list(moldable_tasks.threshold_plans(problem, thresholds, compiled_list_order))
    if problem.waited is not None:
        plans += short_wait_plans(problem, compiled_list_order)
    with_deadlines = bool(np.isfinite(problem.deadline).any())
    if _constrained(problem):
        plans += [
            moldable_tasks.earliest_deadline_first(problem),
            moldable_tasks.longest_first(problem),
            moldable_tasks.earliest_finish(problem),
            batch_queue.easy(problem, calculated_counts(best_seconds(problem))),
        ]
        return [*plans, moldable_tasks.late_last(problem)] if with_deadlines else plans
    seconds = useful_count_seconds(problem)
    shortest = seconds.min(axis=1)
    by_deadline = np.lexsort((-shortest, problem.release, problem.deadline))
    plans += [
        _greedy_plan(problem, seconds, by_deadline, cheap=True)[0],
        _greedy_plan(problem, seconds, np.argsort(-shortest, kind="stable"), cheap=False)[0],
        _greedy_plan(problem, seconds, np.arange(len(shortest)), cheap=False)[0],
        _easy(problem),
    ]
    if with_deadlines:
        late = _greedy_plan(problem, seconds, by_deadline, cheap=True, postpone=True)[1]
        order = by_deadline[np.argsort(late[by_deadline], kind="stable")]
        plans.append(_greedy_plan(problem, seconds, order, cheap=True)[0])
    if single_class(problem) is not None:
        plans += [balanced_load(problem, plan, seconds) for plan in plans[:_LEVELLED]]
    return plans


def compiled_list_order(
    problem: Problem, priority: Sequence[int], counts: Sequence[int], seconds: Sequence[float]
) -> list[int]:
    """Return what `list_scheduling.list_order` returns."""
    if _constrained(problem):
        return list_order(problem, priority, counts, seconds)
    free = np.ascontiguousarray(problem.free, dtype=np.float64)
    order: list[int] = _list_kernel(
        free,
        np.array(priority, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array(seconds, dtype=np.float64),
    ).tolist()
    return order


def _constrained(problem: Problem) -> bool:
    return any(problem.depends_on) or bool(problem.release.any())


def _greedy_plan(
    problem: Problem, seconds: NDArray[np.float64], order: NDArray[np.int64], *, cheap: bool, postpone: bool = False
) -> tuple[Plan, NDArray[np.bool_]]:
    late = np.zeros(len(order), dtype=np.bool_)
    deadline = np.ascontiguousarray(problem.deadline, dtype=np.float64)
    counts = _greedy_kernel(np.sort(problem.free), seconds, deadline, order, late, cheap, postpone)
    return Plan(order.astype(np.int64), counts), late


def _easy(problem: Problem) -> Plan:
    seconds = best_seconds(narrowed(problem))
    counts = calculated_counts(seconds)
    taken = seconds[np.arange(len(counts)), counts - 1]
    return Plan(easy_order(np.sort(problem.free), counts, taken), counts)


@compiled
def _list_kernel(
    free: NDArray[np.float64], priority: NDArray[np.int64], counts: NDArray[np.int64], seconds: NDArray[np.float64]
) -> NDArray[np.int64]:
    """List scheduling of a permutation of tasks, on their counts of hosts for their seconds."""
    tasks, hosts = priority.shape[0], free.shape[0]
    begins, kinds, waiting, rank = _by_count(priority, counts, hosts)
    heads = begins.copy()
    when, freed = free.copy(), np.ones(hosts, dtype=np.int64)  # when how many hosts come back
    running, idle, done = hosts, 0, 0
    order = np.empty(tasks, dtype=np.int64)
    while done < tasks:
        now = when[:running].min()
        index = 0
        while index < running:
            if when[index] > now:
                index += 1
                continue
            idle += freed[index]
            running -= 1
            when[index], freed[index] = when[running], freed[running]
        while True:
            chosen = 0
            for count in kinds:
                if count > idle:
                    break
                if heads[count] == begins[count + 1]:
                    continue
                if chosen == 0 or rank[waiting[heads[count]]] < rank[waiting[heads[chosen]]]:
                    chosen = count
            if chosen == 0:
                break
            task = waiting[heads[chosen]]
            heads[chosen] += 1
            idle -= chosen
            when[running], freed[running] = now + seconds[task], chosen
            running += 1
            order[done] = task
            done += 1
    return order


@compiled
def _by_count(
    priority: NDArray[np.int64], counts: NDArray[np.int64], hosts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort tasks by their counts.

    Returns:
        (N+2,) begins, the counts that there are, (m,) tasks, those of a count in
        waiting[begins[count]:begins[count+1]], by their places in the list; and (m,) the place of each.
    """
    begins, kinds, found = np.zeros(hosts + 2, dtype=np.int64), np.empty(hosts, dtype=np.int64), 0
    for task in priority:
        begins[counts[task] + 1] += 1
    for count in range(1, hosts + 1):
        if begins[count + 1] > 0:
            kinds[found] = count
            found += 1
        begins[count + 1] += begins[count]
    heads, waiting, rank = begins.copy(), np.empty_like(priority), np.empty_like(priority)
    for place in range(priority.shape[0]):
        task = priority[place]
        rank[task] = place
        waiting[heads[counts[task]]] = task
        heads[counts[task]] += 1
    return begins, kinds[:found], waiting, rank


@compiled
def _greedy_kernel(
    free: NDArray[np.float64],
    seconds: NDArray[np.float64],
    deadline: NDArray[np.float64],
    order: NDArray[np.int64],
    late: NDArray[np.bool_],
    cheap: bool,
    postpone: bool,
) -> NDArray[np.int64]:
    """Place tasks in order and return their counts.

    Each takes the count on which it ends first, or if `cheap` the one with the least area that ends in time (else of
    all). With `postpone` a task that cannot be in time is left out. `free` is ascending and changed, `late` is filled
    in.
    """
    counts = np.ones(order.shape[0], dtype=np.int64)
    for task in order:
        best, best_end, best_area, in_time = 0, np.inf, np.inf, False
        for column in range(seconds.shape[1]):
            if seconds[task, column] == np.inf:
                continue
            end = free[column] + seconds[task, column]
            area = (column + 1) * seconds[task, column]
            if cheap:
                meets = end <= deadline[task]
                better = area < best_area or (area == best_area and end < best_end)
                better = (meets and not in_time) or (meets == in_time and better)
                in_time = in_time or meets
            else:
                better = end < best_end
            if better:
                best, best_end, best_area = column + 1, end, area
        counts[task] = best
        late[task] = best_end > deadline[task]
        if not (postpone and late[task]):
            _take(free, best, best_end)
    return counts


@compiled
def _take(free: NDArray[np.float64], count: int, end: float) -> None:
    """Move the first `count` free times to `end`, keeping them all ascending."""
    place = count
    while place < free.shape[0] and free[place] <= end:
        free[place - count] = free[place]
        place += 1
    free[place - count : place] = end
