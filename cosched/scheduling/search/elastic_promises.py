"""Plans for the first population that promise elastic tasks other numbers of hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cosched.scheduling.elastic.tasks import ElasticTask
    from cosched.scheduling.problem import Problem

__all__ = ["fixed_promises", "promised_variants"]


def fixed_promises(problem: Problem, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return host counts (m,) with the least and with the preferred promise of each elastic task."""
    least, preferred = counts.copy(), counts.copy()
    for task, bounds in (problem.elastic or {}).items():
        least[task], preferred[task] = bounds.least, bounds.fitting(bounds.preferred)
    return least, preferred


def promised_variants(problem: Problem, plans: Sequence[Plan]) -> list[Plan]:
    """Return each plan with the least, the preferred and the minimum satisfactory promise; none without elastic tasks.

    The minimum satisfactory promise (ElasticFlow; Gu et al., ASPLOS 2023) is the fewest hosts on which a task meets its
    deadline from its planned start on; as planned where none does, the least without a deadline.
    """
    elastic = problem.elastic or {}
    found = []
    for plan in plans if elastic else ():
        starts, _ = spans(problem, plan)
        least, preferred = fixed_promises(problem, plan.counts)
        satisfactory = plan.counts.copy()
        for task, bounds in elastic.items():
            satisfactory[task] = (
                _satisfactory(bounds, float(problem.deadline[task]) - starts[task]) or plan.counts[task]
            )
        found += [Plan(plan.order, counts) for counts in (least, preferred, satisfactory)]
    return found


def _satisfactory(task: ElasticTask, seconds: float) -> int | None:
    """Return the fewest hosts on which a task takes so many seconds at most; None where none do."""
    return next((count for count in task.useful if task.on(count) <= seconds), None)
