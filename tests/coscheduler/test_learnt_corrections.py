from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.coscheduler.attempts.attempt import Attempt
from cosched.coscheduler.learnt_corrections import LearntCorrections, corrected_profile
from cosched.coscheduler.task import Task, TaskState
from cosched.prediction.calibration import Correction
from tests.coscheduler.makers import a_task, on_both
from tests.tasks import change_task

DONE = change_task(a_task(1, [10.0, 6.0]), state=TaskState.COMPLETED, actual=12.0, hosts=("a", "b"))


def test_a_completed_task_teaches_by_the_time_predicted_on_as_many_hosts() -> None:
    known = LearntCorrections()
    known.learn_run_time(DONE)
    assert {name: learned.factor for name, learned in known.corrections.items()} == {"app/test": pytest.approx(2.0)}
    assert known.expected_run_time(DONE, 2) == pytest.approx(12.0)


@pytest.mark.parametrize(
    "task",
    [
        change_task(DONE, state=TaskState.FAILED),
        change_task(DONE, actual=None),
        replace(DONE, correction=""),
        replace(DONE, profile=None),
    ],
)
def test_other_tasks_teach_nothing(task: Task) -> None:
    known = LearntCorrections()
    known.learn_run_time(task)
    assert known.corrections == {}


def test_each_class_is_corrected_by_its_own_runs_and_the_slowest_decides() -> None:
    task = on_both(1, [4.0], [9.0])
    known = corrected_profile(task, {"app/fast": Correction(3.0, 5), "app/fast+slow": Correction(100.0, 5)})
    assert known is not None
    assert (known.seconds, known.quickest.seconds) == ((12.0,), (9.0,))


def test_a_task_that_was_given_hosts_is_corrected_as_it_runs_there() -> None:
    task = on_both(1, [4.0], [9.0]).on(["fast"])
    known = corrected_profile(task, {"app/fast": Correction(1.5, 5), "app/slow": Correction(3.0, 5)})
    assert known is not None
    assert (known.hardware, known.seconds) == ("fast", (6.0,))


def test_only_pinned_attempts_teach_how_long_a_start_takes() -> None:
    known = LearntCorrections()
    attempt = Attempt(uuid="u", task="1", hosts=(), count=1, predicted=None, created=1.0, started=9.0)
    known.learn_latency(attempt)
    assert known.dispatch_latency.jobs == 0
    known.learn_latency(replace(attempt, hosts=("a",)))
    assert known.dispatch_latency.mean == 8.0
