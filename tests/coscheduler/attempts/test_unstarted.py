"""Attempts that the manager does not start, though their hosts are free."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.jobs import JobState
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import DiagnoseAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import AttemptDiagnosed, AttemptSubmitted, HostsObserved, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import (
    a_core,
    a_task,
    cancelled,
    complete,
    dispatched,
    hosts,
    mixed_hosts,
    on_both,
    report,
    restore,
    settings,
    start,
    submit,
)

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Outcome

GREEDY = StartDiagnosis(StartVerdict.BLOCKED, "no host has 999999999 MB of memory")


def asked(outcome: Outcome) -> list[str]:
    """Return the attempts of which the manager is asked why they have not begun."""
    return [decision.attempt for decision in outcome.decisions if isinstance(decision, DiagnoseAttempt)]


def submitted(core: Coscheduler, attempt: Attempt, time: float) -> None:
    core.handle(AttemptSubmitted(time, attempt.uuid, "1.0"))


def answer(core: Coscheduler, attempt: Attempt, time: float, diagnosis: StartDiagnosis = GREEDY) -> Outcome:
    """Let the core ask after an attempt, and answer."""
    assert asked(core.handle(Tick(time))) == [attempt.uuid]
    return core.handle(AttemptDiagnosed(time, attempt.uuid, diagnosis))


def called_back(core: Coscheduler, attempt: Attempt, time: float) -> Outcome:
    """Have an attempt called back for its own fault; return what follows the manager's word."""
    submitted(core, attempt, time - 60.0)
    assert cancelled(answer(core, attempt, time)) == [attempt.uuid]
    return report(core, attempt, JobState.REMOVED, time)


def test_an_attempt_that_does_not_begin_on_free_hosts_leaves_them_to_others() -> None:
    core = a_core(1)
    (greedy,) = dispatched(submit(core, a_task(1, [10.0])))
    submit(core, a_task(2, [5.0], deadline=180.0))
    submitted(core, greedy, 0.0)
    assert not asked(core.handle(Tick(59.0)))
    outcome = answer(core, greedy, 60.0)
    assert cancelled(outcome) == [greedy.uuid]
    assert [item.state for item in outcome.changes.attempts.values()] == [AttemptState.CANCELLING]
    assert not dispatched(outcome)  # not before the manager's word
    (sane,) = dispatched(report(core, greedy, JobState.REMOVED, 61.0))
    assert (sane.task, sane.hosts) == ("2", ("node01",))
    task = core.tasks["1"]
    assert task.status.state is TaskState.QUEUED
    assert task.status.reason.endswith("did not start it in 1 min: no host has 999999999 MB of memory")


def test_it_is_asked_once_and_an_answer_that_comes_again_changes_nothing() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, attempt, 0.0)
    answer(core, attempt, 60.0)
    assert not asked(core.handle(Tick(61.0)))
    (again,) = dispatched(report(core, attempt, JobState.REMOVED, 200.0))
    assert not cancelled(core.handle(AttemptDiagnosed(201.0, attempt.uuid, GREEDY)))
    assert not cancelled(core.handle(AttemptDiagnosed(201.0, again.uuid, GREEDY)))  # it was not asked for


def test_a_task_that_does_not_begin_is_tried_again_ever_later_and_fails_with_the_reason() -> None:
    core = a_core(1, starts=3)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    time = 60.0
    for pause in (60.0, 240.0):
        assert not dispatched(called_back(core, attempt, time))
        assert not dispatched(core.handle(Tick(time + pause - 1.0)))
        (attempt,) = dispatched(core.handle(Tick(time + pause)))
        time += pause + 60.0
    (task,) = called_back(core, attempt, time).changes.tasks.values()
    assert task.status.state is TaskState.FAILED
    assert "999999999 MB" in task.status.reason
    assert "try 3, the last" in task.status.reason


