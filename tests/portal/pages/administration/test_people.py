from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Role, Scope
from cosched.access.tokens import TokenGrant
from cosched.coscheduler.sharing.shares import Share, Shares
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "/administration"
PASSWORD = "correct horse battery staple"


@pytest.mark.parametrize("role", [Role.USER, Role.OPERATOR])
def test_the_page_and_its_forms_are_for_administrators(tmp_path: Path, role: Role) -> None:
    with portal(tmp_path) as here:
        person = here.person("ann", role)
        assert person.client.get(PAGE).status_code == 403
        assert PAGE not in person.see("/domain")
        forms = ("reservations", "reservations/x/release", "accounts", "accounts/bob", "accounts/bob/remove", "shares")
        for form in (*forms, "tokens/x/revoke"):
            sent = {"host": "host-0", "lasting": "1 h", "name": "bob", "password": PASSWORD}
            assert person.send(f"{PAGE}/{form}", **sent).status_code == 403, form


def test_hosts_are_reserved_and_released(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief = here.person("chief", Role.ADMINISTRATOR)
        (one, two, *_) = here.daemon.inbox.ask(lambda core, _time: core.domain.up()).result(60)
        assert f"<option selected>{two}</option>" in chief.see(f"{PAGE}?host={two}")
        assert f'<a href="{PAGE}?host={two}">keep tasks off</a>' in chief.see("/domain")
        answer = chief.send(f"{PAGE}/reservations", host=[one, two], lasting="8 h", name="<mend>")
        assert answer.headers["Location"] == PAGE
        text = chief.see(PAGE)
        assert "<bdi>&lt;mend&gt;</bdi>" in text
        assert f"{one}, {two}" in text
        (made,) = here.daemon.inbox.ask(lambda core, time: core.reservations.live(time)).result(60)
        assert made.end - made.begin == pytest.approx(8 * 3600, abs=60)
        assert chief.send(f"{PAGE}/reservations/{made.id}/release").headers["Location"] == PAGE
        assert "No host is reserved" in chief.see(PAGE)
        log = [entry.action for entry in here.access.audit_log(9, 0)]
        assert log[:2] == ["reservation released", "hosts reserved"]


def test_a_reservation_without_an_end_or_hosts_is_refused(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief = here.person("chief", Role.ADMINISTRATOR)
        (one, *_) = here.daemon.inbox.ask(lambda core, _time: core.domain.up()).result(60)
        for sent, why in (
            ({"lasting": "1 h"}, "no host is named"),
            ({"host": one}, "the reservation has no end"),
            ({"host": one, "end": "soon"}, "soon"),
            ({"host": one, "end": "2001-01-01T00:00"}, "past"),
            ({"host": "nowhere", "lasting": "1 h"}, "no host &#39;nowhere&#39;"),
        ):
            answer = chief.send(f"{PAGE}/reservations", **sent)
            assert answer.status_code == 422
            assert why in answer.text
        assert "No host is reserved" in chief.see(PAGE)


def test_accounts_are_made_changed_and_removed_but_ones_own(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief = here.person("chief", Role.ADMINISTRATOR)
        assert chief.send(f"{PAGE}/accounts", name="bob", password=PASSWORD, role="user").status_code == 303
        assert "<bdi>bob</bdi>" in chief.see(PAGE)
        assert chief.send(f"{PAGE}/accounts", name="bob", password=PASSWORD).status_code == 409
        assert chief.send(f"{PAGE}/accounts/bob", role="operator", enabled="no").status_code == 303
        (account,) = here.access.accounts.all()
        assert (account.role, account.enabled) == ("operator", False)
        before = account.digest
        chief.send(f"{PAGE}/accounts/bob", password="another long password", enabled="yes")
        (account,) = here.access.accounts.all()
        assert (account.role, account.enabled, account.digest != before) == ("operator", True, True)
        for form in ("accounts/chief", "accounts/chief/remove"):
            assert chief.send(f"{PAGE}/{form}", role="user").status_code == 422
        assert chief.send(f"{PAGE}/accounts/bob/remove").status_code == 303
        assert here.access.accounts.all() == []
        log = [entry.action for entry in here.access.audit_log(9, 0)]
        assert log[:4] == ["account removed", "account changed", "account changed", "account added"]


def test_tokens_of_everybody_are_revoked(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief = here.person("chief", Role.ADMINISTRATOR)
        now = here.access.now()
        _, token = here.access.tokens.create(TokenGrant("ann", Role.USER, {Scope.READ}, "laptop"), now, now + 99)
        assert "laptop" in chief.see(PAGE)
        assert chief.send(f"{PAGE}/tokens/{token.id}/revoke").status_code == 303
        assert "laptop" not in chief.see(PAGE)
        assert chief.send(f"{PAGE}/tokens/{token.id}/revoke").status_code == 404


def test_shares_are_shown_where_they_are_in_force_and_set(tmp_path: Path) -> None:
    shares = Shares(groups={"physics": Share(3.0)}, users={"bob": Share(2.0)}, members={"ada": "physics"})
    with portal(tmp_path, shares=shares) as here:
        chief, ada = here.person("chief", Role.ADMINISTRATOR), here.person("ada")
        sent = {"kind": "group", "name": "physics", "weight": "1", "hosts": "4", "waiting": "", "budget": ""}
        assert chief.send(f"{PAGE}/shares", **sent).headers["Location"] == PAGE
        text = chief.see(PAGE)
        assert '<bdi>physics</bdi> <span class="soft">group</span>' in text
        assert "<bdi>chief</bdi>, <time" in text
        assert "0 of 4" in text
        assert "<bdi>bob</bdi>" in chief.see("/utilisation?part=shares")
        assert "<bdi>bob</bdi>" not in ada.see("/utilisation?part=shares")
        assert "<bdi>physics</bdi>" in ada.see("/utilisation?part=shares")
        for wrong, why in (({"weight": "much"}, "weight is a number"), ({"kind": "host"}, "not of a")):
            answer = chief.send(f"{PAGE}/shares", **{**sent, **wrong})
            assert (400 <= answer.status_code < 500, why in answer.text) == (True, True)


def test_without_shares_none_are_shown(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        assert "Set the share" not in here.person("chief", Role.ADMINISTRATOR).see(PAGE)
