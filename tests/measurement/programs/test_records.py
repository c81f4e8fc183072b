from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.measurement.programs.records import Block, Message, ObservedRun, read_records, record_line

LINE = (
    '{"schema":1,"application":"heat","digest":"sha256:0","parameters":{"nx":512,"ny":512},"hosts":1,"processors":2,'
    '"class":"node_a","started":1795349562.1,"wall":0.00321,"cpu":[0.0031,0.0030],"delay":0.00001,"rss":9437184,'
    '"shim":true,"calls":61,"blocks":[{"id":"wait>irecv","rank":0,"visits":18,'
    '"quantiles":[0.000168,0.000181,0.000195]}],"messages":[{"site":"irecv","kind":"exchange","rank":0,"peer":"+1",'
    '"bytes":4096,"count":20}],"loops":"2*(10*(irecv isend wait) allreduce)"}'
)
TIMES = st.floats(0, 1e8)
COUNTS = st.integers(0, 10**15)
TEXTS = st.text(st.characters(categories=("L", "N", "P")), max_size=12)
BLOCKS = st.builds(
    Block,
    TEXTS,
    st.integers(0, 999),
    COUNTS,
    st.tuples(TIMES, TIMES, TIMES).map(lambda times: tuple(sorted(times))),
)
MESSAGES = st.builds(Message, TEXTS, TEXTS, st.integers(0, 999), TEXTS, st.floats(0, 1e15), COUNTS)
RECORDS = st.builds(
    ObservedRun,
    TEXTS,
    TEXTS,
    st.dictionaries(TEXTS, st.floats(-1e15, 1e15), max_size=3),
    st.integers(1, 999),
    st.integers(1, 999),
    TEXTS,
    st.floats(0, 1e10),
    st.floats(1e-9, 1e8),
    st.lists(TIMES, max_size=3).map(tuple),
    TIMES,
    COUNTS,
    st.booleans(),
    COUNTS,
    st.lists(BLOCKS, max_size=2).map(tuple),
    st.lists(MESSAGES, max_size=2).map(tuple),
    TEXTS,
)


@given(st.lists(RECORDS, max_size=3))
def test_what_is_written_is_read(records: list[ObservedRun]) -> None:
    assert read_records("".join(map(record_line, records)), "runs.jsonl") == records


def test_the_published_form_is_read() -> None:
    (found,) = read_records(LINE + "\n\n", "runs.jsonl")
    assert (found.hardware, found.processors, found.parameters["nx"]) == ("node_a", 2, 512)
    assert found.blocks[0].quantiles[1] == 0.000181
    assert found.messages[0].peer == "+1"
    assert found.undisturbed
    assert json.loads(record_line(found)) == {**json.loads(LINE), "startup": 0.0, "task": False}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wall": 0}, "wall is 0: it must be"),
        ({"wall": -1}, "wall is -1"),
        ({"wall": float("nan")}, "wall is nan"),
        ({"wall": 1e308}, r"wall is 1e\+308"),
        ({"wall": 10**400}, "int too large"),
        ({"wall": "fast"}, "wall is 'fast', no number"),
        ({"wall": True}, "wall is 'True', no number"),
        ({"schema": 2}, "its schema is 2, and this cosched knows 1"),
        ({"colour": 1}, "'colour' is not known"),
        ({"hosts": 1.5}, "hosts is 1.5: it must be a whole number"),
        ({"hosts": 0}, "hosts is 0"),
        ({"parameters": [1]}, "parameters is no object"),
        ({"parameters": {"nx": None}}, "nx is 'None', no number"),
        ({"class": "a\u0007b"}, "class is no plain text"),
        ({"shim": 1}, "shim is '1': it must be true or false"),
        ({"cpu": 3}, "cpu is no list"),
        ({"blocks": [{"id": "a", "rank": 0, "visits": 1, "quantiles": [3, 2, 1]}]}, "not three ascending times"),
        ({"blocks": [{"id": "a", "rank": 0, "visits": 1}]}, "it lacks 'quantiles'"),
        ({"messages": [3]}, "messages is no object"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(change: dict[str, Any], said: str) -> None:
    line = json.dumps(json.loads(LINE) | change)
    with pytest.raises(UserError, match=f"runs.jsonl:2: this is no record of a run: .*{said}") as caught:
        read_records(f"{LINE}\n{line}\n", "runs.jsonl")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("line", ["{", "3", "null", "[" * 100_000, '{"schema":1}', "nx,ny"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(UserError, match=r"runs.jsonl:1: this is no record of a run"):
        read_records(line, "runs.jsonl")


@given(st.text(max_size=40))
def test_any_text_gives_records_or_one_line(text: str) -> None:
    said = ""
    try:
        read_records(text, "runs.jsonl")
    except UserError as error:
        said = str(error)
    assert "\n" not in said
