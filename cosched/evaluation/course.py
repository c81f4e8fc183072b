"""The clocks of all processors while a program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.evaluation.maxplus import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.budget import Budget
    from cosched.evaluation.places import Place
    from cosched.evaluation.pricing import Prices
    from cosched.evaluation.steps import Steps

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

__all__ = ["Course", "Passage", "planned"]

# Clocks relative to the first are compared to this part of a microsecond: far below what any cost is known to, far
# above what rounding adds.
_GRID = 2.0**20
_MOST_STATES = 64
_AT_ONCE = 8  # steps that go together cost what one taken by itself does


def planned(program: Sequence[Steps], prices: Prices, processors: int) -> list[Plan]:
    """Return the plan of each segment of a program; the same segment has the same plan.

    Raises:
        UnmatchedError: a segment cannot be carried out.
    """
    plans: dict[int, Plan] = {}
    for steps in program:
        if id(steps) not in plans:
            plans[id(steps)] = Plan(steps, *prices.of(steps), processors)
    return [plans[id(steps)] for steps in program]


class Passage(NamedTuple):
    """One segment as it was carried out: `lapse` and `ahead` as they were before it, see `Course`."""

    plan: Plan
    lapse: Floats
    ahead: Floats


class Course:
    """One array of clocks for all processors of one or many numbers of hosts.

    Segments see the clocks through their differences alone. States of these differences are numbered as they are met,
    so a loop that has settled costs an addition a turn.

    Args:
        hosts: processors of each number of hosts, shape (counts,).
        budget: what is carried out comes off it.
        places: of the application's steps.
        remember: keep the passages.

    Attributes:
        passages: the segments so far in order, where they are remembered.
        lapse: the earliest clock of each number of hosts, shape (counts,), us.
        ahead: how far each processor's clock is ahead of that, shape (processors of all,), us; never changed in place.
    """

    def __init__(self, hosts: Indices, budget: Budget, places: Sequence[Place], *, remember: bool = False) -> None:
        self._hosts = hosts
        self._offset = np.cumsum(hosts) - hosts
        self._budget, self._places = budget, places
        self._remember = remember
        self.passages: list[Passage] = []
        self.lapse = np.zeros(len(hosts))
        self._state = 0
        self._states = [np.zeros(int(hosts.sum()))]
        self._known: dict[int, list[tuple[int, Indices]]] = {0: [(0, self._states[0].view(np.int64))]}
        self._steps: dict[tuple[int, Plan], tuple[int, Floats]] = {}

    @property
    def ahead(self) -> Floats:
        """See the class."""
        return self._states[self._state]

    @property
    def latest(self) -> Floats:
        """The latest clock of each number of hosts, shape (counts,), us."""
        return self.lapse + np.maximum.reduceat(self.ahead, self._offset)

    def go(self, plan: Plan) -> None:
        """Advance the clocks over one segment."""
        if self._remember:
            self.passages.append(Passage(plan, self.lapse, self.ahead))
        step = self._steps.get((self._state, plan))
        if step is None:
            step = self._advance(plan)
        self._state = step[0]
        self.lapse = self.lapse + step[1]

    def _advance(self, plan: Plan) -> tuple[int, Floats]:
        place = self._places[plan.steps.place[0]]
        self._budget.spend((len(plan.steps) + len(self.ahead)) // _AT_ONCE, place.source, place.at)
        after = plan.advance(self.ahead)
        least = np.minimum.reduceat(after, self._offset)
        after -= np.repeat(least, self._hosts)
        # Rounding keeps a settled loop from wandering in the last digit for ever.
        rounded = np.rint(after * _GRID).view(np.int64)
        total = int(rounded.sum())  # tells most states apart, in far less time than a hash of them all
        number = next((known for known, state in self._known.get(total, ()) if np.array_equal(state, rounded)), None)
        if number is None:
            if len(self._states) >= _MOST_STATES:
                self._known, self._states, self._steps, self._state = {}, [], {}, -1
            number = len(self._states)
            self._known.setdefault(total, []).append((number, rounded))
            self._states.append(after)
        step = self._steps[self._state, plan] = (number, least)
        return step
