"""What the leads of elastic tasks wish for: how many hosts they have a use for, as loans go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.task import AttemptState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.task import Attempt

__all__ = ["unwanted"]


def unwanted(workers: Sequence[Attempt], most: int | None) -> list[Attempt]:
    """Return the workers on lent hosts that are more than their lead has a use for, the last ones first.

    Args:
        workers: of a task, in the order of their numbers.
        most: hosts that its lead wishes for, its own among them; None for any number.
    """
    if most is None:
        return []
    staying = [each for each in workers if each.leave_by is None and each.state is not AttemptState.CANCELLING]
    lent = [each for each in staying if each.loan]
    return lent[::-1][: max(1 + len(staying) - most, 0)]
