"""A batch of kernels, all submitted at the start, through one simulated domain.

Start at `run_batch`; `run_time_factors` draws how wrong predictions are.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.task import Task
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

# ── What tasks really take when predictions are wrong: drawn, the same for a task whatever the policy does.


def run_time_factors(sigma: float, seed: int) -> Callable[[Task], float]:
    """Return how much longer than predicted a task really takes: a log-normal factor of median 1.

    The factor belongs to the task: it is the same on every number of hosts and under every policy.

    Args:
        sigma: standard deviation of the factor's logarithm; 0: predictions are exact.
        seed: of the draw.
    """

    def factor(task: Task) -> float:
        return random.Random(f"{seed}/{task.number}").lognormvariate(0.0, sigma)  # noqa: S311  a repeatable draw

    return factor


# ── A batch of kernels, all there at the start, through one simulated domain.


SIMULATED_INSTANCE = "00000000-0000-0000-0000-000000000000"
"""The database that a simulated domain would have."""


def run_batch(
    orders: Sequence[KernelTask],
    policy: str,
    noise: float,
    seed: int,
    *,
    generations: int,
    weights: Weights | None = None,
    predict: Callable[[Profile], Profile] | None = None,
) -> list[SimulatedRun]:
    """Return what ran when on 16 hosts, in order of completion; the id of a task is its place in `orders`, from 1.

    Args:
        orders: tasks and deadlines.
        policy: as of `Settings`.
        noise: standard deviation of ln(actual ÷ predicted), see `realised`.
        seed: of everything drawn.
        generations: of the genetic search at each change.
        weights: of its objective.
        predict: what the domain is told of a kernel's profile, if not the profile itself.
    """
    settings = CoreSettings(SIMULATED_INSTANCE, policy=policy, seed=seed, weights=weights or Weights())
    actual = run_time_factors(noise, seed)

    def seconds(task: Task, count: int) -> float:
        return kernel_profile(task.application).on(count) * actual(task)

    domain = SimulatedDomain(
        settings, HOSTS, seconds, SimulatedPlanner(generations, seed) if find_policy(policy).searched else None
    )
    for number, order in enumerate(orders, start=1):
        profile = kernel_profile(order.kernel)
        told = profile if predict is None else predict(profile)
        task = Task(
            id=str(number),
            number=number,
            name=order.kernel,
            application=order.kernel,
            command=(order.kernel,),
            submitted=0.0,
            profile=told,
            deadline=order.allowance,
        )
        domain.post(TaskSubmitted(0.0, task))
    domain.run()
    return domain.runs
