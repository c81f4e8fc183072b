from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector.jobs import JobState
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.elastic.values import Elastic, ElasticSettings
from cosched.coscheduler.events import CancelRequested, HostsObserved, LeadAnnounced, StageDone, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import (
    a_core,
    a_task,
    cancelled,
    complete,
    dispatched,
    elastic_task,
    hosts,
    report,
    restore,
    start,
    submit,
    workers,
)
from tests.coscheduler.stages.makers import a_chain, submit_chain

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.elastic.values import LeadStatus
    from cosched.coscheduler.task import Task
    from tests.coscheduler.stages.makers import Way

WIDER = (1.0, [("sample", 1, 4.0), ("examine", 3, 10.0)])
NARROWER = (1.0, [("sample", 3, 4.0), ("examine", 1, 10.0)])


def one_program(number: int, *ways: Way, needs_lead: bool = False, **changes: Any) -> list[Task]:
    """Return a chain whose stages are run by one lead with workers."""
    elastic = Elastic(("/bin/worker",), needs_lead=needs_lead, whole_chain=True)
    return a_chain(number, *ways, elastic=elastic, **changes)


def begun(core: Coscheduler, chain: list[Task], time: float = 0.0) -> Attempt:
    """Submit a chain and have its lead and its workers start; return the lead."""
    lead, *mine = dispatched(submit_chain(core, chain, time))
    for attempt in (lead, *mine):
        start(core, attempt, time)
    return core.attempts[lead.uuid]


def done(core: Coscheduler, lead: Attempt, time: float) -> Outcome:
    """Have the lead say that it is done with its stage."""
    return core.handle(StageDone(time, lead.uuid, core.attempts[lead.uuid].task))


def lead_of(core: Coscheduler, task: str) -> tuple[Attempt, LeadStatus]:
    lead = core.attempt_of(task)
    assert lead is not None
    assert lead.lead is not None
    return lead, lead.lead


def told(core: Coscheduler, task: str, time: float) -> tuple[str, ...]:
    found = explain(core, task, time)
    assert found is not None
    return found.waits_for


def test_the_lead_goes_on_with_the_next_stage_and_is_given_the_hosts_that_it_has_more() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER, deadline=30.0))
    outcome = done(core, lead, 4.0)
    assert [(worker.task, worker.hosts) for worker in dispatched(outcome)] == [("2", ("node02",)), ("2", ("node03",))]
    now, status = lead_of(core, "2")
    assert (now.uuid, now.hosts, status.gathers) == (lead.uuid, lead.hosts, True)
    assert core.tasks["2"].status.state is TaskState.DISPATCHING
    (line,) = outcome.changes.log
    assert (line.kind, line.task, line.detail) == ("stage done", "1", "its program goes on with task 2 on 3 hosts")
    first = outcome.changes.tasks["1"].status
    assert (first.state, first.started, first.finished, first.actual) == (TaskState.COMPLETED, 0.0, 4.0, 4.0)


def test_a_stage_begins_when_all_of_its_workers_run() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER, deadline=30.0))
    one, other = dispatched(done(core, lead, 4.0))
    start(core, one, 5.0)
    assert core.tasks["2"].status.state is TaskState.DISPATCHING
    start(core, other, 6.0)
    assert (core.tasks["2"].status.state, core.tasks["2"].status.started) == (TaskState.RUNNING, 6.0)
    # What the manager says of the job again does not make it begin with the job.
    report(core, lead, JobState.RUNNING, 7.0, started=0.0)
    assert lead_of(core, "2")[0].started == 6.0


def test_workers_that_the_next_stage_has_no_use_for_are_ended_and_the_others_stay() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, (1.0, [("sample", 3, 4.0), ("mark", 2, 2.0)])))
    kept, over = core.workers_of("1")
    outcome = done(core, lead, 4.0)
    assert cancelled(outcome) == [over.uuid]
    assert not dispatched(outcome)
    assert core.tasks["2"].status.started == 4.0
    assert {worker.uuid for worker in core.workers_of("2")} == {kept.uuid, over.uuid}
    (next_one,) = dispatched(submit(core, a_task(9, [5.0]), 4.0))
    assert next_one.hosts == ("node04",)  # the worker's host is free once its job has ended
    report(core, over, JobState.REMOVED, 5.0, finished=5.0)
    (after,) = dispatched(submit(core, a_task(10, [5.0]), 5.0))
    assert after.hosts == over.hosts


