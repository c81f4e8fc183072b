"""The jobs that managers and cosched are compared with stay what they were before the first run."""

from __future__ import annotations

import pytest

from benchmarks.shared_workload import DIGEST, SPAN, digest, draw_workload


def test_the_jobs_are_those_of_before_the_first_run() -> None:
    jobs = draw_workload()
    assert digest(jobs) == DIGEST
    assert draw_workload(10) == jobs[:10]


def test_the_jobs_are_as_the_page_says() -> None:
    jobs = draw_workload()
    assert all(job.seconds <= job.estimate and job.arrival < SPAN and job.deadline > job.seconds for job in jobs)
    work = sum(job.seconds * job.cores * job.hosts for job in jobs)
    assert round(work / (16 * 64 * SPAN), 1) == 1.3
    assert {job.user for job in jobs} == {"ann", "bob", "eve"}
    assert all(job.on(job.hosts) == pytest.approx(job.seconds) and job.on(2 * job.hosts) < job.seconds for job in jobs)
