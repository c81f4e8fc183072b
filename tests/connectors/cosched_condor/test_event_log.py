"""Reading the job event log; the events are as HTCondor 25 gives them."""

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

from cosched.connector import JobReport, JobState
from cosched_condor import htcondor_worker
from cosched_condor import job_events as module
from cosched_condor.event_log import EventLogFiles, EventLogReader, submit_note
from cosched_condor.job_ads import hosts_of_ad
from cosched_condor.job_events import LogEvents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched_condor.htcondor_client import CondorClient

_SUBMIT, _EXECUTE, _EVICTED, _TERMINATED, _IMAGE_SIZE = 0, 1, 4, 5, 6
_ABORTED, _HELD, _RELEASED, _NODE_EXECUTE = 9, 12, 13, 14
_DISCONNECTED, _RECONNECTED, _RECONNECT_FAILED = 22, 23, 24


def _event(number: int, second: int = 0, rank: int = 0, **values: object) -> dict[str, Any]:
    time = f"2026-01-31T12:00:{second:02d}.500"
    return {"EventTypeNumber": number, "Cluster": 7, "Proc": rank, "EventTime": time, "Utc": True, **values}


def _submitted(count: int = 1) -> list[dict[str, Any]]:
    return [_event(_SUBMIT, 0, rank, LogNotes=submit_note("a", count, rank)) for rank in range(count)]


def _states(reports: list[JobReport]) -> list[str]:
    return [report.state.value for report in reports]


_ENDED = _event(_TERMINATED, 9, TerminatedNormally=True, ReturnValue=0)


def test_a_life() -> None:
    events = [*_submitted(), _event(_RELEASED), _event(_EXECUTE, 3), _event(_IMAGE_SIZE, 5), _ENDED]
    reports = EventLogReader().read(events)
    assert _states(reports) == ["queued", "running", "completed"]
    last = reports[-1]
    assert (last.attempt, last.job, last.exit_code) == ("a", "7.0", 0)
    assert last.started == 1769860803.5
    assert last.finished == 1769860809.5


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")  # the rule itself: needs no zone database
        time.tzset()
        yield
    time.tzset()


_HALF_PAST_TWO = 1_824_942_600.0  # 2027-10-31 in Berlin, where the hour comes once more


def _local(number: int, clock: str, **values: Any) -> dict[str, Any]:
    return {**_event(number, **values), "EventTime": f"2027-10-31T{clock}:00", "Utc": False}


@pytest.mark.usefixtures("berlin")
def test_a_job_ends_after_its_start_in_the_night_the_clocks_go_back() -> None:
    """It had ended ten minutes before its start, an hour before its end, and a late task passed for one in time."""
    note = submit_note("a", 1, 0)
    ended = _local(_TERMINATED, "02:20", TerminatedNormally=True, ReturnValue=0)
    *_, last = EventLogReader().read([_local(_SUBMIT, "02:29", LogNotes=note), _local(_EXECUTE, "02:30"), ended])
    assert (last.started, last.finished) == (_HALF_PAST_TWO, _HALF_PAST_TWO + 50 * 60)


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize("later", [0, 3600])
def test_an_event_that_has_just_been_written_is_of_now(monkeypatch: pytest.MonkeyPatch, later: int) -> None:
    monkeypatch.setattr("cosched_condor.event_log.time.time", lambda: _HALF_PAST_TWO + later + 1)
    note = submit_note("a", 1, 0)
    *_, last = EventLogReader().read([_local(_SUBMIT, "01:15", LogNotes=note), _local(_EXECUTE, "02:30")])
    assert last.started == _HALF_PAST_TWO + later


