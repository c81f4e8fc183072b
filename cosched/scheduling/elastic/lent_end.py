"""When does an elastic task end if it is lent what a schedule leaves idle? Start at `end_with_loans`.

It is the daemon's way of lending, one task at a time: hosts come from the gaps of the schedule, and leave in time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.scheduling.elastic.idle_loans import WholeHosts, lend_idle_hosts
from cosched.scheduling.elastic.tasks import ElasticProgress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.elastic.tasks import ElasticTask

__all__ = ["LoanTerms", "end_with_loans"]


@dataclass(frozen=True, slots=True)
class LoanTerms:
    """Terms on which hosts are lent. Durations are seconds; a loan's beginning and end are the task's costs.

    Attributes:
        payback: how many times its costs a loan must save.
        settle: after a change of its hosts a task is lent no more for so long.
    """

    payback: float
    settle: float


def end_with_loans(
    task: ElasticTask, promised: int, start: float, busy: Mapping[str, Sequence[tuple[float, float]]], terms: LoanTerms
) -> float:
    """Return when a task ends that begins on its promised hosts and is lent others while they are idle.

    A host that is lent works after the task's `grow_cost`, and leaves its `drain` before it is needed.

    Args:
        task: with its run times, on at least so many hosts as are promised.
        promised: number of hosts that it keeps.
        start: when it begins, in seconds.
        busy: for each host that may be lent, when it is not idle: (from, until), ascending and apart.
        terms: on which hosts are lent.
    """
    idle_from = sorted({end for spans in busy.values() for _, end in spans if start < end < math.inf})
    loans: dict[str, tuple[float, float]] = {}  # when each lent host begins and ceases to work
    time, left, settled = start, 1.0, start + terms.settle
    while True:
        over = [host for host, (_, end) in loans.items() if end <= time]
        for host in over:
            del loans[host]
            settled = max(settled, time + terms.settle)
        if time >= settled:
            idle = {host: idle for host, spans in busy.items() if host not in loans and (idle := _idle(spans, time))}
            progress = ElasticProgress(task, left, promised + len(loans))
            for host in lend_idle_hosts([progress], WholeHosts(idle), terms.payback).get(task.id, ()):
                loans[host] = (time + task.grow_cost, time + idle[host] - task.drain)
                settled = time + terms.settle
        seconds = task.on(promised + sum(begin <= time < end for begin, end in loans.values()))
        edges = [settled, *idle_from, *[edge for loan in loans.values() for edge in loan]]
        following = min((edge for edge in edges if edge > time), default=math.inf)
        if time + left * seconds <= following:
            return time + left * seconds
        left -= (following - time) / seconds
        time = following


def _idle(spans: Sequence[tuple[float, float]], time: float) -> float:
    """Return for how many seconds from a time on a host is idle."""
    for begin, end in spans:
        if end > time:
            return max(begin - time, 0.0)
    return math.inf
