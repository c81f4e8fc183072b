"""Heuristic plans of moldable tasks: two-phase, earliest deadline, longest first, earliest finish.

Each returns a `Plan` and needs nothing compiled; `best_heuristic` compares them all. On several classes host counts
are chosen as if the fastest hosts were free; the decoder then assigns hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import dependency_order, spans
from cosched.scheduling.decoding.free_hosts import IdenticalFreeHosts
from cosched.scheduling.heuristics import batch_queue
from cosched.scheduling.heuristics.batch_queue import calculated_counts
from cosched.scheduling.heuristics.licensed_tasks import licensed_plans
from cosched.scheduling.heuristics.list_scheduling import list_order
from cosched.scheduling.heuristics.packed_tasks import packed_plans
from cosched.scheduling.heuristics.short_waits import short_wait_plans
from cosched.scheduling.host_counts import best_seconds, narrowed, useful_count_seconds, useful_counts
from cosched.scheduling.objective.objective import measure_plan, objective
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem

    _Lister = Callable[[Problem, Sequence[int], Sequence[int], Sequence[float]], list[int]]

__all__ = [
    "best_heuristic",
    "earliest_deadline_first",
    "earliest_finish",
    "late_last",
    "longest_first",
    "threshold_plans",
    "two_phase",
]

_MOST_THRESHOLDS = 32


def two_phase(problem: Problem) -> Plan:
    """Return the plan with the shortest makespan among the `threshold_plans`.

    Stops as soon as no plan to come can be shorter.
    """
    bound = lower_bound(problem)
    best: Plan | None = None
    shortest = np.inf
    for promise, plan in _promising_plans(problem, _MOST_THRESHOLDS):
        if best is not None and shortest <= max(bound, promise):
            break
        makespan = max(spans(problem, plan)[1], default=0.0)
        if best is None or makespan < shortest:
            best, shortest = plan, makespan
    assert best is not None, "every problem has a threshold"
    return best


def threshold_plans(problem: Problem, most: int = _MOST_THRESHOLDS, lister: _Lister = list_order) -> Iterator[Plan]:
    """Yield the plans of the two-phase method (Turek, Wolf, Yu: SPAA 1992), the likeliest first.

    First the counts: for a threshold D each task takes the count with the least host-seconds that runs it within D (its
    fastest where none does). Then a list, scheduled after Graham: by run time, area and width descending, and by
    deadline where there are any.

    Args:
        problem: the problem to schedule.
        most: largest number of thresholds to try, those with the smallest max(longest run time, area ÷ hosts).
        lister: does what `list_scheduling.list_order` does.
    """
    return (plan for _, plan in _promising_plans(problem, most, lister))


def _promising_plans(problem: Problem, most: int, lister: _Lister = list_order) -> Iterator[tuple[float, Plan]]:
    """Yield pairs of the least makespan from each threshold on, and its plan."""
    seconds = useful_count_seconds(problem)
    areas = seconds * np.arange(1, seconds.shape[1] + 1)
    tasks, due = np.arange(len(problem.tasks)), bool(np.isfinite(problem.deadline).any())
    for promise, column in _settled_counts(seconds, areas, len(problem.hosts), most):
        length, area, counts = seconds[tasks, column], areas[tasks, column], column.astype(np.int64) + 1
        keys = [(-area, -length), (-length, -area), (-area, -counts)]
        if due:
            keys.append((-length, problem.deadline))
        for key in keys:
            order = lister(problem, np.lexsort(key).tolist(), counts.tolist(), length.tolist())
            yield promise, Plan(np.array(order, dtype=np.int64), counts)


def _settled_counts(
    seconds: NDArray[np.float64], areas: NDArray[np.float64], hosts: int, most: int
) -> list[tuple[float, NDArray[np.intp]]]:
    """Return (promise, column of each task) for the most promising thresholds, without repetition."""
    tasks = np.arange(seconds.shape[0])
    fastest = seconds.argmin(axis=1)
    choices: dict[bytes, tuple[float, NDArray[np.intp]]] = {}
    for threshold in _thresholds(seconds, most):
        within = np.where(seconds <= threshold, areas, np.inf)
        cheapest = within.argmin(axis=1)
        column = np.where(np.isfinite(within[tasks, cheapest]), cheapest, fastest)
        promise = max(float(seconds[tasks, column].max()), float(areas[tasks, column].sum()) / hosts)
        choices.setdefault(column.tobytes(), (promise, column))
    return sorted(choices.values(), key=lambda choice: choice[0])[:most]


def earliest_finish(problem: Problem) -> Plan:
    """Plan tasks in order of arrival, each on the count on which it ends first."""
    return _greedy(problem, range(len(problem.tasks)), _ends_first)


def longest_first(problem: Problem) -> Plan:
    """Plan the task with the longest best run time first, each where it ends first."""
    shortest = best_seconds(problem).min(axis=1)
    return _greedy(problem, np.argsort(-shortest, kind="stable").tolist(), _ends_first)


def earliest_deadline_first(problem: Problem) -> Plan:
    """Return the plan in order of deadlines, each task as cheap as its deadline allows.

    A task takes the count with the least host-seconds that meets its deadline. One that none meets takes the cheapest
    of all: hurrying it would make others late too (measured: twice as many tasks on time on a loaded domain). Ties in
    the deadline go by release and then by the longest best run time.
    """
    return _greedy(problem, _by_deadline(problem), _cheapest_on_time)


def late_last(problem: Problem) -> Plan:
    """Return the plan of `earliest_deadline_first` with late tasks behind all others.

    Unavoidably late tasks make room for the others (in the spirit of Moore, Management Science 15(1), 1968).
    """
    useful = _HostCounts.table(problem)
    free = IdenticalFreeHosts(problem.free.tolist())
    ends: dict[int, float] = {}
    late: list[int] = []
    for task in dependency_order(problem, _by_deadline(problem)):
        before = problem.depends_on[task] if problem.depends_on else ()
        if not ends.keys() >= set(before):  # behind one that is late
            late.append(task)
            continue
        options = _options(useful[task], free, problem.ready(task, ends))
        chosen = _cheapest_on_time(options, float(problem.deadline[task]))
        if chosen.end > problem.deadline[task]:
            late.append(task)
            continue
        ends[task] = chosen.end
        free.take(chosen.hosts, chosen.end)
    return _greedy(problem, [*ends, *late], _cheapest_on_time)


def _by_deadline(problem: Problem) -> list[int]:
    shortest = best_seconds(problem).min(axis=1)
    order: list[int] = np.lexsort((-shortest, problem.release, problem.deadline)).tolist()
    return order


class _Option(NamedTuple):
    """One way to place a task: its hosts, its end and its area in host-seconds."""

    hosts: int
    end: float
    area: float


class _HostCounts(NamedTuple):
    """The useful host counts of one task and the run time on each."""

    counts: tuple[int, ...]
    seconds: tuple[float, ...]

    @classmethod
    def table(cls, problem: Problem) -> list[_HostCounts]:
        narrow = narrowed(problem)
        kept, seconds = useful_counts(narrow), best_seconds(narrow)
        columns = [np.flatnonzero(row) for row in kept]
        return [
            cls(tuple((column + 1).tolist()), tuple(seconds[task, column].tolist()))
            for task, column in enumerate(columns)
        ]


def _options(useful: _HostCounts, free: IdenticalFreeHosts, ready: float) -> list[_Option]:
    return [
        _Option(count, max(free.earliest(count), ready) + seconds, count * seconds)
        for count, seconds in zip(useful.counts, useful.seconds, strict=True)
    ]


def _greedy(problem: Problem, order: Sequence[int], choose: Callable[[list[_Option], float], _Option]) -> Plan:
    """Place tasks one by one, each on the count that `choose` picks from (options, deadline)."""
    useful = _HostCounts.table(problem)
    free = IdenticalFreeHosts(problem.free.tolist())
    ends: dict[int, float] = {}
    counts = np.ones(len(problem.tasks), dtype=np.int64)
    final = dependency_order(problem, order)
    for task in final:
        ready = problem.ready(task, ends)
        chosen = choose(_options(useful[task], free, ready), float(problem.deadline[task]))
        counts[task] = chosen.hosts
        ends[task] = chosen.end
        free.take(chosen.hosts, chosen.end)
    return Plan(np.array(final, dtype=np.int64), counts)


def _ends_first(options: list[_Option], _deadline: float) -> _Option:
    return min(options, key=lambda option: (option.end, option.hosts))


def _cheapest_on_time(options: list[_Option], deadline: float) -> _Option:
    on_time = [option for option in options if option.end <= deadline]
    return min(on_time or options, key=lambda option: (option.area, option.end))


def _thresholds(seconds: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Return the distinct run times, or `most` of them evenly spread by rank."""
    distinct = np.unique(seconds[np.isfinite(seconds)])
    if len(distinct) <= 2 * most:
        return distinct
    return distinct[np.linspace(0, len(distinct) - 1, 2 * most).round().astype(np.int64)]


