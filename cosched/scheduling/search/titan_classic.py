"""Titan's genetic algorithm, reconstructed from its published descriptions for comparison.

A solution is an order of the tasks and a set of hosts for each (Spooner et al., IEE Proc. Computers and Digital
Techniques 150(2), 2003). Its cost is (Wm·ω + Wi·φ + Wc·θ) / (Wm + Wi + Wc) of makespan ω and lateness θ in seconds and
front-weighted idle time φ, a pure number. Fitness is the cost scaled to 0 … 1 within the population. Selection is by
stochastic remainder; the order is spliced, the host sets crossed as one string of bits; mutation swaps tasks and flips
bits. Random start, no heuristics, no elite. What the descriptions leave open is decided here: where all costs are equal
so is all fitness; a set that is empty or cannot run its task is drawn anew. Loading this module loads numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.kernels.objective import objective_kernel
from cosched.scheduling.kernels.search.titan_classic_kernel import decode_sets, population_costs, possible_sets
from cosched.scheduling.objective.comparison import PlanFigures
from cosched.scheduling.objective.objective import measure_times
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.problem import Problem
from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TitanClassicSearch", "remainder_selection", "warm_up"]

_POPULATION = 40
_CROSSED = 0.8  # share of pairs
_SWAPPED = 0.2  # share of individuals
_FLIPPED = 0.01  # share of bits


class TitanClassicSearch:
    """A population of orders and host sets; seed and number of generations decide its course.

    Attributes:
        generations: done so far.
        evaluations: solutions decoded so far.
        cost: cost of the best solution so far.
    """

    def __init__(self, problem: Problem, weights: Weights | None = None, seed: int = 0) -> None:
        """Draw the first population.

        Args:
            problem: at least one task, and no hosts that come and go, which the published algorithm lacks.
            weights: Wm, Wi and Wc.
            seed: seed of the random numbers.

        Raises:
            UserError: slowdown has a weight, or nothing else has.
        """
        chosen = weights or Weights()
        self._problem = problem
        self._tables = objective_kernel.tabulate(problem, chosen, 1.0)  # its own weights are not used
        raw = np.array([chosen.makespan, chosen.idle, chosen.lateness])
        if chosen.slowdown or not raw.any():
            raise UserError("titan-classic weighs makespan, idle time and lateness alone: choose another objective")
        self._weights = raw / raw.sum()
        self._draw = np.random.default_rng(seed)
        tasks, hosts = len(problem.tasks), len(problem.hosts)
        self._usable = np.isfinite(best_seconds(problem))
        self._orders = self._draw.permuted(np.tile(np.arange(tasks), (_POPULATION, 1)), axis=1)
        self._maps = self._draw.random((_POPULATION, tasks, hosts)) < 0.5
        self.generations, self.evaluations, self.cost = 0, 0, np.inf
        self._costs = self._evaluate()

    @property
    def bound(self) -> float:
        """Lower bound of the makespan in seconds; of no use to the search."""
        return tight_bound(self._problem)

    @property
    def finished(self) -> bool:
        """False: it knows no bound that would tell it so."""
        return False

    def figures(self) -> PlanFigures:
        """Return what the best solution so far is judged by."""
        starts, ends = self._spans()
        return PlanFigures.of(measure_times(self._problem, starts, ends, self.best.counts))

    def step(self, generations: int = 1) -> bool:
        """Go on for some generations; return whether a better solution was found."""
        before = self.cost
        for _ in range(generations):
            self._generation()
        return self.cost < before

    def _generation(self) -> None:
        parents = remainder_selection(self._costs, self._draw)
        self._orders, self._maps = self._orders[parents], self._maps[parents]
        for one in range(0, _POPULATION, 2):
            if self._draw.random() < _CROSSED:
                self._cross(one, one + 1)
        for individual in np.flatnonzero(self._draw.random(_POPULATION) < _SWAPPED):
            places = self._draw.integers(self._orders.shape[1], size=2)
            self._orders[individual, places] = self._orders[individual, places[::-1]]
        self._maps ^= self._draw.random(self._maps.shape) < _FLIPPED
        self.generations += 1
        self._costs = self._evaluate()

    @property
    def best(self) -> Plan:
        """Order and host counts of the best solution so far."""
        return Plan(self._solution[0].copy(), self._solution[1].sum(axis=1).astype(np.int64))

    @property
    def schedule(self) -> Schedule:
        """The best solution so far, decoded in order.

        A task starts when the last of its hosts is free.
        """
        problem, tables = self._problem, self._tables
        order, sets = self._solution
        starts, ends = self._spans()
        names = [problem.hosts[host] for host in tables.host_index.tolist()]
        assignments = []
        for task in order.tolist():
            hosts = tuple(names[place] for place in np.flatnonzero(sets[task]))
            assignments.append(Assignment(problem.tasks[task], hosts, float(starts[task]), float(ends[task])))
        return Schedule(tuple(assignments))

    def _spans(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return when each task starts and ends in the best solution so far, by task."""
        order, sets = self._solution
        starts, ends = np.empty(len(order)), np.empty(len(order))
        decode_sets(self._tables, order, sets, self._tables.free.copy(), starts, ends)
        return starts, ends

    def _evaluate(self) -> NDArray[np.float64]:
        objective_kernel.repair_orders(self._tables.before, self._tables.first, self._orders)
        for individual, task in np.argwhere(~possible_sets(self._tables, self._maps)).tolist():
            self._maps[individual, task] = self._set(task)
        costs = population_costs(self._tables, self._weights, self._orders, self._maps)
        self.evaluations += len(costs)
        best = int(costs.argmin())
        if costs[best] < self.cost:
            self.cost = float(costs[best])
            self._solution = self._orders[best].copy(), self._maps[best].copy()
        return costs

    def _set(self, task: int) -> NDArray[np.bool_]:
        """Draw a usable host count of a task, and hosts of classes usable with it."""
        tables = self._tables
        count = int(self._draw.choice(np.flatnonzero(self._usable[task]))) + 1
        able = np.flatnonzero(np.isfinite(tables.seconds[tables.host_class, task, count - 1]))
        hosts = np.zeros(len(tables.free), dtype=np.bool_)
        hosts[self._draw.choice(able, count, replace=False)] = True
        return hosts

    def _cross(self, one: int, other: int) -> None:
        orders, maps = self._orders[[one, other]], self._maps[[one, other]]
        cut = int(self._draw.integers(1, orders.shape[1] + 1))
        bit = int(self._draw.integers(1, maps[0].size + 1))
        for child, mate, number in ((0, 1, one), (1, 0, other)):
            head = orders[child, :cut]
            order = np.concatenate((head, orders[mate][~np.isin(orders[mate], head)]))
            bits = maps[child, order].ravel()  # the sets follow their tasks before they are crossed
            bits[bit:] = maps[mate, order].ravel()[bit:]
            self._orders[number] = order
            self._maps[number, order] = bits.reshape(len(order), -1)


