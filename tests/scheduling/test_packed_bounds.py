from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.bounds import lower_bound, tight_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.packing import Held
from tests.scheduling.packed import a_packed_problem, packed_plans, packed_problems


@given(st.data())
def test_no_plan_undercuts_the_bound(data: st.DataObject) -> None:
    problem = data.draw(packed_problems(unavailability=data.draw(st.booleans())))
    plan = data.draw(packed_plans(problem))
    assert max(spans(problem, plan)[1]) >= tight_bound(problem) * (1 - 1e-9)


def test_a_quicker_host_that_leaves_for_good_counts_as_long_as_it_is_there() -> None:
    problem = a_packed_problem(
        [[(1, (4,), (3.0, 40.0))]], [(8,), (8,)], host_class=[0, 1], unavailability=[Unavailability(0, 50.0, np.inf)]
    )
    assert lower_bound(problem) == pytest.approx(3.0)
    assert lower_bound(replace(problem, unavailability=(Unavailability(0, 2.0, np.inf),))) == pytest.approx(40.0)


def test_the_dearest_resource_bounds_the_makespan() -> None:
    problem = a_packed_problem([[(1, (1, 3000), (4.0,))]] * 4, [(8, 6000)])
    assert lower_bound(problem) == pytest.approx(8.0)


def test_tasks_that_cannot_stand_side_by_side_are_counted_as_whole_hosts() -> None:
    problem = a_packed_problem([[(1, (5,), (4.0,))]] * 6, [(8,), (8,)])
    assert lower_bound(problem) == pytest.approx(12.0)


@pytest.mark.parametrize(("cores", "left"), [(11, 2), (12, 5), (24, 7), (257_000, 3004)])
def test_two_tasks_that_fill_a_host_exactly_are_side_by_side(cores: int, left: int) -> None:
    problem = a_packed_problem([[(1, (cores - left,), (10.0,))], [(1, (left,), (10.0,))]], [(cores,)])
    assert lower_bound(problem) == pytest.approx(10.0)


def test_a_shape_with_what_no_host_has_bounds_nothing() -> None:
    problem = a_packed_problem([[(1, (4, 0, 0), (9.0,)), (1, (1, 0, 1), (2.0,))]], [(8, 1000, 0)])
    assert lower_bound(problem) == pytest.approx(9.0)


def test_what_is_held_cannot_be_used_before_it_comes_back() -> None:
    problem = a_packed_problem([[(1, (4,), (4.0,))]] * 2, [(8,)], held=[Held(0, 10.0, (4,))])
    assert lower_bound(problem) == pytest.approx(8.0)


def test_of_several_shapes_the_cheapest_that_is_in_time_counts() -> None:
    problem = a_packed_problem([[(1, (1,), (8.0,)), (1, (8,), (2.0,))]] * 4, [(8,)])
    assert lower_bound(problem) == pytest.approx(8.0)
    assert np.isfinite(lower_bound(problem))
