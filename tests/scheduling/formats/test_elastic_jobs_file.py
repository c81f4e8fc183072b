from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.elastic_jobs_file import ElasticBounds, read_elastic_jobs

if TYPE_CHECKING:
    from pathlib import Path

JOBS = {1, 2, 3}


def read(folder: Path, text: str) -> dict[int, ElasticBounds]:
    path = folder / "jobs.csv"
    path.write_text(text, encoding="utf-8")
    return read_elastic_jobs(path, JOBS)


def test_columns_may_come_in_any_order_and_some_be_empty_or_missing(tmp_path: Path) -> None:
    found = read(tmp_path, "cost,most,Job,least,preferred\n1.5,8,1,2,4\n\n,9,3,1,\n0,4,2,4,4\n")
    assert found == {1: ElasticBounds(2, 8, 4, 1.5), 3: ElasticBounds(1, 9), 2: ElasticBounds(4, 4, 4, 0.0)}
    assert read(tmp_path, "job,least,most\n") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: no column 'job': give a column job, least, most each"),
        ("job,least\n1,2\n", "line 1: no column 'most': give a column"),
        ("job,least,most,hosts\n", "line 1: 'hosts' is no column, or there twice: give"),
        ("job,least,most,most\n", "line 1: 'most' is no column, or there twice: give"),
        ("job,least,most\n1,2\n", "line 2: 2 fields: give 3, as the first line does"),
        ("job,least,most\n9,1,2\n", "line 2, job: 9 is no job of the trace that ran: leave it out"),
        ("job,least,most\n1,1,2\n1,1,2\n", "line 3, job: 1 is there twice: keep one line"),
        ("job,least,most\nx,1,2\n", "line 2, job: 'x': give a whole number from 0 to"),
        ("job,least,most\n1,0,2\n", "line 2, least: '0': give a whole number from 1 to"),
        ("job,least,most\n1,3,2\n", "line 2, most: '2': give a whole number from 3 to"),
        ("job,least,most,preferred\n1,2,4,5\n", "line 2, preferred: '5': give a whole number from 2 to 4"),
        ("job,least,most,cost\n1,2,4,-1\n", "line 2, cost: '-1': give seconds from 0 to"),
        ("job,least,most,cost\n1,2,4,nan\n", "line 2, cost: 'nan': give seconds from 0 to"),
        ("job,least,most,cost\n1,2,4,soon\n", "line 2, cost: 'soon': give seconds from 0 to"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as refusal:
        read(tmp_path, text)
    assert str(refusal.value).startswith(f"{tmp_path / 'jobs.csv'}: {message}")
