"""Random programs without deadlock, and the columns that the engine takes them in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from cosched.evaluation.clocks.clocks import TimedSegment
from cosched.evaluation.clocks.steps import Steps
from cosched.evaluation.sites import Site
from cosched.language import Source
from cosched.language.syntax import Position
from tests.evaluation.oracle import COMPUTE, RECEIVE, SEND, Use

if TYPE_CHECKING:
    from collections.abc import Sequence

PLACES = [Site(Source("steps.psl", ""), Position(line, 1), group) for line, group in ((1, ""), (2, "mpi"), (3, "mpi"))]
"""Work stands in line 1, sends in line 2, receives in line 3."""


@st.composite
def programs(draw: st.DrawFn, most: int = 25) -> tuple[int, list[Use]]:
    """Programs without deadlock, with the processors' steps interleaved at random."""
    count = draw(st.integers(1, 5))
    processor = st.integers(0, count - 1)
    # Eighths are exact in binary, so sums do not depend on their order.
    cost = st.integers(0, 80).map(lambda value: value / 8)
    queues: list[list[Use]] = [[] for _ in range(count)]
    for _ in range(draw(st.integers(1, most))):
        who, peer = draw(processor), draw(processor)
        if draw(st.booleans()):
            queues[who].append(Use(COMPUTE, who, draw(cost), who))
        else:
            queues[who].append(Use(SEND, who, draw(cost), peer, draw(cost)))
            queues[peer].append(Use(RECEIVE, peer, draw(cost), who))
    order = draw(st.permutations([index for index, queue in enumerate(queues) for _ in queue]))
    rests = [iter(queue) for queue in queues]
    return count, [next(rests[index]) for index in order]


def plan(count: int, uses: Sequence[Use]) -> TimedSegment:
    """Return the plan of uses whose costs are known; messages have 8 bytes."""
    rows = sorted(uses, key=lambda use: use.processor)
    kind = np.array([use.kind for use in rows], np.int8)
    steps = Steps.each(
        kind,
        np.array([use.processor for use in rows]),
        np.array([use.peer for use in rows]),
        np.where(kind == COMPUTE, 0.0, 8.0),
        kind.astype(np.int32),
    )
    return TimedSegment(steps, np.array([use.cost for use in rows]), np.array([use.transfer for use in rows]), count)
