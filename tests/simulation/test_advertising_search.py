from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.agents.advice import AdvertisingOutcome, AdviserSnapshot, ObservedDomain, ObservedTask
from cosched.agents.agent_settings import AdvertisingBounds, AdvertisingSettings, AgentSettings, PeerRole
from cosched.prediction.profile import PredictionSource, Profile
from cosched.simulation.advertising_search import adjacent_settings, advise, simulated_outcome

BOUNDS = AdvertisingBounds(2.0, 120.0, 3, 600.0)
SETTINGS = AgentSettings("here", "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e")
TASK = Profile((40.0, 20.0), PredictionSource.USER)


def a_situation(tasks: int = 12) -> AdviserSnapshot:
    """Two hosts of ours get more than they can end in time; a neighbour and one behind it are mostly idle."""
    seen = tuple(ObservedTask(5.0 * number, 30.0, TASK) for number in range(tasks))
    others = (
        ObservedDomain("near", "near", PeerRole.NEIGHBOUR, 4, "fast", 0.5, 0.25),
        ObservedDomain("far", "near", PeerRole.NEIGHBOUR, 8, "slow", 1.5, 0.5),
    )
    return AdviserSnapshot(SETTINGS, 2, seen, others)


def test_every_way_meets_the_same_tasks_and_network() -> None:
    situation = a_situation()
    assert simulated_outcome(situation, SETTINGS.advertising) == simulated_outcome(situation, SETTINGS.advertising)


def test_agents_that_believe_nothing_are_found_out() -> None:
    situation = a_situation(6)
    deaf = AdvertisingSettings(
        10.0, push=False, scope=0, lifetime=0.01
    )  # what is told is forgotten before it can be used
    present = simulated_outcome(situation, SETTINGS.advertising)
    assert simulated_outcome(situation, deaf).cost > present.cost
    worse = replace(situation, settings=replace(SETTINGS, advertising=deaf))
    advice = advise(worse, BOUNDS, 60.0)
    assert advice.changes
    assert advice.present == deaf
    assert advice.best_outlook.cost < advice.present_outlook.cost
    assert advice.tasks == 6


def test_no_time_leaves_all_as_it_is() -> None:
    advice = advise(a_situation(), BOUNDS, 0.0)
    assert (advice.tried, advice.changes) == (1, False)


@pytest.mark.parametrize(
    "way",
    [
        SETTINGS.advertising,
        AdvertisingSettings(2.0, True, 0, 2.0),
        AdvertisingSettings(120.0, False, 3, 720.0),
        AdvertisingSettings(60.0, True, 1, 500.0),
    ],
)
def test_ways_stay_within_bounds(way: AdvertisingSettings) -> None:
    found = list(adjacent_settings(way, BOUNDS))
    for one in found:
        assert BOUNDS.shortest <= one.period <= BOUNDS.longest
        assert 0 <= one.scope <= BOUNDS.scope
        assert one.lifetime >= min(one.period, way.lifetime)
        assert one.lifetime in (way.lifetime, min(one.lifetime, BOUNDS.lifetime))
    assert replace(way, push=not way.push) in found


def test_a_neighbour_too_small_for_any_task_gets_none() -> None:
    situation = a_situation()
    pairs = Profile((float("inf"), 20.0), PredictionSource.USER)
    tiny = replace(situation.others[0], hosts=1, busy=1.0)
    narrow = replace(situation, tasks=tuple(replace(seen, profile=pairs) for seen in situation.tasks), others=(tiny,))
    assert simulated_outcome(narrow, SETTINGS.advertising).late > 0


def test_a_late_task_costs_more_than_many_letters() -> None:
    assert AdvertisingOutcome(0.1, 0.0, 10.0).cost > AdvertisingOutcome(0.0, 0.0, 50.0).cost
