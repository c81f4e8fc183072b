from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest
from structlog.testing import capture_logs

from cosched.agents.broker import Broker
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import Event, HostsObserved, TaskSubmitted, Tick
from cosched.coscheduler.recording.lines import CutLine, RecordedEvent, RecordedStart, read_recording
from cosched.coscheduler.recording.replay import ReplayedEvent, replay
from cosched.daemon.recorder import Recorder, RecordingFiles
from tests.coscheduler.makers import a_core, a_task, hosts

if TYPE_CHECKING:
    from pathlib import Path


class Flight:
    """A core whose events are recorded in a folder."""

    def __init__(self, folder: Path, size: int = 10**6, files: int = 3) -> None:
        self.files = RecordingFiles(folder, size, files)
        core = a_core()
        self.recorder = Recorder(core, self.files)
        self.broker = Broker(core, record=self.recorder.handled)
        self.recorder.start()
        self.tell(HostsObserved(0.0, hosts(4)))  # the state is recorded after it

    def tell(self, *events: Event) -> None:
        for event in events:
            self.broker.handle(event)
            b"".join(self.recorder.blocks())  # so that it is written before the next one

    def land(self) -> None:
        self.recorder.stop()


def entries(content: bytes) -> list[RecordedStart | RecordedEvent | CutLine]:
    return list(read_recording(io.BytesIO(content), "recording"))


def test_events_are_recorded_in_order_in_a_private_file_and_replay(tmp_path: Path) -> None:
    flight = Flight(tmp_path / "recording")
    flight.tell(TaskSubmitted(1.0, a_task(1)), Tick(2.0))
    flight.land()
    (path,) = flight.files.paths()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    replayed = [each for each in replay(entries(path.read_bytes())) if isinstance(each, ReplayedEvent)]
    assert [each.recorded.event for each in replayed] == [TaskSubmitted(1.0, a_task(1)), Tick(2.0)]
    assert all(each.same for each in replayed)


def test_a_recording_that_somebody_keeps_under_another_name_is_left_alone(tmp_path: Path) -> None:
    """Nothing was recorded any more, as the number of the last file could not be read."""
    kept = tmp_path / "recording-of-the-night.jsonl"
    kept.touch()
    flight = Flight(tmp_path, size=1500, files=1)
    for number in range(40):
        flight.tell(TaskSubmitted(float(number), a_task(number)))
    flight.land()
    assert len(flight.files.paths()) == 1
    assert kept not in flight.files.paths()
    assert kept.exists()


def test_a_full_file_is_followed_by_one_that_replays_alone_and_the_oldest_goes(tmp_path: Path) -> None:
    flight = Flight(tmp_path, size=1500, files=2)
    for number in range(80):
        flight.tell(Tick(1.0 + number))
    flight.land()
    first, second = flight.files.paths()
    assert first.name > "recording-00000002"
    for path in (first, second):
        assert path.stat().st_size < 3500
        start, *events = entries(path.read_bytes())
        assert isinstance(start, RecordedStart)
        assert all(each.same for each in replay([start, *events]) if isinstance(each, ReplayedEvent))
    times = [each.event.time for each in entries(b"".join(flight.files.blocks())) if isinstance(each, RecordedEvent)]
    assert times == [float(number) for number in range(81 - len(times), 81)]


def test_a_state_longer_than_a_file_is_not_written_for_every_event(tmp_path: Path) -> None:
    flight = Flight(tmp_path, size=500, files=9)
    flight.tell(*(TaskSubmitted(1.0, a_task(number, [math.inf] * 99 + [5.0])) for number in range(1, 30)))
    before = len(flight.files.paths())
    flight.tell(*(Tick(2.0 + number) for number in range(30)))
    assert len(flight.files.paths()) <= before + 1
    flight.land()


def test_a_folder_that_cannot_be_written_stops_the_recording_alone_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched.daemon.recorder._AGAIN", 0.0)
    folder = tmp_path / "recording"
    folder.write_text("a file is in the way")
    with capture_logs() as logs:
        flight = Flight(folder)
        flight.tell(*(Tick(float(number)) for number in range(1, 9)))
        folder.unlink()
        flight.tell(Tick(10.0), Tick(11.0), Tick(12.0))
        flight.land()
    assert [line["event"] for line in logs] == ["events are not recorded", "recording again"]
    start, *events = entries(b"".join(flight.files.blocks()))
    assert isinstance(start, RecordedStart)
    assert isinstance(events[-1], RecordedEvent)
    assert events[-1].event == Tick(12.0)


def test_a_disk_that_is_full_for_long_costs_no_file_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched.daemon.recorder._AGAIN", 0.0)
    flight = Flight(tmp_path, files=2)
    flight.tell(Tick(1.0))
    with monkeypatch.context() as full:
        full.setattr("cosched.daemon.recorder.os.write", MagicMock(side_effect=OSError(28, "No space left on device")))
        flight.tell(*(Tick(2.0 + number) for number in range(9)))
    assert len(flight.files.paths()) == 1
    flight.tell(Tick(20.0), Tick(21.0))
    flight.land()
    found = [each.event.time for each in entries(b"".join(flight.files.blocks())) if isinstance(each, RecordedEvent)]
    assert (found[0], found[-1]) == (1.0, 21.0)


def test_an_event_on_which_the_core_fails_is_recorded_and_fails_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flight = Flight(tmp_path)
    monkeypatch.setattr(
        "cosched.coscheduler.dispatching.planned_starts.first_on_idle_hosts", MagicMock(side_effect=KeyError("mistake"))
    )
    with pytest.raises(KeyError):
        flight.tell(TaskSubmitted(1.0, a_task(1)))
    flight.land()
    content = b"".join(flight.files.blocks())
    last = list(replay(entries(content)))[-1]
    assert isinstance(last, ReplayedEvent)
    assert (last.recorded.digest, repr(last.failure), last.same) == ("", "KeyError('mistake')", True)
    monkeypatch.undo()
    mended = list(replay(entries(content)))[-1]
    assert isinstance(mended, ReplayedEvent)
    assert (mended.failure, mended.same) == (None, False)


def test_a_line_that_a_crash_cut_short_ends_like_the_others(tmp_path: Path) -> None:
    flight = Flight(tmp_path)
    flight.tell(Tick(1.0), Tick(2.0))
    flight.land()
    (path,) = flight.files.paths()
    path.write_bytes(path.read_bytes()[:-7])
    again = Flight(tmp_path)
    again.tell(Tick(3.0))
    again.land()
    found = entries(b"".join(again.files.blocks()))
    assert [type(each) for each in found] == [RecordedStart, RecordedEvent, CutLine, RecordedStart, RecordedEvent]


def test_a_recording_in_which_the_core_failed_stays_when_the_others_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flight = Flight(tmp_path, size=1500, files=2)
    with monkeypatch.context() as patch:
        patch.setattr(Coscheduler, "_take", MagicMock(side_effect=ZeroDivisionError))
        with pytest.raises(ZeroDivisionError):
            flight.tell(Tick(1.0))
    for number in range(80):
        flight.tell(Tick(2.0 + number))
    flight.land()
    assert "recording-00000001" not in {path.stem for path in flight.files.paths()}
    (kept,) = tmp_path.glob("mistake-*.jsonl")
    assert (kept.name, kept.stat().st_mode & 0o777) == ("mistake-00000001.jsonl", 0o600)
    replayed = [each for each in replay(entries(kept.read_bytes())) if isinstance(each, ReplayedEvent)]
    assert [each.recorded.event.time for each in replayed if not each.recorded.digest] == [1.0]
