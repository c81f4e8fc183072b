from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given

from cosched.scheduling.kernels.mapping.machine_prices import machine_prices
from cosched.scheduling.mapping.etc_mapping import single_host_seconds
from tests.scheduling.problems import matrices

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


@given(matrices(tasks=5, hosts=3))
def test_no_assignment_ends_before_the_bound(problem: Problem) -> None:
    seconds = single_host_seconds(problem)
    prices, bound = machine_prices(seconds)
    assert prices.sum() == pytest.approx(1)
    assert (prices > 0).all()
    tasks, machines = np.arange(len(seconds)), range(seconds.shape[1])
    for machine in product(machines, repeat=len(tasks)):
        loads = np.bincount(machine, weights=seconds[tasks, list(machine)])
        assert loads.max() >= bound * (1 - 1e-9)


def test_the_bound_is_that_of_the_linear_program() -> None:
    # Each machine is three times as fast for its own task: split neither, the best is 2; a third task splits evenly.
    assert machine_prices(np.array([[2.0, 6.0], [6.0, 2.0]]))[1] == pytest.approx(2.0)
    assert machine_prices(np.array([[2.0, 6.0], [6.0, 2.0], [4.0, 4.0]]))[1] == pytest.approx(4.0)
    assert machine_prices(np.array([[1.0, 3.0]] * 4))[1] == pytest.approx(3.0, rel=1e-3)  # three quarters and one


def test_many_machines_of_very_different_speed() -> None:
    speed = 10.0 ** np.arange(6)
    work = np.random.default_rng(2).uniform(1, 2, 300)
    bound = machine_prices(work[:, None] / speed)[1]
    assert bound == pytest.approx(work.sum() / speed.sum(), rel=2e-3)
