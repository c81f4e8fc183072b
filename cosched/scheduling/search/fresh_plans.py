"""Plans drawn at random, for a population that begins anew.

The heuristics' plans do little work, and mutants of the best plan are like it. The shortest schedules may do more work
and leave no host idle: plans with another mixture of host counts, which no few mutations reach. So a search of few
tasks that finds nothing better goes on from random plans alone (random immigrants: Grefenstette, PPSN 2, 1992), of
about as much work as the hosts have room for before the shortest makespan so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import class_base, class_times, encoded_choices
from cosched.scheduling.kernels.search.fresh_choices_kernel import draw_choices
from cosched.scheduling.search.initial_population import Population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["fresh_plans", "fresh_plans_apply"]

_FEW = 50  # tasks: random plans of more need too many generations to be as good as the heuristics'
_NOISE = 0.2  # standard deviation of the logarithm of what tasks are ordered by


def fresh_plans_apply(problem: Problem) -> bool:
    """Return whether there are few tasks, which have hosts for themselves; none is elastic or has several ways."""
    return len(problem.tasks) <= _FEW and problem.packing is None and not problem.elastic and not problem.ways


def fresh_plans(problem: Problem, state: NDArray[np.uint64], plans: int, end: float) -> Population:
    """Return plans that are not judged; in front are the longest tasks, the largest, or those on most hosts.

    Predecessors may be behind their successors. No plan names a class: tasks take the hosts that end them first, which
    evens out the classes.

    Args:
        problem: see `fresh_plans_apply`.
        state: state of the random numbers.
        plans: how many.
        end: of the shortest schedule so far, in seconds.
    """
    choices, first = encoded_choices(problem)
    tasks, of_any = np.repeat(np.arange(len(problem.tasks)), np.diff(first)), choices < class_base(problem)
    hosts, tasks = choices[of_any], tasks[of_any]
    first = np.searchsorted(tasks, np.arange(len(problem.tasks) + 1))
    seconds = class_times(problem)[:, tasks, hosts - 1].min(axis=0)
    work = hosts * seconds
    least = float(np.minimum.reduceat(work, first[:-1]).sum())
    room = float(np.maximum(end - problem.free, 0.0).sum())
    draw = np.random.default_rng(state)
    drawn = draw_choices(state, work, first, draw.uniform(least, max(room, least), plans))
    keys = np.choose(draw.integers(3, size=(plans, 1)), (seconds[drawn], work[drawn], hosts[drawn]))
    orders = np.argsort(-keys * np.exp(_NOISE * draw.standard_normal(keys.shape)), axis=1, kind="stable")
    return Population(orders.astype(np.int64), hosts[drawn], np.full(plans, np.inf))
