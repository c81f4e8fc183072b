from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode, dependency_order
from cosched.scheduling.elastic.expected import expected_schedule
from cosched.scheduling.kernels.decoding.decode_kernel import population_spans
from cosched.scheduling.kernels.elastic.loan_kernel import expected_spans
from cosched.scheduling.kernels.objective import elastic_kernel
from cosched.scheduling.objective.objective import measure_pieces, objective
from cosched.scheduling.objective.weights import Weights
from tests.scheduling.elastic.queues import drawn_problems, whole_queue
from tests.scheduling.problems import a_plan

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

WEIGHTS = Weights(1.0, 0.3, 2.0, deadlines_first=True, slowdown=0.5)
Drawn = tuple["Problem", list[int], list[int]]


@settings(deadline=None)
@given(drawn=drawn_problems().filter(lambda drawn: bool(drawn[0].elastic)))
def test_machine_code_expects_what_the_plain_code_does_to_the_last_bit(drawn: Drawn) -> None:
    assert_machine_code_expects_the_same(*drawn)


@pytest.mark.parametrize("seed", range(30, 50))
def test_machine_code_expects_the_same_of_whole_queues(seed: int) -> None:
    assert_machine_code_expects_the_same(*whole_queue(seed))


def assert_machine_code_expects_the_same(problem: Problem, order: list[int], counts: list[int]) -> None:
    pieces = expected_schedule(problem, decode(problem, a_plan(order, counts)))
    tables = elastic_kernel.tabulate(problem, Weights(), 1.0)
    orders, promises = np.array([dependency_order(problem, order)]), np.array([counts])
    starts, ends, begun, ended = np.empty((4, 1, len(order)))
    population_spans(tables.plain, orders, promises, starts, ends)
    everyone = np.ones(1, dtype=np.bool_)
    expected_spans(tables, orders, promises, starts, ends, everyone, begun, ended, np.empty((1, 3)))
    first = {piece.task: piece.start for piece in reversed(pieces)}
    last = {piece.task: piece.end for piece in pieces}
    assert begun[0].tolist() == [first[name] for name in problem.tasks]
    assert ended[0].tolist() == [last[name] for name in problem.tasks]


@settings(deadline=None)
@given(drawn=drawn_problems().filter(lambda drawn: bool(drawn[0].elastic)), data=st.data())
def test_machine_code_and_metrics_agree_on_the_objective(drawn: Drawn, data: st.DataObject) -> None:
    problem, order, counts = drawn
    due = st.lists(st.sampled_from([5.0, 400.0, np.inf]), min_size=len(order), max_size=len(order))
    weights = data.draw(st.none() | st.lists(st.sampled_from([0.25, 1.0]), min_size=len(order), max_size=len(order)))
    waited = data.draw(st.lists(st.floats(-5.0, 99.0), min_size=len(order), max_size=len(order)))
    problem = replace(
        problem,
        deadline=np.array(data.draw(due)),
        weight=None if weights is None else np.array(weights),
        waited=np.array(waited),
    )
    promised = decode(problem, a_plan(order, counts))
    metrics = measure_pieces(problem, promised, expected_schedule(problem, promised))
    tables = elastic_kernel.tabulate(problem, WEIGHTS, 7.0)
    orders, promises = np.array([dependency_order(problem, order)]), np.array([counts])
    [cost] = elastic_kernel.evaluate_population(tables, orders, promises)
    assert cost == pytest.approx(objective(metrics, WEIGHTS, 7.0), rel=1e-9, abs=1e-9)
    makespan, late, lateness, idle, slowdown = elastic_kernel.plan_figures(tables, orders[0], promises[0])
    assert (makespan, late) == (metrics.makespan, metrics.with_deadline - metrics.on_time)
    expected = metrics.lateness, metrics.front_idle, metrics.slowdown
    assert (lateness, idle, slowdown) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    limits = np.array([data.draw(st.sampled_from([0.0, cost / 2, cost, cost * 2]))])
    [compared] = elastic_kernel.compare_children(tables, orders, promises, limits)
    assert compared == cost if cost <= limits[0] else limits[0] < compared <= cost * (1 + 1e-12)
