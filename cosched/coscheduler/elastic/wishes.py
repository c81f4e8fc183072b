"""What the leads of elastic tasks wish for: how many hosts they have a use for, as loans go."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.events import HostsWished

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.elastic.values import LeadStatus
    from cosched.coscheduler.events import ResizeWished
    from cosched.coscheduler.task import Task

__all__ = ["fewest_hosts", "staying", "unwanted", "wish_taken"]


def fewest_hosts(task: Task) -> int:
    """Return the fewest hosts on which an elastic task runs, its lead's among them."""
    if task.profile is None:
        return task.spec.count
    runs = (count for count, seconds in enumerate(task.profile.seconds, start=1) if math.isfinite(seconds))
    return next(runs, task.spec.count)


def staying(workers: Sequence[Attempt]) -> list[Attempt]:
    """Return the workers that are not to leave and are not being ended."""
    return [each for each in workers if each.leave_by is None and each.state is not AttemptState.CANCELLING]


def wish_taken(status: LeadStatus, wish: HostsWished | ResizeWished) -> LeadStatus:
    """Return the status of a lead with a new wish; workers that found no work are started again by it."""
    if isinstance(wish, HostsWished):
        return replace(status, most=wish.most, enough=None)
    return replace(status, floor=wish.least, ceiling=wish.most, enough=None)


def unwanted(workers: Sequence[Attempt], most: int | None, badness: Mapping[int, float]) -> list[Attempt]:
    """Return the lent workers that their lead has no use for: the worst placed first, then the newest.

    Args:
        workers: of a task, in the order of their numbers.
        most: hosts that its lead wishes for, its own among them; None for any number.
        badness: of workers that are known, by number.
    """
    if most is None:
        return []
    stay = staying(workers)
    lent = [each for each in stay if each.loan]
    worst = sorted(lent, key=lambda each: (-badness.get(each.worker, 0.0), -each.worker))
    return worst[: max(1 + len(stay) - most, 0)]
