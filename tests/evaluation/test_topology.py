from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given

from cosched.evaluation.topology import Topology, topology
from tests.evaluation.makers import plan, programs
from tests.evaluation.oracle import COMPUTE, RECEIVE, SEND, Use

if TYPE_CHECKING:
    from cosched.evaluation.steps import Steps


def steps(uses: list[Use], processors: int) -> Steps:
    return plan(processors, uses).steps


PIPELINE = [
    Use(COMPUTE, 0, 1),
    Use(SEND, 0, 1, 1, 1),
    Use(RECEIVE, 1, 1, 0),
    Use(SEND, 1, 1, 2, 1),
    Use(RECEIVE, 2, 1, 1),
]


def test_runs_and_levels_of_a_pipeline() -> None:
    found = Topology(steps(PIPELINE, 3), 3)
    assert found.first.tolist() == [0, 2, 4]
    assert found.run.tolist() == [0, 0, 1, 1, 2]
    assert (found.sends.tolist(), found.receives.tolist(), found.unreceived) == ([1, 3], [2, 4], 0)
    # One run a level, each after the processor's clock and the message from the run before it.
    assert found.node.tolist() == [3, 4, 5]
    assert [found.source[level.edges].tolist() for level in found.levels] == [[0], [1, 3], [2, 4]]
    assert [(level.nodes.start, level.nodes.stop) for level in found.levels] == [(3, 4), (4, 5), (5, 6)]


def test_a_receive_after_a_send_begins_a_new_run() -> None:
    uses = [Use(SEND, 0, 1, 1, 1), Use(RECEIVE, 0, 1, 1), Use(RECEIVE, 1, 1, 0), Use(SEND, 1, 1, 0, 1)]
    found = Topology(steps(uses, 2), 2)
    assert found.first.tolist() == [0, 1, 2]
    assert found.chained.tolist() == [0]
    assert len(found.levels) == 3


@given(programs())
def test_every_edge_leads_upwards(program: tuple[int, list[Use]]) -> None:
    count, uses = program
    found = Topology(steps(uses, count), count)
    level = np.full(count + len(found.first) + 1, -1)
    for number, own in enumerate(found.levels):
        level[own.nodes] = number
    for number, own in enumerate(found.levels):
        assert (level[found.source[own.edges]] < number).all()
    assert sorted(found.node.tolist()) == list(range(count, count + len(found.first)))
    filled = found.source == count + len(found.first)
    assert (~filled).sum() == len(found.first) + len(found.sends)
    assert filled.sum() <= (~filled).sum()


def test_a_level_with_one_run_that_waits_for_very_many_is_not_filled_up() -> None:
    count = 100
    sends = [Use(SEND, one, 1, other, 1) for one in range(1, count) for other in {0, one % (count - 1) + 1}]
    receives = [Use(RECEIVE, send.peer, 1, send.processor) for send in sends]
    found = Topology(steps(sends + receives, count), count)
    assert [level.starts is None for level in found.levels] == [True, False]
    assert len(found.source) == len(found.first) + len(found.sends)


def test_steps_that_differ_in_amounts_alone_share_their_topology() -> None:
    one = steps(PIPELINE, 3)
    found = topology(one, 3)
    assert topology(replace(one, amount=one.amount + 1, place=one.place + 1), 3) is found
    other = steps(
        [Use(COMPUTE, 0, 1), Use(COMPUTE, 0, 1), *PIPELINE[2:3], Use(SEND, 0, 1, 1, 1), Use(COMPUTE, 2, 1)], 3
    )
    assert len(other) == len(one)
    assert topology(other, 3) is not found
