from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.kernels.late_jobs_kernel import (
    AnnealedPlan,
    LateJobTables,
    evaluate_from,
    move_hopeless_last,
    new_annealed_plan,
    tabulate_late_jobs,
)
from cosched.scheduling.kernels.objective_kernel import tabulate
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from tests.scheduling.problems import a_plan, a_problem, plans, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def laid_out(problem: Problem) -> LateJobTables:
    return tabulate_late_jobs(problem, tabulate(problem, Weights(), lower_bound(problem)))


def read(problem: Problem, plan: Plan, mercy: float = 0.0) -> tuple[AnnealedPlan, int, float]:
    """Return the plan after triage, how many tasks it keeps and its cost."""
    asking = laid_out(problem)
    found = new_annealed_plan(asking, plan.order)
    found.asked[:] = plan.counts
    kept, cost = evaluate_from(asking, mercy, np.inf, 0, found)
    return found, kept, cost


def ends(problem: Problem, plan: Plan) -> list[float]:
    return spans(problem, plan)[1]


def missed(problem: Problem, plan: Plan) -> int:
    return int((np.array(ends(problem, plan)) > problem.deadline).sum())


@settings(deadline=None)
@given(st.data())
def test_a_plan_after_triage_misses_those_given_up_alone_and_no_more_than_before(data: st.DataObject) -> None:
    problem = replace(data.draw(problems(classes=1)), depends_on=())
    plan = data.draw(plans(problem))
    found, kept, cost = read(problem, plan)
    assert sorted(found.order.tolist()) == list(range(len(problem.tasks)))
    after = Plan(found.order, found.counts)
    assert missed(problem, after) == len(problem.tasks) - kept == cost
    assert missed(problem, after) <= missed(problem, plan)
    expected = ends(problem, after)
    assert [found.ends[task] for task in found.order[:kept]] == [expected[task] for task in found.order[:kept]]
    orders, counts = np.array([plan.order] * 2), np.array([plan.counts] * 2)
    move_hopeless_last(laid_out(problem), found, orders, counts)
    assert missed(problem, Plan(orders[1], counts[1])) == missed(problem, after)


@settings(deadline=None)
@given(st.data())
def test_read_on_from_any_place_a_plan_is_the_same(data: st.DataObject) -> None:
    problem = replace(data.draw(problems(classes=1)), depends_on=())
    mercy = data.draw(st.sampled_from([0.0, 5.0]))
    found, kept, cost = read(problem, data.draw(plans(problem)), mercy)
    before = [column.tolist() for column in found[:-1]]
    again = evaluate_from(laid_out(problem), mercy, np.inf, data.draw(st.integers(0, kept)), found)
    assert again == (kept, cost)
    assert [column.tolist() for column in found[:-1]] == before


def test_a_late_task_takes_the_cheapest_count_that_is_in_time() -> None:
    problem = a_problem([[8.0, 5.0, 4.0, 1.0]], hosts=4, deadline=[5.0])
    found, kept, _ = read(problem, a_plan([0], [1]))
    assert kept == 1
    assert found.counts.tolist() == [4]  # 4 host-seconds; two hosts would take 10
    assert found.asked.tolist() == [0]  # should it come earlier in another plan, what is cheapest there


def test_who_asks_for_a_count_that_is_in_time_takes_it() -> None:
    problem = a_problem([[8.0, 5.0, 4.0, 1.0]], hosts=4, deadline=[5.0])
    found, _, _ = read(problem, a_plan([0], [3]))
    assert (found.counts.tolist(), found.asked.tolist()) == ([3], [3])


def test_who_cannot_be_in_time_goes_behind_all_others() -> None:
    # One host. In this order b and c would be late by 1 for a's sake.
    problem = a_problem([[2.0], [10.0], [10.0]], hosts=1, deadline=[1.0, 10.0, 20.0])
    found, kept, cost = read(problem, a_plan([0, 1, 2], [1, 1, 1]))
    assert found.order.tolist() == [1, 2, 0]
    assert (kept, cost) == (2, 1.0)


def test_who_ends_at_the_very_deadline_is_on_time_however_that_is_rounded() -> None:
    deadline = 0.1 + 0.4
    assert deadline - 0.4 < 0.1  # looks as if it had to start before the host is free
    found, kept, _ = read(a_problem([[0.1], [0.4]], hosts=1, deadline=[0.1, deadline]), a_plan([0, 1], [1, 1]))
    assert kept == 2
    assert found.order.tolist() == [0, 1]


def test_a_little_lateness_is_forgiven_in_part() -> None:
    problem = a_problem([[2.0], [10.0]], hosts=1, deadline=[2.0, 11.0])
    found, kept, cost = read(problem, a_plan([0, 1], [1, 1]), mercy=4.0)
    assert found.order.tolist() == [0, 1]
    assert (kept, cost) == (2, 0.25)


def test_a_plan_that_costs_too_much_is_not_read_to_its_end() -> None:
    problem = a_problem([[2.0]] * 4, hosts=1, deadline=[1.0, 1.0, 1.0, 9.0])
    asking = laid_out(problem)
    found = new_annealed_plan(asking, np.arange(4))
    assert evaluate_from(asking, 0.0, 1.5, 0, found) == (-1, 2.0)
