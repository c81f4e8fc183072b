from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi import Request

from cosched.api.documents import HostView
from cosched.portal.responses import DocumentResponder
from tests.documents import host

HOSTS = DocumentResponder[list[HostView]](list[HostView])


def asked(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": raw})


def test_a_document_is_json_with_a_tag_of_its_content() -> None:
    first, same, other = (HOSTS.tagged(asked(), [host(name)]) for name in ("a", "a", "b"))
    body: Any = json.loads(bytes(first.body))
    assert body[0]["name"] == "a"
    assert first.headers["ETag"] == same.headers["ETag"] != other.headers["ETag"]
    assert first.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("given", "status"),
    [("{tag}", 304), ("W/{tag}", 304), ('"x", {tag}', 304), ("*", 304), ('"x"', 200), ("", 200), ("tag", 200)],
)
def test_what_somebody_has_is_not_sent_again(given: str, status: int) -> None:
    tag = HOSTS.tagged(asked(), [host("a")]).headers["ETag"]
    answer = HOSTS.tagged(asked(if_none_match=given.replace("{tag}", tag)), [host("a")])
    assert (answer.status_code, bool(answer.body)) == (status, status == 200)
    assert answer.headers["ETag"] == tag
