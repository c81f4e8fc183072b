from __future__ import annotations

import pytest

from cosched.prediction.independent_parts import last_of_parts
from cosched.prediction.loads.completion import LastCompletion, interrupted
from cosched.prediction.loads.host_load import HostLoad

LOADS = [
    HostLoad(rate=1 / 300, mean=100, square=20_000),
    HostLoad(rate=1 / 100, mean=100, square=12_000),
    HostLoad(rate=1 / 2000, mean=200, square=80_000),
    HostLoad(rate=1 / 100, mean=60, square=7_200, depth=0.5),
]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("work", [30.0, 600.0, 3600.0, 90_000.0])
@pytest.mark.parametrize("count", [1, 2, 8, 60])
def test_the_last_part_ends_as_the_product_of_the_distributions_says(load: HostLoad, work: float, count: int) -> None:
    part = interrupted(work, load)
    exact = part if count == 1 else LastCompletion((part,) * count)
    mean, variance = last_of_parts(work, load, count)
    assert mean == pytest.approx(exact.mean, rel=0.025 if count <= 8 else 0.045)
    assert variance**0.5 == pytest.approx(exact.deviation, rel=0.3, abs=0.02 * mean)


@pytest.mark.parametrize("load", LOADS)
def test_one_part_takes_as_long_as_a_program_on_one_host(load: HostLoad) -> None:
    for work in (1.0, 100.0, 10_000.0, 10_000_000.0):
        assert last_of_parts(work, load, 1)[0] == pytest.approx(interrupted(work, load).mean, rel=0.01)


def test_more_parts_end_later_and_none_before_its_work() -> None:
    for load in LOADS:
        means = [last_of_parts(1000.0, load, count)[0] for count in range(1, 40)]
        assert means == sorted(means)
        assert means[0] > 1000.0


def test_nobody_delays_a_part_on_a_dedicated_host() -> None:
    assert last_of_parts(100.0, HostLoad(), 8) == (100.0, 0.0)
