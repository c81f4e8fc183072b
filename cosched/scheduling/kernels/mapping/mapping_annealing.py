"""Anneal a mapping of independent tasks to machines; `anneal` tries one round's moves.

The cost is the priced time above the lower bound, summed over the machines (see `mapping.dual_price`).

"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.kernels.search.genetic_operators import random_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MappingState", "MappingTables", "anneal"]

_HOT, _COLD = 0.1, 0.01  # temperatures, in grains, of losses relative to the bound
_EXCHANGES = 0.3  # share of moves that bring another task back


class MappingTables(NamedTuple):
    """The constant data of a search.

    Attributes:
        seconds: (m, N) run times.
        prices: (N,) with a mean of 1.
        tasks: (C,) the task of each choice that there is.
        machines: (C,) the machine of each choice.
        allowed: (m, N) which choices there are.
        bound: lower bound of the linear program, in seconds.
        grain: machines ÷ tasks.
    """

    seconds: NDArray[np.float64]
    prices: NDArray[np.float64]
    tasks: NDArray[np.int64]
    machines: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    bound: float
    grain: float


class MappingState(NamedTuple):
    """An assignment on its way.

    Attributes:
        machine: (m,) of each task.
        loads: (N,) when each machine ends, in seconds.
        members: (N, m) the movable tasks of each machine in any order, as many as its size.
        sizes: (N,) see `members`.
        place: (m,) where a movable task stands in its machine's row of `members`.
    """

    machine: NDArray[np.int64]
    loads: NDArray[np.float64]
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    place: NDArray[np.int64]


@compiled
def anneal(
    ground: MappingTables,
    state: MappingState,
    random: NDArray[np.uint64],
    squared: float,
    moves: int,
    found: NDArray[np.int64],
) -> None:
    """Try `moves` moves while the temperature falls, and keep the best assignment.

    `found` receives the assignment with the smallest makespan.
    """
    best = state.loads.max()
    temperature = _HOT * ground.grain
    cooling = (_COLD / _HOT) ** (64.0 / moves)
    for move in range(moves):
        if move % 64 == 63:
            temperature *= cooling
        choice = int(random_unit(random) * ground.tasks.shape[0])
        task, target = ground.tasks[choice], ground.machines[choice]
        origin = state.machine[task]
        if target == origin:
            continue
        back = _partner(ground, state, random, origin, target)
        if back == -2:
            continue
        left = state.loads[origin] - ground.seconds[task, origin]
        right = state.loads[target] + ground.seconds[task, target]
        if back >= 0:
            left += ground.seconds[back, origin]
            right -= ground.seconds[back, target]
        change = _loss(ground, origin, left, squared) - _loss(ground, origin, state.loads[origin], squared)
        change += _loss(ground, target, right, squared) - _loss(ground, target, state.loads[target], squared)
        if change > 0 and random_unit(random) >= np.exp(-change / temperature):
            continue
        state.loads[origin], state.loads[target] = left, right
        _carry_out(state, task, back, origin, target)
        if left < best and right < best and state.loads.max() < best:
            best = state.loads.max()
            found[:] = state.machine


@compiled
def _partner(ground: MappingTables, state: MappingState, random: NDArray[np.uint64], origin: int, target: int) -> int:
    """Draw the task to take in exchange; -1 for none, -2 if forbidden."""
    if random_unit(random) >= _EXCHANGES or state.sizes[target] == 0:
        return -1
    back = state.members[target, int(random_unit(random) * state.sizes[target])]
    return int(back) if ground.allowed[back, origin] else -2


@compiled
def _loss(ground: MappingTables, machine: int, load: float, squared: float) -> float:
    excess = max(load / ground.bound - 1.0, 0.0)
    return float(ground.prices[machine] * excess * (1.0 + squared * excess))


@compiled
def _carry_out(state: MappingState, task: int, back: int, origin: int, target: int) -> None:
    here = state.place[task]
    state.machine[task] = target
    if back >= 0:
        there = state.place[back]
        state.machine[back] = origin
        state.members[target, there], state.place[task] = task, there
        state.members[origin, here], state.place[back] = back, here
        return
    state.sizes[origin] -= 1
    last = state.members[origin, state.sizes[origin]]
    state.members[origin, here], state.place[last] = last, here
    state.members[target, state.sizes[target]], state.place[task] = task, state.sizes[target]
    state.sizes[target] += 1
