"""Changes of waiting tasks are checked here, as their submission was; see `cosched.coscheduler.edits`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.api.deadlines import parse_begin, parse_deadline
from cosched.api.documents import TaskChange
from cosched.app.resubmission import request_like_task, with_other_hosts
from cosched.app.validation import checked_name, checked_priority
from cosched.app.views import task_detail
from cosched.coscheduler.edits import HostChoice, TaskEdit
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.app.validation import DomainState, TaskValidator
    from cosched.coscheduler.task import Task

__all__ = ["EditChecks"]


class EditChecks:
    """Makes edits of users' changes. Methods may block; any thread may call them."""

    def __init__(self, validator: TaskValidator, state: Callable[[], DomainState]) -> None:
        """Set up.

        Args:
            validator: predicts tasks on other hosts.
            state: returns what changes are measured against; see `submission_state`.
        """
        self._validator = validator
        self._state = state

    def checked(self, change: TaskChange, task: Task) -> tuple[TaskEdit, DomainState]:
        """Return the edit that a change asks for, and what it was measured against.

        Raises:
            UserError: a value is at fault, or there is none.
        """
        if change == TaskChange():
            raise UserError(
                "nothing is to be changed: give a deadline, a begin, hosts, a run time, a priority, a name or "
                "best effort"
            )
        state = self._state()
        undated = isinstance(change.deadline, str) and change.deadline == "none"
        edit = TaskEdit(
            name=None if change.name is None else checked_name(change.name),
            deadline=None if undated or change.deadline is None else parse_deadline(change.deadline, state.time),
            without_deadline=undated,
            begin=_checked_begin(change.begin, state.time),
            best_effort=change.best_effort,
            priority=None if change.priority is None else checked_priority(change.priority),
            hosts=None if change.hosts is None is change.runtime else self._hosts(change, task, state),
        )
        return edit, state

    def _hosts(self, change: TaskChange, task: Task, state: DomainState) -> HostChoice:
        """Return the hosts and run times of a change, as a submission would get them."""
        detail = task_detail(task, (), ())
        like = request_like_task(detail, state.time, catalogued=self._validator.knows(task.spec.application))
        # Addresses were allowed when they were given; the deadline is looked at with all that the change says.
        request = replace(with_other_hosts(like, detail, change), deadline=None, notify=())
        made = self._validator.task(request, state)
        return HostChoice(made.spec.count, made.profile, made.correction, made.spec.model)


def _checked_begin(begin: float | str | None, now: float) -> float | None:
    """Return a new begin in epoch seconds: 0.0 for at once, None for none."""
    if begin is None:
        return None
    return 0.0 if begin == "now" else parse_begin(begin, now)
