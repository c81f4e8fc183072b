from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding import decoder
from cosched.scheduling.host_counts import with_encoded_classes
from cosched.scheduling.kernels.objective import objective_kernel
from cosched.scheduling.objective.objective import measure, objective
from cosched.scheduling.objective.weights import Weights
from tests.scheduling.problems import a_problem, plans, problems, waits

WEIGHTS = Weights(1.0, 0.3, 2.0, deadlines_first=True)


@settings(deadline=None)
@given(st.data())
def test_machine_code_repairs_orders_exactly_as_the_decoder_does(data: st.DataObject) -> None:
    problem = data.draw(problems())
    orders = data.draw(plans(problem)).order[None, :].copy()
    expected = decoder.dependency_order(problem, orders[0].tolist())
    tables = objective_kernel.tabulate(problem, WEIGHTS, 1.0)
    objective_kernel.repair_orders(tables.before, tables.first, orders)
    assert orders[0].tolist() == expected


@settings(deadline=None)
@given(st.data())
def test_machine_code_and_metrics_agree_on_the_objective(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=data.draw(st.booleans())))
    some = st.sampled_from([0.25, 1.0])
    weights = data.draw(st.none() | st.lists(some, min_size=len(problem.tasks), max_size=len(problem.tasks)))
    waited = data.draw(st.none() | waits(problem))
    problem = replace(problem, weight=None if weights is None else np.array(weights), waited=waited)
    judged = WEIGHTS if waited is None else replace(WEIGHTS, slowdown=data.draw(st.sampled_from([0.0, 3.0])))
    plan = data.draw(plans(problem))
    bound = lower_bound(problem)
    tables = objective_kernel.tabulate(problem, judged, bound)
    orders = plan.order[None, :].copy()
    objective_kernel.repair_orders(tables.before, tables.first, orders)
    [cost] = objective_kernel.evaluate_population(tables, orders, with_encoded_classes(problem, plan).counts[None, :])
    expected = objective(measure(problem, decoder.decode(problem, plan)), judged, bound)
    assert cost == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_of_plans_as_long_as_each_other_every_second_sees_which_has_less_beyond_the_bound() -> None:
    # The long task ends 1 s beyond the bound of 3 s whatever it takes: one of three hosts, or two.
    problem = a_problem([[4.0, 4.0], [3.0]], hosts=3)
    tables = objective_kernel.tabulate(problem, Weights(1.0, 0.0, 0.0), 3.0)
    orders, counts = np.array([[0, 1]] * 8), np.array([*[[2, 1]] * 4, *[[1, 1]] * 4])
    costs = objective_kernel.evaluate_population(tables._replace(within=3.0), orders, counts).tolist()
    assert objective_kernel.evaluate_population(tables, orders, counts).tolist() == [4 / 3] * 8
    assert 4 / 3 == costs[0] < costs[7] < costs[3] < 4 / 3 + 1e-8
    assert [costs.count(each) for each in (4 / 3, costs[3], costs[7])] == [4, 2, 2]


def test_users_take_turns_and_each_ones_tasks_keep_their_order() -> None:
    user, sequence = np.array([0, -1, 1, 0, 1, 1]), np.array([1, 0, 1, 0, 1])
    orders = np.array([[0, 1, 2, 3, 4, 5], [5, 4, 1, 3, 0, 2]])
    objective_kernel.take_turns(user, sequence, orders)
    assert orders.tolist() == [[2, 1, 0, 4, 3, 5], [5, 3, 1, 4, 0, 2]]


@settings(deadline=None)
@given(st.data())
def test_plans_that_are_seen_to_be_worse_than_their_limits_are_so(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=data.draw(st.booleans())))
    population = data.draw(st.lists(plans(problem), min_size=2, max_size=4))
    weights = data.draw(st.sampled_from([WEIGHTS, Weights(), Weights(1.0, 0.0, 0.0), Weights(0.0, 0.0, 1.0)]))
    tables = objective_kernel.tabulate(problem, weights, lower_bound(problem))
    orders = np.array([plan.order for plan in population])
    objective_kernel.repair_orders(tables.before, tables.first, orders)
    counts = np.array([with_encoded_classes(problem, plan).counts for plan in population])
    costs = objective_kernel.evaluate_population(tables, orders, counts)
    for limits in (costs, np.roll(costs, 1), costs * 0.9):
        compared = objective_kernel.compare_children(tables, orders, counts, limits)
        assert (compared <= limits).tolist() == (costs <= limits).tolist()
        assert compared[compared <= limits].tolist() == costs[costs <= limits].tolist()


def test_plans_with_more_to_do_or_more_idle_time_than_their_limits_leave_are_not_read_to_their_ends() -> None:
    # Two hosts. In 8 s the wide task leaves 10 host-seconds, of which others take 6, and 6 are idle if it is not first.
    problem = a_problem([[99.0, 3.0], [3.0], [3.0]], hosts=2)
    tables = objective_kernel.tabulate(problem, Weights(1.0, 0.0, 0.0), 1.0)
    orders, counts = np.array([[0, 1, 2], [1, 0, 2], [0, 1, 2]]), np.array([[2, 1, 1]] * 3)
    limits = np.array([8.0, 8.0, 5.0])
    costs = objective_kernel.compare_children(tables, orders, counts, limits).tolist()
    assert costs == [6.0, np.inf, np.inf]
