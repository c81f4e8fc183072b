from __future__ import annotations

from cosched.simulation.calendar import Calendar
from cosched.simulation.network import Network


def arrivals(**conditions: float) -> list[float]:
    calendar = Calendar()
    network = Network(calendar, seed=5, **conditions)
    seen: list[float] = []
    for _ in range(400):
        network.carry(lambda: seen.append(calendar.time))
    while calendar.step(100.0):
        pass
    assert network.carried == 400
    return seen


def test_letters_take_half_to_one_and_a_half_of_the_mean() -> None:
    times = arrivals(delay=2.0)
    assert len(times) == 400
    assert 1.0 <= min(times) < 1.1
    assert 2.9 < max(times) <= 3.0
    assert times == arrivals(delay=2.0)


def test_some_are_lost() -> None:
    assert 250 < len(arrivals(delay=1.0, loss=0.3)) < 310
