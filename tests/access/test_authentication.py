from __future__ import annotations

import os
import pwd

import pytest

from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.access.accounts import LoginError
from cosched.access.authentication import COOKIE, SECURE_COOKIE, AccessSettings, Authenticator
from cosched.access.principals import ALL_SCOPES, RoleSource
from cosched.access.proxies import RequestEvidence, parse_proxies
from cosched.access.tokens import TokenGrant
from tests.access.memory import MemoryCredentials, Time, access

ME = pwd.getpwuid(os.getuid()).pw_name
STRANGER = 4_000_000_000
WORD = "a long password"
PROXY = AccessSettings(proxies=parse_proxies(["10.0.0.1", "unix:nobody"]), operators=frozenset({"olga"}))


def evidence(
    address: str = "127.0.0.1", peer: int | None = None, *, secure: bool = False, **headers: str
) -> RequestEvidence:
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    return RequestEvidence(peer, "" if peer is not None else address, secure, names)


def test_at_the_socket_the_kernel_says_who_asks() -> None:
    ours = access().identify(evidence(peer=os.getuid()))
    assert ours.principal is not None
    assert (ours.principal.name, ours.principal.role, ours.address) == (ME, Role.ADMINISTRATOR, "unix")
    theirs = access(AccessSettings(operators=frozenset({f"uid{STRANGER}"}))).identify(evidence(peer=STRANGER))
    assert theirs.principal is not None
    assert (theirs.principal.name, theirs.principal.role) == (f"uid{STRANGER}", Role.OPERATOR)


def test_at_a_port_nobody_is_known_by_themselves() -> None:
    assert access().identify(evidence()).principal is None
    assert access().identify(evidence(remote_user="root", x_remote_user="root")).principal is None


@pytest.mark.parametrize("token", ["", "x", "cosched_x_y"])
def test_a_token_that_is_none_does_not_fall_back_on_anything(token: str) -> None:
    found = access().identify(evidence(peer=os.getuid(), authorization=f"Bearer {token}"))
    if token:
        assert (found.principal, found.reason) == (None, "the token is unknown, expired or revoked")
    else:
        assert found.principal is not None


def test_a_token_counts_before_the_socket() -> None:
    known = access()
    text, _ = known.tokens.create(TokenGrant("ann", Role.USER, {Scope.READ}), 0.0, 1e9)
    found = known.identify(evidence(peer=os.getuid(), authorization=f"Bearer {text}")).principal
    assert found is not None
    assert (found.name, found.how, found.scopes) == ("ann", ProofOfIdentity.TOKEN, frozenset({Scope.READ}))


def test_the_proxy_says_who_asks_and_nobody_else_can() -> None:
    known = access(PROXY)
    proxied = known.identify(
        evidence("10.0.0.1", x_remote_user="olga", x_forwarded_for="1.1.1.1, 2.2.2.2", x_forwarded_proto="https")
    )
    assert proxied.principal is not None
    assert (proxied.principal.name, proxied.principal.role, proxied.principal.how) == (
        "olga",
        Role.OPERATOR,
        ProofOfIdentity.PROXY,
    )
    assert (proxied.address, proxied.secure) == ("2.2.2.2", True)
    for forged in (
        evidence("10.0.0.2", x_remote_user="olga", secure=True),
        evidence(x_remote_user="olga"),
        evidence("10.0.0.1"),
    ):
        assert known.identify(forged).principal is None
    at_socket = known.identify(evidence(peer=STRANGER, x_remote_user="root")).principal
    assert at_socket is not None
    assert (at_socket.name, at_socket.role) == (f"uid{STRANGER}", Role.USER)


@pytest.mark.parametrize("name", ["", "root, olga", "a b", "<script>", "{{7*7}}"])
def test_a_proxy_must_name_one_user(name: str) -> None:
    found = access(PROXY).identify(evidence("10.0.0.1", x_remote_user=name))
    assert (found.principal, "cannot name a user" in found.reason) == (None, True)


def test_the_user_of_a_proxy_is_not_taken_for_the_one_who_asks() -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    assert access(PROXY).identify(evidence(peer=nobody)).principal is None


def test_what_others_can_read_on_the_way_is_refused_even_with_a_token() -> None:
    known = access()
    text, _ = known.tokens.create(TokenGrant("ann", Role.USER, {Scope.READ}), 0.0, 1e9)
    refused = known.identify(evidence("192.0.2.1", authorization=f"Bearer {text}"))
    assert (refused.principal, "use https" in refused.reason) == (None, True)
    assert known.identify(evidence("192.0.2.1", secure=True, authorization=f"Bearer {text}")).principal is not None


