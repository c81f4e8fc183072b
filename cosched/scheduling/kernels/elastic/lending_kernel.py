"""Lend hosts and take them back in machine code, as `elastic.lending` does.

Jobs and the pool are records: to pass a dozen arrays to a function takes longer than its work. A job's index is its
place in the order of the promised starts, which decides between equals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cosched.scheduling.kernels.jit import borrowing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables

__all__ = ["JOB", "POOL", "STEP", "ElasticTables", "left_at", "lend_hosts", "look", "spare_in_time", "take_back"]

JOB = np.dtype(
    [
        ("task", np.int64),
        ("elastic", np.int64),  # row in the tables of elastic tasks, -1 for none
        ("kept", np.int64),  # hosts that it is promised
        ("held", np.int64),  # hosts that it is to have after this event, 0 until it starts
        ("working", np.int64),  # hosts that work for it, where it is elastic
        ("collected", np.int64),  # hosts that stand by until all that were granted are there
        ("turn", np.int64),  # how many jobs started before it
        ("ready", np.float64),  # when it is released
        ("promised", np.float64),  # when it is to start at the latest
        ("limit", np.float64),  # when it is to end at the latest
        ("seconds", np.float64),  # run time on the hosts that work for it, at first on those promised
        ("since", np.float64),  # when a job that is not elastic began
        # The rest is of elastic jobs, from their starts on.
        ("granted", np.int64),  # hosts that it was to have before this event
        ("stale", np.int64),  # 1 while its next growth is to be found
        ("wider", np.int64),  # hosts that its next growth leads to, 0 for none
        ("lower", np.int64),  # hosts that it would be left with by a growth of another
        ("first", np.int64),  # place of its row in `steps`
        ("grow", np.float64),  # seconds of a growth
        ("shrink", np.float64),  # seconds of a shrinking
        ("drain", np.float64),  # seconds until its hosts are free
        ("left", np.float64),  # part that was still to do when its hosts last changed, at `since`
        ("rest", np.float64),  # part that is still to do now, once the pool is `seen`
        ("paused", np.float64),  # until then it does not go on
        ("end", np.float64),  # its end on these, infinite where none do
        ("began", np.float64),  # when it first ran, below 0 before
        ("then_working", np.int64),  # `working` before the last change
        ("then_paused", np.float64),  # `paused`, likewise
        ("then_began", np.float64),  # `began`, likewise
        ("gain", np.float64),  # of its next growth, for each host
        ("loss", np.float64),  # by a growth of another, for each host; infinite where it lends none
    ]
)
POOL = np.dtype(
    [
        ("time", np.float64),  # of the event
        ("soonest", np.float64),  # the first end of an elastic job
        ("payback", np.float64),  # times its cost that a change must save
        ("drain", np.float64),  # the longest drain
        ("needed", np.float64),  # until then loans last, but for tasks that are on time all the same
        ("again", np.float64),  # when the next event is at the latest
        ("idle", np.int64),  # hosts that nobody is to have
        ("spare", np.int64),  # hosts beyond those promised
        ("free", np.int64),  # hosts that work for nobody, stand by for nobody and do not drain
        ("rigid", np.int64),  # number of jobs at work that are not elastic
        ("elastic", np.int64),  # number of elastic jobs that have started
        ("unserved", np.int64),  # number of others that have started and are not at work yet
        ("turn", np.int64),  # number of jobs that have started
        ("moments", np.int64),  # number of moments that have passed
        ("unstarted", np.int64),  # every job before this place has started
        ("groups", np.int64),  # number of groups of draining hosts
        ("draining", np.int64),  # number of draining hosts
        ("seen", np.int64),  # 1 once it is known how far elastic jobs are at this event
        ("changed", np.int64),  # 1 once a job is to have other hosts
        ("owed", np.int64),  # 1 while a job waits for granted hosts
        ("late", np.int64),  # 1 once a job has ended later than it should
        ("area", np.float64),  # host-seconds worked
        ("moment", np.float64),  # sum of hosts × (end² − begin²) over the times worked
    ]
)
STEP = np.dtype(
    [
        ("seconds", np.float64),  # run time on so many hosts, of which only a useful number is used
        ("speed", np.float64),  # 1 ÷ seconds
        ("gain", np.float64),  # what the speed gains by the next useful number of hosts, for each further one
        ("delay", np.float64),  # what the run time loses by that, likewise
        ("wider", np.int64),  # the next useful number above, 0 for none
        ("narrower", np.int64),  # the next useful number below, likewise
    ]
)

_STRICTLY = 1 + 1e-9  # as `lending` has it
_MANY = 1 << 32  # more hosts than there are


class ElasticTables(NamedTuple):
    """A problem with E elastic tasks on N identical hosts that are always there. Times are seconds.

    Attributes:
        plain: the problem without loans, which the promise is decoded from.
        before: of `plain`.
        first: of `plain`.
        floor: what makespan and slowdown add to the objective at least.
        elastic: (m,) row of each task in the tables below, -1 for one that is not elastic.
        steps: (E · (N + 1),) records of each task's numbers of hosts, from 0 on.
        costs: (E, 3) seconds of a growth, of a shrinking, and until a host has drained.
        drain: the longest drain.
        ahead: whether hosts must leave before they are needed, or changes cost seconds.
        moments: ascending, the times at which tasks are released.
        payback: how many times its cost a change must save.
    """

    plain: ProblemTables
    before: NDArray[np.int64]
    first: NDArray[np.int64]
    floor: float
    elastic: NDArray[np.int64]
    steps: NDArray[Any]
    costs: NDArray[np.float64]
    drain: float
    ahead: bool
    moments: NDArray[np.float64]
    payback: float


@borrowing
def left_at(job: Any, time: float) -> float:
    """Return the part of an elastic job that is still to do."""
    if job.working == 0:
        return float(job.left)
    worked = max(0.0, time - max(job.since, job.paused))
    return float(max(job.left - worked / job.seconds, 0.0))


@borrowing
def look(pool: Any, jobs: NDArray[Any], elastic: NDArray[np.int64]) -> None:
    """Find how far elastic jobs are, once an event: at many events nothing can be lent, and nobody asks."""
    if pool.seen:
        return
    pool.seen = 1
    for index in range(pool.elastic):
        job = jobs[elastic[index]]
        job.rest, job.stale = left_at(job, pool.time), 1


@borrowing
def take_back(
    steps: NDArray[Any], pool: Any, jobs: NDArray[Any], elastic: NDArray[np.int64], hosts: int, early: bool
) -> None:
    """Take hosts back, a useful step at a time where it delays least for each host, until enough are idle.

    `early` only of jobs that are on time without them.
    """
    look(pool, jobs, elastic)
    while pool.idle < hosts and pool.spare > 0:
        chosen, least, fewer = -1, np.inf, 0
        for index in range(pool.elastic):
            place = elastic[index]
            job = jobs[place]
            if job.held <= job.kept or (early and not _on_time(steps, pool, job, 1)):
                continue
            lower = max(steps[job.first + job.held].narrower, job.kept)
            delay = steps[job.first + lower].delay * job.rest
            if chosen < 0 or delay < least or (delay == least and place < chosen):
                chosen, least, fewer = place, delay, lower
        if chosen < 0:
            return
        if not _on_time(steps, pool, jobs[chosen], 2):
            fewer = jobs[chosen].kept  # else the next time would make it late
        _give(pool, jobs[chosen], fewer)


@borrowing
def spare_in_time(steps: NDArray[Any], pool: Any, jobs: NDArray[Any], elastic: NDArray[np.int64]) -> int:
    """Return the hosts beyond those promised of jobs that are on time without them."""
    look(pool, jobs, elastic)
    found = 0
    for index in range(pool.elastic):
        job = jobs[elastic[index]]
        if job.held > job.kept and _on_time(steps, pool, job, 1):
            found += job.held - job.kept
    return int(found)


@borrowing
def _on_time(steps: NDArray[Any], pool: Any, job: Any, changes: int) -> bool:
    """Return whether a job ends in time if it gives hosts back so many times until it has those promised."""
    if job.shrink == 0.0:
        return True
    pause = max(0.0, job.paused - pool.time) if job.working > 0 else 0.0
    shrinking = (changes if job.granted > 0 else changes - 1) * job.shrink
    return bool(pool.time + pause + shrinking + job.rest * steps[job.first + job.kept].seconds <= job.limit)


@borrowing
def _safe(steps: NDArray[Any], pool: Any, job: Any) -> bool:
    """Return whether a job that grows ends in time even if it has its loan only until it is needed."""
    if job.grow + job.shrink == 0.0:
        return True
    pause = max(0.0, job.paused - pool.time) if job.working > 0 else 0.0
    begin = pool.time + pause + (job.grow if job.granted > 0 else 0.0)
    back = max(begin, pool.needed)
    rest = job.rest - (back - begin) / steps[job.first + job.wider].seconds
    return bool(rest <= 0.0 or back + job.shrink + rest * steps[job.first + job.kept].seconds <= job.limit)


@borrowing
def _give(pool: Any, job: Any, hosts: int) -> None:
    """Let a job have so many hosts from now on."""
    pool.idle += job.held - hosts
    pool.spare += hosts - job.held
    job.held, job.stale, pool.changed = hosts, 1, 1


@borrowing
def lend_hosts(
    steps: NDArray[Any], pool: Any, jobs: NDArray[Any], elastic: NDArray[np.int64], lenders: NDArray[np.int64]
) -> None:
    """Give hosts to the jobs with the largest gain where that pays: idle ones, then from smaller gains to larger ones.

    `lenders` is room for a place of each job; the pool is `seen`.
    """
    while pool.idle > 0 or (pool.spare > 0 and pool.elastic > 1):  # else nobody could give any
        best = _largest_gain(steps, pool, jobs, elastic, _MANY)
        if best < 0:
            return
        if jobs[best].wider - jobs[best].held > pool.idle and not _borrow(steps, pool, jobs, elastic, lenders, best):
            best = _largest_gain(steps, pool, jobs, elastic, pool.idle) if pool.idle > 0 else -1
            if best < 0:
                return
        _give(pool, jobs[best], jobs[best].wider)


@borrowing
def _largest_gain(steps: NDArray[Any], pool: Any, jobs: NDArray[Any], elastic: NDArray[np.int64], hosts: int) -> int:
    """Return the place of the job that gains most by at most so many more hosts, -1 for none."""
    best, most = -1, -np.inf
    for index in range(pool.elastic):
        place = elastic[index]
        job = jobs[place]
        if job.stale:
            _find_growth(steps, pool, job)
        fits = 0 < job.wider <= job.held + hosts
        if fits and (job.gain > most or (job.gain == most and place > best)):
            best, most = place, job.gain
    return int(best)


@borrowing
def _find_growth(steps: NDArray[Any], pool: Any, job: Any) -> None:
    """Find a job's next useful number of hosts, or the first one that pays on idle hosts, and its gain for each host.

    The former does not depend on what others have: it is not looked for again until the job's hosts change.
    """
    here, resize = steps[job.first + job.held], job.grow + job.shrink
    job.stale, job.wider, job.gain = 0, here.wider, here.gain / job.rest
    begins_later = job.began < 0.0 and pool.drain > 0.0  # if some of its hosts are not free yet
    if resize == 0.0 and (job.granted == 0 or job.held >= job.granted) and not begins_later:
        return  # it costs nothing
    within = _within(steps, pool, job)
    if job.granted > 0 and within < pool.payback * resize:
        job.wider = 0  # no growth pays, however much quicker the job would be
    most = pool.idle
    if begins_later:
        job.stale, most = 1, pool.idle - pool.draining
        if job.wider - job.held > most:
            job.wider = 0
    while job.wider > 0 and not (_pays(steps, pool, job, within, 0.0) and _safe(steps, pool, job)):
        job.stale, job.wider = 1, steps[job.first + job.wider].wider
        if job.wider - job.held > most:
            job.wider = 0
    if job.stale and job.wider > 0:
        job.gain = (steps[job.first + job.wider].speed - here.speed) / (job.wider - job.held) / job.rest


@borrowing
def _within(steps: NDArray[Any], pool: Any, job: Any) -> float:
    """Return the seconds in which a growth of a job saves what it does."""
    pause = max(0.0, job.paused - pool.time) if job.working > 0 else 0.0
    return float(min(pool.needed - pool.time, pause + job.rest * steps[job.first + job.held].seconds))


@borrowing
def _pays(steps: NDArray[Any], pool: Any, job: Any, within: float, shrinking: float) -> bool:
    """Return whether what a job's growth saves is worth the seconds that all its changes cost.

    `within` is as `_within` has it, `shrinking` what it costs those that give hosts for it.
    """
    cost, before = shrinking, job.held
    if job.granted > 0:
        cost, before = cost + (job.grow + job.shrink), job.granted
    elif cost == 0.0:
        return True  # it starts now
    quick, slow = steps[job.first + job.wider].seconds, steps[job.first + before].seconds
    return bool(within * (1 - quick / slow) >= pool.payback * cost)


@borrowing
def _borrow(
    steps: NDArray[Any],
    pool: Any,
    jobs: NDArray[Any],
    elastic: NDArray[np.int64],
    lenders: NDArray[np.int64],
    borrower: int,
) -> bool:
    """Take the hosts that a growth misses of those who lose least by it; False where they lose more than it gains."""
    growing = jobs[borrower]
    missing = growing.wider - growing.held - pool.idle
    if pool.spare - (growing.held - growing.kept) < missing:
        return False
    _find_losses(steps, pool, jobs, elastic, borrower)
    count, loss, cost, last, least = 0, 0.0, 0.0, -1, -np.inf
    while missing > 0:
        lender = -1
        for index in range(pool.elastic):
            place = elastic[index]
            each = jobs[place].loss
            after = each > least or (each == least and place > last)
            if after and each < np.inf and (lender < 0 or _loses_less(jobs, place, lender)):
                lender = place
        if lender < 0:
            return False
        job = jobs[lender]
        last, least = lender, job.loss
        lenders[count] = lender
        count += 1
        missing -= job.held - job.lower
        loss += (steps[job.first + job.held].speed - steps[job.first + job.lower].speed) / job.rest
        cost += job.shrink if job.held == job.granted else 0.0
    gain = (steps[growing.first + growing.wider].speed - steps[growing.first + growing.held].speed) / growing.rest
    if gain <= loss * _STRICTLY or not _pays(steps, pool, growing, _within(steps, pool, growing), cost):
        return False
    for index in range(count):
        _give(pool, jobs[lenders[index]], jobs[lenders[index]].lower)
    return True


@borrowing
def _find_losses(steps: NDArray[Any], pool: Any, jobs: NDArray[Any], elastic: NDArray[np.int64], borrower: int) -> None:
    """Find what jobs would be left with, and what they would lose for each host; infinite where they lend none."""
    for index in range(pool.elastic):
        place = elastic[index]
        job = jobs[place]
        job.loss = np.inf
        if job.held > job.kept and place != borrower and _on_time(steps, pool, job, 2):
            job.lower = max(steps[job.first + job.held].narrower, job.kept)
            job.loss = steps[job.first + job.lower].gain / job.rest


@borrowing
def _loses_less(jobs: NDArray[Any], place: int, other: int) -> bool:
    """Return whether a job loses less for each host than another."""
    if jobs[place].loss == jobs[other].loss:
        return bool(place < other)
    return bool(jobs[place].loss < jobs[other].loss)
