"""Find the host counts that a task can run on, and those worth using."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = [
    "best_seconds",
    "best_times",
    "class_base",
    "class_times",
    "encoded_choices",
    "largest_host_count",
    "longest_stay",
    "narrowed",
    "planned_times",
    "quicker_counts",
    "quickest_seconds",
    "runnable",
    "single_class",
    "staying_hosts",
    "useful_count_seconds",
    "useful_counts",
    "with_decoded_classes",
    "with_encoded_classes",
]


def quicker_counts(seconds: Sequence[float], most: int) -> list[int]:
    """Return the numbers of hosts that make a task quicker than fewer do; `most` of them, spread evenly.

    Args:
        seconds: its run times on 1, 2, … hosts, infinite where impossible.
        most: numbers that are returned, at least 2.
    """
    useful, shortest = [], math.inf
    for count, each in enumerate(seconds, start=1):
        if each < shortest:
            useful.append(count)
            shortest = each
    if len(useful) <= most:
        return useful
    return [useful[round(step * (len(useful) - 1) / (most - 1))] for step in range(most)]


def single_class(problem: Problem) -> int | None:
    """Return a class that stands for every host's; None where classes differ.

    It is the only class, or any of several with equal run times.
    """
    if len(problem.seconds) == 1:  # the usual case; asked several times at each event
        return 0
    first = int(problem.host_class[0])
    if bool(np.all(problem.host_class == first)):
        return first
    seconds, present = problem.seconds, np.unique(problem.host_class).tolist()
    for tasks in (slice(1), slice(None)):  # most that differ do so in the first task
        if not all(np.array_equal(seconds[each, tasks], seconds[first, tasks]) for each in present):
            return None
    return first


def class_times(problem: Problem) -> NDArray[np.float64]:
    """Return (K, m, N) run times by slowest class; K is 1 for equal hosts."""
    only = single_class(problem)
    return problem.seconds if only is None else problem.seconds[only : only + 1]


def planned_times(problem: Problem, plan: Plan) -> NDArray[np.float64]:
    """Return (K, m) `class_times` on the planned counts, infinite for a forbidden class."""
    times = class_times(problem)
    seconds = _at(times, plan.counts)
    if plan.classes is None or len(times) == 1:
        return seconds
    classes = np.arange(len(times))[:, np.newaxis]
    return np.where((plan.classes < 0) | (plan.classes == classes), seconds, np.inf)


def _at(times: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (K, m) run times on each task's count, from (K, m, N) times.

    Counts are clipped to 1 … N.
    """
    columns = np.minimum(np.maximum(counts, 1), times.shape[2]) - 1  # `clip` takes three times as long
    seconds: NDArray[np.float64] = times[:, np.arange(len(columns)), columns]
    return seconds


