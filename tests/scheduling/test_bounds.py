from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.bounds import fewest_missed, lower_bound, tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.objective.objective import measure
from tests.scheduling.problems import a_matrix, a_problem, plans, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


@given(st.data())
def test_no_plan_ends_before_the_bound(data: st.DataObject) -> None:
    problem = data.draw(problems())
    assert decode(problem, data.draw(plans(problem))).makespan >= tight_bound(problem) * (1 - 1e-12)
    assert tight_bound(problem) >= lower_bound(problem)


@pytest.mark.parametrize(
    ("problem", "bound"),
    [
        (a_problem([[9.0, 5.0]]), 5.0),  # one task on its best count
        (a_problem([[4.0], [4.0], [4.0]]), 6.0),  # area
        (a_problem([[4.0], [4.0]], free=[0.0, 6.0]), 7.0),  # a busy host: the area fills the free one first
        (a_problem([[1.0], [1.0]], release=[0.0, 7.0]), 8.0),
        (a_problem([[4.0]] * 3, release=[5.0] * 3), 11.0),  # area after the release
        (a_problem([[3.0], [4.0]], depends_on=((), (0,))), 7.0),  # a chain
        (a_problem([[10.0, 7.0]] * 2), 10.0),  # below 10 only two hosts would do, and that needs 14
        (a_problem([]), 0.0),
    ],
)
def test_bounds_worked_out_by_hand(problem: Problem, bound: float) -> None:
    assert lower_bound(problem) == pytest.approx(bound)


def test_one_host_tasks_on_several_classes_are_bounded_by_prices() -> None:
    problem = a_matrix(np.array([[2.0, 6.0], [6.0, 2.0], [4.0, 4.0]]))
    assert tight_bound(problem) == pytest.approx(4.0)  # the area on the best machines alone says 8/3 and 4
    assert tight_bound(a_matrix(np.array([[1.0, 3.0]] * 8))) == pytest.approx(6.0, rel=1e-3)


@pytest.mark.parametrize(
    ("free", "away", "bound"),
    [
        ([0.0] * 4, (), 8.0),  # 24 host-seconds, for which a slow host counts half
        ([3.0, 3.0, 0.0, 0.0], (), 10.0),
        ([0.0] * 4, (Unavailability(0, 1.0, 3.0),), 26 / 3),
        ([0.0] * 4, (Unavailability(0, 2.0, math.inf),), 11.0),
    ],
)
def test_tasks_on_several_hosts_of_several_classes_are_bounded_by_prices(
    free: list[float], away: tuple[Unavailability, ...], bound: float
) -> None:
    alike = a_problem([[4.0, 2.0]] * 6, hosts=4, free=free)
    problem = replace(
        alike,
        classes=("fast", "slow"),
        host_class=np.array([0, 0, 1, 1]),
        seconds=np.concatenate([alike.seconds, 2 * alike.seconds]),
        unavailability=away,
    )
    assert lower_bound(problem) < bound - 1
    assert tight_bound(problem) == pytest.approx(bound, rel=1e-3)


@given(st.data())
def test_no_plan_ends_before_the_bound_of_many_classes(data: st.DataObject) -> None:
    problem = data.draw(problems(tasks=6, hosts=12, classes=12))
    assert decode(problem, data.draw(plans(problem))).makespan >= tight_bound(problem) * (1 - 1e-12)


def test_many_classes_are_bounded_by_prices() -> None:
    speeds = np.arange(1.0, 13.0)
    problem = a_matrix(np.outer(np.full(200, 60.0), 1 / speeds))
    assert lower_bound(problem) < 0.6 * tight_bound(problem)
    assert tight_bound(problem) == pytest.approx(200 * 60 / speeds.sum(), rel=1e-3)


@given(st.data())
def test_no_plan_ends_before_the_bound_where_hosts_come_and_go(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=True))
    assert decode(problem, data.draw(plans(problem))).makespan >= tight_bound(problem) * (1 - 1e-12)


def test_a_quicker_host_that_leaves_for_good_counts_as_long_as_it_is_there() -> None:
    """Plans use it: they were shorter than the bound, taken for optimal, and the search ended with the first."""
    alike = a_problem([[3.0]], hosts=2, deadline=[5.0])
    problem = replace(
        alike,
        classes=("fast", "slow"),
        host_class=np.array([0, 1]),
        seconds=np.concatenate([alike.seconds, 10 * alike.seconds]),
        unavailability=(Unavailability(0, 50.0, math.inf),),
    )
    assert (lower_bound(problem), tight_bound(problem), fewest_missed(problem)) == (3.0, 3.0, 0)
    sooner = replace(problem, unavailability=(Unavailability(0, 2.0, math.inf),))
    assert (lower_bound(sooner), fewest_missed(sooner)) == (30.0, 1)


@given(st.data())
def test_no_plan_misses_fewer_deadlines_than_the_bound(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=True))
    metrics = measure(problem, decode(problem, data.draw(plans(problem))))
    assert fewest_missed(problem) <= metrics.with_deadline - metrics.on_time


@pytest.mark.parametrize(
    ("problem", "fewest"),
    [
        (a_problem([[9.0]] * 3), 0),  # no deadlines
        (a_problem([[4.0, 3.0], [4.0]], deadline=[2.0, 4.0]), 1),  # one is too long for its own
        (a_problem([[2.0], [3.0], [2.0]], hosts=1, deadline=[2.0, 5.0, 6.0]), 1),  # the dearest goes, not the last
        (a_problem([[2.0], [2.0]], deadline=[4.0, 4.0], free=[4.0, 2.0]), 1),  # a busy host
        (a_problem([[4.0, 3.0]] * 2, deadline=[3.0, 6.0]), 0),  # 6 host-seconds in time, though 4 are the least
        (a_problem([[4.0, 3.0]] * 3, deadline=[3.0] * 3), 2),
    ],
)
def test_fewest_missed_worked_out_by_hand(problem: Problem, fewest: int) -> None:
    assert fewest_missed(problem) == fewest