@pytest.mark.parametrize("verdict", [StartVerdict.CLOSED, StartVerdict.WAITING])
def test_a_task_is_tried_for_as_long_as_it_is_none_of_its_own_fault_that_it_does_not_begin(
    verdict: StartVerdict,
) -> None:
    """A closed partition, or jobs of others that stand before it, had tasks fail at the last try."""
    core = a_core(1, starts=3)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    time = 0.0
    for _ in range(6):
        submitted(core, attempt, time)
        time += 60.0
        while attempt.uuid not in cancelled(answer(core, attempt, time, StartDiagnosis(verdict, "closed"))):
            time += 60.0
        assert not dispatched(report(core, attempt, JobState.REMOVED, time))
        assert core.tasks["1"].status.state is TaskState.QUEUED
        time += 240.0
        (attempt,) = dispatched(core.handle(Tick(time)))
    submitted(core, attempt, time)
    assert cancelled(answer(core, attempt, time + 60.0)) == [attempt.uuid]  # its own fault after all
    (task,) = report(core, attempt, JobState.REMOVED, time + 60.0).changes.tasks.values()
    assert task.status.state is TaskState.FAILED


def test_a_task_that_began_after_all_has_all_its_tries_again() -> None:
    core = a_core(1, starts=2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    called_back(core, attempt, 60.0)
    (attempt,) = dispatched(core.handle(Tick(120.0)))
    start(core, attempt, 121.0)
    report(core, attempt, JobState.EVICTED, 122.0)
    (attempt,) = dispatched(report(core, attempt, JobState.REMOVED, 123.0))
    called_back(core, attempt, 190.0)
    assert core.tasks["1"].status.state is TaskState.QUEUED


def test_an_attempt_that_begins_while_the_manager_is_asked_goes_on() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, attempt, 0.0)
    core.handle(Tick(60.0))
    report(core, attempt, JobState.RUNNING, 60.5, started=60.5)
    assert not cancelled(core.handle(AttemptDiagnosed(61.0, attempt.uuid, GREEDY)))
    assert complete(core, attempt, 60.5, 70.0).changes.tasks["1"].status.state is TaskState.COMPLETED


def test_a_pool_that_is_slow_and_healthy_is_given_its_time() -> None:
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    core.handle(AttemptSubmitted(0.0, first.uuid, "1.0"))
    report(core, first, JobState.RUNNING, 100.0, started=100.0)  # a negotiation takes so long
    complete(core, first, 100.0, 110.0)
    (second,) = dispatched(submit(core, a_task(2, [10.0]), 110.0))
    submitted(core, second, 110.0)
    assert not asked(core.handle(Tick(110.0 + 299.0)))
    assert asked(core.handle(Tick(110.0 + 300.0)))


@pytest.mark.parametrize("verdict", [StartVerdict.STARTING, StartVerdict.WAITING])
def test_an_attempt_without_an_obstacle_is_waited_for(verdict: StartVerdict) -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, attempt, 0.0)
    assert not cancelled(answer(core, attempt, 60.0, StartDiagnosis(verdict)))
    assert not cancelled(answer(core, attempt, 120.0, StartDiagnosis(verdict)))


def test_an_attempt_is_called_back_in_the_end_also_where_the_manager_names_no_reason() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, attempt, 0.0)
    for time in (60.0, 120.0, 180.0, 240.0):
        assert not cancelled(answer(core, attempt, time, StartDiagnosis()))
    assert cancelled(answer(core, attempt, 300.0, StartDiagnosis())) == [attempt.uuid]


def test_an_answer_of_a_manager_that_was_away_begins_the_wait_anew() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, attempt, 0.0)
    core.handle(Tick(60.0))
    assert not cancelled(core.handle(AttemptDiagnosed(600.0, attempt.uuid, GREEDY)))
    assert cancelled(answer(core, attempt, 660.0)) == [attempt.uuid]


def test_a_restart_forgets_no_try() -> None:
    core = a_core(1, starts=2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    called_back(core, attempt, 60.0)
    tasks = list(core.tasks.values())
    core = Coscheduler(settings(starts=2))
    restore(core, 70.0, tasks=tasks)
    (attempt,) = dispatched(core.handle(HostsObserved(71.0, hosts(1))))
    (task,) = called_back(core, attempt, 131.0).changes.tasks.values()
    assert (task.status.state, task.status.unstarted) == (TaskState.FAILED, 2)


def test_a_restart_does_not_forget_the_hosts_that_a_task_avoids() -> None:
    core = a_core(2)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    called_back(core, first, 60.0)
    tasks = list(core.tasks.values())
    core = Coscheduler(settings())
    restore(core, 70.0, tasks=tasks)
    (second,) = dispatched(core.handle(HostsObserved(71.0, hosts(2))))
    assert set(second.hosts).isdisjoint(first.hosts)
    start(core, second, 72.0)
    assert not core.tasks["1"].status.avoids


def test_a_restart_begins_the_wait_anew() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, attempt, 0.0)
    tasks, attempts = list(core.tasks.values()), list(core.attempts.values())
    core = Coscheduler(settings())
    restore(core, 1000.0, tasks=tasks, attempts=attempts)
    core.handle(HostsObserved(1000.0, hosts(1)))
    assert not asked(core.handle(Tick(1059.0)))
    assert asked(core.handle(Tick(1060.0))) == [attempt.uuid]


