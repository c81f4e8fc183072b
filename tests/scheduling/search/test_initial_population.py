from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.heuristics import batch_queue, moldable_tasks
from cosched.scheduling.heuristics.batch_queue import calculated_counts
from cosched.scheduling.heuristics.list_scheduling import list_order
from cosched.scheduling.host_counts import best_seconds, single_class
from cosched.scheduling.kernels.search.load_balancing import balanced_load
from cosched.scheduling.search.initial_population import Population, compiled_list_order, initial_plans
from tests.scheduling.problems import a_plan, plans, problems, unconstrained

if TYPE_CHECKING:
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem


def lists(plan: Plan) -> tuple[list[int], list[int]]:
    return plan.order.tolist(), plan.counts.tolist()


def the_same_from_the_heuristics(problem: Problem) -> list[tuple[list[int], list[int]]]:
    expected = [
        *moldable_tasks.threshold_plans(problem, 6),
        moldable_tasks.earliest_deadline_first(problem),
        moldable_tasks.longest_first(problem),
        moldable_tasks.earliest_finish(problem),
        batch_queue.easy(problem, calculated_counts(best_seconds(problem))),
    ]
    if np.isfinite(problem.deadline).any():
        expected.append(moldable_tasks.late_last(problem))
    if single_class(problem) is not None and not any(problem.depends_on) and not problem.release.any():
        expected += [balanced_load(problem, plan, best_seconds(problem)) for plan in expected[:3]]
    return [lists(plan) for plan in expected]


@given(problems())
def test_the_plans_are_those_of_the_heuristics(problem: Problem) -> None:
    assert [lists(plan) for plan in initial_plans(problem, 6)] == the_same_from_the_heuristics(problem)


@given(problems().map(unconstrained))
def test_so_they_are_from_machine_code(problem: Problem) -> None:
    assert [lists(plan) for plan in initial_plans(problem, 6)] == the_same_from_the_heuristics(problem)


@given(st.data())
def test_lists_are_scheduled_alike(data: st.DataObject) -> None:
    problem = unconstrained(data.draw(problems(classes=1, tasks=12)))
    plan = data.draw(plans(problem))
    seconds = best_seconds(problem)[np.arange(len(plan.counts)), plan.counts - 1].tolist()
    priority, counts = lists(plan)
    assert compiled_list_order(problem, priority, counts, seconds) == list_order(problem, priority, counts, seconds)


def test_plans_go_in_and_come_out_and_are_not_judged_yet() -> None:
    plans = [a_plan([1, 0], [1, 2]), a_plan([0, 1], [3, 1])]
    people = Population.of(plans)
    assert np.isinf(people.costs).all()
    for index, plan in enumerate(plans):
        assert people.plan(index).order.tolist() == plan.order.tolist()
        assert people.plan(index).counts.tolist() == plan.counts.tolist()


def test_copies_and_plans_share_nothing_with_the_population() -> None:
    people = Population.of([a_plan([1, 0], [1, 2])])
    copy, plan = people.copy(), people.plan(0)
    people.orders[:], people.counts[:], people.costs[:] = 0, 9, 1.0
    for order, counts in ((copy.orders[0], copy.counts[0]), (plan.order, plan.counts)):
        assert order.tolist() == [1, 0]
        assert counts.tolist() == [1, 2]
    assert np.isinf(copy.costs).all()
