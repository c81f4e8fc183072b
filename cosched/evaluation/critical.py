"""The critical path: from the last step back to the first, through whatever each step had to wait for."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.results import TRANSFER, PathPart
from cosched.evaluation.steps import RECEIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.course import Passage
    from cosched.evaluation.places import Place
    from cosched.evaluation.pricing import Prices

    _Path = dict[tuple[int, int], "NDArray[np.float64]"]

__all__ = ["critical_path"]

_WAITED = 1e-6  # microseconds; what is less is rounding


def critical_path(
    passages: Sequence[Passage], last: int, prices: Prices, places: Sequence[Place]
) -> tuple[PathPart, ...]:
    """Return the critical path by statement, the longest part first.

    Args:
        passages: of a program on one number of hosts.
        last: the processor that ends last, from 0.
        prices: what the steps cost.
        places: of the application's steps.
    """
    total: _Path = defaultdict(lambda: np.zeros(3))
    walks: dict[tuple[int, int], _Walk] = {}
    known: dict[tuple[int, int, int], tuple[int, _Path]] = {}
    owner = last
    for passage in reversed(passages):
        state = (id(passage.plan), id(passage.ahead))
        if (*state, owner) not in known:
            if state not in walks:
                walks[state] = _Walk(passage, prices)
            known[*state, owner] = walks[state].back(owner)
        owner, parts = known[*state, owner]
        for key, values in parts.items():
            total[key] += values
    found = (
        PathPart(
            places[place].source.file, places[place].at.line, kind, int(times), float(time) / 1e6, float(latency) / 1e6
        )
        for (place, kind), (times, time, latency) in total.items()
    )
    return tuple(sorted(found, key=lambda part: (-part.seconds, part)))


class _Walk:
    """The way back through one passage."""

    def __init__(self, passage: Passage, prices: Prices) -> None:
        plan, steps = passage.plan, passage.plan.steps
        times = plan.timeline(passage.ahead)
        self._waited = (times.ready - times.start > _WAITED).tolist()
        sender = np.full(len(steps), -1)
        sender[plan.receives] = plan.sends
        self._sender: list[int] = sender.tolist()
        self._processor, self._kind, self._place = (
            column.tolist() for column in (steps.processor, steps.kind, steps.place)
        )
        own, network = (column.take(steps.shape.use) for column in prices.latency(steps))
        self._own = list(zip(plan.cost.tolist(), own.tolist(), strict=True))
        transfer = np.zeros(len(steps))
        transfer[plan.sends] = plan.transfer
        self._network = list(zip(transfer.tolist(), network.tolist(), strict=True))
        owners, ends = np.unique(steps.processor[::-1], return_index=True)
        self._last = dict(zip(owners.tolist(), (len(steps) - 1 - ends).tolist(), strict=True))

    def back(self, owner: int) -> tuple[int, _Path]:
        """Return the processor at which the path enters the segment, and (times, time, latency) by place and kind."""
        parts: _Path = defaultdict(lambda: np.zeros(3))
        step = self._last.get(owner, -1)
        while step >= 0 and self._processor[step] == owner:
            parts[self._place[step], self._kind[step]] += (1, *self._own[step])
            if self._kind[step] == RECEIVE and self._waited[step]:
                step = self._sender[step]
                parts[self._place[step], TRANSFER] += (1, *self._network[step])
                owner = self._processor[step]
            else:
                step -= 1
        return owner, parts
