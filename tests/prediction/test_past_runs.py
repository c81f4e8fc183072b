from __future__ import annotations

import numpy as np
import pytest

from cosched.prediction.gaussian_process import Covariance, Places, fitted
from cosched.prediction.past_runs import PastRuns

COVARIANCE = Covariance(2.0, np.array([1.0, 0.5, 0.0]), np.array([0.16, 0.16, 0.25]), np.ones(2))
SIZES = np.geomspace(100.0, 10_000.0, 12)


def _past(seconds: list[float]) -> PastRuns:
    count = len(seconds)
    points = np.column_stack((np.log(np.resize(SIZES, count)), np.zeros((count, 2))))
    places = Places(points, np.zeros((count, 3), int), np.arange(count, dtype=float))
    return PastRuns(places, np.log(seconds), np.zeros(count))


def _seconds() -> list[float]:
    return [1.0 + 0.01 * float(size) for size in SIZES]


def test_start_ups_are_at_most_the_shortest_run_and_stay_when_a_shorter_one_comes() -> None:
    """All of them moved, so that sources of a prediction had other weights when runs had been added one by one."""
    before = {work.startup for work in _past(_seconds()).works()}
    after = {work.startup for work in _past([*_seconds(), 1.9]).works()}
    assert max(before) < 2.0
    assert max(after) < 1.9
    assert len(before & after) >= 4


def test_runs_of_one_size_have_no_start_up_to_tell() -> None:
    same = PastRuns(Places(np.zeros((5, 3)), np.zeros((5, 3), int), np.arange(5.0)), np.zeros(5), np.zeros(5))
    assert [work.startup for work in same.works()] == [0.0]


@pytest.mark.parametrize("place", [4, 7, 17])
def test_a_run_that_contradicts_all_others_is_not_kept(place: int) -> None:
    seconds = _seconds() * 2
    seconds[place] *= 4
    past = _past(seconds)
    kept = past.kept(fitted(COVARIANCE, past.places, past.works()))
    assert kept.tolist() == [number != place for number in range(len(seconds))]


def test_a_change_is_seen_where_the_same_sizes_take_longer() -> None:
    usual = [0.01 * float(size) for size in SIZES] * 2
    slower = _past([*usual, *(1.8 * seconds for seconds in usual[:5])])
    assert slower.since_change(COVARIANCE) == 5
    assert _past(usual).since_change(COVARIANCE) == 0
