from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.portal.pages.makers import Portal, portal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Portal]:
    """A portal with two tasks of ann's and one of bob's."""
    with portal(tmp_path) as here:
        for name in ("ann", "ann", "bob"):
            here.person(name).submit(**{"p.work": "33"})
        yield here


def states(here: Portal) -> list[str]:
    found = [here.daemon.store.task(str(number)) for number in range(1, 6)]
    return [str(task.status.state) for task in found if task is not None]


def test_several_are_cancelled_and_the_list_comes_back_as_it_was(here: Portal) -> None:
    answer = here.person("ann").send("/tasks/chosen?state=waiting", do="cancel", task=["1", "2"])
    assert (answer.status_code, answer.headers["Location"]) == (303, "/tasks?state=waiting")
    assert states(here) == ["cancelled", "cancelled", "queued"]


def test_several_are_submitted_again(here: Portal) -> None:
    assert here.person("ann").send("/tasks/chosen", do="again", task=["1", "2"]).headers["Location"] == "/tasks"
    assert states(here) == ["queued"] * 5


@pytest.mark.parametrize("deed", ["cancel", "again"])
def test_another_users_task_is_not_there(here: Portal, deed: str) -> None:
    """Bad inputs 19: another user's task id."""
    assert here.person("ann").send("/tasks/chosen", do=deed, task=["3"]).status_code == 404
    assert states(here) == ["queued"] * 3


@pytest.mark.parametrize("fields", [{}, {"do": "cancel"}, {"do": "__class__", "task": ["1"]}, {"task": ["1"]}])
def test_what_says_nothing_does_nothing(here: Portal, fields: dict[str, str]) -> None:
    assert here.person("ann").send("/tasks/chosen", **fields).status_code == 422
    assert states(here) == ["queued"] * 3


def test_a_form_without_the_token_of_a_page_is_refused(here: Portal) -> None:
    """Bad inputs 19: no CSRF token."""
    assert here.person("ann").client.post("/tasks/chosen", data={"do": "cancel", "task": "1"}).status_code == 403
    assert states(here) == ["queued"] * 3