def runnable(problem: Problem, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (m,) whether each task can run on its count of hosts.

    `best_seconds` says it for all counts.
    """
    possible = np.isfinite(_at(problem.seconds, counts))
    sizes = np.bincount(problem.host_class[staying_hosts(problem)], minlength=len(problem.seconds))
    enough: NDArray[np.bool_] = (counts >= 1) & (sizes @ possible >= counts)
    return enough


def best_seconds(problem: Problem) -> NDArray[np.float64]:
    """Return each task's shortest run time by host count on idle hosts.

    A set of hosts runs a task as slowly as the slowest class in it, so the best n hosts are those of the n
    fastest for this task and count.

    Returns:
        (m, N) seconds; infinite where too few hosts can run the task on that count.
    """
    staying = staying_hosts(problem)
    only = single_class(problem)
    if only is not None:
        seconds: NDArray[np.float64] = problem.seconds[only]
        return seconds if staying.all() else np.where(np.arange(seconds.shape[1]) < staying.sum(), seconds, np.inf)
    if not staying.all():
        best = np.full(problem.seconds.shape[1:], np.inf)
        best[:, : staying.sum()] = best_times(problem.seconds[:, :, : staying.sum()], problem.host_class[staying])
        return best
    return best_times(problem.seconds, problem.host_class)


def quickest_seconds(problem: Problem) -> NDArray[np.float64]:
    """Return `best_seconds` for lower bounds: shorter where quicker hosts, which leave for good, stay long enough.

    Plans use them until they leave, though only with counts that the hosts which stay suffice for.
    """
    best, stay = best_seconds(problem), longest_stay(problem)
    if not stay or single_class(problem) is not None:
        return best
    sooner = best_times(problem.seconds, problem.host_class)
    return np.where(np.isfinite(best) & (sooner <= stay), sooner, best)


def longest_stay(problem: Problem) -> float:
    """Return for how many seconds a host is there that leaves for good, at most; 0 where none does."""
    gone = [(period.host, period.begin) for period in problem.unavailability if period.end == np.inf]
    return max([begin - float(problem.free[host]) for host, begin in gone], default=0.0)


def staying_hosts(problem: Problem) -> NDArray[np.bool_]:
    """Return (N,): which hosts stay or come back."""
    staying = np.isfinite(problem.free)
    staying[[period.host for period in problem.unavailability if period.end == np.inf]] = False
    return staying


def best_times(seconds: NDArray[np.float64], host_class: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return `best_seconds` of (K, m, N) seconds and (N,) classes of the hosts."""
    if len(seconds) == 1:
        alike: NDArray[np.float64] = seconds[0]
        return alike
    sizes = np.bincount(host_class, minlength=len(seconds))
    fastest_first = np.argsort(seconds, axis=0, kind="stable")
    available = np.cumsum(sizes[fastest_first], axis=0)
    enough = available >= np.arange(1, seconds.shape[2] + 1)
    ascending = np.take_along_axis(seconds, fastest_first, axis=0)
    best: NDArray[np.float64] = np.where(enough, ascending, np.inf).min(axis=0)
    return best


def useful_counts(problem: Problem) -> NDArray[np.bool_]:
    """Return (m, N) whether a plan needs to consider a host count.

    Each task keeps at least one.

    A count that is no faster than a smaller one is never needed on identical hosts: the smaller one ends no later
    and leaves more hosts free. With several classes a count stays if it is faster in any of them.
    """
    present = np.unique(problem.host_class)
    seconds = problem.seconds if len(present) == len(problem.seconds) else problem.seconds[present]  # else no copy
    fewer = np.minimum.accumulate(seconds, axis=2)
    faster = np.ones(seconds.shape, dtype=np.bool_)
    faster[:, :, 1:] = seconds[:, :, 1:] < fewer[:, :, :-1]
    kept: NDArray[np.bool_] = faster.any(axis=0) & np.isfinite(best_seconds(problem))
    return kept


def largest_host_count(problem: Problem) -> int:
    """Return the largest host count that some task can run on.

    Tables of large problems end there: kernels stop at some count, and of a thousand columns a few hold anything.
    """
    widest: int = problem.seconds.shape[2]
    if np.isfinite(problem.seconds[:, :, -1:]).any():
        return widest
    usable = np.flatnonzero(np.isfinite(problem.seconds).any(axis=(0, 1)))
    return int(usable[-1]) + 1 if len(usable) else 1


def narrowed(problem: Problem) -> Problem:
    """Return the problem with its run times up to the `widest` count only."""
    widest = largest_host_count(problem)
    return problem if widest == problem.seconds.shape[2] else replace(problem, seconds=problem.seconds[:, :, :widest])


def useful_count_seconds(problem: Problem) -> NDArray[np.float64]:
    """Return (m, W) best run times on useful counts, infinite for the others.

    They are the `best_seconds` of the `useful_counts`; W is the widest count.
    """
    narrow = narrowed(problem)
    return np.where(useful_counts(narrow), best_seconds(narrow), np.inf)


def class_base(problem: Problem) -> int:
    """Return the multiplier of a class in an encoded choice (see `encoded_choices`).

    It is one more than the largest host count.
    """
    return len(problem.hosts) + 1


def encoded_choices(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the choices that are worth using for each task.

    A choice is a host count; on several classes it may name the class whose hosts alone are taken, as count +
    `class_base` * (class + 1). Of these the counts stay that are faster than every smaller one in their class.

    Returns:
        The choices of all tasks, and (m+1,) where each task's begin: those of j are
        choices[first[j]:first[j+1]], ascending.
    """
    problem, base = narrowed(problem), class_base(problem)
    tables = [useful_counts(problem)]
    if single_class(problem) is None:
        tables += [_useful_within(problem, each) for each in range(len(problem.classes))]
    tasks, columns = np.nonzero(np.concatenate(tables, axis=1))
    kinds, counts = np.divmod(columns, tables[0].shape[1])
    first = np.searchsorted(tasks, np.arange(len(problem.tasks) + 1)).astype(np.int64)
    return (counts + 1 + base * kinds).astype(np.int64), first


def with_encoded_classes(problem: Problem, plan: Plan) -> Plan:
    """Return a plan with encoded host counts (see `encoded_choices`)."""
    if plan.classes is None or problem.packing is not None or single_class(problem) is not None:
        return Plan(plan.order, plan.counts)
    return Plan(plan.order, plan.counts + class_base(problem) * (plan.classes + 1))


def with_decoded_classes(problem: Problem, plan: Plan) -> Plan:
    """Return a plan of encoded choices as one of host counts and classes."""
    if problem.packing is not None or single_class(problem) is not None:
        return plan
    return Plan(plan.order, plan.counts % class_base(problem), plan.counts // class_base(problem) - 1)


def _useful_within(problem: Problem, each: int) -> NDArray[np.bool_]:
    """Return (m, N): which counts are worth using on hosts of one class alone."""
    seconds = problem.seconds[each]
    faster: NDArray[np.bool_] = np.isfinite(seconds)
    faster[:, 1:] &= seconds[:, 1:] < np.minimum.accumulate(seconds, axis=1)[:, :-1]
    faster[:, int((problem.host_class[staying_hosts(problem)] == each).sum()) :] = False
    return faster
