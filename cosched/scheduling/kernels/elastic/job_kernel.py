"""Have jobs begin, go on with other hosts, and end in machine code, as `elastic.virtual_pool` does.

A job that is not elastic ends when it was to when it began: such ends are kept in order, so that an event looks at
elastic jobs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.scheduling.kernels.elastic.lending_kernel import left_at
from cosched.scheduling.kernels.jit import borrowing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.elastic.lending_kernel import ElasticTables

__all__ = [
    "RELATIVE",
    "begin_elastic",
    "deliver",
    "end_elastic",
    "end_rigid",
    "insert",
    "take_away",
]

RELATIVE = 1e-9  # of a time, what rounding might be; as in `expected`
_NOTHING = 1e-12  # less of a task than rounding leaves, as in `virtual_pool`


@borrowing
def insert(places: NDArray[np.int64], ends: NDArray[np.float64], number: int, place: int, end: float) -> int:
    """Insert a job where ends descend, of equal ones the later job first; return how many there are now."""
    index = number
    while index > 0 and ends[index - 1] <= end:
        places[index], ends[index] = places[index - 1], ends[index - 1]
        index -= 1
    places[index], ends[index] = place, end
    return number + 1


@borrowing
def begin_elastic(problem: ElasticTables, job: Any) -> None:
    """Fill in what is asked of elastic jobs only."""
    row, job.first = job.elastic, job.elastic * (problem.plain.free.shape[0] + 1)
    job.grow, job.shrink, job.drain = problem.costs[row, 0], problem.costs[row, 1], problem.costs[row, 2]
    job.granted, job.left, job.rest, job.stale = 0, 1.0, 1.0, 1
    job.since, job.paused, job.began, job.end = 0.0, 0.0, -1.0, np.inf


@borrowing
def take_away(
    steps: NDArray[Any], pool: Any, jobs: NDArray[Any], elastic: NDArray[np.int64], draining: NDArray[np.float64]
) -> None:
    """Take hosts away from jobs that are to have fewer."""
    pool.changed = 0
    for index in range(pool.elastic):
        job = jobs[elastic[index]]
        if job.held < job.granted:
            pool.free += job.collected
            job.collected = 0
            leaving = job.working - job.held
            if leaving > 0:
                _work_on(steps, pool, job, job.held)
                if job.drain > 0.0:
                    draining[0, pool.groups], draining[1, pool.groups] = pool.time + job.drain, leaving
                    pool.groups += 1
                    pool.draining += leaving
                else:
                    pool.free += leaving
        job.granted = job.held


@borrowing
def deliver(
    steps: NDArray[Any],
    pool: Any,
    jobs: NDArray[Any],
    places: NDArray[np.int64],
    ends: NDArray[np.float64],
) -> None:
    """Hand free hosts to the jobs that they were granted to; they work once all are there.

    `places` and `ends` are as in `loan_kernel`.
    """
    if pool.draining > pool.idle:
        _deliver_in_turn(steps, pool, jobs, places, ends)
        return
    elastic, rigid, unserved = places[0], places[1], places[2]
    pool.owed, pool.free, soonest = 0, pool.idle - pool.draining, np.inf
    for index in range(pool.elastic):
        job = jobs[elastic[index]]
        if job.working < job.held:
            job.collected = 0
            _work_on(steps, pool, job, job.held)
        soonest = min(soonest, job.end)
    pool.soonest = soonest
    for index in range(pool.unserved):
        pool.rigid = insert(rigid, ends, pool.rigid, unserved[index], _begin_work(pool, jobs[unserved[index]]))
    pool.unserved = 0


@borrowing
def _deliver_in_turn(
    steps: NDArray[Any],
    pool: Any,
    jobs: NDArray[Any],
    places: NDArray[np.int64],
    ends: NDArray[np.float64],
) -> None:
    """Hand out free hosts where there are too few for all: first to jobs that start, in the order of their turns."""
    elastic, rigid, unserved = places[0], places[1], places[2]
    pool.owed, soonest = 0, np.inf
    for growing in range(2):
        number, others, index = 0 if growing else pool.unserved, 0, 0
        pool.unserved -= number
        while index < pool.elastic or others < number:
            place = elastic[index] if index < pool.elastic else unserved[others]
            if others < number and jobs[unserved[others]].turn <= jobs[place].turn:
                place = unserved[others]
                others += 1
            else:
                index += 1
                if (jobs[place].working > 0) != growing:
                    continue
            job = jobs[place]
            missing = job.held - job.working - job.collected
            if missing <= 0:
                continue
            part = min(missing, pool.free)
            job.collected += part
            pool.free -= part
            if part < missing:
                pool.owed = 1
                if job.elastic < 0:
                    unserved[pool.unserved] = place
                    pool.unserved += 1
            elif job.elastic < 0:
                pool.rigid = insert(rigid, ends, pool.rigid, place, _begin_work(pool, job))
            else:
                job.collected = 0
                _work_on(steps, pool, job, job.held)
    for index in range(pool.elastic):
        soonest = min(soonest, jobs[elastic[index]].end)
    pool.soonest = soonest


@borrowing
def _begin_work(pool: Any, job: Any) -> float:
    """Begin a job that is not elastic; return when it ends."""
    job.since = pool.time
    return float(pool.time + job.seconds)


@borrowing
def _work_on(steps: NDArray[Any], pool: Any, job: Any, hosts: int) -> None:
    """Let so many hosts work for an elastic job from now on; a change costs its seconds, but for the first start.

    Changes at one time are one.
    """
    _count_work(pool, job)
    if job.began >= 0.0 and job.since == pool.time:
        job.working, job.paused, job.began = job.then_working, job.then_paused, job.then_began
    if job.working != hosts:
        job.then_working, job.then_paused, job.then_began = job.working, job.paused, job.began
        job.left, job.since = job.rest, pool.time
        if job.began < 0.0:
            job.began = pool.time
        else:
            job.paused = max(job.paused, pool.time) + (job.grow if hosts > job.working else job.shrink)
        job.working = hosts
    job.seconds = steps[job.first + hosts].seconds
    job.end = max(job.since, job.paused) + job.left * job.seconds


@borrowing
def end_rigid(
    pool: Any,
    jobs: NDArray[Any],
    rigid: NDArray[np.int64],
    ends: NDArray[np.float64],
    begun: NDArray[np.float64],
    ended: NDArray[np.float64],
) -> int:
    """End the jobs at work that are not elastic and whose time has come; return how many do."""
    time, number, index = pool.time, pool.rigid, pool.rigid - 1
    while index >= 0 and ends[index] - time <= RELATIVE * ends[index]:
        job = jobs[rigid[index]]
        near = ends[index] - time <= RELATIVE * job.seconds
        if ends[index] <= time or (near and _left_of_rigid(job, time) < _NOTHING):
            pool.free += job.kept
            pool.idle += job.kept
            pool.late |= time > job.limit
            pool.area += job.kept * (time - job.since)
            pool.moment += job.kept * (time * time - job.since * job.since)
            begun[job.task], ended[job.task] = job.since, time
            number -= 1
            for other in range(index, number):
                rigid[other], ends[other] = rigid[other + 1], ends[other + 1]
        index -= 1
    done = pool.rigid - number
    pool.rigid = number
    return int(done)


@borrowing
def _left_of_rigid(job: Any, time: float) -> float:
    """Return the part of a job at work that is not elastic that is still to do."""
    return float(max(1.0 - max(0.0, time - job.since) / job.seconds, 0.0))


@borrowing
def end_elastic(
    pool: Any,
    jobs: NDArray[Any],
    elastic: NDArray[np.int64],
    begun: NDArray[np.float64],
    ended: NDArray[np.float64],
) -> int:
    """End the elastic jobs whose time has come; return how many do."""
    time, number, soonest = pool.time, 0, np.inf
    for index in range(pool.elastic):
        place = elastic[index]
        job = jobs[place]
        if job.end > time and not (job.end - time <= RELATIVE * job.seconds and left_at(job, time) < _NOTHING):
            elastic[number] = place
            number += 1
            soonest = min(soonest, job.end)
            continue
        pool.free += job.working + job.collected
        pool.idle += job.held
        pool.spare -= job.held - job.kept
        pool.late |= time > job.limit
        _count_work(pool, job)
        begun[job.task], ended[job.task] = job.began, time
    done = pool.elastic - number
    pool.elastic, pool.soonest = number, soonest
    return int(done)


@borrowing
def _count_work(pool: Any, job: Any) -> None:
    """Add the hosts' work since an elastic job's last change."""
    pool.area += job.working * (pool.time - job.since)
    pool.moment += job.working * (pool.time * pool.time - job.since * job.since)
