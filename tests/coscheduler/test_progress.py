"""What does not go on as planned: jobs that do not begin, runs that last longer than predicted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.connector.hosts import Host
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.jobs import JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import AttemptDiagnosed, AttemptSubmitted, HostsObserved, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.progress import progress
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, report, settings, start, submit

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
    assert "1 (t1, dispatching) has not begun for 30 s: until it does, no end is promised" in behind.waits_for


def test_hosts_of_which_others_have_a_part_are_not_called_free_and_who_waits_there_is_named() -> None:
    """A job that waited for a core of each host had kept the room that cosched's books called free."""
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, (Host("node01", memory=16000, cores=8),)))
    for number, seconds in ((1, [500.0]), (2, [10.0]), (3, None)):
        task = a_task(number, seconds)
        (attempt,) = dispatched(submit(core, replace(task, spec=replace(task.spec, cores=2))))
        if number == 1:
            start(core, attempt, 0.0)
        else:
            report(core, attempt, JobState.QUEUED, 0.0)
    core.handle(Tick(30.0))
    found = explain(core, "2", 30.0)
    assert found is not None
    assert found.waits_for[0].startswith("the resource manager has its job, and has not started it for 30 s; ")
    assert found.waits_for[1:] == (
        "on its hosts, too: 1 (t1, running)",
        "3 (t3, dispatching) waits in the resource manager, which chooses its hosts and may keep some of these for "
        "that",
    )


def test_many_that_do_not_begin_are_named_in_one_line() -> None:
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, (Host("node01", memory=16000, cores=8),)))
    for number in (1, 2, 3):
        task = a_task(number, [10.0])
        (attempt,) = dispatched(submit(core, replace(task, spec=replace(task.spec, cores=2))))
        report(core, attempt, JobState.QUEUED, 0.0)
    last = a_task(4, [5.0])
    submit(core, replace(last, spec=replace(last.spec, cores=8)), 1.0)
    core.handle(Tick(30.0))
    found = explain(core, "4", 30.0)
    assert found is not None
    assert [words for words in found.waits_for if "begun" in words] == [
        "1 (t1, dispatching), 2 (t2, dispatching), 3 (t3, dispatching) have not begun for up to 30 s: until they do, "
        "no end is promised"
    ]


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
