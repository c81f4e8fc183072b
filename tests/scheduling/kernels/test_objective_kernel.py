from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding import decoder
from cosched.scheduling.host_counts import with_encoded_classes
from cosched.scheduling.kernels import objective_kernel
from cosched.scheduling.objective.objective import measure, objective
from cosched.scheduling.objective.weights import Weights
from tests.scheduling.problems import plans, problems

WEIGHTS = Weights(1.0, 0.3, 2.0, deadlines_first=True)


@settings(deadline=None)
@given(st.data())
def test_machine_code_repairs_orders_exactly_as_the_decoder_does(data: st.DataObject) -> None:
    problem = data.draw(problems())
    orders = data.draw(plans(problem)).order[None, :].copy()
    expected = decoder.dependency_order(problem, orders[0].tolist())
    objective_kernel.repair_orders(objective_kernel.tabulate(problem, WEIGHTS, 1.0), orders)
    assert orders[0].tolist() == expected


@settings(deadline=None)
@given(st.data())
def test_machine_code_and_metrics_agree_on_the_objective(data: st.DataObject) -> None:
    problem = data.draw(problems(absences=data.draw(st.booleans())))
    plan = data.draw(plans(problem))
    bound = lower_bound(problem)
    tables = objective_kernel.tabulate(problem, WEIGHTS, bound)
    orders = plan.order[None, :].copy()
    objective_kernel.repair_orders(tables, orders)
    [cost] = objective_kernel.evaluate_population(tables, orders, with_encoded_classes(problem, plan).counts[None, :])
    expected = objective(measure(problem, decoder.decode(problem, plan)), WEIGHTS, bound)
    assert cost == pytest.approx(expected, rel=1e-9, abs=1e-9)
