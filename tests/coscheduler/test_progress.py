"""What does not go on as planned: jobs that do not begin, runs that last longer than predicted."""

from __future__ import annotations

import pytest

from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.jobs import JobState
from cosched.coscheduler.events import AttemptDiagnosed, AttemptSubmitted, Tick
from cosched.coscheduler.explain import explain
from cosched.coscheduler.progress import progress
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, report, start, submit

GREEDY = StartDiagnosis(StartVerdict.BLOCKED, "no host has so much memory")


def test_nothing_is_promised_behind_a_job_that_does_not_begin() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0], deadline=1000.0)))
    core.handle(AttemptSubmitted(0.0, attempt.uuid, "1.0"))
    submit(core, a_task(2, [5.0], deadline=180.0), 5.0)
    for name in ("1", "2"):
        early = explain(core, name, 6.0)
        assert early is not None
        assert early.slack is not None
    assert progress(core, 30.0).unstarted == ("1",)
    mine, behind = explain(core, "1", 30.0), explain(core, "2", 30.0)
    assert mine is not None
    assert behind is not None
    assert (mine.slack, behind.slack) == (None, None)
    assert "has not started it on free hosts for 30 s" in mine.waits_for[0]
    assert any("has not begun on free hosts for 30 s" in words for words in behind.waits_for)


def test_a_task_that_was_not_started_promises_nothing_and_those_behind_it_do_again() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0], deadline=1000.0)))
    core.handle(AttemptSubmitted(0.0, attempt.uuid, "1.0"))
    core.handle(Tick(60.0))
    core.handle(AttemptDiagnosed(60.0, attempt.uuid, GREEDY))
    report(core, attempt, JobState.REMOVED, 61.0)
    (sane,) = dispatched(submit(core, a_task(2, [5.0], deadline=180.0), 62.0))
    refused, other = explain(core, "1", 63.0), explain(core, "2", 63.0)
    assert refused is not None
    assert other is not None
    assert refused.slack is None
    assert "no host has so much memory" in refused.waits_for[0]
    assert other.slack is not None
    assert progress(core, 63.0).unstarted == ("1",)
    start(core, sane, 63.0)


def test_a_held_job_says_nothing_of_its_end() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0], deadline=1000.0)))
    report(core, attempt, JobState.HELD, 1.0, reason="by a user")
    found = explain(core, "1", 2.0)
    assert found is not None
    assert (found.slack, found.planned_end) == (None, None)


@pytest.mark.parametrize(("now", "over"), [(20.5, False), (26.0, True)])
def test_a_run_past_its_predicted_end_says_what_is_expected_now(now: float, over: bool) -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [20.0], deadline=100.0)))
    start(core, attempt, 0.0)
    submit(core, a_task(2, [5.0], deadline=27.0), 1.0)
    found = progress(core, now).overruns
    assert bool(found) == over
    explained = explain(core, "1", now)
    assert explained is not None
    assert any("longer than predicted" in words for words in explained.waits_for) == over
    if over:
        assert found[0].predicted == 20.0
        assert found[0].expected > now
        assert found[0].presses["2"] > 0  # it misses its deadline for that
        assert any("2 (t2, queued), which would miss its deadline" in words for words in explained.waits_for)
        assert explained.planned_end == found[0].expected


def test_a_run_that_has_ended_is_no_overrun_any_more() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [20.0])))
    start(core, attempt, 0.0)
    complete(core, attempt, 0.0, 50.0)
    assert not progress(core, 51.0).overruns
