from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.history import History, Run, history_profile
from cosched.prediction.pooling import Pool
from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from collections.abc import Callable


def _seconds(size: float, hosts: int) -> float:
    return 2e-6 * size**2 / hosts + 0.3 + 2e-5 * size * hosts


def _runs(count: int, seed: int = 1, noise: float = 0.03) -> list[Run]:
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        size, hosts = float(int(10 ** draw.uniform(2.5, 4))), draw.randint(1, 8)
        found.append(Run((size,), hosts, "", _seconds(size, hosts) * math.exp(noise * draw.gauss(0, 1))))
    return found


def _off(history: History, run: Run) -> float:
    (expected,), _ = history.predict(run.numbers, [run.hosts], run.hardware)
    return abs(float(expected) / run.seconds - 1)


def test_sizes_and_hosts_that_were_never_run_are_foretold_within_some_per_cent() -> None:
    histories = [(seed, History(_runs(60, seed))) for seed in range(4)]
    errors = sorted(_off(history, run) for seed, history in histories for run in _runs(20, seed + 100, 0.0))
    assert errors[len(errors) // 2] < 0.03
    assert sum(errors) / len(errors) < 0.06


def test_nine_runs_in_ten_fall_into_the_range() -> None:
    held = []
    for seed in range(12):
        history = History(_runs(20, seed))
        for run in _runs(20, seed + 200):
            (expected,), (most,) = history.predict(run.numbers, [run.hosts], "")
            held.append(expected**2 / most <= run.seconds <= most)
    assert 0.84 <= sum(held) / len(held) <= 0.98


def test_three_runs_of_one_command_say_how_long_the_next_one_takes() -> None:
    history = History([Run((), 1, "", seconds) for seconds in (20.0, 20.6, 19.7)])
    profile = history_profile(history, (), [1], "")
    assert profile is not None
    assert profile.source is PredictionSource.HISTORY
    assert profile.runs == 3
    assert profile.on(1) == pytest.approx(20.0, rel=0.03)
    assert profile.low is not None
    assert profile.high is not None
    assert 15 < profile.low[0] < 19.7 < 20.6 < profile.high[0] < 26


@pytest.mark.parametrize("place", range(7))
def test_one_stray_run_changes_nothing(place: int) -> None:
    seconds = [20.0, 20.6, 19.7, 20.2, 19.9, 20.3]
    seconds.insert(place, 80.0)
    assert _off(History([Run((), 1, "", each) for each in seconds]), Run((), 1, "", 20.0)) < 0.03


def _stated(seed: int, count: int, model: Callable[[Run], float], actual: Callable[[int], float]) -> list[Run]:
    """Return runs with what a model says of them; `actual` multiplies the time of a run by its number."""
    return [
        replace(run, stated=model(exact), seconds=run.seconds * actual(number))
        for number, (run, exact) in enumerate(zip(_runs(count, seed), _runs(count, seed, 0.0), strict=True))
    ]


@pytest.mark.parametrize(
    ("model", "actual", "seen", "most"),
    [
        pytest.param(lambda run: run.seconds, lambda _number: 1.0, 3, 0.06, id="right from the start"),
        pytest.param(lambda run: run.seconds / 1.6, lambda _number: 1.0, 3, 0.1, id="wrong level, third run"),
        pytest.param(lambda run: run.seconds / 3, lambda _number: 1.0, 3, 0.1, id="very wrong level, third run"),
        pytest.param(lambda run: run.seconds / run.hosts**0.5, lambda _number: 1.0, 6, 0.1, id="wrong shape, sixth"),
        pytest.param(lambda run: run.seconds, lambda number: 4.0 if number == 20 else 1.0, 21, 0.06, id="a stray run"),
        pytest.param(lambda run: run.seconds, lambda number: 1.6 if number > 19 else 1.0, 23, 0.1, id="slower since"),
    ],
)
def test_what_a_model_says_is_mended_by_runs(
    model: Callable[[Run], float], actual: Callable[[int], float], seen: int, most: float
) -> None:
    errors = []
    for seed in range(300, 320):
        runs = _stated(seed, seen + 1, model, actual)
        last, stated = runs[seen], runs[seen].stated
        assert stated is not None
        _, (expected,), _ = Pool(runs[:seen]).quantiles(last.numbers, [stated], [last.hosts], "")
        errors.append(abs(float(expected) / last.seconds - 1))
    assert median(errors) < most


def test_a_change_is_noticed_and_a_stray_run_is_none() -> None:
    tried = [Run((), hosts, "", seconds, stated=2.0) for hosts, seconds in ((1, 2.0), (2, 4.0)) for _ in range(3)]
    for runs, since in (
        (tried, 0),  # first on one host, then on two
        (_stated(5, 23, lambda run: run.seconds, lambda number: 1.6 if number > 19 else 1.0), 3),
        (_stated(5, 23, lambda run: run.seconds, lambda number: 4.0 if number == 20 else 1.0), 0),
        (_stated(5, 23, lambda run: run.seconds, lambda _number: 1.0), 0),
    ):
        history = History(runs)
        assert history.since_change == since
        assert history.changed == (len(runs) - since + 1 if since else 0)


def test_newest_runs_that_lie_on_a_bend_are_no_change() -> None:
    """What a straight line leaves of the times was told so finely that three runs on a bend seemed to differ."""
    assert History(_runs(40, 3)).since_change == 0


def test_tries_of_less_than_a_second_say_little_of_a_long_run() -> None:
    tries = [Run((10.0,), 1, "", 0.42, stated=0.32) for _ in range(8)]  # a tenth of a second of start-up
    _, (expected,), _ = Pool(tries).quantiles((1500.0,), [50.0], [1], "")
    assert 45 < expected < 56


def test_a_model_that_has_more_hosts_faster_learns_that_they_are_slower() -> None:
    runs = [Run((), hosts, "", seconds, stated=said) for hosts, seconds, said in ((1, 2.0, 4.0), (2, 4.0, 2.0)) * 3]
    stated = Profile((4.0, 2.0), PredictionSource.MODEL, "")
    profile = Pool(runs).corrected((), stated, "")
    assert profile is not None
    assert profile.best_count == 1
    assert profile.seconds == pytest.approx((2.0, 4.0), rel=0.1)
    assert (profile.source, profile.stated, profile.runs) == (PredictionSource.MODEL, (4.0, 2.0), 6)


def _counted(counts: list[float], startup: float, each: float, seed: int = 1) -> list[Run]:
    """Return runs whose times grow with a count, which is stated as if one of it took a nanosecond."""
    draw = random.Random(seed)
    return [
        Run((count,), 1, "", (startup + each * count) * math.exp(0.03 * draw.gauss(0, 1)), stated=1e-9 * count)
        for count in counts
    ]


@pytest.mark.parametrize("seed", range(3))
def test_a_start_up_that_short_runs_are_made_of_is_none_of_long_ones(seed: int) -> None:
    """Sizes of which nearly all was start-up had one of five times the count foretold twice as long."""
    runs = _counted([5e4, 1e5, 2e5] * 4, 0.09, 1e-7, seed)
    _, (expected,), (most,) = Pool(runs).quantiles((1e6,), [1e-3], [1], "")
    assert 0.13 < expected < 0.25  # it takes 0.19 s
    assert most < 0.6


@pytest.mark.parametrize("seed", range(3))
def test_a_shorter_run_than_any_is_not_longer_than_those_for_its_start_up(seed: int) -> None:
    """A tenth of the least count was foretold to take up to 75 times as long."""
    runs = _counted([5e4, 1e5, 2e5] * 4, 0.09, 1e-7, seed)
    for count in (5e3, 5e2):
        _, (expected,), _ = Pool(runs).quantiles((count,), [1e-9 * count], [1], "")
        assert 0.03 < expected < 0.13, count  # it takes 0.09 s


@pytest.mark.parametrize("seed", range(3))
def test_a_count_in_any_unit_keeps_its_level_where_nothing_like_it_ran(seed: int) -> None:
    """A start-up was reckoned as if counts were seconds: 0.4 s in place of 0.85 s."""
    runs = _counted([1e7 * 1.3**place for place in range(9)], 0.0, 3.4e-9, seed)
    _, (expected,), _ = Pool(runs).quantiles((2.5e8,), [0.25], [1], "")
    assert expected == pytest.approx(0.85, rel=0.12)


def test_what_was_not_seen_has_a_wider_range() -> None:
    history = History(_runs(20))
    ratios = []
    for size in (1000.0, 1e5):
        (expected,), (most,) = history.predict((size,), [2], "")
        ratios.append(float(most / expected))
    assert ratios[1] > 1.5 * ratios[0]


def test_a_number_of_hosts_that_never_varied_is_as_unsure_as_any_exponent() -> None:
    """The range on other hosts was 1.3 times as wide as what was likely before any run."""
    sizes, draw = [1000.0 * 1.1**place for place in range(-15, 15)], random.Random(1)
    history = History(Run((size,), 1, "", 1e-6 * size**2 * math.exp(draw.gauss(0, 0.02))) for size in sizes)
    (expected,), (most,) = history.predict((1000.0,), [2], "")
    (usual,), (usual_most,) = history.predict((1000.0,), [1], "")
    exponent, noise = 1.645 * 0.5 * math.log(2), math.log(usual_most / usual)
    assert math.log(most / expected) == pytest.approx(math.hypot(exponent, noise), rel=0.1)


def test_classes_of_hosts_have_times_of_their_own() -> None:
    factors = {"a": 1.0, "b": 2.0}
    history = History(
        Run((size,), 1, name, size * factor) for size in (10.0, 20.0, 40.0) for name, factor in factors.items()
    )
    for name, factor in factors.items():
        assert _off(history, Run((30.0,), 1, name, 30.0 * factor)) < 0.1


def test_a_program_built_anew_starts_with_what_the_old_one_took() -> None:
    old = [Run((size,), 1, "", size, "old") for size in (10.0, 20.0, 40.0, 80.0, 160.0) for _ in range(2)]
    (expected,), (most,) = History(old).predict((30.0,), [1], "", "new")
    _, (usual_most,) = History(old).predict((30.0,), [1], "", "old")
    assert expected == pytest.approx(30.0, rel=0.1)
    assert most > 1.5 * usual_most
    one = History([*old, Run((20.0,), 1, "", 10.0, "new")])  # twice as fast
    assert one.predict((30.0,), [1], "", "new")[0][0] == pytest.approx(15.0, rel=0.15)
    assert one.predict((30.0,), [1], "", "old")[0][0] == pytest.approx(30.0, rel=0.1)


def test_counts_that_are_not_asked_for_cannot_be_used() -> None:
    profile = history_profile(History(_runs(20)), (1000.0,), [2, 4], "")
    assert profile is not None
    assert [math.isinf(seconds) for seconds in profile.seconds] == [True, False, True, False]


def test_a_history_needs_a_run() -> None:
    with pytest.raises(ValueError, match="needs a run"):
        History([])


@given(
    st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 500)), min_size=3, max_size=8),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(1e-6, 1e8),
)
def test_whatever_ran_a_prediction_is_usable_or_none(
    runs: list[tuple[float, int]], asked: float, seconds: float
) -> None:
    history = History(Run((number,), hosts, "", seconds) for number, hosts in runs)
    history_profile(history, (asked,), range(1, 9), "")  # a profile checks itself


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_numbers_below_1_tell_as_much_as_large_ones(unit: float) -> None:
    """A time step of 0.01 was taken for as good as one of 0.02."""
    draw = random.Random(2)
    steps = [draw.uniform(1, 30) for _ in range(20)]
    history = History(Run((unit * step,), 1, "", 100 / step) for step in steps)
    (expected,), _ = history.predict((unit * 7.0,), [1], "")
    assert expected == pytest.approx(100 / 7, rel=0.03)


