from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.api.documents import AccountChange, TaskRequest, TokenRequest
from cosched.api.problems import RequestError
from cosched.portal.request_bodies import MOST_TASKS, RequestBody, read_requests, requests_digest

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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["application", "command", "parameters", "deadline", "hosts", "profile", "name", "environment"])


def test_too_many_at_once_are_refused() -> None:
    with pytest.raises(RequestError, match="are too many at once: send at most 10000"):
        read_requests(b"[" + b"{}," * MOST_TASKS + b"{}]")


@given(JSON | st.dictionaries(KEYS, JSON, max_size=4))
def test_any_json_is_read_or_refused(document: Any) -> None:
    with suppress(RequestError):
        for request in read_requests(json.dumps(document).encode()):
            assert isinstance(request, TaskRequest)


@given(st.permutations(["application", "hosts", "name", "deadline"]))
def test_the_digest_does_not_depend_on_the_order_of_keys(keys: list[str]) -> None:
    values = {"application": "a", "hosts": 2, "name": "n", "deadline": 5.0}
    body = json.dumps({key: values[key] for key in keys}).encode()
    assert requests_digest(read_requests(body)) == requests_digest(read_requests(json.dumps(values).encode()))


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (b"[" + b",".join([b"1"] * 1_000_000) + b"]", "1000000 tasks are too many at once"),
        (b"{" + b",".join(b'"k%d":1' % number for number in range(100_000)) + b"}", "100000 keys in one object"),
        (b'[{"command":[' + b",".join([b"1"] * 100_000) + b"]}]", "100000 elements in one list"),
        (b'{"native":{"settings":{' + b",".join(b'"k%d":1' % n for n in range(100_000)) + b"}}}", "100000 elements"),
    ],
)
def test_a_body_with_very_many_faults_is_refused_by_its_size(body: bytes, refusal: str) -> None:
    """Each fault took room and time of its own: a request of 14 MiB took 7 GB, and the daemon down."""
    with pytest.raises(RequestError, match=refusal):
        read_requests(body)


def test_a_list_is_validated_up_to_its_first_faulty_task() -> None:
    tasks = b",".join([b'{"command":7,"hosts":true}'] * 10_000)
    with pytest.raises(RequestError) as refused:
        read_requests(b"[" + tasks + b"]")
    assert str(refused.value).startswith("task 1 of the list: command is '7'")
    assert "hosts is 'True'" in str(refused.value)


def test_the_digest_of_a_request_is_that_of_before_tasks_could_be_launched_once() -> None:
    """A key that was given to an earlier version is known again after an upgrade."""
    plain = read_requests(b'{"application": "sweep3d", "hosts": "2-4"}')
    assert requests_digest(plain) == "42d8c26b347d1a4cceb699fcb0209faa943880f47be220b7faaa445c219c8595"
    once = read_requests(b'{"application": "sweep3d", "hosts": "2-4", "launch": "once"}')
    assert requests_digest(once) != requests_digest(plain)
