from __future__ import annotations

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import AttemptSubmitted
from tests.coscheduler.makers import (
    a_core,
    a_task,
    dispatched,
    settings,
    submit,
)


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