def test_a_number_that_was_always_above_0_may_be_0_once() -> None:
    history = History(_runs(12))
    (expected,), (most,) = history.predict((0.0,), [1], "")
    assert 0 < expected < most
    with pytest.raises(ValueError, match="not like"):
        history.add(Run((-1.0,), 1, "", 1.0))
    mixed = History(Run((number,), 1, "", 10.0 + number) for number in (-5.0, 0.0, 5.0, 10.0))
    assert float(mixed.predict((3.0,), [1], "")[0][0]) == pytest.approx(13.0, rel=0.3)


def test_a_run_that_is_added_counts_as_one_that_was_learnt() -> None:
    runs = _runs(40)
    anew, added = History(runs), History(runs[:36])
    for run in runs[36:]:
        added.add(run)
    assert added.runs == anew.runs
    for expected, found in zip(anew.predict((900.0,), [1, 9], ""), added.predict((900.0,), [1, 9], ""), strict=True):
        assert found.tolist() == pytest.approx(expected.tolist(), rel=0.02)


def test_a_run_on_a_class_that_is_new_can_be_added() -> None:
    history = History(_runs(12))
    history.add(Run((1000.0,), 1, "fast", 0.5 * _seconds(1000.0, 1), "new"))
    there, elsewhere = (float(history.predict((1000.0,), [1], name)[0][0]) for name in ("fast", ""))
    assert there < 0.8 * elsewhere
    with pytest.raises(ValueError, match="not like"):
        history.add(Run((), 1, "", 1.0))
