from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.setbacks import Setbacks
from cosched.coscheduler.elastic.values import SetbackRecord, WorkRecord
from cosched.coscheduler.recording.codec import Codec
from cosched.coscheduler.recording.snapshot import ElasticSnapshot

WORKER = Attempt("uuid", "1", ("node02",), 1, None, created=0.0, worker=3, state=AttemptState.FAILED, exit_code=1)
SETTLE = 5.0


def failed(setbacks: Setbacks, began: float | None, time: float) -> None:
    setbacks.note(replace(WORKER, started=began), SETTLE, time)


def test_each_setback_doubles_the_pause_up_to_ten_minutes() -> None:
    setbacks, time, pauses = Setbacks(), 0.0, []
    for _ in range(9):
        failed(setbacks, time, time)
        pauses.append(setbacks.records["1"].until - time)
        assert setbacks.pauses("1", setbacks.records["1"].until - 0.1)
        time = setbacks.records["1"].until
        assert not setbacks.pauses("1", time)
    assert pauses == pytest.approx([10, 20, 40, 80, 160, 320, 600, 600, 600])
    assert setbacks.records["1"].count == 9
    assert setbacks.records["1"].last == "worker 3 on node02: it ended with code 1"


def test_a_worker_that_never_began_is_a_setback() -> None:
    setbacks = Setbacks()
    failed(setbacks, None, 100.0)
    assert setbacks.pauses("1", 100.0)


def test_workers_that_fail_at_once_are_not_tried_for_ever_where_nothing_is_to_settle() -> None:
    setbacks = Setbacks()
    for time in (100.0, 102.0):
        setbacks.note(replace(WORKER, started=time), 0.0, time)
        assert setbacks.pauses("1", time + 1.9)
    assert setbacks.records["1"].count == 2
    setbacks.note(replace(WORKER, started=110.0), 0.0, 112.0)
    assert not setbacks.records


def test_one_that_has_worked_for_a_while_ends_the_row() -> None:
    setbacks = Setbacks()
    failed(setbacks, 0.0, 1.0)
    failed(setbacks, 20.0, 20.0 + SETTLE)
    assert not setbacks.records


def test_ended_tasks_are_forgotten() -> None:
    setbacks = Setbacks()
    failed(setbacks, 0.0, 1.0)
    setbacks.keep({"2"})
    assert not setbacks.pauses("1", 1.0)


def test_recordings_of_before_have_setbacks_among_the_work() -> None:
    work = {"done": 3.0, "time": 4.0, "total": 60.0, "settled": 24.0}
    document = {"work": {"1": {**work, "setbacks": 2, "setback": "it ended"}, "2": work}, "drain": 1.5}
    found = Codec().read(document, ElasticSnapshot)
    record = WorkRecord(3.0, 4.0, 60.0, settled=24.0)
    setbacks = {"1": SetbackRecord(2, 24.0, "it ended")}
    assert found == ElasticSnapshot({"1": record, "2": record}, 1.5, setbacks=setbacks)
    assert Codec().read(Codec().write(found, ElasticSnapshot), ElasticSnapshot) == found
