"""Expect what becomes of plans with elastic tasks, in machine code: the times of `elastic.expected`.

A plan's promise is given. First hosts go to whoever is next as soon as there are enough; where that ends a task later
than promised, hosts are lent from the gaps of the promised schedule only; where that does, too, none are lent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.scheduling.kernels.elastic.job_kernel import (
    RELATIVE,
    begin_elastic,
    deliver,
    end_elastic,
    end_rigid,
    insert,
    left_of_rigid,
    take_away,
    too_late,
)
from cosched.scheduling.kernels.elastic.lending_kernel import JOB, POOL, lend_hosts, look, take_back
from cosched.scheduling.kernels.jit import borrowing, compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.elastic.lending_kernel import ElasticTables

__all__ = ["expected_spans"]


@compiled
def expected_spans(
    problem: ElasticTables,
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    wanted: NDArray[np.bool_],
    begun: NDArray[np.float64],
    ended: NDArray[np.float64],
    used: NDArray[np.float64],
) -> None:
    """Fill in when each task is expected to start and end under each plan of a population.

    Args:
        problem: the problem to schedule.
        orders: (P, m) orders that the promise was decoded from.
        counts: (P, m) promised hosts by task.
        starts: (P, m) promised starts by task.
        ends: (P, m) promised ends by task.
        wanted: (P,) plans that are looked at; nothing is filled in for the others.
        begun: (P, m) by task, filled in.
        ended: (P, m) by task, filled in.
        used: (P, 3) filled in: the sums of hosts × (end − begin) and of hosts × (end² − begin²) over all pieces, and 0
            where hosts go to whoever is next, 1 where they are lent from the gaps, 2 where they are not.
    """
    tasks, hosts = orders.shape[1], problem.plain.free.shape[0]
    pools, jobs = np.zeros(1, dtype=POOL), np.zeros(tasks, dtype=JOB)  # a record does not keep its array alive
    places, times = np.zeros((4, tasks), dtype=np.int64), np.zeros(tasks)
    draining, gaps = np.zeros((2, hosts + 1)), np.zeros(2 * tasks)
    for plan in np.flatnonzero(wanted):
        due, begins, finishes = ends[plan], begun[plan], ended[plan]
        _sort_places(problem, orders[plan], counts[plan], starts[plan], due, jobs)
        way = 0
        if not _run(problem, pools[0], jobs, places, times, draining, problem.moments, False, begins, finishes):
            way = 1
            moments = _find_gaps(problem.drain, jobs, starts[plan], due, places[0], times, gaps)
            if not _run(problem, pools[0], jobs, places, times, draining, gaps[:moments], True, begins, finishes):
                way = 2
                _as_promised(pools[0], counts[plan], starts[plan], due, begins, finishes)
        used[plan, 0], used[plan, 1], used[plan, 2] = pools[0].area, pools[0].moment, way


@borrowing
def _sort_places(
    problem: ElasticTables,
    order: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.float64],
    due: NDArray[np.float64],
    jobs: NDArray[Any],
) -> None:
    """Lay out the jobs by their promised starts; equals stay in the plan's order, which is mostly sorted already."""
    seconds, release = problem.plain.seconds[0], problem.plain.release
    for position in range(order.shape[0]):
        task = order[position]
        place = position
        while place > 0 and starts[jobs[place - 1].task] > starts[task]:
            jobs[place].task = jobs[place - 1].task
            place -= 1
        jobs[place].task = task
    for job in jobs:
        task = job.task
        job.elastic, job.kept, job.ready = problem.elastic[task], counts[task], release[task]
        job.held, job.limit = 0, due[task] * (1 + RELATIVE)
        job.seconds = seconds[task, job.kept - 1]


@borrowing
def _find_gaps(
    drain: float,
    jobs: NDArray[Any],
    starts: NDArray[np.float64],
    due: NDArray[np.float64],
    places: NDArray[np.int64],
    ends: NDArray[np.float64],
    moments: NDArray[np.float64],
) -> int:
    """Have jobs come at their promised starts, and note how many hosts the promised schedule then has in use.

    Returns:
        How many `moments` there are now: the promised starts and, where hosts drain, the times at which they must begin
        to, ascending.
    """
    tasks = jobs.shape[0]
    number, used, group = 0, 0, 0
    for place in range(tasks):
        job = jobs[place]
        job.held, job.ready = 0, starts[job.task]
        while number > 0 and ends[number - 1] <= job.ready:
            number -= 1
            used -= jobs[places[number]].kept
        number = insert(places, ends, number, place, due[job.task])
        used += job.kept
        group = group if jobs[group].ready == job.ready else place
        for other in range(group, place + 1):  # those that start together
            jobs[other].reserved = used
    if drain == 0.0:
        for place in range(tasks):
            moments[place] = jobs[place].ready
        return int(tasks)
    late, soon = 0, 0
    for index in range(2 * tasks):
        if soon < tasks and max(jobs[soon].ready - drain, 0.0) <= jobs[late].ready:
            moments[index] = max(jobs[soon].ready - drain, 0.0)
            soon += 1
        else:
            moments[index] = jobs[late].ready
            late += 1
    return 2 * int(tasks)


