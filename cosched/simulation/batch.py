"""A batch of kernels, all there at the start, through one simulated domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.events import TaskSubmitted
from cosched.coscheduler.settings import Settings
from cosched.coscheduler.task import Task
from cosched.scheduling.policies import SEARCHED
from cosched.scheduling.problem import Weights
from cosched.simulation.engine import SimulatedDomain
from cosched.simulation.kernels import HOSTS, kernel_profile
from cosched.simulation.planner import Planner
from cosched.simulation.realised import realised

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.prediction.profile import Profile
    from cosched.simulation.engine import Run
    from cosched.simulation.kernels import Order

__all__ = ["INSTANCE", "run_batch"]

INSTANCE = "00000000-0000-0000-0000-000000000000"
"""The database that a simulated domain would have."""


def run_batch(
    orders: Sequence[Order],
    policy: str,
    noise: float,
    seed: int,
    *,
    generations: int,
    weights: Weights | None = None,
    predict: Callable[[Profile], Profile] | None = None,
) -> list[Run]:
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
    settings = Settings(INSTANCE, policy=policy, seed=seed, weights=weights or Weights())
    actual = realised(noise, seed)

    def seconds(task: Task, count: int) -> float:
        return kernel_profile(task.application).on(count) * actual(task)

    domain = SimulatedDomain(settings, HOSTS, seconds, Planner(generations, seed) if policy in SEARCHED else None)
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
