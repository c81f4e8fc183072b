from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.scheduling.formats.swf import parse_swf, read_swf

if TYPE_CHECKING:
    from pathlib import Path

JOB = [1, 0, 5, 60, 4, -1, -1, 4, 120, -1, 1, 7, 7, -1, -1, -1, -1, -1]


def line(**fields: object) -> str:
    names = {"number": 0, "submitted": 1, "seconds": 3, "allocated": 4, "wanted": 7, "requested": 8}
    values: list[object] = list(JOB)
    for name, value in fields.items():
        values[names[name]] = value
    return " ".join(map(str, values))


def test_header_and_jobs() -> None:
    trace = parse_swf(
        f"; Version: 2.2\n; MaxProcs: 128\n;\n; Note: uses EASY\n{line()}\n\n{line(number=2, allocated=-1, wanted=3)}\n"
    )
    assert trace.header == {"Version": "2.2", "MaxProcs": "128", "Note": "uses EASY"}
    assert trace.processors == 128
    first, second = trace.records
    assert (first.number, first.submitted, first.seconds, first.processors, first.requested) == (1, 0, 60, 4, 120)
    assert second.processors == 3


def test_whole_seconds_do_not_make_whole_numbers_of_all_times_after_them() -> None:
    (record,) = parse_swf(line()).records
    assert [type(time) for time in (record.submitted, record.seconds, record.requested)] == [float] * 3


def test_jobs_that_never_ran_are_counted_and_left_out() -> None:
    trace = parse_swf("\n".join([line(), line(number=2, seconds=-1), line(number=3, allocated=0, wanted=-1)]))
    assert (len(trace.records), trace.left_out) == (1, 2)
    assert trace.processors == 4  # no header: the widest job


def test_a_user_who_asked_for_no_time() -> None:
    assert parse_swf(line(requested=-1)).records[0].requested is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3", "line 1: 3 fields: a job has 18"),
        (f"; x\n{line(seconds='ten')}", "line 2, field 4 (run time): 'ten': give a whole number of 0 or more"),
        (line(seconds="1.5"), "field 4 (run time): '1.5'"),
        (line(seconds="1_0"), "field 4 (run time): '1_0'"),
        (line(seconds="٣"), "field 4 (run time): '\\u0663'"),
        (line(allocated=-2), "field 5 (allocated processors): '-2'"),
        (line(seconds="9" * 5000), "field 4 (run time): '9999"),
        (line(submitted=-1), "field 2 (submit time): -1 is not known"),
        (f"{line(submitted=9)}\n{line(number=2, submitted=8)}", "line 2, field 2 (submit time): 8 is before the line"),
        (f"{line()}\n{line()}", "line 2, field 1 (job number): 1 is there twice"),
        ("; nothing\n", "there is no job that ran in it"),
    ],
)
def test_a_bad_line_is_refused_by_number_and_field(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_swf(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 200


jobs = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(-1, 500), st.integers(-1, 64), st.integers(-1, 900)),
    min_size=1,
    max_size=20,
)


@given(jobs)
def test_what_is_written_is_read(drawn: list[tuple[int, int, int, int]]) -> None:
    drawn.sort(key=lambda job: job[0])
    lines = [
        line(number=number, submitted=when, seconds=seconds, allocated=wide, wanted=-1, requested=asked)
        for number, (when, seconds, wide, asked) in enumerate(drawn)
    ]
    ran = [job for job in drawn if job[1] > 0 and job[2] > 0]
    if not ran:
        with pytest.raises(UserError):
            parse_swf("\n".join(lines))
        return
    trace = parse_swf("\n".join(lines))
    assert [(r.submitted, r.seconds, r.processors, r.requested or -1) for r in trace.records] == [
        (when, seconds, wide, asked if asked > 0 else -1) for when, seconds, wide, asked in ran
    ]
    assert trace.left_out == len(drawn) - len(ran)


@given(st.text(alphabet="0123456789 .-;\n:eEnaif\t", max_size=200))
def test_anything_at_all_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        jobs = len(parse_swf(text).records)
    except UserError as error:
        fault = str(error)
    else:
        fault = "none" if jobs else ""
    assert re.fullmatch(r"[^\n]+", fault)


def test_files_plain_and_packed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.swf", tmp_path / "b.swf.gz"
    plain.write_text(line())
    packed.write_bytes(gzip.compress(line().encode()))
    assert read_swf(plain) == read_swf(packed)
    plain.write_text("1")
    with pytest.raises(UserError, match=r"a\.swf: line 1: 1 fields"):
        read_swf(plain)