@borrowing
def _as_promised(
    pool: Any,
    counts: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    begun: NDArray[np.float64],
    ended: NDArray[np.float64],
) -> None:
    """Lend nothing."""
    pool.area, pool.moment = 0.0, 0.0
    for task in range(starts.shape[0]):
        begun[task], ended[task] = starts[task], ends[task]
        pool.area += counts[task] * (ends[task] - starts[task])
        pool.moment += counts[task] * (ends[task] ** 2 - starts[task] ** 2)


@borrowing
def _run(
    problem: ElasticTables,
    pool: Any,
    jobs: NDArray[Any],
    places: NDArray[np.int64],
    ends: NDArray[np.float64],
    draining: NDArray[np.float64],
    moments: NDArray[np.float64],
    reserved: bool,
    begun: NDArray[np.float64],
    ended: NDArray[np.float64],
) -> bool:
    """Run all jobs from event to event; return False as soon as one ends later than promised.

    The events are `moments`, ends, and times at which hosts have drained. `places` is room for jobs: elastic ones in
    the order of their starts, others at work by their `ends`, descending, others that are not at work yet in the order
    of their starts, and lenders.
    """
    steps, elastic, rigid, unserved = problem.steps, places[0], places[1], places[2]
    waits = problem.before.shape[0] > 0 and not reserved
    costly, reach = problem.costly, problem.drain * (1 + RELATIVE) if reserved else 0.0
    hosts, left = problem.plain.free.shape[0], jobs.shape[0]
    _empty(pool, hosts, problem.payback)
    if waits:
        ended[:] = np.inf
    while left > 0:
        pool.seen = 0
        pool.time = _next_time(pool, ends, draining, moments)
        if pool.time == np.inf:
            return False
        if pool.groups > 0:
            _drain(pool, draining)
        left -= end_rigid(pool, jobs, rigid, ends, begun, ended) + end_elastic(pool, jobs, elastic, begun, ended)
        if pool.late:
            return False
        if pool.owed:
            look(pool, jobs, elastic)
            deliver(steps, pool, jobs, places, ends)
        waiting = _start_jobs(problem, pool, jobs, elastic, unserved, ended, waits)
        if pool.late:
            return False
        if pool.elastic > 0:
            aside = _set_aside(pool, jobs, hosts, reach) if reach > 0.0 else 0
            _lend(steps, pool, jobs, places, ends, aside, waiting and costly)
        if pool.changed:
            take_away(steps, pool, jobs, elastic, draining)
            deliver(steps, pool, jobs, places, ends)
    return True


@borrowing
def _empty(pool: Any, hosts: int, payback: float) -> None:
    """Make all hosts of the pool idle."""
    pool.payback, pool.horizon = payback, np.inf
    pool.idle, pool.spare, pool.free = hosts, 0, hosts
    pool.rigid, pool.elastic, pool.unserved, pool.turn = 0, 0, 0, 0
    pool.moments, pool.unstarted, pool.groups, pool.draining = 0, 0, 0, 0
    pool.changed, pool.owed, pool.late, pool.soonest = 0, 0, 0, np.inf
    pool.area, pool.moment = 0.0, 0.0


@borrowing
def _next_time(
    pool: Any, ends: NDArray[np.float64], draining: NDArray[np.float64], moments: NDArray[np.float64]
) -> float:
    """Return the time of the next event, and go past the moments that it is."""
    number = moments.shape[0]
    time = moments[pool.moments] if pool.moments < number else np.inf
    if pool.rigid > 0:
        time = min(time, ends[pool.rigid - 1])
    time = min(time, pool.soonest)
    for index in range(pool.groups):
        time = min(time, draining[0, index])
    while pool.moments < number and moments[pool.moments] <= time:
        pool.moments += 1
    return float(time)


