"""Expect what becomes of plans with elastic tasks, in machine code: the times of `elastic.expected`.

A plan's promise is given. First hosts go to whoever is next as soon as there are enough; where that ends a task later
than promised, hosts are lent from the gaps of the promised schedule only; where that does, too, none are lent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.scheduling.kernels.elastic.lending_kernel import JOB, POOL, left_at, lend_hosts, look, take_back
from cosched.scheduling.kernels.jit import borrowing, compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.elastic.lending_kernel import ElasticTables

__all__ = ["expected_spans"]

_NOTHING = 1e-12  # less of a task than rounding leaves, as in `virtual_pool`
_RELATIVE = 1e-9  # as in `expected`


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
    rooms, draining = np.zeros((2, tasks), dtype=np.int64), np.zeros((2, hosts + 1))
    gaps = np.zeros((2, 2 * tasks))
    for plan in np.flatnonzero(wanted):
        due, begins, finishes = ends[plan], begun[plan], ended[plan]
        _sort_places(problem, orders[plan], counts[plan], starts[plan], due, jobs)
        way = 0
        if not _run(problem, pools[0], jobs, rooms, draining, problem.moments, False, begins, finishes):
            _sort_places(problem, orders[plan], counts[plan], starts[plan], due, jobs)
            moments, way = _find_gaps(problem.drain, jobs, starts[plan], due, gaps), 1
            if not _run(problem, pools[0], jobs, rooms, draining, moments, True, begins, finishes):
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
        job.granted, job.held, job.working, job.collected, job.reserved = 0, 0, 0, 0, 0
        job.left, job.rest, job.since, job.paused, job.pause = 1.0, 1.0, 0.0, 0.0, 0.0
        job.began, job.end, job.limit = -1.0, np.inf, due[task] * (1 + _RELATIVE)
        job.seconds = seconds[task, job.kept - 1]
        if job.elastic >= 0:
            job.seconds = problem.steps[job.elastic, job.kept].seconds
            costs = problem.costs[job.elastic]
            job.grow, job.shrink, job.drain = costs[0], costs[1], costs[2]


@compiled
def _find_gaps(
    drain: float, jobs: NDArray[Any], starts: NDArray[np.float64], ends: NDArray[np.float64], gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Have jobs come at their promised starts, and note how many hosts the promised schedule then has in use.

    Returns:
        The promised starts and, where hosts drain, the times at which they must begin to, ascending.
    """
    tasks, active = jobs.shape[0], gaps[1]
    number, used, group = 0, 0, 0
    for place in range(tasks):
        job = jobs[place]
        job.ready = starts[job.task]
        index = 0
        while index < number:
            other = jobs[int(active[index])]
            if ends[other.task] <= job.ready:
                used -= other.kept
                number -= 1
                active[index] = active[number]
            else:
                index += 1
        active[number] = place
        number += 1
        used += job.kept
        group = group if jobs[group].ready == job.ready else place
        for other in jobs[group : place + 1]:  # those that start together
            other.reserved = used
    moments: NDArray[np.float64] = gaps[0]
    if drain == 0.0:
        for place in range(tasks):
            moments[place] = jobs[place].ready
        return moments[:tasks]
    late, soon = 0, 0
    for index in range(2 * tasks):
        if soon < tasks and max(jobs[soon].ready - drain, 0.0) <= jobs[late].ready:
            moments[index] = max(jobs[soon].ready - drain, 0.0)
            soon += 1
        else:
            moments[index] = jobs[late].ready
            late += 1
    return moments


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
    rooms: NDArray[np.int64],
    draining: NDArray[np.float64],
    moments: NDArray[np.float64],
    reserved: bool,
    begun: NDArray[np.float64],
    ended: NDArray[np.float64],
) -> bool:
    """Run all jobs from event to event; return False as soon as one ends later than promised.

    The events are `moments`, ends, and times at which hosts have drained.
    """
    steps, running, lenders = problem.steps, rooms[0], rooms[1]
    before, first = problem.before, problem.first
    costly, reach = problem.costly, problem.drain * (1 + _RELATIVE) if reserved else 0.0
    _empty(pool, problem.plain.free.shape[0], problem.payback)
    left = jobs.shape[0]
    ended[:] = np.inf
    while left > 0:
        pool.time = _next_time(pool, jobs, running, draining, moments)
        if pool.draining > 0:
            _drain(pool, draining)
        left -= _end_jobs(pool, jobs, running, begun, ended)
        if pool.late or pool.time == np.inf:
            return False
        if pool.owed:
            _deliver(steps, pool, jobs, running)
        waiting = _start_jobs(steps, pool, jobs, running, before, first, ended, reserved)
        if pool.late:
            return False
        if pool.elastic > 0:
            _lend(steps, pool, jobs, running, lenders, waiting and costly, reach)
        if pool.changed:
            _apply(steps, pool, jobs, running, draining)
        if pool.owed:
            _deliver(steps, pool, jobs, running)
    return True


