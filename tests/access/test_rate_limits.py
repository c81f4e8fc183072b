from __future__ import annotations

import pytest

from cosched.access import rate_limits
from cosched.access.rate_limits import RateLimits


def test_permits_gather_up_to_a_burst_and_come_back_at_a_rate() -> None:
    asked = RateLimits(rate=2.0, burst=3.0)
    assert [asked.take("ann", 0.0) for _ in range(3)] == [0.0] * 3
    assert asked.take("ann", 0.0) == asked.wait("ann", 0.0) == 0.5
    assert asked.take("bob", 0.0) == 0.0
    assert asked.take("ann", 0.5) == 0.0
    assert asked.take("ann", 0.75) == pytest.approx(0.25)
    assert [asked.take("ann", 100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_to_be_refused_costs_nothing() -> None:
    asked = RateLimits(rate=1.0, burst=1.0)
    asked.take("ann", 0.0)
    for _ in range(10):
        assert asked.take("ann", 0.5) == 0.5
    assert asked.take("ann", 1.0) == 0.0


def test_who_succeeds_begins_anew() -> None:
    asked = RateLimits(rate=1.0, burst=1.0)
    asked.take("ann", 0.0)
    asked.fill("ann")
    assert asked.wait("ann", 0.0) == 0.0


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "_MOST", 2)
    asked = RateLimits(rate=0.001, burst=1.0)
    for name in ("a", "b", "c"):
        asked.take(name, 0.0)
    assert [asked.wait(name, 0.0) > 0 for name in ("a", "b", "c")] == [False, True, True]
