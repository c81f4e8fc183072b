from __future__ import annotations

import math
import random

import pytest

from cosched.prediction.others.startup import StartedRun, StartUps
from cosched.prediction.profile import PredictionSource, Profile


def _runs(
    startup: float, stated: float, programs: int = 4, launch: str = "openmpi", hosts: int = 2
) -> list[StartedRun]:
    """Return a run of each of some programs, whose models are some ten per cent off."""
    draw = random.Random(1)
    found = []
    for number in range(programs):
        seconds = stated * math.exp(0.1 * draw.gauss(0, 1)) + startup * math.exp(0.05 * draw.gauss(0, 1))
        found.append(StartedRun(f"program {number}", launch, hosts, seconds, stated))
    return found


def _profile(seconds: tuple[float, ...], error: float = 0.1) -> Profile:
    ends = tuple([each / (1 + error) for each in seconds]), tuple([each * (1 + error) for each in seconds])
    return Profile(seconds, PredictionSource.MODEL, "", *ends)


def test_the_first_run_of_a_program_has_the_start_up_of_others() -> None:
    found = StartUps(_runs(2.0, 0.8)).added(_profile((3.0, 1.5)), "openmpi")
    assert found.seconds == pytest.approx((5.0, 3.5), rel=0.1)
    assert found.stated == (3.0, 1.5)
    assert found.low is not None
    assert found.high is not None
    assert found.low[1] < 1.45 + 2.0 < 1.55 + 2.0 < found.high[1] < 6.0


def test_a_run_of_each_of_two_programs_says_something_already() -> None:
    found = StartUps(_runs(2.0, 0.5, programs=2)).added(_profile((9.0, 4.5)), "openmpi")
    assert found.seconds[1] == pytest.approx(6.5, rel=0.1)
    assert found.high is not None
    assert found.high[1] > 4.95 + 2.3


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(_runs(0.0, 1.0), id="no start-up"),
        pytest.param(_runs(2.0, 60.0), id="runs too long to tell it"),
        pytest.param([StartedRun("wrong", "openmpi", 2, 50.0, 0.5)], id="a model that is far off"),
        pytest.param([StartedRun("wrong", "openmpi", 2, 0.5, 50.0)], id="a model that is far too long"),
        pytest.param(_runs(2.0, 0.8, launch="mpich"), id="another launcher"),
        pytest.param([], id="no runs"),
    ],
)
def test_nothing_is_added_where_no_start_up_is_known(runs: list[StartedRun]) -> None:
    profile = _profile((3.0, 1.5))
    assert StartUps(runs).added(profile, "openmpi") is profile


def test_a_model_that_is_far_off_hides_no_start_up_of_others() -> None:
    runs = [*_runs(2.0, 0.8), StartedRun("wrong", "openmpi", 2, 50.0, 0.5)]
    assert StartUps(runs).added(_profile((3.0, 1.5)), "openmpi").seconds[1] == pytest.approx(3.5, rel=0.1)


def test_one_host_starts_sooner_than_several() -> None:
    runs = [*_runs(2.0, 0.8), *_runs(0.5, 0.4, hosts=1)]
    found = StartUps(runs).added(_profile((4.0, 2.0, 1.5)), "openmpi")
    assert found.seconds == pytest.approx((4.5, 4.0, 3.5), rel=0.1)
    assert found.high is not None
    assert found.high[2] - found.seconds[2] > found.high[1] - found.seconds[1]  # no run had three


def test_start_ups_that_a_manager_knows_to_the_second_have_a_range_of_seconds() -> None:
    runs = [StartedRun(f"program {number}", "openmpi", 2, 1.0 + number % 2 * 2.0, 0.4) for number in range(10)]
    whole, exact = (StartUps(each).added(_profile((3.0, 1.5)), "openmpi") for each in (runs, _runs(1.6, 0.4, 10)))
    assert whole.high is not None
    assert exact.high is not None
    assert whole.high[1] - whole.seconds[1] > 1.0 > exact.high[1] - exact.seconds[1]


def test_every_class_of_hosts_has_the_start_up() -> None:
    classes = (_profile((3.0, 1.5)), _profile((6.0, 3.0)))
    whole = Profile((6.0, 3.0), PredictionSource.MODEL, "a+b", classes=classes)
    found = StartUps(_runs(2.0, 0.8)).added(whole, "openmpi")
    assert [each.seconds[1] for each in (found, *found.classes)] == pytest.approx([5.0, 3.5, 5.0], rel=0.1)


def test_counts_that_cannot_be_used_stay_so() -> None:
    found = StartUps(_runs(2.0, 0.8)).added(Profile((math.inf, 2.0), PredictionSource.MODEL), "openmpi")
    assert found.seconds[0] == math.inf
    assert found.seconds[1] == pytest.approx(4.0, rel=0.1)
