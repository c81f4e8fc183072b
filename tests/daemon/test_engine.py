from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.dispatching.planned_starts import PlannedStarts
from cosched.coscheduler.events import HostsObserved, JobReported
from cosched.coscheduler.task import TaskState
from cosched.store import KeyedSubmission, StoreFault
from cosched.store.database import RefusedError
from tests.changes import changed
from tests.daemon.lives import a_request
from tests.daemon.makers import Daemon, daemon
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from cosched.coscheduler.changes import Changes
    from cosched.coscheduler.task import Task


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    monkeypatch.setattr("cosched.store.database._BUSY_MILLISECONDS", 20)
    with daemon(tmp_path, staging=0.0) as running:
        yield running


def accept(here: Daemon, key: str = "") -> Future[tuple[Task, ...]]:
    return here.inbox.accept([a_request([5.0])], KeyedSubmission(key, "digest", (), 0.0) if key else None)


def until_faulty(here: Daemon) -> None:
    until(lambda: here.inbox.store_fault)


def test_a_locked_database_delays_and_nothing_is_done_before_it_is_written(here: Daemon, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "cosched.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = accept(here)
    until_faulty(here)
    assert "is locked by another program" in here.inbox.store_fault
    assert not answer.done()
    assert not here.manager.submitted
    other.execute("ROLLBACK")
    other.close()
    (task,) = answer.result(60)
    assert here.store.task(task.id) is not None
    here.inbox.ask(lambda _core, _time: None).result(60)
    assert [attempt.task for attempt, _ in here.manager.submitted] == [task.id]
    assert here.inbox.store_fault == ""


def test_a_submission_that_nobody_waits_for_any_more_is_not_taken_in(here: Daemon, tmp_path: Path) -> None:
    """Whoever was told to try again would have it twice."""
    other = sqlite3.connect(tmp_path / "cosched.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    begun = accept(here)
    until_faulty(here)
    waiting = accept(here)
    assert not begun.cancel()
    assert waiting.cancel()
    other.close()
    assert len(begun.result(60)) == 1
    assert len(accept(here, "key").result(60)) == 1
    assert sum(here.store.counts().values()) == 2


def test_a_full_disk_delays_and_nothing_is_done_before_it_is_written(here: Daemon) -> None:
    pages = set_most_pages(here, 1)
    big = [a_request([5.0])] * 2000
    answer = here.inbox.accept(big)
    until_faulty(here)
    assert "disk is full" in here.inbox.store_fault
    assert here.store.counts()[TaskState.QUEUED] == 0
    assert not here.manager.submitted
    until = time.monotonic() + 60
    while not answer.done() and time.monotonic() < until:  # each connection has a limit of its own
        set_most_pages(here, pages)
    assert len(answer.result(0)) == len(big)


def set_most_pages(here: Daemon, pages: int) -> int:
    """Let the database grow to so many pages, as far as one of its connections goes; return how far it could before."""
    with here.store._engine.connect() as connection:
        before = connection.exec_driver_sql("PRAGMA max_page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    return int(before)


def test_the_engine_ends_when_told_to_although_the_database_cannot_be_written(here: Daemon, tmp_path: Path) -> None:
    """To wait for the database would be to wait to be killed; nothing was done of what is not written."""
    other = sqlite3.connect(tmp_path / "cosched.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = accept(here)
    until_faulty(here)
    here.engine.stop()
    other.close()
    assert here.engine not in threading.enumerate()
    assert here.engine.failed is None
    assert not answer.done()
    assert not here.manager.submitted


def test_a_mistake_in_beginning_anew_ends_the_engine(here: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon whose core has stopped must not go on answering."""
    failed = threading.Event()
    here.engine.subscribe_failure(failed.set)

    def mistake(*_arguments: Any) -> None:
        raise IndexError("of a kind that nobody thought of")

    monkeypatch.setattr(Coscheduler, "handle", mistake)
    here.inbox.post(HostsObserved(here.clock.now(), ()))
    assert failed.wait(60)
    assert isinstance(here.engine.failed, IndexError)


def test_a_record_that_the_database_refuses_ends_the_engine(here: Daemon) -> None:
    """Two daemons on one database give one number twice; the second tried to write its task for ever."""
    failed = threading.Event()
    here.engine.subscribe_failure(failed.set)
    (other,) = accept(here).result(60)
    here.store.commit(changed([replace(other, id="another", number=other.number + 1)]))
    accept(here)
    assert failed.wait(60)
    assert isinstance(here.engine.failed, RefusedError)


def test_time_goes_by_for_the_core_however_much_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asked every few milliseconds kept tasks from leaving for as long as it did."""
    monkeypatch.setattr("cosched.daemon.engine._TICK", 0.05)
    with daemon(tmp_path, staging=0.1) as here:
        accept(here).result(60)
        until = time.monotonic() + 60
        while not here.manager.submitted:
            here.inbox.ask(lambda _core, _time: None).result(60)
            assert time.monotonic() < until


def test_of_jobs_that_end_together_the_core_looks_once_at_what_is_free(
    here: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look decodes the plan: 31.5 ms on 256 shared hosts, 6 s for 200 jobs of one report."""
    here.inbox.apply(HostsObserved(here.clock.now(), tuple(Host(f"node{each}") for each in range(8)))).result(60)
    first = here.inbox.accept([a_request([5.0])] * 8).result(60)
    here.inbox.ask(lambda _core, _time: None).result(60)
    running = [attempt for attempt, _ in here.manager.submitted]
    assert [attempt.task for attempt in running] == [task.id for task in first]
    more = here.inbox.accept([a_request([5.0])] * 8).result(60)
    looks, genuine = [], PlannedStarts.now
    monkeypatch.setattr(PlannedStarts, "now", lambda *given: looks.append(given[-1]) or genuine(*given))  # type: ignore[func-returns-value]
    asked, answered = threading.Event(), threading.Event()

    def wait(_core: Coscheduler, _time: float) -> bool:
        asked.set()
        return answered.wait(60)

    busy = here.inbox.ask(wait)  # so that all of them come in one batch
    assert asked.wait(60)
    now = here.clock.now()
    for attempt in running:
        done = JobReport(attempt.uuid, JobState.COMPLETED, started=now - 5.0, finished=now, exit_code=0)
        here.inbox.post(JobReported(now, done))
    answered.set()
    assert busy.result(60)
    here.inbox.ask(lambda _core, _time: None).result(60)
    assert looks.count(now) <= 1  # the clock's tick may have come in its place, and others after it
    assert [attempt.task for attempt, _ in here.manager.submitted] == [task.id for task in (*first, *more)]


def test_a_question_that_fails_fails_for_the_one_who_asked(here: Daemon) -> None:
    with pytest.raises(ZeroDivisionError):
        here.inbox.ask(lambda _core, _time: 1 / 0).result(60)
    assert accept(here).result(60)


def test_tasks_taken_in_together_have_numbers_in_a_row_and_so_goes_a_restart(tmp_path: Path) -> None:
    for start in (1, 4):
        with daemon(tmp_path, staging=1000.0) as here:
            tasks = here.inbox.accept([a_request([5.0])] * 3, KeyedSubmission(f"key-{start}", "d", (), 0.0)).result(60)
            assert [task.number for task in tasks] == [start, start + 1, start + 2]
            submission = here.store.by_key(f"key-{start}")
            assert submission is not None
            assert submission.tasks == tuple(task.id for task in tasks)


def test_a_submission_that_could_not_be_written_leaves_nothing(here: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, faults = here.store.commit, [StoreFault("full"), StoreFault("full")]

    def fragile(changes: Changes) -> None:
        if faults:
            raise faults.pop()
        commit(changes)

    monkeypatch.setattr(here.store, "commit", fragile)
    assert [task.id for task in accept(here, "key").result(60)] == ["1"]
    assert here.store.counts()[TaskState.QUEUED] + here.store.counts()[TaskState.DISPATCHING] == 1
