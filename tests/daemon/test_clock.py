from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import sleep
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from cosched.daemon.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable


class Watches:
    """A wall clock and a monotonic one, both in the test's hands."""

    def __init__(self) -> None:
        self.wall = 5000.0
        self.steady = 100.0
        self.before_wall: Callable[[], object] = lambda: None

    def time(self) -> float:
        self.before_wall()
        return self.wall

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.fixture
def watches(monkeypatch: pytest.MonkeyPatch) -> Watches:
    watches = Watches()
    fake = SimpleNamespace(time=watches.time, monotonic=lambda: watches.steady)
    monkeypatch.setattr("cosched.daemon.clock.time", fake)
    return watches


def test_it_is_the_wall_clock(watches: Watches) -> None:
    clock = Clock()
    watches.pass_by(7.0)
    assert clock.now() == pytest.approx(5007.0)


def test_a_wall_clock_set_back_does_not_turn_time_back(watches: Watches) -> None:
    clock = Clock()
    watches.wall -= 3600
    watches.pass_by(2.0)
    assert clock.now() == pytest.approx(5002.0)


def test_a_wall_clock_set_forward_is_followed(watches: Watches) -> None:
    """A machine that slept wakes up like this too: its monotonic clock stood still."""
    clock = Clock()
    watches.wall += 3600
    assert clock.now() == pytest.approx(8600.0)
    watches.pass_by(1.0)
    assert clock.now() == pytest.approx(8601.0)


def test_small_corrections_are_not_followed_back_and_forth(watches: Watches) -> None:
    clock = Clock()
    seen = []
    for step in (0.3, -0.5, 0.4, -0.2):
        watches.wall += step
        watches.pass_by(0.01)
        seen.append(clock.now())
    assert seen == sorted(seen)


def test_a_step_forward_seen_by_many_threads_at_once_is_one_step(watches: Watches) -> None:
    clock = Clock()
    watches.wall += 3600
    watches.before_wall = lambda: sleep(0.01)  # time enough for another thread to look at the steady clock too
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda _: clock.now(), range(4)))
    assert seen == pytest.approx([8600.0] * 4)
    assert clock.now() == pytest.approx(8600.0)


def test_a_clock_that_jumped_forward_and_back_says_so_while_it_lasts(watches: Watches) -> None:
    clock = Clock()
    with capture_logs() as said:
        watches.wall += 7200
        clock.now()
        assert clock.fault == ""
        watches.wall -= 7200
        for _ in range(3):
            clock.now()
        assert clock.fault.startswith("cosched's time is 2 h ahead of this machine's clock")
        watches.wall += 7195
        clock.now()
        assert clock.fault == ""
    assert [(line["log_level"], line.get("ahead")) for line in said] == [("warning", 7200), ("info", None)]
