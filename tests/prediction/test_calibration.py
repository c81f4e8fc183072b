from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.calibration import Correction, DispatchLatency
from cosched.prediction.profile import PredictionSource, Profile

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
    known = DispatchLatency().learn(0.7).learn(0.8)
    assert known.mean == pytest.approx(0.75)
    assert known.seconds == pytest.approx(0.75)
    assert DispatchLatency().learn(0.71).seconds == pytest.approx(0.7)


def test_a_manager_in_trouble_teaches_no_endless_handover() -> None:
    assert DispatchLatency().learn(86400.0).mean == 60.0
    assert DispatchLatency().learn(-5.0).mean == 0.0


STATED = Profile((10.0, 5.0), PredictionSource.MODEL, "hw", (9.0, 4.5), (11.0, 5.5))
PLAIN = Profile((10.0,), PredictionSource.MODEL, "hw")


def after(*actual: float) -> Correction:
    known = Correction()
    for seconds in actual:
        known = known.learn(10.0, seconds)
    return known


def test_runs_that_keep_to_the_prediction_narrow_what_the_model_states() -> None:
    narrow = after(*[20.0] * 7).corrected(STATED)
    assert narrow.seconds == pytest.approx((20.0, 10.0))
    # Six deviations of 0 beside a stated one that counts as three runs: its variance falls to a third.
    assert math.log(narrow.at_quantile(0.95).on(1) / 20) == pytest.approx(math.log(1.1) * math.sqrt(3 / 9))


def test_runs_that_scatter_widen_it() -> None:
    wide = after(10.0, 20.0, 5.0, 18.0, 6.0).corrected(STATED)
    assert wide.low is not None
    assert wide.high is not None
    assert wide.high[0] / wide.seconds[0] > 1.3
    assert wide.low[0] / wide.seconds[0] < 0.8


def test_one_deviation_makes_no_range_where_the_model_states_none_and_two_do() -> None:
    assert after(10.0, 20.0).corrected(PLAIN).high is None
    # The second run is log 2 off what the first taught; the factor becomes the root of 2: the third is half that off.
    known = after(10.0, 20.0, 20.0)
    assert known.variance == pytest.approx((math.log(2) ** 2 + (math.log(2) / 2) ** 2) / 2)
    high = known.corrected(PLAIN).high
    assert high is not None
    assert high[0] == pytest.approx(10 * known.factor * math.exp(1.6449 * math.sqrt(known.variance)), rel=1e-4)


def test_without_runs_the_profile_stays_as_it_is() -> None:
    assert Correction().corrected(STATED) == STATED
    assert Correction().learn(10.0, 20.0).corrected(STATED) == STATED.scaled(2.0)


@given(st.lists(times, max_size=6), st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.sampled_from([STATED, PLAIN]))
def test_planned_times_are_the_corrected_profiles_and_grow_with_the_share(
    runs: list[float], one: float, other: float, profile: Profile
) -> None:
    known = after(*runs)
    assert known.planned(profile, one) == pytest.approx(known.corrected(profile).at_quantile(one).seconds)
    least, most = sorted([one, other])
    assert all(
        low <= high for low, high in zip(known.planned(profile, least), known.planned(profile, most), strict=True)
    )
    assert known.planned(profile, 0.5) == pytest.approx(known.corrected(profile).seconds)


def test_the_ends_are_those_of_the_corrected_profile() -> None:
    known = after(10.0, 20.0, 5.0)
    corrected = known.corrected(STATED)
    assert corrected.low is not None
    assert corrected.high is not None
    assert known.ends(STATED, 2) == pytest.approx((corrected.low[1], corrected.high[1]))
    assert Correction().ends(PLAIN, 1) is None


def test_no_quantile_is_beyond_what_a_prediction_may_be() -> None:
    wild = Profile((3e8, math.inf), PredictionSource.MODEL, "hw", (1.0, math.inf), (3.1e8, math.inf))
    assert Correction(10.0, 9, 4.0).planned(wild, 0.99) == [10 * 365 * 86400.0, math.inf]
