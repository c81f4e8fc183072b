"""Start waiting tasks in order of arrival, with or without backfilling.

Start at `start_in_order`. Hosts that running tasks have beyond what they keep count as free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.scheduling.elastic.lending import spare_hosts, take_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.scheduling.elastic.policy import Draft
    from cosched.scheduling.elastic.tasks import ElasticProgress

__all__ = ["StartRule", "start_in_order"]

_ROUNDING = 1e-9  # relative; what ends at one time is reckoned from parts that are left, and differs by as much


@dataclass(frozen=True, slots=True)
class StartRule:
    """How a policy starts tasks.

    Attributes:
        size: (task, free hosts) → hosts that it starts on, at most the free ones; 0: not on so few.
        need: the fewest hosts on which a task starts.
        kept: hosts that a running task keeps whoever waits.
        backfill: whether later tasks may start before the first that must wait (EASY; Lifka 1995).
    """

    size: Callable[[ElasticProgress, int], int]
    need: Callable[[ElasticProgress], int]
    kept: Callable[[ElasticProgress], int]
    backfill: bool


def start_in_order(draft: Draft, rule: StartRule) -> None:
    """Start every waiting task that the rule lets start."""
    for progress in list(draft.waiting):
        hosts = rule.size(progress, draft.idle + spare_hosts(draft, rule.kept))
        if not hosts:
            if rule.backfill:
                _backfill(draft, rule, progress)
            return
        _start(draft, rule, progress, hosts)


def _start(draft: Draft, rule: StartRule, progress: ElasticProgress, hosts: int) -> None:
    take_back(draft, hosts, rule.kept)
    draft.set(progress, hosts)


def _backfill(draft: Draft, rule: StartRule, first: ElasticProgress) -> None:
    """Start later tasks that end before the first can start, or leave it its hosts."""
    until, extra = _reservation(draft, rule, first)
    for progress in draft.waiting[draft.waiting.index(first) + 1 :]:
        free = draft.idle + spare_hosts(draft, rule.kept)
        if not free:
            return
        hosts = rule.size(progress, free)
        if hosts and draft.pool.time + progress.remaining_on(hosts) > until:
            hosts = rule.size(progress, min(free, extra))
            extra -= hosts
        if hosts:
            _start(draft, rule, progress, hosts)


def _reservation(draft: Draft, rule: StartRule, first: ElasticProgress) -> tuple[float, int]:
    """Return the first task's start, and the number of hosts that it then leaves."""
    need, free = rule.need(first), draft.idle + spare_hosts(draft, rule.kept)
    begins: float | None = None
    ends = sorted((draft.remaining(each), each.task.id, each) for each in draft.having)
    for remaining, _, each in ends:
        if begins is not None and remaining > begins:
            break  # all that end when it can start have given back their hosts
        free += min(draft.held(each), rule.kept(each))
        if begins is None and free >= need:
            begins = remaining + _ROUNDING * (draft.pool.time + remaining)
    if begins is None:
        return draft.pool.time, free  # wider than all hosts: it never starts, and holds nobody up
    return draft.pool.time + begins, free - need
