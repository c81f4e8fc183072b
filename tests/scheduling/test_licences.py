from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode, soonest, spans
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.licences import binding
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.schedule import Assignment, Schedule, check_schedule
from cosched.scheduling.search.run import Limit
from tests.exploring import examples
from tests.scheduling.licensed import licensed, with_one_licence
from tests.scheduling.packed import a_packed_problem, packed_plans, packed_problems
from tests.scheduling.problems import a_plan, a_problem, plans, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def places(problem: Problem, order: list[int], counts: list[int]) -> dict[str, tuple[float, float]]:
    schedule = decode(problem, a_plan(order, counts))
    assert check_schedule(problem, schedule) == []
    return {item.task: (item.start, item.end) for item in schedule.assignments}


def test_a_task_waits_for_its_licence_on_free_hosts() -> None:
    problem = with_one_licence(a_problem([[4.0], [3.0], [2.0]], hosts=3), 2, [2, 1, 0])
    assert places(problem, [0, 1, 2], [1, 1, 1]) == {"a": (0.0, 4.0), "b": (4.0, 7.0), "c": (0.0, 2.0)}


def test_what_running_tasks_hold_comes_back_when_they_end() -> None:
    problem = with_one_licence(a_problem([[1.0], [1.0]]), 3, [1, 3], held=[(5.0, 2)])
    assert places(problem, [0, 1], [1, 1]) == {"a": (0.0, 1.0), "b": (5.0, 6.0)}


def test_licences_are_counted_on_shared_hosts_too() -> None:
    problem = with_one_licence(a_packed_problem([[(1, (1,), (4.0,))]] * 3, [(8,)]), 2, [1, 1, 1])
    assert places(problem, [0, 1, 2], [0, 1, 2]) == {"a": (0.0, 4.0), "b": (0.0, 4.0), "c": (4.0, 8.0)}


def test_a_task_holds_its_licences_once_however_many_hosts_it_runs_on() -> None:
    problem = with_one_licence(a_problem([[9.0, 4.0], [9.0, 4.0]], hosts=4), 2, [1, 1])
    assert places(problem, [0, 1], [2, 2]) == {"a": (0.0, 4.0), "b": (0.0, 4.0)}


def test_a_task_that_asks_for_more_than_there_are_has_no_place() -> None:
    problem = with_one_licence(a_problem([[1.0], [1.0]]), 2, [1, 3])
    assert problem.licences is not None
    assert problem.licences.impossible.tolist() == [False, True]
    with pytest.raises(ValueError, match="task b asks for more licences than there are"):
        spans(problem, a_plan([0, 1], [1, 1]))
    assert soonest(problem, a_plan([0], [1, 1]), [0], 1) is None
    assert soonest(problem, a_plan([1], [1, 1]), [], 0) is not None


def test_one_more_task_is_placed_when_its_licence_is_back() -> None:
    for problem in (
        a_problem([[4.0], [2.0]], hosts=2),
        a_packed_problem([[(1, (1,), (4.0,))], [(1, (1,), (2.0,))]], [(8,)]),
    ):
        found = soonest(
            with_one_licence(problem, 1, [1, 1]), a_plan([0], [1 if problem.packing is None else 0, 1]), [0], 1
        )
        assert found is not None
        assert (found.start, found.end) == (4.0, 6.0)


def test_licences_of_which_there_are_enough_for_all_at_once_decide_nothing() -> None:
    problem = a_problem([[1.0], [1.0]])
    assert binding(with_one_licence(problem, 3, [1, 2]).licences) is None
    assert binding(with_one_licence(problem, 3, [1, 2], held=[(1.0, 1)]).licences) is not None


def test_a_schedule_that_overdraws_a_licence_is_a_fault() -> None:
    problem = with_one_licence(a_problem([[4.0], [3.0]]), 2, [2, 1], held=[(1.0, 1)])
    early = Schedule((Assignment("a", ("h0",), 1.0, 5.0), Assignment("b", ("h1",), 4.0, 7.0)))
    assert check_schedule(problem, early) == ["there are 2 of matlab, and at 4.0 s tasks hold 3"]
    in_turn = Schedule((Assignment("a", ("h0",), 1.0, 5.0), Assignment("b", ("h1",), 5.0, 8.0)))
    assert check_schedule(problem, in_turn) == []


@given(st.data())
def test_every_schedule_on_whole_hosts_is_feasible(data: st.DataObject) -> None:
    problem = data.draw(licensed(data.draw(problems(unavailability=data.draw(st.booleans())))))
    drawn = data.draw(plans(problem))
    schedule = decode(problem, drawn)
    assert check_schedule(problem, schedule) == []
    _agrees_with_spans(problem, schedule, spans(problem, drawn))
    assert lower_bound(problem) <= schedule.makespan * (1 + 1e-9)


