from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cosched.access.principal import Role
from tests.portal.pages.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


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


def csrf(text: str) -> dict[str, str]:
    found = re.search(r'name="csrf_token" value="([^"]+)"', text)
    assert found is not None
    return {"X-CSRF-Token": found[1]}
