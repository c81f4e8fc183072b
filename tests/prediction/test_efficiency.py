from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.efficiency import (
    WorkerStatistics,
    average_parallelism,
    efficiency_profile,
    hosts_for_efficiency,
    parallel_speedup,
    weighted_average_efficiency,
)


def workers(hosts: int, overhead: float) -> list[WorkerStatistics]:
    return [WorkerStatistics(number, f"h{number}", "c", 2.0, overhead) for number in range(hosts)]


def test_slow_workers_count_as_fast_ones_that_idle() -> None:
    two = [WorkerStatistics(1, "a", "c", 2.0, 0.2), WorkerStatistics(2, "b", "c", 1.0, 0.2)]
    assert weighted_average_efficiency(two) == pytest.approx((0.8 + 0.4) / 2)


def test_the_papers_fifty_per_cent_on_36_nodes_tell_the_run_time_on_twelve() -> None:
    parallelism = average_parallelism(workers(36, 0.5))
    assert parallelism == pytest.approx(35)
    seconds = efficiency_profile(1800.0, parallelism, 36)
    assert seconds[35] == pytest.approx(100)
    assert seconds[11] == pytest.approx(200, rel=0.02)  # as the paper measured when two of three clusters had crashed


@given(parallelism=st.floats(1.0, 1e4), hosts=st.integers(2, 200))
def test_the_parallelism_is_the_inverse_of_the_speed_up(parallelism: float, hosts: int) -> None:
    overhead = 1 - parallel_speedup(hosts, parallelism) / hosts
    assert average_parallelism(workers(hosts, max(overhead, 0.0))) == pytest.approx(parallelism, rel=1e-5)


def test_no_overhead_tells_no_bound() -> None:
    assert average_parallelism(workers(4, 0.0)) == math.inf
    assert efficiency_profile(12.0, math.inf, 4) == (12.0, 6.0, 4.0, 3.0)


@given(hosts=st.integers(1, 300), efficiency=st.floats(0, 1), target=st.floats(0.1, 1))
def test_the_wanted_hosts_have_the_targets_efficiency(hosts: int, efficiency: float, target: float) -> None:
    wanted = hosts_for_efficiency(hosts, efficiency, target)
    assert abs(wanted - hosts * efficiency / target) < 1
    assert (wanted >= hosts) == (efficiency >= target - 1e-6) or wanted == hosts


@pytest.mark.parametrize(
    ("speed", "overhead", "between"), [(0.0, 0.1, 0.0), (math.nan, 0.1, 0.0), (1.0, 1.1, 0.0), (1.0, 0.1, 0.2)]
)
def test_what_cannot_have_been_measured_is_refused(speed: float, overhead: float, between: float) -> None:
    with pytest.raises(ValueError, match="worker 3"):
        WorkerStatistics(3, "h", "c", speed, overhead, between)
