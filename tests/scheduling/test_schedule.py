from __future__ import annotations

from cosched.scheduling.schedule import Assignment, Schedule


def test_the_makespan_is_the_last_end() -> None:
    schedule = Schedule((Assignment("a", ("h0",), 0.0, 9.0), Assignment("b", ("h1",), 1.0, 4.0)))
    assert schedule.makespan == 9.0
    assert Schedule(()).makespan == 0.0
