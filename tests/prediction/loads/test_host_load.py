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
