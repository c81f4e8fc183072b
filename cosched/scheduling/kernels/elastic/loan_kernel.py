"""Expect what becomes of plans with elastic tasks, in machine code: the times of `elastic.expected`.

A plan's promise is given. Hosts go to whoever is next in the order of the promised starts as soon as there are enough.
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
    take_away,
)
from cosched.scheduling.kernels.elastic.lending_kernel import JOB, POOL, lend_hosts, look, spare_in_time, take_back
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
        used: (P, 3) filled in: the sums of hosts × (end − begin) and of hosts × (end² − begin²) over all pieces, and 1
            where loans would end somebody later than promised and none are made, else 0.
    """
    tasks, hosts = orders.shape[1], problem.plain.free.shape[0]
    pools, jobs = np.zeros(1, dtype=POOL), np.zeros(tasks, dtype=JOB)  # a record does not keep its array alive
    places, times = np.zeros((4, tasks), dtype=np.int64), np.zeros(tasks)
    draining = np.zeros((2, hosts + 1))
    for plan in np.flatnonzero(wanted):
        due, begins, finishes = ends[plan], begun[plan], ended[plan]
        _sort_places(problem, orders[plan], counts[plan], starts[plan], due, jobs)
        lent = _run(problem, pools[0], jobs, places, times, draining, begins, finishes)
        if not lent:
            _as_promised(pools[0], counts[plan], starts[plan], due, begins, finishes)
        used[plan, 0], used[plan, 1], used[plan, 2] = pools[0].area, pools[0].moment, not lent


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
        job.held, job.promised, job.limit = 0, starts[task], due[task] * (1 + RELATIVE)
        job.seconds = seconds[task, job.kept - 1]


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
    begun: NDArray[np.float64],
    ended: NDArray[np.float64],
) -> bool:
    """Run all jobs from event to event; return False as soon as one ends later than promised.

    The events are releases, ends, times at which hosts have drained, and times at which hosts must begin to leave.
    `places` is room for jobs: elastic ones in the order of their starts, others at work by their `ends`, descending,
    others that are not at work yet in the order of their starts, and lenders.
    """
    steps, elastic, rigid, unserved = problem.steps, places[0], places[1], places[2]
    waits, ahead = problem.before.shape[0] > 0, problem.ahead
    hosts, left = problem.plain.free.shape[0], jobs.shape[0]
    _empty(pool, hosts, problem)
    if waits:
        ended[:] = np.inf
    while left > 0:
        pool.seen = 0
        pool.time = _next_time(pool, ends, draining, problem.moments)
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
        _start_jobs(problem, pool, jobs, elastic, unserved, ended, waits)
        if pool.elastic > 0:
            aside = _look_ahead(pool, jobs, places, problem.drain) if ahead else 0
            _lend(steps, pool, jobs, places, aside)
            if ahead and pool.spare > 0:
                pool.again = min(pool.again, pool.needed)
        if pool.changed:
            take_away(steps, pool, jobs, elastic, draining)
            deliver(steps, pool, jobs, places, ends)
    return True


@borrowing
def _empty(pool: Any, hosts: int, problem: ElasticTables) -> None:
    """Make all hosts of the pool idle."""
    pool.payback, pool.drain, pool.needed, pool.again = problem.payback, problem.drain, np.inf, np.inf
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
    time = min(time, pool.soonest, pool.again)
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
) -> None:
    """Start jobs in order until the first that has too few hosts, taking loans back.

    A job that is behind one which cannot start yet starts when promised at the earliest, else it might delay that one.
    """
    tasks, skipped = jobs.shape[0], False
    pool.again = np.inf
    while pool.unstarted < tasks and jobs[pool.unstarted].held > 0:
        pool.unstarted += 1
    for place in range(pool.unstarted, tasks):
        job = jobs[place]
        if job.held > 0:
            continue
        if job.ready > pool.time or (waits and not _may_start(problem.before, problem.first, job.task, ended)):
            skipped = True
            continue
        if skipped and job.promised > pool.time:
            pool.again = job.promised
            return
        if job.kept > pool.idle + pool.spare:
            return
        if job.kept > pool.idle:
            early = problem.ahead and job.promised - problem.drain > pool.time
            if early and job.kept > pool.idle + spare_in_time(problem.steps, pool, jobs, elastic):
                return
            take_back(problem.steps, pool, jobs, elastic, job.kept, early)
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


@borrowing
def _may_start(before: NDArray[np.int64], first: NDArray[np.int64], task: int, ended: NDArray[np.float64]) -> bool:
    """Return whether all predecessors have ended."""
    last = 0.0
    for index in range(first[task], first[task + 1]):
        last = max(last, float(ended[before[index]]))
    return last < np.inf


@borrowing
def _lend(steps: NDArray[Any], pool: Any, jobs: NDArray[Any], places: NDArray[np.int64], aside: int) -> None:
    """Set hosts aside and lend what else is idle."""
    if aside > 0:
        take_back(steps, pool, jobs, places[0], aside, False)
    pool.idle -= aside
    if pool.idle > 0 or (pool.spare > 0 and pool.elastic > 1):  # else nobody could give any
        look(pool, jobs, places[0])
        lend_hosts(steps, pool, jobs, places[0], places[3])
    pool.idle += aside


@borrowing
def _look_ahead(pool: Any, jobs: NDArray[Any], places: NDArray[np.int64], drain: float) -> int:
    """Find until when loans last: until hosts must leave for the next promised start. Starts are due within a drain.

    Returns:
        The hosts that those need which are due, beyond what jobs leave that are promised to end by then.
    """
    need, most = 0, 0
    pool.needed = np.inf
    for place in range(pool.unstarted, jobs.shape[0]):
        job = jobs[place]
        if job.held > 0:
            continue
        if job.promised - drain > pool.time:
            pool.needed = job.promised - drain
            break
        need += job.kept
        most = max(most, need - _left_by(pool, jobs, places, job.promised * (1 + RELATIVE)))
    return int(most)


@borrowing
def _left_by(pool: Any, jobs: NDArray[Any], places: NDArray[np.int64], time: float) -> int:
    """Return the promised hosts of started jobs that are to end by then."""
    hosts = 0
    for kind, number in ((0, pool.elastic), (1, pool.rigid), (2, pool.unserved)):
        for index in range(number):
            job = jobs[places[kind, index]]
            hosts += job.kept if job.limit <= time else 0
    return int(hosts)
