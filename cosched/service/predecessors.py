"""Whether a new task may come after others: these are the asker's to see, and have not failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.task import TaskState
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.access.principal import Principal
    from cosched.coscheduler.task import Task

__all__ = ["check_predecessors"]


def check_predecessors(
    tasks: Iterable[Task], find: Callable[[str], Task | None], asker: Principal | None = None
) -> None:
    """Raise where a new task would come after one that is not there, or after one that will never have completed.

    Args:
        tasks: the new ones.
        find: the task of an identifier as it stands, None where there is none.
        asker: whose tasks they may come after; None where that has been looked at.

    Raises:
        UserError: so it is; says which.
    """
    for name in dict.fromkeys(name for task in tasks for name in task.after):
        found = find(name)
        if found is None or (asker is not None and not asker.may_see(found.owner)):
            raise UserError(f"there is no task {name[:80]!r} to come after: `cosched task list` shows what there is")
        if found.state in (TaskState.FAILED, TaskState.CANCELLED, TaskState.CANCELLING):
            how = "failed" if found.state is TaskState.FAILED else "was cancelled"
            raise UserError(f"task {name} {how}: what comes after it would never start; submit that one again first")
