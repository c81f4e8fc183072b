from __future__ import annotations

import math

from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.jobs import JobState
from cosched.coscheduler.changes import DiagnoseAttempt, Outcome
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import (
    AttemptDiagnosed,
    AttemptSubmitted,
    HostsObserved,
    HostsReserved,
    LeadAnnounced,
    Tick,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.reservations import Reservation
from tests.coscheduler.makers import (
    a_core,
    a_task,
    cancelled,
    dispatched,
    elastic_task,
    hosts,
    report,
    start,
    submit,
    workers,
)

SECONDS = [math.inf, 60.0, 40.0, 30.0]


def asked(outcome: Outcome) -> list[str]:
    """Return the attempts of which the manager is asked why they have not begun."""
    return [decision.attempt for decision in outcome.decisions if isinstance(decision, DiagnoseAttempt)]


def sentences(task: str, *, drains: bool = True) -> str:
    """Return what is said of a task where an elastic one gives a lent host to a second task."""
    core = a_core(2, elastic=ElasticSettings(settle=1.0))
    lead, worker = dispatched(submit(core, elastic_task(1, SECONDS)))
    for attempt in (lead, worker):
        start(core, attempt, 1.0)
    core.handle(LeadAnnounced(1.0, lead.uuid, "here", drains=drains))
    core.handle(HostsObserved(1.0, hosts(4)))
    for each in workers(core.handle(Tick(3.0))):
        start(core, each, 3.0)
    submit(core, a_task(2, [10.0]), 4.0)
    found = explain(core, task, 4.5)
    assert found is not None
    return "; ".join(found.waits_for)


def test_an_elastic_task_says_what_is_promised_lent_and_given_back_for_whom() -> None:
    said = sentences("1")
    assert "its promised hosts: node01, node02" in said
    assert "lent to it: node04 (until it is needed)" in said
    assert "it gives node03 back: task 2 starts on node03" in said


def test_a_loan_lasts_until_its_host_is_reserved_where_no_task_needs_it_before() -> None:
    core = a_core(2, elastic=ElasticSettings(settle=1.0))
    for attempt in dispatched(submit(core, elastic_task(1, [math.inf, 600.0, 400.0]))):
        start(core, attempt, 1.0)
    core.handle(HostsObserved(1.0, hosts(3)))
    (lent,) = workers(core.handle(Tick(3.0)))
    start(core, lent, 3.0)
    core.handle(HostsReserved(4.0, Reservation("r", ("node03",), 3604.0, 7204.0)))
    found = explain(core, "1", 4.0)
    assert found is not None
    assert "lent to it: node03 (until it is reserved for others, in 1 h)" in found.waits_for


def test_a_task_that_comes_says_which_of_its_hosts_are_lent_to_whom() -> None:
    assert "node03, lent to task 1: what is needed comes back" in sentences("2")


def test_what_waits_for_an_elastic_task_is_not_told_that_nobody_has_predicted_its_end() -> None:
    """Its workers have no predicted ends of their own."""
    core = a_core(2)
    for attempt in dispatched(submit(core, elastic_task(1, [math.inf, 60.0]))):
        start(core, attempt, 1.0)
    submit(core, a_task(2, [math.inf, 10.0]), 4.0)
    found = explain(core, "2", 4.5)
    assert found is not None
    assert found.waits_for == ("on hosts it will use: 1 (t1, running)",)


def test_workers_that_wait_for_their_lead_say_so() -> None:
    core = a_core(2)
    (lead,) = dispatched(submit(core, elastic_task(1, [math.inf, 60.0], needs_lead=True)))
    start(core, lead, 1.0)
    found = explain(core, "1", 2.0)
    assert found is not None
    assert "its workers wait for the address of its lead, which it has not told" in found.waits_for


def test_workers_that_end_at_once_are_named() -> None:
    core = a_core(2)
    lead, worker = dispatched(submit(core, elastic_task(1, [math.inf, 60.0])))
    for attempt in (lead, worker):
        start(core, attempt, 1.0)
    core.handle(Tick(1.2))
    report(core, worker, JobState.FAILED, 1.5, started=1.0, finished=1.5, exit_code=1)
    found = explain(core, "1", 2.0)
    assert found is not None
    said = "; ".join(found.waits_for)
    assert "1 of its workers in a row failed soon after their start or did not begin" in said
    assert "(the last, worker 1 on node02: it ended with code 1): the next is tried in " in said


def test_workers_whose_lead_is_lost_are_not_said_to_lack_work() -> None:
    """They end by themselves, with code 0 perhaps, as nobody gives them any."""
    core = a_core(3)
    lead, worker, other = dispatched(submit(core, elastic_task(1, [math.inf, math.inf, 60.0])))
    for attempt in (lead, worker, other):
        start(core, attempt, 1.0)
    report(core, worker, JobState.COMPLETED, 5.0, started=1.0, finished=5.0, exit_code=0)
    found = explain(core, "1", 5.0)
    assert found is not None
    assert any("as one does for lack of work: it is given no more than 2 hosts" in each for each in found.waits_for)
    report(core, lead, JobState.EVICTED, 6.0, started=1.0, reason="its host is out of reach")
    found = explain(core, "1", 6.0)
    assert found is not None
    assert not any("lack of work" in each for each in found.waits_for)


def test_a_worker_that_the_manager_does_not_start_is_asked_after_called_back_and_tried_again_later() -> None:
    core = a_core(2)
    lead, worker = dispatched(submit(core, elastic_task(1, [math.inf, 6000.0])))
    start(core, lead, 1.0)
    core.handle(AttemptSubmitted(1.0, worker.uuid, "2.0"))
    assert not asked(core.handle(Tick(60.0)))
    assert asked(core.handle(Tick(61.0))) == [worker.uuid]
    found = explain(core, "1", 61.0)
    assert found is not None
    assert any(
        each.startswith("the resource manager has not started its worker 1 on node02") for each in found.waits_for
    )
    blocked = StartDiagnosis(StartVerdict.BLOCKED, "node02 has no disk")
    assert cancelled(core.handle(AttemptDiagnosed(62.0, worker.uuid, blocked))) == [worker.uuid]
    report(core, worker, JobState.REMOVED, 63.0)
    assert not core.unstarted.tries("1")  # the task itself has begun
    found = explain(core, "1", 64.0)
    assert found is not None
    assert any("node02 has no disk): the next is tried in" in each for each in found.waits_for)
    assert not workers(core.handle(Tick(65.0)))
    (other,) = workers(core.handle(Tick(200.0)))
    assert (other.worker, other.hosts) == (2, ("node02",))
    core.handle(AttemptSubmitted(200.0, other.uuid, "3.0"))
    report(core, other, JobState.RUNNING, 201.0, started=201.0)
    assert not asked(core.handle(Tick(400.0)))