@pytest.mark.parametrize(
    ("slot", "slot_hosts", "host"),
    [
        ("slot2@a.org", False, "a.org"),
        ("slot2@a.org", True, "slot2@a.org"),
        ("slot1_12@a.org", True, "a.org"),
        ("slot1@own@a.org", True, "slot1@own@a.org"),
        ("slot1_2@own@a.org", True, "a.org"),
    ],
)
def test_a_job_runs_on_a_machine_or_on_the_static_slot_that_is_a_host(slot: str, slot_hosts: bool, host: str) -> None:
    note = submit_note("a", 1, 0, slot_hosts=slot_hosts)
    reports = EventLogReader().read([_event(_SUBMIT, LogNotes=note), _event(_EXECUTE, 3, SlotName=slot)])
    assert reports[-1].hosts == (host,)
    ad = {"RemoteHost": slot, **({"CoschedSlotHosts": True} if slot_hosts else {})}
    assert hosts_of_ad(ad) == (host,)


def test_a_group_runs_when_all_run() -> None:
    log = EventLogReader()
    assert _states(log.read([*_submitted(2), _event(_EXECUTE, 1, 0)])) == ["queued"]
    assert _states(log.read([_event(_EXECUTE, 2, 1)])) == ["running"]


def test_a_release_that_is_logged_after_the_start_does_not_forget_the_start() -> None:
    reports = EventLogReader().read([*_submitted(), _event(_EXECUTE, 3), _event(_RELEASED, 3), _ENDED])
    assert _states(reports) == ["queued", "running", "completed"]
    assert reports[-1].started == 1769860803.5


def test_a_group_starts_with_the_last_of_its_processes() -> None:
    reports = EventLogReader().read([*_submitted(2), _event(_EXECUTE, 1, 0), _event(_EXECUTE, 4, 1)])
    assert _states(reports) == ["queued", "running"]
    assert reports[-1].started == 1769860804.5


def test_a_parallel_job_whose_first_node_ended_before_the_last_began_has_a_start() -> None:
    """HTCondor writes no start of the job then."""
    began = [_event(_NODE_EXECUTE, 3, Node=0), _event(_NODE_EXECUTE, 4, Node=1)]
    reports = EventLogReader().read([*_submitted(), *began, _ENDED])
    assert _states(reports) == ["queued", "completed"]
    assert reports[-1].started == 1769860804.5


def test_a_parallel_job_runs_when_all_of_its_nodes_do() -> None:
    began = [_event(_NODE_EXECUTE, 3, Node=0), _event(_NODE_EXECUTE, 4, Node=1), _event(_EXECUTE, 5)]
    reports = EventLogReader().read([*_submitted(), *began])
    assert _states(reports) == ["queued", "running"]
    assert reports[-1].started == 1769860805.5


def test_a_signal_is_128_and_its_number() -> None:
    ended = _event(_TERMINATED, 9, TerminatedNormally=False, TerminatedBySignal=15)
    assert EventLogReader().read([*_submitted(), _event(_EXECUTE), ended])[-1].exit_code == 143


def test_being_submitted_on_hold_is_not_being_held() -> None:
    held = _event(_HELD, HoldReasonCode=15, HoldReason="submitted on hold")
    assert _states(EventLogReader().read([*_submitted(), held, _event(_RELEASED)])) == ["queued"]


def test_held_and_released_by_hand() -> None:
    held = _event(_HELD, 4, HoldReasonCode=1, HoldReason="by hand")
    reports = EventLogReader().read([*_submitted(), held, _event(_RELEASED, 6)])
    assert [(report.state.value, report.reason) for report in reports[-2:]] == [("held", "by hand"), ("queued", "")]


def test_a_job_that_is_held_while_it_runs_begins_no_second_time() -> None:
    held = _event(_HELD, 4, HoldReasonCode=1, HoldReason="by hand")
    reports = EventLogReader().read([*_submitted(), _event(_EXECUTE), held, _event(_RELEASED, 6)])
    assert [report.state.value for report in reports] == ["queued", "running", "held", "evicted"]


@pytest.mark.parametrize("number", [_EVICTED, _DISCONNECTED, _RECONNECT_FAILED])
def test_a_lost_host_evicts(number: int) -> None:
    reports = EventLogReader().read([*_submitted(), _event(_EXECUTE), _event(number, 4, Reason="host lost")])
    assert (reports[-1].state, reports[-1].reason) == (JobState.EVICTED, "host lost")


