from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.history import History, Run
from cosched.prediction.others.exponents import USUAL_HOSTS, USUAL_NUMBER
from cosched.prediction.others.other_programs import KeyedRun, OtherPrograms
from cosched.prediction.pooling import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIZES = (700.0, 1000.0, 1600.0, 2500.0)
_NOISE = 0.03


def _seconds(size: float, hosts: int, serial: float, power: float = 1.0) -> float:
    return 1e-2 * math.pow(size, power) * (serial + (1 - serial) / hosts)


def _program(
    key: str, serial: float, counts: Sequence[int] = (1, 2, 4), power: float = 1.0, repeats: int = 1
) -> list[KeyedRun]:
    """Return runs of a program whose user says that its work is divided evenly."""
    draw = random.Random(key)
    return [
        KeyedRun(
            key,
            (size,),
            hosts,
            "",
            _seconds(size, hosts, serial, power) * math.exp(draw.gauss(0, _NOISE)),
            _seconds(size, hosts, 0.0),
        )
        for _ in range(repeats)
        for size in _SIZES
        for hosts in counts
    ]


def _programs(serials: Sequence[float], counts: Sequence[int] = (1, 2, 4), power: float = 1.0) -> OtherPrograms:
    return OtherPrograms(
        run for place, serial in enumerate(serials) for run in _program(f"p{place}", serial, counts, power)
    )


def _own(serial: float, counts: Sequence[int] = (1,)) -> list[Run]:
    return [Run(run.numbers, run.hosts, "", run.seconds, "", run.stated) for run in _program("own", serial, counts)]


def _history(runs: Sequence[Run], others: OtherPrograms | None = None) -> History:
    history = History(Run(run.numbers, run.hosts, run.hardware, run.seconds) for run in runs)
    if others is not None:
        history.hear(others)
    return history


def _range(history: History, hosts: int, size: float = 1000.0) -> tuple[float, float, float]:
    (middle,), (high,) = history.predict((size,), [hosts], "")
    return float(middle**2 / high), float(middle), float(high)


def _width(history: History, hosts: int) -> float:
    low, _, high = _range(history, hosts)
    return high / low


def test_programs_that_fall_alike_narrow_the_range_on_hosts_that_another_never_had() -> None:
    others, own = _programs([0.05 * place for place in range(6)]), _own(0.1)
    low, middle, high = _range(_history(own, others), 2)
    assert _width(_history(own, others), 2) < 0.6 * _width(_history(own), 2)
    assert low < _seconds(1000.0, 2, 0.1) < high
    assert middle == pytest.approx(_seconds(1000.0, 2, 0.1), rel=0.1)


def test_programs_that_fall_unlike_one_another_leave_it_wide() -> None:
    alike, unlike = (_programs(serials) for serials in ([0.1] * 6, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]))
    own = _own(0.1)
    assert _width(_history(own, unlike), 4) > 2 * _width(_history(own, alike), 4)
    assert _width(_history(own, unlike), 4) > 0.9 * _width(_history(own), 4)


def test_one_program_says_little_of_the_next() -> None:
    one = _programs([0.0]).hosts.doublings[0]
    assert 0.7 * USUAL_HOSTS.deviation < one.deviation < USUAL_HOSTS.deviation
    assert abs(one.mean - USUAL_HOSTS.mean) < 0.2


@pytest.mark.parametrize("serial", [0.0, 0.05, 0.1])
def test_a_serial_part_shows_on_16_hosts_where_others_told_of_two(serial: float) -> None:
    """A serial part of a tenth makes two hosts 1.1 times as slow as its even share, and 16 hosts 2.5 times."""
    others = _programs([0.01 * place for place in range(10)], (1, 2))
    own = _own(serial)
    low, _, high = _range(_history(own, others), 16)
    assert low < _seconds(1000.0, 16, serial) < high
    pool = Pool(own)
    pool.hear(others)
    low, _, high = (float(times[0]) for times in pool.quantiles((1000.0,), [_seconds(1000.0, 16, 0.0)], [16], ""))
    assert low < _seconds(1000.0, 16, serial) < high
    told = _programs([0.01 * place for place in range(10)], (1, 2, 4, 8, 16))
    assert _width(_history(own, told), 16) < 0.3 * _width(_history(own, others), 16)


@pytest.mark.parametrize("serial", [0.0, 0.1, 0.15])
@pytest.mark.parametrize("tried", [(1, 2), (1, 2, 4)])
def test_a_serial_part_shows_on_more_hosts_than_its_own_runs_had(serial: float, tried: tuple[int, ...]) -> None:
    """The exponent from one host to two was known well, and taken to be that from two to 16: 55 % lay within."""
    own = _own(serial, tried)
    pool, history = Pool(own), _history(own)
    for count in (8, 16):
        actual, asked = _seconds(1000.0, count, serial), ((1000.0,), [_seconds(1000.0, count, 0.0)], [count], "")
        low, _, high = (float(times[0]) for times in pool.quantiles(*asked))
        assert low < actual < high
        low, _, high = _range(history, count)
        assert low < actual < high
    assert _width(history, 16) > 1.5 * _width(history, 8) > 2 * _width(history, max(tried))
    assert _width(history, max(tried)) < 1.3  # where it ran nothing is wider


