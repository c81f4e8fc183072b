from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.app.views.explanation_views import ended_explanation, explanation_view
from cosched.connector.hosts import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import (
    HostsObserved,
    TaskSubmitted,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from cosched.prediction.calibration import Correction
from tests.app.views.makers import NOW, PREDICTED_TASK
from tests.coscheduler.makers import on_both
from tests.tasks import change_task

if TYPE_CHECKING:
    import pytest


def test_an_explained_task_shows_what_runs_on_each_class_have_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341"))
    core.handle(HostsObserved(0.0, (Host("h1", host_class="fast"), Host("h2", host_class="slow"))))
    core.handle(TaskSubmitted(0.0, on_both(1, [4.0], [9.0])))
    monkeypatch.setattr(core, "corrections", lambda: {"app/fast": Correction(1.5, 5), "app/slow": Correction(2.0, 5)})
    found = explain(core, "1", 0.0)
    assert found is not None
    profile = explanation_view(found, core).profile
    assert profile is not None
    assert profile.seconds == (6.0,)  # it is planned on the fast one
    assert [(each.hardware, each.seconds) for each in profile.classes] == [("fast", (6.0,)), ("slow", (18.0,))]


def test_an_ended_task_is_explained_by_how_it_ended() -> None:
    task = change_task(PREDICTED_TASK, state=TaskState.FAILED, reason="exit code 3", finished=NOW + 50)
    explanation = ended_explanation(task, errors=["out of memory"])
    assert (explanation.waits_for, explanation.errors) == (("it failed: exit code 3",), ("out of memory",))
    assert explanation.slack is None  # it failed before its deadline, and has not met it
    done = change_task(PREDICTED_TASK, state=TaskState.COMPLETED, finished=NOW + 50)
    assert (ended_explanation(done).slack, ended_explanation(done).waits_for) == (10, ("it has completed",))
