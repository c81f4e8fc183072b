"""What tasks really take when predictions are wrong: drawn, the same for a task whatever the policy does."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.coscheduler.task import Task

__all__ = ["realised"]


def realised(sigma: float, seed: int) -> Callable[[Task], float]:
    """Return how much longer than predicted a task really takes: a log-normal factor of median 1.

    The factor belongs to the task: it is the same on every number of hosts and under every policy.

    Args:
        sigma: standard deviation of the factor's logarithm; 0: predictions are exact.
        seed: of the draw.
    """

    def factor(task: Task) -> float:
        return random.Random(f"{seed}/{task.number}").lognormvariate(0.0, sigma)  # noqa: S311  a repeatable draw

    return factor
