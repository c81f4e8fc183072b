"""When would a new elastic task end, by the number of hosts that it is promised? Start at `promised_ends`."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.planning.what_if import extend_queue
from cosched.scheduling.decoding.decoder import decode, soonest
from cosched.scheduling.elastic.lent_end import LoanTerms, end_with_loans
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.host_counts import quicker_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.planning.what_if import ExtendedQueue
    from cosched.coscheduler.task import Task
    from cosched.scheduling.packing import Packing
    from cosched.scheduling.plan import Plan
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
        only, choice = _on(queue, count)
        place = soonest(only, queue.with_place(choice), queue.ahead, queue.new)
        if place is not None and math.isfinite(place.end):
            expected = place.end
            if terms.lending and not task.spec.elastic.restart:
                plan = queue.with_place(choice)
                expected = _end_with_loans(core, task, only, plan, place, time)
            found.append(PromisedEnd(count, time + place.start, time + place.end, time + expected))
    return found


def _on(queue: ExtendedQueue, count: int) -> tuple[Problem, int]:
    """Return the problem with the new task on so many hosts alone, and how a plan chooses these."""
    problem, new = queue.problem, queue.new
    if (packing := problem.packing) is None:
        rows = problem.seconds.copy()
        rows[:, new] = np.inf
        rows[:, new, count - 1] = problem.seconds[:, new, count - 1]
        return replace(problem, seconds=rows), count
    first = int(packing.first[new])
    kept = np.append(np.arange(first), first + packing.hosts[first:].tolist().index(count))
    only = replace(
        packing,
        first=np.append(packing.first[: new + 1], first + 1),
        hosts=packing.hosts[kept],
        demand=packing.demand[kept],
        seconds=packing.seconds[kept],
    )
    return replace(problem, packing=only), first


def _end_with_loans(
    core: Coscheduler,
    new: Task,
    problem: Problem,
    plan: Plan,
    place: Assignment,
    time: float,
) -> float:
    """Return the end with loans, in seconds from now, of the new task at a place.

    Args:
        core: the domain.
        new: the task.
        problem: with the new task, its last one, on its promised number of hosts alone.
        plan: of all.
        place: of the new task.
        time: now, epoch seconds.
    """
    classes = dict(zip(problem.hosts, problem.host_class.tolist(), strict=True))
    own = classes[place.hosts[0]]
    assumptions = core.planning_view.assumptions(time, by_kind=True)
    count = 0 if new.profile is None else len(new.profile.seconds)
    times = tuple(run_times(new, replace(assumptions, handover=0.0), [problem.classes[own]], count)[0].tolist())
    able = [count for count, each in enumerate(times, start=1) if math.isfinite(each)]
    if len(place.hosts) not in able:
        return place.end
    latency, drain = assumptions.handover, core.elastic.drain
    task = ElasticTask("new", times, able[0], able[-1], able[0], latency, drain, drain)
    places = decode(problem, plan).assignments
    if problem.packing is None:
        busy = _busy(problem, places)
        lent = {host: spans for host, spans in busy.items() if classes[host] == own and host not in place.hosts}
    else:
        lent = _busy_places(problem, problem.packing, places, own)
    terms = core.settings.elastic.of(new.spec.application, new.owner)
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


def _busy_places(
    problem: Problem, packing: Packing, places: Sequence[Assignment], own: int
) -> dict[str, list[tuple[float, float]]]:
    """Return when each place for a worker of the last task is not idle, on shared hosts of its class.

    A host has as many places as workers could ever be there at once; they are numbered.
    """
    uses: list[list[tuple[float, float, Sequence[int]]]] = [[] for _ in problem.hosts]
    number, whole = {host: place for place, host in enumerate(problem.hosts)}, packing.capacity.tolist()
    for each in places:
        for name in each.hosts:
            uses[number[name]].append((each.start, each.end, each.taken))
    for held in packing.held:
        uses[held.host].append((0.0, held.until, held.taken))
    for host, free in enumerate(problem.free.tolist()):
        uses[host].append((0.0, free, whole[host]))
    for period in problem.unavailability:
        uses[period.host].append((period.begin, period.end, whole[period.host]))
    wanted = packing.demand[-1]
    found: dict[str, list[tuple[float, float]]] = {}
    for host, used in enumerate(uses):
        if problem.host_class[host] != own:
            continue
        times = sorted({0.0, *[time for begin, end, _ in used for time in (begin, end) if time < math.inf]})
        left = np.tile(packing.capacity[host], (len(times), 1))
        for begin, end, taken in used:
            left[bisect_left(times, begin) : bisect_left(times, end)] -= np.array(taken)
        fits = np.clip((left[:, wanted > 0] // wanted[wanted > 0]).min(axis=1), 0, None).tolist()
        ends = [*times[1:], math.inf]
        for place in range(max(fits)):
            busy = [(times[row], ends[row]) for row, fit in enumerate(fits) if fit <= place]
            found[f"{problem.hosts[host]}/{place}"] = _joined(busy)
    return found


def _joined(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return spans in ascending order, touching ones merged."""
    found: list[tuple[float, float]] = []
    for begin, end in spans:
        if found and found[-1][1] == begin:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found