def test_a_held_job_takes_no_host_and_is_not_called_back() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, attempt, 0.0)
    report(core, attempt, JobState.HELD, 1.0, reason="by a user")
    assert not asked(core.handle(Tick(1000.0)))
    report(core, attempt, JobState.QUEUED, 1001.0)  # released
    assert not asked(core.handle(Tick(1060.0)))
    assert asked(core.handle(Tick(1061.0)))


def test_a_released_job_whose_host_went_to_another_is_waited_for() -> None:
    core = a_core(1)
    (held,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, held, 0.0)
    report(core, held, JobState.HELD, 1.0, reason="by a user")
    (other,) = dispatched(submit(core, a_task(2, [100.0]), 2.0))
    start(core, other, 3.0)
    report(core, held, JobState.QUEUED, 4.0)  # released
    assert not asked(core.handle(Tick(64.0)))
    complete(core, other, 3.0, 103.0)
    assert asked(core.handle(Tick(124.0))) == [held.uuid]


def test_a_job_without_a_model_shows_the_reason_and_waits_on() -> None:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, None)))
    submitted(core, attempt, 0.0)
    assert not cancelled(answer(core, attempt, 60.0))
    report(core, attempt, JobState.QUEUED, 61.0)
    assert core.tasks["1"].status.reason == "not started yet: no host has 999999999 MB of memory"
    report(core, attempt, JobState.RUNNING, 90.0, started=90.0)
    assert core.tasks["1"].status.reason == ""


def test_of_a_crowd_without_a_model_one_at_a_time_is_asked_for() -> None:
    core = a_core(2)
    crowd = [dispatched(submit(core, a_task(number, None)))[0] for number in (1, 2, 3)]
    for attempt in crowd:
        submitted(core, attempt, 0.0)
    answer(core, crowd[0], 60.0)
    assert asked(core.handle(Tick(119.0))) == []
    answer(core, crowd[1], 120.0)
    assert not cancelled(core.handle(Tick(121.0)))


def test_a_job_without_a_model_in_a_full_pool_is_not_asked_for() -> None:
    core = a_core(1)
    (planned,) = dispatched(submit(core, a_task(1, [1000.0])))
    start(core, planned, 0.0)
    (other,) = dispatched(submit(core, a_task(2, None)))
    submitted(core, other, 0.0)
    assert not asked(core.handle(Tick(500.0)))


def test_a_host_on_which_several_tasks_do_not_begin_is_set_aside_until_it_is_tried_again() -> None:
    core = a_core(2)
    (busy,) = dispatched(submit(core, a_task(1, [1000.0])))
    start(core, busy, 0.0)
    for number in (2, 3, 4):
        submit(core, a_task(number, [5.0]))
    left = [attempt for attempt in core.attempts.values() if attempt.task == "2"]
    (third,) = dispatched(called_back(core, left[0], 60.0))
    assert third.hosts == left[0].hosts == ("node02",)
    assert not dispatched(called_back(core, third, 120.0))  # two tasks: it is the host
    (fourth,) = dispatched(core.handle(Tick(180.0)))
    start(core, fourth, 181.0)
    assert dispatched(complete(core, fourth, 181.0, 186.0))  # and it is well again


def test_a_task_that_begins_on_no_host_does_not_make_hosts_suspect() -> None:
    core = a_core(3, starts=2)
    core.handle(HostsObserved(0.0, hosts(3, down=[2, 3])))
    (greedy,) = dispatched(submit(core, a_task(1, [10.0])))
    called_back(core, greedy, 60.0)
    core.handle(HostsObserved(61.0, hosts(3, down=[1, 3])))
    (greedy,) = dispatched(core.handle(Tick(120.0)))
    called_back(core, greedy, 180.0)
    assert "1" not in core.tasks
    for number, down in ((2, [2, 3]), (3, [1, 3])):
        core.handle(HostsObserved(100.0 * number, hosts(3, down=down)))
        (unlucky,) = dispatched(submit(core, a_task(number, [5.0]), 100.0 * number))
        called_back(core, unlucky, 100.0 * number + 60.0)
    core.handle(HostsObserved(361.0, hosts(3)))
    submit(core, a_task(4, [5.0]), 362.0)
    submit(core, a_task(5, [5.0]), 362.0)
    assert {host for attempt in core.attempts.values() for host in attempt.hosts} == {"node01", "node02", "node03"}


