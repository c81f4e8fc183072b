from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from cosched.coscheduler.attempts.attempt import Attempt
from cosched.coscheduler.changes import CancelAttempt, DispatchAttempt, Replan
from cosched.daemon.effects import Effects
from tests.coscheduler.makers import a_task
from tests.daemon.makers import RecordingManager

if TYPE_CHECKING:
    from cosched.daemon.manager.resource_manager import ResourceManager


def a_manager() -> tuple[RecordingManager, ResourceManager]:
    manager = RecordingManager()
    return manager, cast("Any", manager)


def test_dispatches_of_one_outcome_are_submitted_together() -> None:
    recorded, manager = a_manager()
    attempts = [Attempt(uuid=name, task="1", hosts=("h1",), count=1, predicted=1.0, created=0.0) for name in "ab"]
    Effects(manager).carry_out(
        [DispatchAttempt(each, a_task(1)) for each in attempts] + [CancelAttempt("c"), CancelAttempt("d", "key")]
    )
    assert [attempt.uuid for attempt, _ in recorded.submitted] == ["a", "b"]
    assert (recorded.cancelled, recorded.retracted) == (["c"], ["d"])


def test_without_a_search_no_snapshot_stays_due() -> None:
    """Under a first-come-first-served policy the engine woke 20 times a second for a snapshot that nobody takes."""
    effects = Effects(a_manager()[1])
    effects.carry_out([Replan()])
    assert not effects.snapshot_due


def test_with_a_search_a_snapshot_is_due_until_it_is_given() -> None:
    class Planning:
        def snapshot(self, _now: float) -> tuple[str, str]:
            return "problem", "plan"

    class Core:
        planning_view = Planning()

    class Search:
        given: tuple[Any, ...] = ()

        def plan(self, *snapshot: Any) -> None:
            self.given = snapshot

    search: Any = Search()
    effects = Effects(a_manager()[1], search)
    effects.carry_out([Replan()])
    due = [effects.snapshot_due]
    effects.give_snapshot(cast("Any", Core()), 5.0)
    due.append(effects.snapshot_due)
    assert due == [True, False]
    assert search.given == (5.0, "problem", "plan")
