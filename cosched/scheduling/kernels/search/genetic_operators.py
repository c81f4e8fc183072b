"""Genetic operators in machine code, each on a whole population, with a passed random state.

A population is two arrays: orders (P, m), each row a permutation of the tasks, and counts (P, m), host counts by task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["crossover", "mutate", "random_unit", "replace_parents"]


@compiled
def random_unit(state: NDArray[np.uint64]) -> float:
    """Return a random number in [0, 1) and advance the state.

    The generator is xorshift64* (Vigna, ACM TOMS 42(4), 2016).
    """
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0


@compiled
def crossover(
    state: NDArray[np.uint64],
    share: float,
    reach: int,
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    child_orders: NDArray[np.int64],
    child_counts: NDArray[np.int64],
) -> None:
    """Make a child of every individual, with probability `share` by crossing two.

    The partner is one of the `reach` individuals after it; without crossing, the child is a copy.

    A segment of the first parent's order stays where it is, with its tasks' counts; the other places take the
    remaining tasks in the partner's order and with the partner's counts.
    """
    individuals, tasks = orders.shape
    kept, others = np.empty(tasks, dtype=np.bool_), np.empty(tasks, dtype=np.int64)
    for child in range(individuals):
        child_orders[child, :] = orders[child]
        child_counts[child, :] = counts[child]
        if random_unit(state) >= share:
            continue
        partner = (child + 1 + int(random_unit(state) * reach)) % individuals
        begin = int(random_unit(state) * tasks)
        end = begin + 1 + int(random_unit(state) * (tasks - 1))
        kept[:] = False
        for place in range(begin, min(end, tasks)):
            kept[orders[child, place]] = True
        for place in range(end - tasks):  # the segment goes on at the front
            kept[orders[child, place]] = True

        found = 0
        for place in range(tasks):  # whom the processor cannot guess is written over, without a branch
            task = orders[partner, place]
            others[found] = task
            found += not kept[task]
        for task in range(tasks):
            child_counts[child, task] = counts[child, task] if kept[task] else counts[partner, task]
        first = max(end - tasks, 0)
        for place in range(first, begin):
            child_orders[child, place] = others[place - first]
        for place in range(end, tasks):
            child_orders[child, place] = others[place - first - end + begin]


@compiled
def mutate(
    state: NDArray[np.uint64],
    choices: NDArray[np.int64],
    first: NDArray[np.int64],
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Change every individual at random: a task moves, two swap, or a count changes.

    It happens one or more times to each.

    Args:
        state: state of the random numbers.
        choices: useful host counts of all tasks, ascending by task: those of j are choices[first[j]:first[j+1]].
        first: see `choices`.
        orders: changed in place.
        counts: changed in place.
    """
    for individual in range(orders.shape[0]):
        again = True
        while again:
            kind = random_unit(state)
            if kind < 0.3:
                _move(state, orders[individual])
            elif kind < 0.55:
                _swap(state, orders[individual])
            else:
                _resize(state, choices, first, counts[individual])
            again = random_unit(state) < 0.35


@compiled
def _move(state: NDArray[np.uint64], order: NDArray[np.int64]) -> None:
    origin, target = int(random_unit(state) * order.shape[0]), int(random_unit(state) * order.shape[0])
    task = order[origin]
    step = 1 if target > origin else -1
    for place in range(origin, target, step):
        order[place] = order[place + step]
    order[target] = task


@compiled
def _swap(state: NDArray[np.uint64], order: NDArray[np.int64]) -> None:
    one, other = int(random_unit(state) * order.shape[0]), int(random_unit(state) * order.shape[0])
    order[one], order[other] = order[other], order[one]


@compiled
def _resize(
    state: NDArray[np.uint64], choices: NDArray[np.int64], first: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    """Give a task the next smaller or larger useful count, or now and then any."""
    task = int(random_unit(state) * counts.shape[0])
    least, above = first[task], first[task + 1]
    if random_unit(state) < 0.3:
        counts[task] = choices[least + int(random_unit(state) * (above - least))]
        return
    place = least
    while choices[place] < counts[task] and place + 1 < above:
        place += 1
    place += 1 if random_unit(state) < 0.5 else -1
    counts[task] = choices[min(max(place, least), above - 1)]


@compiled
def replace_parents(
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    costs: NDArray[np.float64],
    child_orders: NDArray[np.int64],
    child_counts: NDArray[np.int64],
    child_costs: NDArray[np.float64],
) -> int:
    """Put each child in its first parent's place unless it is worse.

    Comparing a child with its own parent only (deterministic crowding; Mahfoud 1992) keeps the population apart, and
    accepting equals lets it drift over the plateaus that a makespan has.

    Returns:
        Index of the best individual afterwards.
    """
    best = 0
    for individual in range(orders.shape[0]):
        if child_costs[individual] <= costs[individual]:
            orders[individual, :] = child_orders[individual]
            counts[individual, :] = child_counts[individual]
            costs[individual] = child_costs[individual]
        if costs[individual] < costs[best]:
            best = individual
    return best
