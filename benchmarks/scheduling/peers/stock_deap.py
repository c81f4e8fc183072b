"""The peer: a genetic algorithm over order and host counts as DEAP's own documentation would have one write it.

It starts from random plans, as DEAP's examples do, or with the two-phase heuristic's plan among them.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import numpy as np
from deap import algorithms, base, tools

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.heuristics.moldable_tasks import two_phase
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.scheduling.problem import Problem

__all__ = ["stock_deap"]

_POPULATION = 40


class _Makespan(base.Fitness):  # type: ignore[misc]  # DEAP has no types
    weights = (-1.0,)


class _Individual(list[list[int]]):
    """[order, counts]."""

    def __init__(self, chromosome: list[list[int]]) -> None:
        super().__init__(chromosome)
        self.fitness = _Makespan()


def stock_deap(
    problem: Problem,
    seconds: float,
    seed: int,
    clock: Callable[[], float] = time.perf_counter,
    *,
    from_heuristic: bool = False,
) -> tuple[float, int]:
    """Return (best makespan, generations) after so many seconds of the clock, with one generation at least.

    Ordered crossover and shuffling on the order, uniform crossover and random reset on the counts, tournaments of
    three, the best kept; evaluated with the plain Python decoder.
    """
    random.seed(seed)  # DEAP draws from Python's global generator
    widths = [(np.flatnonzero(row) + 1).tolist() for row in useful_counts(problem)]
    toolbox = _toolbox(problem, widths)
    tasks = len(problem.tasks)
    population = [
        _Individual([random.sample(range(tasks), tasks), [random.choice(row) for row in widths]])
        for _ in range(_POPULATION)
    ]
    if from_heuristic:
        begun = two_phase(problem)
        population[0] = _Individual([begun.order.tolist(), begun.counts.tolist()])
    fame = tools.HallOfFame(1)
    generations, began = 0, clock()
    for individual in population:
        individual.fitness.values = toolbox.evaluate(individual)
    fame.update(population)
    while generations == 0 or clock() - began < seconds:
        offspring = algorithms.varAnd(toolbox.select(population, _POPULATION), toolbox, cxpb=0.7, mutpb=0.3)
        for individual in offspring:
            if not individual.fitness.valid:
                individual.fitness.values = toolbox.evaluate(individual)
        population = offspring
        fame.update(population)
        generations += 1
    return float(fame[0].fitness.values[0]), generations


def _toolbox(problem: Problem, widths: list[list[int]]) -> base.Toolbox:
    def evaluate(individual: _Individual) -> tuple[float]:
        plan = Plan(np.array(individual[0]), np.array(individual[1]))
        return (max(spans(problem, plan)[1]),)

    def mate(one: _Individual, other: _Individual) -> tuple[_Individual, _Individual]:
        tools.cxOrdered(one[0], other[0])
        tools.cxUniform(one[1], other[1], 0.5)
        return one, other

    def mutate(individual: _Individual) -> tuple[_Individual]:
        tools.mutShuffleIndexes(individual[0], 0.05)
        for task, row in enumerate(widths):
            if random.random() < 0.05:
                individual[1][task] = random.choice(row)
        return (individual,)

    toolbox = base.Toolbox()
    toolbox.register("evaluate", evaluate)
    toolbox.register("mate", mate)
    toolbox.register("mutate", mutate)
    toolbox.register("select", tools.selTournament, tournsize=3)
    return toolbox
