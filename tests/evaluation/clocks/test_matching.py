from __future__ import annotations

import numpy as np
from hypothesis import given

from cosched.evaluation.clocks.matching import Topology, topology
from cosched.evaluation.clocks.steps import Steps
from tests.evaluation.makers import plan, programs
from tests.evaluation.oracle import COMPUTE, RECEIVE, SEND, Use


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
    assert found.first.tolist() == [0, 2, 4, 5]
    assert found.run.tolist() == [0, 0, 1, 1, 2]
    assert (found.sends.tolist(), found.receives.tolist(), found.unreceived) == ([1, 3], [2, 4], 0)
    # The first run begins when its processor does, the others after the processor's clock and a message.
    assert found.node.tolist() == [0, 3, 4]
    assert [level.source.ravel().tolist() for level in found.levels] == [[1, 0], [2, 3]]
    assert [(level.nodes.start, level.nodes.stop) for level in found.levels] == [(3, 4), (4, 5)]


def test_a_receive_after_a_send_begins_a_new_run() -> None:
    uses = [Use(SEND, 0, 1, 1, 1), Use(RECEIVE, 0, 1, 1), Use(RECEIVE, 1, 1, 0), Use(SEND, 1, 1, 0, 1)]
    found = Topology(steps(uses, 2), 2)
    assert found.first.tolist() == [0, 1, 2, 4]
    assert found.chained.tolist() == [0]
    assert len(found.levels) == 2


@given(programs())
def test_every_edge_leads_upwards(program: tuple[int, list[Use]]) -> None:
    count, uses = program
    found = Topology(steps(uses, count), count)
    level = np.full(found.nodes, -1)
    for number, own in enumerate(found.levels):
        level[own.nodes] = number
    for number, own in enumerate(found.levels):
        assert (level[own.source] < number).all()
    inner = [node for node in found.node.tolist() if node >= count]
    assert sorted(inner) == list(range(count, found.nodes - 1))
    sources = [node for own in found.levels for node in own.source.ravel().tolist()]
    assert len(sources) == found.edges
    filled = sources.count(found.nodes - 1)
    assert len(sources) - filled == len(inner) + len(found.sends)
    assert filled <= len(sources) - filled


def test_a_level_with_one_run_that_waits_for_very_many_is_not_filled_up() -> None:
    count = 100
    sends = [Use(SEND, one, 1, other, 1) for one in range(1, count) for other in {0, one % (count - 1) + 1}]
    receives = [Use(RECEIVE, send.peer, 1, send.processor) for send in sends]
    found = Topology(steps(sends + receives, count), count)
    assert [level.starts is None for level in found.levels] == [False]
    assert found.edges == count + len(found.sends)


def test_a_wide_level_is_parted() -> None:
    count = 10_000
    sends = [Use(SEND, one, 1, (one + 1) % count, 1) for one in range(count)]
    found = Topology(steps(sends + [Use(RECEIVE, send.peer, 1, send.processor) for send in sends], count), count)
    bounds = [(level.nodes.start, level.nodes.stop) for level in found.levels]
    assert max(stop - start for start, stop in bounds) < 5_000
    assert [start for start, _ in bounds] == [count, *(stop for _, stop in bounds[:-1])]
    assert bounds[-1][1] == found.nodes - 1 == 2 * count


def test_steps_of_one_shape_share_their_topology() -> None:
    one = steps(PIPELINE, 3)
    found = topology(one, 3)
    assert topology(Steps(one.shape, one.amounts + 1), 3) is found
    assert topology(one.apart(), 3) is found
    assert topology(one, 4) is not found
