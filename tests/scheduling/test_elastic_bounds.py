from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.elastic.expected import expected_schedule
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.elastic_bounds import WorkMixture
from tests.scheduling.elastic.queues import drawn_problems
from tests.scheduling.problems import a_plan, a_problem

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def test_the_least_work_within_a_time_mixes_numbers_of_hosts() -> None:
    mixture = WorkMixture([100.0, 60.0, math.inf, 50.0])  # 100, 120 and 200 host-seconds
    assert mixture.least(49.0) == math.inf
    assert mixture.least(50.0) == pytest.approx(200.0)
    assert mixture.least(55.0) == pytest.approx(160.0)
    assert mixture.least(80.0) == pytest.approx(110.0)  # half on one host, half on two
    assert mixture.least(100.0) == mixture.least(1e9) == pytest.approx(100.0)
    assert WorkMixture([100.0, 40.0, 30.0]).least(1e9) == pytest.approx(80.0)  # two hosts are less work than one


@given(st.lists(st.floats(1.0, 1e3), min_size=1, max_size=6), st.data())
def test_no_mixture_does_less_work_than_the_least(seconds: list[float], data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.floats(0.01, 1.0), min_size=len(seconds), max_size=len(seconds)))
    shares = [part / sum(parts) for part in parts]
    took = sum(share * time for share, time in zip(shares, seconds, strict=True))
    work = sum(share * time * count for count, (share, time) in enumerate(zip(shares, seconds, strict=True), 1))
    assert WorkMixture(seconds).least(took * (1 + 1e-12)) <= work * (1 + 1e-9)


@given(drawn=drawn_problems())
def test_no_plan_with_elastic_tasks_ends_before_the_bound(drawn: tuple[Problem, list[int], list[int]]) -> None:
    problem, order, counts = drawn
    pieces = expected_schedule(problem, decode(problem, a_plan(order, counts)))
    assert max(piece.end for piece in pieces) >= lower_bound(problem) * (1 - 1e-9)


def test_a_task_that_grows_ends_before_a_bound_of_constant_numbers_of_hosts() -> None:
    """Below 80 s, two hosts are of use to a for good, and then there is work for 80 s; 76 s can be had."""
    rigid = a_problem([[100.0, 60.0], [40.0]], hosts=2)
    problem = replace(rigid, elastic={0: ElasticTask("a", (100.0, 60.0), 1, 2, 1)})
    pieces = expected_schedule(problem, decode(problem, a_plan([0, 1], [1, 1])))
    assert lower_bound(rigid) == pytest.approx(80.0)
    assert max(piece.end for piece in pieces) == pytest.approx(76.0)
    assert lower_bound(problem) == pytest.approx(76.0)
