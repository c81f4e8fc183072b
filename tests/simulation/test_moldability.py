from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.simulation.trace_replay import Moldability, downey_speedup, moldable_times

counts = st.integers(1, 64)


@given(st.sampled_from(Moldability), st.floats(0.5, 1e6), counts, st.text(max_size=5))
def test_the_recorded_time_holds_on_the_recorded_number(
    model: Moldability, seconds: float, recorded: int, seed: str
) -> None:
    found = moldable_times(model, seconds, recorded, 64, seed)
    assert found[recorded - 1] == seconds
    assert found == moldable_times(model, seconds, recorded, 64, seed)


@given(st.sampled_from([Moldability.AMDAHL, Moldability.DOWNEY]), counts, st.text(max_size=5))
def test_more_processors_are_never_slower_and_never_more_than_pay(model: Moldability, recorded: int, seed: str) -> None:
    found = moldable_times(model, 100.0, recorded, 64, seed)
    assert len(found) == 64
    for count in range(1, 64):
        assert found[count] <= found[count - 1] * (1 + 1e-12)
        assert found[count] * (count + 1) >= found[count - 1] * count * (1 - 1e-12)


def test_a_rigid_job_runs_on_its_number_alone() -> None:
    assert moldable_times(Moldability.RIGID, 7.0, 3, 64, "") == (math.inf, math.inf, 7.0)


@given(counts, st.floats(1.0, 100.0), st.floats(0.0, 5.0))
def test_downeys_speed_up_lies_between_one_and_what_there_is(count: int, parallelism: float, variance: float) -> None:
    assert 1 - 1e-9 <= downey_speedup(count, parallelism, variance) <= min(count, parallelism) + 1e-9


@pytest.mark.parametrize(
    ("count", "parallelism", "variance", "speed_up"),
    [
        (1, 8.0, 0.5, 1.0),
        (4, 8.0, 0.0, 4.0),  # no variance: linear up to the parallelism, then flat
        (32, 8.0, 0.0, 8.0),
        (8, 8.0, 1.0, 64 / 11.5),  # 8·8 / (8 + 1/2·7)
        (10, 8.0, 1.0, 80 / 12.5),  # 8·10 / (7.5 + 10/2)
        (8, 8.0, 2.0, 192 / 38),  # 8·8·3 / (2·15 + 8)
        (22, 8.0, 2.0, 8.0),  # flat from A + A·s - s on
    ],
)
def test_downeys_formula(count: int, parallelism: float, variance: float, speed_up: float) -> None:
    assert downey_speedup(count, parallelism, variance) == pytest.approx(speed_up)
