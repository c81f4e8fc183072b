from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.coscheduler.task import TaskState
from tests.portal.makers import Portal, portal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskDetail


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Portal]:
    """Three tasks of ann's: the second has run for ten days on two hosts, the others wait."""
    with portal(tmp_path) as pages:
        ann = pages.person("ann")
        for name in ("first", "second", "third"):
            ann.submit(name=name)
        tasks = pages.daemon.services.tasks
        shown, stored = tasks.task, tasks.state

        def task(principal: Principal, task_id: str) -> TaskDetail:
            found = shown(principal, task_id)
            changes: dict[str, Any] = {"state": "running", "started": time.time() - 10 * 86400, "hosts": ("h1", "h2")}
            return replace(found, **changes) if task_id == "2" and found.state == "queued" else found

        def state(principal: Principal, task_id: str) -> TaskState:
            found = stored(principal, task_id)
            return TaskState.RUNNING if task_id == "2" and found is TaskState.QUEUED else found

        monkeypatch.setattr(tasks, "task", task)
        monkeypatch.setattr(tasks, "state", state)
        yield pages


def states(here: Portal) -> list[str]:
    found = [here.daemon.store.task(str(number)) for number in range(1, 4)]
    return [str(task.status.state) for task in found if task is not None]


def test_what_has_begun_is_cancelled_only_after_a_page_that_says_what_is_lost(here: Portal) -> None:
    ann = here.person("ann")
    assert ann.send("/tasks/2/cancel").headers["Location"] == "/tasks/2/cancel"
    assert states(here) == ["queued"] * 3
    asked = ann.see("/tasks/2/cancel")
    assert "Cancel task 2?" in asked
    assert "It has begun. What it has computed and not saved is lost." in asked
    assert "has run for 10 d on 2 hosts" in asked
    assert ann.send("/tasks/2/cancel", confirmed="yes").headers["Location"] == "/tasks/2"
    assert states(here) == ["queued", "cancelled", "queued"]


def test_of_several_those_that_have_begun_are_named_and_none_is_cancelled_before(here: Portal) -> None:
    ann = here.person("ann")
    to = ann.send("/tasks/chosen?state=waiting", do="cancel", task=["1", "2", "3"]).headers["Location"]
    assert to == "/cancel?task=1&task=2&task=3"
    assert states(here) == ["queued"] * 3
    asked = ann.see(to)
    assert "Cancel 3 tasks?" in asked
    assert "1 of them has begun. What it has computed and not saved is lost." in asked
    assert "2 others wait or have ended" in asked
    answer = ann.send("/tasks/chosen", do="cancel", confirmed="yes", task=["1", "2", "3"])
    assert answer.headers["Location"] == "/tasks"
    assert states(here) == ["cancelled"] * 3


def test_what_waits_is_cancelled_at_once(here: Portal) -> None:
    assert here.person("ann").send("/tasks/1/cancel").headers["Location"] == "/tasks/1"
    assert states(here) == ["cancelled", "queued", "queued"]


@pytest.mark.parametrize("page", ["/tasks/2/cancel", "/cancel?task=2"])
def test_the_page_shows_nobody_the_tasks_of_others(here: Portal, page: str) -> None:
    answer = here.person("bob").client.get(page)
    assert (answer.status_code, "second" in answer.text) == (404, False)


@pytest.mark.parametrize("page", ["/cancel", "/cancel?task=" + "&task=".join(["1"] * 1001)])
def test_no_task_or_too_many_are_refused(here: Portal, page: str) -> None:
    assert here.person("ann").client.get(page).status_code == 422