def test_how_far_stated_times_are_off_on_other_hosts_is_learnt_from_other_programs() -> None:
    own, asked = _own(0.2), ((1000.0,), [_seconds(1000.0, 4, 0.0)], [4], "")
    before, after = Pool(own), Pool(own)
    after.hear(_programs([0.15, 0.2, 0.25, 0.2, 0.15, 0.25]))
    actual = _seconds(1000.0, 4, 0.2)
    (low, middle, high), (usual_low, usual, usual_high) = (
        [float(times[0]) for times in pool.quantiles(*asked)] for pool in (after, before)
    )
    assert usual < 0.75 * actual
    assert middle == pytest.approx(actual, rel=0.1)
    assert low < actual < high
    assert high / low < 0.6 * usual_high / usual_low


def test_runs_of_its_own_on_several_hosts_go_before_those_of_others() -> None:
    own, others = _own(0.5, (1, 2)), _programs([0.0] * 8)
    assert [_range(_history(own, others), hosts) for hosts in (1, 2, 4)] == [
        _range(_history(own), hosts) for hosts in (1, 2, 4)
    ]


def test_runs_beside_others_are_taken_in_one_by_one() -> None:
    others = _programs([0.0] * 8)
    heard, alone = _history(_own(0.5), others), _history(_own(0.5))
    for history in (heard, alone):
        history.add(Run((1600.0,), 2, "", _seconds(1600.0, 2, 0.5)))
        history.add(Run((700.0,), 2, "", _seconds(700.0, 2, 0.5)))
    assert _range(heard, 2) == _range(alone, 2)


def test_how_programs_grow_with_their_numbers_foretells_another_of_one_size() -> None:
    number = _programs([0.1] * 6, power=2.0).number("own")
    runs = [Run((1000.0,), 1, "", seconds) for seconds in (10.0, 10.2, 9.9)]
    plain, told = History(runs), History(runs, number)
    assert number.mean == pytest.approx(2.0, abs=0.4)
    assert float(plain.predict((4000.0,), [1], "")[0][0]) < 12.0
    (expected,), (most,) = told.predict((4000.0,), [1], "")
    assert expected == pytest.approx(160.0, rel=0.7)
    assert expected**2 / most < 160.0 < most


def test_numbers_that_mean_nothing_keep_their_exponent() -> None:
    """Seeds and names of cases are numbers, too."""
    number = _programs([0.1] * 6, power=0.0).number("own")
    assert abs(number.mean) < 0.1
    assert number.deviation < USUAL_NUMBER.deviation


def test_a_programs_own_runs_do_not_count_among_the_others() -> None:
    own, others = _program("own", 0.1, power=3.0), _program("other", 0.1, power=1.0)
    assert OtherPrograms([*own, *others]).number("own") == OtherPrograms(others).number("own")
    assert OtherPrograms(own).number("own") == USUAL_NUMBER


def test_a_number_that_never_varied_and_one_number_of_hosts_tell_nothing() -> None:
    told = OtherPrograms(KeyedRun("p", (5.0,), 4, "", seconds, 3.0) for seconds in (2.0, 2.1, 1.9))
    assert told.hosts.doublings == told.stated_hosts.doublings == {}
    assert told.number("own") == pytest.approx(USUAL_NUMBER, abs=0.05)


def test_classes_of_hosts_are_told_apart() -> None:
    """A program on one slow host and two fast ones seems to fall by four."""
    runs = [
        KeyedRun("p", (size,), hosts, f"class {hosts}", _seconds(size, hosts, 0.0) / hosts, None)
        for size in _SIZES
        for hosts in (1, 2)
    ]
    assert OtherPrograms(runs).hosts.doublings == {}


_RUNS = st.lists(
    st.builds(
        KeyedRun,
        st.sampled_from("ab"),
        st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=2).map(lambda pair: (pair[0], pair[1])),
        st.integers(1, 10_000),
        st.sampled_from(("", "fast")),
        st.floats(1e-6, 1e9),
        st.none() | st.floats(1e-6, 1e9),
    ),
    max_size=12,
)


@given(_RUNS)
def test_whatever_ran_exponents_are_numbers(runs: list[KeyedRun]) -> None:
    others = OtherPrograms(runs)
    told = [*others.hosts.doublings.values(), *others.stated_hosts.doublings.values(), others.number("new")]
    assert all(math.isfinite(each.mean) and 0.05 < each.deviation < 5 for each in told)


def test_numbers_of_any_size_keep_nobody_from_being_foretold() -> None:
    odd = [KeyedRun("odd", (number,), 1, "", 5.0, None) for number in (0.0, 1e-200, 1e-200, 1e200, -1e308)]
    found = OtherPrograms([*_program("usual", 0.1), *odd]).number("new")
    assert math.isfinite(found.mean)
    history = History([Run(each.numbers, 1, "", each.seconds) for each in odd])
    median, slow = history.predict((1e308,), (1, 2), "")
    assert (median < slow).all()
