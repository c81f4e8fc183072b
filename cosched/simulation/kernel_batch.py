"""A batch of kernels runs through one simulated domain. Start at `run_batch`.

All tasks are submitted at the start.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.task import Task, TaskSpec
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.policies import find_policy
from cosched.simulation.kernels import HOSTS, kernel_profile
from cosched.simulation.simulated_domain import SimulatedDomain, SimulatedPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.prediction.profile import Profile
    from cosched.simulation.kernels import KernelTask
    from cosched.simulation.simulated_domain import SimulatedRun

__all__ = ["SIMULATED_INSTANCE", "run_batch", "run_time_factors"]


def run_time_factors(sigma: float, seed: int) -> Callable[[Task], float]:
    """Return a function of true ÷ predicted run time: a log-normal factor of median 1.

    The factor belongs to the task: it is the same on every number of hosts and under every policy.

    Args:
        sigma: standard deviation of the factor's logarithm; 0: predictions are exact.
        seed: seed of the draw.
    """

    def factor(task: Task) -> float:
        return random.Random(f"{seed}/{task.number}").lognormvariate(0.0, sigma)  # noqa: S311  a repeatable draw

    return factor


SIMULATED_INSTANCE = "00000000-0000-0000-0000-000000000000"
"""The database that a simulated domain would have."""


def run_batch(
    batch: Sequence[KernelTask],
    policy: str,
    noise: float,
    seed: int,
    *,
    generations: int,
    weights: Weights | None = None,
    predict: Callable[[Profile], Profile] | None = None,
) -> list[SimulatedRun]:
    """Return the runs on 16 hosts by completion.

    A task's id is its place in `batch`.

    Args:
        batch: tasks and deadlines.
        policy: policy of the domain.
        noise: standard deviation of ln(actual ÷ predicted).
        seed: seed of everything drawn.
        generations: generations of the genetic search at each change.
        weights: weights of its objective.
        predict: kernel's profile → profile given to the domain; None: the same.
    """
    settings = CoreSettings(SIMULATED_INSTANCE, policy=policy, seed=seed, weights=weights or Weights())
    actual = run_time_factors(noise, seed)

    def seconds(task: Task, count: int) -> float:
        return kernel_profile(task.spec.application).on(count) * actual(task)

    domain = SimulatedDomain(
        settings, HOSTS, seconds, SimulatedPlanner(generations, seed) if find_policy(policy).searched else None
    )
    for number, kernel_task in enumerate(batch, start=1):
        profile = kernel_profile(kernel_task.kernel)
        kernel = kernel_task.kernel
        spec = TaskSpec(kernel, kernel, (kernel,), deadline=kernel_task.relative_deadline)
        predicted = profile if predict is None else predict(profile)
        domain.post(TaskSubmitted(0.0, Task(str(number), number, 0.0, spec, profile=predicted)))
    domain.run()
    return domain.runs
