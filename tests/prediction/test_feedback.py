from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.feedback import Correction, Handover

times = st.floats(0.001, 1e6)


def test_first_runs_are_a_plain_geometric_mean() -> None:
    known = Correction().learn(10.0, 20.0).learn(10.0, 5.0)
    assert known.factor == pytest.approx(1.0)
    assert known.runs == 2


def test_a_run_too_short_to_measure_teaches_nothing() -> None:
    assert Correction().learn(10.0, 0.0) == Correction()
    assert Correction().learn(10.0, float("inf")) == Correction()


def test_it_follows_a_machine_that_becomes_slower() -> None:
    known = Correction()
    for _ in range(20):
        known = known.learn(10.0, 10.0)
    for _ in range(20):
        known = known.learn(10.0, 20.0)
    assert known.factor == pytest.approx(2.0, rel=0.02)


@given(st.lists(st.tuples(times, times), max_size=20))
def test_no_history_drives_the_factor_beyond_what_one_run_may_say(runs: list[tuple[float, float]]) -> None:
    known = Correction()
    for predicted, actual in runs:
        known = known.learn(predicted, actual)
    assert 0.1 * 0.999 <= known.factor <= 10 * 1.001


def test_a_handover_is_planned_with_in_whole_steps() -> None:
    known = Handover().learn(0.7).learn(0.8)
    assert known.mean == pytest.approx(0.75)
    assert known.seconds == pytest.approx(0.75)
    assert Handover().learn(0.71).seconds == pytest.approx(0.7)


def test_a_manager_in_trouble_teaches_no_endless_handover() -> None:
    assert Handover().learn(86400.0).mean == 60.0
    assert Handover().learn(-5.0).mean == 0.0
