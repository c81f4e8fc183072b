from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import TaskRequest
from cosched.api.problems import NotFoundError
from cosched.coscheduler.task import TaskState
from cosched.store import TaskSelection

if TYPE_CHECKING:
    from tests.daemon.makers import Daemon

ME = Principal("me", Role.USER)
YOU = Principal("you", Role.USER)
CHIEF = Principal("chief", Role.OPERATOR)
HALVING = TaskRequest(application="halving")


def test_a_waiting_task_is_cancelled_at_once_and_stays_so(here: Daemon) -> None:
    here.services.submissions.submit(ME, [HALVING], "", "")
    assert here.services.tasks.cancel(ME, "1").state == "cancelled"
    assert here.services.tasks.cancel(ME, "1").state == "cancelled"
    explanation = here.services.tasks.explain(ME, "1")
    assert explanation.waits_for == ("nothing: the task is cancelled (cancelled by the user)",)


def test_a_task_that_nobody_submitted_is_not_found(here: Daemon) -> None:
    for look in (here.services.tasks.task, here.services.tasks.explain, here.services.tasks.cancel):
        with pytest.raises(NotFoundError, match="there is no task '7'"):
            look(CHIEF, "7")


def test_the_list_is_filtered_and_paged(here: Daemon) -> None:
    here.services.submissions.submit(ME, [HALVING] * 5, "", "")
    here.services.tasks.cancel(ME, "3")
    page = here.services.tasks.tasks(ME, TaskSelection((TaskState.QUEUED,)), 2, 1)
    assert ([task.id for task in page.tasks], page.total) == (["4", "2"], 4)


def test_another_users_task_is_not_there(here: Daemon) -> None:
    here.services.submissions.submit(ME, [HALVING], "", "")
    for look in (here.services.tasks.task, here.services.tasks.explain, here.services.tasks.cancel):
        with pytest.raises(NotFoundError, match="there is no task '1'"):
            look(YOU, "1")
    assert here.services.tasks.task(ME, "1").owner == "me"
    assert here.services.tasks.tasks(YOU, TaskSelection(), 10, 0).total == 0
    assert here.services.tasks.tasks(YOU, TaskSelection(owner="me"), 10, 0).tasks == ()
    assert here.services.domain.status(YOU).tasks["queued"] == 0
    assert here.services.tasks.cancel(CHIEF, "1").state == "cancelled"


def test_tasks_are_found_by_owner_and_words(here: Daemon) -> None:
    here.services.submissions.submit(ME, [TaskRequest(application="halving", name="Night run 100%")], "", "")
    here.services.submissions.submit(YOU, [HALVING], "", "")
    found = {
        words: [task.id for task in here.services.tasks.tasks(CHIEF, TaskSelection(text=words), 10, 0).tasks]
        for words in ("night", "100%", "%", "HALV", "2", "none")
    }
    assert found == {"night": ["1"], "100%": ["1"], "%": ["1"], "HALV": ["2", "1"], "2": ["2"], "none": []}
    assert [task.id for task in here.services.tasks.tasks(CHIEF, TaskSelection(owner="you"), 10, 0).tasks] == ["2"]
