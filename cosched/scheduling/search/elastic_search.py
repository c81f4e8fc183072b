"""The search of plans with elastic tasks: the genetic search with a moldable one beside.

Judging a plan with its loans takes several times as long as without, so that the same generations find less where
loans save little. The search beside knows no loans; each better plan of its own joins, and is judged with loans. So
what is found is never worse than loans on the best plan of as many generations without them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.plan import Plan
from cosched.scheduling.search.elastic_promises import fixed_promises
from cosched.scheduling.search.genetic_search import GeneticSearch

if TYPE_CHECKING:
    from cosched.scheduling.objective.comparison import PlanFigures
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem

__all__ = ["ElasticSearch"]


class ElasticSearch:
    """Two genetic searches of one problem, with loans and without; the one with loans is asked for everything.

    Attributes:
        generations: done so far, by each of the two.
    """

    def __init__(
        self, problem: Problem, weights: Weights | None = None, seed: int = 0, warm: Plan | None = None
    ) -> None:
        """Evaluate the seeds; arguments and errors as those of `GeneticSearch`, and some task is elastic."""
        self._problem = problem
        self._search = GeneticSearch(problem, weights, seed, warm)
        self._moldable = GeneticSearch(replace(problem, elastic=None), weights, seed, warm)
        self.generations = 0
        self._join()

    @property
    def best(self) -> Plan:
        """The best plan found so far."""
        return self._search.best

    @property
    def objective(self) -> float:
        """The objective of the best plan, with its loans."""
        return self._search.objective

    @property
    def bound(self) -> float:
        """Lower bound of the makespan in seconds, whatever is lent."""
        return self._search.bound

    @property
    def evaluations(self) -> int:
        """Plans decoded so far, with loans and without."""
        return self._search.evaluations + self._moldable.evaluations

    @property
    def finished(self) -> bool:
        """True when no plan can be better."""
        return self._search.finished

    def figures(self) -> PlanFigures:
        """Return what the best plan is judged by."""
        return self._search.figures()

    def step(self, generations: int = 1) -> bool:
        """Go on for some generations; return whether a better plan was found."""
        before = self.objective
        for _ in range(generations):
            self.generations += 1
            if self._moldable.step():
                self._join()
            self._search.step()
        return self.objective < before

    def _join(self) -> None:
        """Let the plan that is best without loans join, and what `promising.promise_hosts` would make of it."""
        plan = self._moldable.best
        starts, _ = spans(self._problem, plan)
        by_start = plan.order[np.argsort(np.asarray(starts)[plan.order], kind="stable")]
        promises = fixed_promises(self._problem, plan.counts)
        for each in (plan, *(Plan(by_start, counts) for counts in promises)):
            self._search.join(each)
