"""Insert a new task into the plan by its deadline until the search improves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

__all__ = ["insert_by_deadline"]

_Task = TypeVar("_Task")


def insert_by_deadline(
    last_first: Iterable[_Task], deadline: float, deadline_of: Callable[[_Task], float], after: Container[_Task] = ()
) -> int:
    """Return how many waiting tasks a new one overtakes: it goes behind all that are due no later.

    Args:
        last_first: the waiting tasks as planned, the last first; they keep their order, and only those overtaken
            are looked at.
        deadline: of the new task, in the unit of the others; infinite for none, which puts it at the end.
        deadline_of: the deadline of a waiting task.
        after: the new task's predecessors, which must stay ahead.
    """
    overtaken = 0
    for other in last_first:
        if deadline_of(other) <= deadline or other in after:
            break
        overtaken += 1
    return overtaken
