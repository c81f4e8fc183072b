from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.kernels.objective.objective_kernel import tabulate
from cosched.scheduling.kernels.search.late_jobs_kernel import (
    AnnealedPlan,
    LateJobTables,
    LatenessCosts,
    anneal,
    evaluate_from,
    move_hopeless_last,
    new_annealed_plan,
    tabulate_late_jobs,
)
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from tests.exploring import examples
from tests.scheduling.problems import a_plan, a_problem, plans, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def laid_out(problem: Problem) -> LateJobTables:
    return tabulate_late_jobs(problem, tabulate(problem, Weights(), lower_bound(problem)))


def missing(tolerance: float = 0.0) -> LatenessCosts:
    """Return the costs of missed deadlines, a part of one for lateness below the tolerance."""
    return LatenessCosts(tolerance, 1.0, 1.0 / tolerance if tolerance > 0 else 0.0, 0.0)


def read(problem: Problem, plan: Plan, terms: LatenessCosts | None = None) -> tuple[AnnealedPlan, int, float]:
    """Return the plan after triage, how many tasks it keeps and its cost."""
    asking = laid_out(problem)
    found = new_annealed_plan(asking, plan.order)
    found.asked[:] = plan.counts
    kept, cost = evaluate_from(asking, terms or missing(), np.inf, 0, found)
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


JUDGED = (LatenessCosts(0.0, 1e6, 0.5, 1.0), LatenessCosts(np.inf, 0.0, 1.0, 0.01))


def costs(problem: Problem, plan: Plan, terms: LatenessCosts) -> float:
    """Return what a plan costs by its schedule."""
    weight = np.ones(len(problem.tasks)) if problem.weight is None else problem.weight
    schedule = np.array(ends(problem, plan))
    late = np.maximum(schedule - problem.deadline, 0.0)
    lateness = float((weight * (terms.missed * (late > 0) + terms.late * late)).sum())
    return lateness + terms.makespan * float(schedule.max())


@settings(deadline=None)
@given(st.data())
def test_the_cost_with_the_makespan_is_that_of_the_schedule(data: st.DataObject) -> None:
    drawn = replace(data.draw(problems(classes=1)), depends_on=())
    problem = replace(drawn, weight=np.arange(1.0, len(drawn.tasks) + 1))
    terms = data.draw(st.sampled_from(JUDGED))
    plan = data.draw(plans(problem))
    staying = data.draw(st.lists(st.booleans(), min_size=len(problem.tasks), max_size=len(problem.tasks)))
    asking = replace(plan, counts=np.where(staying, -plan.counts, plan.counts))
    found, _, cost = read(problem, asking, terms)
    assert cost == pytest.approx(costs(problem, Plan(found.order, found.counts), terms))


def test_where_any_lateness_is_tolerated_a_late_task_keeps_the_count_that_it_asks_for() -> None:
    problem = a_problem([[8.0, 5.0]], hosts=2, deadline=[1.0])
    found, kept, _ = read(problem, a_plan([0], [1]), LatenessCosts(np.inf, 0.0, 1.0, 0.01))
    assert (kept, found.counts.tolist()) == (1, [1])
    others = read(problem, a_plan([0], [1]), missing(9.0))[0]
    assert others.counts.tolist() == [2]  # on which it ends first


@settings(deadline=None)
@given(st.data())
def test_read_on_from_any_place_a_plan_is_the_same(data: st.DataObject) -> None:
    problem = replace(data.draw(problems(classes=1)), depends_on=())
    terms = data.draw(st.sampled_from([missing(), missing(5.0), *JUDGED]))
    found, kept, cost = read(problem, data.draw(plans(problem)), terms)
    before = [column.tolist() for column in found[:-1]]
    again = evaluate_from(laid_out(problem), terms, np.inf, data.draw(st.integers(0, kept)), found)
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
    found, kept, cost = read(problem, a_plan([0, 1], [1, 1]), missing(4.0))
    assert found.order.tolist() == [0, 1]
    assert (kept, cost) == (2, 0.25)


def test_a_plan_that_costs_too_much_is_not_read_to_its_end() -> None:
    problem = a_problem([[2.0]] * 4, hosts=1, deadline=[1.0, 1.0, 1.0, 9.0])
    asking = laid_out(problem)
    found = new_annealed_plan(asking, np.arange(4))
    assert evaluate_from(asking, missing(), 1.5, 0, found) == (-1, 2.0)


