from __future__ import annotations

import numpy as np
import pytest

from cosched.simulation.loaded_hosts import OwnerHabits, completion_times


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
