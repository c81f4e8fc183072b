"""The search in virtual time: it answers at the very moment of the change, after a fixed number of generations.

The daemon's search has a share of one processor for as long as tasks wait; here its effort is counted in generations,
so that the same seed gives the same plans on any machine. Virtual time stands still meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.events import ScheduleImproved
from cosched.coscheduler.waiting import in_names
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoder import spans
from cosched.scheduling.policies import Policy

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.settings import Settings
    from cosched.scheduling.problem import Plan, Problem
    from cosched.scheduling.search import Search
    from cosched.scheduling.titan_classic import TitanClassic

__all__ = ["Planner"]


class Planner:
    """Answers a core that asks to be replanned.

    Attributes:
        searches: how many snapshots were searched.
    """

    def __init__(self, generations: int = 100, seed: int = 0) -> None:
        """Build a planner.

        Args:
            generations: of each search; with 0 its seeds alone, the heuristics' plans and the last one, compete.
            seed: of the random numbers; each search has its own, derived from it.
        """
        self.searches = 0
        self._generations = generations
        self._seed = seed

    def answer(self, core: Coscheduler, time: float) -> ScheduleImproved | None:
        """Return the best plan found for what waits now; None where nothing is to be searched."""
        snapshot = core.prospect.snapshot(time)
        if snapshot is None:
            return None
        problem, plan = snapshot
        search = _begun(problem, plan, core.settings, self._seed + self.searches)
        self.searches += 1
        for _ in range(self._generations):
            if search.finished:
                break
            search.step()
        best = search.best
        order, counts, classes = in_names(problem, best)
        return ScheduleImproved(
            time=time,
            order=order,
            counts=counts,
            classes=classes,
            since=time,
            bound=lower_bound(problem),
            makespan=max(spans(problem, best)[1]),
            evaluations=search.evaluations,
        )


def _begun(problem: Problem, plan: Plan, settings: Settings, seed: int) -> Search | TitanClassic:
    """Return the search that a domain's policy stands for; Titan's begins at random, whatever the plan so far."""
    if settings.policy == Policy.TITAN_CLASSIC:
        from cosched.scheduling.titan_classic import TitanClassic  # loads numba

        return TitanClassic(problem, settings.weights, seed)
    from cosched.scheduling.search import Search  # loads numba and DEAP, which other policies do without

    return Search(problem, settings.weights, seed, plan)
