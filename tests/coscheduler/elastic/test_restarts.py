from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.elastic.values import ElasticSettings, RestartRecord
from cosched.coscheduler.events import CancelRequested, HostsObserved, Tick, WorkReported
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.progress import progress
from cosched.coscheduler.task import TaskState
from cosched.prediction.loads.host_load import HostLoad, LoadTrigger
from tests.coscheduler.makers import (
    a_core,
    a_task,
    cancelled,
    complete,
    dispatched,
    elastic_task,
    hosts,
    report,
    restart_task,
    restore,
    start,
    submit,
)

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Outcome, RunRecord
    from cosched.coscheduler.task import Task

SPEEDS = [420.0, 205.0, 135.0, 100.0]  # least host-seconds on four


def running(**changes: Any) -> tuple[Coscheduler, Attempt]:
    """Return a core with a task on all of its four hosts since 0 s, which ends at 100 s, and its attempt."""
    terms = {name: changes.pop(name) for name in ("payback", "lending", "settle") if name in changes}
    core = a_core(4, elastic=ElasticSettings(**{"settle": 5.0, **terms}))
    (attempt,) = dispatched(submit(core, restart_task(1, SPEEDS, **{"cost": 4.0, "grace": 20.0, **changes})))
    start(core, attempt, 0.0)
    return core, core.attempts[attempt.uuid]


def urgent(due: float = 250.0) -> Task:
    """Return a task that takes two hosts for so long that the other is better off beside it than behind it."""
    return a_task(2, [math.inf, 200.0], deadline=due, submitted=10.0)


def asked(**changes: Any) -> tuple[Coscheduler, Attempt]:
    """Return a core whose task has been asked at 10 s to stop for another one, and its attempt."""
    core, attempt = running(**changes)
    submit(core, urgent(), 10.0)
    return core, core.attempts[attempt.uuid]


def stopped(core: Coscheduler, attempt: Attempt, time: float, code: int = 85) -> Outcome:
    return report(core, attempt, JobState.FAILED, time, started=0.0, finished=time, exit_code=code)


def environment(outcome: Outcome, task: str) -> dict[str, str]:
    (found,) = (each for each in outcome.decisions if isinstance(each, DispatchAttempt) and each.task.id == task)
    return dict(found.task.spec.environment)


def test_a_program_is_asked_to_stop_for_a_task_that_would_be_late_without_its_hosts() -> None:
    core, attempt = asked()
    assert attempt.leave_by == 30.0
    assert attempt.lead is not None
    assert attempt.lead.why == "task 2 would be late without its hosts"
    assert attempt.needed_by == "2"
    assert len(core.attempts) == 1, "its hosts are given away before it has stopped"


def test_after_the_checkpoint_the_urgent_task_starts_and_the_other_goes_on_beside_it() -> None:
    core, attempt = asked()
    outcome = stopped(core, attempt, 12.0)
    hosts = {each.task: each.hosts for each in dispatched(outcome)}
    assert (len(hosts["1"]), len(hosts["2"])) == (2, 2)
    assert set(hosts["1"]).isdisjoint(hosts["2"])
    assert environment(outcome, "1")["COSCHED_START"] == "2"
    task = core.tasks["1"]
    assert task.status.restarts is not None
    assert task.status.restarts.left == pytest.approx(0.9)
    assert task.status.predicted == pytest.approx(0.9 * 205.0 + task.status.restarts.reading)


def test_the_urgent_task_goes_first_where_it_needs_all_hosts() -> None:
    core, attempt = running()
    submit(core, a_task(2, [math.inf] * 3 + [20.0], deadline=50.0, submitted=10.0), 10.0)
    (second,) = dispatched(stopped(core, core.attempts[attempt.uuid], 12.0))
    assert second.task == "2"
    start(core, second, 12.0)
    (again,) = dispatched(complete(core, second, 12.0, 32.0))
    assert (again.task, len(again.hosts)) == ("1", 4)


def test_nobody_is_asked_while_all_hosts_are_down() -> None:
    """Each event failed by a mistake of cosched's then, so that whatever users asked for was refused."""
    core, attempt = running()
    core.handle(HostsObserved(5.0, hosts(4, down=(1, 2, 3, 4))))
    core.handle(Tick(20.0))
    submit(core, urgent(), 21.0)
    assert "2" in core.tasks
    assert core.attempts[attempt.uuid].leave_by is None


