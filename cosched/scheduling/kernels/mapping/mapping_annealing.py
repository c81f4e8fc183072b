"""Anneal a mapping of independent tasks to machines; `anneal` tries one round's moves.

The cost is the priced time above the lower bound, summed over the machines (see `mapping.dual_price`). Nearly all moves
are refused, so what counts is how soon one is: times are in units of the bound, each machine's loss is kept, a move
needs one random number, and how much worse it may be is read from a table of logarithms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.kernels.jit import borrowing, compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MappingState", "MappingTables", "anneal"]

_HOT, _COLD = 0.1, 0.01  # temperatures, in grains, of losses relative to the bound
_EXCHANGES = int(0.3 * 2**20)  # of 2**20 moves, those that bring another task back
_RISES = -np.log((np.arange(4096) + 0.5) / 4096)  # in temperatures: Metropolis's rule with evenly spread numbers


class MappingTables(NamedTuple):
    """The constant data of a search.

    Attributes:
        times: (m, N) run times in units of the linear program's bound.
        prices: (N,) with a mean of 1.
        tasks: (C,) the task of each choice that there is.
        machines: (C,) the machine of each choice.
        allowed: (m, N) which choices there are.
        grain: machines ÷ tasks.
    """

    times: NDArray[np.float64]
    prices: NDArray[np.float64]
    tasks: NDArray[np.int64]
    machines: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    grain: float


class MappingState(NamedTuple):
    """An assignment on its way.

    Attributes:
        machine: (m,) of each task.
        loads: (N,) when each machine ends, in units of the bound.
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

    `found` receives the assignment with the smallest makespan. The random numbers are those of xorshift64* (Vigna, ACM
    TOMS 42(4), 2016); from the top, their bits choose the move, the task that comes back, and how much worse it may be.
    """
    times, prices, loads, machine, sizes = ground.times, ground.prices, state.loads, state.machine, state.sizes
    losses = np.empty(len(loads))
    for number in range(len(loads)):
        losses[number] = _loss(prices[number], loads[number], squared)
    choices, bits = np.uint64(len(ground.tasks)), random[0]
    best = loads.max()
    temperature = _HOT * ground.grain
    cooling = (_COLD / _HOT) ** (64.0 / moves)
    for move in range(moves):
        if move % 64 == 63:
            temperature *= cooling
        bits = _advanced(bits)
        drawn = bits * np.uint64(0x2545F4914F6CDD1D)
        choice = int(((drawn >> np.uint64(32)) * choices) >> np.uint64(32))
        task, target = ground.tasks[choice], ground.machines[choice]
        origin = machine[task]
        if target == origin:
            continue
        left = loads[origin] - times[task, origin]
        right = loads[target] + times[task, target]
        back = -1
        partner = int((drawn >> np.uint64(12)) & np.uint64(0xFFFFF))
        if partner < _EXCHANGES and sizes[target] > 0:
            back = state.members[target, partner * sizes[target] // _EXCHANGES]
            if not ground.allowed[back, origin]:
                continue
            left += times[back, origin]
            right -= times[back, target]
        lost, gained = _loss(prices[origin], left, squared), _loss(prices[target], right, squared)
        change = lost + gained - losses[origin] - losses[target]
        if change > temperature * _RISES[int(drawn & np.uint64(0xFFF))]:
            continue
        loads[origin], loads[target] = left, right
        losses[origin], losses[target] = lost, gained
        _carry_out(state, task, back, origin, target)
        if left < best and right < best and loads.max() < best:
            best = loads.max()
            found[:] = machine
    random[0] = bits


@borrowing
def _advanced(bits: np.uint64) -> np.uint64:
    bits ^= bits >> np.uint64(12)
    bits ^= bits << np.uint64(25)
    bits ^= bits >> np.uint64(27)
    return bits


@borrowing
def _loss(price: float, load: float, squared: float) -> float:
    excess = max(load - 1.0, 0.0)
    return float(price * excess * (1.0 + squared * excess))


@borrowing
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
