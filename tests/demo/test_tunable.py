from __future__ import annotations

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from demo import tunable
from demo.stage_times import NARROW, admitted_on_paper, fitted, ways_on_paper

_DUE = 5.0
_SECONDS = st.floats(-1.0, 60.0)


def test_a_simulated_pool_computes_nothing() -> None:
    with pytest.raises(SystemExit, match="choose local, condor or slurm"):
        tunable.main("simulated", 3, 1.0, 1, Console(file=io.StringIO()))


def test_arrivals_are_repeatable_and_ascend() -> None:
    moments = tunable.arrivals(5, 3)
    assert moments == tunable.arrivals(5, 3) == sorted(moments)
    assert moments != tunable.arrivals(5, 4)


def test_with_both_ways_more_images_are_in_time_than_with_one() -> None:
    """What the demonstration shows on processes holds on paper, for the arrivals that it draws and others."""
    fine, coarse = ways_on_paper(tunable.HOSTS, _DUE).values()

    def served(seed: int) -> tuple[int, int]:
        moments = tunable.arrivals(tunable.TASKS, seed)
        alone = [admitted_on_paper(moments, (way,), tunable.HOSTS) for way in (fine, coarse)]
        return admitted_on_paper(moments, (fine, coarse), tunable.HOSTS), max(alone)

    both, one = served(1)
    assert both > one
    every = [served(seed) for seed in range(2, 22)]
    assert sum(both >= one for both, one in every) >= 18
    assert math.fsum(both for both, _ in every) > 1.1 * math.fsum(one for _, one in every)


@given(st.floats(0.1, 20.0), st.lists(_SECONDS, min_size=1), st.lists(_SECONDS, min_size=1))
def test_stages_have_their_hosts_for_one_time_and_for_twice_that(
    wide: float, beside_wide: list[float], beside_narrow: list[float]
) -> None:
    """On HTCondor and Slurm the seconds before a job begins made stages of 1:2 into ones of 1:1.3."""
    times = fitted(wide, beside_wide, beside_narrow)
    assert times.narrow + times.beside_narrow == pytest.approx(NARROW * times.period)
    assert times.wide >= wide
    assert times.narrow > 0


def test_one_start_that_was_slow_once_changes_no_times() -> None:
    assert fitted(2.0, [0.5, 30.0, 0.5], [0.25, 0.25, 9.0]) == fitted(2.0, [0.5], [0.25])


def test_it_is_told_which_ways_were_taken_and_how_far_off_the_plan_was() -> None:
    stages = ((6, 0.0, 0.5, 2.5), (3, 2.75, 3.0, 7.0))
    images = (
        tunable.Image(0.0, 12.0, "fine", 6.0, stages, in_time=True),
        tunable.Image(1.0, 13.0, "coarse", 9.0, ((3, 2.0, 3.0, 7.0), (6, 7.5, 8.0, 14.0))),
        tunable.Image(2.0, 14.0),
        tunable.Image(3.0, 15.0, "coarse", failed="7"),
    )
    served = tunable.Served("both ways", 3, images)
    assert (served.guaranteed, served.in_time, served.late) == (3, 1, 1)
    told = tunable.told(served)
    assert told == "both ways: 1 of 4 in time (1 fine and 2 coarse, ended +3.0 s after what was foretold in the mean)"