def test_nobody_is_asked_for_a_task_that_is_in_time_or_would_be_late_all_the_same() -> None:
    for due in (500.0, 205.0):
        core, attempt = running()
        submit(core, urgent(due), 10.0)
        assert core.attempts[attempt.uuid].leave_by is None


def test_a_task_is_not_asked_to_stop_where_its_own_deadline_would_not_hold() -> None:
    for due, leave_by in ((110.0, None), (400.0, 30.0)):
        core, attempt = running(deadline=due)
        submit(core, urgent(), 10.0)
        assert core.attempts[attempt.uuid].leave_by == leave_by


def test_a_task_that_others_come_after_is_not_delayed() -> None:
    core, attempt = running()
    submit(core, a_task(3, after=("1",), deadline=200.0), 1.0)
    submit(core, urgent(), 10.0)
    assert core.attempts[attempt.uuid].leave_by is None


def test_a_task_with_workers_is_not_asked_to_checkpoint() -> None:
    core = a_core(4, elastic=ElasticSettings(settle=5.0))
    lead, *_ = dispatched(submit(core, elastic_task(1, [math.inf] * 3 + [100.0])))
    start(core, lead, 0.0)
    submit(core, urgent(), 10.0)
    assert core.attempts[lead.uuid].leave_by is None


def test_a_program_that_does_not_stop_is_let_go_on_and_not_asked_again() -> None:
    core, attempt = asked()
    core.handle(Tick(29.0))
    assert core.attempts[attempt.uuid].leave_by == 30.0
    assert not cancelled(core.handle(Tick(30.0)))
    for time in range(31, 90):
        core.handle(Tick(float(time)))
        assert core.attempts[attempt.uuid].leave_by is None
    told = explain(core, "1", 89.0)
    assert told is not None
    assert any("has not: it is let go on" in each for each in told.waits_for)
    assert not any("started again" in each for each in told.waits_for)
    record = core.tasks["1"].status.restarts
    assert record is not None
    assert (record.count, record.unheeded, record.forced) == (0, 1, 0)
    assert complete(core, attempt, 0.0, 100.0).changes.tasks["1"].status.state is TaskState.COMPLETED


def test_a_program_that_does_not_stop_is_ended_where_its_user_says_so_and_begins_with_all_of_its_work() -> None:
    core, attempt = asked(force=True)
    assert cancelled(core.handle(Tick(30.0))) == [attempt.uuid]
    outcome = report(core, attempt, JobState.REMOVED, 31.0, started=0.0, finished=31.0)
    assert {each.task for each in dispatched(outcome)} == {"1", "2"}
    record = core.tasks["1"].status.restarts
    assert record is not None
    assert (record.count, record.left, record.unheeded, record.forced) == (1, 1.0, 0, 1)
    ended = outcome.changes.attempts[attempt.uuid]
    assert ended.state is AttemptState.CANCELLED
    assert ended.reason.startswith("ended by force, for it had not stopped within its grace")


def test_idle_hosts_are_worth_a_restart_where_they_repay_it() -> None:
    for payback, worth in ((2.0, True), (40.0, False)):
        core = a_core(4, elastic=ElasticSettings(settle=5.0, payback=payback))
        (taken,) = dispatched(submit(core, a_task(9, [math.inf, 10.0])))
        start(core, taken, 0.0)
        seconds = [math.inf, 200.0, math.inf, 180.0]
        (attempt,) = dispatched(submit(core, restart_task(1, seconds, cost=4.0)))
        start(core, attempt, 0.0)
        assert len(attempt.hosts) == 2
        complete(core, taken, 0.0, 10.0)
        core.handle(Tick(20.0))
        lead = core.attempts[attempt.uuid].lead
        assert lead is not None
        assert lead.next_hosts == (4 if worth else 0)
        if worth:
            assert "on 4 hosts it ends" in lead.why
            (again,) = dispatched(report(core, attempt, JobState.FAILED, 22.0, finished=22.0, exit_code=85))
            assert len(again.hosts) == 4


def test_idle_hosts_are_no_reason_where_nothing_is_lent() -> None:
    core = a_core(4, elastic=ElasticSettings(settle=5.0, lending=False))
    (taken,) = dispatched(submit(core, a_task(9, [math.inf, 10.0])))
    start(core, taken, 0.0)
    (attempt,) = dispatched(submit(core, restart_task(1, [math.inf, 200.0, math.inf, 180.0], cost=4.0)))
    start(core, attempt, 0.0)
    complete(core, taken, 0.0, 10.0)
    core.handle(Tick(20.0))
    assert core.attempts[attempt.uuid].leave_by is None


