from __future__ import annotations

from cosched.simulation.network import NetworkFaults, NetworkPartition, SimulatedNetwork
from cosched.simulation.simulated_domain import Calendar


def arrivals(
    sender: str = "a", receiver: str = "b", cuts: tuple[NetworkPartition, ...] = (), **conditions: float
) -> list[float]:
    """Return when 400 letters of the first moment arrive."""
    calendar = Calendar()
    network = SimulatedNetwork(calendar, NetworkFaults(partitions=cuts, **conditions), 5)
    seen: list[float] = []
    for _ in range(400):
        network.carry(sender, receiver, lambda: seen.append(calendar.time))
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


def test_some_come_twice() -> None:
    assert 500 < len(arrivals(delay=1.0, twice=0.3)) < 540


def test_nothing_passes_a_cut_while_it_lasts() -> None:
    now = NetworkPartition(frozenset({"a", "c"}), 0.0, 5.0)
    assert arrivals(cuts=(now,)) == arrivals("b", "c", (now,)) == []
    assert len(arrivals("a", "c", (now,))) == len(arrivals("b", "d", (now,))) == 400
    assert len(arrivals(cuts=(NetworkPartition(frozenset({"a"}), 5.0, 9.0),))) == 400
    assert len(arrivals(cuts=(NetworkPartition(frozenset({"a"}), 0.0, 0.0),))) == 400
