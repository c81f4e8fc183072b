from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import DeadlineOutcome, ForwardedPlacement, PlacementView, PlanView, TaskRequest
from cosched.app.figures.deadline_outlook import deadlines
from cosched.portal.pages.figures.deadlines import MetShare, met_shares
from tests.documents import NOW
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


def place(task: str, **changes: Any) -> PlacementView:
    values = {"hosts": ("h",), "start": NOW, "end": NOW + 10, "deadline": NOW + 20, "running": False}
    return PlacementView(task=task, **{**values, **changes})


def plan(*places: PlacementView, forwarded: tuple[ForwardedPlacement, ...] = ()) -> PlanView:
    return PlanView(time=NOW, placements=places, makespan=0.0, bound=None, gap=None, evaluations=0, forwarded=forwarded)


def test_what_other_domains_have_is_on_time_or_late_as_they_expect() -> None:
    ends = {"7": NOW + 20, "8": NOW + 21, "9": NOW}
    forwarded = tuple(
        ForwardedPlacement(task=task, peer="far", end=end, deadline=None if task == "9" else NOW + 20)
        for task, end in ends.items()
    )
    found = deadlines(plan(place("3"), forwarded=forwarded))
    assert (sorted(found.on_time), found.late, found.total) == (["3", "7"], ("8",), 3)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "on_time"),
        ({"end_high": NOW + 20}, "on_time"),
        ({"end_high": NOW + 21}, "at_risk"),
        ({"certain": False}, "at_risk"),
        ({"certain": False, "end": None, "running": True, "state": "held"}, "at_risk"),
        ({"end": NOW + 21, "end_high": NOW + 30}, "late"),
        ({"end": NOW + 21, "certain": False}, "late"),
    ],
)
def test_a_deadline_is_on_time_at_risk_or_late(changes: dict[str, Any], kind: str) -> None:
    found = deadlines(plan(place("7", **changes), place("8", deadline=None)))
    assert (getattr(found, kind), found.total) == (("7",), 1)


def test_nothing_is_expected_of_a_run_that_nobody_predicted_before_it_is_late() -> None:
    """Its end was said to be as far ahead as its begin is ago."""
    run = place("7", end=None, reckoned=NOW + 30, running=True)
    assert deadlines(plan(run)).total == 0
    assert deadlines(plan(place("7", end=None, reckoned=NOW + 30, running=True, deadline=NOW - 1))).late == ("7",)


def test_the_list_leads_with_deadlines_and_shows_the_late_alone(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=1) as here:
        ann = here.person("ann")
        assert 'class="deadlines"' not in ann.see("/tasks")
        ann.submit(**{"p.work": "60", "deadline": "2030-01-31T18:00"})
        hurried = TaskRequest(application="halving", parameters={"work": 600}, deadline="now+2s", best_effort=True)
        here.daemon.services.submissions.submit(Principal("ann", Role.USER), [hurried], "", "")
        text = ann.see("/tasks")
        assert 'href="/tasks?state=on+time">On time <b>1</b></a> of 2' in text
        assert '<a class="late" href="/tasks?state=late"><b>1</b> late</a>' in text
        late = ann.see("/tasks?state=late")
        assert 'href="/tasks/2"' in late
        assert 'href="/tasks/1"' not in late
        on_time = ann.see("/tasks?state=on+time")
        assert 'href="/tasks/1"' in on_time
        assert 'href="/tasks/2"' not in on_time
        assert "On time <b>1</b></a> of 2" in ann.see("/schedule")
        assert 'class="deadlines"' not in here.person("bob").see("/tasks")


def _outcome(task: str, slack: float, **changes: str) -> DeadlineOutcome:
    fields = {"name": f"t{task}", "owner": "ann", "application": "fft", "state": "completed", **changes}
    return DeadlineOutcome(task=task, submitted=NOW - 200, finished=NOW, deadline=NOW + slack, **fields)


def test_a_task_that_failed_has_met_no_deadline() -> None:
    outcomes = [_outcome("1", 5.0), _outcome("2", -5.0), _outcome("3", 5.0, state="failed"), _outcome("4", 0.0)]
    assert met_shares(outcomes, lambda each: each.owner) == [MetShare("ann", 2, 1, 1)]
    assert met_shares(outcomes, lambda each: each.owner)[0].share == 0.5


def test_names_come_in_the_order_of_the_outcomes() -> None:
    outcomes = [_outcome("1", 5.0, application="b"), _outcome("2", 5.0, application="a"), _outcome("3", 5.0)]
    assert [share.name for share in met_shares(outcomes, lambda each: each.application)] == ["b", "a", "fft"]


def test_the_page_tells_of_what_one_may_see_and_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [
        _outcome("1", 5.0),
        _outcome("2", -3700.0, name="<b>late</b>"),
        _outcome("3", 5.0, application="cpi", owner="bob"),
    ]
    with portal(tmp_path) as here:
        assert "No task with a deadline has ended" in here.person("ann").see("/deadlines")
        monkeypatch.setattr(here.daemon.services.history, "deadline_outcomes", lambda _principal, _since: outcomes)
        text = here.person("chief", Role.OPERATOR).see("/deadlines?days=30")
        assert "67 %<small>2 of 3 that ended</small>" in text
        assert "&lt;b&gt;late&lt;/b&gt;" in text
        assert "1 h 2 min" in text
        assert "By user" in text
        assert "100 %<small>1 of 1 that ended</small>" in here.person("chief", Role.OPERATOR).see(
            "/deadlines?owner=bob"
        )
        assert "By user" not in here.person("ann").see("/deadlines")
        assert here.person("ann").client.get("/deadlines?days=5").status_code == 422
