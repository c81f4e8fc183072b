from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode, spans
from cosched.scheduling.heuristics.batch_queue import arbitrary_count, conservative, easy, maximum_count
from cosched.scheduling.plan import Plan
from cosched.scheduling.policies import POLICIES, UserCountPolicy
from cosched.scheduling.policies.batch import FcfsCalculated
from cosched.scheduling.schedule import check_schedule
from tests.scheduling.problems import a_problem, plans, problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

    _Backfill = Callable[[Problem, NDArray[np.int64]], Plan]

BOTH = pytest.mark.parametrize("backfill", [easy, partial(easy, shortest_first=True), conservative])


def starts(problem: Problem, backfill: _Backfill, counts: list[int]) -> list[float]:
    return spans(problem, backfill(problem, np.array(counts)))[0]


@BOTH
@given(data=st.data())
def test_plans_are_feasible_and_keep_the_counts(backfill: _Backfill, data: st.DataObject) -> None:
    problem = data.draw(problems())
    counts = data.draw(plans(problem)).counts
    plan = backfill(problem, counts)
    assert sorted(plan.order.tolist()) == list(range(len(problem.tasks)))
    assert plan.counts.tolist() == counts.tolist()
    assert check_schedule(problem, decode(problem, plan)) == []


@given(st.data())
def test_nobody_is_delayed_by_conservative_backfilling(data: st.DataObject) -> None:
    """With a queue that is all there, no start is later than it would be without those behind it."""
    problem = data.draw(problems(classes=1))
    counts = data.draw(plans(problem)).counts
    whole = conservative(problem, counts)
    arrival = np.argsort(problem.release, kind="stable")
    strict = spans(problem, Plan(arrival, counts), in_order=True)[0]
    assert all(one <= other + 1e-9 for one, other in zip(spans(problem, whole)[0], strict, strict=True))


@BOTH
def test_a_short_narrow_task_overtakes_a_wide_one(backfill: _Backfill) -> None:
    problem = a_problem([[4.0], [9.0, 3.0], [4.0], [5.0]])
    assert starts(problem, backfill, [1, 2, 1, 1])[:3] == [0.0, 4.0, 0.0]


@BOTH
def test_who_would_delay_the_head_waits(backfill: _Backfill) -> None:
    problem = a_problem([[4.0], [9.0, 3.0], [5.0]])
    assert starts(problem, backfill, [1, 2, 1]) == [0.0, 4.0, 7.0]


def test_the_shortest_of_those_behind_the_head_overtakes_first() -> None:
    """Three hosts: 0 has two until 9, 1 needs all; 2 and 3 fit on the third one after the other."""
    problem = a_problem([[9.0] * 2, [2.0] * 3, [5.0], [3.0]], hosts=3)
    assert starts(problem, easy, [2, 3, 1, 1]) == [0.0, 9.0, 0.0, 5.0]
    assert starts(problem, partial(easy, shortest_first=True), [2, 3, 1, 1]) == [0.0, 9.0, 3.0, 0.0]


def test_only_easy_lets_one_overtake_who_delays_the_second_in_the_queue() -> None:
    # On three hosts a (two of them) runs until 4; then b (two) leaves one host over. d takes that one at once under
    # EASY and keeps c (all three) waiting until 10; conservative backfilling has promised c a start at 8.
    inf = float("inf")
    problem = a_problem([[inf, 4.0], [inf, 4.0], [inf, inf, 2.0], [10.0]], hosts=3)
    assert starts(problem, easy, [2, 2, 3, 1]) == [0.0, 4.0, 10.0, 0.0]
    assert starts(problem, conservative, [2, 2, 3, 1]) == [0.0, 4.0, 8.0, 10.0]


@BOTH
def test_tasks_join_the_queue_when_released_and_their_predecessors_have_ended(backfill: _Backfill) -> None:
    problem = a_problem([[4.0], [2.0], [1.0]], release=[1.0, 0.0, 0.0], depends_on=((), (0,), ()))
    assert starts(problem, backfill, [1, 1, 1]) == [1.0, 5.0, 0.0]


@BOTH
def test_busy_hosts_count_from_when_they_are_free(backfill: _Backfill) -> None:
    problem = a_problem([[9.0, 2.0], [3.0]], free=[0.0, 3.0])
    assert starts(problem, backfill, [2, 1]) == [3.0, 0.0]


USERS = [policy for policy in POLICIES.values() if isinstance(policy, UserCountPolicy)]
CPI = np.array([32, 26, 21, 17, 14, 11, 9, 7, 5, 4, 3, 2, 4, 7, 12, 20], dtype=np.float64)


def test_calculated_wastes_least_and_maximum_takes_what_there_is() -> None:
    assert FcfsCalculated().host_count(CPI, "") == 12  # 12 × 2 s = 24 host-seconds; one host takes 32
    assert maximum_count(CPI) == 16


def test_calculated_prefers_the_faster_of_two_that_waste_alike() -> None:
    assert FcfsCalculated().host_count(np.array([8.0, 4.0, 9.0]), "") == 2


def test_arbitrary_is_the_same_for_the_same_seed_and_spread_over_all_counts() -> None:
    drawn = [arbitrary_count(CPI, f"7/{task}") for task in range(400)]
    assert drawn == [arbitrary_count(CPI, f"7/{task}") for task in range(400)]
    assert set(drawn) == set(range(1, 17))


@pytest.mark.parametrize("policy", USERS, ids=lambda policy: policy.name)
@given(st.lists(st.sampled_from([1.0, 2.0, 5.0, math.inf]), min_size=1, max_size=6).filter(lambda row: min(row) < 9))
def test_a_count_that_cannot_be_used_is_never_chosen(policy: UserCountPolicy, row: list[float]) -> None:
    assert math.isfinite(row[policy.host_count(np.array(row), "seed") - 1])
