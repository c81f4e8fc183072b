from __future__ import annotations

import pytest

from cosched.access import Principal, Role
from cosched.app.validation import check_predecessors
from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from tests.coscheduler.makers import a_task
from tests.tasks import change_task

NEW = a_task(9, after=("1",))


@pytest.mark.parametrize("state", TaskState)
def test_only_those_can_be_waited_for_that_have_completed_or_may_yet(state: TaskState) -> None:
    found = {"1": change_task(a_task(1, owner="me"), state=state)}
    if state in (TaskState.FAILED, TaskState.CANCELLED, TaskState.CANCELLING):
        with pytest.raises(UserError, match="would never start"):
            check_predecessors([NEW], found.get)
    else:
        check_predecessors([NEW], found.get)


@pytest.mark.parametrize(
    ("name", "role", "seen"), [("me", Role.USER, True), ("you", Role.USER, False), ("you", Role.OPERATOR, True)]
)
def test_others_tasks_are_as_absent_as_ones_that_never_were(name: str, role: Role, seen: bool) -> None:
    found = {"1": a_task(1, owner="me")}
    if seen:
        check_predecessors([NEW], found.get, Principal(name, role))
    else:
        with pytest.raises(UserError, match="there is no task '1'"):
            check_predecessors([NEW], found.get, Principal(name, role))
