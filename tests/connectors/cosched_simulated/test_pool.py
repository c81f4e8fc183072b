"""Jobs that somebody stops, hosts that are lost, and what the pool says of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log
from statistics import mean, stdev

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cosched.connector import HostShare, JobReport, JobState
from cosched_simulated.pool import (
    CANCELLED,
    SimulatedJob,
    SimulatedPool,
    advance,
    drawn_outcome,
    next_change,
    start_diagnosis,
)
from cosched_simulated.simulated_settings import SimulatedSettings
from tests.connectors.cosched_simulated.makers import HOSTS, a_job, a_launch, a_pool


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


GRACE = 0.5


def spans(pool: SimulatedPool) -> list[tuple[float | None, float]]:
    return [(job.began, job.ends) for job in pool.jobs]


def test_a_job_starts_when_its_hosts_are_free_and_not_when_somebody_looks() -> None:
    pool = a_pool(a_job(1, "h1"), a_job(2, "h2", duration=4.0), a_job(3, "h1", "h2"))
    assert spans(advance(pool, 1000.0)) == [(0.0, 10.0), (0.0, 4.0), (10.0, 20.0)]


def test_a_job_that_waits_is_not_overtaken_on_a_host_that_it_could_have() -> None:
    pool = a_pool(a_job(1, "h1"), a_job(2, "h1", "h2"), a_job(3, "h2", duration=1.0), a_job(4, "h3", duration=1.0))
    assert spans(advance(pool, 1000.0)) == [(0.0, 10.0), (10.0, 20.0), (20.0, 21.0), (0.0, 1.0)]


def test_an_unpinned_job_takes_any_hosts_that_are_free() -> None:
    pool = a_pool(a_job(1, "h2", duration=3.0), a_job(2, count=2, duration=2.0), a_job(3, count=3, duration=2.0))
    ran = advance(pool, 1000.0)
    assert spans(ran) == [(0.0, 3.0), (0.0, 2.0), (3.0, 5.0)]
    assert [job.hosts for job in ran.jobs] == [("h2",), ("h1", "h3"), HOSTS]


def test_a_job_is_ready_after_the_latency() -> None:
    pool = a_pool(a_job(1, "h1", ready=2.5))
    assert next_change(pool) == 2.5
    assert advance(pool, 2.0).jobs[0].state is JobState.QUEUED
    assert spans(advance(pool, 3.0)) == [(2.5, 12.5)]


def test_jobs_that_take_no_time_pass_all_at_once() -> None:
    ran = advance(a_pool(*(a_job(number, "h1", duration=0.0) for number in (1, 2, 3))), 0.0)
    assert {job.state for job in ran.jobs} == {JobState.COMPLETED}


def test_nothing_is_due_where_nothing_runs() -> None:
    assert next_change(a_pool()) is None
    assert next_change(advance(a_pool(a_job(1, "gone")), 5.0)) is None


def test_a_clock_that_was_set_back_changes_nothing() -> None:
    pool = advance(a_pool(a_job(1, "h1")), 5.0)
    assert advance(pool, 3.0) == pool


class Life(RuleBasedStateMachine):
    """Users submit and cancel, an administrator takes hosts off and gives them back, and time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = a_pool()
        self.ended: dict[int, SimulatedJob] = {}
        self.seen: dict[int, SimulatedJob] = {}
        self.cancelled: dict[int, float] = {}
        self.number = 0

    def step(self, now: float) -> None:
        """Advance, check what came of it, and put away what has ended, as the file does."""
        before, self.pool = self.pool, advance(self.pool, now)
        assert self.pool.time >= before.time
        for job in self.pool.jobs:
            assert self.number_began(job)
        self.seen |= {job.number: job for job in self.pool.jobs}
        self.ended |= {job.number: job for job in self.pool.jobs if not job.live}
        self.pool = replace(self.pool, jobs=tuple(job for job in self.pool.jobs if job.live))

    def number_began(self, job: SimulatedJob) -> bool:
        """Whether the job began at most once, and not after its cancel."""
        known = self.seen.get(job.number)
        once = known is None or known.began in (None, job.began)
        cancelled = self.cancelled.get(job.number)
        return once and (cancelled is None or job.began is None or job.began <= cancelled)

    @rule(
        pinned=st.lists(st.sampled_from(HOSTS), unique=True),
        count=st.integers(1, 3),
        duration=st.one_of(st.sampled_from((0.0, 1.0, 2.0)), st.floats(0.01, 5.0)),
        latency=st.sampled_from((0.0, 0.0, 1.5)),
    )
    def submit(self, pinned: list[str], count: int, duration: float, latency: float) -> None:
        self.number += 1
        job = a_job(self.number, *pinned, count=len(pinned) or count, ready=self.pool.time + latency, duration=duration)
        self.pool = replace(self.pool, jobs=(*self.pool.jobs, job))
        self.step(self.pool.time)

    @precondition(lambda self: self.pool.jobs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.pool.jobs))
        self.cancelled.setdefault(job.number, self.pool.time)
        self.pool = self.pool.put(job.stop(CANCELLED, self.pool.time, GRACE))
        self.step(self.pool.time)

    @rule(up=st.sets(st.sampled_from(HOSTS)))
    def observe(self, up: set[str]) -> None:
        self.pool = self.pool.observe(tuple(sorted(up)), GRACE)
        self.step(self.pool.time)

    @rule(seconds=st.one_of(st.sampled_from((0.0, 0.5, 1.0)), st.floats(0.0, 10.0)), share=st.floats(0.0, 1.0))
    def wait(self, seconds: float, share: float) -> None:
        now = self.pool.time + seconds
        between = self.pool.time + seconds * share
        assert advance(advance(self.pool, min(between, now)), now) == advance(self.pool, now)
        self.step(now)

    @invariant()
    def no_host_runs_two_jobs_at_once(self) -> None:
        for host in HOSTS:
            ran = sorted((job.began, job.ends) for job in self.all() if job.began is not None and host in job.hosts)
            assert all(one[1] <= other[0] for one, other in pairwise(ran))

    @invariant()
    def what_was_cancelled_has_ended_after_the_grace(self) -> None:
        assert all(self.seen[number].ends <= time + GRACE for number, time in self.cancelled.items())

    @invariant()
    def nothing_waits_that_could_run(self) -> None:
        free = set(self.pool.up) - {host for job in self.pool.jobs for host in job.hosts}
        for job in self.pool.jobs:
            if job.state is JobState.QUEUED and job.ready <= self.pool.time:
                wanted = set(job.pinned) or set(sorted(free)[: job.count])
                assert not (wanted <= free and len(wanted) == job.count)
                free -= wanted

    @invariant()
    def who_is_pinned_to_a_host_runs_there_in_order(self) -> None:
        for host in HOSTS:
            began = [job.began for job in self.all() if host in job.pinned and job.began is not None]
            assert began == sorted(began) or self.some_were_not_ready()

    def some_were_not_ready(self) -> bool:
        """Whether an earlier job was ready only after a later one, which may then pass it."""
        readies = [job.ready for job in self.all()]
        return readies != sorted(readies)

    def all(self) -> list[SimulatedJob]:
        return [self.seen[number] for number in sorted(self.seen)]