def remainder_selection(costs: NDArray[np.float64], draw: np.random.Generator) -> NDArray[np.int64]:
    """Return (P,) parents in random order by stochastic remainder selection (Brindle 1981).

    Fitness is (f_max - f) / (f_max - f_min). Each gets as many copies as the whole part of its fitness ÷ the mean, and
    one more with a chance of the fraction, until there are P.
    """
    spread = costs.max() - costs.min()
    fitness = (costs.max() - costs) / spread if spread > 0 else np.ones(len(costs))
    expected = fitness / fitness.mean()
    chosen = np.repeat(np.arange(len(costs)), expected.astype(np.int64)).tolist()
    fractions = expected - np.floor(expected)
    missing = len(costs) - len(chosen)
    if missing > 0 and fractions.sum() > 0:
        chosen += draw.choice(len(costs), size=missing, p=fractions / fractions.sum()).tolist()
    chosen += [int(costs.argmin())] * (len(costs) - len(chosen))  # whole parts a rounding short of P
    return draw.permutation(np.array(chosen[: len(costs)], dtype=np.int64))


def warm_up() -> None:
    """Compile everything, or load it from the disk."""
    one = Problem(
        ("task",),
        ("host",),
        ("class",),
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
        np.ones((1, 1, 1)),
        np.zeros(1),
        np.full(1, np.inf),
    )
    TitanClassicSearch(one).step()
