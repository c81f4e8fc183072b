from __future__ import annotations

import math
import random

import pytest

from cosched.prediction.coverage import Width

_TAIL = 1.645  # deviations on either side of nine runs in ten


def _held(off: float, runs: int, seed: int) -> tuple[float, Width]:
    """Return how often ranges held after the first hundred runs, if deviations are `off` times what is said."""
    draw, width, held = random.Random(seed), Width(), []
    for _ in range(runs):
        within = abs(draw.gauss(0, off)) < _TAIL * width.factor
        held.append(within)
        width = width.learn(within=within)
    return sum(held[100:]) / len(held[100:]), width


@pytest.mark.parametrize("off", [0.6, 1.0, 2.0, 3.0])
def test_nine_runs_in_ten_stay_within_whatever_was_said(off: float) -> None:
    held, width = _held(off, 1500, seed=4)
    assert held == pytest.approx(0.9, abs=0.02)
    assert width.factor == pytest.approx(off, rel=0.5)


def test_the_width_has_bounds() -> None:
    never, always = Width(), Width()
    for _ in range(1000):
        never, always = never.learn(within=False), always.learn(within=True)
    assert (never.factor, always.factor) == pytest.approx((4.0, 0.5))


def test_a_run_that_was_not_within_widens_nine_times_as_much_as_another_narrows() -> None:
    assert Width().learn(within=False).log == pytest.approx(-9 * Width().learn(within=True).log)
    assert math.isclose(Width().factor, 1.0)
