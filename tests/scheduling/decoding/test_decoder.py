from __future__ import annotations

import itertools
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode, dependency_order, soonest, spans
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.plan import Plan
from cosched.scheduling.problem import Problem
from cosched.scheduling.schedule import check_schedule
from tests.scheduling.problems import a_plan, a_problem, able, plans, problems


@given(st.data())
def test_whatever_is_decoded_is_feasible(data: st.DataObject) -> None:
    problem = data.draw(problems())
    schedule = decode(problem, data.draw(plans(problem)), in_order=data.draw(st.booleans()))
    assert check_schedule(problem, schedule) == []


@given(st.data())
def test_spans_are_the_times_of_the_schedule(data: st.DataObject) -> None:
    problem = data.draw(problems())
    plan, in_order = data.draw(plans(problem)), data.draw(st.booleans())
    starts, ends = spans(problem, plan, in_order=in_order)
    for item in decode(problem, plan, in_order=in_order).assignments:
        task = problem.tasks.index(item.task)
        assert (item.start, item.end) == (starts[task], ends[task])


@given(problems(tasks=3, hosts=3, classes=1, whole=True))
def test_the_best_plan_is_the_best_schedule_there_is(problem: Problem) -> None:
    """The decoder leaves holes open, and still some order and counts give an optimal schedule."""
    usable = [(np.flatnonzero(np.isfinite(row)) + 1).tolist() for row in problem.seconds[problem.host_class[0]]]
    best = min(
        decode(problem, a_plan(order, counts)).makespan
        for order in itertools.permutations(range(len(problem.tasks)))
        for counts in itertools.product(*usable)
    )
    assert best == exhaustive(problem)


@given(problems(tasks=3, hosts=3, classes=2, whole=True))
def test_of_all_schedules_on_hosts_of_one_class_each_some_plan_is_the_best(problem: Problem) -> None:
    """A class for each task in the plan: the greedy choice alone takes fast hosts from those who need them."""
    every = range(len(problem.tasks))
    widths = [
        [(count + 1, each) for count in range(len(problem.hosts)) for each in able(problem, task, count + 1)[1:]]
        for task in every
    ]
    best = min(
        decode(problem, Plan(np.array(order), *np.array(chosen).T)).makespan
        for order in itertools.permutations(every)
        for chosen in itertools.product(*widths)
    )
    assert best == exhaustive_by_class(problem)


def exhaustive_by_class(problem: Problem) -> float:
    """Return the shortest makespan over all whole starts, counts and classes, by trying them."""
    tasks = len(problem.tasks)
    longest = problem.seconds[np.isfinite(problem.seconds)].max()
    horizon = int(max(problem.free.max(), problem.release.max()) + tasks * longest) + 2
    offered = np.array(
        [
            [((problem.free <= time) & (problem.host_class == k)).sum() for time in range(horizon)]
            for k in range(len(problem.classes))
        ]
    )
    before = problem.depends_on or ((),) * tasks
    shortest = math.inf

    def place(task: int, ends: tuple[int, ...]) -> None:
        nonlocal shortest
        if task == tasks:
            shortest = min(shortest, max(ends))
            return
        ready = max([int(problem.release[task]), *[ends[other] for other in before[task]]])
        for count in range(1, len(problem.hosts) + 1):
            for each in able(problem, task, count)[1:]:
                seconds = int(problem.seconds[each, task, count - 1])
                for start in range(ready, int(min(horizon, shortest)) - seconds):
                    if (offered[each, start : start + seconds] >= count).all():
                        offered[each, start : start + seconds] -= count
                        place(task + 1, (*ends, start + seconds))
                        offered[each, start : start + seconds] += count

    place(0, ())
    return shortest


