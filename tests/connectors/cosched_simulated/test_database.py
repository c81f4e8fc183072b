"""The file of a simulated pool: whole turns, whoever dies, and clear words where it cannot be used."""

from __future__ import annotations

import os
import sqlite3
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, HostShare, JobState
from cosched_simulated.database import PoolDatabase
from cosched_simulated.pool import CANCELLED, SimulatedPool
from tests.connectors.cosched_simulated.makers import DONE, a_launch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.connector import JobReport, Launch
    from cosched_simulated.database import PoolTransaction


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "spool" / "pool.db"


@pytest.fixture
def book(file: Path) -> Iterator[PoolDatabase]:
    book = PoolDatabase(file)
    yield book
    book.close()


def submit(book: PoolDatabase, *launches: Launch) -> None:
    with book.transaction() as transaction:
        for launch in launches:
            transaction.submit(launch, 1.5, 10.0, DONE)


def fail(transaction: PoolTransaction, launch: Launch) -> None:
    transaction.submit(launch, 0.0, 1.0, DONE)
    transaction.write()
    raise OSError("no room")


def news(book: PoolDatabase, after: int = 0) -> tuple[int, list[JobReport]]:
    with book.transaction() as transaction:
        return transaction.changes_since(after)


def test_what_was_written_is_there_again(book: PoolDatabase, file: Path) -> None:
    launch = a_launch("h1", "h2", environment={"A": "b\nc"}, parameters={"n": 2.5, "m": "x"}, prepare=("/bin/true",))
    submit(book, launch, a_launch())
    with book.transaction() as transaction:
        started = tuple(job.start(("h1", "h2")[: job.count], 3.0) for job in transaction.pool.jobs)
        transaction.replace_pool(SimulatedPool(("h1", "h2"), 3.0, started))
        transaction.change(transaction.pool.jobs[0].stop(CANCELLED, 4.0, 2.0))
        kept = transaction.pool
    book.close()
    assert file.parent.stat().st_mode & 0o777 == 0o700
    again = PoolDatabase(file)
    with again.transaction() as transaction:
        assert transaction.pool == kept
        assert transaction.launch(launch.attempt) == launch
    again.close()


def test_jobs_that_have_ended_are_history(book: PoolDatabase) -> None:
    launch = a_launch("h1")
    submit(book, launch)
    with book.transaction() as transaction:
        transaction.change(transaction.pool.jobs[0].stop(CANCELLED, 2.0, 0.0))
    with book.transaction() as transaction:
        assert transaction.pool.jobs == ()
        job = transaction.job(launch.attempt)
        assert job is not None
        assert (job.state, job.ends) == (JobState.REMOVED, 2.0)
        transaction.change(replace(job, ends=4.0))
        assert transaction.job("another") is None
        assert transaction.launch("another") is None
    with book.transaction() as transaction:
        assert transaction.job(launch.attempt) == replace(job, ends=4.0)


def test_a_fence_is_remembered(book: PoolDatabase) -> None:
    launch = a_launch()
    with book.transaction() as transaction:
        transaction.fence(launch.attempt)
    with book.transaction() as transaction:
        job = transaction.job(launch.attempt)
        assert job is not None
        assert (job.state, job.count) == (JobState.REMOVED, 0)
        assert transaction.launch(launch.attempt) is None


def test_news_are_what_changed_and_no_more(book: PoolDatabase) -> None:
    one, two = a_launch("h1"), a_launch("h2")
    submit(book, one, two)
    last, told = news(book)
    assert [report.attempt for report in told] == [one.attempt, two.attempt]
    assert news(book, last) == (last, [])
    with book.transaction() as transaction:
        transaction.change(transaction.pool.jobs[0].start(("h1",), 2.0))
        later, told = transaction.changes_since(last)
        assert [(report.attempt, report.state) for report in told] == [(one.attempt, JobState.RUNNING)]
    assert news(book, last) == (later, told)
    assert news(book, later) == (later, [])


def test_a_turn_that_fails_leaves_nothing(book: PoolDatabase) -> None:
    launch = a_launch()
    with pytest.raises(ConnectorError, match="no room"), book.transaction() as transaction:
        fail(transaction, launch)
    assert news(book) == (0, [])
    submit(book, launch)
    assert len(news(book)[1]) == 1