def test_a_task_is_planned_on_other_hosts_than_those_where_it_did_not_begin() -> None:
    core = a_core(2)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    called_back(core, first, 60.0)
    why = explain(core, "1", 70.0)
    assert why is not None
    assert set(why.planned_hosts) == {"node01", "node02"} - set(first.hosts)
    assert any(f"other than {first.hosts[0]}" in each and "another 4 min 50 s" in each for each in why.waits_for)
    (second,) = dispatched(core.handle(Tick(120.0)))
    assert set(second.hosts).isdisjoint(first.hosts)


def test_a_task_that_avoids_a_host_waits_for_others_but_not_for_long() -> None:
    core = a_core(2)
    (busy,) = dispatched(submit(core, a_task(1, [10000.0])))
    start(core, busy, 0.0)
    (first,) = dispatched(submit(core, a_task(2, [10.0])))
    called_back(core, first, 60.0)
    assert not dispatched(core.handle(Tick(359.0)))
    (second,) = dispatched(core.handle(Tick(360.0)))
    assert second.hosts == first.hosts
    called_back(core, second, 420.0)
    assert not dispatched(core.handle(Tick(420.0 + 1199.0)))  # it avoids it for longer
    assert dispatched(core.handle(Tick(420.0 + 1200.0)))


def test_a_task_avoids_no_host_where_the_others_are_too_few_or_not_as_good() -> None:
    core = a_core(3)
    (first,) = dispatched(submit(core, a_task(1, [math.inf, 10.0])))
    called_back(core, first, 60.0)
    (second,) = dispatched(core.handle(Tick(120.0)))
    assert len(second.hosts) == 2
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, mixed_hosts(2)))
    (first,) = dispatched(submit(core, on_both(1, [10.0], [40.0])))
    called_back(core, first, 60.0)
    (second,) = dispatched(core.handle(Tick(120.0)))
    assert second.hosts == first.hosts


def test_a_host_is_avoided_no_longer_than_until_a_task_begins_there_that_has_as_much() -> None:
    core = a_core(2)
    (busy,) = dispatched(submit(core, a_task(1, [1000.0])))
    start(core, busy, 0.0)
    (first,) = dispatched(submit(core, a_task(2, [10.0])))
    submit(core, a_task(3, [5.0]))
    (other,) = dispatched(called_back(core, first, 60.0))
    assert (other.task, other.hosts) == ("3", first.hosts)
    start(core, other, 100.0)
    (again,) = dispatched(complete(core, other, 100.0, 130.0))
    assert (again.task, again.hosts) == ("2", first.hosts)


def test_on_shared_hosts_a_smaller_task_that_begins_proves_nothing_for_a_larger_one() -> None:
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, tuple(replace(host, cores=4, memory=4096, gpus=1) for host in hosts(2))))
    (first,) = dispatched(submit(core, a_task(1, [10.0], cores=1, gpus=1)))
    called_back(core, first, 60.0)
    for number in (2, 3, 4, 5, 6, 7, 8):  # they leave a core with a GPU on either host
        (small,) = dispatched(submit(core, a_task(number, [1000.0], cores=1), 61.0))
        start(core, small, 61.0)
    (second,) = dispatched(core.handle(Tick(120.0)))
    assert set(second.hosts).isdisjoint(first.hosts)


def test_a_core_from_a_snapshot_avoids_the_same_hosts() -> None:
    core = a_core(2)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    called_back(core, first, 60.0)
    copy = Coscheduler.from_snapshot(core.settings, core.snapshot())
    (second,), (same,) = dispatched(core.handle(Tick(120.0))), dispatched(copy.handle(Tick(120.0)))
    assert second.hosts == same.hosts != first.hosts


def test_a_core_from_a_snapshot_goes_on_asking() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    submitted(core, attempt, 0.0)
    snapshot = core.snapshot()
    copy = Coscheduler.from_snapshot(core.settings, replace(snapshot))
    assert asked(copy.handle(Tick(60.0))) == asked(core.handle(Tick(60.0))) == [attempt.uuid]
