from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi import Request

from cosched.access import Principal, ProofOfIdentity, Role
from cosched.api.problems import RequestError
from cosched.portal.routes.tasks import _MOST_QUERIES, TaskResponses
from cosched.store.store import TaskSelection
from tests.portal.test_application import Recorder

ANN = Principal("ann", Role.USER, how=ProofOfIdentity.SOCKET)
LISTING = TaskSelection((), None, ""), 5, 0


@pytest.fixture
def answers() -> TaskResponses:
    return TaskResponses(Recorder())


def asked(query: bytes) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": query})


def test_what_a_query_means_is_remembered_of_few_and_short_ones(answers: TaskResponses) -> None:
    answers.page(asked(b"limit=5"), ANN, LISTING)
    answers.page(asked(b"x" * 10_000), ANN, LISTING)
    assert (answers.listing(b"limit=5"), answers.listing(b"x" * 10_000)) == (LISTING, None)
    for number in range(2 * _MOST_QUERIES):
        answers.page(asked(str(number).encode()), ANN, LISTING)
    known = [number for number in range(2 * _MOST_QUERIES) if answers.listing(str(number).encode()) is not None]
    assert len(known) == _MOST_QUERIES - 1


@pytest.mark.parametrize(("body", "kind"), [(b' {"command": ["/bin/true"]}', dict), (b'\n[{"command": ["/x"]}]', list)])
@pytest.mark.parametrize(("dry_run", "status"), [(False, 201), (True, 200)])
def test_one_is_answered_by_itself_and_a_list_by_a_list(
    answers: TaskResponses, body: bytes, kind: type, dry_run: bool, status: int
) -> None:
    answer = answers.submit(ANN, body, "", dry_run=dry_run)
    found: Any = json.loads(bytes(answer.body))
    assert (answer.status_code, type(found)) == (status, kind)


@pytest.mark.parametrize("key", ["a key", "\x7f", "ü", "k" * 256, "a\nb"])
def test_a_key_is_short_and_printable(answers: TaskResponses, key: str) -> None:
    with pytest.raises(RequestError, match="Idempotency-Key must be"):
        answers.submit(ANN, b"{}", key)
