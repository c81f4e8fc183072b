from __future__ import annotations

import math

from cosched.connector.jobs import JobState
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import HostsObserved, LeadAnnounced, Tick
from cosched.coscheduler.explain import explain
from tests.coscheduler.makers import (
    a_core,
    a_task,
    dispatched,
    elastic_task,
    hosts,
    report,
    start,
    submit,
    workers,
)

SECONDS = [math.inf, 60.0, 40.0, 30.0]


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
    assert "lent to it, until they are needed: node04" in said
    assert "it gives node03 back: task 2 starts on node03" in said


def test_a_task_that_comes_says_which_of_its_hosts_are_lent_to_whom() -> None:
    assert "node03, lent to task 1: what is needed comes back" in sentences("2")


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
    assert any("1 of its workers in a row ended soon and by themselves" in each for each in found.waits_for)
