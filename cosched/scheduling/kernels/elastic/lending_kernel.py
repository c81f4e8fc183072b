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

__all__ = ["JOB", "POOL", "STEP", "ElasticTables", "left_at", "lend_hosts", "look", "take_back"]

JOB = np.dtype(
    [
        ("task", np.int64),
        ("elastic", np.int64),  # row in the tables of elastic tasks, -1 for none
        ("kept", np.int64),  # hosts that it is promised
        ("granted", np.int64),  # hosts that it was to have before this event
        ("held", np.int64),  # hosts that it is to have after it
        ("working", np.int64),  # hosts that work for it
        ("collected", np.int64),  # hosts that stand by until all that were granted are there
        ("reserved", np.int64),  # hosts in use by the promised schedule once it has started there
        ("stale", np.int64),  # 1 while its next growth is to be found
        ("wider", np.int64),  # hosts that its next growth leads to, 0 for none
        ("lower", np.int64),  # hosts that it would be left with by a growth of another
        ("ready", np.float64),  # when it may start
        ("limit", np.float64),  # when it is to end at the latest
        ("grow", np.float64),  # seconds of a growth
        ("shrink", np.float64),  # seconds of a shrinking
        ("drain", np.float64),  # seconds until its hosts are free
        ("left", np.float64),  # part that was still to do …
        ("since", np.float64),  # … at this time
        ("paused", np.float64),  # until then it does not go on
        ("seconds", np.float64),  # run time on the hosts that work for it
        ("end", np.float64),  # its end on these, infinite where none do
        ("began", np.float64),  # when it first ran, below 0 before
        ("then_working", np.int64),  # `working` before the last change
        ("then_paused", np.float64),  # `paused`, likewise
        ("then_began", np.float64),  # `began`, likewise
        ("gain", np.float64),  # of its next growth, for each host
        ("ratio", np.float64),  # what it would lose by that for each host, infinite where it lends none
        ("rest", np.float64),  # part that is still to do now, of an elastic one once the pool is `seen`
        ("pause", np.float64),  # seconds until it goes on, likewise
    ]
)
POOL = np.dtype(
    [
        ("time", np.float64),  # of the event
        ("horizon", np.float64),  # seconds that lent hosts are likely to stay
        ("payback", np.float64),  # times its cost that a change must save
        ("idle", np.int64),  # hosts that nobody is to have
        ("spare", np.int64),  # hosts beyond those promised
        ("free", np.int64),  # hosts that work for nobody, stand by for nobody and do not drain
        ("jobs", np.int64),  # number of running jobs
        ("elastic", np.int64),  # number of those that are elastic
        ("moments", np.int64),  # number of moments that have passed
        ("unstarted", np.int64),  # every job before this place has started
        ("draining", np.int64),  # number of groups of draining hosts
        ("seen", np.int64),  # 1 once it is known how far elastic jobs are at this event
        ("changed", np.int64),  # 1 once a job is to have other hosts
        ("owed", np.int64),  # 1 while a job waits for granted hosts
        ("late", np.int64),  # 1 once a job has ended later than it should
        ("area", np.float64),  # host-seconds worked
        ("moment", np.float64),  # sum of hosts × (end² − begin²) over the times worked
    ]
)

STEP = np.dtype([("seconds", np.float64), ("wider", np.int64), ("narrower", np.int64)])

_STRICTLY = 1 + 1e-9  # as `lending` has it


