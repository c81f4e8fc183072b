from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.measurement.programs.loops import Repetition, expanded, folded, loop_text

NAMES = "abcdefgh"


def _text(calls: str) -> str:
    return loop_text(folded([NAMES.index(call) for call in calls]), lambda call: NAMES[call])


def test_loops_within_loops_are_found() -> None:
    assert _text("a") == "a"
    assert _text("aaa") == "3*a"
    assert _text("ababab") == "3*(a b)"
    assert _text(("abc" * 10 + "d") * 2) == "2*(10*(a b c) d)"
    assert _text("h" + ("ab" * 3 + "c") * 4 + "h") == "h 4*(3*(a b) c) h"
    assert _text("aab" * 5) == "5*(2*a b)"


def test_what_is_not_repeated_stays_as_it_is() -> None:
    assert _text("abcd") == "a b c d"
    assert folded([]) == ()
    assert folded([7, 7]) == (Repetition(2, (7,)),)


@given(st.lists(st.integers(0, 3), max_size=200))
def test_loops_expand_to_the_calls_that_they_were_made_from(calls: list[int]) -> None:
    found = folded(calls)
    assert expanded(found) == calls
    assert len(found) <= len(calls)
