from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.prediction.loads.load_history import HOURS_KEPT, LoadHistory, hour_of

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR = 3600.0
START = 400_000 * HOUR  # the beginning of an hour


def watched(until: float, part: Callable[[float], float], step: float = 30.0) -> LoadHistory:
    """Return the history of one host from START for some seconds."""
    history = LoadHistory()
    for tick in range(int(until / step) + 1):
        history.observe({"a": part(START + tick * step)}, START + tick * step)
    return history


def test_hosts_that_nobody_works_at_have_no_records() -> None:
    history = watched(10 * HOUR, lambda _time: 0.0)
    assert (history.hosts(), history.unwritten(), history.loads(START + 10 * HOUR)) == ([], [], {})


def test_a_presence_is_counted_in_its_hours() -> None:
    history = watched(2 * HOUR, lambda time: 1.0 if HOUR - 600 <= time - START < HOUR + 300 else 0.0)
    first, second = history.hours("a")[:2]
    assert (first.seconds, first.busy, first.taken) == (HOUR, 600, 600)
    assert (second.busy, second.presences) == (300, 0)
    assert (first.presences, first.lengths, first.squares) == (1, 900, 900**2)


def test_the_time_before_the_first_presence_was_idle() -> None:
    history = watched(5.5 * HOUR, lambda time: 1.0 if 5 * HOUR <= time - START < 5 * HOUR + 60 else 0.0)
    assert [row.seconds for row in history.hours("a")][:4] == [HOUR] * 4


def test_an_owner_who_stays_for_a_day_has_taken_his_host_away() -> None:
    history = watched(40 * HOUR, lambda time: 1.0 if 2 * HOUR <= time - START < 30 * HOUR else 0.0)
    assert all(abs(row.busy) < 1e-6 for row in history.hours("a"))
    assert history.loads(START + 40 * HOUR) == {}


def test_a_machine_that_others_use_day_and_night_is_loaded_while_they_do() -> None:
    history = watched(40 * HOUR, lambda time: 0.5 if time - START >= 2 * HOUR else 0.0)
    assert history.coming("a", START + 40 * HOUR) > 0.4
    assert history.loads(START + 40 * HOUR)["a"].lost == pytest.approx(0.5)
    assert history.loads(START + 40 * HOUR)["a"].depth >= 0.5


def test_an_owner_who_shuts_his_machine_down_has_left() -> None:
    history = LoadHistory()
    for minute in range(3 * 24 * 60):
        off = minute % (24 * 60) >= 11 * 60
        history.observe({"b": 0.0} if off else {"a": float(minute > 0), "b": 0.0}, START + minute * 60)
    assert sum(row.busy for row in history.hours("a")) == pytest.approx(3 * 11 * HOUR, rel=0.01)


def test_a_presence_lasts_no_longer_than_it_was_seen() -> None:
    history = LoadHistory()
    history.observe({"a": 0.0}, START)
    history.observe({"a": 1.0}, START + 60)
    history.observe({"a": 1.0}, START + 120)
    history.observe({"a": 0.0}, START + 72 * HOUR)  # the manager did not answer from Friday to Monday
    assert sum(row.lengths for row in history.hours("a")) <= 60


def test_what_was_not_seen_counts_for_nothing() -> None:
    history = LoadHistory()
    history.observe({"a": 1.0}, START)
    history.observe({"a": 0.0}, START + 60)
    history.observe({"a": 0.0}, START + 1000)  # the manager did not answer meanwhile
    assert sum(row.seconds for row in history.hours("a")) == 60


def test_the_same_hour_of_other_days_tells_of_the_next() -> None:
    working = (9, 10, 11)
    history = watched(
        20 * 24 * HOUR,
        lambda time: float(hour_of(time) % 24 in working and time % 1200 < 600),
        step=60.0,
    )
    end = START + 20 * 24 * HOUR
    today = hour_of(end) - hour_of(end) % 24
    assert history.expected("a", today + 24 + 10) == pytest.approx(0.5, abs=0.07)
    assert history.expected("a", today + 24 + 20) < 0.07


def test_loads_are_in_few_levels_with_presences_as_long_as_seen() -> None:
    draw = np.random.default_rng(3)
    history, time = LoadHistory(), START
    for _ in range(400):
        for part, mean in ((0.0, 360.0), (1.0, 120.0)):
            for _ in range(int(draw.exponential(mean) / 30) + 1):
                history.observe({"a": part, "b": 0.0}, time)
                time += 30
    loads = history.loads(time)
    assert set(loads) == {"a"}
    assert loads["a"].lost == pytest.approx(0.25)
    assert loads["a"].depth == 1.0
    assert loads["a"].mean == 128.0


def test_a_host_that_has_turned_bad_is_noticed_within_the_hour() -> None:
    day = 24 * HOUR
    history = LoadHistory()
    time = START
    while time < START + 3 * day:
        history.observe({"a": float(time % 1200 < 120)}, time)  # a tenth
        time += 30
        history.loads(time)
    before = history.loads(time)["a"]
    while time < START + 3 * day + HOUR:
        history.observe({"a": float(time % 1200 < 960)}, time)  # four fifths
        time += 30
        history.loads(time)
    assert before.lost == pytest.approx(0.1)
    assert history.loads(time)["a"].lost == pytest.approx(0.75)
    assert history.has_departed("a")


def test_what_is_written_restores_the_history() -> None:
    history = watched(30 * HOUR, lambda time: float(time % 1200 < 300))
    restored = LoadHistory()
    restored.load(history.unwritten())
    assert history.unwritten() == []
    assert restored.hours("a") == history.hours("a")
    assert restored.loads(START + 30 * HOUR) == history.loads(START + 30 * HOUR)


def test_old_hours_and_hosts_whose_owners_stay_away_are_forgotten() -> None:
    history = watched(3 * HOUR, lambda time: float(time - START < 600))
    later = START + (HOURS_KEPT + 10) * HOUR
    assert history.forget(later) == hour_of(later) - HOURS_KEPT
    assert history.hosts() == []