TestLife = Life.TestCase


def settings(**table: object) -> SimulatedSettings:
    return SimulatedSettings.read({"spool": "/spool", **table})


def test_the_same_attempt_has_the_same_fate() -> None:
    launch = a_launch(predicted=10.0)
    assert (
        drawn_outcome(launch, settings(seed=1))
        == drawn_outcome(launch, settings(seed=1))
        != drawn_outcome(launch, settings(seed=2))
    )
    assert drawn_outcome(launch, settings()) != drawn_outcome(replace(launch, attempt=a_launch().attempt), settings())


def test_run_times_are_log_normal_around_the_prediction() -> None:
    known = [replace(a_launch(predicted=10.0), attempt=f"{number}") for number in range(4000)]
    logs = [log(drawn_outcome(launch, settings(error=0.2))[0] / 10.0) for launch in known]
    assert mean(logs) == pytest.approx(0.0, abs=4 * 0.2 / 4000**0.5)
    assert stdev(logs) == pytest.approx(0.2, rel=0.05)


def test_without_an_error_predictions_are_exact() -> None:
    assert drawn_outcome(a_launch(predicted=10.0), settings(error=0))[0] == 10.0
    assert drawn_outcome(a_launch(), settings(error=0, unpredicted=7.0))[0] == 7.0
    assert drawn_outcome(a_launch(predicted=0.0), settings())[0] == 0.0


def test_a_share_fails() -> None:
    outcomes = [
        drawn_outcome(replace(a_launch(), attempt=f"{number}"), settings(failures=0.3))[1] for number in range(2000)
    ]
    codes = [outcome.exit_code for outcome in outcomes]
    assert set(codes) == {0, 1}
    assert codes.count(1) / 2000 == pytest.approx(0.3, abs=0.05)
    assert {outcome.state for outcome in outcomes if outcome.exit_code} == {JobState.FAILED}
    assert all(outcome.reason for outcome in outcomes if outcome.exit_code)


def test_a_time_limit_cuts_it_off() -> None:
    seconds, outcome = drawn_outcome(a_launch(predicted=10.0, time_limit=2.0), settings(error=0, failures=1))
    assert (seconds, outcome.state, outcome.exit_code) == (2.0, JobState.REMOVED, None)
    assert outcome.reason == "its time limit of 2 s was over"
    assert drawn_outcome(a_launch(predicted=1.0, time_limit=10.0), settings(error=0.1))[1].state is JobState.COMPLETED


def a_part(number: int, cores: int, *pinned: str, gpus: int = 0) -> SimulatedJob:
    return replace(a_job(number, *pinned), cores=cores, gpus=gpus)


def test_jobs_that_share_a_host_start_as_long_as_they_fit() -> None:
    size = HostShare(1000, 8, 1)
    jobs = (a_part(1, 4, "h1"), a_part(2, 5, "h1"), a_part(3, 4, "h1"), a_part(4, 8, "h2", gpus=1))
    pool = advance(replace(a_pool(*jobs), size=size), 0.0)
    # The second waits for what the first has, and keeps nothing that would be too little for it.
    assert [job.state is JobState.RUNNING for job in pool.jobs] == [True, False, True, True]
    assert pool.left()["h1"] == HostShare(1000, 0, 1)
    assert start_diagnosis(pool, pool.jobs[1]).reason == "job 1, 3 has h1"


def test_a_job_with_its_host_for_itself_waits_until_nothing_runs_there() -> None:
    pool = replace(a_pool(a_part(1, 1, "h1"), a_job(2, "h1"), a_part(3, 1, "h1")), size=HostShare(0, 8, 0))
    pool = advance(pool, 0.0)
    assert [job.state is JobState.RUNNING for job in pool.jobs] == [True, False, True]
    pool = advance(pool, 10.0)
    assert [job.began for job in pool.jobs] == [0.0, 10.0, 0.0]
    assert not pool.jobs[0].live
