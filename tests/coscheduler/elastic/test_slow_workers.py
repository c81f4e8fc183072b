from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.elastic.slow_workers import SlowWorkers

SPEEDS = {"a": 2.0, "b": 2.1, "c": 1.9, "d": 0.6}
SETTLE = 10.0


def test_a_worker_is_slow_once_it_has_been_in_each_report_for_a_while() -> None:
    slow = SlowWorkers()
    for time in (0.0, 4.0, 9.9):
        slow.report("1", SPEEDS, time)
        assert not slow.proved("1", SETTLE)
    slow.report("1", SPEEDS, 10.0)
    assert slow.proved("1", SETTLE) == {"d": pytest.approx(0.6 / 1.95)}
    slow.report("1", {**SPEEDS, "d": 1.9}, 11.0)
    slow.report("1", SPEEDS, 12.0)
    assert not slow.proved("1", SETTLE)  # from now on once more
    assert not slow.proved("2", SETTLE)


def test_no_worker_is_slow_among_two() -> None:
    slow = SlowWorkers()
    for time in (0.0, 100.0):
        slow.report("1", {"a": 2.0, "b": 0.1}, time)
    assert not slow.proved("1", SETTLE)


def test_a_host_is_avoided_for_twice_as_long_each_time() -> None:
    slow = SlowWorkers()
    for time, until in ((0.0, 600.0), (700.0, 1900.0), (2000.0, 4400.0)):
        slow.report("1", SPEEDS, time)
        slow.leave("1", "d", time)
        assert slow.avoided("1", until - 1) == {"d": 1.0}
        assert not slow.avoided("1", until)
    assert not slow.avoided("2", 2000.0)


def test_ended_tasks_are_forgotten() -> None:
    slow = SlowWorkers()
    slow.report("1", SPEEDS, 0.0)
    slow.keep(set())
    assert not slow.records


@given(st.dictionaries(st.text(max_size=3), st.floats(1e-3, 1e3), max_size=12), st.floats(1e-6, 1e6))
def test_only_ratios_count_and_fewer_than_half_are_slow(speeds: dict[str, float], unit: float) -> None:
    slow, scaled = SlowWorkers(), SlowWorkers()
    for time in (0.0, 100.0):
        slow.report("1", speeds, time)
        scaled.report("1", {host: speed * unit for host, speed in speeds.items()}, time)
    found = slow.proved("1", SETTLE)
    assert len(found) <= len(speeds) / 2
    assert all(0 < part < 0.5 for part in found.values())
    near = {host for host, part in found.items() if part > 0.4999}
    assert found.keys() - near <= scaled.proved("1", SETTLE).keys()
