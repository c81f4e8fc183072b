"""Lower bounds of the makespan, shown beside every schedule, and of missed deadlines."""

from __future__ import annotations

from dataclasses import replace
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.availability import normalised_availability, time_to_offer
from cosched.scheduling.decoding.decoder import dependency_order
from cosched.scheduling.elastic_bounds import WorkMixture
from cosched.scheduling.host_counts import narrowed, quickest_seconds, single_class
from cosched.scheduling.licence_bounds import licence_areas, licences_ready
from cosched.scheduling.packed_bounds import resource_areas
from cosched.scheduling.shapes import by_task, quickest_shape_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem

__all__ = ["fewest_missed", "lower_bound", "proved_optimal", "tight_bound"]

# Beyond these a task counts as in its cheapest way, whenever that ends: time grows with the square of the former.
_MOST_CLASSES = 8
_MOST_WAYS = 1_000_000  # (class, task, host count)


def lower_bound(problem: Problem) -> float:
    """Return a lower bound of the makespan in seconds after the origin; 0 without tasks.

    It is the larger of
    - the task bound: each task on its best count, after its release and its predecessors, on the hosts free first;
    - the area bound: the hosts' time from when they are free must hold every task at its cheapest, where only the
      counts that can end by the bound itself are of use; also for the tasks released late, on their own. An elastic
      task may mix its counts;
    - the same of each licence: it must be there for every task that holds it, for as long as that runs at its quickest.
    """
    if not problem.tasks:
        return 0.0
    if problem.packing is not None:
        return _packed_bound(problem, problem.packing)
    if problem.elastic:
        return _elastic_bound(problem, list(problem.elastic))
    seconds = quickest_seconds(narrowed(problem))
    earliest_end = _earliest_end(problem, _ready(problem, seconds), seconds)
    shortest = earliest_end.min(axis=1)
    return float(
        max(
            shortest.max(),
            _area(problem, _areas(seconds), earliest_end),
            _late_area(problem, _areas(seconds).min(axis=1)),
            _licence_bound(problem, seconds, earliest_end),
        )
    )


def proved_optimal(makespan: float, bound: float) -> bool:
    """Return whether no schedule is shorter: the makespan is at its lower bound, but for rounding."""
    return 0 < makespan <= bound * (1 + 1e-9)


def _elastic_bound(problem: Problem, elastic: Sequence[int]) -> float:
    """Return `lower_bound` with elastic tasks, which may grow as hosts become free and mix their counts."""
    seconds = quickest_seconds(narrowed(problem))
    soonest = float(problem.free.min())
    ready = _ready(replace(problem, free=np.full(len(problem.free), soonest)), seconds)
    earliest_end = _earliest_end(problem, ready, seconds)
    began = np.maximum(ready[elastic], soonest)
    earliest_end[elastic] = began[:, None] + seconds[elastic]
    mixtures = [WorkMixture(seconds[task].tolist()) for task in elastic]
    rigid = np.delete(np.arange(len(seconds)), elastic)
    areas, ends = _areas(seconds), earliest_end[rigid]

    def fill(time: float) -> float:
        """Return when the hosts have offered what is to be done at least, if all has ended by a time."""
        work = float(np.where(ends <= time, areas[rigid], np.inf).min(axis=1).sum())
        work += sum(each.least(time - begin) for each, begin in zip(mixtures, began.tolist(), strict=True))
        return time_to_offer(problem.free, problem.unavailability, work)

    low = float(max(earliest_end.min(axis=1).max(), _late_area(problem, areas.min(axis=1))))
    high = fill(low * (1 + 1e-12))
    if high <= low:
        return low
    while high - low > 1e-9 * high:  # what is to be done falls with the time, and what is offered grows
        middle = (low + high) / 2
        low, high = (middle, high) if fill(middle) > middle else (low, middle)
    return low


def _packed_bound(problem: Problem, packing: Packing) -> float:
    """Return `lower_bound` where tasks share hosts: by each resource, and by places on hosts."""
    seconds = quickest_shape_seconds(problem, packing)
    by_count = np.full((len(problem.tasks), int(packing.hosts.max())), np.inf)
    np.minimum.at(by_count, (packing.owner, packing.hosts - 1), seconds)
    ready = _ready(problem, by_count)
    alone = np.sort(problem.free)[packing.hosts - 1]
    earliest_end = by_task(packing, np.maximum(alone, ready[packing.owner]) + seconds)
    bound = float(earliest_end.min(axis=1).max())
    for offered, work, prices in resource_areas(problem, packing):
        areas = by_task(packing, np.where(np.isfinite(seconds), work, np.inf))
        bound = max(bound, _area(offered, areas, earliest_end, prices))
        if prices is not None:
            bound = max(bound, _late_area(offered, areas.min(axis=1), prices))
    return max(bound, _licence_bound(problem, by_task(packing, seconds), earliest_end))


