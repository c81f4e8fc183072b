"""Which lines an error names, for steps that cannot be carried out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation.clocks.deadlock import deadlock
from cosched.evaluation.clocks.matching import UnmatchedError
from tests.evaluation.makers import PLACES, plan, programs
from tests.evaluation.oracle import COMPUTE, RECEIVE, SEND, Use


def message(count: int, uses: list[Use]) -> str:
    with pytest.raises(UnmatchedError) as caught:
        plan(count, uses)
    return str(deadlock(caught.value.steps, PLACES))


def test_processors_that_wait_for_one_another() -> None:
    text = message(3, [Use(COMPUTE, 0, 1), Use(RECEIVE, 1, 1, 2), Use(SEND, 1, 1, 2), Use(RECEIVE, 2, 1, 1)])
    assert text == (
        "steps.psl:3:1: deadlock: processor 2 waits here for a message from processor 3, "
        "which waits in steps.psl:3 for one from processor 2"
    )


def test_a_message_that_nobody_sends() -> None:
    assert message(2, [Use(RECEIVE, 0, 1, 1), Use(COMPUTE, 1, 1)]).endswith(
        "processor 1 waits here for a message from processor 2, which sends none: its last step is in steps.psl:1"
    )
    assert message(2, [Use(RECEIVE, 0, 1, 1)]).endswith("which sends none: it has no steps")


def test_who_waits_behind_others_is_found_though_messages_arrive_late() -> None:
    # Processor 1 gets its message only after processor 2 has got its own; then processor 1 waits for ever.
    uses = [Use(RECEIVE, 0, 1, 1), Use(RECEIVE, 0, 1, 1), Use(RECEIVE, 1, 1, 2), Use(SEND, 1, 1, 0), Use(SEND, 2, 1, 1)]
    assert "processor 1 waits here for a message from processor 2, which sends none" in message(3, uses)


@given(programs(), st.data())
def test_the_receive_named_is_one_that_waits(program: tuple[int, list[Use]], data: st.DataObject) -> None:
    count, uses = program
    sends = [index for index, use in enumerate(uses) if use.kind == SEND]
    if sends:
        left_out = data.draw(st.sampled_from(sends))
        text = message(count, uses[:left_out] + uses[left_out + 1 :])
        assert text.startswith("steps.psl:3:1: deadlock: processor ")
        # What is left out comes from the sender of a message that some receive now waits for.
        waiting = {use.processor for use in uses if use.kind == RECEIVE}
        assert int(text.split("processor ")[1].split()[0]) - 1 in waiting
