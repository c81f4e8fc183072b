"""The genetic search with its exact partner beside it: what one finds, the other has.

The partner takes part once the search has gone on for a while without reaching the bound. Its bounds raise the
search's; its plans enter the search's population as any chromosome does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cosched.scheduling.exact.whole_problem import uncovered

if TYPE_CHECKING:
    from cosched.scheduling.exact.partner import ExactPartner
    from cosched.scheduling.objective.comparison import PlanFigures
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.search.genetic_search import GeneticSearch

__all__ = ["AccompaniedSearch"]


class AccompaniedSearch:
    """A genetic search that looks at what its partner has found at each step."""

    def __init__(
        self, problem: Problem, search: GeneticSearch, partner: ExactPartner, head_start: float, seconds: float
    ) -> None:
        """Set up; the partner rests until `head_start` is over.

        Args:
            problem: the problem that the search is about.
            search: it has begun.
            partner: gives up what it worked on before.
            head_start: seconds for which the search goes on alone.
            seconds: how long the partner works on this problem at most.
        """
        self._problem = problem
        self._search = search
        self._partner = partner
        self._seconds = seconds
        self._joins_at = time.monotonic() + head_start if uncovered(problem) is None else float("inf")
        partner.rest()

    @property
    def best(self) -> Plan:
        """The best plan found so far."""
        return self._search.best

    @property
    def bound(self) -> float:
        """Lower bound of the makespan in seconds."""
        return self._search.bound

    @property
    def objective(self) -> float:
        """The objective of the best plan."""
        return self._search.objective

    @property
    def generations(self) -> int:
        """Done so far."""
        return self._search.generations

    @property
    def evaluations(self) -> int:
        """Plans compared so far by the genetic search."""
        return self._search.evaluations

    @property
    def finished(self) -> bool:
        """True when no plan can be better."""
        return self._search.finished

    @property
    def expects(self) -> bool:
        """Whether the partner is at work, or still to begin."""
        return not self.finished and (self._partner.working or self._joins_at < float("inf"))

    def figures(self) -> PlanFigures:
        """Return what the best plan is judged by."""
        return self._search.figures()

    def step(self, generations: int = 1) -> bool:
        """Go on for some generations; return whether a better plan was found."""
        better = self.hear()
        return self._search.step(generations) or better

    def hear(self, seconds: float = 0.0) -> bool:
        """Take over what the partner has found; return whether that was a better plan.

        Args:
            seconds: how long to wait for it at most.
        """
        if time.monotonic() >= self._joins_at:
            self._joins_at = float("inf")
            if not self._search.finished:
                self._partner.begin(self._problem, self._search.best, self._search.bound, self._seconds)
        better = False
        for answer in self._partner.answers(seconds):
            if answer.bound is not None:
                self._search.raise_bound(answer.bound)
            if answer.plan is not None:
                better = self._search.join(answer.plan) or better
        if self._search.finished:
            self._partner.rest()
        return better
