"""What others had of a host while a run lasted, held against the sum over all moments."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.connector.hosts import Host, HostShare
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.places.hosts import DomainHosts
from cosched.coscheduler.places.occupancy import HostOccupancy
from tests.exploring import examples

CORES = 16
NAMES = ("h1", "h2")


class Job(NamedTuple):
    """A run of ours: when it begins, how long it lasts, and what it takes of which hosts."""

    begin: int
    seconds: int
    cores: int
    hosts: tuple[str, ...]

    def attempt(self, name: str) -> Attempt:
        running = AttemptState.RUNNING
        return Attempt(name, name, self.hosts, len(self.hosts), 10.0, 0.0, state=running, cores=self.cores)

    def has(self, host: str, second: int) -> int:
        return self.cores if host in self.hosts and self.begin <= second < self.begin + self.seconds else 0


def a_domain(foreign: int = 0) -> DomainHosts:
    domain = DomainHosts(shared=True)
    domain.observe(some_hosts(foreign), 0.0)
    return domain


def some_hosts(foreign: int) -> list[Host]:
    return [Host(name, cores=CORES, memory=1024, others=HostShare(0, foreign)) for name in NAMES]


JOBS = st.builds(
    Job,
    st.integers(0, 20),
    st.integers(1, 20),
    st.integers(1, 4),
    st.sampled_from([("h1",), ("h2",), ("h1", "h2")]),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(JOBS, min_size=1, max_size=4), st.lists(st.integers(0, 4), min_size=41, max_size=41))
def test_the_part_of_others_is_their_mean_over_the_run_on_the_fullest_host(jobs: list[Job], foreign: list[int]) -> None:
    domain = a_domain(foreign[0])
    occupancy = HostOccupancy(domain)
    found: dict[int, float | None] = {}
    for second in range(41):
        domain.observe(some_hosts(foreign[second]), float(second))
        occupancy.observe(float(second))
        for place, job in enumerate(jobs):
            if second == job.begin + job.seconds:
                found[place] = occupancy.end(job.attempt(str(place)), float(second))
        for place, job in enumerate(jobs):
            if second == job.begin:
                occupancy.follow(job.attempt(str(place)), float(second))
    for place, job in enumerate(jobs):
        moments = range(job.begin, job.begin + job.seconds)
        beside = [
            sum(foreign[second] + sum(each.has(host, second) for each in jobs if each is not job) for second in moments)
            for host in job.hosts
        ]
        assert found[place] == pytest.approx(max(beside) / job.seconds / CORES)


def test_it_goes_on_from_what_is_remembered() -> None:
    job, beside = Job(0, 10, 2, ("h1",)), Job(0, 5, 4, ("h1",))
    before = HostOccupancy(a_domain())
    for name, each in (("a", job), ("b", beside)):
        before.follow(each.attempt(name), 0.0)
    after = HostOccupancy(a_domain())
    after.load(before.snapshot())
    after.end(beside.attempt("b"), 5.0)
    assert after.end(job.attempt("a"), 10.0) == pytest.approx(4 * 5 / 10 / CORES)


def test_what_was_beside_a_run_whose_begin_nobody_saw_is_not_known() -> None:
    occupancy = HostOccupancy(a_domain())
    attempt = Job(0, 10, 2, ("h1",)).attempt("a")
    occupancy.follow(attempt, 0.0, seen=False)
    assert occupancy.end(attempt, 10.0) is None


def test_a_held_job_leaves_its_hosts_to_others() -> None:
    occupancy = HostOccupancy(a_domain())
    held, other = Job(0, 10, 8, ("h1",)).attempt("a"), Job(0, 10, 2, ("h1",)).attempt("b")
    occupancy.follow(held, 0.0)
    occupancy.follow(other, 0.0)
    occupancy.follow(replace(held, state=AttemptState.HELD), 5.0)
    assert occupancy.end(other, 10.0) == pytest.approx(8 * 5 / 10 / CORES)


def test_domains_that_do_not_share_hosts_remember_nothing() -> None:
    domain = DomainHosts()
    domain.observe(some_hosts(0), 0.0)
    occupancy = HostOccupancy(domain)
    occupancy.follow(Job(0, 1, 1, ("h1",)).attempt("a"), 0.0)
    assert not occupancy.snapshot().runs
