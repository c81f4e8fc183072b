"""What happens in a simulated pool as time goes by: who starts, who ends, exactly when, and never otherwise."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cosched.connector import JobState
from cosched_simulated.pool import CANCELLED, SimulatedPool, advance, next_change
from tests.connectors.cosched_simulated.makers import HOSTS, a_job, a_pool

if TYPE_CHECKING:
    from cosched_simulated.pool import SimulatedJob

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
