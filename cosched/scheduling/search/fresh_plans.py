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
from cosched.scheduling.shapes import best_shape_seconds, shape_choices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem

__all__ = ["fresh_plans", "fresh_plans_apply"]

_FEW = 50  # tasks: random plans of more need too many generations to be as good as the heuristics'
_NOISE = 0.2  # standard deviation of the logarithm of what tasks are ordered by


def fresh_plans_apply(problem: Problem) -> bool:
    """Return whether there are few tasks, none of them elastic or with several ways or shapes on shared hosts."""
    if len(problem.tasks) > _FEW or problem.elastic or problem.ways:
        return False
    return problem.packing is None or bool((np.diff(shape_choices(problem, problem.packing)[1]) == 1).all())


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
    draw = np.random.default_rng(state)
    if problem.packing is None:
        return _on_whole_hosts(problem, state, draw, plans, end)
    return _on_shared_hosts(problem, problem.packing, draw, plans)


def _on_whole_hosts(
    problem: Problem, state: NDArray[np.uint64], draw: np.random.Generator, plans: int, end: float
) -> Population:
    choices, first = encoded_choices(problem)
    tasks, of_any = np.repeat(np.arange(len(problem.tasks)), np.diff(first)), choices < class_base(problem)
    hosts, tasks = choices[of_any], tasks[of_any]
    first = np.searchsorted(tasks, np.arange(len(problem.tasks) + 1))
    seconds = class_times(problem)[:, tasks, hosts - 1].min(axis=0)
    work = hosts * seconds
    least = float(np.minimum.reduceat(work, first[:-1]).sum())
    room = float(np.maximum(end - problem.free, 0.0).sum())
    drawn = draw_choices(state, work, first, draw.uniform(least, max(room, least), plans))
    orders = _orders(draw, seconds[drawn], work[drawn], hosts[drawn])
    return Population(orders, hosts[drawn], np.full(plans, np.inf))


def _on_shared_hosts(problem: Problem, packing: Packing, draw: np.random.Generator, plans: int) -> Population:
    shapes, _ = shape_choices(problem, packing)
    seconds = best_shape_seconds(problem, packing)[shapes]
    parts = (packing.area[shapes] / np.maximum(packing.capacity.sum(axis=0), 1)).max(axis=1)
    keys = [np.tile(key, (plans, 1)) for key in (seconds, parts * seconds, parts)]
    return Population(_orders(draw, *keys), np.tile(shapes, (plans, 1)), np.full(plans, np.inf))


def _orders(draw: np.random.Generator, *keys: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (P, m) orders, each by one of the (P, m) keys, the largest first, and a little at random."""
    key = np.choose(draw.integers(len(keys), size=(len(keys[0]), 1)), keys)
    orders = np.argsort(-key * np.exp(_NOISE * draw.standard_normal(key.shape)), axis=1, kind="stable")
    return orders.astype(np.int64)
