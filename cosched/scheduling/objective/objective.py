"""Measure a schedule: makespan, idle time, lateness, deadlines met, slowdown, and the objective.

The front-weighted idle time and the weighted sum follow the Titan scheduler (Spooner et al., IEE Proc. Computers and
Digital Techniques 150(2), 2003) as reconstructed from the published descriptions. There, seconds are added to a pure
number; here each term is made a number of order one first, so that weights mean the same for every queue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.objective.slowdown import Slowdowns, UnknownWaitsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.packing import Packing
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment, Schedule, TaskPiece

__all__ = [
    "MISSED",
    "Metrics",
    "measure",
    "measure_pieces",
    "measure_plan",
    "measure_times",
    "objective",
    "packed_offer",
]

MISSED = 1e6
"""What a missed deadline costs where deadlines come first: far above the other terms, far below the end of a float."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures of one schedule.

    Attributes:
        makespan: when the last task ends, in seconds after the origin.
        idle: share of the time up to the makespan in which hosts are free, and there, in which they run nothing, 0…1.
        front_idle: Titan's φ divided by the number of hosts: idle time whose weight falls linearly from the origin to
            zero at the makespan, 0…1.
        lateness: Σ max(0, end - deadline) in seconds.
        with_deadline: number of tasks that have a deadline.
        on_time: how many of them end by it.
        average_delay: mean of deadline - end over them in seconds, positive when early; None without any.
        weighted_lateness: lateness, each task's times its weight; None where all weights are 1.
        slowdown: mean bounded slowdown; None where the problem does not say how long tasks have waited.
        least_slowdown: lower bound of it.
        weighted_missed: sum of the weights of tasks that miss their deadline; None where all weights are 1.
    """

    makespan: float
    idle: float
    front_idle: float
    lateness: float
    with_deadline: int
    on_time: int
    average_delay: float | None
    weighted_lateness: float | None = None
    weighted_missed: float | None = None
    slowdown: float | None = None
    least_slowdown: float = 1.0

    @property
    def on_time_share(self) -> float | None:
        """Share of the tasks with a deadline that meet it; None without any deadline."""
        return self.on_time / self.with_deadline if self.with_deadline else None


def measure(problem: Problem, schedule: Schedule) -> Metrics:
    """Measure a schedule."""
    place = {name: task for task, name in enumerate(problem.tasks)}
    items = schedule.assignments
    return _measure(
        problem,
        np.array([place[item.task] for item in items], dtype=np.int64),
        np.array([item.start for item in items], dtype=np.float64),
        np.array([item.end for item in items], dtype=np.float64),
        _parts(problem, items),
    )


def measure_pieces(problem: Problem, promised: Schedule, pieces: Sequence[TaskPiece]) -> Metrics:
    """Measure a schedule with elastic tasks: deadlines by the promise, everything else by what is expected.

    Args:
        problem: hosts that are not shared.
        promised: the schedule.
        pieces: the pieces in which its tasks are expected to run, by their starts.
    """
    starts, ends = np.array([(piece.start, piece.end) for piece in pieces]).reshape(-1, 2).T
    hosts = np.array([len(piece.hosts) for piece in pieces], dtype=np.float64)
    makespan = float(ends.max(initial=0.0))
    idle, available, front = _idle(problem, makespan, starts, ends, hosts)
    share, judged = idle / available if available > 0 else 0.0, measure(problem, promised)
    if problem.waited is not None:
        last = {piece.task: piece.end for piece in pieces}  # by start
        slowdown = Slowdowns.of(problem).mean(np.arange(len(last)), np.array([last[name] for name in problem.tasks]))
        judged = replace(judged, slowdown=slowdown)
    return replace(judged, makespan=makespan, idle=share, front_idle=front)


def _parts(problem: Problem, items: tuple[Assignment, ...]) -> NDArray[np.float64]:
    """Return how many hosts each task has, or where they are shared which part of all cores."""
    if problem.packing is None:
        return np.array([len(item.hosts) for item in items], dtype=np.float64)
    cores = float(problem.packing.capacity[:, 0].sum())
    return np.array([len(item.hosts) * item.taken[0] for item in items], dtype=np.float64) / cores


def packed_offer(problem: Problem, packing: Packing) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return which part of all cores tasks take, and when which part is there.

    Returns:
        (S,) part of each shape, and (A, 2) times with the parts that come then, or go (below 0).
    """
    cores = packing.capacity[:, 0].astype(np.float64)
    changes = [(free, had) for free, had in zip(problem.free.tolist(), cores.tolist(), strict=True)]
    for host, begin, end in problem.unavailability:
        changes += [(begin, -float(cores[host])), (end, float(cores[host]))]
    for host, until, taken in packing.held:
        if until > problem.free[host]:
            changes += [(float(problem.free[host]), -float(taken[0])), (until, float(taken[0]))]
    offered = np.array([change for change in changes if change[0] < np.inf], dtype=np.float64).reshape(-1, 2)
    offered[:, 1] /= cores.sum()
    return packing.area[:, 0] / cores.sum(), offered


