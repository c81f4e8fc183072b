from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.compiled import tables
from cosched.scheduling.decoder import spans
from cosched.scheduling.problem import Plan, Problem, Weights
from cosched.scheduling.triage import recall, triage
from cosched.scheduling.widths import choices
from tests.scheduling.problems import a_plan, a_problem, plans, problems


def judged(problem: Problem, plan: Plan, mercy: float = 0.0) -> tuple[Plan, float, int]:
    """Return the plan after triage, its cost (area costs next to nothing) and its missed deadlines."""
    widths = choices(problem)
    first = np.cumsum([0, *[len(row) for row in widths]], dtype=np.int64)
    orders = np.array([plan.order])
    counts = np.array([plan.counts])
    laid_out = tables(problem, Weights(), lower_bound(problem))
    costs, missed = triage(laid_out, np.concatenate(widths), first, mercy, 1e12, orders, counts)
    return Plan(orders[0], counts[0]), float(costs[0]), int(missed[0])


def missed(problem: Problem, plan: Plan) -> int:
    return int((np.array(spans(problem, plan)[1]) > problem.deadline).sum())


@settings(deadline=None)
@given(st.data())
def test_a_plan_after_triage_misses_what_triage_says_and_no_more_than_before(data: st.DataObject) -> None:
    problem = replace(data.draw(problems(classes=1)), depends_on=())
    plan = data.draw(plans(problem))
    after, _, late = judged(problem, plan, data.draw(st.sampled_from([0.0, 5.0])))
    assert sorted(after.order.tolist()) == list(range(len(problem.tasks)))
    assert missed(problem, after) == late
    settled, _, again = judged(problem, after)
    assert again <= late
    assert missed(problem, settled) == again


def test_a_late_task_takes_the_cheapest_count_that_is_in_time() -> None:
    problem = a_problem([[8.0, 5.0, 4.0, 1.0]], hosts=4, deadline=[5.0])
    after, _, late = judged(problem, a_plan([0], [1]))
    assert late == 0
    assert after.counts.tolist() == [4]  # 4 host-seconds; two hosts would take 10


def test_who_cannot_be_in_time_goes_behind_all_others() -> None:
    # One host. In this order b and c would be late by 1 for a's sake.
    problem = a_problem([[2.0], [10.0], [10.0]], hosts=1, deadline=[1.0, 10.0, 20.0])
    after, cost, late = judged(problem, a_plan([0, 1, 2], [1, 1, 1]))
    assert after.order.tolist() == [1, 2, 0]
    assert late == 1
    assert round(cost, 6) == 1.0


def test_who_ends_at_the_very_deadline_is_on_time_however_that_is_rounded() -> None:
    deadline = 0.1 + 0.4
    assert deadline - 0.4 < 0.1  # looks as if it had to start before the host is free
    after, _, late = judged(a_problem([[0.1], [0.4]], hosts=1, deadline=[0.1, deadline]), a_plan([0, 1], [1, 1]))
    assert late == 0
    assert after.order.tolist() == [0, 1]


def test_a_little_lateness_is_forgiven_in_part() -> None:
    problem = a_problem([[2.0], [10.0]], hosts=1, deadline=[2.0, 11.0])
    after, cost, late = judged(problem, a_plan([0, 1], [1, 1]), mercy=4.0)
    assert after.order.tolist() == [0, 1]
    assert late == 1
    assert round(cost, 6) == 0.25


def test_recall_draws_one_of_the_last_ahead() -> None:
    orders = np.tile(np.arange(4), (500, 1))
    recall(np.array([7], dtype=np.uint64), 1.0, np.array([1] * 400 + [0] * 100), orders)
    changed = {tuple(order) for order in orders[:400].tolist()}
    assert changed == {(3, 0, 1, 2), (0, 3, 1, 2), (0, 1, 3, 2), (0, 1, 2, 3)}
    assert (orders[400:] == np.arange(4)).all()
