"""What the leads of elastic tasks wish for: how many hosts they have a use for, as loans go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import AttemptState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt

__all__ = ["staying", "unwanted"]


def staying(workers: Sequence[Attempt]) -> list[Attempt]:
    """Return the workers that are not to leave and are not being ended."""
    return [each for each in workers if each.leave_by is None and each.state is not AttemptState.CANCELLING]


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
