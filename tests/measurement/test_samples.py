from __future__ import annotations

import random

import pytest

from cosched.measurement.samples import Samples, ratio_interval


def drawn(mean: float, seed: int, count: int = 60) -> list[float]:
    """Return samples of a test that is now and then disturbed."""
    rng = random.Random(seed)
    return [mean * (1 + abs(rng.gauss(0, 0.01)) + (rng.random() < 0.2) * rng.uniform(0.5, 40)) for _ in range(count)]


def test_disturbances_do_not_move_a_value() -> None:
    assert Samples({"a": drawn(7.0, 3)}).value("a") == pytest.approx(7.0, rel=0.02)


def test_a_value_is_known_better_after_more_samples() -> None:
    few, many = (Samples({"a": drawn(7.0, 4, count)}).width("a") for count in (8, 400))
    assert many < few / 2


def test_samples_are_added_to_those_of_before() -> None:
    samples = Samples({"a": [1.0]})
    samples.add("a", 1.0)
    samples.add("b", 2.0)
    assert (list(samples), samples.of("a"), samples.values()) == (["a", "b"], [1.0, 1.0], {"a": 1.0, "b": 2.0})


@pytest.mark.parametrize(("factor", "differs"), [(1.0, False), (1.2, True), (0.8, True)])
def test_an_interval_of_a_ratio_says_what_surely_differs(factor: float, differs: bool) -> None:
    low, high = ratio_interval(drawn(5.0, 5), drawn(5.0 * factor, 6))
    assert low <= factor * 1.02
    assert high >= factor * 0.98
    assert (low > 1.05 or high < 0.95) == differs
