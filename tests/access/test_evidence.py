from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.access.proxies import RequestEvidence


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
