from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import ForbiddenError, Principal, Role
from cosched.api.documents import ShareChange, TaskRequest
from cosched.api.problems import ConflictError, NotFoundError, QuotaError
from cosched.app.core_access import CoreClient
from cosched.app.share_service import ShareService
from cosched.coscheduler.events import SharesChanged
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.errors import UserError
from cosched.store.shares import ShareTable
from tests.daemon.makers import daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ADA, ROOT = Principal("ada", Role.USER), Principal("root", Role.ADMINISTRATOR)
CONFIGURED = Shares(groups={"physics": Share(3.0)}, users={"bob": Share(2.0)}, members={"ada": "physics"})


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ShareService]:
    with daemon(tmp_path) as running:
        service = ShareService(CoreClient(running.inbox), ShareTable(running.store), CONFIGURED)
        service.change(ROOT, "user", "cyd", ShareChange(reset=True, weight=1.0))
        service.change(ROOT, "user", "cyd", ShareChange(reset=True, group="physics"))
        yield service


def test_what_is_set_by_command_wins_over_the_configuration_and_says_so_until_it_is_reset(
    service: ShareService,
) -> None:
    made = service.change(ROOT, "group", "physics", ShareChange(weight=1.0))
    assert (made.weight, made.source, made.by) == (1.0, "command", "root")
    listed = {(each.kind, each.name): each for each in service.shares(ROOT)}
    assert listed["group", "physics"] == made
    assert (listed["user", "bob"].source, listed["user", "ada"].group) == ("configuration", "physics")
    assert (listed["user", "bob"].entitled, listed["user", "cyd"].entitled) == pytest.approx((2 / 3, 1 / 6))
    again = service.change(ROOT, "group", "physics", ShareChange(reset=True))
    assert (again.weight, again.source, again.by) == (3.0, "configuration", "")


def test_a_user_sees_groups_and_the_own_share_alone(service: ShareService) -> None:
    assert [(each.kind, each.name) for each in service.shares(ADA)] == [("group", "physics"), ("user", "ada")]


@pytest.mark.parametrize("principal", [ADA, Principal("olga", Role.OPERATOR)])
def test_only_administrators_set_shares(service: ShareService, principal: Principal) -> None:
    with pytest.raises(ForbiddenError):
        service.change(principal, "user", "ada", ShareChange(weight=9.0))


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"),
    [
        ("user", "bob", ShareChange(weight=0.0), "the weight is 0: give a number above 0"),
        ("user", "bob", ShareChange(budget=-1.0), "the budget is -1 host-hours"),
        ("user", "bob", ShareChange(hosts=-1), "the limit of hosts is -1"),
        ("user", "bob", ShareChange(group="chemistry"), "there is no group 'chemistry'"),
        ("user", "no body", ShareChange(weight=1.0), "cannot name a user"),
        ("group", "physics", ShareChange(group="physics"), "a group stands in no other group"),
        ("tree", "oak", ShareChange(weight=1.0), "shares are of a user or a group"),
    ],
)
def test_a_share_that_cannot_be_is_refused(
    service: ShareService, kind: str, name: str, change: ShareChange, message: str
) -> None:
    with pytest.raises((UserError, NotFoundError), match=message):
        service.change(ROOT, kind, name, change)


def test_where_shares_are_not_in_force_it_says_what_to_set(tmp_path: Path) -> None:
    with daemon(tmp_path) as running, pytest.raises(ConflictError, match=r"enabled = true. in \[shares\]"):
        running.services.shares.shares(ROOT)


def test_what_is_beyond_a_limit_is_refused_and_what_is_beyond_the_budget_told(tmp_path: Path) -> None:
    shares = Shares(default=Share(budget=0.0, hosts=2, waiting=2))
    with daemon(tmp_path) as running:
        running.inbox.apply(SharesChanged(1.0, shares)).result(60)
        submit = partial(running.services.submissions.submit, ADA, key="", digest="")
        wide = TaskRequest(command=("/bin/true",), profile=(None, None, 5.0))
        for asked in (submit, partial(running.services.submissions.foresee, ADA)):
            with pytest.raises(UserError, match="it needs 3 hosts and your share allows 2 at once"):
                asked([wide])
        late = TaskRequest(command=("/bin/true",), profile=(5.0,), deadline="now+1h")
        (foreseen,) = running.services.submissions.foresee(ADA, [late])
        assert foreseen.claim == 0.0
        (accepted,) = submit([late])
        assert (accepted.claim, accepted.deadline is None) == (0.0, False)
        assert "its deadline is not guaranteed" in accepted.notice
        with pytest.raises(QuotaError, match="1 tasks of user ada wait, and 2 may: submit 2 more"):
            submit([late, late])
