from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.access.principals import Role
from cosched.api.documents import DeadlineOutcome
from cosched.portal.pages.met_deadlines import MetShare, met_shares
from tests.portal.pages.makers import NOW, portal

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