def _licence_bound(problem: Problem, seconds: NDArray[np.float64], earliest_end: NDArray[np.float64]) -> float:
    """Return the area bound of each licence, the largest of them.

    Args:
        problem: the problem to schedule.
        seconds: (m, W) run times of each task in each way.
        earliest_end: (m, W) when each task could end in each way if it were alone.
    """
    bound, possible = 0.0, np.isfinite(seconds)
    finite = np.where(possible, seconds, 0.0)
    for free, amounts, demand in licence_areas(problem):
        offered = replace(problem, free=free, unavailability=())
        work = np.where(possible, demand[:, np.newaxis] * finite, np.inf)
        bound = max(bound, _area(offered, work, earliest_end, amounts))
        bound = max(bound, _late_area(offered, work.min(axis=1), amounts))
    return bound


def tight_bound(problem: Problem, lower: float | None = None) -> float:
    """Return `lower_bound` or, where classes differ, a larger bound from prices.

    The prices need machine code.

    With a price on a second of each class's hosts, by the time that a schedule ends the hosts must have offered as much
    as the tasks cost, each in the cheapest way that can end by then. `machine_prices` finds the prices for classes that
    are machines as quick as all their hosts together; any would do for a bound.

    Args:
        problem: the problem to schedule.
        lower: its `lower_bound`, where that is known.
    """
    lower = lower_bound(problem) if lower is None else lower
    if not problem.tasks or problem.packing is not None or single_class(problem) is not None:
        return lower
    from cosched.scheduling.kernels.mapping.machine_prices import machine_prices  # no other bound needs machine code

    present, host_class = np.unique(problem.host_class, return_inverse=True)
    sizes = np.bincount(host_class)
    narrow = narrowed(problem)
    best, seconds = quickest_seconds(narrow), narrow.seconds[present]
    areas = _areas(np.maximum(seconds, best))
    if len(sizes) > _MOST_CLASSES or areas.size > _MOST_WAYS:
        cheapest = areas.min(axis=2).T
        prices = machine_prices(cheapest / sizes)[0] / sizes
        cost = float((cheapest * prices).min(axis=1).sum())
        return max(lower, time_to_offer(problem.free, problem.unavailability, cost, prices[host_class]))
    ends = _earliest_end(problem, _ready(problem, best), np.maximum(seconds, best))
    alone = np.where(np.arange(seconds.shape[2]) < sizes[:, None, None], areas, np.inf)
    bound = lower
    for ways in (areas, alone):  # in all, or on hosts of one class: neither prices are always the better ones
        # What cannot end by the bound is of no use, and shall not decide about the prices.
        cheapest = np.where(ends <= bound * (1 + 1e-9), ways, np.inf).min(axis=2).T
        cheapest = cheapest[np.isfinite(cheapest).any(axis=1)]
        prices = (machine_prices(cheapest / sizes)[0] if len(cheapest) else np.full(len(sizes), 1 / len(sizes))) / sizes
        priced, ended = (np.concatenate(list(each), axis=1) for each in (_priced(seconds, sizes, prices), ends))
        bound = max(bound, _area(problem, priced, ended, prices[host_class]))
    return bound


