from __future__ import annotations

import os
import pwd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.access.proxies import RequestEvidence, TrustedProxies, parse_proxies
from cosched.errors import UserError


def test_proxies_are_known_by_their_address_or_their_user() -> None:
    me = pwd.getpwuid(os.getuid()).pw_name
    proxies = parse_proxies(["192.0.2.7", "10.0.0.0/8", "2001:db8::/32", f"unix:{me}"])
    for sent in (
        RequestEvidence(address="192.0.2.7"),
        RequestEvidence(address="10.1.2.3"),
        RequestEvidence(address="2001:db8::1"),
        RequestEvidence(peer=os.getuid()),
    ):
        assert proxies.forwarded(sent)
    for other in (
        RequestEvidence(address="192.0.2.8"),
        RequestEvidence(address="127.0.0.1"),
        RequestEvidence(peer=4_000_000_000),
        RequestEvidence(),
        RequestEvidence(address="testclient"),
    ):
        assert not proxies.forwarded(other)
        assert not TrustedProxies().forwarded(other)


def test_an_address_alone_is_not_enough_where_there_is_a_secret() -> None:
    me = pwd.getpwuid(os.getuid()).pw_name
    proxies = parse_proxies(["127.0.0.1", f"unix:{me}"], "s3cret")
    assert proxies.forwarded(RequestEvidence(address="127.0.0.1", headers={"x-proxy-secret": "s3cret"}))
    for headers in ({}, {"x-proxy-secret": ""}, {"x-proxy-secret": "s3cre"}, {"x-proxy-secret": "s3cret, s3cret"}):
        assert not proxies.forwarded(RequestEvidence(address="127.0.0.1", headers=headers))
    assert not proxies.forwarded(RequestEvidence(address="127.0.0.2", headers={"x-proxy-secret": "s3cret"}))
    assert proxies.forwarded(RequestEvidence(peer=os.getuid()))
    assert "s3cret" not in repr(proxies)


@pytest.mark.parametrize(
    ("words", "secret", "posed"),
    [
        (["127.0.0.1"], "", True),
        (["::1"], "", True),
        (["0.0.0.0/0"], "", True),
        (["127.0.0.1"], "x", False),
        (["192.0.2.1", "2001:db8::1"], "", False),
        ([], "", False),
    ],
)
def test_whom_every_user_of_this_machine_could_pose_as(words: list[str], secret: str, posed: bool) -> None:
    assert parse_proxies(words, secret).forgeable == posed


@pytest.mark.parametrize("word", ["", "example.org", "10.0.0.1/8", "unix:nobody-here", "unix:", "unix:\0"])
def test_what_is_no_proxy(word: str) -> None:
    with pytest.raises(UserError, match="write unix:USER"):
        parse_proxies([word])


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer x", "x"), ("bearer  x ", "x"), ("Basic x", ""), ("Bearer", ""), ("", ""), ("BearerX", "")],
)
def test_bearer_tokens(header: str, token: str) -> None:
    assert RequestEvidence(headers={"authorization": header}).bearer == token


def test_cookies_go_by_their_whole_name() -> None:
    evidence = RequestEvidence(headers={"cookie": "xsession=1; session=2;session=3; flag"})
    assert (evidence.cookie("session"), evidence.cookie("flag"), evidence.cookie("ssion")) == ("2", "", "")


@given(st.text())
def test_any_header_can_be_read(text: str) -> None:
    evidence = RequestEvidence(headers={"cookie": text, "authorization": text})
    assert isinstance(evidence.cookie("session") + evidence.bearer, str)