def test_jobs_that_ended_long_ago_are_forgotten(book: PoolDatabase) -> None:
    launches = [a_launch() for _ in range(4)]
    submit(book, *launches)
    with book.transaction() as transaction:
        for job, ends in zip(transaction.pool.jobs[:2], (5.0, 50.0), strict=True):
            transaction.change(job.stop(CANCELLED, ends, 0.0))
        transaction.change(transaction.pool.jobs[2].start(("h1",), 2.0))
    with book.transaction() as transaction:
        transaction.forget(20.0)
    with book.transaction() as transaction:
        known = [transaction.job(launch.attempt) is not None for launch in launches]
    assert known == [False, True, True, True]
    submit(book, a_launch())
    with book.transaction() as transaction:
        assert [job.number for job in transaction.pool.jobs] == [3, 4, 5]


def test_a_process_that_dies_between_any_two_statements_leaves_all_or_nothing(file: Path) -> None:
    """The contract's crashes cannot see what SQLite does to its file: here they come before each statement."""
    launches = [a_launch(), a_launch()]
    for step in range(40):
        child = os.fork()
        if not child:
            submit_and_die(file, launches, step)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        book = PoolDatabase(file)
        submitted = len(news(book)[1])
        book.close()
        if code == 0:
            assert submitted == 2
            assert step > 8
            return
        assert (code, submitted) in ((17, 0), (17, 2))
        for leftover in file.parent.iterdir():
            leftover.unlink()
    pytest.fail("a transaction has more than 40 statements")


def submit_and_die(file: Path, launches: list[Launch], step: int) -> None:
    """Submit in a process that ends before the statement of this number; never returns."""
    connect = sqlite3.connect
    left = iter(range(step))

    def traced(*arguments: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)  # type: ignore[call-overload]  # any
        connection.set_trace_callback(lambda _: None if next(left, None) is not None else os._exit(17))
        return connection

    try:
        sqlite3.connect = traced  # type: ignore[assignment]  # this process ends with it
        submit(PoolDatabase(file), *launches)
        os._exit(0)
    finally:
        os._exit(18)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"this is no database, however long it may be", "not a database"), (b"", None)],
)
def test_a_file_that_is_none_is_named_with_what_to_do(file: Path, content: bytes, words: str | None) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    book = PoolDatabase(file)
    if words is None:
        assert news(book) == (0, [])
    else:
        with pytest.raises(ConnectorError, match=f"{words}.*pool.db: make room.*move it away") as caught:
            news(book)
        assert caught.value.transient
    book.close()


def test_a_file_of_before_jobs_shared_hosts_goes_on(book: PoolDatabase, file: Path) -> None:
    submit(book, a_launch())
    book.close()
    with sqlite3.connect(file) as connection:
        for name in ("memory", "cores", "gpus"):
            connection.execute(f"ALTER TABLE jobs DROP COLUMN {name}")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    shared = a_launch(shared=True, cores=3, gpus=1)
    submit(book, shared)
    with book.transaction() as transaction:
        first, second = transaction.pool.jobs
    assert (first.share, second.share) == (None, HostShare(0, 3, 1))


def test_a_newer_file_is_refused_and_left_as_it_is(book: PoolDatabase, file: Path) -> None:
    submit(book, a_launch())
    book.close()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(ConnectorError, match=r"another cosched wrote it \(version 7, not 2\)"):
        news(book)
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (1,)
    connection.close()


def test_who_opens_the_file_waits_for_who_makes_it(book: PoolDatabase, file: Path) -> None:
    """In SQLite's mode WAL one of two processes that opened a new file at the same time was told that it is locked."""
    file.parent.mkdir()
    maker = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    maker.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, maker.execute, ["COMMIT"])
    timer.start()
    assert news(book) == (0, [])
    timer.join()
    maker.close()


def test_a_spool_that_cannot_be_made_is_an_error_that_may_pass(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file")
    with pytest.raises(ConnectorError, match="cannot be used"):
        news(PoolDatabase(tmp_path / "spool" / "pool.db"))
