from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.attempts.attempt import Attempt
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import Event, HostsObserved, JobReported, ScheduleImproved, TaskSubmitted
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.recording.codec import Codec, Omitted, RecordError
from cosched.coscheduler.task import Task
from tests.coscheduler.makers import a_task, on_both, settings
from tests.tasks import change_task

if TYPE_CHECKING:
    from collections.abc import Mapping

CODEC = Codec()
FULL = change_task(
    on_both(7, [4.0, math.inf], [9.0, 8.5], owner="ann", deadline=1e9 / 3, after=("1", "2")),
    parameters={"n": math.inf, "inf": "inf", "size": 3.0},
)


def through_json(value: object, kind: object) -> object:
    return CODEC.read(json.loads(json.dumps(CODEC.write(value, kind), allow_nan=False)), kind)


@pytest.mark.parametrize(
    "event",
    [
        TaskSubmitted(1.5, FULL),
        TaskSubmitted(-math.inf, a_task(1, None)),
        HostsObserved(2.0, (Host("a", "fast", free_at=0.1 + 0.2), Host("b", up=False, reason="down"))),
        JobReported(3.0, JobReport("uuid", JobState.EVICTED, hosts=("a",), exit_code=0)),
        ScheduleImproved(4.0, TaskPlan(("2", "1"), (2, 1), ("", "fast")), bound=math.inf),
    ],
)
def test_an_event_is_the_same_after_json(event: Event) -> None:
    assert through_json(event, Event) == event


def test_a_number_that_is_none_stays_one() -> None:
    attempt = through_json(Attempt("u", "1", ("a",), 1, math.nan, created=0.0), Attempt)
    assert isinstance(attempt, Attempt)
    assert attempt.predicted is not None
    assert math.isnan(attempt.predicted)


def test_what_has_its_default_is_left_out_unless_wanted() -> None:
    assert CODEC.write(Host("a"), Host) == {"name": "a"}
    assert Codec(defaults=True).write(settings(), CoreSettings)["margin"] == 0.05


def test_a_rule_changes_or_omits_a_field() -> None:
    codec = Codec({("Task", "owner"): str.upper, ("Task", "parameters"): Omitted})
    document = codec.write(FULL, Task)
    assert document["owner"] == "ANN"
    assert "parameters" not in document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"type": "Party", "time": 1.0}, "'Party' is none of Restored, TaskSubmitted"),
        ({"type": "Tick"}, "missing 1 required positional argument"),
        ({"type": "Tick", "time": "soon"}, "'soon' is no number"),
        ({"type": "Tick", "time": True}, "True is no number"),
        ({"type": "Tick", "time": 1.0, "place": 1}, "Tick has no 'place'"),
        ({"type": "HostsObserved", "time": 1.0, "hosts": {}}, "is not a list"),
        ({"type": "CancelRequested", "time": 1.0, "task": 7}, "7 is not a text"),
        (["Tick"], "is not an object"),
    ],
)
def test_a_document_of_another_kind_is_refused(document: object, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        CODEC.read(document, Event)


def test_a_type_that_no_record_has_is_named() -> None:
    @dataclass
    class Odd:
        values: Mapping[str, complex]

    with pytest.raises(RecordError, match="complex"):
        CODEC.read({}, Odd)
