"""Local search for fewer and less late tasks on identical hosts, in machine code.

A plan is read task by task: one that can end in time takes the cheapest hosts for that, one that is later than is
tolerated goes to the end. What that costs is said by `LatenessCosts`: of a search for fewer late tasks lateness below
the tolerance costs a part of a missed deadline, so that the annealing sees how near a plan is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.host_counts import encoded_choices
from cosched.scheduling.kernels.decoding.decode_kernel import free_rows, occupy_first
from cosched.scheduling.kernels.jit import borrowing, compiled
from cosched.scheduling.kernels.search.genetic_operators import random_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables
    from cosched.scheduling.problem import Problem

__all__ = [
    "AnnealedPlan",
    "LateJobTables",
    "LatenessCosts",
    "anneal",
    "evaluate_from",
    "move_hopeless_last",
    "new_annealed_plan",
    "tabulate_late_jobs",
]

# In its order each task takes the hosts that the plan gives it if it ends in time with them, else the cheapest useful
# count that does; a task that cannot end in time goes behind all others. How many tasks are late says little about how
# near a plan is to one fewer, so a lateness of less than `tolerance` seconds is forgiven in part: such a task stays in
# place, on the hosts with which it ends first, and costs a part of a missed deadline. Where any lateness is tolerated a
# late task keeps the count that it asks for: the others may need the hosts. Where the makespan counts, a late task at
# the end of the plan may make it longer than one on few hosts among the others; so some stay in place, however late.


class LatenessCosts(NamedTuple):
    """What a plan is judged by.

    Attributes:
        tolerance: seconds of lateness from which on a task is given up; 0 for any, infinite for none.
        missed: cost of a task that is given up or late in its place for good; like the next times its weight.
        late: cost of a second of lateness; of those given up it counts where the makespan does.
        makespan: cost of a second of the makespan; 0 where what becomes of those given up is of no interest.
    """

    tolerance: float
    missed: float
    late: float
    makespan: float


class LateJobTables(NamedTuple):
    """A problem of identical hosts without dependencies, for the search for fewer late jobs.

    Attributes:
        seconds: (m, W) run times on 1 … W hosts.
        free: (N,) when each host becomes free, ascending.
        release: (m,) earliest starts.
        deadline: (m,) deadlines.
        weight: (m,) how much the lateness of each counts.
        counts: useful host counts of all tasks, those of j in counts[first[j]:first[j+1]], fewest host-seconds first.
        first: (m+1,) see `counts`.
        shortest: (m,) each task's shortest run time.
    """

    seconds: NDArray[np.float64]
    free: NDArray[np.float64]
    release: NDArray[np.float64]
    deadline: NDArray[np.float64]
    weight: NDArray[np.float64]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    shortest: NDArray[np.float64]


class AnnealedPlan(NamedTuple):
    """A plan as evaluated, and the state to read on from any place.

    Attributes:
        order: (m,) the tasks that are kept, behind them those given up.
        asked: (m,) by task, the host count to try first; 0 for the cheapest that is in time; below 0 it takes so many
            and stays in place, though it is late.
        counts: (m,) by task, the host count that it takes; those given up keep that of an earlier reading, or where the
            makespan counts take the one that they ask for, or the cheapest.
        ends: (m,) by task, when those that are kept end.
        free: (m+1, 2 N) when hosts become free, ascending, ahead of each place (see `free_rows`).
        costs: (m+1,) what the lateness ahead of each place costs.
        last: (m+1,) when the last of the tasks ahead of each place ends.
        given_up: (m,) room for those given up.
    """

    order: NDArray[np.int64]
    asked: NDArray[np.int64]
    counts: NDArray[np.int64]
    ends: NDArray[np.float64]
    free: NDArray[np.float64]
    costs: NDArray[np.float64]
    last: NDArray[np.float64]
    given_up: NDArray[np.int64]


def tabulate_late_jobs(problem: Problem, tables: ProblemTables) -> LateJobTables:
    """Lay out a problem of identical hosts, which has these tables."""
    seconds = tables.seconds[0]
    counts, first = encoded_choices(problem)
    tasks = np.repeat(np.arange(len(first) - 1), np.diff(first))
    took = seconds[tasks, counts - 1]
    cheapest_first = np.lexsort((counts * took, tasks))
    return LateJobTables(
        np.ascontiguousarray(seconds),
        tables.free,
        tables.release,
        tables.deadline,
        tables.weight,
        counts[cheapest_first],
        first,
        np.minimum.reduceat(took, first[:-1]),
    )


def new_annealed_plan(problem: LateJobTables, order: NDArray[np.int64]) -> AnnealedPlan:
    """Return a plan in this order, each task on its cheapest count in time."""
    tasks, hosts = len(order), len(problem.free)
    free = free_rows(tasks + 1, hosts)
    free[0, :hosts] = problem.free
    asked = np.zeros(tasks, dtype=np.int64)
    cheapest = problem.counts[problem.first[:-1]]
    costs, last = np.zeros(tasks + 1), np.zeros(tasks + 1)
    return AnnealedPlan(order.copy(), asked, cheapest, np.zeros(tasks), free, costs, last, order.copy())


@borrowing
def _cheapest(
    seconds: NDArray[np.float64], useful: NDArray[np.int64], free: NDArray[np.float64], ready: float, due: float
) -> tuple[int, float]:
    """Return the first useful host count that is in time, else that on which the task ends first, and its end."""
    count, end = useful[0], np.inf
    for index in range(useful.shape[0]):
        other = useful[index]
        others_end = max(free[other - 1], ready) + seconds[other - 1]
        if others_end < end:
            count, end = other, others_end
        if end <= due:
            break
    return count, end


@compiled
def evaluate_from(
    problem: LateJobTables, terms: LatenessCosts, limit: float, begin: int, plan: AnnealedPlan
) -> tuple[int, float]:
    """Evaluate a plan from one place on, and leave it in the order evaluated.

    Args:
        problem: see `tabulate_late_jobs`.
        terms: what it costs.
        limit: a cost above which the plan is of no interest.
        begin: the place; what the reading holds of the places ahead of it is right.
        plan: from `begin` on only its order and what the tasks ask for are looked at.

    Returns:
        How many tasks are kept, and the cost; (-1, a part of the cost) as soon as that is above the limit.
    """
    tolerance, missed, a_second, makespan = terms
    seconds, _, release, deadline, weight, useful, first, shortest = problem  # once: a look into a tuple takes its time
    order, asked, counts, ends, free, costs, lasts, given_up = plan
    cost, last, kept, lost, hosts = costs[begin], lasts[begin], begin, 0, problem.free.shape[0]
    forgiving, given = tolerance == np.inf, 0.0
    for place in range(begin, order.shape[0]):
        task = order[place]
        due, ready, wish, end = deadline[task], release[task], asked[task], np.inf
        count = wish
        earliest = max(free[kept, 0], ready) + shortest[task]
        if wish < 0:
            count = -wish
            end = max(free[kept, count - 1], ready) + seconds[task, count - 1]
            if end > due:
                cost += missed * weight[task]
            else:
                wish = count
        elif earliest <= due or earliest - due < tolerance:
            if count > 0:
                end = max(free[kept, count - 1], ready) + seconds[task, count - 1]
            if wish == 0 or (end > due and not forgiving):
                wish = 0
                count, end = _cheapest(seconds[task], useful[first[task] : first[task + 1]], free[kept], ready, due)
        if end > due and end - due >= tolerance and wish >= 0:
            given_up[lost] = task
            lost += 1
            given += missed * weight[task]
        else:
            cost += max(0.0, end - due) * a_second * weight[task]
            last = max(last, end)
            order[kept], asked[task], counts[task], ends[task] = task, wish, count, end
            occupy_first(free[kept], hosts, count, end, free[kept + 1])
            kept += 1
            costs[kept], lasts[kept] = cost, last
        if cost + given + makespan * last > limit:
            return -1, cost + given + makespan * last
    order[kept:] = given_up[:lost]
    cost += given
    return _with_given_up(problem, terms, limit, plan, kept, cost) if makespan > 0.0 else (kept, cost)


@compiled
def _with_given_up(
    problem: LateJobTables, terms: LatenessCosts, limit: float, plan: AnnealedPlan, kept: int, cost: float
) -> tuple[int, float]:
    """Place those given up behind the others; return what `evaluate_from` does."""
    free, last = plan.free, plan.last[kept]
    for place in range(kept, plan.order.shape[0]):
        task = plan.order[place]
        count = plan.asked[task] if plan.asked[task] > 0 else problem.counts[problem.first[task]]
        end = max(free[place, count - 1], problem.release[task]) + problem.seconds[task, count - 1]
        cost += max(0.0, end - problem.deadline[task]) * terms.late * problem.weight[task]
        last = max(last, end)
        plan.counts[task] = count
        if cost + terms.makespan * last > limit:
            return -1, cost + terms.makespan * last
        occupy_first(free[place], problem.free.shape[0], count, end, free[place + 1])
    return kept, cost + terms.makespan * last


_MISSED_ALONE = LatenessCosts(0.0, 1.0, 0.0, 0.0)


@compiled
def move_hopeless_last(
    problem: LateJobTables, room: AnnealedPlan, orders: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    """Put the late tasks of each plan behind the others.

    Orders and counts are (P, m) and changed; `room` is any plan of this problem, of no use afterwards.
    """
    for plan in range(orders.shape[0]):
        room.order[:] = orders[plan]
        room.asked[:] = counts[plan]
        room.counts[:] = counts[plan]
        evaluate_from(problem, _MISSED_ALONE, np.inf, 0, room)
        orders[plan, :] = room.order
        counts[plan, :] = room.counts


_RECALLED = 0.25  # share of the steps that draw one who was given up ahead, if there is any
_MOVED, _SWAPPED = 0.5, 0.7  # of the others, shares (the latter with the former) of two kinds; the rest ask anew
_NEAR = 4  # places that half of the moves do not go beyond
_STAYING = 0.5  # share of those drawn ahead that stay where they come, late or not, where the makespan counts
_YIELDING = 0.25  # of the counts of such tasks, the share that turns to one that is in time, if there is any
_CHEAPEST = 0.5  # of those who ask for some host count, the share that turns to the cheapest in time
_ANY = 0.3  # of the others, the share that takes any useful count, not the next smaller or larger


@compiled
def anneal(
    state: NDArray[np.uint64],
    problem: LateJobTables,
    terms: LatenessCosts,
    temperature: float,
    steps: int,
    plan: AnnealedPlan,
    trial: AnnealedPlan,
    best: AnnealedPlan,
) -> float:
    """Change a plan in random steps by simulated annealing.

    A step for the worse is kept with probability exp(-difference / temperature).

    Args:
        state: state of the random numbers.
        problem: see `tabulate_late_jobs`.
        terms: what plans cost.
        temperature: temperature in the unit of the cost.
        steps: how many.
        plan: changed.
        trial: any reading of this problem; of no use afterwards.
        best: its order and counts become those of the best plan on the way: where the makespan counts the cheapest,
            else the one that misses the fewest deadlines.

    Returns:
        What that one costs, or how many it misses.
    """
    kept, cost = evaluate_from(problem, terms, np.inf, 0, plan)
    missed, window = _missed_and_window(problem, terms, plan, kept)
    least = cost if terms.makespan > 0.0 else float(missed)
    _record_best(plan, best)
    for _ in range(steps):
        if least == 0.0:
            break
        _copy(plan, trial)
        begin = min(_change(state, problem, kept, window, terms.makespan > 0.0, trial), kept)
        trial.free[begin] = plan.free[begin]
        trial.costs[begin], trial.last[begin] = plan.costs[begin], plan.last[begin]
        limit = cost - temperature * math.log(1.0 - random_unit(state))
        tried, tried_cost = evaluate_from(problem, terms, limit, begin, trial)
        if tried < 0:
            continue
        _adopt(trial, begin, tried, plan)
        kept, cost = tried, tried_cost
        missed, window = _missed_and_window(problem, terms, plan, kept)
        value = cost if terms.makespan > 0.0 else float(missed)
        if value < least:
            least = value
            _record_best(plan, best)
    return least


@compiled
def _missed_and_window(problem: LateJobTables, terms: LatenessCosts, plan: AnnealedPlan, kept: int) -> tuple[int, int]:
    """Return how many deadlines a plan misses, and below which place a change can make the plan better.

    Where the makespan costs more than lateness that is anywhere. Else only a change ahead of the last miss can help.
    """
    missed, last, behind, tasks = plan.order.shape[0] - kept, 0.0, 0, plan.order.shape[0]
    for place in range(tasks):
        task = plan.order[place]
        due = problem.deadline[task]
        if place >= kept:
            last = max(last, due)
        elif plan.ends[task] > due:
            missed += 1
            last = max(last, due)
            behind = place + 1
    if terms.makespan > terms.late or missed == 0:
        return missed, tasks
    if terms.tolerance == np.inf:
        return missed, behind
    window = kept
    while window > 1 and plan.free[window - 1, 0] >= last:
        window -= 1
    return missed, window


@compiled
def _record_best(plan: AnnealedPlan, best: AnnealedPlan) -> None:
    best.order[:] = plan.order
    best.counts[:] = plan.counts


@compiled
def _copy(plan: AnnealedPlan, trial: AnnealedPlan) -> None:
    """Copy the order and the requested counts of a plan.

    It is done element by element, which the compiler makes quicker than slices.
    """
    order, asked, trial_order, trial_asked = plan.order, plan.asked, trial.order, trial.asked
    for index in range(order.shape[0]):
        trial_order[index] = order[index]
        trial_asked[index] = asked[index]


@compiled
def _adopt(trial: AnnealedPlan, begin: int, kept: int, plan: AnnealedPlan) -> None:
    """Make the plan the same as the trial, which differs from some place on."""
    order, asked, counts, ends, free, costs, last, _ = plan
    trial_order, trial_asked, trial_counts, trial_ends, trial_free, trial_costs, trial_last, _ = trial
    for place in range(begin, order.shape[0]):
        task = trial_order[place]
        order[place], asked[task] = task, trial_asked[task]
        counts[task], ends[task] = trial_counts[task], trial_ends[task]
    for place in range(begin + 1, kept + 1):
        costs[place], last[place] = trial_costs[place], trial_last[place]
        for host in range(free.shape[1] // 2):
            free[place, host] = trial_free[place, host]


@compiled
def _change(
    state: NDArray[np.uint64], problem: LateJobTables, kept: int, window: int, staying: bool, plan: AnnealedPlan
) -> int:
    """Change the order or a requested count at random; return the first changed place.

    `staying`: tasks may stay in place though they are late.
    """
    tasks = plan.order.shape[0]
    if kept < tasks and (kept == 0 or random_unit(state) < _RECALLED):
        origin = kept + int(random_unit(state) * (tasks - kept))
        if staying and random_unit(state) < _STAYING:
            _stay(state, problem, plan.asked, plan.order[origin])
        return _move(plan.order, origin, min(int(random_unit(state) * (window + 1)), tasks - 1))
    kind, place = random_unit(state), int(random_unit(state) * window)
    if kind < _MOVED:
        other = int(random_unit(state) * kept)
        if random_unit(state) < 0.5:
            other = min(max(place - _NEAR + int(random_unit(state) * (2 * _NEAR + 1)), 0), kept - 1)
        return _move(plan.order, place, other) if random_unit(state) < 0.5 else _move(plan.order, other, place)
    if kind < _SWAPPED:
        other = int(random_unit(state) * tasks)
        plan.order[place], plan.order[other] = plan.order[other], plan.order[place]
        return min(place, other)
    _change_count(state, problem, plan.asked, plan.order[place])
    return place


@compiled
def _move(order: NDArray[np.int64], origin: int, target: int) -> int:
    task = order[origin]
    step = 1 if target > origin else -1
    for place in range(origin, target, step):
        order[place] = order[place + step]
    order[target] = task
    return min(origin, target)


@compiled
def _stay(state: NDArray[np.uint64], problem: LateJobTables, asked: NDArray[np.int64], task: int) -> None:
    """Let a task stay in place though it is late, on the count that it asks for or on any."""
    wish, least, above = asked[task], problem.first[task], problem.first[task + 1]
    if wish == 0 or random_unit(state) < 0.5:
        wish = problem.counts[least + int(random_unit(state) * (above - least))]
    asked[task] = -wish


@compiled
def _change_count(state: NDArray[np.uint64], problem: LateJobTables, asked: NDArray[np.int64], task: int) -> None:
    """Change a task's count: the cheapest in time, the next cheaper or dearer, or any; one that stays may yield."""
    counts, least, above = problem.counts, problem.first[task], problem.first[task + 1]
    wish, stays = abs(asked[task]), asked[task] < 0
    if wish > 0 and random_unit(state) < (_YIELDING if stays else _CHEAPEST):
        asked[task] = wish if stays else 0
        return
    index = least + int(random_unit(state) * (above - least))
    if wish > 0 and random_unit(state) >= _ANY:
        index = least
        while index + 1 < above and counts[index] != wish:  # one from elsewhere may be none of the useful ones
            index += 1
        index += 1 if random_unit(state) < 0.5 else -1
    count = counts[min(max(index, least), above - 1)]
    asked[task] = -count if stays else count
