from __future__ import annotations

import math
import statistics
from dataclasses import replace

from cosched.simulation.kernel_batch import run_batch, run_time_factors
from cosched.simulation.kernels import KernelTask, kernel_profile
from tests.coscheduler.makers import a_task

ORDERS = [KernelTask("sweep3d", 30.0), KernelTask("cpi", 8.0)]


def test_what_runs_takes_the_kernels_time_whatever_the_domain_was_told() -> None:
    for predict in (None, lambda profile: replace(profile, seconds=tuple(2 * value for value in profile.seconds))):
        for run in run_batch(ORDERS, "easy", 0.0, 1, generations=0, predict=predict):
            assert run.finished - run.started == kernel_profile(run.application).on(len(run.hosts))


def test_tasks_keep_their_place_as_their_name() -> None:
    runs = run_batch(ORDERS, "fcfs-maximum", 0.0, 1, generations=0)
    assert {run.task: run.application for run in runs} == {"1": "sweep3d", "2": "cpi"}


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
