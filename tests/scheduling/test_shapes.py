from __future__ import annotations

import numpy as np

from cosched.scheduling.packing import Held, Packing, scaled
from cosched.scheduling.shapes import best_shape_seconds, shape_choices, useful_shapes
from tests.scheduling.packed import a_packed_problem


def test_a_shape_that_another_betters_in_everything_is_of_no_use() -> None:
    problem = a_packed_problem(
        [[(1, (4,), (5.0,)), (1, (5,), (5.0,)), (2, (4,), (5.0,)), (1, (2,), (9.0,)), (1, (4,), (5.0,))]],
        [(8,), (8,)],
    )
    assert problem.packing is not None
    assert useful_shapes(problem.packing).tolist() == [True, False, False, True, False]


def test_a_shape_needs_as_many_hosts_as_have_what_it_takes() -> None:
    problem = a_packed_problem(
        [[(2, (4, 100), (5.0,)), (2, (2, 100), (6.0,)), (1, (4, 900), (7.0,))]], [(8, 500), (2, 500)]
    )
    assert problem.packing is not None
    assert best_shape_seconds(problem, problem.packing).tolist() == [np.inf, 6.0, np.inf]
    choices, first = shape_choices(problem, problem.packing)
    assert (choices.tolist(), first.tolist()) == ([1], [0, 1])


def test_the_slowest_class_of_those_needed_decides() -> None:
    problem = a_packed_problem([[(2, (1,), (2.0, 6.0)), (1, (1,), (3.0, 9.0))]], [(1,), (1,)], host_class=[0, 1])
    assert problem.packing is not None
    assert best_shape_seconds(problem, problem.packing).tolist() == [6.0, 3.0]


def test_amounts_are_counted_in_the_largest_units_that_divide_them() -> None:
    packing = Packing(
        ("cores", "memory"),
        np.array([[8, 4096]]),
        np.array([0, 1]),
        np.array([1]),
        np.array([[4, 1024]]),
        np.array([[1.0]]),
        (Held(0, 1.0, (2, 512)),),
    )
    small = scaled(packing)
    assert (small.capacity.tolist(), small.demand.tolist(), small.held[0].taken) == ([[4, 8]], [[2, 2]], (1, 1))
