from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.mapping.etc_mapping import (
    a_mm,
    is_etc_matrix,
    mapped_schedule,
    max_min,
    min_min,
    single_host_seconds,
    sufferage,
)
from tests.scheduling.problems import a_matrix, a_problem, matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

# Two machines. Min-Min starts with t0 where it is quickest, Max-Min with t2, Sufferage with t1 (loses 6 elsewhere).
THREE = np.array([[2.0, 3.0], [4.0, 10.0], [9.0, 5.0]])


def makespan(seconds: NDArray[np.float64], machine: NDArray[np.int64]) -> float:
    return max(float(seconds[machine == host, host].sum()) for host in range(seconds.shape[1]))


def placed_one_by_one(seconds: NDArray[np.float64], rule: str) -> list[int]:
    """The definitions, without any bookkeeping."""
    loads, left, machine = np.zeros(seconds.shape[1]), list(range(len(seconds))), [0] * len(seconds)
    while left:
        ends = [loads + seconds[task] for task in left]
        ranked = [np.sort(np.append(row, np.inf)) for row in ends]
        scores = {
            "min": [-row[0] for row in ranked],
            "max": [row[0] for row in ranked],
            "sufferage": [row[1] - row[0] for row in ranked],
        }[rule]
        index = int(np.argmax(scores))
        task = left.pop(index)
        machine[task] = int(np.argmin(ends[index]))
        loads[machine[task]] += seconds[task, machine[task]]
    return machine


@given(matrices())
def test_mappings_are_those_of_their_definitions(problem: Problem) -> None:
    seconds = single_host_seconds(problem)
    assert min_min(seconds)[0].tolist() == placed_one_by_one(seconds, "min")
    assert max_min(seconds)[0].tolist() == placed_one_by_one(seconds, "max")
    assert sufferage(seconds)[0].tolist() == placed_one_by_one(seconds, "sufferage")


@given(matrices(), st.data())
def test_busy_machines_are_taken_as_they_become_free(problem: Problem, data: st.DataObject) -> None:
    """As if each had a task of its own first, that nothing else could run."""
    seconds = single_host_seconds(problem)
    hosts = seconds.shape[1]
    ready = np.array(data.draw(st.lists(st.integers(0, 9).map(float), min_size=hosts, max_size=hosts)))
    for mapping in (min_min, max_min, sufferage):
        machine, order = mapping(seconds, ready)
        loads = ready.copy()
        for task in order:
            assert loads[machine[task]] + seconds[task, machine[task]] == (loads + seconds[task]).min()
            loads[machine[task]] += seconds[task, machine[task]]
    found = a_mm(seconds, ready)[0]
    assert np.isfinite(seconds[np.arange(len(found)), found]).all()


@pytest.mark.parametrize(("mapping", "order"), [(min_min, [0, 2, 1]), (max_min, [2, 1, 0]), (sufferage, [1, 2, 0])])
def test_they_differ_in_who_is_next(mapping: object, order: list[int]) -> None:
    assert callable(mapping)
    assert mapping(THREE)[1].tolist() == order


@given(matrices())
def test_a_mm_is_no_worse_than_min_min_in_either_reading(problem: Problem) -> None:
    seconds = single_host_seconds(problem)
    for execution in (False, True):
        machine, order, tried = a_mm(seconds, execution=execution)
        assert makespan(seconds, machine) <= makespan(seconds, min_min(seconds)[0]) * (1 + 1e-12)
        assert sorted(order.tolist()) == list(range(len(seconds)))
        assert tried == 20


def test_a_mm_turns_to_max_min_where_tasks_differ_much() -> None:
    seconds = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [4.0, 4.0]])
    assert makespan(seconds, min_min(seconds)[0]) == 6.0
    assert makespan(seconds, a_mm(seconds)[0]) == 4.0
    assert makespan(seconds, a_mm(seconds, execution=True)[0]) == 4.0


def test_the_readings_of_a_mm_differ() -> None:
    draw = np.random.default_rng(0)
    drawn = [draw.uniform(1, 20, (15, 5)) * draw.uniform(1, 20, (15, 1)) for _ in range(20)]
    pairs = [
        [makespan(seconds, a_mm(seconds, execution=execution)[0]) for execution in (False, True)] for seconds in drawn
    ]
    assert any(one < other for one, other in pairs)
    assert any(one > other for one, other in pairs)


@given(matrices(tasks=5, hosts=3))
def test_no_mapping_beats_the_best_of_all(problem: Problem) -> None:
    seconds = single_host_seconds(problem)
    hosts = range(seconds.shape[1])
    best = min(makespan(seconds, np.array(machine)) for machine in product(hosts, repeat=len(seconds)))
    assert all(makespan(seconds, mapping(seconds)[0]) >= best for mapping in (min_min, max_min, sufferage))


def test_tasks_run_one_after_the_other_in_the_order_given() -> None:
    schedule = mapped_schedule(a_matrix(THREE), np.array([0, 0, 1]), np.array([1, 2, 0]))
    spans = [(item.task, item.hosts, item.start, item.end) for item in schedule.assignments]
    assert spans == [("t1", ("h0",), 0.0, 4.0), ("t2", ("h1",), 0.0, 5.0), ("t0", ("h0",), 4.0, 6.0)]


def test_what_counts_as_a_matrix() -> None:
    assert is_etc_matrix(a_matrix(THREE))
    assert not is_etc_matrix(a_problem([[1.0], [2.0]]))  # identical hosts: the genetic search is better there
    assert not is_etc_matrix(a_problem([[1.0, 0.5]]))