def exhaustive(problem: Problem) -> float:
    """Return the shortest makespan over all whole starts and all counts, by trying them."""
    seconds = problem.seconds[problem.host_class[0]]
    tasks, hosts = seconds.shape
    horizon = int(max(problem.free.max(), problem.release.max()) + seconds[:, 0][np.isfinite(seconds[:, 0])].sum()) + 16
    offered = np.array([(problem.free <= time).sum() for time in range(horizon)])
    before = problem.depends_on or ((),) * tasks
    shortest = math.inf

    def place(task: int, ends: tuple[int, ...], offered: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        nonlocal shortest
        if max(ends, default=0) >= shortest:
            return
        if task == tasks:
            shortest = max(ends)
            return
        ready = max([int(problem.release[task]), *[ends[other] for other in before[task]]])
        for count in range(1, hosts + 1):
            for start in range(ready, horizon if np.isfinite(seconds[task, count - 1]) else 0):
                end = start + int(seconds[task, count - 1])
                if end >= shortest or end > horizon:
                    break
                if (offered[start:end] >= count).all():
                    left = offered.copy()
                    left[start:end] -= count
                    place(task + 1, (*ends, end), left)

    place(0, (), offered)
    return shortest


@given(st.data())
def test_one_more_task_is_where_no_other_number_of_hosts_would_end_sooner(data: st.DataObject) -> None:
    problem = data.draw(problems())
    problem = replace(problem, depends_on=())
    plan = data.draw(plans(problem))
    *others, new = plan.order.tolist()
    ends = []
    for count in range(1, len(problem.hosts) + 1):
        counts = plan.counts.copy()
        counts[new] = count
        classes = None if plan.classes is None else np.where(np.arange(len(counts)) == new, -1, plan.classes)
        if np.isfinite(best_seconds(problem)[new, count - 1]):
            (*_, last) = decode(problem, Plan(plan.order, counts, classes)).assignments
            ends.append(last)
    assert soonest(problem, plan, others, new) == min(ends, key=lambda one: (one.end, len(one.hosts)))


def test_one_more_task_has_no_place_where_no_host_stays() -> None:
    problem = a_problem([[1.0], [5.0]], hosts=1, free=[math.inf])
    assert soonest(problem, a_plan([], [1, 1]), [], 1) is None


def test_hosts_that_are_free_first_are_taken_and_ties_go_by_index() -> None:
    problem = a_problem([[5.0], [9.0, 3.0]], hosts=4, free=[2.0, 1.0, 0.0, 1.0])
    schedule = decode(problem, a_plan([1, 0], [1, 2]))
    assert [(item.task, item.hosts, item.start, item.end) for item in schedule.assignments] == [
        ("b", ("h1", "h2"), 1.0, 4.0),
        ("a", ("h3",), 1.0, 6.0),
    ]


def test_the_slowest_host_decides_and_waiting_for_a_fast_one_can_pay() -> None:
    seconds = np.array([[[10.0]], [[2.0]]])
    problem = Problem(("a",), ("slow",), ("s", "f"), np.array([0]), np.zeros(1), seconds, np.zeros(1), np.zeros(1))
    both = Problem(
        ("a",),
        ("slow", "fast"),
        ("s", "f"),
        np.array([0, 1]),
        np.array([0.0, 5.0]),
        np.array([[[10.0, 6.0]], [[2.0, 1.0]]]),
        np.zeros(1),
        np.zeros(1),
    )
    assert decode(problem, a_plan([0], [1])).makespan == 10.0
    assert decode(both, a_plan([0], [1])).assignments[0].hosts == ("fast",)
    assert decode(both, a_plan([0], [2])).makespan == 11.0


def test_in_order_holds_back_whoever_could_overtake() -> None:
    problem = a_problem([[1.0], [1.0]], release=[5.0, 0.0])
    plan = a_plan([0, 1], [1, 1])
    assert spans(problem, plan)[0] == [5.0, 0.0]
    assert spans(problem, plan, in_order=True)[0] == [5.0, 5.0]


def test_predecessors_are_drawn_ahead() -> None:
    problem = a_problem([[1.0]] * 4, depends_on=((2,), (), (3,), ()))
    assert dependency_order(problem, [0, 1, 2, 3]) == [3, 2, 0, 1]


def test_a_plan_of_some_tasks_gives_a_schedule_of_those() -> None:
    problem = a_problem([[1.0], [2.0], [3.0]])
    plan = Plan(np.array([2, 0]), np.array([1, 1, 1]))
    assert [item.task for item in decode(problem, plan).assignments] == ["c", "a"]
    assert math.isnan(spans(problem, plan)[1][1])


@pytest.mark.parametrize("count", [0, 2, 3])
def test_a_count_that_cannot_be_used_is_an_error(count: int) -> None:
    with pytest.raises(ValueError, match="task a cannot run on"):
        decode(a_problem([[1.0]]), a_plan([0], [count]))


def test_the_light_modules_load_neither_numba_nor_deap() -> None:
    modules = (
        "problem schedule decoding.decoder objective.objective bounds heuristics.moldable_tasks policies"
        " formats.problem_file"
    )
    code = "import sys; " + "; ".join(f"import cosched.scheduling.{name}" for name in modules.split())
    code += "; print(sorted({'numba', 'deap'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
