"""Explain a deadlock: which receive waits, and what its sender does instead."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND
from cosched.language.diagnostics import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.evaluation.clocks.steps import Steps
    from cosched.evaluation.sites import Site

__all__ = ["deadlock"]


def deadlock(steps: Steps, places: Sequence[Site]) -> ModelError:
    """Return the error for steps that wait for one another or for a missing message."""
    stuck = _stuck(steps)
    first = min(stuck)
    receive = stuck[first]
    source = int(steps.peer[receive])
    message = f"deadlock: processor {first + 1} waits here for a message from processor {source + 1}, "
    if source in stuck:
        other = stuck[source]
        message += f"which waits in {_line(steps, other, places)} for one from processor {steps.peer[other] + 1}"
    else:
        own = np.flatnonzero(steps.processor == source)
        where = f"its last step is in {_line(steps, int(own[-1]), places)}" if len(own) else "it has no steps"
        message += f"which sends none: {where}"
    place = places[steps.place[receive]]
    return ModelError([place.source.fault(place.at, message)])


def _line(steps: Steps, step: int, places: Sequence[Site]) -> str:
    place = places[steps.place[step]]
    return f"{place.source.file}:{place.at.line}"


def _stuck(steps: Steps) -> dict[int, int]:
    """Return the receive that each processor cannot get past, by processor."""
    owners = np.unique(steps.processor).tolist()
    ends = dict(zip(owners, np.searchsorted(steps.processor, owners, side="right").tolist(), strict=True))
    at = dict(zip(owners, np.searchsorted(steps.processor, owners).tolist(), strict=True))
    sent: Counter[tuple[int, int]] = Counter()
    kinds, peers = steps.kind.tolist(), steps.peer.tolist()
    waiting = set[int]()
    ready = list(reversed(owners))
    while ready:
        owner = ready.pop()
        waiting.discard(owner)
        while (step := at[owner]) < ends[owner]:
            if kinds[step] == RECEIVE:
                if not sent[peers[step], owner]:
                    waiting.add(owner)
                    break
                sent[peers[step], owner] -= 1
            elif kinds[step] == SEND:
                sent[owner, peers[step]] += 1
                other = peers[step]
                if other in waiting and kinds[at[other]] != COMPUTE and peers[at[other]] == owner:
                    waiting.discard(other)
                    ready.append(other)
            at[owner] += 1
    return {owner: at[owner] for owner in waiting}
