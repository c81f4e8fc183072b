from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding import decoder
from cosched.scheduling.decoding.free_hosts import IdenticalFreeHosts
from cosched.scheduling.host_counts import with_encoded_classes
from cosched.scheduling.kernels.decoding.decode_kernel import free_rows, occupy_first, population_spans
from cosched.scheduling.kernels.objective import objective_kernel
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.problem import Problem
from tests.scheduling.problems import plans, problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.plan import Plan

_CROWD = 400  # hosts: more than are kept as a row


def _decoded(problem: Problem, population: Sequence[Plan]) -> list[tuple[list[float], list[float]]]:
    tables = objective_kernel.tabulate(problem, Weights(), 1.0)
    orders = np.array([plan.order for plan in population])
    objective_kernel.repair_orders(tables.before, tables.first, orders)
    starts, ends = np.empty(orders.shape), np.empty(orders.shape)
    population_spans(
        tables, orders, np.array([with_encoded_classes(problem, plan).counts for plan in population]), starts, ends
    )
    return [(begun.tolist(), ended.tolist()) for begun, ended in zip(starts, ends, strict=True)]


@settings(deadline=None)
@given(st.data())
def test_machine_code_decodes_every_plan_exactly_as_the_decoder_does(data: st.DataObject) -> None:
    problem = data.draw(problems(unavailability=data.draw(st.booleans())))
    population = data.draw(st.lists(plans(problem), min_size=1, max_size=3))
    assert _decoded(problem, population) == [decoder.spans(problem, plan) for plan in population]


@settings(deadline=None)
@given(st.data())
def test_a_crowd_of_hosts_is_decoded_as_the_few_that_each_stands_for(data: st.DataObject) -> None:
    few = data.draw(problems(classes=1))
    times = _CROWD // len(few.hosts) + 1
    hosts = len(few.hosts) * times
    seconds = np.full((1, len(few.tasks), hosts), np.inf)
    seconds[:, :, times - 1 :: times] = few.seconds
    crowd = replace(
        few,
        hosts=tuple(f"h{host}" for host in range(hosts)),
        host_class=np.zeros(hosts, dtype=np.int64),
        free=np.repeat(few.free, times),
        seconds=seconds,
    )
    population = data.draw(st.lists(plans(few), min_size=1, max_size=3))
    expected = [decoder.spans(few, plan) for plan in population]
    assert _decoded(crowd, [replace(plan, counts=plan.counts * times) for plan in population]) == expected


def test_hosts_that_a_task_cannot_use_never_stand_in_for_those_that_it_lacks() -> None:
    seconds = np.full((3, 1, 5), np.inf)
    seconds[0, 0, 0], seconds[1:, 0, 3] = 9.0, 2.0  # four of classes b and c, of which there are two; else one of a
    problem = Problem(
        ("t",),
        tuple("hijkl"),
        ("a", "b", "c"),
        np.array([0, 0, 0, 1, 2]),
        np.zeros(5),
        seconds,
        np.zeros(1),
        np.full(1, np.inf),
    )
    tables = objective_kernel.tabulate(problem, Weights(), 1.0)
    starts, ends = np.empty((2, 1)), np.empty((2, 1))
    population_spans(tables, np.zeros((2, 1), dtype=np.int64), np.array([[4], [1]]), starts, ends)
    assert ends.tolist() == [[np.inf], [9.0]]


@given(st.data())
def test_a_row_is_the_free_times_after_each_task(data: st.DataObject) -> None:
    times = st.integers(0, 5).map(float) | st.floats(0.0, 99.0)
    begin = sorted(data.draw(st.lists(times, min_size=1, max_size=40)))
    hosts = len(begin)
    known, rows = IdenticalFreeHosts(begin), free_rows(2, hosts)
    free, after = rows
    free[:hosts] = begin
    for _ in range(data.draw(st.integers(1, 9))):
        count = data.draw(st.integers(1, hosts))
        end = known.earliest(count) + data.draw(times)
        known.take(count, end)
        occupy_first(free, hosts, count, end, after)
        free, after = after, free
        assert free[:hosts].tolist() == [known.earliest(each) for each in range(1, hosts + 1)]
