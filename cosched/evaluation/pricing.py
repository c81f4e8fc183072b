"""What steps cost on a hardware: the processor's own time and the network's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.steps import RECEIVE, SEND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.hardware import Hardware, Linear
    from cosched.evaluation.places import Place
    from cosched.evaluation.steps import Steps

    Floats = NDArray[np.float64]
    _Formula = Callable[[Linear, Floats], Floats]

__all__ = ["Prices"]


class Prices:
    """The costs of one hardware for the steps of one application.

    Args:
        hardware: of every host.
        places: of the application's steps.
    """

    def __init__(self, hardware: Hardware, places: Sequence[Place]) -> None:
        self._messages = hardware.messages
        self._group = [place.group for place in places]
        self._groups = [group for group in sorted(set(self._group)) if group in hardware.messages]

    def of(self, steps: Steps) -> tuple[Floats, Floats]:
        """Return the own time of each step and the network's time of each send, us, shape (steps,) each."""
        return self._each(steps, _linear, steps.amount)

    def latency(self, steps: Steps) -> tuple[Floats, Floats]:
        """Return the part of `of` that does not depend on a message's size; 0 for work."""
        return self._each(steps, lambda cost, size: np.where(size <= cost.a, cost.b, cost.d), np.zeros(len(steps)))

    def _each(self, steps: Steps, formula: _Formula, work: Floats) -> tuple[Floats, Floats]:
        own, network = work.copy(), np.zeros(len(steps))
        for group in self._groups:
            costs = self._messages[group]
            sends, receives = (np.flatnonzero(steps.kind == kind) for kind in (SEND, RECEIVE))
            if len(self._groups) > 1:
                here = np.array([other == group for other in self._group])[steps.place]
                sends, receives = sends[here[sends]], receives[here[receives]]
            size = steps.amount[sends]
            own[sends], network[sends] = formula(costs.send, size), formula(costs.transfer, size)
            own[receives] = formula(costs.receive, steps.amount[receives])
        return own, network


def _linear(cost: Linear, size: Floats) -> Floats:
    short = size <= cost.a
    if short.all():
        return cost.b + cost.c * size
    return np.where(short, cost.b + cost.c * size, cost.d + cost.e * size)
