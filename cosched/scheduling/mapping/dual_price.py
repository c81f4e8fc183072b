"""The dual-price search maps independent tasks to machines for the smallest makespan.

Prices on the machines' time (see `machine_prices`) say where a task may go at little loss; it keeps only machines where
its priced time is near its minimum. Among these, simulated annealing (Kirkpatrick, Gelatt, Vecchi: Science 220, 1983)
moves and exchanges tasks in machine code. It minimises the priced time above the lower bound, summed over the machines:
that is the loss against the bound and changes with every move, while the makespan seldom does. Loading this module
loads numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.mapping.machine_prices import machine_prices
from cosched.scheduling.kernels.mapping.mapping_annealing import MappingState, MappingTables, anneal
from cosched.scheduling.objective.comparison import PlanFigures

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DualPriceSearch", "warm_up"]

# The coarser the grain (machines ÷ tasks), the further from the prices a good assignment lies. Found on 512 x 16.
_NEAR = 12.8  # grains by which a task's priced time may exceed its minimum: 40 %
_LEAST_NEAR = 0.1
_SQUARED = 1.0  # weight of the squared excess, per grain, in every other round: it evens the machines out
_MOVES = 100  # tried in a round for each task
_FEWEST = 5_000
_LONGER_AFTER = 8  # rounds; then they are twice as long, and so on
_LONGEST = 6  # times


class DualPriceSearch:
    """A search for the assignment of tasks to machines with the smallest makespan.

    Seed and number of rounds decide its outcome.

    Attributes:
        bound: lower bound of the makespan in seconds: the linear program's, or the task that must take the longest.
        machine: (m,) the machine of each task in the best assignment so far.
        makespan: makespan of that assignment, in seconds.
        generations: rounds of annealing done so far.
        evaluations: assignments compared so far.
    """

    def __init__(
        self, seconds: NDArray[np.float64], seed: int = 0, deadline: NDArray[np.float64] | None = None
    ) -> None:
        """Find the prices; the first assignment is each task's cheapest machine.

        Args:
            seconds: (m, N) run time of each task on each machine, infinite where it cannot run.
            seed: seed of the random numbers.
            deadline: (m,) seconds; the search ignores it and only counts the missed ones.
        """
        self._deadline = np.full(len(seconds), np.inf) if deadline is None else deadline
        prices, spread = machine_prices(seconds)
        self.bound = max(spread, float(seconds.min(axis=1).max()))
        priced = seconds * prices
        self._cheapest = priced.argmin(axis=1)
        grain = seconds.shape[1] / seconds.shape[0]
        allowed = priced <= (1 + max(_NEAR * grain, _LEAST_NEAR)) * priced.min(axis=1, keepdims=True)
        allowed[allowed.sum(axis=1) == 1] = False  # nothing to choose: such a task is never moved
        tasks, machines = np.nonzero(allowed)
        self._seconds = seconds
        times = np.ascontiguousarray(seconds / spread)
        self._ground = MappingTables(times, prices * len(prices), tasks, machines, allowed, grain)
        self._random = np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)
        self.machine = self._cheapest.copy()
        self.makespan = self._makespan(self.machine)
        self.generations = 0
        self.evaluations = 1

    @property
    def finished(self) -> bool:
        """True when nothing can improve: the bound is reached, or no task has a choice."""
        return self.makespan <= self.bound * (1 + 1e-12) or not len(self._ground.tasks)

    @property
    def order(self) -> NDArray[np.int64]:
        """(m,) the tasks by machine of the best assignment, shortest first on each."""
        return np.argsort(self._taken(), kind="stable")

    def figures(self) -> PlanFigures:
        """Return what the best assignment so far is judged by."""
        late = np.zeros(0)
        if np.isfinite(self._deadline).any():
            late = np.maximum(_ends(self.machine, self._taken(), self.order) - self._deadline, 0.0)
        loads = _loads(self._seconds, self.machine)
        idle = float(((1 - loads / self.makespan) ** 2).mean())  # all of it lies at the end
        return PlanFigures(self.makespan, int((late > 0).sum()), float(late.sum()), idle)

    def step(self, generations: int = 1) -> bool:
        """Do some rounds, none when finished; return whether a better assignment was found."""
        before = self.makespan
        for _ in range(generations):
            self._round()
        return self.makespan < before

    def _round(self) -> None:
        """Start from the cheapest machines and from the best assignment by turns."""
        if self.finished:
            return
        again = self.generations % 2 == 1
        state = _initial_assignment(self._ground, self.machine if again else self._cheapest)
        moves = max(_FEWEST, _MOVES * len(self.machine)) << min(self.generations // _LONGER_AFTER, _LONGEST)
        found = state.machine.copy()
        anneal(self._ground, state, self._random, _SQUARED / self._ground.grain if again else 0.0, moves, found)
        self.generations += 1
        self.evaluations += moves
        makespan = self._makespan(found)
        if makespan < self.makespan:
            self.machine, self.makespan = found, makespan

    def _taken(self) -> NDArray[np.float64]:
        seconds: NDArray[np.float64] = self._seconds[np.arange(len(self.machine)), self.machine]
        return seconds

    def _makespan(self, machine: NDArray[np.int64]) -> float:
        return float(_loads(self._seconds, machine).max())


def warm_up() -> None:
    """Compile all functions, or load them, before the first search."""
    DualPriceSearch(np.array([[2.0, 2.0], [2.0, 2.0], [1.0, 1.0]])).step()


def _loads(seconds: NDArray[np.float64], machine: NDArray[np.int64]) -> NDArray[np.float64]:
    taken = seconds[np.arange(len(machine)), machine]
    loads = np.zeros(seconds.shape[1])
    np.add.at(loads, machine, taken)
    return loads


def _ends(machine: NDArray[np.int64], taken: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return when each task ends, where every machine runs its own one after the other."""
    ends = np.empty(len(machine))
    for number in np.unique(machine):
        here = order[machine[order] == number]
        ends[here] = np.cumsum(taken[here])
    return ends


def _initial_assignment(ground: MappingTables, machine: NDArray[np.int64]) -> MappingState:
    tasks, machines = ground.times.shape
    members, sizes = np.zeros((machines, tasks), dtype=np.int64), np.zeros(machines, dtype=np.int64)
    place = np.zeros(tasks, dtype=np.int64)
    movable = np.unique(ground.tasks)
    for number in range(machines):
        here = movable[machine[movable] == number]
        members[number, : len(here)] = here
        place[here] = np.arange(len(here))
        sizes[number] = len(here)
    return MappingState(machine.astype(np.int64), _loads(ground.times, machine), members, sizes, place)
