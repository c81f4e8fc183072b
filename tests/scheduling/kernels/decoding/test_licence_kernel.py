from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding import decoder
from cosched.scheduling.host_counts import with_encoded_classes
from cosched.scheduling.kernels.decoding import decode_kernel, packed_decode_kernel
from cosched.scheduling.kernels.objective import objective_kernel, packing_kernel
from cosched.scheduling.objective.weights import Weights
from tests.scheduling.licensed import licensed, with_one_licence
from tests.scheduling.packed import packed_plans, packed_problems
from tests.scheduling.problems import a_plan, a_problem, plans, problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem


def _decoded(problem: Problem, population: Sequence[Plan]) -> list[tuple[list[float], list[float]]]:
    orders = np.array([plan.order for plan in population])
    choices = np.array([with_encoded_classes(problem, plan).counts for plan in population])
    starts, ends = np.empty(orders.shape), np.empty(orders.shape)
    if problem.packing is None:
        tables = objective_kernel.tabulate(problem, Weights(), 1.0)
        objective_kernel.repair_orders(tables.before, tables.first, orders)
        decode_kernel.population_spans(tables, orders, choices, starts, ends)
    else:
        packed = packing_kernel.tabulate(problem, Weights(), 1.0)
        objective_kernel.repair_orders(packed.before, packed.first, orders)
        packed_decode_kernel.population_spans(packed, orders, choices, starts, ends)
    return [(begun.tolist(), ended.tolist()) for begun, ended in zip(starts, ends, strict=True)]


@settings(deadline=None)
@given(st.data())
def test_machine_code_decodes_every_plan_exactly_as_the_decoder_does(data: st.DataObject) -> None:
    problem = data.draw(licensed(data.draw(problems(unavailability=data.draw(st.booleans())))))
    population = data.draw(st.lists(plans(problem), min_size=1, max_size=3))
    assert _decoded(problem, population) == [decoder.spans(problem, plan) for plan in population]


@settings(deadline=None)
@given(st.data())
def test_machine_code_decodes_on_shared_hosts_exactly_as_the_decoder_does(data: st.DataObject) -> None:
    problem = data.draw(licensed(data.draw(packed_problems(unavailability=data.draw(st.booleans())))))
    population = data.draw(st.lists(packed_plans(problem), min_size=1, max_size=3))
    assert _decoded(problem, population) == [decoder.spans(problem, plan) for plan in population]


def test_a_crowd_of_hosts_waits_for_licences_as_well() -> None:
    hosts = 400  # more than are kept as a row
    problem = with_one_licence(a_problem([[4.0], [3.0], [2.0]], hosts=hosts), 2, [1, 2, 1])
    assert _decoded(problem, [a_plan([0, 1, 2], [1, 1, 1])]) == [([0.0, 4.0, 7.0], [4.0, 7.0, 9.0])]
