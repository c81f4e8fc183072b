"""Logs that follow each other: nothing is lost, nothing told twice, and none stays for ever."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import time
import types
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cosched.connector import JobState
from cosched_condor import htcondor_worker
from cosched_condor import job_events as module
from cosched_condor.event_log import EventLogFiles, submit_note
from cosched_condor.job_events import LogEvents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched_condor.htcondor_client import CondorClient

_LARGEST = 600


@pytest.fixture
def logs(tmp_path: Path) -> EventLogFiles:
    return EventLogFiles(tmp_path, lambda: 0o770, _LARGEST)


def test_a_large_log_is_followed_by_another_after_a_restart_too(logs: EventLogFiles, tmp_path: Path) -> None:
    logs.prepare()
    assert logs.current.name == "events.log"
    assert logs.current.stat().st_mode & 0o777 == 0o660
    logs.current.write_text("x" * (_LARGEST + 1))
    logs.prepare()
    assert logs.current.name == "events.1.log"
    again = EventLogFiles(tmp_path, lambda: 0o770, _LARGEST)
    assert again.current == logs.current
    again.current.write_text("x" * (_LARGEST + 1))
    again.prepare()
    assert [log.name for log in again.all()] == ["events.log", "events.1.log", "events.2.log"]


def test_a_folder_that_is_not_there_is_no_error_before_it_is_made(tmp_path: Path) -> None:
    logs = EventLogFiles(tmp_path / "no" / "such", lambda: 0o700)
    assert logs.current == tmp_path / "no" / "such" / "events.log"
    assert logs.all() == []
    (tmp_path / "no" / "such").mkdir(parents=True)
    (tmp_path / "no" / "such" / "events.7.log").touch()
    (tmp_path / "no" / "such" / "events.07.log").touch()  # somebody else's
    assert logs.current.name == "events.7.log"


def test_what_is_over_goes_and_what_is_current_or_young_stays(logs: EventLogFiles, tmp_path: Path) -> None:
    for number in (0, 1, 2, 3):
        (tmp_path / (f"events.{number}.log" if number else "events.log")).touch()
    hours = time.time() - 7200
    for name in ("events.log", "events.1.log", "events.3.log"):
        os.utime(tmp_path / name, (hours, hours))
    assert logs.delete_ended(lambda log: log.name == "events.log", keep=86400.0) == [tmp_path / "events.1.log"]
    assert [log.name for log in logs.all()] == ["events.log", "events.2.log", "events.3.log"]
    assert logs.delete_ended(lambda _log: True, keep=3600.0) == [tmp_path / "events.log"]


class _Reader:
    """Reads events, one JSON object a line, as HTCondor's library reads its own form."""

    def __init__(self, name: str) -> None:
        self._file = Path(name)
        self._taken = 0

    def events(self, _wait: float) -> Iterator[Any]:
        for line in self._file.read_text().splitlines()[self._taken :]:
            self._taken += 1
            yield _Event(json.loads(line))


class _Event(dict[str, Any]):
    def __str__(self) -> str:
        return "000 (007.000.000) 2026-01-31 12:00:00Z"


class _Listening:
    """A worker process without the process."""

    def __init__(self) -> None:
        self._manager = object.__new__(htcondor_worker._CondorVerbs)
        self._manager._library = types.SimpleNamespace(JobEventLog=_Reader)
        self._manager._logs = {}

    def call(self, _verb: str, wait: float, **arguments: Any) -> Any:
        return self._manager.follow(logs=arguments["logs"], timeout=0.0 * wait)


class Rotation(RuleBasedStateMachine):
    """Jobs come and end while logs are begun, read, tidied up, and cosched is restarted."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._root = Path(self._folder.name)
        self._numbers = itertools.count(1)
        self._jobs: dict[str, tuple[int, Path]] = {}  # attempts that live, with their cluster and log
        self._ended: set[str] = set()
        self._told: list[str] = []  # since the last restart
        self._known: set[str] = set()
        self._restarted()

    def teardown(self) -> None:
        self._folder.cleanup()

    def _restarted(self) -> None:
        self._logs = EventLogFiles(self._root, lambda: 0o700, _LARGEST)
        self._news = LogEvents(cast("CondorClient", _Listening()), self._logs, keep=1e9)
        self._told = []

    @rule(count=st.integers(1, 4))
    def submit(self, count: int) -> None:
        log = self._logs.current
        for _ in range(count):
            attempt, cluster = str(uuid.uuid4()), next(self._numbers)
            self._logs.prepare()
            self._write(log, cluster, EventTypeNumber=0, LogNotes=submit_note(attempt, 1, 0))
            self._jobs[attempt] = (cluster, log)

    @precondition(lambda self: self._jobs)
    @rule(place=st.integers(0, 20))
    def end(self, place: int) -> None:
        attempt = list(self._jobs)[place % len(self._jobs)]
        cluster, log = self._jobs.pop(attempt)
        assert log.exists()
        self._write(log, cluster, EventTypeNumber=5, TerminatedNormally=True, ReturnValue=0)
        self._ended.add(attempt)

    @rule()
    def read(self) -> None:
        while reports := self._news.read(0.0):
            self._told += [report.attempt for report in reports if report.state is JobState.COMPLETED]
        self._known |= set(self._told)
        assert self._ended <= self._known

    @rule()
    def an_hour_passes(self) -> None:
        for log in self._logs.all():
            then = log.stat().st_mtime - 3600
            os.utime(log, (then, then))

    @rule()
    def tidy(self) -> None:
        self._news._logs_checked = -module._LOG_CHECK_PERIOD
        self._news._delete_ended_logs()

    @rule()
    def read_and_tidy_after_an_hour(self) -> None:
        self.read()
        self.an_hour_passes()
        self.read()
        self.tidy()
        in_use = {log for _, log in self._jobs.values()} | {self._logs.current}
        assert set(self._logs.all()) <= in_use

    @rule()
    def restart(self) -> None:
        self._restarted()

    @invariant()
    def nothing_is_told_twice(self) -> None:
        assert len(self._told) == len(set(self._told))

    def _write(self, log: Path, cluster: int, **values: Any) -> None:
        event = {"Cluster": cluster, "Proc": 0, "EventTime": "2026-01-31T12:00:00", **values}
        with log.open("a") as file:
            file.write(json.dumps(event) + "\n")


TestRotation = Rotation.TestCase
