"""A population of plans that mates and mutates: the DEAP recipe of the genetic search, its operators in machine code.

Each operator works on whole populations. All generations up to the next better plan are one call; where late tasks of
children are moved behind the others (`late_jobs`), which needs tables of its own, a generation is four.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from deap import base

from cosched.scheduling.kernels.objective import elastic_kernel, objective_kernel, packing_kernel
from cosched.scheduling.kernels.search import generation_kernel, genetic_operators
from cosched.scheduling.objective.comparison import PlanFigures
from cosched.scheduling.search.fresh_plans import fresh_plans
from cosched.scheduling.search.initial_population import Population
from cosched.scheduling.ways import along_ways

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.packing_tables import PackingTables
    from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables
    from cosched.scheduling.kernels.elastic.lending_kernel import ElasticTables
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

    Tables = ProblemTables | PackingTables | ElasticTables

__all__ = ["Evolution", "judge_of"]

_POPULATION = 40
_ELITE = 8  # distinct seeds that the first population is made of
_KICKS = 8  # mutations of an immigrant


def judge_of(problem: Problem) -> ModuleType:
    """Return the module of a problem's objective, with `tabulate`, `plan_figures` and the judgement of plans."""
    if problem.elastic:
        return elastic_kernel
    return objective_kernel if problem.packing is None else packing_kernel


class Evolution:
    """A population and what it began with; plans here have encoded classes.

    Attributes:
        seeds: the plans that it was given, the best first.
        people: the population.
        evaluations: plans decoded so far.
    """

    def __init__(
        self, problem: Problem, tables: Tables, within: float, state: NDArray[np.uint64], plans: Sequence[Plan]
    ) -> None:
        """Judge the plans, and begin with the best of them.

        Args:
            problem: at least one task.
            tables: of the problem, as `judge_of` lays it out.
            within: seconds; what is done beyond them costs a trace, see `objective_kernel.compare_children`. Infinite
                where more than the makespan of identical hosts counts.
            state: state of the random numbers.
            plans: at least one.
        """
        self._problem, self._state = problem, state
        self.evaluations = 0
        self._toolbox = _toolbox(problem, tables, within, state)
        self.seeds = self.judged(plans)
        self.people = self._settle()
        if within < np.inf:
            self.people.costs = self._judge_unlimited(self._toolbox.compare, self.people)
        self._children = self.people.copy()

    def run(self, most: int, better: float, rescue: Callable[[Population], None] | None) -> tuple[int, int]:
        """Go on for some generations, or until an individual costs less than `better`.

        Args:
            most: generations, at least 1.
            better: a cost.
            rescue: changes children before they are judged. Its tables are its own, so that it interrupts each
                generation.

        Returns:
            Generations done, and the index of the best individual.
        """
        people, children = self.people, self._children
        if rescue is None:
            done, best = self._toolbox.generations(
                most, better, people.orders, people.counts, people.costs, children.orders, children.counts
            )
        else:
            done = 1
            self._toolbox.mate(people.orders, people.counts, children.orders, children.counts)
            rescue(children)
            children.costs = self._toolbox.compare(children.orders, children.counts, people.costs)
            best = self._toolbox.select(
                people.orders, people.counts, people.costs, children.orders, children.counts, children.costs
            )
        self.evaluations += done * _POPULATION
        return done, best

    def judged(self, plans: Sequence[Plan]) -> Population:
        """Return plans as the problem allows them, the best first."""
        people = Population.of(plans)
        self._toolbox.repair(people.orders)
        along_ways(self._problem.ways, people.counts)
        people.costs = self._judge_unlimited(self._toolbox.evaluate, people)
        self.evaluations += len(people.costs)
        ascending = np.argsort(people.costs, kind="stable")
        return Population(people.orders[ascending], people.counts[ascending], people.costs[ascending])

    def objective(self, plan: Plan) -> float:
        """Return a plan's objective in its own order: to take turns once more would change it, with predecessors."""
        [cost] = self._toolbox.objective(plan.order[np.newaxis], plan.counts[np.newaxis]).tolist()
        return float(cost)

    def figures(self, plan: Plan) -> PlanFigures:
        """Return what a plan is judged by."""
        makespan, late, *others = self._toolbox.figures(plan.order, plan.counts)
        return PlanFigures(makespan, int(late), *others)

    def repair(self, orders: NDArray[np.int64]) -> None:
        """Draw every task's predecessors ahead of it in (P, m) orders."""
        self._toolbox.repair(orders)

    def join(self, newcomer: Population) -> None:
        """Put the best newcomer into the place of the worst individual if it is better."""
        worst = int(np.argmax(self.people.costs))
        if newcomer.costs[0] < self.people.costs[worst]:
            for rows, row in (
                (self.people.orders, newcomer.orders),
                (self.people.counts, newcomer.counts),
                (self.people.costs, newcomer.costs),
            ):
                rows[worst] = row[0]

    def immigrate(self, best: Plan) -> None:
        """Keep the best plan; the others become mutants of it and of the seeds, by turns."""
        settled = self._settle()
        settled.orders[::2], settled.counts[::2] = best.order, best.counts
        for _ in range(_KICKS):
            self._toolbox.mutate(settled.orders, settled.counts)
        settled.orders[0], settled.counts[0] = best.order, best.counts
        self._replace_all(settled)

    def begin_anew(self, best: Plan) -> None:
        """Replace all plans by random ones, see `fresh_plans`; the best plan says how much work there is room for."""
        fresh = fresh_plans(self._problem, self._state, _POPULATION, self.figures(best).makespan)
        self._toolbox.repair(fresh.orders)
        self._replace_all(fresh)

    def _replace_all(self, people: Population) -> None:
        people.costs = self._judge_unlimited(self._toolbox.compare, people)
        self.evaluations += len(people.costs)
        self.people = people

    def _settle(self) -> Population:
        """Return a population made of the best seeds."""
        chosen = np.arange(_POPULATION) % min(_ELITE, len(self.seeds.costs))
        return Population(self.seeds.orders[chosen], self.seeds.counts[chosen], self.seeds.costs[chosen])

    def _judge_unlimited(self, judge: Callable[..., NDArray[np.float64]], people: Population) -> NDArray[np.float64]:
        return judge(people.orders, people.counts, np.full(len(people.orders), np.inf))


def _toolbox(problem: Problem, tables: Tables, within: float, state: NDArray[np.uint64]) -> base.Toolbox:
    """Register the operators, each on a whole population."""
    toolbox, judge, genes = base.Toolbox(), judge_of(problem), generation_kernel.tabulate_genes(problem)
    traced = tables if within == np.inf else tables._replace(within=within)  # type: ignore[call-arg]  # of plain tables
    toolbox.register("repair", objective_kernel.repair_orders, tables.before, tables.first)
    toolbox.register("objective", judge.evaluate_population, tables)
    toolbox.register("figures", judge.plan_figures, tables)
    toolbox.register("evaluate", generation_kernel.judge_plans, tables, genes)
    toolbox.register("compare", generation_kernel.judge_plans, traced, genes)
    toolbox.register("mate", generation_kernel.make_children, state, genes, tables.before, tables.first)
    toolbox.register("mutate", generation_kernel.mutate_plans, state, genes, tables.before, tables.first)
    toolbox.register("select", genetic_operators.replace_parents)
    toolbox.register("generations", generation_kernel.generations, state, traced, genes)
    return toolbox
