from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.agents.protocol.round_trip import RoundTripTimes


def answered(*samples: float, least: float = 2.0, most: float = 10.0) -> RoundTripTimes:
    """Return the times of b, whose answers took so many seconds."""
    times = RoundTripTimes(least, most)
    for number, sample in enumerate(samples):
        times.record_question("b", "request", "t", number, 100.0)
        times.record_answer("b", "request", "t", number, 100.0 + sample)
    return times


def test_a_neighbour_that_has_not_answered_yet_has_the_shortest_timeout() -> None:
    assert answered().timeout(["b"]) == 2.0
    assert answered(4.0).timeout(["c"]) == 2.0


def test_the_first_answers_are_weighted_as_tcp_does() -> None:
    assert answered(1.0, least=0.1).timeout(["b"]) == 3.0  # R + 4 · R/2
    assert answered(1.0, 2.0, least=0.1).timeout(["b"]) == 1.125 + 4 * (0.75 * 0.5 + 0.25 * 1.0)


def test_the_timeout_of_a_steady_neighbour_is_little_longer_than_its_round_trip() -> None:
    assert 4.0 < answered(*[4.0] * 20).timeout(["b"]) < 4.2


def test_the_slowest_of_several_counts() -> None:
    times = answered(2.0)
    times.record_question("c", "reserve", "t", 1, 0.0)
    times.record_answer("c", "reserve", "t", 1, 2.5)
    assert times.timeout(["b", "c"]) == 7.5


def test_the_answer_to_a_repeated_question_is_not_measured() -> None:
    times = RoundTripTimes(2.0, 10.0)
    for time in (0.0, 5.0):
        times.record_question("b", "commit", "t", 1, time)
    times.record_answer("b", "commit", "t", 1, 6.0)
    times.record_answer("b", "commit", "t", 1, 7.0)
    assert times.timeout(["b"]) == 2.0


def test_a_removed_neighbour_is_forgotten() -> None:
    times = answered(3.0)
    times.forget("b")
    assert times.timeout(["b"]) == 2.0


@given(samples=st.lists(st.floats(0.0, 1e6)), least=st.floats(0.0, 100.0), most=st.floats(0.0, 100.0))
def test_a_timeout_stays_within_its_bounds(samples: list[float], least: float, most: float) -> None:
    assert least <= answered(*samples, least=least, most=most).timeout(["b"]) <= max(least, most)
