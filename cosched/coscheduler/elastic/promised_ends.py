"""When would a new elastic task end, by the number of hosts that it is promised? Start at `promised_ends`."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.planning.what_if import extend_queue
from cosched.scheduling.decoding.decoder import decode, soonest
from cosched.scheduling.elastic.lent_end import LoanTerms, end_with_loans
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.host_counts import quicker_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.elastic.values import ElasticSettings
    from cosched.coscheduler.planning.what_if import ExtendedQueue
    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment

__all__ = ["PromisedEnd", "promised_ends"]

_MOST = 8  # numbers of hosts that are looked at: each takes a decode of the whole plan


@dataclass(frozen=True, slots=True)
class PromisedEnd:
    """Both ends of an elastic task that is promised so many hosts. Times are epoch seconds.

    Attributes:
        hosts: promised, with the lead's.
        start: when they are there.
        promised: its end on these hosts alone.
        expected: its end with loans of what the plan leaves idle, of which other elastic tasks may take some.
    """

    hosts: int
    start: float
    promised: float
    expected: float


def promised_ends(core: Coscheduler, task: Task, time: float) -> list[PromisedEnd]:
    """Return the ends for each useful number of hosts, ascending; for some of them where there are many.

    None for a task that is not elastic, or for which nothing can be predicted.
    """
    if task.spec.elastic is None or (queue := extend_queue(core, task, time)) is None:
        return []
    terms = core.settings.elastic.of(task.spec.application, task.owner)
    seconds = queue.problem.seconds[:, queue.new]
    found: list[PromisedEnd] = []
    for count in quicker_counts(seconds.min(axis=0).tolist(), _MOST):
        rows = queue.problem.seconds.copy()
        rows[:, queue.new] = np.inf
        rows[:, queue.new, count - 1] = seconds[:, count - 1]
        only = replace(queue.problem, seconds=rows)
        place = soonest(only, queue.with_place(count), queue.ahead, queue.new)
        if place is not None and math.isfinite(place.end):
            expected = place.end
            if terms.lending and not task.spec.elastic.restart:
                expected = _end_with_loans(core, terms, replace(queue, problem=only), place, seconds, time)
            found.append(PromisedEnd(count, time + place.start, time + place.end, time + expected))
    return found


def _end_with_loans(
    core: Coscheduler,
    terms: ElasticSettings,
    queue: ExtendedQueue,
    place: Assignment,
    seconds: NDArray[np.float64],
    time: float,
) -> float:
    """Return the end with loans, in seconds from now, of the new task at a place.

    Args:
        core: the domain.
        terms: on which the task is lent hosts.
        queue: with the new task on its promised number of hosts alone.
        place: of the new task.
        seconds: (classes, N) its run times.
        time: now, epoch seconds.
    """
    problem = queue.problem
    classes = dict(zip(problem.hosts, problem.host_class.tolist(), strict=True))
    own = classes[place.hosts[0]]
    times = tuple(seconds[own].tolist())
    able = [count for count, each in enumerate(times, start=1) if math.isfinite(each)]
    if len(place.hosts) not in able:
        return place.end
    latency, drain = core.planning_view.assumptions(time).handover, core.elastic.drain
    task = ElasticTask("new", times, able[0], able[-1], able[0], latency, drain, drain)
    schedule = decode(problem, queue.with_place(len(place.hosts)))
    busy = _busy(problem, schedule.assignments)
    lent = {host: spans for host, spans in busy.items() if classes[host] == own and host not in place.hosts}
    return end_with_loans(task, len(place.hosts), place.start, lent, LoanTerms(terms.payback, terms.settle))


def _busy(problem: Problem, places: Sequence[Assignment]) -> dict[str, list[tuple[float, float]]]:
    """Return when each host is not idle, in seconds from now."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for place in places:
        for host in place.hosts:
            spans[host].append((place.start, place.end))
    for host, free in zip(problem.hosts, problem.free.tolist(), strict=True):
        spans[host].append((0.0, free))
    for period in problem.unavailability:
        spans[problem.hosts[period.host]].append((period.begin, period.end))
    return {host: sorted(found) for host, found in spans.items()}
