"""Jobs that somebody stops, hosts that are lost, and what the pool says of it."""

from __future__ import annotations

import pytest

from cosched.connector import JobReport, JobState
from cosched_simulated.pool import CANCELLED, SimulatedJob, advance
from tests.connectors.cosched_simulated.makers import HOSTS, a_job, a_pool


def running(*pinned: str, count: int = 0) -> SimulatedJob:
    """Return a job that has run since 1.0 and would end at 11.0."""
    return a_job(1, *pinned, count=count).start(pinned or HOSTS[:count], 1.0)


@pytest.mark.parametrize(
    ("job", "report"),
    [
        (a_job(1, "h1", "h2"), JobReport("", JobState.QUEUED, "1", reason="waits for h1, h2")),
        (a_job(1, count=2), JobReport("", JobState.QUEUED, "1", reason="waits for hosts")),
        (running("h1"), JobReport("", JobState.RUNNING, "1", 1.0)),
        (running(count=2), JobReport("", JobState.RUNNING, "1", 1.0, hosts=("h1", "h2"))),
        (running("h1").end(), JobReport("", JobState.COMPLETED, "1", 1.0, 11.0, 0)),
        (a_job(1, "h1").stop(CANCELLED, 3.0, 2.0), JobReport("", JobState.REMOVED, "1", None, 3.0, None, "cancelled")),
        (
            running("h1").stop(CANCELLED, 3.0, 2.0).end(),
            JobReport("", JobState.REMOVED, "1", 1.0, 5.0, None, "cancelled"),
        ),
    ],
)
def test_a_job_is_reported_as_it_is(job: SimulatedJob, report: JobReport) -> None:
    assert job.report() == JobReport(job.attempt, *(getattr(report, name) for name in JobReport.__slots__[1:]))


def test_a_cancelled_job_ends_with_the_grace_or_before() -> None:
    assert running("h1").stop(CANCELLED, 10.5, 2.0).ends == 11.0
    once = running("h1").stop(CANCELLED, 3.0, 2.0)
    assert once.live
    assert once.stop(CANCELLED, 4.0, 2.0) == once


def test_cancelling_what_has_ended_changes_nothing() -> None:
    done = running("h1").end()
    assert done.stop(CANCELLED, 20.0, 0.0) == done


def test_a_lost_host_evicts_what_runs_there_and_nothing_else() -> None:
    jobs = (running("h1", "h2"), a_job(2, "h1"), a_job(3, "h3").start(("h3",), 1.0))
    pool = advance(a_pool(*jobs, time=2.0).observe(("h2", "h3"), 0.0), 2.0)
    evicted, waiting, other = pool.jobs
    assert (evicted.state, evicted.ends, evicted.report().reason) == (JobState.EVICTED, 2.0, "host h1 was lost")
    assert waiting.state is JobState.QUEUED
    assert other.ends == 11.0
    assert advance(pool.observe(HOSTS, 0.0), 5.0).jobs[1].began == 2.0


@pytest.mark.parametrize("ended", [False, True])
def test_a_cancel_outdoes_the_loss_of_a_host(ended: bool) -> None:
    (job,) = a_pool(running("h1"), time=2.0).observe((), 1.0).jobs
    job = job.end() if ended else job
    job = job.stop(CANCELLED, 2.5, 1.0)
    assert (job if ended else job.end()).state is JobState.REMOVED
    assert job.ends == 3.0


def test_the_loss_of_a_host_does_not_outdo_a_cancel() -> None:
    job = running("h1").stop(CANCELLED, 2.0, 1.0)
    assert a_pool(job, time=2.5).observe((), 1.0).jobs == (job,)


def test_one_job_is_replaced() -> None:
    one, two = a_job(1, "h1"), a_job(2, "h2")
    assert a_pool(one, two).put(two.start(("h2",), 0.0)).jobs == (one, two.start(("h2",), 0.0))
