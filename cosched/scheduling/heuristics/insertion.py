"""A new task has its place in the plan by its deadline, until a search has looked at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

__all__ = ["insert_by_deadline"]

_Task = TypeVar("_Task")


def insert_by_deadline(
    order: Sequence[_Task], deadline: float, deadline_of: Callable[[_Task], float], after: Container[_Task] = ()
) -> int:
    """Return how many waiting tasks stay ahead of a new one, which goes behind all that are due no later.

    Args:
        order: the waiting tasks as planned; they keep their order.
        deadline: of the new task, in the unit of the others; infinite for none, which puts it at the end.
        deadline_of: the deadline of a waiting task.
        after: the new task's predecessors, which must stay ahead.
    """
    for place in range(len(order), 0, -1):
        other = order[place - 1]
        if deadline_of(other) <= deadline or other in after:
            return place
    return 0