def annealed(
    problem: Problem, steps: int, terms: LatenessCosts | None = None, temperature: float = 0.1
) -> tuple[float, Plan, AnnealedPlan]:
    """Return the best value on the way from the tasks in order of index, that plan, and the last one."""
    terms = terms or missing()
    asking = tabulate_late_jobs(problem, tabulate(problem, Weights(), lower_bound(problem)))
    plan, trial, best = [new_annealed_plan(asking, np.arange(len(problem.tasks))) for _ in range(3)]
    state = np.array([5], dtype=np.uint64)
    fewest = anneal(state, asking, terms, temperature, steps, plan, trial, best)
    again = new_annealed_plan(asking, plan.order)
    again.asked[:] = plan.asked
    kept, _ = evaluate_from(asking, terms, np.inf, 0, again)
    assert again.order.tolist() == plan.order.tolist()
    assert again.free[: kept + 1].tolist() == plan.free[: kept + 1].tolist()  # nothing is left over from other plans
    assert again.costs[: kept + 1].tolist() == plan.costs[: kept + 1].tolist()
    assert again.last[: kept + 1].tolist() == plan.last[: kept + 1].tolist()
    return fewest, Plan(best.order, best.counts), plan


@settings(max_examples=examples(13))
@given(problems(classes=1), st.sampled_from([0.0, 5.0]), st.sampled_from([0.05, 1.0]))
def test_the_best_plan_on_the_way_misses_what_is_said(problem: Problem, tolerance: float, temperature: float) -> None:
    problem = replace(problem, depends_on=())
    start = annealed(problem, 0, missing(tolerance))[0]
    fewest, best, last = annealed(problem, 60, missing(tolerance), temperature)
    assert sorted(best.order.tolist()) == sorted(last.order.tolist()) == list(range(len(problem.tasks)))
    assert missed(problem, best) == fewest <= start


@settings(max_examples=examples(13))
@given(problems(classes=1), st.sampled_from(JUDGED), st.sampled_from([0.05, 1.0]))
def test_the_best_plan_on_the_way_costs_what_is_said(
    problem: Problem, terms: LatenessCosts, temperature: float
) -> None:
    problem = replace(problem, depends_on=())
    start = annealed(problem, 0, terms)[0]
    least, best, _ = annealed(problem, 60, terms, temperature)
    assert least <= start
    assert costs(problem, best, terms) == pytest.approx(least)


def test_who_is_late_anyway_stays_in_place_where_that_makes_the_plan_shorter() -> None:
    # Two hosts, the second free at 6. On both of them the late task would have to wait until 6, on one it ends at 8.
    plain = a_problem([[8.0, 7.0], [4.0, 3.9], [4.0, 3.9]], deadline=[1.0, 10.0, 14.0])
    problem = replace(plain, free=np.array([0.0, 6.0]))
    behind = read(problem, a_plan([0, 1, 2], [1, 1, 1]), JUDGED[0])[0]
    assert behind.order.tolist() == [1, 2, 0]
    staying = read(problem, replace(a_plan([0, 1, 2], [1, 1, 1]), counts=np.array([-1, 1, 1])), JUDGED[0])[0]
    assert staying.order.tolist() == [0, 1, 2]
    assert staying.asked.tolist() == [-1, 1, 1]
    assert annealed(problem, 500, JUDGED[0])[0] == pytest.approx(1e6 + 0.5 * 7.0 + 12.0)


def test_who_would_stay_in_place_is_as_others_once_it_is_in_time() -> None:
    problem = a_problem([[2.0], [3.0]], hosts=1, deadline=[2.0, 5.0])
    found, kept, cost = read(problem, replace(a_plan([0, 1], [1, 1]), counts=np.array([-1, -1])), JUDGED[0])
    assert (kept, cost) == (2, 5.0)
    assert found.asked.tolist() == [1, 1]


def test_another_order_and_dearer_counts_are_found() -> None:
    # Two hosts. In time are b on both of them and then a and c beside each other, and nothing else.
    problem = a_problem([[4.0, 3.0], [9.0, 4.5], [4.0, 3.9]], deadline=[9.0, 5.0, 9.0])
    assert annealed(problem, 0)[0] > 0
    fewest, best, _ = annealed(problem, 200)
    assert fewest == 0
    assert best.order[0] == 1
    assert best.counts.tolist() == [1, 2, 1]


def test_a_count_that_is_worth_nothing_may_be_asked_for() -> None:
    problem = a_problem([[2.0, 2.0]] * 4, deadline=[1.0] * 4)  # two hosts are no quicker than one
    asking, order = laid_out(problem), np.arange(4)
    plan, trial, best = [new_annealed_plan(asking, order) for _ in range(3)]
    plan.asked[:] = 2
    anneal(np.array([5], dtype=np.uint64), asking, JUDGED[1], 1.0, 200, plan, trial, best)
    assert best.counts.tolist() == [1] * 4


def test_nothing_is_tried_once_nobody_is_late() -> None:
    problem = a_problem([[1.0], [2.0]], deadline=[9.0, 9.0])
    assert annealed(problem, 1000)[2].order.tolist() == [0, 1]
