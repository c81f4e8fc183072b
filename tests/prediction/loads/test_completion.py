from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.loads.completion import (
    LastCompletion,
    interrupted,
    interrupted_together,
    lower_gamma,
    restarted,
)
from cosched.prediction.loads.host_load import HostLoad

LOADS = st.builds(
    lambda rate, mean, variation, depth: HostLoad(rate, mean, mean**2 * (1 + variation**2), depth),
    st.floats(1e-5, 0.1),
    st.floats(0.1, 1e4),
    st.floats(0.0, 3.0),
    st.floats(0.05, 1.0),
)


@pytest.mark.parametrize("shape", [1, 2, 5, 20, 80])
@pytest.mark.parametrize("value", [0.01, 0.5, 1.9, 3.0, 10.0, 30.0, 100.0, 400.0])
def test_the_gamma_distribution_of_whole_shapes_is_erlangs(shape: int, value: float) -> None:
    erlang = 1 - math.fsum(math.exp(-value + k * math.log(value) - math.lgamma(k + 1)) for k in range(shape))
    assert lower_gamma(shape, value) == pytest.approx(erlang, abs=1e-10)


@pytest.mark.parametrize("value", [1e-6, 0.1, 1.4, 5.0, 20.0])
def test_the_gamma_distribution_of_half_is_that_of_a_square(value: float) -> None:
    assert lower_gamma(0.5, value) == pytest.approx(math.erf(math.sqrt(value)), abs=1e-10)


def test_a_gamma_distribution_of_a_large_shape_is_nearly_normal() -> None:
    for shape in (9e4, 2e5):  # one by its series, one by the normal distribution
        assert lower_gamma(shape, shape + math.sqrt(shape)) == pytest.approx(NormalDist().cdf(1.0), abs=1e-3)


def test_undisturbed_programs_take_their_work() -> None:
    for found in (
        interrupted(100, HostLoad()),
        interrupted_together(100, [HostLoad()] * 3),
        restarted(100, HostLoad()),
    ):
        assert (found.mean, found.deviation, found.quantile(0.9), found.within(99), found.within(100)) == (
            (100, 0, 100, 0, 1)
        )


def test_a_suspended_program_takes_its_work_divided_by_the_idle_part() -> None:
    load = HostLoad(rate=1 / 300, mean=100, square=20_000)
    found = interrupted(1200, load)
    assert found.mean == pytest.approx(1200 / 0.75)
    assert found.variance == pytest.approx(1200 / 300 * 20_000)  # lambda w E[B²]
    assert found.within(1200) == pytest.approx(math.exp(-4))


def test_a_coupled_program_waits_for_all_its_hosts() -> None:
    load = HostLoad(rate=1 / 300, mean=100, square=20_000)
    assert interrupted_together(1000, [load] * 4).mean == pytest.approx(1000 / 0.75**4)
    one = interrupted_together(1000, [load, HostLoad()])
    assert (one.mean, one.variance) == pytest.approx(
        (interrupted(1000, load).mean, interrupted(1000, load).variance), rel=1e-3
    )


def test_an_evicted_program_takes_the_published_time() -> None:
    load = HostLoad(rate=0.002, mean=60, square=7200)
    assert restarted(900, load).mean == pytest.approx(math.expm1(1.8) * (500 + 60))


def test_a_program_that_never_gets_through_takes_for_ever() -> None:
    assert restarted(1e9, HostLoad(rate=1.0, mean=1.0, square=2.0)).mean == math.inf


def test_the_last_of_several_is_later_than_each() -> None:
    part = interrupted(1000, HostLoad(rate=1 / 400, mean=100, square=20_000))
    last = LastCompletion([part] * 8)
    assert last.mean > part.mean
    assert last.within(part.quantile(0.9)) == pytest.approx(0.9**8, abs=1e-6)
    alone = LastCompletion([part])
    assert (alone.mean, alone.deviation) == pytest.approx((part.mean, part.deviation), rel=0.01)


@given(LOADS, st.floats(1.0, 1e5), st.floats(0.01, 0.99))
def test_quantiles_are_the_inverse_of_the_distribution(load: HostLoad, work: float, share: float) -> None:
    found = interrupted(work, load)
    time = found.quantile(share)
    assert time >= work
    assert found.within(time * (1 + 1e-6)) >= share - 1e-6
    assert found.within(time * (1 - 1e-6)) <= share + 1e-6 or time <= work * (1 + 1e-6)


@given(LOADS, st.floats(1.0, 1e5), st.lists(st.floats(0.5, 20.0), min_size=2, max_size=6))
def test_distributions_ascend_from_0_to_1(load: HostLoad, work: float, factors: list[float]) -> None:
    for found in (interrupted(work, load), interrupted_together(work, [load] * 3)):
        values = [found.within(work * factor) for factor in sorted(factors)]
        assert all(0 <= value <= 1 for value in values)
        assert all(one <= other + 1e-9 for one, other in pairwise(values))


@given(LOADS, st.floats(1.0, 1e4), st.integers(1, 5))
def test_more_coupled_hosts_are_no_faster(load: HostLoad, work: float, hosts: int) -> None:
    fewer, more = interrupted_together(work, [load] * hosts), interrupted_together(work, [load] * (hosts + 1))
    assert more.mean >= fewer.mean >= work


def test_the_last_of_several_is_reckoned_from_where_the_first_may_end() -> None:
    part = interrupted(30.0, HostLoad(rate=0.0005, mean=200, square=80_000))  # hardly ever disturbed, but for long
    assert LastCompletion((part,)).mean == pytest.approx(part.mean, rel=0.01)
    assert LastCompletion((part,)).deviation == pytest.approx(part.deviation, rel=0.05)


def test_a_program_on_many_hosts_with_owners_never_ends() -> None:
    load = HostLoad(rate=3 / 64, mean=64, square=8192)  # its owner takes three quarters
    found = interrupted_together(100.0, (load,) * 1000)
    assert (found.mean, found.variance) == (math.inf, math.inf)
    assert found.within(1e9) < 1e-9
    assert found.quantile(0.5) == math.inf


def test_alike_hosts_are_reckoned_as_any_others() -> None:
    load, other = HostLoad(1 / 300, 100, 20_000), HostLoad(1 / 300, 100 + 1e-9, 20_000)
    alike, each = interrupted_together(100.0, (load,) * 4), interrupted_together(100.0, (load, load, other, other))
    assert (alike.mean, alike.variance) == pytest.approx((each.mean, each.variance))