def test_a_crash_while_it_is_asked_fails_the_task_as_any_other() -> None:
    core, attempt = asked()
    task = stopped(core, attempt, 12.0, code=1).changes.tasks["1"]
    assert (task.status.state, task.status.exit_code) == (TaskState.FAILED, 1)


def test_code_85_of_a_task_that_is_not_restarted_is_a_failure() -> None:
    core = a_core(4)
    (attempt,) = dispatched(submit(core, a_task(1)))
    start(core, attempt, 0.0)
    assert stopped(core, attempt, 2.0).changes.tasks["1"].status.state is TaskState.FAILED


def test_a_program_that_checkpoints_unasked_goes_on_on_as_many_hosts() -> None:
    core, attempt = running()
    outcome = stopped(core, attempt, 70.0)
    (again,) = dispatched(outcome)
    assert len(again.hosts) == 4
    assert outcome.changes.attempts[attempt.uuid].reason == "without being asked; it goes on with 4 hosts"
    record = core.tasks["1"].status.restarts
    assert record is not None
    assert (record.count, record.breaks, record.why) == (1, 0, "")
    assert record.left == pytest.approx(0.3)


def test_a_program_that_always_checkpoints_at_once_fails() -> None:
    core, attempt = running()
    time = 0.0
    for _ in range(4):
        time += 10.0
        (attempt,) = dispatched(report(core, attempt, JobState.FAILED, time, finished=time, exit_code=85))
        start(core, attempt, time)
    end = report(core, attempt, JobState.FAILED, time + 5.0, finished=time + 5.0, exit_code=85)
    assert end.changes.tasks["1"].status.state is TaskState.FAILED
    assert "5 times in a row" in end.changes.tasks["1"].status.reason


def test_a_task_that_is_cancelled_while_its_program_checkpoints_is_cancelled() -> None:
    core, attempt = asked()
    core.handle(CancelRequested(11.0, "1"))
    assert stopped(core, attempt, 12.0).changes.tasks["1"].status.state is TaskState.CANCELLED
    assert "1" not in core.tasks


def test_a_task_that_completes_while_it_is_asked_has_completed() -> None:
    core, attempt = asked()
    assert complete(core, attempt, 0.0, 12.0).changes.tasks["1"].status.state is TaskState.COMPLETED


def test_what_a_checkpoint_took_is_what_the_next_is_reckoned_to_take() -> None:
    core, attempt = asked()
    stopped(core, attempt, 13.0)
    record = core.tasks["1"].status.restarts
    assert record is not None
    assert (record.stop, record.reading) == (3.0, 1.0)  # of the four seconds that its user says


def test_another_daemon_goes_on_with_a_program_that_was_asked() -> None:
    core, attempt = asked()
    tasks, attempts = list(core.tasks.values()), list(core.attempts.values())
    after = Coscheduler(core.settings)
    after.handle(replace(Tick(11.0)))
    restore(after, 11.0, tasks=tasks, attempts=attempts)
    after.domain.observe(core.domain.hosts.values(), 11.0)
    hosts = {each.task: len(each.hosts) for each in dispatched(stopped(after, attempt, 12.0))}
    assert hosts == {"1": 2, "2": 2}


def test_explain_says_why_it_was_started_again() -> None:
    core, attempt = asked()
    told = explain(core, "1", 11.0)
    assert told is not None
    assert any("asked to checkpoint and stop within 19 s" in each for each in told.waits_for)
    assert told.planned_end is None, "it only stops then"
    waiting = explain(core, "2", 11.0)
    assert waiting is not None
    assert any("task 1, which is asked to checkpoint" in each for each in (*waiting.waits_for, *waiting.would_change))
    (again,) = (each for each in dispatched(stopped(core, attempt, 12.0)) if each.task == "1")
    start(core, again, 12.0)
    told = explain(core, "1", 13.0)
    assert told is not None
    assert any(
        "started again (1 restart so far), with 90 % of its work left: task 2" in each for each in told.waits_for
    )


def test_a_program_that_takes_long_to_stop_does_not_run_longer_than_predicted() -> None:
    core, _ = asked()
    assert not progress(core, 29.0).overruns


