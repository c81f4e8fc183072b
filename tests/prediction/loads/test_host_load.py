from __future__ import annotations

import pytest

from cosched.prediction.loads.host_load import HostLoad


def test_a_host_without_interruptions_is_never_busy() -> None:
    load = HostLoad()
    assert (load.busy, load.lost, load.variability) == (0, 0, 0)


def test_the_busy_part_is_that_of_idle_and_busy_periods_in_turn() -> None:
    load = HostLoad(rate=1 / 300, mean=100, square=20_000, depth=0.5)
    assert load.busy == pytest.approx(100 / 400)
    assert load.lost == pytest.approx(100 / 800)


def test_local_jobs_keep_a_host_busy_for_their_utilisation() -> None:
    load = HostLoad.of_jobs(rate=0.01, service=30, deviation=30)
    assert load.mean == pytest.approx(30 / 0.7)
    assert load.square == pytest.approx(1800 / 0.7**3)
    assert load.busy == pytest.approx(0.3)


def test_local_jobs_that_need_more_than_the_host_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        HostLoad.of_jobs(rate=0.05, service=20, deviation=1)
