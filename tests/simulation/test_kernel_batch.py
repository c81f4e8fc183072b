from __future__ import annotations

from dataclasses import replace

from cosched.simulation.kernel_batch import run_batch
from cosched.simulation.kernels import KernelTask, kernel_profile

ORDERS = [KernelTask("sweep3d", 30.0), KernelTask("cpi", 8.0)]


def test_what_runs_takes_the_kernels_time_whatever_the_domain_was_told() -> None:
    for predict in (None, lambda profile: replace(profile, seconds=tuple(2 * value for value in profile.seconds))):
        for run in run_batch(ORDERS, "easy", 0.0, 1, generations=0, predict=predict):
            assert run.finished - run.started == kernel_profile(run.application).on(len(run.hosts))


def test_tasks_keep_their_place_as_their_name() -> None:
    runs = run_batch(ORDERS, "fcfs-maximum", 0.0, 1, generations=0)
    assert {run.task: run.application for run in runs} == {"1": "sweep3d", "2": "cpi"}
