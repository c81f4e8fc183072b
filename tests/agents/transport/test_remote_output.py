from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.agents.transport.remote_output import (
    MAX_OUTPUT_BYTES,
    OutputQuery,
    PeerReply,
    output_reply,
    read_output_reply,
    read_query,
)
from cosched.connector.jobs import Output
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

UUID = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"
QUERY = OutputQuery(UUID, "out", limit=4)


@given(
    st.builds(
        OutputQuery,
        st.from_regex(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", fullmatch=True),
        st.sampled_from(("out", "err")),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
        st.integers(-(10**17), 10**17),
        st.integers(1, MAX_OUTPUT_BYTES),
    )
)
def test_a_question_comes_back_as_it_was(query: OutputQuery) -> None:
    assert read_query(query.path) == query


@given(st.text() | st.text().map(lambda text: f"/output?task={UUID}&stream=out&{text}"))
def test_whatever_is_asked_ends_in_a_question_or_in_one_line(path: str) -> None:
    said = ""
    try:
        read_query(path)
    except UserError as error:
        said = str(error)
    assert "\n" not in said


@pytest.mark.parametrize(
    "path",
    [
        "/output",
        f"/output?task={UUID}",
        f"/output?task={UUID}&stream=log",
        f"/output?task={UUID.upper()}&stream=out",
        f"/output?task={UUID}&stream=out&rank=-1",
        f"/output?task={UUID}&stream=out&limit=0",
        f"/output?task={UUID}&stream=out&limit={MAX_OUTPUT_BYTES + 1}",
        f"/output?task={UUID}&stream=out&offset=1e3",
        f"/output?task={UUID}&stream=out&offset={'9' * 19}",
        f"/output?task={UUID}&stream=out&file=/etc/passwd",
        f"/../output?task={UUID}&stream=out",
        f"/output?task={UUID}&stream=out&rank={'0' * 3000}",
    ],
)
def test_what_is_no_question_is_refused(path: str) -> None:
    with pytest.raises(UserError):
        read_query(path)


@pytest.mark.parametrize("found", [None, Output(b"", 0, 0), Output(b"\xff\0", 7, 9)])
def test_an_answer_comes_back_as_it_was(found: Output | None) -> None:
    assert read_output_reply(output_reply(found), QUERY) == found


HEADERS = {"Cosched-Offset": "0", "Cosched-Size": "9"}


@pytest.mark.parametrize(
    ("status", "body", "headers", "words"),
    [
        (404, b"no task", {}, "404: no task"),
        (200, b"1234", {}, "which part"),
        (200, b"1234", HEADERS | {"Cosched-Size": "x"}, "which part"),
        (200, b"12345", HEADERS, "larger"),
        (200, b"1234", HEADERS | {"Cosched-Offset": "6"}, "contradicts"),
        (200, b"1234", HEADERS | {"Cosched-Offset": "-1"}, "contradicts"),
    ],
)
def test_a_lie_is_no_answer(status: int, body: bytes, headers: Mapping[str, str], words: str) -> None:
    with pytest.raises(SystemFault, match=re.escape(words)):
        read_output_reply(PeerReply(status, body, headers), QUERY)
