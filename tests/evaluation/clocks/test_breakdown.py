from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.budget import Budget
from cosched.evaluation.clocks.breakdown import critical_path, evaluation_of, trace
from cosched.evaluation.clocks.clocks import Clocks
from cosched.evaluation.clocks.pricing import Prices
from cosched.evaluation.costs import LinearCost, MessageCost
from cosched.evaluation.hardware import Hardware
from cosched.evaluation.layout import layout
from cosched.evaluation.results import TRANSFER, PathPart
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
    found = evaluation_of(course(count, uses, turns), PRICES, PLACES)
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


ONE = MessageCost(LinearCost(100, 1, 0.5, 2, 1), LinearCost(100, 1, 0.5, 2, 1), LinearCost(100, 1, 0.5, 2, 1))
MESSAGE_PRICES = Prices(layout(Hardware("one", {}, {"mpi": ONE}), [5]), PLACES)


def path(count: int, uses: list[Use], turns: int = 1) -> tuple[float, tuple[PathPart, ...]]:
    """Return run time, us, and critical path."""
    clocks, made = Clocks(np.array([count]), Budget(), PLACES, remember=True), plan(count, uses)
    for _ in range(turns):
        clocks.go(made)
    return float(clocks.latest[0]), critical_path(clocks.passages, int(np.argmax(clocks.ahead)), MESSAGE_PRICES, PLACES)


@given(programs(), st.integers(1, 4))
def test_its_parts_add_up_to_the_run_time(program: tuple[int, list[Use]], turns: int) -> None:
    time, parts = path(*program, turns)
    assert sum(part.seconds for part in parts) == pytest.approx(time / 1e6, abs=1e-11)


@given(programs(), st.sampled_from([COMPUTE, SEND, RECEIVE]))
def test_what_is_on_it_delays_the_end_by_as_much_as_it_grows(program: tuple[int, list[Use]], kind: int) -> None:
    count, uses = program
    time, parts = path(count, uses)
    slower = [
        Use(use.kind, use.processor, use.cost + 1 / 1024, use.peer, use.transfer) if use.kind == kind else use
        for use in uses
    ]
    # With equally long paths another one may grow by more.
    on_path = sum(part.times for part in parts if part.kind == kind)
    assert path(count, slower)[0] >= time + on_path / 1024


def test_it_goes_through_the_message_that_was_waited_for_by_hand() -> None:
    uses = [Use(COMPUTE, 0, 5), Use(SEND, 0, 2, 1, 10), Use(COMPUTE, 1, 3), Use(RECEIVE, 1, 4, 0), Use(COMPUTE, 1, 6)]
    time, parts = path(2, uses)
    # 5 work + 2 send + 10 network + 4 receive + 6 work; the 3 us of processor 2 are over before the message is there.
    assert time == 27
    assert [(part.line, part.kind, part.times, round(part.seconds * 1e6, 9)) for part in parts] == [
        (1, COMPUTE, 2, 11),
        (2, TRANSFER, 1, 10),
        (3, RECEIVE, 1, 4),
        (2, SEND, 1, 2),
    ]


def test_a_message_that_is_there_already_is_not_on_it() -> None:
    _, parts = path(2, [Use(SEND, 0, 1, 1, 1), Use(COMPUTE, 1, 50), Use(RECEIVE, 1, 4, 0)])
    assert [(part.kind, round(part.seconds * 1e6, 9)) for part in parts] == [(COMPUTE, 50), (RECEIVE, 4)]


def test_the_part_of_a_message_that_does_not_depend_on_its_size() -> None:
    _, parts = path(2, [Use(SEND, 0, 5, 1, 5), Use(RECEIVE, 1, 5, 0)])
    # 8 bytes cost 1 + 4 us in each of the three parts.
    assert [(part.kind, round(part.latency * 1e6, 9)) for part in parts] == [(SEND, 1), (TRANSFER, 1), (RECEIVE, 1)]
