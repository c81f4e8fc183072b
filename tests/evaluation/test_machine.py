from __future__ import annotations

from cosched.evaluation.budget import Budget
from cosched.evaluation.machine import Machine
from cosched.evaluation.steps import Recorder, Segment
from cosched.language import Source
from cosched.language.syntax import Position

PLACE = (Source("steps.psl", ""), Position(1, 1))


def message() -> Segment:
    """Processor 1 works 4 us, sends for 1 us; 10 us later processor 2 receives for 2 us."""
    recorder = Recorder(2)
    recorder.compute(range(1), 4, PLACE)
    recorder.send(0, 1, (1, 10), 8, PLACE)
    recorder.receive(0, 1, 2, PLACE)
    segment = recorder.close()
    assert segment is not None
    return segment


def test_clocks_go_on_from_segment_to_segment() -> None:
    machine, segment = Machine(2, Budget()), message()
    machine.carry_out(segment)
    assert machine.clocks == [5, 17]
    machine.carry_out(segment)
    # Sent at 10, there at 20: processor 2 has waited since 17.
    assert machine.clocks == [10, 22]


def test_what_was_seen_before_is_not_carried_out_again() -> None:
    budget = Budget()
    machine, segment = Machine(2, budget), message()
    left = []
    for _ in range(4):
        machine.carry_out(segment)
        left.append(budget.left)
    # From the second turn on processor 2 is 12 us behind at the start: two states in all.
    assert len(segment.results) == 2
    assert left[1] - left[2] < left[0] - left[1]
    assert machine.clocks == [20, 32]


def test_a_trace_says_when_each_step_waited() -> None:
    machine = Machine(2, Budget(), trace=True)
    machine.carry_out(message())
    assert [(event.processor, event.start, event.ready, event.end, event.peer) for event in machine.events] == [
        (1, 0, 0, 4, None), (1, 4, 4, 5, 2), (2, 0, 15, 17, 1)]  # fmt: skip
