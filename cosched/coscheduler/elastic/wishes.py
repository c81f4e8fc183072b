"""What the leads of elastic tasks wish for: how many hosts they have a use for, as loans go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.task import AttemptState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.task import Attempt

__all__ = ["staying", "unwanted"]


def staying(workers: Sequence[Attempt]) -> list[Attempt]:
    """Return the workers that are not to leave and are not being ended."""
    return [each for each in workers if each.leave_by is None and each.state is not AttemptState.CANCELLING]


def unwanted(workers: Sequence[Attempt], most: int | None) -> list[Attempt]:
    """Return the workers on lent hosts that are more than their lead has a use for, the last ones first.

    Args:
        workers: of a task, in the order of their numbers.
        most: hosts that its lead wishes for, its own among them; None for any number.
    """
    if most is None:
        return []
    stay = staying(workers)
    lent = [each for each in stay if each.loan]
    return lent[::-1][: max(1 + len(stay) - most, 0)]
