from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.prediction.efficiency import WorkerStatistics
from cosched.scheduling.elastic.adaptation import AdaptationParameters, AvoidedPlaces, advise_workers, worker_badness

PARAMETERS = AdaptationParameters()
NOWHERE = AvoidedPlaces()


def workers(
    *clusters: tuple[str, int, float], overhead: float, speeds: tuple[float, ...] = ()
) -> list[WorkerStatistics]:
    """Return workers of clusters, each a name, a number, and the time spent with others."""
    found: list[WorkerStatistics] = []
    for place, (name, count, between) in enumerate(clusters):
        speed = speeds[place] if speeds else 1.0
        found += [
            WorkerStatistics(len(found) + each, f"{name}{each}", name, speed, max(overhead, between), between)
            for each in range(count)
        ]
    return found


def test_efficient_programs_are_given_more_and_those_between_the_thresholds_stay_as_they_are() -> None:
    advice = advise_workers(workers(("a", 8, 0.0), overhead=0.17), NOWHERE, PARAMETERS, 0.0)
    assert (advice.more, advice.leave, advice.avoided) == (6, (), NOWHERE)  # ⌈8 · 0.83/0.5⌉ = 14
    advice = advise_workers(workers(("a", 8, 0.0), overhead=0.6), NOWHERE, PARAMETERS, 0.0)
    assert (advice.more, advice.leave) == (0, ())


def test_below_the_lower_threshold_slow_workers_leave_first() -> None:
    statistics = workers(("a", 6, 0.0), ("b", 4, 0.0), overhead=0.65, speeds=(1.0, 0.2))
    advice = advise_workers(statistics, NOWHERE, PARAMETERS, 0.0)
    assert advice.efficiency == pytest.approx(0.35 * 6.8 / 10)
    assert set(advice.leave) == {9, 8, 7, 6, 5, 4}  # ⌈10 (1 - 0.238/0.5)⌉ = 6, the slow ones before two others
    assert set(advice.leave[:4]) == {6, 7, 8, 9}
    assert not advice.avoided.allows("b0", "b", 1e9)
    assert advice.avoided.allows("b7", "b", 0.0)


def test_a_badly_connected_cluster_leaves_as_a_whole() -> None:
    statistics = workers(("a", 4, 0.0), ("b", 4, 0.3), overhead=0.8)
    advice = advise_workers(statistics, NOWHERE, PARAMETERS, 0.0)
    assert advice.leave == (4, 5, 6, 7)
    assert not advice.avoided.allows("b9", "b", 0.0)
    alone = advise_workers(workers(("b", 4, 0.3), overhead=0.8), NOWHERE, PARAMETERS, 0.0)
    assert 0 < len(alone.leave) < 4


def test_badness_adds_speed_links_and_the_worst_cluster() -> None:
    statistics = workers(("a", 2, 0.0), ("b", 2, 0.1), overhead=0.5, speeds=(2.0, 1.0))
    badness = worker_badness(statistics, PARAMETERS)
    assert badness[0] == pytest.approx(1.0)
    assert badness[2] == pytest.approx(2.0 + 10.0 + 10.0)


def test_places_are_avoided_twice_as_long_at_a_relapse_or_for_ever() -> None:
    left = NOWHERE.with_left((), ("b",), 100.0, 600.0)
    assert not left.allows("b1", "b", 699.0)
    assert left.allows("b1", "b", 700.0)
    again = left.with_left((), ("b",), 800.0, 600.0)
    assert not again.allows("b1", "b", 1999.0)
    assert again.allows("b1", "b", 2000.0)
    assert not NOWHERE.with_left(("h",), (), 0.0, PARAMETERS.avoided).allows("h", "a", 1e12)


def test_one_worker_always_stays() -> None:
    advice = advise_workers(workers(("a", 3, 0.0), overhead=1.0), NOWHERE, replace(PARAMETERS), 0.0)
    assert len(advice.leave) == 2