def _priced(seconds: NDArray[np.float64], sizes: NDArray[np.int64], prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least work of each task on each count, by the slowest class used.

    Args:
        seconds: (K, m, W) run times.
        sizes: (K,) how many hosts there are of each class.
        prices: (K,) of a second of one of them.

    Returns:
        (K, m, W); infinite where there are too few hosts that are quick enough.
    """
    priced = np.empty(seconds.shape)
    for slowest, times in enumerate(seconds):
        missing = np.broadcast_to(np.arange(1.0, seconds.shape[2] + 1), times.shape)
        paid = np.zeros(times.shape)
        for each in np.argsort(prices).tolist():
            taken = np.where(seconds[each] <= times, np.minimum(missing, sizes[each]), 0.0)
            missing = missing - taken
            paid += taken * prices[each]
        possible = (missing == 0) & np.isfinite(times)
        priced[slowest] = np.multiply(paid, times, out=np.full(times.shape, np.inf), where=possible)
    return priced


def fewest_missed(problem: Problem) -> int:
    """Return a number of deadlines that every schedule misses.

    If tasks could be split at will, over hosts and in time, only the hosts' time up to each deadline would have to hold
    what is due by then, each task at the cheapest count that can be in time at all. Whom to give up in that case
    is known: in the order of deadlines, whenever the time does not suffice, the dearest so far (J. M. Moore, Management
    Science 15(1), 1968).
    """
    due = np.flatnonzero(np.isfinite(problem.deadline))
    seconds = quickest_seconds(narrowed(problem))
    in_time = _earliest_end(problem, _ready(problem, seconds), seconds) <= problem.deadline[:, None]
    cheapest = np.where(in_time, _areas(seconds), np.inf).min(axis=1)
    possible = due[np.isfinite(cheapest[due])]
    by_deadline = possible[np.argsort(problem.deadline[possible], kind="stable")]
    offered = np.maximum(problem.deadline[by_deadline, None] - problem.free, 0.0).sum(axis=1) * (1 + 1e-9)
    kept: list[float] = []  # host-seconds, negative: the largest is at the front of the heap
    needed = 0.0
    for area, there in zip(cheapest[by_deadline].tolist(), offered.tolist(), strict=True):
        needed += area
        if needed <= there:
            heappush(kept, -area)
        else:
            needed += heappushpop(kept, -area)
    return len(due) - len(kept)


def _ready(problem: Problem, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (m,): when each task could begin at the earliest; `seconds` are `quickest_seconds`."""
    ready = np.maximum(problem.release.astype(np.float64), licences_ready(problem))
    nth_free = np.sort(problem.free)[: seconds.shape[1]]
    if any(problem.depends_on):
        for task in dependency_order(problem, range(len(problem.tasks))):
            for other in problem.depends_on[task]:
                end = float((np.maximum(nth_free, ready[other]) + seconds[other]).min())
                ready[task] = max(ready[task], end)
    return ready


def _earliest_end(problem: Problem, ready: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return when each task could end on each host count if it were alone.

    `ready` is (m,) seconds after the origin; the result has the shape of `seconds`, (…, m, W).
    """
    nth_free = np.sort(problem.free)[: seconds.shape[-1]]
    earliest: NDArray[np.float64] = np.maximum(nth_free, ready[:, None]) + seconds
    return earliest


def _areas(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    areas: NDArray[np.float64] = seconds * np.arange(1, seconds.shape[-1] + 1)
    return areas


def _area(
    problem: Problem,
    areas: NDArray[np.float64],
    earliest_end: NDArray[np.float64],
    prices: NDArray[np.float64] | None = None,
) -> float:
    """Return the smallest time by which the necessary work of all tasks fits.

    Args:
        problem: the problem to schedule.
        areas: (m, W) host-seconds that each way needs, or what they cost.
        earliest_end: (m, W) when each task could end in each way if it were alone.
        prices: (N,) of a second of each host, where not all are 1.
    """
    lowest = float(earliest_end.min(axis=1).max())
    steps = np.unique(earliest_end[np.isfinite(earliest_end) & (earliest_end > lowest)])
    steps = np.concatenate(([lowest], steps))

    def fill(index: int) -> float:
        cheapest = np.where(earliest_end <= steps[index], areas, np.inf).min(axis=1)
        return max(
            float(steps[index]), time_to_offer(problem.free, problem.unavailability, float(cheapest.sum()), prices)
        )

    # Needed area falls and offered area grows with w, so "w is enough" flips once: bisect for the first step that is.
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        if fill(middle) <= steps[middle + 1]:
            high = middle
        else:
            low = middle + 1
    return fill(low)


def _late_area(problem: Problem, cheapest: NDArray[np.float64], prices: NDArray[np.float64] | None = None) -> float:
    """Return the area bound over the tasks released at or after each release time; `cheapest` is (m,) areas."""
    best = 0.0
    for release in np.unique(problem.release[problem.release > 0]):
        late = float(cheapest[problem.release >= release].sum())
        free, unavailability = normalised_availability(np.maximum(problem.free, release), problem.unavailability)
        best = max(best, time_to_offer(free, unavailability, late, prices))
    return best
