from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from cosched.dask.task_ends import EndedTask, TaskEnds

COMPUTED = {"action": "compute", "start": 3.0, "stop": 5.0}
FETCHED = {"action": "transfer", "start": 1.0, "stop": 3.0, "source": "tls://b"}
READ = {"action": "deserialize", "start": 0.0, "stop": 1.0}


def told(start: str = "processing", finish: str = "memory", **more: Any) -> Mock:
    """Return a learner of a scheduler that tells of a change of a task's state."""
    learner = Mock()
    ends = TaskEnds(Mock(), learner)
    ends.transition("solve-1", start, finish, stimulus_id="s", nbytes=8, **more)
    return learner


def test_all_learners_hear_when_a_task_was_computed() -> None:
    first, second = Mock(), Mock()
    ends = TaskEnds(scheduler := Mock(), first, second)
    scheduler.add_plugin.assert_called_once_with(ends)
    ends.transition(
        "solve-1", "processing", "memory", worker="tls://a", startstops=[READ, FETCHED, COMPUTED], stimulus_id="s"
    )
    for learner in (first, second):
        learner.note.assert_called_once_with("tls://a", EndedTask("solve-1", ((3.0, 5.0),)))


@pytest.mark.parametrize(
    "change",
    [
        {"start": "waiting", "finish": "processing", "worker": "tls://a", "startstops": [COMPUTED]},
        {"finish": "erred", "worker": "tls://a", "startstops": [COMPUTED]},
        {"startstops": [COMPUTED]},
        {"worker": "tls://a", "startstops": [FETCHED]},
        {"worker": "tls://a"},
    ],
)
def test_what_is_no_end_of_a_computation_is_not_told(change: dict[str, Any]) -> None:
    told(**change).note.assert_not_called()


def test_a_worker_that_is_gone_is_forgotten_by_all() -> None:
    first, second = Mock(), Mock()
    TaskEnds(Mock(), first, second).remove_worker(scheduler=Mock(), worker="tls://a", stimulus_id="s")
    for learner in (first, second):
        learner.forget.assert_called_once_with("tls://a")