def test_a_restarted_scheduler_does_not_evict() -> None:
    away = _event(_DISCONNECTED, 4, DisconnectReason="Local schedd and job shadow died, schedd now running again")
    events = [*_submitted(), _event(_EXECUTE), away, _event(_RECONNECTED, 5)]
    assert _states(EventLogReader().read(events)) == ["queued", "running"]


def test_an_eviction_that_leads_to_a_hold_of_one_process_of_a_group_is_left_out() -> None:
    begun = [_event(_EXECUTE, 3, rank) for rank in (0, 1)]
    held = [_event(_EVICTED, 4, 1), _event(_HELD, 4, 1, HoldReasonCode=26, HoldReason="too large")]
    read = EventLogReader().read([*_submitted(2), *begun, *held])
    reports = EventLogReader.without_transient_evictions(read)
    assert [report.state.value for report in reports] == ["queued", "running", "running"]
    assert reports[-1].reason == "rank 1 is held: too large"


def test_an_eviction_that_leads_to_a_removal_is_left_out() -> None:
    events = [*_submitted(), _event(_EXECUTE), _event(_EVICTED, 4), _event(_ABORTED, 5, Reason="by hand")]
    assert _states(EventLogReader.without_transient_evictions(EventLogReader().read(events))) == [
        "queued",
        "running",
        "removed",
    ]


def test_a_group_that_is_removed_one_by_one_is_removed_once() -> None:
    ends = [_event(number, 4, rank) for rank in (0, 1) for number in (_EVICTED, _ABORTED)]
    events = [*_submitted(2), _event(_EXECUTE, 1, 0), _event(_EXECUTE, 1, 1), *ends]
    assert _states(EventLogReader.without_transient_evictions(EventLogReader().read(events))) == [
        "queued",
        "running",
        "removed",
    ]


def test_what_has_ended_stays_ended() -> None:
    reports = EventLogReader().read([*_submitted(), _event(_EXECUTE), _ENDED, _event(_ABORTED, 12)])
    assert _states(reports)[-1] == "completed"


def test_other_peoples_events_are_passed_over() -> None:
    strangers = [_event(_SUBMIT, LogNotes="DAG Node: B"), _event(_EXECUTE), {"EventTypeNumber": 45, "Cluster": 7}]
    assert EventLogReader().read(strangers) == []


def test_local_time_is_read_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [*_submitted(), {**_event(_EXECUTE), "Utc": False}]
    started = EventLogReader().read(events)[-1].started
    assert started is not None
    assert (started - 1769860800.5) % 900 == 0  # every zone is a multiple of a quarter of an hour away


def test_attempts_of_one_cluster_are_told_apart() -> None:
    """Three processes: attempt a on two hosts, attempt b on one; events come in any order after the submission."""
    notes = [submit_note("a", 2, 0), submit_note("a", 2, 1), submit_note("b", 1, 0)]
    log = EventLogReader()
    log.read(_event(_SUBMIT, 0, number, LogNotes=words) for number, words in enumerate(notes))
    reports = log.read([_event(_EXECUTE, 1, 2), _event(_EXECUTE, 2, 1), _event(_EXECUTE, 3, 0)])
    assert [(report.attempt, report.job, report.state.value) for report in reports] == [
        ("b", "7.2", "running"),
        ("a", "7.0", "running"),
    ]
    ends = log.read([_event(_TERMINATED, 9, rank, TerminatedNormally=True, ReturnValue=rank) for rank in (1, 2, 0)])
    assert [(report.attempt, report.exit_code) for report in ends] == [("b", 2), ("a", 1)]


def test_notes_without_a_rank_are_of_a_cluster_with_one_attempt() -> None:
    reports = EventLogReader().read([_event(_SUBMIT, 0, rank, LogNotes="cosched a 2") for rank in range(2)])
    assert [(report.attempt, report.job) for report in reports] == [("a", "7.0")]


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

    def __getstate__(self) -> tuple[dict[str, object], int]:
        return {}, sum(len(line) + 1 for line in self._file.read_text().splitlines()[: self._taken])


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
