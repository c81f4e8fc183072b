from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding import decoder
from cosched.scheduling.kernels.decoding.packed_decode_kernel import population_spans
from cosched.scheduling.kernels.objective import packing_kernel
from cosched.scheduling.kernels.objective.objective_kernel import repair_orders
from cosched.scheduling.objective.objective import measure_plan, objective
from cosched.scheduling.objective.weights import Weights
from tests.scheduling.packed import packed_plans, packed_problems
from tests.scheduling.problems import waits


@settings(deadline=None)
@given(st.data())
def test_machine_code_decodes_every_plan_exactly_as_the_decoder_does(data: st.DataObject) -> None:
    problem = data.draw(packed_problems(unavailability=data.draw(st.booleans())))
    population = data.draw(st.lists(packed_plans(problem), min_size=1, max_size=3))
    tables = packing_kernel.tabulate(problem, Weights(), 1.0)
    orders = np.array([plan.order for plan in population])
    repair_orders(tables.before, tables.first, orders)
    starts, ends = np.empty(orders.shape), np.empty(orders.shape)
    population_spans(tables, orders, np.array([plan.counts for plan in population]), starts, ends)
    found = [(begun.tolist(), ended.tolist()) for begun, ended in zip(starts, ends, strict=True)]
    assert found == [decoder.spans(problem, plan) for plan in population]


@settings(deadline=None)
@given(st.data())
def test_machine_code_judges_a_plan_as_the_objective_does(data: st.DataObject) -> None:
    problem = data.draw(packed_problems(unavailability=data.draw(st.booleans())))
    problem = replace(problem, waited=data.draw(st.none() | waits(problem)))
    slowdown = 0.0 if problem.waited is None else data.draw(st.sampled_from([0.0, 2.0]))
    plan = data.draw(packed_plans(problem))
    weights = Weights(deadlines_first=data.draw(st.booleans()), slowdown=slowdown)
    tables = packing_kernel.tabulate(problem, weights, 3.0)
    orders, shapes = plan.order.reshape(1, -1).copy(), plan.counts.reshape(1, -1)
    repair_orders(tables.before, tables.first, orders)
    metrics = measure_plan(problem, plan)
    [cost] = packing_kernel.evaluate_population(tables, orders, shapes)
    assert cost == pytest.approx(objective(metrics, weights, 3.0), rel=1e-6, abs=1e-6)
    makespan, late, lateness, idle, mean_slowdown = packing_kernel.plan_figures(tables, orders[0], shapes[0])
    assert mean_slowdown == pytest.approx(metrics.slowdown or 0.0)
    assert (makespan, late) == (metrics.makespan, metrics.with_deadline - metrics.on_time)
    assert (lateness, idle) == pytest.approx((metrics.lateness, metrics.front_idle), rel=1e-6, abs=1e-6)
