from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.agents.protocol.round_trip import RoundTripTimes


def answered(*samples: float, least: float = 2.0, most: float = 10.0) -> RoundTripTimes:
    """Return what is known of b after answers that took so many seconds."""
    known = RoundTripTimes(least, most)
    for number, sample in enumerate(samples):
        known.ask("b", "request", "t", number, 100.0)
        known.answer("b", "request", "t", number, 100.0 + sample)
    return known


def test_who_has_not_answered_yet_has_the_least() -> None:
    assert answered().patience(["b"]) == 2.0
    assert answered(4.0).patience(["c"]) == 2.0


def test_the_first_answers_count_as_tcp_counts_them() -> None:
    assert answered(1.0, least=0.1).patience(["b"]) == 3.0  # R + 4 · R/2
    assert answered(1.0, 2.0, least=0.1).patience(["b"]) == 1.125 + 4 * (0.75 * 0.5 + 0.25 * 1.0)


def test_a_steady_neighbour_is_given_little_more_than_it_needs() -> None:
    assert 4.0 < answered(*[4.0] * 20).patience(["b"]) < 4.2


def test_the_slowest_of_several_counts() -> None:
    known = answered(2.0)
    known.ask("c", "reserve", "t", 1, 0.0)
    known.answer("c", "reserve", "t", 1, 2.5)
    assert known.patience(["b", "c"]) == 7.5


def test_an_answer_to_what_was_asked_twice_teaches_nothing() -> None:
    known = RoundTripTimes(2.0, 10.0)
    for time in (0.0, 5.0):
        known.ask("b", "commit", "t", 1, time)
    known.answer("b", "commit", "t", 1, 6.0)
    known.answer("b", "commit", "t", 1, 7.0)
    assert known.patience(["b"]) == 2.0


def test_who_is_no_neighbour_any_more_is_forgotten() -> None:
    known = answered(3.0)
    known.forget("b")
    assert known.patience(["b"]) == 2.0


@given(samples=st.lists(st.floats(0.0, 1e6)), least=st.floats(0.0, 100.0), most=st.floats(0.0, 100.0))
def test_nobody_is_waited_for_less_or_more_than_the_bounds(samples: list[float], least: float, most: float) -> None:
    assert least <= answered(*samples, least=least, most=most).patience(["b"]) <= max(least, most)
