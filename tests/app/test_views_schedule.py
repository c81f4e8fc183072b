from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.access import Principal, Role
from cosched.app.views import ended_explanation, explanation_view, host_views, plan_view
from cosched.connector.interface import Host, JobReport, JobState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import AttemptSubmitted, HostsObserved, JobReported, TaskSubmitted
from cosched.coscheduler.explain import explain
from cosched.coscheduler.task import TaskState
from cosched.prediction.calibration import Correction
from cosched.prediction.profile import PredictionSource, Profile
from tests.coscheduler.makers import on_both
from tests.tasks import change_task, make_task

NOW = 1_750_000_000.0
TASK = make_task(
    1, name="n", submitted=NOW, owner="me", profile=Profile((10.0,), PredictionSource.USER), deadline=NOW + 60
)


ME = Principal("me", Role.USER)
YOU = Principal("you", Role.USER)
CHIEF = Principal("chief", Role.OPERATOR)


@pytest.fixture
def core() -> Coscheduler:
    """One task runs on the only host, one waits, one host is down."""
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"), Host("h2", up=False, reason="drained"))))
    (dispatch,) = (
        each for each in core.handle(TaskSubmitted(NOW, TASK)).decisions if isinstance(each, DispatchAttempt)
    )
    core.handle(AttemptSubmitted(NOW, dispatch.attempt.uuid, "j"))
    core.handle(JobReported(NOW, JobReport(dispatch.attempt.uuid, JobState.RUNNING, "j", started=NOW)))
    core.handle(TaskSubmitted(NOW, replace(TASK, id="2", number=2)))
    return core


def test_hosts_say_what_occupies_them(core: Coscheduler) -> None:
    busy, down = host_views(ME, core, NOW + 4)
    assert (busy.name, busy.task, busy.free_at) == ("h1", "1", NOW + 10)
    assert (down.up, down.reason, down.task, down.free_at) == (False, "drained", "", None)


def test_the_plan_has_what_runs_and_what_waits(core: Coscheduler) -> None:
    plan = plan_view(ME, core, NOW + 4)
    running, waiting = plan.placements
    assert (running.task, running.start, running.end, running.running) == ("1", NOW, NOW + 10, True)
    assert (waiting.task, waiting.start, waiting.end, waiting.running) == ("2", NOW + 10, NOW + 20, False)
    assert waiting.deadline == NOW + 60
    assert plan.makespan == pytest.approx(16.0)
    assert (plan.bound, plan.gap) == (None, None)


def test_the_plan_says_when_and_why_it_changed(core: Coscheduler) -> None:
    assert (plan_view(ME, core, NOW + 4).changed, plan_view(ME, core, NOW + 4).why) == (None, "")
    core.last_improvement = (NOW + 3, "makespan 61 → 58 s")
    assert plan_view(ME, core, NOW + 4).changed == NOW + 3
    assert plan_view(ME, core, NOW + 4).why == "makespan 61 → 58 s"


def test_an_explained_task_shows_what_runs_on_each_class_have_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341"))
    core.handle(HostsObserved(0.0, (Host("h1", host_class="fast"), Host("h2", host_class="slow"))))
    core.handle(TaskSubmitted(0.0, on_both(1, [4.0], [9.0])))
    monkeypatch.setattr(core, "corrections", lambda: {"app/fast": Correction(1.5, 5), "app/slow": Correction(2.0, 5)})
    found = explain(core, "1", 0.0)
    assert found is not None
    profile = explanation_view(found, core).profile
    assert profile is not None
    assert profile.seconds == (18.0,)


def test_an_ended_task_waits_for_nothing() -> None:
    task = change_task(TASK, state=TaskState.FAILED, reason="exit code 3", finished=NOW + 50)
    explanation = ended_explanation(task)
    assert explanation.waits_for == ("nothing: the task is failed (exit code 3)",)
    assert explanation.slack == 10


def test_of_other_users_tasks_only_times_and_hosts_are_shown(core: Coscheduler) -> None:
    busy = host_views(YOU, core, NOW + 4)[0]
    assert (busy.task, busy.free_at) == ("", NOW + 10)
    plan = plan_view(YOU, core, NOW + 4)
    seen = [(spot.task, spot.deadline, spot.end) for spot in plan.placements]
    assert seen == [("", None, NOW + 10), ("", None, NOW + 20)]
    assert [spot.task for spot in plan_view(CHIEF, core, NOW + 4).placements] == ["1", "2"]
