"""The exactly-once checker finds each fault it is there for, and none in a good history."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import JobState, Launch
from cosched_simulated.database import PoolDatabase
from cosched_simulated.pool import CANCELLED, JobOutcome
from tests.history import Line, Outage, faults, read, read_pool

if TYPE_CHECKING:
    from pathlib import Path


def attempt(name: str, task: str, hosts: tuple[str, ...], begin: float, end: float | None) -> list[Line]:
    """Make the lines of one attempt; killed where there is no end."""
    starts = [Line("start", name, task, rank, len(hosts), hosts, begin) for rank in range(len(hosts))]
    return starts if end is None else starts + [replace(line, kind="end", time=end) for line in starts]


GOOD = [
    *attempt("a", "1", ("h1", "h2"), 0.0, 4.0),
    *attempt("b", "2", ("h3",), 1.0, None),
    *attempt("c", "2", ("h1",), 4.0, 9.0),
]


def test_a_good_history_has_no_faults() -> None:
    assert faults(GOOD, ["1", "2"]) == []


def test_a_cancelled_task_runs_once_at_most() -> None:
    cut, whole = attempt("d", "3", ("h4",), 0.0, None), attempt("e", "4", ("h5",), 0.0, 1.0)
    assert faults([*GOOD, *cut, *whole], ["1", "2"], ["3", "4", "5"]) == []
    again = attempt("f", "4", ("h5",), 2.0, 3.0)
    assert faults([*GOOD, *whole, *again], ["1", "2"], ["4"]) == ["task 4 completed 2 times: attempts e, f"]


@given(st.permutations(GOOD))
def test_the_order_of_lines_does_not_matter(lines: list[Line]) -> None:
    # Lines of the same moment keep their order, as one process writes them.
    assert faults(sorted(lines, key=lambda line: line.kind != "start"), ["1", "2"]) == []


def test_a_lost_task_is_found() -> None:
    assert faults(GOOD, ["1", "2", "3"]) == ["task 3 completed 0 times: attempts none"]


def test_a_task_nobody_submitted_is_found() -> None:
    assert faults(GOOD, ["1"]) == ["task 2 ran but was never submitted"]


def test_a_task_that_completed_twice_is_found() -> None:
    lines = [*GOOD, *attempt("d", "1", ("h4",), 20.0, 21.0)]
    assert faults(lines, ["1", "2"]) == ["task 1 completed 2 times: attempts a, d"]


@pytest.mark.parametrize(
    ("outage", "twice"),
    [
        (Outage("h4", 20.5, 30.0), False),  # killed as it ended: run again
        (Outage("h4", 21.5, 30.0), False),
        (Outage("h4", 23.0, 30.0), True),
        (Outage("h4", 10.0, 19.0), True),
        (Outage("h9", 20.5, 30.0), True),
    ],
)
def test_an_end_that_nobody_heard_of_is_no_completion(outage: Outage, twice: bool) -> None:
    lines = [*GOOD, *attempt("d", "3", ("h4",), 20.0, 21.0), *attempt("e", "3", ("h5",), 40.0, 41.0)]
    told = ["task 3 completed 2 times: attempts d, e"]
    assert faults(lines, ["1", "2", "3"], outages=[outage]) == (told if twice else [])


def test_a_rank_that_ran_twice_is_found() -> None:
    lines = [*GOOD, replace(GOOD[0], time=0.5)]
    assert any("rank 0 did not run once" in fault for fault in faults(lines, ["1", "2"]))


def test_an_end_without_a_start_is_found() -> None:
    assert any("rank 0 did not run once from start to end: end" in f for f in faults(GOOD[1:], ["1", "2"]))


def test_a_missing_rank_means_not_completed() -> None:
    lines = [line for line in GOOD if (line.attempt, line.rank) != ("a", 1)]
    assert faults(lines, ["1", "2"]) == ["task 1 completed 0 times: attempts a"]


def test_attempts_of_a_task_at_the_same_time_are_found() -> None:
    lines = [*GOOD, *attempt("d", "1", ("h4",), 3.0, None)]
    assert faults(lines, ["1", "2"]) == ["task 1 was run by a and d at the same time"]


def test_a_host_shared_by_two_attempts_is_found() -> None:
    lines = [*GOOD, *attempt("d", "3", ("h4", "h2"), 3.5, 5.0)]
    assert faults(lines, ["1", "2", "3"]) == ["host h2 worked for a and d at the same time"]


def test_an_attempt_that_changes_its_hosts_is_found() -> None:
    lines = [*GOOD[:-1], replace(GOOD[-1], hosts=("h9",))]
    assert faults(lines, ["1", "2"]) == ["attempt c changed its task, count or hosts"]


def test_unpinned_attempts_share_what_they_like() -> None:
    one, two = (Line("start", name, name, 0, 1, (), 0.0) for name in "xy")
    lines = [one, two, replace(one, kind="end", time=1.0), replace(two, kind="end", time=1.0)]
    assert faults(lines, ["x", "y"]) == []


def test_reading_gives_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    file.write_text(
        "".join(
            f"{line.kind}\t{line.attempt}\t{line.task}\t{line.rank}\t{line.count}\t{','.join(line.hosts)}\t{line.time}\n"
            for line in GOOD
        )
    )
    assert read(file) == GOOD


def test_unpinned_attempts_on_this_machine_have_no_host_of_their_own(tmp_path: Path) -> None:
    journal, here = tmp_path / "journal", os.uname().nodename
    journal.write_text("".join(f"start\t{name}\t{name}\t0\t2\t{here},{here}\t1.0\n" for name in "ab"))
    assert [line.hosts for line in read(journal)] == [(), ()]


def test_no_journal_is_an_empty_history(tmp_path: Path) -> None:
    assert read(tmp_path / "absent") == []


@pytest.mark.parametrize(
    "text",
    [
        "start\ta\t1\t0\t1\th1\t0.5",
        "start a 1 0 1 h1 0.5\n",
        "begin\ta\t1\t0\t1\th1\t0.5\n",
        "start\ta\t1\t1\t1\th1\t0\n",
        "start\ta\t1\t0\t2\th1\t0.5\n",
        "start\ta\t1\t0\tx\th1\t0.5\n",
        "\n",
    ],
)
def test_a_torn_line_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "journal").write_text(text)
    with pytest.raises(ValueError, match="journal"):
        read(tmp_path / "journal")


def test_the_history_of_a_simulated_pool_is_read_as_a_journal(tmp_path: Path) -> None:
    book = PoolDatabase(tmp_path / "pool.db")
    completed, killed, waited = (
        Launch(name, task, "x", ("/bin/true",)) for name, task in (("a", "1"), ("b", "2"), ("c", "3"))
    )
    with book.transaction() as pool:
        one, two, _ = (
            pool.submit(launch, 0.0, 5.0, JobOutcome(JobState.COMPLETED, 0)) for launch in (completed, killed, waited)
        )
        pool.change(one.start(("h1", "h2"), 1.0).end())
        pool.change(two.start(("h3",), 2.0).stop(CANCELLED, 3.0, 0.0).end())
    book.close()
    assert read_pool(tmp_path / "pool.db") == [
        *attempt("a", "1", ("h1", "h2"), 1.0, 6.0),
        *attempt("b", "2", ("h3",), 2.0, None),
    ]
