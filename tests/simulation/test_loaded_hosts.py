from __future__ import annotations

import numpy as np
import pytest

from cosched.coscheduler.events import TaskSubmitted
from cosched.simulation.loaded_hosts import LoadedDomain, OwnerDiary, OwnerHabits, completion_times
from tests.coscheduler.makers import a_task, settings


def test_a_program_beside_no_owner_takes_its_work() -> None:
    times = completion_times(np.random.default_rng(1), 100.0, OwnerHabits(idle=1e12, busy=10.0), 3, 50)
    assert times == pytest.approx(np.full(50, 100.0))


def test_owners_are_away_and_there_for_as_long_as_their_habits_say() -> None:
    draw, habits = np.random.default_rng(2), OwnerHabits(idle=300.0, busy=100.0, variation=2.0)
    assert habits.absences(draw, 40_000).mean() == pytest.approx(300, rel=0.05)
    presences = habits.presences(draw, 40_000)
    assert presences.mean() == pytest.approx(100, rel=0.05)
    assert (presences**2).mean() == pytest.approx(habits.load.square, rel=0.2)


def test_presences_of_one_length_are_that_long() -> None:
    habits = OwnerHabits(idle=300.0, busy=100.0, variation=0.0)
    assert set(habits.presences(np.random.default_rng(2), 5).tolist()) == {100.0}


def test_a_program_that_shares_its_host_advances_meanwhile() -> None:
    half = OwnerHabits(idle=1e-3, busy=1e12, depth=0.5)  # he comes at once, and stays
    times = completion_times(np.random.default_rng(3), 100.0, half, 1, 20)
    assert times == pytest.approx(np.full(20, 200.0), rel=1e-3)


def test_evicted_programs_take_longer_than_suspended_ones() -> None:
    habits = OwnerHabits(idle=100.0, busy=10.0)
    suspended = completion_times(np.random.default_rng(4), 100.0, habits, 1, 500)
    evicted = completion_times(np.random.default_rng(4), 100.0, habits, 1, 500, evict=True)
    assert evicted.mean() > 1.2 * suspended.mean()
    assert evicted.min() >= 100.0


def test_an_owner_keeps_to_the_habits_of_the_hour() -> None:
    def part(time: float) -> float:
        return 0.5 if time < 40 * 3600 else 0.0

    diary = OwnerDiary.drawn(np.random.default_rng(5), part, 120.0, (0.0, 80 * 3600.0))
    assert max(diary.came) < 40 * 3600
    there = sum(went - came for came, went in zip(diary.came, diary.went, strict=True))
    assert there / (40 * 3600) == pytest.approx(0.5, abs=0.1)
    assert all(came < went for came, went in zip(diary.came, diary.went, strict=True))


def test_a_program_stands_still_while_the_owner_is_there() -> None:
    diary = OwnerDiary(came=(10.0, 50.0), went=(20.0, 60.0))
    assert diary.there(10.0)
    assert not diary.there(20.0)
    assert diary.end(0.0, 5.0) == 5.0
    assert diary.end(0.0, 10.0) == 10.0
    assert diary.end(0.0, 15.0) == 25.0
    assert diary.end(12.0, 5.0) == 25.0
    assert diary.end(0.0, 45.0) == 65.0
    assert diary.end(100.0, 5.0) == 105.0


def test_no_task_begins_while_an_owner_is_there_and_those_that_run_wait() -> None:
    diaries = {"node01": OwnerDiary((0.0, 120.0), (30.0, 150.0)), "node02": OwnerDiary((0.0,), (1000.0,))}
    domain = LoadedDomain(settings(), diaries, lambda _time: {})
    domain.post(TaskSubmitted(0.0, a_task(1, (100.0,))))
    domain.run()
    (run,) = domain.runs
    assert (run.hosts, run.started, run.finished) == (("node01",), 30.0, 160.0)