@borrowing
def _empty(pool: Any, hosts: int, payback: float) -> None:
    """Make all hosts of the pool idle."""
    pool.payback, pool.horizon, pool.late = payback, np.inf, 0
    pool.free, pool.idle, pool.spare = hosts, hosts, 0
    pool.jobs, pool.elastic, pool.draining, pool.owed, pool.unstarted = 0, 0, 0, 0, 0
    pool.changed, pool.moments = 0, 0
    pool.area, pool.moment = 0.0, 0.0


@borrowing
def _next_time(
    pool: Any,
    jobs: NDArray[Any],
    running: NDArray[np.int64],
    draining: NDArray[np.float64],
    moments: NDArray[np.float64],
) -> float:
    """Return the time of the next event, and go past the moments that it is."""
    time = moments[pool.moments] if pool.moments < moments.shape[0] else np.inf
    for index in range(pool.jobs):
        time = min(time, jobs[running[index]].end)
    for index in range(pool.draining):
        time = min(time, draining[0, index])
    while pool.moments < moments.shape[0] and moments[pool.moments] <= time:
        pool.moments += 1
    return float(time)


@borrowing
def _drain(pool: Any, draining: NDArray[np.float64]) -> None:
    """Free the hosts that have drained."""
    index = 0
    while index < pool.draining:
        if draining[0, index] > pool.time:
            index += 1
            continue
        pool.free += int(draining[1, index])
        pool.draining -= 1
        draining[0, index], draining[1, index] = draining[0, pool.draining], draining[1, pool.draining]


@borrowing
def _end_jobs(
    pool: Any,
    jobs: NDArray[Any],
    running: NDArray[np.int64],
    begun: NDArray[np.float64],
    ended: NDArray[np.float64],
) -> int:
    """End the jobs whose time has come; return how many do."""
    time, on = pool.time, 0
    pool.seen = 0
    for index in range(pool.jobs):
        job = jobs[running[index]]
        near = job.end - time <= _RELATIVE * job.seconds
        if job.end > time and not (near and left_at(job, time) < _NOTHING):
            running[on] = running[index]
            on += 1
            continue
        if time > job.limit:
            pool.late = 1
        pool.free += job.working + job.collected
        pool.idle += job.held
        pool.spare -= job.held - job.kept
        pool.elastic -= job.elastic >= 0
        _count_work(pool, job)
        begun[job.task], ended[job.task] = job.began, time
    done = pool.jobs - on
    pool.jobs = on
    return int(done)


@borrowing
def _count_work(pool: Any, job: Any) -> None:
    """Add the hosts' work since the last change."""
    pool.area += job.working * (pool.time - job.since)
    pool.moment += job.working * (pool.time * pool.time - job.since * job.since)


@borrowing
def _start_jobs(
    steps: NDArray[Any],
    pool: Any,
    jobs: NDArray[Any],
    running: NDArray[np.int64],
    before: NDArray[np.int64],
    first: NDArray[np.int64],
    ended: NDArray[np.float64],
    reserved: bool,
) -> bool:
    """Start jobs in order until the first that has too few hosts, taking loans back; return whether one waits."""
    tasks = jobs.shape[0]
    while pool.unstarted < tasks and jobs[pool.unstarted].held > 0:
        pool.unstarted += 1
    for place in range(pool.unstarted, tasks):
        job = jobs[place]
        if job.held > 0 or job.ready > pool.time:
            continue
        if not (reserved or _may_start(before, first, job.task, ended)):
            continue
        if job.kept > pool.idle + pool.spare:
            if job.elastic < 0 and _too_late(pool.time + job.seconds, job):
                pool.late = 1
            return True
        if job.kept > pool.idle:
            take_back(steps, pool, jobs, running, job.kept)
        job.held, job.stale, pool.changed = job.kept, 1, 1
        pool.idle -= job.kept
        pool.elastic += job.elastic >= 0
        running[pool.jobs] = place
        pool.jobs += 1
    return False


@borrowing
def _too_late(end: float, job: Any) -> bool:
    """Return whether a job that is to end then ends later than it should, whatever rounding does."""
    return bool(end - 2 * _RELATIVE * job.seconds > job.limit)