def test_the_lead_ends_with_its_last_stage() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, NARROWER))
    first, second = core.workers_of("1")
    done(core, lead, 4.0)
    for worker in (first, second):
        report(core, worker, JobState.REMOVED, 5.0, finished=5.0)
    done(core, lead, 13.0)
    assert not core.chain_leads.goes_on(core.tasks["2"])
    ended = complete(core, lead, 0.0, 14.0).changes.tasks["2"].status
    assert (ended.state, ended.started, ended.finished, ended.actual) == (TaskState.COMPLETED, 4.0, 14.0, 10.0)
    assert not core.tasks
    assert not core.attempts


def test_what_is_said_twice_or_of_another_stage_changes_nothing() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER))
    core.handle(StageDone(2.0, lead.uuid, "2"))
    assert core.attempt_of("1") is not None
    for worker in dispatched(done(core, lead, 4.0)):
        start(core, worker, 4.0)
    core.handle(StageDone(5.0, lead.uuid, "1"))
    assert lead_of(core, "2")[1].stage_done is None


def test_the_stage_that_is_over_keeps_an_attempt_that_names_the_job() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER))
    (record,) = [each for each in done(core, lead, 4.0).changes.attempts.values() if each.task == "1"]
    assert record.lead is not None
    assert (record.state, record.started, record.finished) == (AttemptState.COMPLETED, 0.0, 4.0)
    assert (record.lead.job_of, record.hosts) == (lead.uuid, lead.hosts)
    assert record.uuid not in core.attempts


def test_a_way_is_closed_once_a_stage_begins_in_which_it_differs() -> None:
    core = a_core(4)
    fine = (1.0, [("sample", 1, 4.0), ("fine", 3, 9.0), ("last", 1, 1.0)])
    coarse = (0.9, [("sample", 1, 4.0), ("coarse", 2, 9.0), ("last", 1, 1.0)])
    lead = begun(core, one_program(1, fine, coarse))
    last = core.tasks["3"].stage
    assert last is not None
    assert last.open == (0, 1)
    done(core, lead, 4.0)
    last = core.tasks["3"].stage
    assert last is not None
    assert last.open == (0,)


def test_a_stage_whose_hosts_are_busy_is_given_them_before_what_waits() -> None:
    core = a_core(3)
    (busy,) = dispatched(submit(core, a_task(8, [float("inf"), 4.0]), 0.0))
    start(core, busy, 0.0)  # it lasts longer than it should
    lead = begun(core, one_program(10, WIDER))
    assert not dispatched(submit(core, a_task(20, [5.0]), 3.0))
    done(core, lead, 4.0)
    assert lead_of(core, "11")[1].promised == busy.hosts
    outcome = complete(core, busy, 0.0, 7.0)
    assert [worker.task for worker in dispatched(outcome)] == ["11", "11"]


def test_it_is_said_that_the_program_waits_for_hosts() -> None:
    core = a_core(3)
    (busy,) = dispatched(submit(core, a_task(8, [float("inf"), 4.0]), 0.0))
    start(core, busy, 0.0)  # it lasts longer than it should
    lead = begun(core, one_program(10, WIDER))
    done(core, lead, 4.0)
    assert "its program is there and waits for the hosts of this stage" in told(core, "11", 5.0)


def test_a_lent_host_comes_back_for_the_next_stage_of_a_program_that_is_there() -> None:
    core = a_core(2, elastic=ElasticSettings(settle=2.0))
    lead = begun(core, one_program(1, (1.0, [("sample", 1, 400.0), ("examine", 2, 10.0)])))
    submit(core, elastic_task(8, [600.0, 300.0, 200.0]), 0.0)
    (other,) = dispatched(core.handle(HostsObserved(1.0, hosts(4))))
    start(core, other, 1.0)
    lent = workers(core.handle(Tick(4.0)))
    for worker in lent:
        start(core, worker, 4.0)
    assert len(lent) == 2
    outcome = done(core, lead, 9.0)  # long before the plan needs them
    (back,) = [worker for worker in lent if worker.uuid in cancelled(outcome)]
    assert lead_of(core, "2")[1].promised == back.hosts
    (mine,) = dispatched(report(core, back, JobState.REMOVED, 10.0, finished=10.0))
    assert (mine.task, mine.hosts) == ("2", back.hosts)


