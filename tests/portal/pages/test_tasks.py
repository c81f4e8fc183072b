from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.access.principals import Role
from tests.portal.pages.makers import portal

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from cosched.api.documents import TaskPage


def listed(text: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="/tasks/(\d+)"', text)


def test_everybody_sees_their_own_and_operators_all(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, bob, olga = here.person("ann"), here.person("bob"), here.person("olga", Role.OPERATOR)
        assert "Nothing has been submitted yet" in ann.see("/")
        ann.submit(name="hers")
        bob.submit(name="his")
        assert listed(ann.see("/")) == ["1"]
        assert listed(bob.see("/tasks")) == ["2"]
        assert listed(olga.see("/tasks")) == ["2", "1"]
        assert listed(olga.see("/tasks?mine=1")) == []
        assert listed(olga.see("/tasks?search=HERS")) == ["1"]
        assert listed(olga.see("/tasks?state=completed")) == []


def test_a_long_list_has_pages(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        for _ in range(51):
            ann.client.post("/api/v1/tasks", json={"application": "halving"}, headers=csrf(ann.see("/submit?own=file")))
        first = ann.see("/tasks?search=halving")
        assert (len(listed(first)), "1 of 2, 51 tasks" in first) == (50, True)
        assert 'href="?search=halving&amp;page=2"' in first
        assert listed(ann.see("/tasks?search=halving&page=2")) == ["1"]


def test_the_list_says_where_a_task_is_and_where_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit(name="gone")
        asked = here.daemon.services.tasks.tasks
        for changes, said in (({"peer": "far"}, "in far"), ({"origin": "north"}, "from north")):

            def tasks(*args: Any, changes: dict[str, Any] = changes, **options: Any) -> TaskPage:
                found = asked(*args, **options)
                return replace(found, tasks=tuple(replace(task, **changes) for task in found.tasks))

            monkeypatch.setattr(here.daemon.services.tasks, "tasks", tasks)
            assert f'<span class="soft">{said}</span>' in ann.see("/tasks")


def csrf(text: str) -> dict[str, str]:
    found = re.search(r'name="csrf_token" value="([^"]+)"', text)
    assert found is not None
    return {"X-CSRF-Token": found[1]}
