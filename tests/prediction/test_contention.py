from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.contention import Contention, exponent_of, left_beside, times_longer

PARTS = (0.0, 0.0, 0.1, 0.0, 0.9, 0.8, 0.9, 1.0, 0.5, 0.0)
NOISE = (1.01, 0.99, 1.0, 1.02, 0.98, 1.01, 1.0, 0.99, 1.0, 1.01)


def learnt(slowdown: float, parts: tuple[float, ...] = PARTS, level: float = 1.0) -> Contention:
    """Return what runs of 100 s alone teach."""
    known = Contention()
    for part, noise in zip(parts, NOISE, strict=False):
        seconds = 100.0 * level * noise * times_longer(exponent_of(slowdown), part)
        known = known.learn(part, 100.0, seconds)
    return known


def test_a_slowdown_is_learnt_whatever_the_level_of_the_predictions() -> None:
    for level in (0.3, 1.0, 7.0):
        found = learnt(0.3, level=level)
        assert found.slowdown == pytest.approx(0.3, abs=0.03)
        assert len(found.runs) == len(PARTS)


def test_half_a_full_host_costs_less_than_all_of_it() -> None:
    exponent = exponent_of(0.44)
    assert times_longer(exponent, 0.5) == pytest.approx(1.2)
    assert times_longer(exponent, 1.0) == pytest.approx(1.44)
    assert times_longer(exponent, 0.0) == times_longer(0.0, 1.0) == 1.0


def test_runs_that_differ_by_chance_alone_cost_nothing() -> None:
    assert learnt(0.0).slowdown == 0.0


def test_too_few_runs_teach_nothing() -> None:
    assert learnt(0.5, PARTS[:7]).slowdown is None  # four with few beside them, three with many
    assert learnt(0.5, PARTS[:8]).slowdown is not None


def test_runs_that_all_had_the_same_beside_them_teach_nothing() -> None:
    assert learnt(0.5, (0.8, 0.9, 0.8, 0.9, 0.85, 0.8, 0.9, 0.8, 0.9, 0.85)).slowdown is None
    # One run alone would be in every pair.
    assert learnt(0.5, (0.0, 0.9, 0.8, 0.9, 0.85, 0.8, 0.9, 0.8, 0.9, 0.85)).slowdown is None


def test_what_was_learnt_stays_where_all_hosts_are_full_from_then_on() -> None:
    known, seconds = learnt(0.3), 100.0 * 1.3**0.9
    for _ in range(40):
        known = known.learn(0.9, 100.0, seconds)
    assert {run.part for run in known.runs} == {0.9}
    assert known.slowdown == pytest.approx(0.3, abs=0.02)


def test_runs_faster_beside_others_cost_nothing() -> None:
    known = Contention()
    for part in PARTS:
        known = known.learn(part, 100.0, 100.0 * math.exp(-part))
    assert known.exponent == 0.0


def test_runs_too_short_to_measure_teach_nothing() -> None:
    assert Contention().learn(0.5, 2.0, 2.0) == Contention()
    assert Contention().learn(0.5, 2.0, math.inf) == Contention()


def test_only_the_newest_runs_count() -> None:
    known = Contention()
    for _ in range(4):
        for part in PARTS:
            known = known.learn(part, 100.0, 100.0)
    assert known.exponent == 0.0
    for _ in range(4):
        for part in PARTS:
            known = known.learn(part, 100.0, 100.0 * times_longer(0.3, part))
    assert known.exponent == pytest.approx(0.3)
    assert len(known.runs) == 30


@given(st.floats(0, 1), st.floats(5, 1e7), st.integers(0, len(PARTS)), st.sampled_from([0.0, 0.1, 0.3, 1.0]))
def test_one_stray_run_changes_nothing(part: float, seconds: float, place: int, slowdown: float) -> None:
    known = Contention()
    for number, each in enumerate(PARTS):
        if number == place:
            known = known.learn(part, 100.0, seconds)
        known = known.learn(each, 100.0, 100.0 * times_longer(exponent_of(slowdown), each))
    if place == len(PARTS):
        known = known.learn(part, 100.0, seconds)
    assert known.exponent == pytest.approx(exponent_of(slowdown), abs=1e-9)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 1e6), st.floats(0, 1e6)), max_size=40))
def test_no_runs_cost_less_than_nothing_or_more_than_four_times(runs: list[tuple[float, float, float]]) -> None:
    known = Contention()
    for part, predicted, actual in runs:
        known = known.learn(part, predicted, actual)
    assert known.slowdown is None or 0.0 <= known.slowdown <= 3.0 + 1e-9


def test_what_is_left_beside_a_task() -> None:
    assert left_beside(2, 0, 8, 16000) == 0.75
    assert left_beside(8, 0, 8, 16000) == left_beside(9, 0, 8, None) == left_beside(1, 0, None, None) == 0.0
    assert left_beside(1, 16000, 8, 16000) == 0.0
    assert left_beside(2, 99, 8, None) == 0.75
