from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from cosched.coscheduler.events import SubmitFailed, TaskSubmitted, Tick
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.recording.lines import (
    CutLine,
    RecordedEvent,
    RecordedStart,
    RecordingWriter,
    read_recording,
)
from cosched.coscheduler.recording.replay import ReplayedEvent, replay
from cosched.errors import UserError
from tests.coscheduler.makers import a_core, a_task


def recorded_lines() -> list[bytes]:
    """Return a recording of a core that dispatches two tasks and loses the answer to one."""
    core, writer = a_core(), RecordingWriter()
    lines = [writer.start(core.settings, 0.0, core.snapshot())]
    for number in (1, 2):
        event = TaskSubmitted(1.0, a_task(number, [3.0], owner="ann"))
        lines.append(writer.handled(event, core.handle(event)))
    lost = SubmitFailed(2.0, next(iter(core.attempts)), "no answer", transient=True)
    lines.append(writer.handled(lost, core.handle(lost)))
    return "".join(lines).encode().splitlines(keepends=True)


def replayed(lines: list[bytes]) -> list[ReplayedEvent]:
    return [each for each in replay(read_recording(lines, "file")) if isinstance(each, ReplayedEvent)]


def test_a_recording_replays_and_says_what_was_decided() -> None:
    events = replayed(recorded_lines())
    assert all(each.same for each in events)
    assert [each.decided for each in events[:2]] == [("dispatch task 1 on node01",), ("dispatch task 2 on node02",)]
    assert [each.recorded.decided for each in events] == [each.decided for each in events]


def test_a_changed_event_is_the_first_that_differs() -> None:
    lines = recorded_lines()
    document = json.loads(lines[3])
    document["event"]["task"]["profile"]["seconds"] = [5.0]
    lines[3] = json.dumps(document).encode() + b"\n"
    assert [each.same for each in replayed(lines)] == [True, False, True]


def test_a_core_that_failed_on_an_event_is_recorded_and_fails_again() -> None:
    core = a_core()
    lines = [RecordingWriter().start(core.settings, 0.0, core.snapshot())]
    lines.append(RecordingWriter().handled(TaskSubmitted(1.0, a_task(1, deadline=math.nan, after=("1",))), None))
    (only,) = replayed("".join(lines).encode().splitlines(keepends=True))
    assert only.recorded.digest == ""
    assert only.same == (only.failure is not None)


def test_a_line_cut_at_the_end_or_before_a_start_is_passed_over() -> None:
    lines = recorded_lines()
    cut = lines[-1][:-9]
    entries = list(read_recording([*lines[:-1], cut + b"\n", *lines, cut], "file"))
    assert [type(each) for each in entries] == [
        *(RecordedStart, RecordedEvent, RecordedEvent, CutLine),
        *(RecordedStart, RecordedEvent, RecordedEvent, RecordedEvent, CutLine),
    ]


def test_settings_are_written_whole_so_that_another_version_does_not_put_its_own() -> None:
    head = json.loads(recorded_lines()[0])
    assert head["settings"].keys() >= {"margin", "quantile", "weights"}
    assert head["settings"]["weights"].keys() >= {"makespan", "idle"}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: [], "file is not a recording"),
        (lambda lines: [b"\x7fELF\n"], "file is not a recording"),
        (lambda lines: [b'{"a": 1}\n'], "file is not a recording"),
        (lambda lines: lines[1:], "file is not a recording"),
        (
            lambda lines: [lines[0].replace(b'"recording":1', b'"recording":9'), *lines[1:]],
            "is a recording of format 9, by cosched .*, which reads format 1: replay it with that version",
        ),
        (lambda lines: [*lines[:2], b"{\n", *lines[2:]], "file:3: this line cannot be read"),
        (lambda lines: [*lines[:2], b"{}\n"], "file:3: this line is not what a recording has here"),
        (lambda lines: [lines[0], *lines[2:]], "file:2: this line is not what a recording has here"),
        (lambda lines: [*lines[:3], lines[3].replace(b"TaskSubmitted", b"Party")], "file:4: .*none of"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_in_one_line(spoil: object, message: str) -> None:
    assert callable(spoil)
    with pytest.raises(UserError, match=message) as refusal:
        list(read_recording(spoil(recorded_lines()), "file"))
    assert "\n" not in str(refusal.value)


def test_a_quiet_event_is_short() -> None:
    core = a_core()
    event = Tick(1700000000.25)
    assert len(RecordingWriter().handled(event, core.handle(event))) < 90


def test_a_recording_of_before_plans_were_values_replays_to_the_same_decisions() -> None:
    """Its events have `order`, `counts` and `classes`, its snapshots host counts and classes by task."""
    earlier = (Path(__file__).parent / "earlier_forms.jsonl").read_bytes().splitlines(keepends=True)
    events = replayed(earlier)
    assert [each.number for each in events if each.decided] == [5, 7, 8]
    assert all(each.decided == each.recorded.decided for each in events)
    assert events[5].core.plan == TaskPlan(("3", "1", "2"), (1, 1, 1), ("slow", "fast", ""))
