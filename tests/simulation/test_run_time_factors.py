from __future__ import annotations

import math
import statistics

from cosched.simulation.kernel_batch import run_time_factors
from tests.coscheduler.makers import a_task


def test_without_error_a_task_takes_what_was_predicted() -> None:
    assert run_time_factors(0.0, 3)(a_task(1)) == 1.0


def test_the_factor_is_the_tasks_own_and_the_seeds() -> None:
    assert run_time_factors(0.3, 3)(a_task(1)) == run_time_factors(0.3, 3)(a_task(1, [99.0]))
    assert len({run_time_factors(0.3, seed)(a_task(number)) for seed in (1, 2) for number in (1, 2)}) == 4


def test_the_factors_spread_as_asked_around_one() -> None:
    factor = run_time_factors(0.12, 1)
    logs = [math.log(factor(a_task(number))) for number in range(1, 2001)]
    assert abs(statistics.fmean(logs)) < 0.01
    assert abs(statistics.stdev(logs) - 0.12) < 0.01