def measure_plan(problem: Problem, plan: Plan) -> Metrics:
    """Measure the schedule of a plan without assigning its hosts.

    It is several times quicker than decoding.

    Raises:
        ValueError: a host count cannot be used for its task.
    """
    starts, ends = (np.array(times, dtype=np.float64)[plan.order] for times in spans(problem, plan))
    parts = plan.counts.astype(np.float64)
    if problem.packing is not None:
        parts = packed_offer(problem, problem.packing)[0][plan.counts]
    return _measure(problem, plan.order, starts, ends, parts[plan.order])


def measure_times(
    problem: Problem, starts: NDArray[np.float64], ends: NDArray[np.float64], counts: NDArray[np.int64]
) -> Metrics:
    """Measure a schedule from its tasks' starts, ends and host counts, (m,) each."""
    return _measure(problem, np.arange(len(starts)), starts, ends, counts.astype(np.float64))


def objective(metrics: Metrics, weights: Weights, bound: float) -> float:
    """Return the weighted mean of the normalised makespan, idle share, lateness and slowdown.

    The terms are makespan ÷ bound, front-weighted idle share, mean lateness ÷ bound and mean slowdown ÷ the least one.

    Where deadlines come first, each that is missed adds `MISSED`. Lateness and missed deadlines count by the weights of
    their tasks (`Problem.weight`).

    Args:
        metrics: metrics of the schedule.
        weights: not negative, not all zero.
        bound: a lower bound of the makespan in seconds (> 0), the unit that makes times pure numbers.

    Raises:
        UnknownWaitsError: slowdown has a weight, and has not been measured.
    """
    lateness = metrics.lateness if metrics.weighted_lateness is None else metrics.weighted_lateness
    number = metrics.with_deadline - metrics.on_time if metrics.weighted_missed is None else metrics.weighted_missed
    late = lateness / (max(metrics.with_deadline, 1) * bound)
    total = weights.makespan + weights.idle + weights.lateness + weights.slowdown
    missed = MISSED * number if weights.deadlines_first else 0.0
    terms = weights.makespan * metrics.makespan / bound + weights.idle * metrics.front_idle + weights.lateness * late
    if weights.slowdown:
        if metrics.slowdown is None:
            raise UnknownWaitsError
        terms += weights.slowdown * metrics.slowdown / metrics.least_slowdown
    return missed + terms / total


def _measure(
    problem: Problem,
    tasks: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> Metrics:
    """Measure tasks by their places in the problem, starts, ends and host counts, or parts of all cores."""
    makespan = float(ends.max(initial=0.0))
    idle, available, front = _idle(problem, makespan, starts, ends, counts)
    early = problem.deadline[tasks] - ends
    due = np.isfinite(early)
    early = early[due]
    weight = None if problem.weight is None else problem.weight[tasks][due]
    slowdowns = None if problem.waited is None else Slowdowns.of(problem)
    return Metrics(
        makespan=makespan,
        idle=idle / available if available > 0 else 0.0,
        front_idle=front,
        lateness=float(np.maximum(-early, 0.0).sum()),
        with_deadline=len(early),
        on_time=int((early >= 0).sum()),
        average_delay=float(early.mean()) if len(early) else None,
        weighted_lateness=None if weight is None else float((np.maximum(-early, 0.0) * weight).sum()),
        weighted_missed=None if weight is None else float(weight[early < 0].sum()),
        slowdown=None if slowdowns is None else slowdowns.mean(tasks, ends),
        least_slowdown=1.0 if slowdowns is None else slowdowns.least,
    )


def _absent(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return begins and ends of all unavailability."""
    times = np.array([(period.begin, period.end) for period in problem.unavailability]).reshape(-1, 2)
    return times[:, 0], times[:, 1]


def _idle(
    problem: Problem,
    makespan: float,
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> tuple[float, float, float]:
    """Return idle host-seconds, available host-seconds and the front-weighted idle share; of shared hosts the cores.

    An idle pocket from a to b adds ((w-a)² - (w-b)²)/w² to φ at a makespan of w (Titan's ΔT(2w - 2T - ΔT)/w²), so φ is
    what is available less what is used, and no pocket needs to be found.
    """
    if makespan <= 0:
        return 0.0, 0.0, 0.0
    if problem.packing is not None:
        times, amounts = packed_offer(problem, problem.packing)[1].T
        left = makespan - np.minimum(times, makespan)
        available = float((amounts * left).sum())
        used = float((counts * (ends - starts)).sum())
        busy = counts * ((makespan - starts) ** 2 - (makespan - ends) ** 2)
        front = float((amounts * left**2).sum() - busy.sum())
        return max(0.0, available - used), available, max(0.0, front / makespan**2)
    left = makespan - np.minimum(problem.free, makespan)
    gone, back = (makespan - np.minimum(times, makespan) for times in _absent(problem))
    available = float(left.sum() - gone.sum() + back.sum())
    used = float((counts * (ends - starts)).sum())
    busy = counts * ((makespan - starts) ** 2 - (makespan - ends) ** 2)
    front = float((left**2).sum() - (gone**2 - back**2).sum() - busy.sum())
    return max(0.0, available - used), available, max(0.0, front / (len(left) * makespan**2))
