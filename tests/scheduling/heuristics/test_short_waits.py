from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics.short_waits import short_wait_plans
from cosched.scheduling.objective.objective import measure
from cosched.scheduling.schedule import check_schedule
from tests.scheduling.problems import a_problem, problems, waits


@given(st.data())
def test_every_plan_is_feasible(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=data.draw(st.booleans())))
    problem = replace(problem, waited=data.draw(waits(problem)))
    found = list(short_wait_plans(problem))
    assert found
    assert all(check_schedule(problem, decode(problem, plan)) == [] for plan in found)


def test_one_host_serves_the_short_tasks_first() -> None:
    problem = replace(a_problem([[400.0], [20.0], [100.0]], hosts=1), waited=np.zeros(3))
    best = min(short_wait_plans(problem), key=lambda plan: measure(problem, decode(problem, plan)).slowdown or 0.0)
    assert best.order.tolist() == [1, 2, 0]  # 1, 1.2 and 1.3: no order of these has less


def test_who_has_waited_long_for_its_size_can_go_first() -> None:
    problem = replace(a_problem([[20.0], [20.0]], hosts=1), waited=np.array([0.0, 1000.0]))
    assert any(plan.order.tolist() == [1, 0] for plan in short_wait_plans(problem))
