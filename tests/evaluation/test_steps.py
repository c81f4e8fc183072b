"""The step engine held against an oracle that shares no code with it: lists of steps, looked at again and again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.budget import Budget
from cosched.evaluation.machine import Machine
from cosched.evaluation.steps import COMPUTE, RECEIVE, SEND, Operation, Recorder
from cosched.language import ModelError, Source
from cosched.language.syntax import Position

PLACE = (Source("steps.psl", ""), Position(1, 1))


@dataclass(frozen=True)
class Use:
    """A step as the tests know it: kind, who, own cost, peer, network time."""

    kind: int
    processor: int
    cost: float
    peer: int = 0
    transfer: float = 0.0


@st.composite
def programs(draw: st.DrawFn) -> tuple[int, list[Use]]:
    """Programs without deadlock, with the processors' steps interleaved at random."""
    count = draw(st.integers(1, 5))
    processor = st.integers(0, count - 1)
    # Eighths are exact in binary, so sums do not depend on their order.
    cost = st.integers(0, 80).map(lambda value: value / 8)
    queues: list[list[Use]] = [[] for _ in range(count)]
    for _ in range(draw(st.integers(0, 25))):
        who, peer = draw(processor), draw(processor)
        if draw(st.booleans()):
            queues[who].append(Use(COMPUTE, who, draw(cost)))
        else:
            queues[who].append(Use(SEND, who, draw(cost), peer, draw(cost)))
            queues[peer].append(Use(RECEIVE, peer, draw(cost), who))
    order = draw(st.permutations([index for index, queue in enumerate(queues) for _ in queue]))
    rests = [iter(queue) for queue in queues]
    return count, [next(rests[index]) for index in order]


def oracle(count: int, uses: list[Use], start: list[float]) -> list[float]:
    queues = [[use for use in uses if use.processor == index] for index in range(count)]
    clocks = list(start)
    mail: list[tuple[int, int, float]] = []
    progress = True
    while progress:
        progress = False
        for index, queue in enumerate(queues):
            if not queue:
                continue
            use = queue[0]
            if use.kind == RECEIVE:
                matching = [letter for letter in mail if letter[:2] == (use.peer, index)]
                if not matching:
                    continue
                mail.remove(matching[0])
                clocks[index] = max(clocks[index], matching[0][2]) + use.cost
            else:
                clocks[index] += use.cost
                if use.kind == SEND:
                    mail.append((index, use.peer, clocks[index] + use.transfer))
            queue.pop(0)
            progress = True
    assert not any(queues)
    return clocks


def recorded(count: int, uses: list[Use]) -> Recorder:
    recorder = Recorder(count)
    for use in uses:
        if use.kind == COMPUTE:
            recorder.compute(range(use.processor, use.processor + 1), use.cost, PLACE)
        elif use.kind == SEND:
            recorder.send(use.processor, use.peer, (use.cost, use.transfer), 8, PLACE)
        else:
            recorder.receive(use.peer, use.processor, use.cost, PLACE)
    return recorder


def carried_out(count: int, uses: list[Use], turns: int, trace: bool = False) -> Machine:
    machine = Machine(count, Budget(), trace)
    segment = recorded(count, uses).close()
    if segment is not None:
        for _ in range(turns):
            machine.carry_out(segment)
    return machine


@given(programs(), st.integers(1, 5))
def test_clocks_agree_with_the_oracle(program: tuple[int, list[Use]], turns: int) -> None:
    count, uses = program
    expected = [0.0] * count
    for _ in range(turns):
        expected = oracle(count, uses, expected)
    assert carried_out(count, uses, turns).clocks == pytest.approx(expected, abs=1e-5)
    assert carried_out(count, uses, turns, trace=True).clocks == expected


@given(programs())
def test_time_is_conserved(program: tuple[int, list[Use]]) -> None:
    count, uses = program
    machine = carried_out(count, uses, 1, trace=True)
    for index in range(count):
        own = [event for event in machine.events if event.processor == index + 1]
        busy = sum(event.end - event.ready for event in own)
        waiting = sum(event.ready - event.start for event in own)
        assert busy == sum(use.cost for use in uses if use.processor == index)
        assert busy + waiting == machine.clocks[index]
        # A processor does one thing at a time, and all of its things without a gap.
        assert all(before.end == after.start for before, after in pairwise(own))
        assert all(event.ready >= event.start for event in own)


@given(programs(), st.data())
def test_more_work_is_never_quicker(program: tuple[int, list[Use]], data: st.DataObject) -> None:
    count, uses = program
    if uses:
        index = data.draw(st.integers(0, len(uses) - 1))
        use = uses[index]
        slower = [*uses[:index], Use(use.kind, use.processor, use.cost + 1, use.peer, use.transfer), *uses[index + 1 :]]
        quick, slow = carried_out(count, uses, 1).clocks, carried_out(count, slower, 1).clocks
        assert all(one <= other for one, other in zip(quick, slow, strict=True))


@given(programs(), st.data())
def test_a_send_left_out_is_a_deadlock_or_shifts_the_queue(program: tuple[int, list[Use]], data: st.DataObject) -> None:
    count, uses = program
    sends = [index for index, use in enumerate(uses) if use.kind == SEND]
    if sends:
        left_out = data.draw(st.sampled_from(sends))
        with pytest.raises(ModelError, match="deadlock"):
            recorded(count, uses[:left_out] + uses[left_out + 1 :]).close()


def test_an_empty_recorder_makes_no_segment() -> None:
    assert Recorder(3).close() is None


def test_statistics_of_a_segment() -> None:
    uses = [Use(COMPUTE, 0, 2), Use(SEND, 0, 1, 1, 5), Use(SEND, 0, 1, 1, 5), Use(RECEIVE, 1, 4, 0)]
    segment = recorded(2, uses).close()
    assert segment is not None
    assert (segment.compute, segment.communication) == ([2, 0], [2, 4])
    assert (segment.size, segment.messages, segment.unreceived) == (16, 2, 1)
    assert isinstance(segment.order[0], Operation)
