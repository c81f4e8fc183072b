from __future__ import annotations

import pytest

from cosched.measurement.memory import memory_levels, working_sets


def test_levels_are_where_the_curve_falls() -> None:
    rates = {size: 80e3 if size <= 48 << 10 else 30e3 if size <= 2 << 20 else 10e3 for size in working_sets(1 << 32)}
    levels = memory_levels(rates)
    assert [size for size, _ in levels.caches] == [48 << 10, 2 << 20]
    assert [*(rate for _, rate in levels.caches), levels.main] == pytest.approx([80e3, 30e3, 10e3])


def test_a_small_machine_is_not_filled() -> None:
    assert max(working_sets(1 << 26)) <= (1 << 24) * 3 // 2