def test_one_program_at_a_time_is_asked() -> None:
    core = a_core(4, elastic=ElasticSettings(settle=5.0))
    attempts = []
    for number in (1, 3):
        (attempt,) = dispatched(submit(core, restart_task(number, [math.inf, 100.0], cost=4.0)))
        start(core, attempt, 0.0)
        attempts.append(attempt)
    submit(core, a_task(2, [math.inf, 20.0], deadline=50.0, submitted=10.0), 10.0)
    submit(core, a_task(4, [math.inf, 20.0], deadline=50.0, submitted=10.0), 10.0)
    asked = [core.attempts[each.uuid] for each in attempts if core.attempts[each.uuid].leave_by is not None]
    assert len(asked) == 1
    core.handle(Tick(11.0))
    assert sum(core.attempts[each.uuid].leave_by is not None for each in attempts) == 1


def test_a_record_of_restarts_says_how_much_of_a_run_is_ahead() -> None:
    task = restart_task(1, SPEEDS).with_status(restarts=RestartRecord(count=1, left=0.25, reading=3.0))
    assert task.ahead(100.0) == 28.0
    assert restart_task(1, SPEEDS).ahead(100.0) == 100.0


def test_what_a_program_tells_after_a_restart_is_of_all_its_work_and_moves_its_end() -> None:
    core, attempt = running()
    (again,) = dispatched(stopped(core, attempt, 40.0))  # unasked: with 0.6 of its work left, as the time says
    start(core, again, 40.0)
    core.handle(Tick(41.0))
    core.handle(WorkReported(50.0, again.uuid, 0.5))
    core.handle(Tick(50.0))
    assert expected_end(core.attempts[again.uuid], 50.0) == pytest.approx(100.0, abs=1.0)
    core.handle(WorkReported(70.0, again.uuid, 0.6))  # 20 s for a tenth: it is half as quick as predicted
    core.handle(Tick(70.0))
    assert expected_end(core.attempts[again.uuid], 70.0) == pytest.approx(150.0, abs=1.0)
    before = core.attempts[again.uuid]
    core.handle(WorkReported(71.0, again.uuid, 0.604))
    assert core.attempts[again.uuid].lead == before.lead, "each report is written down"


def test_a_program_that_is_slower_than_predicted_is_not_started_again_for_the_prediction() -> None:
    core, attempt = running(payback=1.0)
    for second in range(1, 30):
        core.handle(WorkReported(float(second), attempt.uuid, second / 400))  # four times longer than predicted
        core.handle(Tick(float(second)))
    lead = core.attempts[attempt.uuid]
    assert lead.leave_by is None
    assert lead.lead is not None
    assert lead.lead.told_pace == pytest.approx(4.0)
    (again,) = dispatched(stopped(core, lead, 30.0))
    # All of it takes 400 s on four hosts, 29 of which are done.
    assert core.tasks["1"].status.predicted == pytest.approx(400 * (1 - 28 / 400), abs=5.0)
    assert len(again.hosts) == 4


def test_a_program_that_begins_slowly_is_not_taken_for_slow() -> None:
    core, attempt = running(payback=1.0)
    for second in range(9, 30):  # it reads its data for eight seconds
        core.handle(WorkReported(float(second), attempt.uuid, (second - 8) / 100))
        core.handle(Tick(float(second)))
        assert core.attempts[attempt.uuid].leave_by is None
        assert expected_end(core.attempts[attempt.uuid], float(second)) == pytest.approx(108.0, abs=2.0)


def test_what_is_left_at_a_checkpoint_is_what_its_program_told() -> None:
    core, attempt = running()
    core.handle(WorkReported(1.0, attempt.uuid, 0.01))
    core.handle(WorkReported(9.0, attempt.uuid, 0.25))
    core.handle(Tick(9.0))
    assert expected_end(core.attempts[attempt.uuid], 9.0) == pytest.approx(34.0, abs=1.0)
    stopped(core, core.attempts[attempt.uuid], 10.0)
    record = core.tasks["1"].status.restarts
    assert record is not None
    assert record.left == pytest.approx(0.75)


def finished(core: Coscheduler, attempt: Attempt, began: float, ended: float) -> RunRecord | None:
    """Have a task end; return the run that it is kept as."""
    return next(iter(complete(core, attempt, began, ended).changes.runs), None)


def test_a_program_that_was_never_started_again_is_a_run_like_any_other() -> None:
    core, attempt = running()
    run = finished(core, attempt, 0.0, 130.0)
    assert run is not None
    assert (run.seconds, run.hosts, run.predicted) == (130.0, 4, 100.0)


