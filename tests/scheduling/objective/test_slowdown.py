from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.objective.objective import measure, objective
from cosched.scheduling.objective.slowdown import Slowdowns, with_waits
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from tests.scheduling.problems import a_plan, a_problem, plans, problems, waits

SLOWDOWN = ObjectiveName.SLOWDOWN.weights


def test_slowdown_counts_from_submission_and_by_the_shortest_run_time() -> None:
    problem = replace(a_problem([[40.0, 20.0], [30.0]]), waited=np.array([10.0, 60.0]))
    metrics = measure(problem, decode(problem, a_plan([0, 1], [2, 1])))  # they end at 20 and 50 s
    assert metrics.slowdown == pytest.approx(((10 + 20) / 20 + (60 + 50) / 30) / 2)
    assert metrics.least_slowdown == pytest.approx(((10 + 20) / 20 + (60 + 30) / 30) / 2)
    assert objective(metrics, SLOWDOWN, 20.0) == pytest.approx((1.5 + 110 / 30) / (1.5 + 3.0))


def test_a_task_below_ten_seconds_counts_as_one_of_ten() -> None:
    problem = replace(a_problem([[2.0], [2.0]], hosts=1), waited=np.array([0.0, 20.0]))
    metrics = measure(problem, decode(problem, a_plan([0, 1], [1, 1])))
    assert metrics.slowdown == pytest.approx((1.0 + 24.0 / 10.0) / 2)


def test_without_waits_nobody_counts_slowdown() -> None:
    problem = a_problem([[2.0]])
    metrics = measure(problem, decode(problem, a_plan([0], [1])))
    assert metrics.slowdown is None
    with pytest.raises(ValueError, match="how long its tasks have waited"):
        objective(metrics, SLOWDOWN, 2.0)
    with pytest.raises(ValueError, match="how long its tasks have waited"):
        Slowdowns.of(problem)


def test_a_queue_that_does_not_tell_has_not_waited() -> None:
    problem = a_problem([[2.0], [3.0]])
    assert with_waits(problem, Weights()) is problem
    asked = with_waits(problem, SLOWDOWN)
    assert asked.waited is not None
    assert asked.waited.tolist() == [0.0, 0.0]
    assert with_waits(asked, SLOWDOWN) is asked


@given(st.data())
def test_no_plan_has_less_than_the_least_slowdown(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=data.draw(st.booleans())))
    problem = replace(problem, waited=data.draw(waits(problem)))
    metrics = measure(problem, decode(problem, data.draw(plans(problem))))
    assert metrics.slowdown is not None
    assert metrics.slowdown >= metrics.least_slowdown * (1 - 1e-12)
