from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import PlacementView, TaskRequest
from cosched.portal.pages.deadlines import deadlines
from tests.portal.pages.makers import NOW, portal

if TYPE_CHECKING:
    from pathlib import Path


def place(task: str, **changes: Any) -> PlacementView:
    values = {"hosts": ("h",), "start": NOW, "end": NOW + 10, "deadline": NOW + 20, "running": False}
    return PlacementView(task=task, **{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "on_time"),
        ({"end_high": NOW + 20}, "on_time"),
        ({"end_high": NOW + 21}, "at_risk"),
        ({"certain": False}, "at_risk"),
        ({"end": NOW + 21, "end_high": NOW + 30}, "late"),
        ({"end": NOW + 21, "certain": False}, "late"),
    ],
)
def test_a_deadline_is_on_time_at_risk_or_late(changes: dict[str, Any], kind: str) -> None:
    found = deadlines([place("7", **changes), place("8", deadline=None)])
    assert (getattr(found, kind), found.total) == (("7",), 1)


def test_the_list_leads_with_deadlines_and_shows_the_late_alone(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=1) as here:
        ann = here.person("ann")
        assert 'class="deadlines"' not in ann.see("/tasks")
        ann.submit(**{"p.work": "60", "deadline": "2030-01-31T18:00"})
        hurried = TaskRequest(application="halving", parameters={"work": 600}, deadline="now+2s", best_effort=True)
        here.daemon.services.submissions.submit(Principal("ann", Role.USER), [hurried], "", "")
        text = ann.see("/tasks")
        assert "On time <b>1</b> of 2" in text
        assert '<a class="late" href="/tasks?state=late"><b>1</b> late</a>' in text
        late = ann.see("/tasks?state=late")
        assert 'href="/tasks/2"' in late
        assert 'href="/tasks/1"' not in late
        assert "On time <b>1</b> of 2" in ann.see("/schedule")
        assert 'class="deadlines"' not in here.person("bob").see("/tasks")
