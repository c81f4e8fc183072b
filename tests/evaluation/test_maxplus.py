"""The max-plus plan held against the step-by-step machine, which shares no code with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.evaluation.budget import Budget
from cosched.evaluation.machine import Machine
from cosched.evaluation.maxplus import Columns, Plan, UnmatchedError
from cosched.evaluation.steps import COMPUTE, RECEIVE, SEND, Recorder
from cosched.language import Source
from cosched.language.syntax import Position

PLACE = (Source("steps.psl", ""), Position(1, 1))
Step = tuple[int, int, int, float, float]  # kind, processor, peer, cost, transfer


@st.composite
def programs(draw: st.DrawFn) -> tuple[int, list[Step]]:
    """Programs without deadlock: each message is sent before it is received."""
    count = draw(st.integers(1, 5))
    processor = st.integers(0, count - 1)
    cost = st.integers(0, 80).map(lambda value: value / 8)
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 25))):
        who, peer = draw(processor), draw(processor)
        if draw(st.booleans()):
            steps.append((COMPUTE, who, 0, draw(cost), 0.0))
        else:
            steps.append((SEND, who, peer, draw(cost), draw(cost)))
            steps.append((RECEIVE, peer, who, draw(cost), 0.0))
    return count, steps


def columns(steps: list[Step]) -> Columns:
    kind, processor, peer, cost, transfer = zip(*sorted(steps, key=lambda step: step[1]), strict=True)
    return Columns(np.array(kind, np.int8), np.array(processor), np.array(peer), np.array(cost), np.array(transfer))


@settings(deadline=None)
@given(programs(), st.integers(1, 4))
def test_clocks_agree_with_the_machine(program: tuple[int, list[Step]], turns: int) -> None:
    count, steps = program
    recorder = Recorder(count)
    for kind, who, peer, cost, transfer in steps:
        if kind == COMPUTE:
            recorder.compute(range(who, who + 1), cost, PLACE)
        elif kind == SEND:
            recorder.send(who, peer, (cost, transfer), 8, PLACE)
        else:
            recorder.receive(peer, who, cost, PLACE)
    segment = recorder.close()
    assert segment is not None
    machine, plan, clocks = Machine(count, Budget(), trace=True), Plan(columns(steps), count), np.zeros(count)
    for _ in range(turns):
        machine.carry_out(segment)
        clocks = plan.advance(clocks)
        assert clocks == pytest.approx(machine.clocks, abs=1e-9)


@settings(deadline=None)
@given(programs(), st.data())
def test_a_message_without_its_other_end_is_refused(program: tuple[int, list[Step]], data: st.DataObject) -> None:
    count, steps = program
    messages = [index for index, step in enumerate(steps) if step[0] != COMPUTE]
    if len(messages) > 2:
        left_out = data.draw(st.sampled_from(messages))
        with pytest.raises(UnmatchedError):
            Plan(columns(steps[:left_out] + steps[left_out + 1 :]), count)


def test_steps_that_wait_for_one_another_are_refused() -> None:
    with pytest.raises(UnmatchedError):
        Plan(columns([(RECEIVE, 0, 1, 1, 0), (SEND, 0, 1, 1, 1), (RECEIVE, 1, 0, 1, 0), (SEND, 1, 0, 1, 1)]), 2)


def test_a_pipeline_by_hand() -> None:
    plan = Plan(columns([(COMPUTE, 0, 0, 5, 0), (SEND, 0, 1, 1, 10), (RECEIVE, 1, 0, 3, 0), (COMPUTE, 1, 0, 7, 0)]), 3)
    # Processor 1 is done at 6; the message arrives at 16, is received until 19, worked on until 26. Processor 3 rests.
    assert list(plan.advance(np.zeros(3))) == [6, 26, 0]
    # A receiver that is late anyway waits for nothing.
    assert list(plan.advance(np.array([0.0, 50.0, 2.0]))) == [6, 60, 2]