@pytest.mark.parametrize("cookie", [COOKIE, SECURE_COOKIE])
def test_a_login_lasts_as_long_as_its_account_allows(cookie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.access.accounts.password_matches", lambda _digest, password: password == "right")
    time = Time()
    known = access(AccessSettings(session=100.0), time)
    known.accounts.add("ann", "a long password", Role.OPERATOR, 0.0)
    secret, _ = known.login("ann", "right", "here")
    shown = evidence(cookie=f"other=1; {cookie}={secret}")
    found = known.identify(shown)
    assert found.principal is not None
    assert (found.principal.name, found.principal.role, found.principal.how) == (
        "ann",
        Role.OPERATOR,
        ProofOfIdentity.SESSION,
    )
    assert len(found.csrf) == 64
    known.accounts.change("ann", enabled=False)
    assert known.identify(shown).principal is None
    known.accounts.change("ann", enabled=True)
    time.now += 100
    assert (known.identify(shown).principal, known.identify(shown).reason) == (None, "the session has ended")
    with pytest.raises(LoginError):
        known.login("ann", "wrong", "here")
    assert [deed.action for deed in known.audit_log(9)] == ["login refused", "login"]


def test_a_link_logs_in_as_who_made_it_and_ends_with_them() -> None:
    known = access()
    chief = known.identify(evidence(peer=os.getuid())).principal
    assert chief is not None
    secret, _ = known.redeem(known.ticket(chief, "unix"), "127.0.0.1")
    shown = evidence(cookie=f"{COOKIE}={secret}")
    found = known.identify(shown).principal
    assert found is not None
    assert (found.name, found.role, found.how) == (ME, Role.ADMINISTRATOR, ProofOfIdentity.SESSION)
    known.revoke_all(ME)
    assert known.identify(shown).principal is None
    with pytest.raises(LoginError, match="has been used or is too old"):
        known.redeem("x", "127.0.0.1")


def bearer(known: Authenticator, text: str) -> Principal | None:
    return known.identify(evidence(authorization=f"Bearer {text}")).principal


def browser(known: Authenticator, who: Principal) -> RequestEvidence:
    secret, _ = known.redeem(known.ticket(who, "unix"), "127.0.0.1")
    return evidence(cookie=f"{COOKIE}={secret}")


def test_a_low_token_of_an_administrators_account_makes_no_administrators_session() -> None:
    known = access()
    known.accounts.add("adm", WORD, Role.ADMINISTRATOR, 0.0)
    text, row = known.tokens.create(TokenGrant("adm", Role.USER, ALL_SCOPES, source=RoleSource.ACCOUNT), 0.0, 1e9)
    token = bearer(known, text)
    assert token is not None
    shown = browser(known, token)
    found = known.identify(shown).principal
    assert found is not None
    assert (found.name, found.role) == ("adm", Role.USER)
    known.tokens.revoke(row.id)
    assert known.identify(shown).principal is None


def test_a_session_ends_with_the_session_that_made_its_link() -> None:
    known = access()
    known.accounts.add("ann", WORD, Role.USER, 0.0)
    first, _ = known.login("ann", WORD, "here")
    who = known.identify(evidence(cookie=f"{COOKIE}={first}")).principal
    assert who is not None
    shown = browser(known, who)
    ticket = known.ticket(who, "here")
    assert known.identify(shown).principal is not None
    known.sessions.end(secret=first)
    assert known.identify(shown).principal is None
    with pytest.raises(LoginError):
        known.redeem(ticket, "here")


def test_links_of_links_end_with_the_token_that_made_the_first() -> None:
    known = access()
    known.accounts.add("ann", WORD, Role.USER, 0.0)
    text, row = known.tokens.create(TokenGrant("ann", Role.USER, ALL_SCOPES, source=RoleSource.ACCOUNT), 0.0, 1e9)
    who, opened = bearer(known, text), list[RequestEvidence]()
    for _ in range(3):
        assert who is not None
        opened.append(browser(known, who))
        who = known.identify(opened[-1]).principal
    assert who is not None
    ticket = known.ticket(who, "here")
    known.tokens.revoke(row.id)
    assert [known.identify(shown).principal for shown in opened] == [None, None, None]
    with pytest.raises(LoginError):
        known.redeem(ticket, "here")


def test_a_proxys_user_gets_nothing_of_the_local_account_of_that_name() -> None:
    known = access(PROXY)
    known.accounts.add("bob", WORD, Role.ADMINISTRATOR, 0.0)
    proxied = known.identify(evidence("10.0.0.1", x_remote_user="bob")).principal
    assert proxied is not None
    found = known.identify(browser(known, proxied)).principal
    assert found is not None
    assert (proxied.role, found.role) == (Role.USER, Role.USER)


def test_a_token_keeps_no_role_that_was_taken_out_of_the_configuration() -> None:
    store = MemoryCredentials()
    before = access(PROXY, kept=store)
    olga = before.identify(evidence("10.0.0.1", x_remote_user="olga")).principal
    assert olga is not None
    grant = TokenGrant("olga", olga.role, ALL_SCOPES, source=olga.source)
    text, _ = before.tokens.create(grant, 0.0, 1e9)
    for settings, role in ((PROXY, Role.OPERATOR), (AccessSettings(), Role.USER)):
        found = bearer(access(settings, kept=store), text)
        assert found is not None
        assert found.role is role


@pytest.mark.parametrize("kind", ["token", "session"])
def test_a_user_whom_the_system_removed_is_refused_within_five_seconds(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    clock = Time()
    known = access(time=clock)
    who = known.identify(evidence(peer=os.getuid())).principal
    assert who is not None
    if kind == "token":
        text, _ = known.tokens.create(TokenGrant(who.name, who.role, ALL_SCOPES, source=who.source), 0.0, 1e9)
        shown = evidence(authorization=f"Bearer {text}")
    else:
        cookie, _ = known.redeem(known.ticket(who, "unix"), "127.0.0.1")
        shown = evidence(cookie=f"{COOKIE}={cookie}")
    found = known.identify(shown).principal
    assert found is not None
    assert (found.name, found.role) == (ME, Role.ADMINISTRATOR)

    def unknown(_: object) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwnam", unknown)
    clock.now += 5.0
    assert known.identify(shown).principal is None


def test_a_token_that_an_administrator_gave_out_keeps_its_role() -> None:
    known = access()
    text, _ = known.tokens.create(TokenGrant("night-job", Role.OPERATOR, ALL_SCOPES), 0.0, 1e9)
    found = bearer(known, text)
    assert found is not None
    assert found.role is Role.OPERATOR


def test_an_accounts_own_token_is_good_while_the_account_is() -> None:
    known = access()
    known.accounts.add("ann", WORD, Role.OPERATOR, 0.0)
    text, _ = known.tokens.create(TokenGrant("ann", Role.OPERATOR, ALL_SCOPES, source=RoleSource.ACCOUNT), 0.0, 1e9)
    known.accounts.change("ann", enabled=False)
    assert bearer(known, text) is None


def test_of_very_many_refused_logins_few_are_written_down_and_the_others_counted() -> None:
    time = Time()
    known = access(time=time)
    for _ in range(200):
        with pytest.raises(LoginError):
            known.login("x" * 100_000, "wrong", "192.0.2.1")
    written = known.audit_log(1000)
    assert 0 < len(written) <= 10
    assert {str(entry.how) for entry in written} == {"password"}
    time.now += 3600
    with pytest.raises(LoginError):
        known.login("ann", "wrong", "192.0.2.1")
    assert "190 more refusals were not written down" in known.audit_log(1)[0].detail


def test_wrong_passwords_from_the_addresses_of_one_network_are_one_clients() -> None:
    """Whoever had an IPv6 network could try passwords without end, each from another address."""
    known = access()
    known.accounts.add("ann", WORD, Role.USER, 0.0)
    said = []
    for number in range(8):
        with pytest.raises(LoginError) as caught:
            known.login("ann", "a wrong password", f"2001:db8::{number}")
        said.append("too many wrong passwords" in str(caught.value))
    assert said == [False] * 5 + [True] * 3
    assert known.login("ann", WORD, "2001:db8:0:1::1")


def test_users_may_ask_so_often_and_operators_as_often_as_they_like() -> None:
    known = access(AccessSettings(requests=1.0))
    stranger = known.identify(evidence(peer=STRANGER))
    assert [known.rate_limit(stranger) for _ in range(11)] == [0.0] * 10 + [1.0]
    unknown = known.identify(evidence())
    assert [known.rate_limit(unknown) for _ in range(11)][-1] == 1.0
    chief = known.identify(evidence(peer=os.getuid()))
    assert {known.rate_limit(chief) for _ in range(50)} == {0.0}


SETTINGS = AccessSettings(administrators=frozenset({"ann", "both"}), operators=frozenset({"olga", "both"}))


@pytest.mark.parametrize(
    ("user", "role"),
    [
        ("ann", Role.ADMINISTRATOR),
        ("olga", Role.OPERATOR),
        ("both", Role.ADMINISTRATOR),
        ("bob", Role.USER),
        ("Ann", Role.USER),
        ("", Role.USER),
    ],
)
def test_the_higher_role_counts_and_names_are_exact(user: str, role: Role) -> None:
    assert SETTINGS.role(user) is role


def test_by_default_nobody_is_more_than_a_user() -> None:
    assert AccessSettings().role("root") is Role.USER
    assert not AccessSettings().proxies
