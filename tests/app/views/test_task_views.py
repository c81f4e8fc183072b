from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from cosched.app.views.task_views import listed_view, profile_view, task_detail, task_view
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.task import TaskState
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import LogEntry, Store
from tests.changes import changed
from tests.store.new_database import new_database
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from pathlib import Path


TASK = make_task(
    7,
    name="n",
    application="sweep3d",
    submitted=10.0,
    profile=Profile((5.0, math.inf, 2.0), PredictionSource.MODEL, "hw"),
    count=2,
)


@pytest.mark.parametrize(
    ("state", "finished", "deadline", "on_time"),
    [
        (TaskState.COMPLETED, 20.0, 20.0, True),
        (TaskState.COMPLETED, 20.1, 20.0, False),
        (TaskState.COMPLETED, 20.0, None, None),
        (TaskState.FAILED, 20.0, 30.0, None),
        (TaskState.RUNNING, None, 30.0, None),
    ],
)
def test_on_time_is_said_of_what_completed(
    state: TaskState, finished: float | None, deadline: float | None, on_time: bool | None
) -> None:
    assert task_view(change_task(TASK, state=state, finished=finished, deadline=deadline)).on_time is on_time


def test_a_task_shows_its_hosts_or_how_many_it_asks_for() -> None:
    assert task_view(TASK).count == 2
    assert task_view(change_task(TASK, hosts=("a", "b", "c"))).count == 3


def test_all_that_is_known_is_json() -> None:
    attempt = Attempt("u", "7", ("h1",), 1, 2.0, 11.0, AttemptState.HELD, reason="no licence")
    detail = task_detail(TASK, [attempt], [LogEntry(10.0, "submitted", "7", "sweep3d n")])
    document = json.loads(json.dumps(asdict(detail), allow_nan=False))
    assert document["profile"] == {
        "seconds": [5.0, None, 2.0],
        "source": "model",
        "hardware": "hw",
        "low": None,
        "high": None,
        "runs": 0,
        "stated": None,
        "explores": False,
        "changed": 0,
        "classes": [],
    }
    assert document["tries"][0]["state"] == "held"
    assert document["log"][0]["kind"] == "submitted"
    assert profile_view(Profile((1.0,), PredictionSource.USER)).source == "user"


def test_lists_show_of_a_task_what_is_shown_of_it_alone(tmp_path: Path) -> None:
    store = Store(new_database(tmp_path))
    done = change_task(
        TASK,
        id="8",
        number=8,
        state=TaskState.COMPLETED,
        deadline=20.5,
        finished=20.25,
        hosts=("b", "a"),
        attempts=1,
        exit_code=0,
        started=1 / 3,
    )
    store.commit(changed([TASK, done]))
    assert [listed_view(row) for row in store.listed()] == [task_view(done), task_view(TASK)]
    store.close()
