from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding import decoder
from cosched.scheduling.kernels.decoding.packed_decode_kernel import population_spans
from cosched.scheduling.kernels.objective import packing_kernel
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.packing import Held
from cosched.scheduling.plan import Plan
from tests.scheduling.packed import a_packed_problem

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def _assert_decoded_alike(problem: Problem, plans: list[Plan]) -> None:
    tables = packing_kernel.tabulate(problem, Weights(), 1.0)
    orders, shapes = np.array([plan.order for plan in plans]), np.array([plan.counts for plan in plans])
    starts, ends = np.empty(orders.shape), np.empty(orders.shape)
    population_spans(tables, orders, shapes, starts, ends)
    found = [(begun.tolist(), ended.tolist()) for begun, ended in zip(starts, ends, strict=True)]
    assert found == [decoder.spans(problem, plan) for plan in plans]


@settings(deadline=None)
@given(st.data())
def test_rooms_of_several_vectors_and_a_part_of_one_are_looked_at(data: st.DataObject) -> None:
    hosts, tasks = data.draw(st.integers(7, 20)), data.draw(st.integers(10, 26))
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    count, cores, memory = draw.integers(1, 4, tasks), draw.integers(0, 9, tasks), draw.integers(1, 3000, tasks)
    columns = zip(count.tolist(), cores.tolist(), memory.tolist(), draw.integers(1, 9, tasks).tolist(), strict=True)
    shapes = [[(hosts_of, (few, much), (float(took),))] for hosts_of, few, much, took in columns]
    held = [Held(int(host), float(draw.integers(1, 9)), (4, 1499)) for host in draw.permutation(hosts)[:3]]
    problem = a_packed_problem(shapes, [(8, 3000)] * hosts, held=held)
    _assert_decoded_alike(problem, [Plan(draw.permutation(tasks), np.arange(tasks)) for _ in range(2)])


def test_lanes_beyond_the_last_room_are_never_taken_by_tasks_without_cores() -> None:
    memory_alone = [[(1, (0, 900), (2.0,))] for _ in range(5)]
    problem = a_packed_problem(memory_alone, [(4, 1000), (4, 1001), (4, 999)])
    _assert_decoded_alike(problem, [Plan(np.arange(5), np.arange(5))])


def test_hosts_of_which_every_resource_is_a_stair_are_decoded() -> None:
    shapes = [[(1, (cores,), (float(3 + number),))] for number, cores in enumerate((700, 301, 299, 999, 1, 500))]
    problem = a_packed_problem(shapes, [(1000,), (999,)])
    _assert_decoded_alike(problem, [Plan(np.arange(6), np.arange(6)), Plan(np.arange(6)[::-1].copy(), np.arange(6))])
