from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.documents import AccountChange, TokenRequest
from cosched.api.problems import RequestError
from cosched.portal.request_bodies import RequestBody

TOKEN = RequestBody(TokenRequest, "a token", {"note": {"maxLength": 9}})


@given(st.builds(TokenRequest, user=st.text(), note=st.text(), lifetime=st.floats(0, 1e9), scopes=st.tuples(st.text())))
def test_a_document_arrives_as_it_was_sent(request_: TokenRequest) -> None:
    assert TOKEN.read(json.dumps(asdict(request_)).encode()) == request_


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "the body is not JSON"),
        (b"[]", 422, "a token is a JSON object"),
        (b'{"usr": "x"}', 422, "unknown key 'usr': a token has user, role"),
        (b'{"lifetime": "3"}', 422, "lifetime is '3'"),
        (b'{"lifetime": 1e999}', 422, "lifetime is"),
        (b'{"scopes": "read"}', 422, "scopes is 'read'"),
        (b'{"user": 1, "role": 2, "note": 3, "lifetime": "x"}', 422, "user is '1'"),
    ],
)
def test_a_mistake_is_one_clear_line(body: bytes, status: int, said: str) -> None:
    with pytest.raises(RequestError) as refused:
        TOKEN.read(body)
    assert (refused.value.status, said in str(refused.value), "\n" in str(refused.value)) == (status, True, False)


@given(st.binary(max_size=60))
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    with suppress(RequestError):
        assert isinstance(TOKEN.read(body), TokenRequest)


def test_the_schema_is_whole_in_itself_and_has_the_bounds() -> None:
    assert TOKEN.schema["properties"]["note"]["maxLength"] == 9
    assert "$ref" not in json.dumps(RequestBody(AccountChange, "a change").schema)
    assert TOKEN.description["requestBody"]["required"] is True
