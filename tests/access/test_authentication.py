from __future__ import annotations

import os
import pwd

import pytest

from cosched.access import ProofOfIdentity, Role, Scope
from cosched.access.accounts import LoginError
from cosched.access.authentication import COOKIE, SECURE_COOKIE, AccessSettings
from cosched.access.principals import user_name
from cosched.access.proxies import RequestEvidence, parse_proxies
from tests.access.memory import Time, access

ME = user_name(os.getuid())
STRANGER = 4_000_000_000
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
    text, _ = known.tokens.create("ann", Role.USER, {Scope.READ}, "", 0.0, 1e9)
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
    text, _ = known.tokens.create("ann", Role.USER, {Scope.READ}, "", 0.0, 1e9)
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
