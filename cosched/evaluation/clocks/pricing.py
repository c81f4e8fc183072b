"""Price steps on a hardware: the processor's own time and the network's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.clocks.steps import RECEIVE, SEND
from cosched.language.vocabulary import SHARED_MEMORY_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.clocks.steps import Steps
    from cosched.evaluation.costs import SizeCost
    from cosched.evaluation.layout import Layout
    from cosched.evaluation.sites import Site

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    _Formula = Callable[[SizeCost, Floats], Floats]

__all__ = ["Prices"]


class Prices:
    """Costs of the steps of one application.

    Args:
        layout: places of the processors on hosts.
        places: places of the application's steps.
    """

    def __init__(self, layout: Layout, places: Sequence[Site]) -> None:
        self._layout = layout
        self._group = [place.group for place in places]
        self._groups = sorted({place.group for place in places} - {""})

    def spread(self, steps: Steps) -> Steps:
        """Return steps each of whose uses costs the same on all processors."""
        return steps if self._layout.alike else steps.apart()

    def of(self, steps: Steps) -> tuple[Floats, Floats]:
        """Return each use's own time and each sending use's network time, us, shape (uses,).

        Args:
            steps: from `spread`.
        """
        return self._each(steps, lambda cost, size: cost.times(size), steps.amounts)

    def latency(self, steps: Steps) -> tuple[Floats, Floats]:
        """Return the part of `of` that is independent of a message's size; 0 for work."""
        return self._each(steps, lambda cost, size: cost.latency(size), np.zeros(len(steps.amounts)))

    def _each(self, steps: Steps, formula: _Formula, work: Floats) -> tuple[Floats, Floats]:
        own, network = work.copy(), np.zeros(len(work))
        sends, receives = (np.flatnonzero(steps.shape.kinds == kind) for kind in (SEND, RECEIVE))
        for group in self._groups:
            leaving, coming = sends, receives
            if len(self._groups) > 1:
                here = np.array([other == group for other in self._group])[steps.shape.places]
                leaving, coming = sends[here[sends]], receives[here[receives]]
            if self._layout.alike:
                costs = self._layout.classes[0].messages.get(group)
                if costs is not None:
                    size = steps.amounts[leaving]
                    own[leaving], network[leaving] = formula(costs.send, size), formula(costs.transfer, size)
                    own[coming] = formula(costs.receive, steps.amounts[coming])
                continue
            own[leaving] = self._ends(steps, leaving, group, "send", formula)
            own[coming] = self._ends(steps, coming, group, "receive", formula)
            # Between hosts of two kinds the slower network counts.
            ends = [self._ends(steps, leaving, group, "transfer", formula, other=other) for other in (False, True)]
            network[leaving] = np.maximum(*ends)
        return own, network

    def _ends(
        self, steps: Steps, rows: Indices, group: str, part: str, formula: _Formula, *, other: bool = False
    ) -> Floats:
        """Return one part of the messages' cost by the processor's host, or its peer's."""
        host, kind = self._layout.host, self._layout.kind
        processor, peer, size = steps.processor[rows], steps.peer[rows], steps.amounts[rows]
        inside = host[processor] == host[peer]
        of = kind[peer if other else processor]
        found = np.zeros(len(rows))
        for number, hardware in enumerate(self._layout.classes):
            within = SHARED_MEMORY_GROUP if SHARED_MEMORY_GROUP in hardware.messages else group
            for name, mask in ((group, ~inside), (within, inside)):
                if name in hardware.messages:
                    chosen = mask & (of == number)
                    found[chosen] = formula(getattr(hardware.messages[name], part), size[chosen])
        return found