@given(st.data())
def test_every_schedule_on_shared_hosts_is_feasible(data: st.DataObject) -> None:
    problem = data.draw(licensed(data.draw(packed_problems(unavailability=data.draw(st.booleans())))))
    drawn = data.draw(packed_plans(problem))
    schedule = decode(problem, drawn)
    assert check_schedule(problem, schedule) == []
    _agrees_with_spans(problem, schedule, spans(problem, drawn))
    assert lower_bound(problem) <= schedule.makespan * (1 + 1e-9)


def _agrees_with_spans(problem: Problem, schedule: Schedule, found: tuple[list[float], list[float]]) -> None:
    by_name = {item.task: item for item in schedule.assignments}
    assert [(by_name[name].start, by_name[name].end) for name in problem.tasks] == list(zip(*found, strict=True))


@given(st.data())
def test_a_schedule_decoded_in_the_order_of_its_starts_ends_no_later_on_identical_hosts(data: st.DataObject) -> None:
    problem = data.draw(licensed(data.draw(problems(classes=1))))
    drawn = data.draw(plans(problem))
    starts, ends = spans(problem, drawn)
    again = a_plan(sorted(range(len(starts)), key=starts.__getitem__), drawn.counts.tolist())
    assert all(later <= end for later, end in zip(spans(problem, again)[1], ends, strict=True))


@settings(max_examples=examples(13))
@given(st.data())
def test_no_schedule_is_shorter_than_the_best_order(data: st.DataObject) -> None:
    """All starts are tried on a grid: times are small whole numbers, so that some shortest schedule starts there."""
    problem = _on_a_grid(data.draw(licensed(data.draw(problems(tasks=3, hosts=2, classes=1, whole=True)))))
    useful = [(np.flatnonzero(row) + 1).tolist() for row in useful_counts(problem)]
    choices = list(product(*useful))
    orders = list(permutations(range(len(problem.tasks))))
    best = min(max(spans(problem, a_plan(order, counts))[1]) for order in orders for counts in choices)
    assert lower_bound(problem) <= best
    assert not any(_some_fit(problem, counts, best) for counts in choices)


def _on_a_grid(problem: Problem) -> Problem:
    assert problem.licences is not None
    held = tuple(item._replace(until=float(min(round(item.until), 6))) for item in problem.licences.held)
    return replace(problem, licences=replace(problem.licences, held=held))


def _some_fit(problem: Problem, counts: tuple[int, ...], before: float) -> bool:
    """Return whether a schedule with these host counts ends before a time."""
    times = [int(problem.seconds[0, task, count - 1]) for task, count in enumerate(counts)]
    ranges = [
        range(int(release), int(before) - time) for release, time in zip(problem.release.tolist(), times, strict=True)
    ]
    return any(_fits(problem, counts, starts, times) for starts in product(*ranges))


def _fits(problem: Problem, counts: tuple[int, ...], starts: tuple[int, ...], times: list[int]) -> bool:
    licences = problem.licences
    assert licences is not None
    ends = [start + time for start, time in zip(starts, times, strict=True)]
    if any(starts[task] < ends[other] for task, before in enumerate(problem.depends_on) for other in before):
        return False
    free, demand = problem.free.tolist(), licences.demand.tolist()
    for now in starts:
        running = [task for task, start in enumerate(starts) if start <= now < ends[task]]
        if sum(counts[task] for task in running) > sum(time <= now for time in free):
            return False
        for number, total in enumerate(licences.total.tolist()):
            asked = sum(demand[task][number] for task in running)
            held = sum(item.taken[number] for item in licences.held if item.until > now)
            if asked and asked + held > total:
                return False
    return True


def test_bounds_know_that_a_licence_must_last_for_all() -> None:
    problem = a_problem([[4.0], [3.0], [2.0]], hosts=3)
    assert lower_bound(problem) == 4.0
    assert lower_bound(with_one_licence(problem, 1, [1, 1, 1])) == 9.0
    assert lower_bound(with_one_licence(problem, 2, [1, 1, 1], held=[(3.0, 2)])) == pytest.approx(7.5)
    assert lower_bound(with_one_licence(problem, 5, [3, 3, 3])) == 9.0  # no two side by side


def test_the_search_finds_an_order_in_which_no_host_waits_for_a_licence() -> None:
    # Eight tasks with the one licence, and as much other work: on two hosts, both are always busy in the best plan.
    problem = with_one_licence(a_problem([[2.0]] * 16, hosts=2), 1, [1] * 8 + [0] * 8)
    for policy in (PolicyName.GENETIC, PolicyName.HEURISTIC):
        planned = plan(problem, policy, Limit(5.0, 30))
        assert check_schedule(problem, planned.schedule) == []
        assert planned.schedule.makespan == 16.0
    assert planned.statistics.bound == 16.0


def test_a_problem_without_scarce_licences_is_planned_as_without_any() -> None:
    problem = a_problem([[4.0, 2.5], [3.0, 2.0], [2.0, 1.5]], hosts=2, deadline=[3.0, 4.0, 5.0])
    plenty = with_one_licence(problem, 9, [1, 2, 3])
    found, expected = (plan(each, PolicyName.GENETIC, Limit(5.0, 20), seed=3) for each in (plenty, problem))
    assert found.schedule == expected.schedule
