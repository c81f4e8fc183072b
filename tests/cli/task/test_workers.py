from __future__ import annotations

from dataclasses import replace

from cosched.api.documents import PromiseView, WorkersView, WorkerView
from cosched.cli.task.workers import WORKER_HEADINGS, lead_lines, promise_lines, worker_rows

WORKER = WorkerView(
    worker=3,
    host="node05",
    state="leaving",
    promised=False,
    since=0.0,
    finished=None,
    leave_by=60.0,
    job="7.0",
    reason="task 2 starts on node05",
)
FOUND = WorkersView(
    task="1",
    state="running",
    host="node01",
    lead="here:\x1b[31m1",
    drains=True,
    promised=("node02",),
    promised_end=3600.0,
    expected_end=60.0,
    workers=(WORKER,),
)


def test_a_worker_is_a_row_with_its_host_and_why_it_leaves() -> None:
    (row,) = worker_rows(FOUND)
    assert len(row) == len(WORKER_HEADINGS)
    assert row[:4] == ("3", "node05", "leaving", "lent")
    assert row[6] == "task 2 starts on node05"
    assert row[5].startswith("1970-01-01")


def test_the_lead_is_shown_with_both_ends_and_without_control_characters() -> None:
    lines = lead_lines(FOUND)
    assert [line.partition(":")[0] for line in lines] == ["state", "lead", "promised", "promised end", "expected end"]
    assert "\x1b" not in "".join(lines)
    assert "node02" in lines[2]


def test_the_path_of_a_leads_keys_is_not_shown() -> None:
    found = replace(FOUND, lead="tls://192.0.2.2:45041#/spool/7/mailbox/answers/dask")
    assert lead_lines(found)[1].endswith(", at tls://192.0.2.2:45041")


def test_both_ends_are_said_for_each_number_of_promised_hosts() -> None:
    fewer = PromiseView(
        hosts=2, start=0.0, promised_end=3600.0, expected_end=1800.0, meets_deadline=False, planned=False
    )
    more = PromiseView(hosts=12, start=60.0, promised_end=600.0, expected_end=600.0, meets_deadline=True, planned=True)
    head, *rows = promise_lines([fewer, more])
    assert head.split("  ")[0] == "promised hosts"
    assert head.index("promised end") < head.index("expected end")
    assert [row.split()[0] for row in rows] == ["2", "12"]
    assert rows[0].endswith("misses its deadline")
    assert rows[1].endswith("planned")
    assert len({row.index("1970-01-01") for row in rows}) == 1
    assert promise_lines([]) == []


def test_a_task_that_is_lent_nothing_has_one_end() -> None:
    only = PromiseView(hosts=2, start=0.0, promised_end=60.0, expected_end=None, meets_deadline=None, planned=True)
    head, row = promise_lines([only])
    assert head.split() == ["hosts", "starts", "end"]
    assert row.count("1970-01-01") == 2
    assert row.endswith("planned")
