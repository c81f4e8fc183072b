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

# Clocks that differ by no more microseconds are the same: far below what any cost is known to, far above what rounding
# adds. Else a settled loop would wander in the last digit for ever.
_ROUNDING = 2.0**-20
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
            priced = prices.spread(steps)
            plans[id(steps)] = Plan(priced, *prices.of(priced), processors)
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
        self._totals = [0.0]
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
        place = self._places[plan.steps.shape.places[plan.steps.shape.use[0]]]
        self._budget.spend((len(plan.steps) + len(self.ahead)) // _AT_ONCE, place.source, place.at)
        after = plan.advance(self.ahead)
        least = np.minimum.reduceat(after, self._offset)
        after -= np.repeat(least, self._hosts)
        number = self._number(after)
        step = self._steps[self._state, plan] = (number, least)
        return step

    def _number(self, ahead: Floats) -> int:
        """Return the number of a state, a new one if need be."""
        total = float(ahead.sum())  # tells most states apart, in far less time than a look at all of both
        near = _ROUNDING * len(ahead)
        for number, (state, other) in enumerate(zip(self._states, self._totals, strict=True)):
            if abs(total - other) <= near and (np.abs(ahead - state) <= _ROUNDING).all():
                return number
        if len(self._states) >= _MOST_STATES:
            self._states, self._totals, self._steps, self._state = [], [], {}, -1
        self._states.append(ahead)
        self._totals.append(total)
        return len(self._states) - 1
