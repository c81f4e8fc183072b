from __future__ import annotations

import math

from cosched.connector.jobs import JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.elastic.resize_counts import ResizeCounts
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import HostsObserved, LeadAnnounced, Tick
from tests.coscheduler.makers import (
    a_core,
    a_task,
    dispatched,
    elastic_task,
    hosts,
    report,
    restart_task,
    settings,
    start,
    submit,
    workers,
)


def with_a_loan() -> Coscheduler:
    """Return a core whose elastic task drains and has been lent a second host at 7 s."""
    core = a_core(1, elastic=ElasticSettings(settle=5.0))
    (lead,) = dispatched(submit(core, elastic_task(1, [120.0, 60.0])))
    start(core, lead, 1.0)
    core.handle(LeadAnnounced(1.0, lead.uuid, "here", drains=True))
    core.handle(HostsObserved(1.0, hosts(2)))
    (lent,) = workers(core.handle(Tick(7.0)))
    start(core, lent, 7.0)
    return core


def leaves_at(core: Coscheduler, time: float, *ticks: float) -> None:
    """Have the lent host needed at 10 s, and its worker's job end at a time."""
    submit(core, a_task(2, [5.0], submitted=10.0), 10.0)
    (worker,) = core.workers_of("1")
    for each in ticks:
        core.handle(Tick(each))
    report(core, core.attempts[worker.uuid], JobState.REMOVED, time, finished=time)


def test_a_worker_that_goes_in_time_is_a_resize_without_force() -> None:
    core = with_a_loan()
    leaves_at(core, 12.0)
    assert core.elastic.resizes == ResizeCounts(grown=1, shrunk=1, lent=5.0)


def test_a_worker_that_does_not_go_in_time_is_counted_as_forced_once() -> None:
    core = with_a_loan()
    leaves_at(core, 45.0, 41.0, 42.0)
    assert core.elastic.resizes == ResizeCounts(grown=1, shrunk=1, forced=1, lent=38.0)


def test_a_worker_that_ends_by_itself_is_no_resize() -> None:
    core = with_a_loan()
    (worker,) = core.workers_of("1")
    report(core, worker, JobState.COMPLETED, 9.0, finished=9.0, exit_code=0)
    assert core.elastic.resizes == ResizeCounts(grown=1, lent=2.0)


def test_another_core_goes_on_counting_from_a_snapshot() -> None:
    core = with_a_loan()
    leaves_at(core, 12.0)
    again = Coscheduler.from_snapshot(settings(elastic=ElasticSettings(settle=5.0)), core.snapshot())
    assert again.elastic.resizes == core.elastic.resizes != ResizeCounts()


def test_a_program_that_goes_on_on_fewer_hosts_has_shrunk() -> None:
    core = a_core(4, elastic=ElasticSettings(settle=5.0))
    task = restart_task(1, [420.0, 205.0, 135.0, 100.0], cost=4.0, grace=20.0)
    (attempt,) = dispatched(submit(core, task))
    start(core, attempt, 0.0)
    submit(core, a_task(2, [math.inf, 200.0], deadline=250.0, submitted=10.0), 10.0)
    (asked,) = core.leads()
    assert asked.leave_by is not None
    report(core, asked, JobState.FAILED, 12.0, started=0.0, finished=12.0, exit_code=85)
    assert core.elastic.resizes == ResizeCounts(shrunk=1)