class ElasticTables(NamedTuple):
    """A problem with E elastic tasks on N identical hosts that are always there. Times are seconds.

    Attributes:
        plain: the problem without loans, which the promise is decoded from.
        before: of `plain`.
        first: of `plain`.
        floor: what makespan and slowdown add to the objective at least.
        elastic: (m,) row of each task in the tables below, -1 for one that is not elastic.
        steps: (E, N+1) records: the run time on so many hosts, of which only a useful number is used (infinite on too
            few), and the next useful numbers above and below (0 for none).
        costs: (E, 3) seconds of a growth, of a shrinking, and until a host has drained.
        drain: the longest drain.
        costly: whether any change of hosts costs seconds.
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
    costly: bool
    moments: NDArray[np.float64]
    payback: float


@borrowing
def left_at(job: Any, time: float) -> float:
    """Return the part of a job that is still to do."""
    if job.working == 0:
        return float(job.left)
    worked = max(0.0, time - max(job.since, job.paused))
    return float(max(job.left - worked / job.seconds, 0.0))


@borrowing
def look(pool: Any, jobs: NDArray[Any], running: NDArray[np.int64]) -> None:
    """Find how far elastic jobs are, once an event: at most events nothing can be lent, and nobody asks."""
    if pool.seen:
        return
    pool.seen = 1
    for index in range(pool.jobs):
        job = jobs[running[index]]
        if job.elastic >= 0:
            job.rest, job.stale = left_at(job, pool.time), 1
            job.pause = max(0.0, job.paused - pool.time) if job.working > 0 else 0.0


@borrowing
def take_back(steps: NDArray[Any], pool: Any, jobs: NDArray[Any], running: NDArray[np.int64], hosts: int) -> None:
    """Take hosts back, a useful step at a time where it delays least for each host, until enough are idle."""
    look(pool, jobs, running)
    while pool.idle < hosts and pool.spare > 0:
        chosen, least, fewer = -1, np.inf, 0
        for index in range(pool.jobs):
            place = running[index]
            job = jobs[place]
            if job.held <= job.kept:
                continue
            lower = max(steps[job.elastic, job.held].narrower, job.kept)
            slow, quick = job.rest * steps[job.elastic, lower].seconds, job.rest * steps[job.elastic, job.held].seconds
            delay = (slow - quick) / (job.held - lower)
            if chosen < 0 or delay < least or (delay == least and place < chosen):
                chosen, least, fewer = place, delay, lower
        _give(pool, jobs[chosen], fewer)


@borrowing
def _give(pool: Any, job: Any, hosts: int) -> None:
    """Let a job have so many hosts from now on."""
    pool.idle += job.held - hosts
    pool.spare += hosts - job.held
    job.held, job.stale, pool.changed = hosts, 1, 1


@borrowing
def lend_hosts(
    steps: NDArray[Any], pool: Any, jobs: NDArray[Any], running: NDArray[np.int64], lenders: NDArray[np.int64]
) -> None:
    """Give hosts to the jobs with the largest gain where that pays: idle ones, then from smaller gains to larger ones.

    `lenders` is room for a place of each job; the pool is `seen`.
    """
    while True:
        best, modest = -1, -1  # the latter of the growths that idle hosts suffice for
        for index in range(pool.jobs):
            place = running[index]
            job = jobs[place]
            if job.stale:
                _find_growth(steps, pool, job)
            if job.wider > 0 and _gains_more(jobs, place, best):
                best = place
            if 0 < job.wider <= job.held + pool.idle and _gains_more(jobs, place, modest):
                modest = place
        if best < 0:
            return
        if best != modest and _borrow(steps, pool, jobs, running, lenders, best):
            modest = best
        if modest < 0:
            return
        _give(pool, jobs[modest], jobs[modest].wider)


@borrowing
def _gains_more(jobs: NDArray[Any], place: int, other: int) -> bool:
    """Return whether a job's growth is ahead of another's; `other` is -1 for none."""
    if other < 0 or jobs[place].gain > jobs[other].gain:
        return True
    return bool(jobs[place].gain == jobs[other].gain and place > other)


@borrowing
def _find_growth(steps: NDArray[Any], pool: Any, job: Any) -> None:
    """Find a job's next useful number of hosts, or the first one that pays on idle hosts, and its gain for each host.

    The former does not depend on what others have: it is not looked for again until the job's hosts change.
    """
    job.stale, job.wider = 0, 0
    if job.elastic < 0 or _stays_too_short(steps, pool, job):
        return
    job.wider = steps[job.elastic, job.held].wider
    while job.wider > 0 and not _pays(steps, pool, job, job.wider, 0.0):
        job.stale, job.wider = 1, steps[job.elastic, job.wider].wider
        if job.wider - job.held > pool.idle:
            job.wider = 0
    if job.wider > 0:
        job.gain = _gain(steps, job, job.held, job.wider) / (job.wider - job.held)


@borrowing
def _stays_too_short(steps: NDArray[Any], pool: Any, job: Any) -> bool:
    """Return whether no growth pays, however much quicker the job would be: see `_pays`."""
    if job.granted == 0:
        return False
    within = min(pool.horizon, job.pause + job.rest * steps[job.elastic, job.held].seconds)
    return bool(within < pool.payback * (job.grow + job.shrink))


@borrowing
def _gain(steps: NDArray[Any], job: Any, fewer: int, more: int) -> float:
    """Return the change of 1/(remaining seconds) from fewer hosts to more, above 0."""
    slow, quick = job.rest * steps[job.elastic, fewer].seconds, job.rest * steps[job.elastic, more].seconds
    return float(1 / quick - 1 / slow)


@borrowing
def _pays(steps: NDArray[Any], pool: Any, job: Any, wider: int, shrinking: float) -> bool:
    """Return whether what a growth saves is worth the seconds that all its changes cost.

    `shrinking` is what it costs those that give hosts for it.
    """
    cost, before = shrinking, job.held
    if job.granted > 0:
        cost, before = cost + (job.grow + job.shrink), job.granted
    elif cost == 0.0:
        return True  # it starts now
    quick, slow = steps[job.elastic, wider].seconds, steps[job.elastic, before].seconds
    if cost == 0.0:
        return bool(quick <= slow)
    within = min(pool.horizon, job.pause + job.rest * steps[job.elastic, job.held].seconds)
    return bool(within * (1 - quick / slow) >= pool.payback * cost)


@borrowing
def _find_lenders(
    steps: NDArray[Any], pool: Any, jobs: NDArray[Any], running: NDArray[np.int64], borrower: int
) -> None:
    """Find what jobs would be left with, and what they would lose for each host; infinite where they lend none."""
    for index in range(pool.jobs):
        job = jobs[running[index]]
        job.ratio = np.inf
        if job.held > job.kept and running[index] != borrower:
            job.lower = max(steps[job.elastic, job.held].narrower, job.kept)
            job.ratio = _gain(steps, job, job.lower, job.held) / (job.held - job.lower)


@borrowing
def _loses_less(jobs: NDArray[Any], place: int, other: int) -> bool:
    """Return whether a job loses less for each host than another."""
    if jobs[place].ratio == jobs[other].ratio:
        return bool(place < other)
    return bool(jobs[place].ratio < jobs[other].ratio)


@borrowing
def _borrow(
    steps: NDArray[Any],
    pool: Any,
    jobs: NDArray[Any],
    running: NDArray[np.int64],
    lenders: NDArray[np.int64],
    borrower: int,
) -> bool:
    """Take the hosts that a growth misses of those who lose least by it; False where they lose more than it gains."""
    wider = jobs[borrower].wider
    missing = wider - jobs[borrower].held - pool.idle
    if pool.spare - (jobs[borrower].held - jobs[borrower].kept) < missing:
        return False
    _find_lenders(steps, pool, jobs, running, borrower)
    count, loss, cost, last, least = 0, 0.0, 0.0, -1, -np.inf
    while missing > 0:
        lender = -1
        for index in range(pool.jobs):
            place = running[index]
            each = jobs[place].ratio
            after = each > least or (each == least and place > last)
            if after and each < np.inf and (lender < 0 or _loses_less(jobs, place, lender)):
                lender = place
        if lender < 0:
            return False
        job = jobs[lender]
        last, least = lender, job.ratio
        lenders[count] = lender
        count += 1
        missing -= job.held - job.lower
        loss += _gain(steps, job, job.lower, job.held)
        cost += job.shrink if job.held == job.granted else 0.0
    gain = _gain(steps, jobs[borrower], jobs[borrower].held, wider)
    if gain <= loss * _STRICTLY or not _pays(steps, pool, jobs[borrower], wider, cost):
        return False
    for index in range(count):
        _give(pool, jobs[lenders[index]], jobs[lenders[index]].lower)
    return True
