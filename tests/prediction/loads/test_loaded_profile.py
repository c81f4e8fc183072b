from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.prediction.loads.completion import interrupted, restarted
from cosched.prediction.loads.host_load import Coupling, HostLoad, Interruption
from cosched.prediction.loads.loaded_profile import loaded_profile, loaded_profile_on, times_longer
from cosched.prediction.profile import PredictionSource, Profile

LOAD = HostLoad(rate=1 / 300, mean=100, square=20_000)
ALL = [(LOAD, 1000)]
PROFILE = Profile((800.0, math.inf, 300.0), PredictionSource.USER)


def test_times_are_those_of_the_formula() -> None:
    found = loaded_profile(PROFILE, ALL, Interruption.SUSPEND)
    assert found.seconds == pytest.approx((800 / 0.75, math.inf, 300 / 0.75**3))


def test_ranges_hold_what_interruptions_may_do() -> None:
    found, formula = loaded_profile(PROFILE, ALL, Interruption.SUSPEND), interrupted(800, LOAD)
    assert found.high is not None
    assert formula.within(found.high[0]) == pytest.approx(0.95, abs=0.02)


def test_a_range_of_the_program_itself_grows_wider() -> None:
    ranged = PROFILE.with_spread([0.1] * 3, [0.2] * 3)
    found = loaded_profile(ranged, ALL, Interruption.SUSPEND)
    assert found.spread() is not None
    alone, loaded = ranged.spread(slice(1)), found.spread(slice(1))
    assert alone is not None
    assert loaded is not None
    assert loaded[0][0] > alone[0][0]
    assert loaded[1][0] > alone[1][0]


def test_programs_that_are_driven_away_take_several_tries() -> None:
    found = loaded_profile(PROFILE, ALL, Interruption.EVICT)
    assert found.seconds[0] == pytest.approx(restarted(800, LOAD).mean)
    assert times_longer(None, [LOAD], 1, Interruption.EVICT) == 1.0
    assert times_longer(None, [LOAD] * 2, 2, Interruption.SUSPEND) == pytest.approx(0.75**-2)


def test_no_prediction_is_longer_than_predictions_may_be() -> None:
    found = loaded_profile(PROFILE, [(HostLoad(rate=1.0, mean=1000, square=2e6), 3)], Interruption.EVICT)
    assert found.seconds[0] == 10 * 365 * 86400.0


def test_independent_parts_wait_for_the_last_and_not_for_each_other() -> None:
    coupled, independent = (
        Profile((800.0, 400.0, 200.0, 100.0), PredictionSource.MODEL, coupling=coupling) for coupling in Coupling
    )
    ours, theirs = (loaded_profile(each, ALL, Interruption.SUSPEND) for each in (independent, coupled))
    assert ours.seconds[0] == pytest.approx(theirs.seconds[0], rel=0.01)
    assert ours.coupling is Coupling.INDEPENDENT
    for count in (2, 3, 4):
        assert independent.on(count) / 0.75 < ours.on(count) < theirs.on(count)
        assert times_longer(independent, [LOAD] * count, count, Interruption.SUSPEND) == pytest.approx(
            ours.on(count) / independent.on(count)
        )
    evicted = [loaded_profile(each, ALL, Interruption.EVICT).seconds for each in (independent, coupled)]
    assert evicted[0] == evicted[1]  # the job ends, whatever its parts do


@pytest.mark.parametrize("count", [27, 54, 200, 2000])
def test_programs_on_many_hosts_with_owners_take_as_long_as_predictions_may(count: int) -> None:
    load = HostLoad(rate=3 / 64, mean=64, square=8192)  # its owner takes three quarters
    found = loaded_profile(Profile((60.0,) * count, PredictionSource.USER), [(load, count)], Interruption.SUSPEND)
    assert found.seconds[0] == pytest.approx(240)
    assert found.seconds[-1] == 10 * 365 * 86400.0
    longer = times_longer(Profile((60.0,) * count, PredictionSource.USER), [load] * count, count, Interruption.SUSPEND)
    assert longer == pytest.approx(10 * 365 * 86400.0 / 60)
    assert times_longer(None, [load] * count, count, Interruption.SUSPEND) <= 10 * 365 * 86400.0


def test_each_owner_counts_on_his_own_host() -> None:
    light, profile = HostLoad(rate=1 / 900, mean=100, square=20_000), Profile((80.0, 40.0, 20.0), PredictionSource.USER)
    found = loaded_profile_on(profile, [LOAD, light], 3, Interruption.SUSPEND)
    assert found.seconds == pytest.approx((math.inf, math.inf, 20 / 0.75 / 0.9))  # one of the hosts has no owner
    assert times_longer(profile, [light, LOAD], 3, Interruption.SUSPEND) == pytest.approx(1 / 0.75 / 0.9)
    assert times_longer(profile, [], 3, Interruption.SUSPEND) == 1.0
    (driven_away,) = loaded_profile_on(profile, [LOAD, light], 2, Interruption.EVICT).seconds[1:2]
    assert driven_away == pytest.approx(restarted(40.0, HostLoad(1 / 300 + 1 / 900, 100, 20_000)).mean)
    independent = replace(profile, coupling=Coupling.INDEPENDENT)
    two = loaded_profile_on(independent, [LOAD, light], 3, Interruption.SUSPEND).seconds[2]
    assert two <= loaded_profile(independent, ALL, Interruption.SUSPEND).seconds[2]