def test_no_lead_begins_that_would_keep_the_host_which_another_one_waits_for() -> None:
    """Both would sample at once, keep one of the two hosts each, and wait for the other's for ever."""
    core = a_core(2)
    both = (1.0, [("sample", 1, 4.0), ("examine", 2, 10.0)])
    lead = begun(core, one_program(1, both))
    assert not dispatched(submit_chain(core, one_program(3, both)))
    assert any("keep a host for later stages" in each for each in told(core, "3", 0.0))
    (worker,) = dispatched(done(core, lead, 4.0))
    start(core, worker, 4.0)
    outcome = complete(core, lead, 0.0, 14.0)
    outcome = report(core, worker, JobState.REMOVED, 14.0, finished=14.0)
    assert [attempt.task for attempt in dispatched(outcome)] == ["3"]


def test_a_lost_lead_is_tried_again_at_the_stage_that_it_was_in() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER))
    mine = dispatched(done(core, lead, 4.0))
    for worker in mine:
        start(core, worker, 4.0)
    report(core, lead, JobState.EVICTED, 9.0)
    report(core, lead, JobState.REMOVED, 10.0, finished=10.0)
    for worker in mine:
        outcome = report(core, worker, JobState.REMOVED, 11.0, finished=11.0)
    assert {attempt.task for attempt in dispatched(outcome)} == {"2"}
    assert len(dispatched(outcome)) == 3
    assert core.attempts.keys().isdisjoint({lead.uuid})


def test_a_program_that_ends_at_each_stage_is_started_again_for_the_next() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER))
    outcome = complete(core, lead, 0.0, 4.0)
    assert outcome.changes.tasks["1"].status.state is TaskState.COMPLETED
    again = dispatched(outcome)
    assert {attempt.task for attempt in again} == {"2"}
    assert lead.uuid not in {attempt.uuid for attempt in again}


def test_a_cancelled_chain_takes_its_lead_with_it_whichever_stage_it_is_in() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER))
    mine = dispatched(done(core, lead, 4.0))
    assert set(cancelled(core.handle(CancelRequested(5.0, "2")))) == {lead.uuid, *(worker.uuid for worker in mine)}
    for attempt in (lead, *mine):
        report(core, attempt, JobState.REMOVED, 6.0, finished=6.0)
    assert not core.tasks


def test_another_host_is_named_in_place_of_one_that_went_before_the_stage_began() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, (1.0, [("sample", 1, 4.0), ("examine", 2, 10.0)]), needs_lead=True))
    assert not dispatched(done(core, lead, 4.0))  # its workers need its address
    assert lead_of(core, "2")[1].promised == ("node02",)
    core.handle(HostsObserved(5.0, hosts(4, down=[2])))
    (worker,) = dispatched(core.handle(LeadAnnounced(6.0, lead.uuid, "tcp://node01:4000")))
    assert worker.hosts == ("node03",)
    assert core.tasks["2"].status.hosts == ("node01", "node03")


def test_a_restart_between_two_stages_goes_on_with_the_second() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER))
    mine = dispatched(done(core, lead, 4.0))
    later = a_core(4)
    restore(later, 5.0, tasks=core.tasks.values(), attempts=core.attempts.values())
    later.handle(HostsObserved(5.0, hosts(4)))
    report(later, lead, JobState.RUNNING, 5.0, started=0.0)
    for worker in mine:
        start(later, worker, 6.0)
    assert later.tasks["2"].status.started == 6.0


def test_a_chain_with_one_program_is_planned_without_a_gap() -> None:
    """Its host would be idle in a gap, and nobody else's."""
    core = a_core(4)
    (busy,) = dispatched(submit(core, a_task(20, [float("inf")] * 2 + [20.0]), 0.0))
    start(core, busy, 0.0)
    chain = one_program(1, (1.0, [("sample", 1, 4.0), ("examine", 2, 10.0)]), deadline=60.0)
    placed = core.ways(chain, 0.0)[0]
    assert placed.starts == (16.0, 20.0)
    apart = [replace(task, spec=replace(task.spec, elastic=None)) for task in chain]
    assert core.ways(apart, 0.0)[0].starts == (0.0, 20.0)


def test_a_stage_of_one_program_teaches_its_run_time() -> None:
    core = a_core(4)
    lead = begun(core, one_program(1, WIDER))
    done(core, lead, 6.0)
    assert core.corrections()["app.sample/test"].factor > 1