def best_heuristic(problem: Problem, weights: Weights, within: Callable[[], bool]) -> tuple[Plan, int]:
    """Return the heuristics' best plan, and how many plans were compared.

    Args:
        problem: at least one task.
        weights: weights of the objective's terms.
        within: whether there is time for one more; asked before each but the first.
    """
    bound = lower_bound(problem)
    best: Plan | None = None
    least, compared = np.inf, 0
    for plan in _licensed(problem):
        cost = objective(measure_plan(problem, plan), weights, bound)
        compared += 1
        if best is None or cost < least:
            best, least = plan, cost
        if not within():
            break
    assert best is not None, "there is a first heuristic"
    return best, compared


def _licensed(problem: Problem) -> Iterator[Plan]:
    for plan in _plans(problem):
        yield from licensed_plans(problem, [plan])


def _plans(problem: Problem) -> Iterator[Plan]:
    """Yield the plans, the quickest first."""
    if problem.packing is not None:
        yield from packed_plans(problem, problem.packing)
        return
    yield earliest_deadline_first(problem)
    if np.isfinite(problem.deadline).any():
        yield late_last(problem)
    yield longest_first(problem)
    yield earliest_finish(problem)
    if problem.waited is not None:
        yield from short_wait_plans(problem)
    yield two_phase(problem)  # a second for 3,000 tasks on 256 hosts, ten times as long as those before
    yield batch_queue.easy(problem, calculated_counts(best_seconds(problem)))