@borrowing
def _may_start(before: NDArray[np.int64], first: NDArray[np.int64], task: int, ended: NDArray[np.float64]) -> bool:
    """Return whether all predecessors have ended."""
    last = 0.0
    for index in range(first[task], first[task + 1]):
        last = max(last, float(ended[before[index]]))
    return last < np.inf


@borrowing
def _horizon(steps: NDArray[Any], pool: Any, jobs: NDArray[Any], running: NDArray[np.int64]) -> float:
    """Return the seconds until the next job ends."""
    horizon = np.inf
    for index in range(pool.jobs):
        job = jobs[running[index]]
        if job.elastic < 0:
            horizon = min(horizon, left_at(job, pool.time) * job.seconds)
        else:
            horizon = min(horizon, job.pause + job.rest * steps[job.elastic, job.held].seconds)
    return float(horizon)


@borrowing
def _lend(
    steps: NDArray[Any],
    pool: Any,
    jobs: NDArray[Any],
    running: NDArray[np.int64],
    lenders: NDArray[np.int64],
    briefly: bool,
    reach: float,
) -> None:
    """Set aside what is reserved within `reach`, and lend the rest; `briefly` until the next job ends."""
    aside = _set_aside(pool, jobs, running, reach) if reach > 0.0 else 0
    if aside > 0:
        take_back(steps, pool, jobs, running, aside)
    pool.idle -= aside
    if pool.idle > 0 or (pool.spare > 0 and pool.elastic > 1):  # else nobody could give any
        look(pool, jobs, running)
        pool.horizon = _horizon(steps, pool, jobs, running) if briefly else np.inf
        lend_hosts(steps, pool, jobs, running, lenders)
    pool.idle += aside


@borrowing
def _set_aside(pool: Any, jobs: NDArray[Any], running: NDArray[np.int64], reach: float) -> int:
    """Return the hosts that the promised schedule needs beyond those kept, once the next jobs in reach start."""
    most = 0
    for place in range(pool.unstarted, jobs.shape[0]):
        if jobs[place].ready > pool.time + reach:
            break
        if jobs[place].ready > pool.time:
            most = max(most, jobs[place].reserved)
    kept = 0
    for index in range(pool.jobs):
        kept += jobs[running[index]].kept
    return int(max(most - kept, 0))


@borrowing
def _apply(
    steps: NDArray[Any], pool: Any, jobs: NDArray[Any], running: NDArray[np.int64], draining: NDArray[np.float64]
) -> None:
    """Take hosts away; those that are given are owed."""
    pool.changed = 0
    for index in range(pool.jobs):
        job = jobs[running[index]]
        if job.held > job.granted:
            pool.owed = 1
        elif job.held < job.granted:
            pool.free += job.collected
            job.collected = 0
            leaving = job.working - job.held
            if leaving > 0:
                _work_on(steps, pool, job, job.held)
                if job.drain > 0.0:
                    draining[0, pool.draining], draining[1, pool.draining] = pool.time + job.drain, leaving
                    pool.draining += 1
                else:
                    pool.free += leaving
        job.granted = job.held


@borrowing
def _deliver(steps: NDArray[Any], pool: Any, jobs: NDArray[Any], running: NDArray[np.int64]) -> None:
    """Hand free hosts to the jobs that they were granted to; they work once all are there."""
    pool.owed = 0
    for index in range(pool.jobs):
        job = jobs[running[index]]
        missing = job.granted - job.working - job.collected
        if missing <= 0:
            continue
        part = min(missing, pool.free)
        job.collected += part
        pool.free -= part
        if part == missing:
            job.collected = 0
            _work_on(steps, pool, job, job.granted)
        else:
            pool.owed = 1


@borrowing
def _work_on(steps: NDArray[Any], pool: Any, job: Any, hosts: int) -> None:
    """Let so many hosts work from now on; a change costs its seconds, but for the first start.

    Changes at one time are one.
    """
    _count_work(pool, job)
    if job.began >= 0.0 and job.since == pool.time:
        job.working, job.paused, job.began = job.then_working, job.then_paused, job.then_began
    if job.working != hosts:
        job.then_working, job.then_paused, job.then_began = job.working, job.paused, job.began
        job.left, job.since = left_at(job, pool.time), pool.time
        if job.began < 0.0:
            job.began = pool.time
        else:
            job.paused = max(job.paused, pool.time) + (job.grow if hosts > job.working else job.shrink)
        job.working = hosts
    if job.elastic >= 0:
        job.seconds = steps[job.elastic, hosts].seconds
    job.end = max(job.since, job.paused) + job.left * job.seconds
    if job.elastic < 0 and _too_late(job.end, job):
        pool.late = 1
