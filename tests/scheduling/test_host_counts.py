from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.host_counts import (
    best_seconds,
    class_base,
    encoded_choices,
    quicker_counts,
    runnable,
    single_class,
    useful_counts,
)
from cosched.scheduling.problem import Problem
from tests.scheduling.problems import a_problem, problems


@given(problems(tasks=2, hosts=4))
def test_the_best_time_is_that_of_the_best_hosts(problem: Problem) -> None:
    best = best_seconds(problem)
    for task, column in np.ndindex(best.shape):
        sets = itertools.combinations(problem.host_class.tolist(), column + 1)
        assert best[task, column] == min(max(problem.seconds[k, task, column] for k in chosen) for chosen in sets)


def test_counts_that_make_a_task_quicker_are_spread_evenly_where_there_are_many() -> None:
    assert quicker_counts([math.inf, 60.0, 60.0, 40.0, 45.0], 8) == [2, 4]
    assert quicker_counts([100.0 / count for count in range(1, 17)], 4) == [1, 6, 11, 16]
    assert quicker_counts([math.inf], 4) == []


def test_counts_that_are_no_faster_than_a_smaller_one_are_not_useful() -> None:
    problem = a_problem([[9.0, 5.0, 5.0, 7.0, 4.0], [float("inf"), 3.0, float("inf"), 2.0, 8.0]], hosts=5)
    assert useful_counts(problem).tolist() == [[True, True, False, False, True], [False, True, False, True, False]]


def test_hosts_of_one_class_are_identical_however_many_classes_there_are() -> None:
    problem = a_problem([[1.0]])
    assert single_class(problem) == 0
    mixed = Problem(
        problem.tasks,
        problem.hosts,
        ("a", "b"),
        np.array([0, 1]),
        problem.free,
        np.concatenate([problem.seconds] * 2),
        problem.release,
        problem.deadline,
    )
    assert single_class(mixed) == 0  # another name makes no difference
    assert single_class(replace(mixed, seconds=np.array([[[1.0, np.inf]], [[2.0, np.inf]]]))) is None


@given(problems(tasks=4, hosts=5))
def test_choices_are_all_that_is_faster_than_fewer_hosts_of_the_same_kind(problem: Problem) -> None:
    widths, first = encoded_choices(problem)
    base, identical = class_base(problem), single_class(problem) is not None
    sizes = np.bincount(problem.host_class, minlength=len(problem.classes))
    for task, (begin, end) in enumerate(itertools.pairwise(first.tolist())):
        expected = (np.flatnonzero(useful_counts(problem)[task]) + 1).tolist()
        for kind, size in enumerate([] if identical else sizes.tolist()):
            times = problem.seconds[kind, task, :size].tolist()
            within = [count for count in range(1, size + 1) if times[count - 1] < min([np.inf, *times[: count - 1]])]
            expected += [count + base * (kind + 1) for count in within]
        assert widths[begin:end].tolist() == expected


@given(st.data())
def test_a_task_can_run_on_so_many_hosts_where_there_is_a_best_time_on_them(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=True))
    tasks, hosts = len(problem.tasks), len(problem.hosts)
    counts = np.array(data.draw(st.lists(st.integers(0, hosts + 1), min_size=tasks, max_size=tasks)))
    best = best_seconds(problem)
    known = [1 <= count <= hosts and bool(np.isfinite(best[task, count - 1])) for task, count in enumerate(counts)]
    assert runnable(problem, counts).tolist() == known
