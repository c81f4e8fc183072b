from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.app.notifications.notifier import late_notices
from cosched.connector.interface import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved, TaskSubmitted
from cosched.prediction.profile import PredictionSource, Profile
from tests.tasks import make_task

if TYPE_CHECKING:
    from cosched.coscheduler.task import Task

NOW = 1_750_000_000.0


def task(number: int, deadline: float | None, *notify: str) -> Task:
    return make_task(
        number,
        name="n",
        submitted=NOW,
        profile=Profile((10.0,), PredictionSource.USER),
        notify=notify,
        deadline=None if deadline is None else NOW + deadline,
        best_effort=True,
    )


def test_a_task_that_is_planned_to_end_too_late_is_named() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341", staging=0.0))
    core.handle(HostsObserved(NOW, (Host("h1"),)))
    for each in (
        task(1, 60, "mailto:a@b"),
        task(2, 15, "mailto:a@b", "https://h"),
        task(3, 5),
        task(4, None, "mailto:a@b"),
    ):
        core.handle(TaskSubmitted(NOW, each))
    assert {(notice.task, notice.kind, notice.target) for notice in late_notices(core, NOW)} == {
        ("2", "late", "mailto:a@b"),
        ("2", "late", "https://h"),
    }
    assert {notice.task for notice in late_notices(core, NOW + 61)} == {"1", "2"}


def test_without_targets_the_plan_is_not_looked_at() -> None:
    core = Coscheduler(CoreSettings("1b671a64-40d5-491e-99b0-da01ff1f3341"))
    core.handle(TaskSubmitted(NOW, task(1, 5)))
    assert late_notices(core, NOW + 10) == []