def test_attempts_together_are_kept_as_one_run_on_the_last_hosts() -> None:
    core, attempt = asked()
    first, second = (each for each in dispatched(stopped(core, attempt, 12.0)))
    again = first if first.task == "1" else second
    start(core, again, 12.0)
    record = core.tasks["1"].status.restarts
    assert record is not None
    assert record.spent == pytest.approx(0.1)  # ten of a hundred seconds
    run = finished(core, core.attempts[again.uuid], 12.0, 12.0 + record.reading + 246.0)
    assert run is not None
    assert run.hosts == 2
    assert run.seconds == pytest.approx(0.1 * 205.0 + 246.0)  # 1.3 times as long as predicted
    assert run.predicted == pytest.approx(205.0)


def test_attempts_of_which_one_was_forced_teach_no_run_time() -> None:
    core, attempt = asked(force=True)
    core.handle(Tick(30.0))
    outcome = report(core, attempt, JobState.REMOVED, 31.0, started=0.0, finished=31.0)
    (again,) = (each for each in dispatched(outcome) if each.task == "1")
    start(core, again, 31.0)
    assert finished(core, core.attempts[again.uuid], 31.0, 300.0) is None


def test_what_a_program_that_checkpoints_took_corrects_the_next_ones() -> None:
    core, attempt = running(correction="app/hw")
    (again,) = dispatched(stopped(core, attempt, 50.0))
    start(core, again, 50.0)
    record = core.tasks["1"].status.restarts
    assert record is not None
    complete(core, core.attempts[again.uuid], 50.0, 50.0 + record.reading + 100.0)
    assert core.corrections()["app/hw"].factor > 1.1  # 150 s in place of 100
    assert core.corrections()["app/hw"].runs == 1


def test_an_attempt_that_has_checkpointed_is_no_failure_and_teaches_no_run_time() -> None:
    core, attempt = asked()
    outcome = stopped(core, attempt, 12.0)
    ended = outcome.changes.attempts[attempt.uuid]
    assert (ended.state, ended.exit_code) == (AttemptState.CHECKPOINTED, 85)
    assert ended.reason == "4 hosts → 2 hosts: task 2 would be late without its hosts"
    assert not outcome.changes.runs


def test_a_task_that_waits_between_two_attempts_says_why_it_was_stopped() -> None:
    core, attempt = asked()
    core.handle(HostsObserved(11.0, hosts(4, down=[1, 2, 3, 4])))
    stopped(core, core.attempts[attempt.uuid], 12.0)
    found = explain(core, "1", 12.0)
    assert found is not None
    assert found.waits_for[0] == "it has checkpointed: task 2 would be late without its hosts"


HALF = HostLoad(rate=1 / 100, mean=100, square=20_000)


def on_a_loaded_host(**changes: Any) -> tuple[Coscheduler, Attempt]:
    """Return a core with a task on one of two hosts since 0 s, that ends at 400 s, and whose owner comes at 100 s."""
    core = a_core(1, elastic=ElasticSettings(settle=5.0), **changes)
    (attempt,) = dispatched(submit(core, restart_task(1, [400.0], cost=4.0, grace=20.0)))
    start(core, attempt, 0.0)
    core.handle(HostsObserved(100.0, hosts(2)))
    assert core.attempts[attempt.uuid].leave_by is None
    core.handle(HostsObserved(100.5, hosts(2), {"node01": HALF}))
    core.handle(Tick(110.0))
    return core, core.attempts[attempt.uuid]


def test_a_program_that_checkpoints_leaves_a_host_whose_owner_comes() -> None:
    core, attempt = on_a_loaded_host()
    assert attempt.leave_by is not None
    assert attempt.lead is not None
    assert attempt.lead.why.endswith("sooner; owners take 50% of node01")
    assert attempt.lead.why.startswith("on 1 host it ends ")
    outcome = report(core, attempt, JobState.FAILED, 112.0, started=0.0, finished=112.0, exit_code=85)
    (again,) = dispatched(outcome)
    assert again.hosts == ("node02",)
    assert outcome.changes.attempts[attempt.uuid].reason.startswith("1 host, then on as many again: on 1 host it ends ")
    known = core.tasks["1"].status.restarts
    assert known is not None
    assert known.left == pytest.approx(1 - (100.5 + 9.5 / 2) / 400)  # beside the owner it did half as much


def test_a_program_that_checkpoints_stays_where_the_trigger_only_advises() -> None:
    core, attempt = on_a_loaded_host(trigger=LoadTrigger.ADVISE)
    assert attempt.leave_by is None
    assert attempt.predicted == pytest.approx(100.5 + 2 * 299.5)  # it is expected later
    found = explain(core, "1", 110.0)
    assert found is not None
    assert found.planned_end == pytest.approx(attempt.predicted)