@borrowing
def _drain(pool: Any, draining: NDArray[np.float64]) -> None:
    """Free the hosts that have drained."""
    index = 0
    while index < pool.groups:
        if draining[0, index] > pool.time:
            index += 1
            continue
        pool.free += int(draining[1, index])
        pool.draining -= int(draining[1, index])
        pool.groups -= 1
        draining[0, index], draining[1, index] = draining[0, pool.groups], draining[1, pool.groups]


@borrowing
def _start_jobs(
    problem: ElasticTables,
    pool: Any,
    jobs: NDArray[Any],
    elastic: NDArray[np.int64],
    unserved: NDArray[np.int64],
    ended: NDArray[np.float64],
    waits: bool,
) -> bool:
    """Start jobs in order until the first that has too few hosts, taking loans back; return whether one waits."""
    tasks = jobs.shape[0]
    while pool.unstarted < tasks and jobs[pool.unstarted].held > 0:
        pool.unstarted += 1
    for place in range(pool.unstarted, tasks):
        job = jobs[place]
        if job.held > 0 or job.ready > pool.time:
            continue
        if waits and not _may_start(problem.before, problem.first, job.task, ended):
            continue
        if job.kept > pool.idle + pool.spare:
            pool.late |= job.elastic < 0 and too_late(pool.time + job.seconds, job)
            return True
        if job.kept > pool.idle:
            take_back(problem.steps, pool, jobs, elastic, job.kept)
        job.held, job.turn, job.working, job.collected, pool.changed = job.kept, pool.turn, 0, 0, 1
        pool.idle -= job.kept
        pool.turn += 1
        if job.elastic < 0:
            unserved[pool.unserved] = place
            pool.unserved += 1
        else:
            begin_elastic(problem, job)
            elastic[pool.elastic] = place
            pool.elastic += 1
    return False


@borrowing
def _may_start(before: NDArray[np.int64], first: NDArray[np.int64], task: int, ended: NDArray[np.float64]) -> bool:
    """Return whether all predecessors have ended."""
    last = 0.0
    for index in range(first[task], first[task + 1]):
        last = max(last, float(ended[before[index]]))
    return last < np.inf


@borrowing
def _lend(
    steps: NDArray[Any],
    pool: Any,
    jobs: NDArray[Any],
    places: NDArray[np.int64],
    ends: NDArray[np.float64],
    aside: int,
    briefly: bool,
) -> None:
    """Set hosts aside and lend what else is idle; `briefly` until the next job ends."""
    if aside > 0:
        take_back(steps, pool, jobs, places[0], aside)
    pool.idle -= aside
    if pool.idle > 0 or (pool.spare > 0 and pool.elastic > 1):  # else nobody could give any
        elastic, rigid, unserved, lenders = places[0], places[1], places[2], places[3]
        look(pool, jobs, elastic)
        pool.horizon = _horizon(steps, pool, jobs, elastic, rigid, unserved, ends) if briefly else np.inf
        lend_hosts(steps, pool, jobs, elastic, lenders)
    pool.idle += aside


@borrowing
def _horizon(
    steps: NDArray[Any],
    pool: Any,
    jobs: NDArray[Any],
    elastic: NDArray[np.int64],
    rigid: NDArray[np.int64],
    unserved: NDArray[np.int64],
    ends: NDArray[np.float64],
) -> float:
    """Return the seconds until the next job ends."""
    horizon, index = np.inf, pool.rigid - 1
    while index >= 0 and ends[index] <= ends[pool.rigid - 1] * (1 + RELATIVE):  # the first one, whatever rounding does
        job = jobs[rigid[index]]
        horizon = min(horizon, left_of_rigid(job, pool.time) * job.seconds)
        index -= 1
    for index in range(pool.unserved):
        horizon = min(horizon, jobs[unserved[index]].seconds)
    for index in range(pool.elastic):
        job = jobs[elastic[index]]
        pause = max(0.0, job.paused - pool.time) if job.working > 0 else 0.0
        horizon = min(horizon, pause + job.rest * steps[job.first + job.held].seconds)
    return float(horizon)


@borrowing
def _set_aside(pool: Any, jobs: NDArray[Any], hosts: int, reach: float) -> int:
    """Return the hosts that the promised schedule needs beyond those kept, once the next jobs in reach start."""
    most = 0
    for place in range(pool.unstarted, jobs.shape[0]):
        if jobs[place].ready > pool.time + reach:
            break
        if jobs[place].ready > pool.time:
            most = max(most, jobs[place].reserved)
    kept = hosts - pool.idle - pool.spare
    return int(max(most - kept, 0))
