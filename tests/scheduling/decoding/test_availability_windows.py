from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.decoding.availability_windows import WindowDecoder, window_pools
from cosched.scheduling.decoding.decoder import decode, spans
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.plan import Plan
from cosched.scheduling.schedule import check_schedule
from tests.exploring import examples
from tests.scheduling.problems import a_plan, a_problem, plans, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def away(problem: Problem, *unavailability: tuple[int, float, float]) -> Problem:
    return replace(problem, unavailability=tuple(Unavailability(*each) for each in unavailability))


@given(st.data())
def test_whatever_is_decoded_is_feasible_and_above_the_bound(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=True))
    plan, in_order = data.draw(plans(problem)), data.draw(st.booleans())
    schedule = decode(problem, plan, in_order=in_order)
    assert check_schedule(problem, schedule) == []
    assert schedule.makespan >= tight_bound(problem) * (1 - 1e-12)
    assert max(spans(problem, plan, in_order=in_order)[1]) == schedule.makespan
    assert 0 <= measure(problem, schedule).idle <= 1
    assert 0 <= measure(problem, schedule).front_idle <= 1


def test_a_short_task_fills_the_hole_before_its_host_leaves() -> None:
    problem = away(a_problem([[9.0], [4.0]], hosts=1), (0, 5.0, 8.0))
    schedule = decode(problem, a_plan([0, 1], [1, 1]))
    assert [(item.task, item.start) for item in schedule.assignments] == [("a", 8.0), ("b", 0.0)]


def test_a_task_takes_the_host_that_leaves_first() -> None:
    problem = away(a_problem([[4.0], [9.0]], hosts=2), (1, 5.0, 8.0))
    schedule = decode(problem, a_plan([0, 1], [1, 1]))
    assert [item.hosts for item in schedule.assignments] == [("h1",), ("h0",)]


def test_a_host_that_leaves_for_good_is_used_until_then() -> None:
    problem = away(a_problem([[4.0], [4.0]], hosts=2), (1, 5.0, math.inf))
    assert decode(problem, a_plan([0, 1], [1, 1])).makespan == 4.0


def test_of_hosts_that_leave_together_the_one_that_became_free_last_is_taken() -> None:
    problem = away(a_problem([[2.0]], hosts=3, free=[0.0, 1.0, 2.0], release=[2.0]), (0, 9.0, 12.0), (1, 9.0, 11.0))
    assert decode(problem, a_plan([0], [1])).assignments[0].hosts == ("h1",)


def test_windows_too_short_for_any_task_are_none() -> None:
    problem = away(a_problem([[4.0], [5.0]], hosts=2), (0, 3.0, 8.0), (1, 4.0, 9.0), (1, 12.0, 20.0))
    assert [(pool.until, pool.free) for pool in window_pools(problem)] == [
        (4.0, [(0.0, 1)]),
        (math.inf, [(8.0, 0), (20.0, 1)]),
    ]


@given(st.data())
def test_the_soonest_end_of_one_more_task_is_that_of_the_best_count_behind_the_others(data: st.DataObject) -> None:
    problem = replace(data.draw(problems(unavailability=True)), depends_on=())
    plan = replace(data.draw(plans(problem)), classes=None)
    *others, new = order = plan.order.tolist()
    found = WindowDecoder(problem).soonest(others, plan, new)
    assert found is not None
    places = []
    for count in (np.flatnonzero(np.isfinite(best_seconds(problem)[new])) + 1).tolist():
        counts = np.where(np.arange(len(order)) == new, count, plan.counts)
        last = WindowDecoder(problem).decode(order, Plan(plan.order, counts)).assignments[-1]
        places.append((last.end, len(last.hosts), last.start))
    assert (found.end, len(found.hosts), found.start) == min(places)


@settings(max_examples=examples(13))
@given(problems(tasks=3, hosts=2, classes=1, whole=True, unavailability=True))
def test_the_best_plan_is_the_best_schedule_there_is(problem: Problem) -> None:
    usable = [(np.flatnonzero(np.isfinite(row)) + 1).tolist() for row in problem.seconds[problem.host_class[0]]]
    lasting = int(np.isfinite(problem.free).sum()) - sum(math.isinf(period.end) for period in problem.unavailability)
    best = min(
        decode(problem, Plan(np.array(order), np.array(counts))).makespan
        for order in itertools.permutations(range(len(problem.tasks)))
        for counts in itertools.product(*[[count for count in row if count <= lasting] for row in usable])
    )
    assert best == exhaustive(problem, lasting)


def exhaustive(problem: Problem, widest: int) -> float:
    """Return the shortest makespan over all whole starts and all sets of hosts, by trying them."""
    seconds = problem.seconds[problem.host_class[0]]
    ends = [*problem.free.tolist(), *problem.release.tolist(), *[period.end for period in problem.unavailability]]
    last = max(end for end in ends if math.isfinite(end))
    horizon = int(last + seconds[np.isfinite(seconds)].max() * len(problem.tasks)) + 1
    there = np.array([[time >= free for time in range(horizon)] for free in problem.free])
    for period in problem.unavailability:
        there[period.host, int(period.begin) : int(min(period.end, horizon))] = False
    before = problem.depends_on or ((),) * len(problem.tasks)
    shortest = math.inf

    def place(task: int, ends: tuple[int, ...]) -> None:
        nonlocal shortest
        if task == len(problem.tasks):
            shortest = min(shortest, max(ends))
            return
        ready = max([int(problem.release[task]), *[ends[other] for other in before[task]]])
        for count in range(1, widest + 1):
            length = seconds[task, count - 1]
            for start in range(ready, int(min(horizon, shortest) - length) if math.isfinite(length) else 0):
                end = start + int(length)
                for hosts in itertools.combinations(range(len(problem.hosts)), count):
                    if there[list(hosts), start:end].all():
                        there[list(hosts), start:end] = False
                        place(task + 1, (*ends, end))
                        there[list(hosts), start:end] = True

    place(0, ())
    return shortest
