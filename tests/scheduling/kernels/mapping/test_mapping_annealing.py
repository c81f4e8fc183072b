from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.mapping.mapping_annealing import MappingState, MappingTables, anneal

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tables(times: NDArray[np.float64]) -> MappingTables:
    tasks, machines = np.nonzero(np.isfinite(times))
    prices = np.ones(times.shape[1])
    return MappingTables(times, prices, tasks, machines, np.isfinite(times), times.shape[1] / len(times))


def all_on_the_first(times: NDArray[np.float64]) -> MappingState:
    members = np.zeros(times.shape[::-1], dtype=np.int64)
    members[0] = np.arange(len(times))
    sizes, loads = np.zeros(times.shape[1], dtype=np.int64), np.zeros(times.shape[1])
    sizes[0], loads[0] = len(times), times[:, 0].sum()
    return MappingState(np.zeros(len(times), dtype=np.int64), loads, members, sizes, np.arange(len(times)))


def test_loads_and_members_are_those_of_the_assignment_after_many_moves() -> None:
    draw = np.random.default_rng(4)
    for squared in (0.0, 10.0):
        times = draw.uniform(0.05, 0.2, (40, 4))
        times[::3, 3] = np.inf  # there such a task cannot run
        state, random = all_on_the_first(times), np.array([11], dtype=np.uint64)
        found = state.machine.copy()
        anneal(tables(times), state, random, squared, 5_000, found)
        taken = times[np.arange(len(times)), state.machine]
        assert np.allclose(state.loads, np.bincount(state.machine, weights=taken, minlength=4))
        for number in range(4):
            here = state.members[number, : state.sizes[number]]
            assert sorted(here.tolist()) == np.flatnonzero(state.machine == number).tolist()
            assert state.place[here].tolist() == list(range(len(here)))
        assert random[0] != 11


def test_it_finds_the_best_assignment_of_two_machines() -> None:
    times = np.repeat(np.array([[0.5], [0.4], [0.3], [0.3], [0.3], [0.2]]), 2, axis=1)  # 1.0 on each at best
    state = all_on_the_first(times)
    found = state.machine.copy()
    anneal(tables(times), state, np.array([5], dtype=np.uint64), 0.0, 20_000, found)
    assert np.isclose(np.bincount(found, weights=times[:, 0], minlength=2).max(), 1.0)
