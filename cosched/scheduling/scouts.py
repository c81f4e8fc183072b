"""A second population that looks for plans with fewer missed deadlines and for nothing else.

The objective cares for makespan, idle time and lateness between plans that miss as many deadlines, and so leads away
from those that are next to missing one fewer: tasks that are late anyway want to be less so. Scouts judge plans by
`triage`, with mercy that shrinks in cycles. Mates are neighbours, which keeps more kinds of plans alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from deap import base

from cosched.scheduling import operators
from cosched.scheduling.triage import recall, triage
from cosched.scheduling.widths import choices, single_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.compiled import Tables
    from cosched.scheduling.population import Population
    from cosched.scheduling.problem import Plan, Problem

__all__ = ["Scouts", "are_of_use"]

_CROSSED = 0.5
_NEIGHBOURS = 3
_RECALLED = 0.25
_CYCLE = 700  # generations in which mercy shrinks to nothing
_MERCY = 0.2  # at its beginning, as a share of the makespan's lower bound
_CONSTANT = 20  # generations between two changes of mercy: all plans have to be judged anew
_LARGEST = 500_000  # tasks times hosts: beyond that a generation takes seconds


def are_of_use(problem: Problem) -> bool:
    """Return whether there are deadlines, no dependencies, and hosts of one kind that are always there."""
    simple = single_class(problem) is not None and not problem.absences and not any(problem.depends_on)
    few = len(problem.tasks) * len(problem.hosts) <= _LARGEST
    return few and simple and bool(np.isfinite(problem.deadline).any())


class Scouts:
    """The population and its operators.

    Attributes:
        missed: (P,) deadlines missed by each child of the last generation.
    """

    def __init__(
        self, problem: Problem, tables: Tables, bound: float, state: NDArray[np.uint64], people: Population
    ) -> None:
        """Start from copies of the people.

        Args:
            problem: with `are_of_use`.
            tables: of the problem.
            bound: of the makespan, in seconds.
            state: of the random numbers.
            people: plans.
        """
        self._people, self._children = people.copy(), people.copy()
        self.missed: NDArray[np.int64] = np.zeros(len(people.costs), dtype=np.int64)
        self._full_mercy = self._mercy = _MERCY * bound
        self._generations = 0
        widths = choices(problem)
        first = np.cumsum([0, *[len(row) for row in widths]], dtype=np.int64)
        flat = np.concatenate(widths).astype(np.int64)
        self._toolbox = base.Toolbox()
        self._toolbox.register("mate", operators.mate, state, _CROSSED, _NEIGHBOURS)
        self._toolbox.register("mutate", operators.mutate, state, flat, first)
        self._toolbox.register("recall", recall, state, _RECALLED)
        self._toolbox.register("evaluate", triage, tables, flat, first)
        self._toolbox.register("select", operators.replace)
        self._unit = bound * len(problem.hosts)
        self._judge_anew()

    def generation(self) -> int:
        """Go on for one generation; return how many plans were judged."""
        people, children = self._people, self._children
        judged = len(children.costs)
        self._generations += 1
        if self._generations % _CONSTANT == 0:
            self._judge_anew()
            judged *= 2
        self._toolbox.mate(people.orders, people.counts, children.orders, children.counts)
        self._toolbox.mutate(children.orders, children.counts)
        self._toolbox.recall(self.missed, children.orders)
        children.costs, self.missed = self._judged(children)
        self._toolbox.select(people.orders, people.counts, people.costs,
                             children.orders, children.counts, children.costs)  # fmt: skip
        return judged

    def rescue(self, people: Population) -> None:
        """Rewrite plans, of whomever, so that tasks are on time that can be, and those that cannot in nobody's way."""
        self._toolbox.evaluate(0.0, self._unit, people.orders, people.counts)

    def best(self) -> Plan:
        """Return the last generation's child with the fewest missed deadlines."""
        return self._children.plan(int(self.missed.argmin()))

    def _judge_anew(self) -> None:
        part = self._generations % _CYCLE / _CYCLE
        self._mercy = self._full_mercy * (1 - part) ** 2
        self._people.costs, self.missed = self._judged(self._people)

    def _judged(self, people: Population) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        costs, missed = self._toolbox.evaluate(self._mercy, self._unit, people.orders, people.counts)
        return costs, missed
