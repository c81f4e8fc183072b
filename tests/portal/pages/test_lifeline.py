from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.portal.pages.task import TIMELINE_WIDTH, timeline
from tests.portal.pages.makers import NOW, detail, explained


def kinds(life: object) -> list[str]:
    return [phase.kind for phase in life.phases]  # type: ignore[attr-defined]  # a Lifeline


def test_a_task_that_waits_will_wait_and_run() -> None:
    life = timeline(detail(deadline=NOW + 100), explained(NOW + 20, NOW + 50), NOW)
    assert kinds(life) == ["waited", "will wait", "will run"]
    assert life.now is not None
    assert life.deadline is not None


def test_a_task_that_has_ended_has_no_future() -> None:
    task = detail(dispatched=NOW - 50, started=NOW - 49, finished=NOW - 9, state="completed")
    life = timeline(task, explained(NOW - 49, NOW - 9), NOW)
    assert kinds(life) == ["waited", "handed over", "ran"]
    assert life.now is None


def test_a_task_that_was_cancelled_as_it_waited_only_waited() -> None:
    assert kinds(timeline(detail(finished=NOW - 50, state="cancelled"), explained(), NOW)) == ["waited"]


def test_a_deadline_far_away_does_not_squeeze_the_life() -> None:
    assert timeline(detail(deadline=NOW + 1e6), explained(NOW, NOW + 10), NOW).deadline is None


@given(st.lists(st.floats(0, 1e6), min_size=5, max_size=5), st.booleans())
def test_phases_stay_inside_and_in_order(gaps: list[float], over: bool) -> None:
    dispatched, started, end = NOW + gaps[0], NOW + gaps[0] + gaps[1], NOW + gaps[0] + gaps[1] + gaps[2]
    task = detail(
        submitted=NOW, dispatched=dispatched, started=started, finished=end if over else None, deadline=NOW + gaps[4]
    )
    life = timeline(task, explained(started, end + gaps[3]), end)
    assert all(
        0 <= phase.x <= TIMELINE_WIDTH and phase.x + phase.width <= TIMELINE_WIDTH + 1e-6 for phase in life.phases
    )
    assert [phase.start for phase in life.phases] == sorted(phase.start for phase in life.phases)
