from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.budget import Budget
from cosched.evaluation.clocks.breakdown import account, trace
from cosched.evaluation.clocks.clocks import Clocks
from cosched.evaluation.clocks.pricing import Prices
from cosched.evaluation.hardware import Hardware
from cosched.evaluation.layout import layout
from cosched.language import ModelError
from tests.evaluation.makers import PLACES, plan, programs
from tests.evaluation.oracle import COMPUTE, RECEIVE, SEND, Use, simulate

PRICES = Prices(layout(Hardware("none", {}, {}), [5]), PLACES)


def course(count: int, uses: list[Use], turns: int) -> Clocks:
    clocks, made = Clocks(np.array([count]), Budget(), PLACES, remember=True), plan(count, uses)
    for _ in range(turns):
        clocks.go(made)
    return clocks


@given(programs(), st.integers(1, 4))
def test_every_processors_time_adds_up_to_the_run_time(program: tuple[int, list[Use]], turns: int) -> None:
    count, uses = program
    found = account(course(count, uses, turns), PRICES, PLACES)
    for index, times in enumerate(found.processors):
        own = [use for use in uses if use.processor == index]
        assert times.compute * 1e6 == pytest.approx(turns * sum(use.cost for use in own if use.kind == COMPUTE))
        assert times.communication * 1e6 == pytest.approx(turns * sum(use.cost for use in own if use.kind != COMPUTE))
        assert sum(times) == pytest.approx(found.seconds, abs=1e-11)
        assert times.idle >= 0
    sends = turns * sum(use.kind == SEND for use in uses)
    assert (found.messages, found.bytes_sent, found.unreceived) == (sends, 8 * sends, 0)


@given(programs(), st.integers(1, 3))
def test_a_trace_tells_the_whole_course(program: tuple[int, list[Use]], turns: int) -> None:
    count, uses = program
    events = trace(course(count, uses, turns), PLACES, Budget())
    expected = [0.0] * count
    for _ in range(turns):
        expected = simulate(count, uses, expected)
    assert len(events) == turns * len(uses)
    for index in range(count):
        ends = [event.end for event in events if event.processor == index + 1]
        assert max(ends, default=0.0) == pytest.approx(expected[index], abs=1e-5)
    sent = {event.message: event for event in events if event.kind == SEND}
    received = {event.message: event for event in events if event.kind == RECEIVE}
    assert sent.keys() == received.keys()
    assert all(received[number].ready >= sent[number].end - 1e-6 for number in sent)
    assert all(
        (received[number].peer, sent[number].peer) == (sent[number].processor, received[number].processor)
        for number in sent
    )


def test_a_trace_is_bounded() -> None:
    with pytest.raises(ModelError, match="stopped here after 99 steps"):
        trace(course(1, [Use(COMPUTE, 0, 1)], 20), PLACES, Budget(99))
