from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given

from cosched.scheduling.mapping.dual_price import DualPriceSearch
from cosched.scheduling.mapping.etc_mapping import min_min, single_host_seconds, sufferage
from tests.scheduling.problems import matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem


def makespan(seconds: NDArray[np.float64], machine: NDArray[np.int64]) -> float:
    loads = np.bincount(machine, weights=seconds[np.arange(len(machine)), machine], minlength=seconds.shape[1])
    return float(loads.max())


def a_matrix(seed: int) -> NDArray[np.float64]:
    draw = np.random.default_rng(seed)
    return draw.uniform(1, 100, (80, 1)) * draw.uniform(1, 10, (80, 6))


@given(matrices(tasks=12, hosts=4))
def test_the_assignment_is_possible_and_has_the_makespan_told(problem: Problem) -> None:
    seconds = single_host_seconds(problem)
    search = DualPriceSearch(seconds, seed=1)
    first = search.makespan
    helped = [search.step() for _ in range(3)]
    assert np.isfinite(seconds[np.arange(len(seconds)), search.machine]).all()
    assert search.makespan == makespan(seconds, search.machine)
    assert search.bound * (1 - 1e-9) <= search.makespan <= first
    assert any(helped) == (search.makespan < first)


def test_it_is_better_than_the_heuristics() -> None:
    for seed in range(5):
        seconds = a_matrix(seed)
        search = DualPriceSearch(seconds, seed=seed)
        for _ in range(4):
            search.step()
        assert search.makespan < min(makespan(seconds, rule(seconds)[0]) for rule in (min_min, sufferage))
        assert search.makespan < 1.05 * search.bound
        assert search.generations == 4
        assert search.evaluations > 4 * 5000


def test_small_matrices_with_near_machines_are_solved() -> None:
    draw = np.random.default_rng(7)
    for _ in range(10):
        seconds = draw.uniform(10, 12, (6, 3))
        search = DualPriceSearch(seconds)
        for _ in range(6):
            search.step()
        best = min(makespan(seconds, np.array(machine)) for machine in product(range(3), repeat=6))
        assert search.makespan <= best * (1 + 1e-12)


def test_seed_and_rounds_decide_the_assignment() -> None:
    one, other = DualPriceSearch(a_matrix(1), seed=3), DualPriceSearch(a_matrix(1), seed=3)
    for _ in range(3):
        assert one.step() == other.step()
    assert one.machine.tolist() == other.machine.tolist()


def test_it_is_finished_when_no_task_has_a_choice_or_the_bound_is_met() -> None:
    assert DualPriceSearch(np.array([[1.0, 9.0], [9.0, 1.0]])).finished
    assert DualPriceSearch(np.array([[1.0, np.inf], [5.0, np.inf]])).finished
    assert not DualPriceSearch(a_matrix(1)).finished
