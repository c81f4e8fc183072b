"""The search in virtual time: it answers at the very moment of the change, after a fixed number of generations.

The daemon's search has a share of one processor for as long as tasks wait; here its effort is counted in generations,
so that the same seed gives the same plans on any machine. Virtual time stands still meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.events import ScheduleImproved
from cosched.coscheduler.waiting import in_names
from cosched.scheduling.decoder import decode

if TYPE_CHECKING:
    from cosched.coscheduler.core import Coscheduler

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
        from cosched.scheduling.search import Search  # loads numba and DEAP, which other policies do without

        snapshot = core.snapshot(time)
        if snapshot is None:
            return None
        problem, plan = snapshot
        search = Search(problem, core.settings.weights, self._seed + self.searches, plan)
        self.searches += 1
        for _ in range(self._generations):
            if search.optimal:
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
            bound=search.bound,
            makespan=decode(problem, best).makespan,
            evaluations=search.evaluations,
        )
