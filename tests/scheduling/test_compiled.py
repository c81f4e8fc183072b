from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling import compiled, decoder
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.metrics import measure, objective
from cosched.scheduling.problem import Weights
from cosched.scheduling.widths import with_widths
from tests.scheduling.problems import plans, problems

WEIGHTS = Weights(1.0, 0.3, 2.0, deadlines_first=True)


@settings(deadline=None)
@given(st.data())
def test_machine_code_repairs_orders_exactly_as_the_decoder_does(data: st.DataObject) -> None:
    problem = data.draw(problems())
    orders = data.draw(plans(problem)).order[None, :].copy()
    expected = decoder.dependency_order(problem, orders[0].tolist())
    compiled.repair(compiled.tables(problem, WEIGHTS, 1.0), orders)
    assert orders[0].tolist() == expected


@settings(deadline=None)
@given(st.data())
def test_machine_code_and_metrics_agree_on_the_objective(data: st.DataObject) -> None:
    problem = data.draw(problems(absences=data.draw(st.booleans())))
    plan = data.draw(plans(problem))
    bound = lower_bound(problem)
    tables = compiled.tables(problem, WEIGHTS, bound)
    orders = plan.order[None, :].copy()
    compiled.repair(tables, orders)
    [cost] = compiled.evaluate(tables, orders, with_widths(problem, plan).counts[None, :])
    expected = objective(measure(problem, decoder.decode(problem, plan)), WEIGHTS, bound)
    assert cost == pytest.approx(expected, rel=1e-9, abs=1e-9)
