from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.dispatching.planned_starts import PlannedStarts
from cosched.coscheduler.events import AttemptSubmitted
from tests.coscheduler.makers import (
    a_core,
    a_task,
    dispatched,
    settings,
    start,
    submit,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def test_a_task_without_a_profile_passes_straight_through() -> None:
    core = Coscheduler(settings(staging=100.0))  # not even hosts are known
    (attempt,) = dispatched(submit(core, a_task(1, None, count=3)))
    assert (attempt.hosts, attempt.count, attempt.predicted) == ((), 3, None)


def test_a_crowd_without_profiles_goes_through_the_door_a_batch_at_a_time() -> None:
    """The manager takes a batch after the other: a planned task waited behind all of them, its hosts idle."""
    core = a_core()
    crowd = [attempt for number in range(1, 221) for attempt in dispatched(submit(core, a_task(number, None)))]
    assert len(crowd) == 200
    (planned,) = dispatched(submit(core, a_task(999)))
    assert planned.hosts
    for through in crowd:
        outcome = core.handle(AttemptSubmitted(1.0, through.uuid, "job"))
        crowd += dispatched(outcome)  # the next one in order
    assert [attempt.task for attempt in crowd] == [str(number) for number in range(1, 221)]


@pytest.mark.parametrize(("later", "looks"), [(0.0, 1), (0.01, 2)])
def test_a_job_that_begins_as_its_task_leaves_has_the_plan_looked_at_once(
    monkeypatch: pytest.MonkeyPatch, later: float, looks: int
) -> None:
    """In virtual time all of this is one moment; two of three looks of a replay found what the first had left."""
    looked, now = [], PlannedStarts.now

    def look(starts: PlannedStarts, lent: Mapping[str, float], time: float) -> Any:
        looked.append(time)
        return now(starts, lent, time)

    monkeypatch.setattr(PlannedStarts, "now", look)
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1), 10.0))
    looked.clear()
    submit(core, a_task(2), 20.0)
    start(core, attempt, 20.0 + later)
    assert len(looked) == looks
